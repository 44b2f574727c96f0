//! Marks that one crate gives and another one must know again. All other marks are free text.

/// Neither instructions nor cycles could be counted by the processor.
pub const NO_HARDWARE: &str = "no hardware counters: neither instructions nor cycles";

/// The same where user instructions were counted in another way.
pub const NO_HARDWARE_BUT_STEPS: &str =
    "no hardware counters: neither kernel instructions nor cycles";

/// The step did not keep its set rate; its throughput is not comparable. Words of the rules follow.
pub const SLA_MISSED: &str = "SLA missed";

/// User instructions are those of a few operations, executed step by step outside the slices.
pub const STEPPED: &str = "user instructions counted by single steps";

/// The engine is embedded: it shares the driver's process, so its cost is that of the driver minus
/// that of the null client.
pub const EMBEDDED: &str = "client overhead subtracted";

/// [`EMBEDDED`] in records of earlier versions of dbdyno.
pub const EMBEDDED_EARLIER: &str = "driver less null client";

/// The counters ran on well after the work had ended, because the run was stopped or starved.
pub const STOPPED: &str = "the run was stopped or starved while its counters ran";
