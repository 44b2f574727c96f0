//! Short constructors for the probes' tables of metrics.

use model::metric::{Better, Kind, Metric};

/// A counter that costs something: less is better.
pub(crate) const fn cost(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { name, short: "", unit, kind: Kind::Counter, better: Better::Lower, help }
}

/// A counter that explains others.
pub(crate) const fn fact(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { name, short: "", unit, kind: Kind::Counter, better: Better::Neither, help }
}

/// A level at a time.
pub(crate) const fn level(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { name, short: "", unit, kind: Kind::Gauge, better: Better::Lower, help }
}
