//! Metrics: names with unit, kind and direction.

use serde::{Deserialize, Serialize};

/// A named quantity. Names end in their unit, the most significant word first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name as in cli.md and FORMAT.md.
    pub name: &'static str,
    /// Short name that the published tables use, or empty.
    pub short: &'static str,
    /// Unit as shown in headers.
    pub unit: &'static str,
    /// Counter or gauge.
    pub kind: Kind,
    /// Which direction is good.
    pub better: Better,
    /// One line.
    pub help: &'static str,
}

/// How values over time combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Only grows; differences mean something.
    Counter,
    /// A level at a time.
    Gauge,
    /// Computed from others.
    Derived,
}

/// Which direction of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Throughput.
    Higher,
    /// Costs.
    Lower,
    /// Says nothing by itself.
    Neither,
}
