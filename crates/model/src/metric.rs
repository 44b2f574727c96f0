//! Metrics: what a quantity is, as values that everybody asks instead of its name.

use serde::Deserialize;

/// A named quantity. Names end in their unit, the most significant word first.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Name as in FORMAT.md.
    pub name: &'static str,
    /// What heads of columns call it, which have its unit already.
    pub title: &'static str,
    /// Short name that the published tables use, or empty.
    pub short: &'static str,
    /// Unit as shown in headers.
    pub unit: &'static str,
    /// Which direction is good.
    pub better: Better,
    /// Whose it is.
    pub part: Part,
    /// What is counted.
    pub kind: Kind,
    /// What it is divided by.
    pub per: Per,
    /// What it is made from: the first whose counters are known. Empty for what is computed from
    /// the load engine's own report, and for what only archives have.
    pub sources: Vec<Source>,
    /// The table of costs that has it by default.
    pub table: Option<Table>,
    /// What shares its error rate with the same of other metrics; none for a metric that explains
    /// them, and answers for itself alone.
    pub family: Option<Family>,
    /// One line.
    pub help: &'static str,
}

/// Which direction of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Throughput.
    Higher,
    /// Costs.
    Lower,
    /// Says nothing by itself.
    Neither,
}

/// Whose a quantity is, in the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The operations, as the load engine sees them.
    Load,
    /// How a set rate was kept. It stays what it is where the rate was missed; all else is then of
    /// less work than was asked for.
    Pace,
    /// The tasks that serve the lead role alone.
    Lead,
    /// The tasks that serve our connections.
    Foreground,
    /// The server's other tasks.
    Background,
    /// The whole server.
    Server,
    /// The load engine.
    Client,
    /// The whole host.
    Host,
    /// The block device of the data folder; where that is not known, what the server's processes
    /// did to storage.
    Storage,
}

/// What is counted, in the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Work per second.
    Rate,
    /// How long an operation takes.
    Time,
    /// Instructions in user mode.
    UserInstructions,
    /// Instructions in the kernel.
    KernelInstructions,
    /// Instructions in both.
    Instructions,
    /// Processor cycles.
    Cycles,
    /// Time on a CPU.
    CpuTime,
    /// Time in which a task could not go on.
    Wait,
    /// Context switches.
    Switches,
    /// Any other cost.
    Cost,
    /// What explains others.
    Fact,
    /// A largest value or a level.
    Peak,
}

/// What a quantity is divided by, and so how much a piece of work weighs in the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// The seconds of the window.
    Second,
    /// The seconds of a schedule, which may be longer.
    ScheduledSecond,
    /// What the workload counts. Percentiles are of as many operations.
    Operation,
    /// Statements that changed rows.
    EffectiveStatement,
    /// Nothing: of pieces the largest counts.
    Whole,
}

/// Counters that are added up, and what one unit of the metric is in theirs.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Names of the probes' tables; those that are known count.
    pub counters: Vec<&'static str>,
    /// Units of the counters in one of the metric.
    pub divisor: f64,
}

/// Metrics whose verdicts are wrong with one chance together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// How fast a server is, and the CPU time that it takes.
    Performance,
    /// Counted instructions.
    Instructions,
}

/// The tables of costs, in the order of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// User instructions.
    Work,
    /// CPU time, and waiting for a CPU.
    CpuTime,
    /// What serving tasks wait for.
    Waits,
    /// Costs of statements that changed rows.
    Effective,
    /// Kernel instructions and cycles.
    Kernel,
    /// Switches, faults, system calls and storage.
    Storage,
    /// Latency, memory and size.
    Latency,
    /// What else the host did.
    Host,
}

impl Part {
    /// Whether it is the server or a part of it.
    pub const fn is_server(self) -> bool {
        matches!(self, Self::Lead | Self::Foreground | Self::Background | Self::Server)
    }
}

impl Kind {
    /// Whether instructions are counted, of whatever mode.
    pub const fn is_instructions(self) -> bool {
        matches!(self, Self::UserInstructions | Self::KernelInstructions | Self::Instructions)
    }
}
