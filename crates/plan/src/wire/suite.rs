//! Suite files: `catalog/suites/*.toml`, phases in their order.

use super::{
    number::Whole,
    value::{EVERYWHERE, Formula, Ordered, Scalar, WireArrival, with_everywhere},
};
use crate::{
    error::{Error, Location},
    source::{Fault, Source, Under, is_lua, without_ending},
    suggest,
};
use model::{
    Parameters,
    expression::Expression,
    plan::PhaseKind,
    workload::{Arrival, Mode},
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// An ordered list of phases: the domain form of one file of `catalog/suites`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suite {
    /// Unique name: the file's stem.
    pub name: String,
    /// One line of help.
    pub help: String,
    /// Whether the order of the file must be kept.
    pub order: SuiteOrder,
    /// Number of tables over `clients`, where the experiment does not choose it.
    pub tables: Option<Expression>,
    /// Parameters of the suite in order with their defaults, over `rows`, `tables`, `clients` and
    /// the parameters before.
    pub parameters: Vec<(String, Expression)>,
    /// Options of the scripts that its phases execute.
    pub options: BTreeMap<String, String>,
    /// Sets of values by name.
    pub presets: BTreeMap<String, Preset>,
    /// The phases in order.
    pub phases: Vec<SuitePhase>,
}

/// A named set of values: parameters of the suite, `rows`, and `clients` for experiments without
/// that factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// One line of help.
    pub help: String,
    /// Values by name.
    pub values: BTreeMap<String, Expression>,
}

/// Who decides the order of a suite's phases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuiteOrder {
    /// The file: a published order.
    Fixed,
    /// Reading workloads come before writing ones, else as in the file.
    #[default]
    ReadsFirst,
}

/// One entry of a suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SuitePhase {
    /// Name without what the factors of an experiment add.
    pub name: String,
    /// Name or path of the workload; empty for that of the phase before, as always for a settle
    /// phase.
    pub workload: String,
    /// Range that published tables name, whether the workload uses it or not.
    pub range: Option<u64>,
    /// Measured, warm-up or maintenance.
    pub kind: PhaseKind,
    /// Length class of the classic design; by what the workload does, if absent.
    pub length: Option<Length>,
    /// Length in the classic design, seconds, instead of a class.
    pub seconds: Option<Expression>,
    /// Of a settle phase: the shortest wait, seconds; the published rule, if absent.
    pub floor_seconds: Option<Expression>,
    /// Of a settle phase: the longest wait, seconds; four times the shortest, if absent.
    pub ceiling_seconds: Option<Expression>,
    /// Of a settle phase: the server products that do it; all if empty.
    pub servers: Vec<String>,
    /// Report group; the workload's, if absent.
    pub group: Option<String>,
    /// Connections whatever the experiment says, over `tables`, `rows` and `clients`.
    pub clients: Option<Expression>,
    /// Values of the workload's parameters, over those of the suite.
    pub parameters: BTreeMap<String, Expression>,
    /// Options of its script, over those of the suite.
    pub options: BTreeMap<String, String>,
    /// Closed or open loop; the workload's, if absent.
    pub arrival: Option<Arrival>,
    /// How all statements travel; as each says itself, if absent.
    pub mode: Option<Mode>,
}

/// Length class of a step of the classic design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// The experiment's `read_seconds`.
    Read,
    /// The experiment's `write_seconds`.
    Write,
}

/// A whole file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireSuite {
    help: String,
    order: Option<SuiteOrder>,
    tables: Option<Formula>,
    #[serde(default)]
    parameters: Ordered<Formula>,
    #[serde(default)]
    options: BTreeMap<String, Scalar>,
    #[serde(default)]
    preset: BTreeMap<String, WirePreset>,
    phase: Vec<WirePhase>,
}

/// `help` and values; which names there are is checked later, with the suite's parameters.
#[derive(Debug, Deserialize, JsonSchema)]
struct WirePreset {
    help: Option<String>,
    #[serde(flatten)]
    values: BTreeMap<String, Formula>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WirePhase {
    workload: Option<String>,
    name: Option<String>,
    range: Option<Whole<u64>>,
    kind: Option<PhaseKind>,
    length: Option<Length>,
    seconds: Option<Formula>,
    floor_seconds: Option<Formula>,
    ceiling_seconds: Option<Formula>,
    servers: Option<Vec<String>>,
    group: Option<String>,
    clients: Option<Formula>,
    #[serde(default)]
    parameters: BTreeMap<String, Formula>,
    #[serde(default)]
    options: BTreeMap<String, Scalar>,
    arrival: Option<WireArrival>,
    mode: Option<Mode>,
}

impl WireSuite {
    /// The checked suite; `source` is its text.
    pub(crate) fn check(self, source: &Source) -> Result<Suite, Fault> {
        let order = self.order.unwrap_or(SuiteOrder::ReadsFirst);
        let tables = match self.tables {
            Some(tables) => Some(tables.check(&only_clients()).under("tables")?),
            None => None,
        };
        let (parameters, known) = parameters(self.parameters)?;
        let mut presets = BTreeMap::new();
        for (name, preset) in self.preset {
            let checked = preset.check(&known).under(&name).under("preset")?;
            presets.insert(name, checked);
        }
        let mut phases: Vec<SuitePhase> = Vec::new();
        for (index, phase) in self.phase.into_iter().enumerate() {
            let phase = phase.check(source, &known).under(index).under("phase")?;
            if let (Some(word), SuiteOrder::ReadsFirst) = (bound_to_order(phase.kind), order) {
                let reason = format!("a suite with {word} phases needs `order = \"fixed\"`");
                return Err(Fault::invalid(reason)).under(index).under("phase");
            }
            if phase.kind == PhaseKind::Index && phase.workload.is_empty() && phases.is_empty() {
                let reason = "no phase is before it; name the `workload` whose indexes are built";
                return Err(Fault::invalid(reason)).under(index).under("phase");
            }
            phases.push(phase);
        }
        if phases.is_empty() {
            return Err(Fault::invalid("a suite needs at least one `[[phase]]`"));
        }
        name_ranges(&mut phases);
        let name = source.stem();
        let options = texts(self.options);
        Ok(Suite { name, help: self.help, order, tables, parameters, options, presets, phases })
    }
}

/// How phases are called that mean something at their own place only.
fn bound_to_order(kind: PhaseKind) -> Option<&'static str> {
    match kind {
        PhaseKind::Settle => Some("settle"),
        PhaseKind::Index => Some("index"),
        PhaseKind::Measure | PhaseKind::Warmup => None,
    }
}

/// Options by their names with `_`, as texts.
pub(crate) fn texts(options: BTreeMap<String, Scalar>) -> BTreeMap<String, String> {
    options.into_iter().map(|(name, Scalar(text))| (name.replace('-', "_"), text)).collect()
}

fn only_clients() -> Parameters {
    Parameters::from([("clients".to_owned(), 1)])
}

/// The suite's parameters, and plausible values of everything that its expressions may name.
fn parameters(wire: Ordered<Formula>) -> Result<(Vec<(String, Expression)>, Parameters), Fault> {
    let mut known = with_everywhere(&Parameters::new());
    let mut parameters = Vec::new();
    for (name, formula) in wire.0 {
        if EVERYWHERE.contains(&name.as_str()) {
            let reason = format!("every phase has a parameter `{name}`; use another name");
            return Err(Fault::invalid(reason)).under(name).under("parameters");
        }
        let expression = formula.check(&known).under(&name).under("parameters")?;
        // It has a value, as `check` has found.
        known.insert(name.clone(), expression.evaluate(&known).unwrap_or_default());
        parameters.push((name, expression));
    }
    Ok((parameters, known))
}

/// What a preset may say beside the suite's parameters.
const OF_PRESETS: [&str; 2] = ["clients", "rows"];

impl WirePreset {
    fn check(self, known: &Parameters) -> Result<Preset, Fault> {
        let mut values = BTreeMap::new();
        for (name, formula) in self.values {
            if name == "tables" || !known.contains_key(&name) {
                let names = known.keys().map(String::as_str).filter(|name| *name != "tables");
                let (what, hint) = ("parameter of the suite", suggest::hint(&name, names));
                let error = Error::UnknownName {
                    place: Location::default(),
                    what,
                    name: name.clone(),
                    hint,
                };
                return Err(error.into()).under(name);
            }
            let constant = OF_PRESETS.contains(&name.as_str());
            let scope = if constant { &Parameters::new() } else { known };
            let expression = formula.check(scope).under(&name)?;
            values.insert(name, expression);
        }
        Ok(Preset { help: self.help.unwrap_or_default(), values })
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
    /// Refuses keys that mean nothing for a kind of phases.
    fn check_keys(&self, kind: PhaseKind) -> Result<(), Fault> {
        let of_settle = [
            ("floor_seconds", self.floor_seconds.is_some()),
            ("ceiling_seconds", self.ceiling_seconds.is_some()),
            ("servers", self.servers.is_some()),
        ];
        for (key, given) in of_settle {
            if given && kind != PhaseKind::Settle {
                let reason = format!("`{key}` belongs to a settle phase only");
                return Err(Fault::invalid(reason)).under(key);
            }
        }
        let of_workloads = [
            ("mode", self.mode.is_some()),
            ("arrival", self.arrival.is_some()),
            ("clients", self.clients.is_some()),
            ("length", self.length.is_some()),
            ("parameters", !self.parameters.is_empty()),
            ("seconds", self.seconds.is_some()),
        ];
        for (key, given) in of_workloads {
            if given && !kind.has_statements() {
                let hint = match kind {
                    PhaseKind::Settle => {
                        "; a settle phase has `floor_seconds` and `ceiling_seconds`"
                    }
                    _ => "",
                };
                let reason = format!("`{key}` belongs to phases that execute a workload{hint}");
                return Err(Fault::invalid(reason)).under(key);
            }
        }
        Ok(())
    }

    fn check(self, source: &Source, known: &Parameters) -> Result<SuitePhase, Fault> {
        let kind = self.kind.unwrap_or(PhaseKind::Measure);
        self.check_keys(kind)?;
        let workload = match (self.workload, kind) {
            (Some(_), PhaseKind::Settle) => {
                return Err(Fault::invalid("a settle phase has no workload")).under("workload");
            }
            (Some(workload), _) if workload.trim().is_empty() => {
                return Err(Fault::invalid("the workload has no name")).under("workload");
            }
            (Some(workload), _) => workload,
            (None, PhaseKind::Settle | PhaseKind::Index) => String::new(),
            (None, _) => return Err(Fault::invalid("the phase needs a `workload`")),
        };
        let stem = workload.rsplit('/').next().unwrap_or_default();
        let stem = without_ending(stem);
        let checked = |formula: Option<Formula>, key: &str| {
            formula.map(|formula| formula.check(known)).transpose().under(key)
        };
        if !self.options.is_empty() && !is_lua(&workload) {
            let reason = "`options` are for a phase whose `workload` is a script, `….lua`";
            return Err(Fault::invalid(reason)).under("options");
        }
        let mut parameters = BTreeMap::new();
        for (name, formula) in self.parameters {
            let value = formula.check(known).under(&name).under("parameters")?;
            parameters.insert(name, value);
        }
        Ok(SuitePhase {
            name: self.name.unwrap_or_else(|| match kind {
                PhaseKind::Settle => "settle".to_owned(),
                PhaseKind::Index => "index".to_owned(),
                PhaseKind::Measure | PhaseKind::Warmup => stem.to_owned(),
            }),
            workload: source.reference(&workload),
            range: self.range.map(|range| range.0),
            kind,
            length: self.length,
            seconds: checked(self.seconds, "seconds")?,
            floor_seconds: checked(self.floor_seconds, "floor_seconds")?,
            ceiling_seconds: checked(self.ceiling_seconds, "ceiling_seconds")?,
            servers: self.servers.unwrap_or_default(),
            group: self.group,
            clients: checked(self.clients, "clients")?,
            parameters,
            options: texts(self.options),
            arrival: self.arrival.map(WireArrival::check).transpose().under("arrival")?,
            mode: self.mode,
        })
    }
}
