//! Suite files: `catalog/suites/*.toml`, phases in their order.

use super::value::{Formula, WireArrival, with_everywhere};
use crate::source::{Fault, Source, Under};
use model::{Parameters, expression::Expression, plan::PhaseKind, workload::Arrival};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// An ordered list of phases: the domain form of one file of `catalog/suites`.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Unique name: the file's stem.
    pub name: String,
    /// One line of help.
    pub help: String,
    /// Whether the order of the file must be kept.
    pub order: SuiteOrder,
    /// The phases in order.
    pub phases: Vec<SuitePhase>,
}

/// Who decides the order of a suite's phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuiteOrder {
    /// The file: a published order.
    Fixed,
    /// Reading workloads come before writing ones, else as in the file.
    ReadsFirst,
}

/// One entry of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuitePhase {
    /// Name without what the factors of an experiment add.
    pub name: String,
    /// Name or path of the workload; empty for a settle phase.
    pub workload: String,
    /// Range that published tables name, whether the workload uses it or not.
    pub range: Option<u64>,
    /// Measured, warm-up or maintenance.
    pub kind: PhaseKind,
    /// Length class of the classic design; by what the workload does, if absent.
    pub length: Option<Length>,
    /// Length in the classic design, seconds, instead of a class.
    pub seconds: Option<f64>,
    /// Report group; the workload's, if absent.
    pub group: Option<String>,
    /// Connections whatever the experiment says, over `tables`, `rows` and `clients`.
    pub clients: Option<Expression>,
    /// Values of the workload's parameters.
    pub parameters: Parameters,
    /// Closed or open loop; the workload's, if absent.
    pub arrival: Option<Arrival>,
}

/// Length class of a step of the classic design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// The experiment's `read_seconds`.
    Read,
    /// The experiment's `write_seconds`.
    Write,
}

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireSuite {
    help: String,
    order: Option<SuiteOrder>,
    phase: Vec<WirePhase>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePhase {
    workload: Option<String>,
    name: Option<String>,
    range: Option<u64>,
    kind: Option<PhaseKind>,
    length: Option<Length>,
    seconds: Option<f64>,
    group: Option<String>,
    clients: Option<Formula>,
    #[serde(default)]
    parameters: Parameters,
    arrival: Option<WireArrival>,
}

impl WireSuite {
    /// The checked suite; `source` is its text.
    pub(crate) fn check(self, source: &Source) -> Result<Suite, Fault> {
        let order = self.order.unwrap_or(SuiteOrder::ReadsFirst);
        let mut phases = Vec::new();
        for (index, phase) in self.phase.into_iter().enumerate() {
            let phase = phase.check(source).under(index).under("phase")?;
            if phase.kind == PhaseKind::Settle && order != SuiteOrder::Fixed {
                let reason = "a suite with settle phases needs `order = \"fixed\"`";
                return Err(Fault::invalid(reason)).under(index).under("phase");
            }
            phases.push(phase);
        }
        if phases.is_empty() {
            return Err(Fault::invalid("a suite needs at least one `[[phase]]`"));
        }
        name_ranges(&mut phases);
        Ok(Suite { name: source.stem(), help: self.help, order, phases })
    }
}

/// A name that stands for several ranges gets the range: `random-points.range10`.
fn name_ranges(phases: &mut [SuitePhase]) {
    let mut ranges: BTreeMap<String, BTreeSet<Option<u64>>> = BTreeMap::new();
    for phase in phases.iter() {
        ranges.entry(phase.name.clone()).or_default().insert(phase.range);
    }
    for phase in phases {
        if let (Some(range), true) = (phase.range, ranges[&phase.name].len() > 1) {
            phase.name = format!("{}.range{range}", phase.name);
        }
    }
}

impl WirePhase {
    fn check(self, source: &Source) -> Result<SuitePhase, Fault> {
        let kind = self.kind.unwrap_or(PhaseKind::Measure);
        let workload = match (self.workload, kind) {
            (Some(workload), PhaseKind::Measure | PhaseKind::Warmup) => workload,
            (None, PhaseKind::Settle) => String::new(),
            (Some(_), PhaseKind::Settle) => {
                return Err(Fault::invalid("a settle phase has no workload")).under("workload");
            }
            (None, _) => return Err(Fault::invalid("the phase needs a `workload`")),
        };
        if self.seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
            return Err(Fault::invalid("`seconds` must be above 0")).under("seconds");
        }
        let known = with_everywhere(&Parameters::new());
        let stem = workload.rsplit('/').next().unwrap_or_default();
        let stem = stem.strip_suffix(".toml").unwrap_or(stem);
        let clients = self.clients.map(|clients| clients.check(&known)).transpose();
        Ok(SuitePhase {
            name: self.name.unwrap_or_else(|| match kind {
                PhaseKind::Settle => "settle".to_owned(),
                PhaseKind::Measure | PhaseKind::Warmup => stem.to_owned(),
            }),
            workload: source.reference(&workload),
            range: self.range,
            kind,
            length: self.length,
            seconds: self.seconds,
            group: self.group,
            clients: clients.under("clients")?,
            parameters: self.parameters,
            arrival: self.arrival.map(WireArrival::check).transpose().under("arrival")?,
        })
    }
}
