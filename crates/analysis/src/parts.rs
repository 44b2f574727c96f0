//! Which readings belong to the server, its parts and the driver.

use model::{
    mark,
    reading::{Reading, Scope},
    record::SliceRecord,
};

const USER_INSTRUCTIONS: &str = "user_instructions";

/// How names of counters under emulation begin.
const UNDER_EMULATION: &str = "emulated_";
/// User instructions of operations outside the slices, on a server under emulation; how many
/// operations; and those of the null client, per operation.
const EMULATED: &str = "emulated_user_instructions";
const EMULATED_OPERATIONS: &str = "emulated_operations";
const EMULATED_NULL: &str = "null_emulated_user_instructions_per_op";
/// Syncs of files follow commits and not the clock, so those of all tasks count.
const EMULATED_SYNCS: &str = "emulated_fsyncs";
/// Counters of which the null client has a part.
const INSTRUCTIONS: [&str; 2] = [EMULATED, "emulated_usual_user_instructions"];

/// Counters of one slice by scope.
///
/// - The whole server and the device count over the drain too, if there was one: what a writing
///   slice leaves to be done later is a part of its cost.
/// - The background is then the whole server less the foreground.
/// - Where the processor counts no instructions, those of the foreground and of the client may have
///   been counted under emulation, over operations that are not of the slice.
///   Other tasks of the server are not compared: they follow the clock, which runs faster per
///   operation there.
/// - An embedded engine works inside the driver: its server is the driver minus the null client's
///   cost per operation, and its client is the null client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    slice: &'a SliceRecord,
    operations: f64,
}

impl<'a> Parts<'a> {
    /// `operations` are the executions of operations that succeeded: what the null client's costs
    /// are per.
    pub(crate) fn new(slice: &'a SliceRecord, operations: f64) -> Self {
        Self { slice, operations }
    }

    /// The slice.
    pub(crate) fn slice(&self) -> &'a SliceRecord {
        self.slice
    }

    /// Whether the engine shares the driver's process. Records from before it was marked show it by
    /// the null client's costs.
    pub(crate) fn is_embedded(&self) -> bool {
        let marked =
            |found: &String| [mark::EMBEDDED, mark::EMBEDDED_EARLIER].contains(&found.as_str());
        if self.slice.marks.iter().any(marked) {
            return true;
        }
        let readings = &self.slice.readings;
        let own = |reading: &Reading| matches!(reading.scope, Scope::Server | Scope::Foreground);
        let null = |reading: &Reading| reading.counter.starts_with("null_");
        !readings.iter().any(own) && readings.iter().any(null)
    }

    /// Whether the server was measured, and which of its tasks serve connections is not known.
    pub(crate) fn lacks_foreground(&self) -> bool {
        // How large its tables are is also known of a server that is not measured.
        let is_size = |reading: &Reading| reading.counter.ends_with("_bytes");
        let measured = self.slice.readings.iter().filter(|reading| !is_size(reading));
        let has = |scope| measured.clone().any(|reading| reading.scope == scope);
        has(Scope::Server) && !has(Scope::Foreground)
    }

    /// How far a counter moved in the slice.
    pub(crate) fn total(&self, scope: Scope, counter: &str) -> Option<f64> {
        if counter.starts_with(UNDER_EMULATION) {
            return self.emulated(scope, counter);
        }
        if self.is_embedded() {
            return self.embedded(scope, counter);
        }
        let drained = || delta(&self.slice.drained, scope, counter);
        let window = || delta(&self.slice.readings, scope, counter);
        match scope {
            Scope::Server | Scope::Device => drained().or_else(window),
            Scope::Background => {
                let server = delta(&self.slice.drained, Scope::Server, counter);
                let foreground = delta(&self.slice.readings, Scope::Foreground, counter);
                match (server, foreground) {
                    (Some(server), Some(foreground)) => Some((server - foreground).max(0.0)),
                    _ => window(),
                }
            }
            Scope::Foreground | Scope::Client | Scope::Host => window(),
        }
    }

    /// User instructions in the slice; those under emulation where the processor counts none.
    pub(crate) fn user_instructions(&self, scope: Scope) -> Option<f64> {
        self.total(scope, USER_INSTRUCTIONS).or_else(|| self.emulated(scope, EMULATED))
    }

    /// Whether user instructions of any part are known by emulation alone.
    pub(crate) fn needs_emulation(&self) -> bool {
        let of = |scope: Scope| {
            self.total(scope, USER_INSTRUCTIONS).is_none()
                && self.emulated(scope, EMULATED).is_some()
        };
        of(Scope::Foreground) || of(Scope::Client)
    }

    /// As many as the operations of the slice have by the mean of those under emulation.
    fn emulated(&self, scope: Scope, counter: &str) -> Option<f64> {
        let readings = &self.slice.readings;
        let mean = |scope| {
            let operations = delta(readings, scope, EMULATED_OPERATIONS).filter(|n| *n > 0.0)?;
            Some(delta(readings, scope, counter)? / operations)
        };
        // Rare events are those of the engine alone.
        let own = || find(readings, Scope::Client, EMULATED_NULL).map(|reading| reading.end);
        let null = || if INSTRUCTIONS.contains(&counter) { own() } else { Some(0.0) };
        let per_op = match (scope, self.is_embedded()) {
            (Scope::Foreground | Scope::Client, false) => mean(scope),
            (Scope::Server, false) if counter == EMULATED_SYNCS => {
                mean(Scope::Foreground).zip(mean(Scope::Background)).map(|(own, rest)| own + rest)
            }
            (Scope::Server | Scope::Foreground, true) => {
                mean(Scope::Client).and_then(|own| Some((own - null()?).max(0.0)))
            }
            (Scope::Client, true) => null(),
            _ => None,
        };
        per_op.map(|cost| cost * self.operations)
    }

    /// Largest value of a gauge in the slice.
    pub(crate) fn peak(&self, scope: Scope, counter: &str) -> Option<f64> {
        let scope = match scope {
            Scope::Server if self.is_embedded() => Scope::Client,
            other => other,
        };
        let end = |readings| find(readings, scope, counter).map(|reading| reading.end);
        let (window, drained) = (end(&self.slice.readings), end(&self.slice.drained));
        window.into_iter().chain(drained).reduce(f64::max)
    }

    fn embedded(&self, scope: Scope, counter: &str) -> Option<f64> {
        let null = format!("null_{counter}_per_op");
        let per_op = find(&self.slice.readings, Scope::Client, &null).map(|reading| reading.end);
        let null = per_op.map(|cost| cost * self.operations);
        match scope {
            Scope::Client => null,
            Scope::Background => None,
            Scope::Server | Scope::Foreground => {
                let drained = delta(&self.slice.drained, Scope::Client, counter);
                let window = delta(&self.slice.readings, Scope::Client, counter);
                let whole = match scope {
                    Scope::Server => drained.or(window),
                    _ => window,
                };
                // Noise may make the difference of two costs slightly negative; a cost is not.
                Some((whole? - null?).max(0.0))
            }
            Scope::Device => delta(&self.slice.drained, scope, counter)
                .or_else(|| delta(&self.slice.readings, scope, counter)),
            Scope::Host => delta(&self.slice.readings, scope, counter),
        }
    }
}

/// The reading of a counter.
pub(crate) fn find<'a>(
    readings: &'a [Reading],
    scope: Scope,
    counter: &str,
) -> Option<&'a Reading> {
    readings.iter().find(|reading| reading.scope == scope && reading.counter == counter)
}

fn delta(readings: &[Reading], scope: Scope, counter: &str) -> Option<f64> {
    find(readings, scope, counter).map(Reading::delta).filter(|delta| delta.is_finite())
}
