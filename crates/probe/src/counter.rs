//! What the probes' tables say of a counter.

/// A counter of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Name in readings and series.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// How values over time combine.
    pub kind: Kind,
    /// One line.
    pub help: &'static str,
}

/// How values of a counter over time combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; differences mean something.
    Total,
    /// A level at a time.
    Level,
}

pub(crate) const fn total(name: &'static str, unit: &'static str, help: &'static str) -> Counter {
    Counter { name, unit, kind: Kind::Total, help }
}

pub(crate) const fn level(name: &'static str, unit: &'static str, help: &'static str) -> Counter {
    Counter { name, unit, kind: Kind::Level, help }
}
