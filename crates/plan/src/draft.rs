//! An experiment that is checked as far as its text and the catalog go; only versions are still
//! open.

use crate::{
    Catalog, Overrides, Suite, SuiteOrder, SuitePhase, Workload, coded, dataset,
    error::{Error, Location},
    experiment_limits, filled, ladder,
    layers::{Layers, Locations, check_only, name_of},
    limits,
    preset::{self, Chosen},
    sizes::Made,
    suggest,
    wire::{
        config::WireConfig,
        experiment::{WireExperiment, WireServer},
        suite::texts,
        value::OneOrMany,
    },
};
use model::{
    Parameters,
    experiment::{Design, Experiment, Factor, Placement},
    expression::Expression,
    number,
    plan::PhaseKind,
    schema::Schema,
    subject::{Build, START_FACTORS},
    workload::{Arrival, Mode},
};
use std::collections::{BTreeMap, BTreeSet};

/// A checked experiment with the workloads, schemas and phases that it asks for.
#[derive(Debug)]
pub struct Draft {
    /// The question and its design, factors as written.
    pub experiment: Experiment,
    pub(crate) phases: Vec<DraftPhase>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) schemas: Vec<Schema>,
    /// Names of the parameters that tables are loaded with.
    pub(crate) schema_parameters: BTreeSet<String>,
    /// Sizes that are written and that nothing follows.
    pub(crate) idle_sizes: Vec<&'static str>,
    /// The experiment's values for parameters.
    pub(crate) parameters: Parameters,
    /// The parameters of the suite in order, with the expression that holds.
    pub(crate) suite_parameters: Vec<(String, Expression)>,
    pub(crate) arrival: Option<Arrival>,
    /// Options of scripts, where no phase has its own: the suite's, and the experiment's over them.
    pub(crate) options: BTreeMap<String, String>,
    /// The script that makes the data of all scripts, where the experiment names one.
    pub(crate) prepare: Option<String>,
    /// How the experiment lets all statements travel.
    pub(crate) mode: Option<Mode>,
    pub(crate) servers: BTreeMap<String, Build>,
    /// Configurations of servers that have one of their own, by name of the server.
    pub(crate) server_configs: BTreeMap<String, String>,
    pub(crate) configs: BTreeMap<String, WireConfig>,
    /// Labels of the variants to keep beside their bases; all if empty.
    pub(crate) variants: Vec<String>,
    pub(crate) places: Locations,
}

/// A phase of the suite with its workload found.
#[derive(Debug)]
pub(crate) struct DraftPhase {
    pub(crate) suite: SuitePhase,
    /// Its place in the suite.
    pub(crate) place: usize,
    /// Index into [`Draft::workloads`]; of the phase before it, for a phase without a workload of
    /// its own.
    pub(crate) workload: usize,
}

/// Reads and checks an experiment: a name of a shipped one, or a path.
///
/// Errors: unreadable, not TOML, an unknown key or name (with the nearest known one), a value that
/// makes no sense; each with file and line where it has one.
pub fn load_experiment(
    name_or_path: &str,
    catalog: &Catalog,
    overrides: &Overrides,
) -> Result<Draft, Error> {
    let mut layers = Layers::read(name_or_path, catalog, overrides)?;
    question(&layers)?;
    let dataset = dataset::look(&mut layers)?;
    let suite = suite(&layers, catalog)?;
    let chosen = preset::choose(&layers, &suite)?;
    let experiment = experiment(&layers, &chosen, overrides.seed.unwrap_or(SEED))?;
    let mut options = suite.options.clone();
    options.extend(texts(layers.wire.options.clone()));
    let mut found = Found::default();
    let mut phases = found.phases(suite, &layers, catalog)?;
    let fillings = filled::fillings(&phases, &found.workloads)?;
    keep_only(&mut phases, &found.workloads, &overrides.only)?;
    coded::check_given(&found.workloads, &layers)?;
    let mut values = preset::scope(&experiment, &chosen.parameters)
        .map_err(|error| error.at(layers.place(&["suite"])))?;
    // A suite's parameters have these values already; other schemas get them as well.
    for (name, value) in &layers.wire.parameters {
        values.entry(name.clone()).or_insert(*value);
    }
    let mut schemas = schemas(&found.workloads, catalog, &values)?;
    dataset::give(dataset, &mut schemas, &layers)?;
    let schema_parameters = schema_parameters(&found.workloads, catalog)?;
    let made = Made {
        catalog,
        workloads: &found.workloads,
        phases: &phases,
        suite: &chosen.parameters,
        values: &values,
    };
    let idle_sizes = made.idle(&layers.places());
    for workload in &mut found.workloads {
        name_of(&workload.schema).to_owned().clone_into(&mut workload.schema);
    }
    let wire = &layers.wire;
    let own_config = |(name, server): (&String, &WireServer)| {
        server.config.clone().map(|config| (name.clone(), config))
    };
    let draft = Draft {
        arrival: arrival(&layers)?,
        options,
        prepare: wire.prepare.clone(),
        mode: wire.mode,
        parameters: wire.parameters.clone(),
        suite_parameters: chosen.parameters,
        servers: servers(&layers)?,
        server_configs: wire.servers.iter().filter_map(own_config).collect(),
        configs: wire.configs.clone(),
        variants: overrides.variants.clone(),
        places: layers.places(),
        experiment,
        phases,
        workloads: found.workloads,
        schemas,
        schema_parameters,
        idle_sizes,
    };
    draft.check()?;
    filled::check(&draft, &fillings, &overrides.only)?;
    Ok(draft)
}

fn question(layers: &Layers) -> Result<String, Error> {
    let question = layers.wire.question.clone().filter(|text| !text.trim().is_empty());
    question.ok_or_else(|| {
        // What is written and empty has a line.
        let place = match layers.wire.question {
            Some(_) => layers.place(&["question"]),
            None => layers.places().file(),
        };
        let reason = "the experiment has no `question`; write it in one sentence".to_owned();
        Error::Invalid { place, reason }
    })
}

/// Seed of a plan that no run has drawn one for.
const SEED: u64 = 42;

/// The scalar keys with their defaults and limits.
fn experiment(layers: &Layers, chosen: &Chosen, seed: u64) -> Result<Experiment, Error> {
    let wire = &layers.wire;
    let design = wire.design.unwrap_or(Design::Interleaved);
    let (warmup_seconds, placement) = match design {
        Design::Interleaved => (0.3, Placement::Paired),
        Design::Classic => (5.0, Placement::Free),
    };
    let factors = factors(wire, chosen);
    let last_look = wire.looks.as_ref().and_then(|looks| looks.last().copied());
    let blocks = wire.blocks.map(|blocks| blocks.0).or(last_look).unwrap_or(8);
    let experiment = Experiment {
        name: layers.name.clone(),
        question: question(layers)?,
        suite: wire.suite.clone().unwrap_or_else(|| layers.name.clone()),
        series: wire.series.clone().unwrap_or_default(),
        note: wire.note.clone().unwrap_or_default(),
        design,
        blocks,
        looks: experiment_limits::looks(wire.looks.as_deref().unwrap_or_default(), blocks, layers)?,
        decide: experiment_limits::margins(layers)?,
        explain: wire.explain.unwrap_or(false),
        loads: wire.loads.map_or(1, |loads| loads.0),
        rounds: wire.rounds.map_or(2, |rounds| rounds.0),
        seed: wire.seed.map_or(seed, |seed| seed.0),
        baseline: wire.baseline.iter().map(|(k, v)| (k.clone(), level_of(k, &v.0))).collect(),
        tables: tables(layers, chosen, &factors)?,
        factors,
        rows: wire.rows.map(|rows| rows.0).or(chosen.rows).unwrap_or(1_000_000),
        age: wire.age.unwrap_or(0.0),
        slice_seconds: wire.slice_seconds.unwrap_or(2.0),
        read_seconds: wire.read_seconds.unwrap_or(180.0),
        write_seconds: wire.write_seconds.unwrap_or(300.0),
        warmup_seconds: wire.warmup_seconds.unwrap_or(warmup_seconds),
        at_once: wire.at_once.map_or(1, |servers| servers.0),
        placement: wire.placement.unwrap_or(placement),
        combine: wire.combine,
        require: wire.require.clone(),
        accept: wire.accept.clone(),
        text: layers.text.clone(),
    };
    experiment_limits::check(&experiment, layers)?;
    Ok(experiment)
}

fn factors(wire: &WireExperiment, chosen: &Chosen) -> Vec<Factor> {
    let factor = |(name, OneOrMany(levels)): &(String, OneOrMany)| Factor {
        name: name.clone(),
        levels: levels.iter().flat_map(|level| levels_of(name, level)).collect(),
    };
    let mut factors: Vec<Factor> = wire.factors.0.iter().map(factor).collect();
    if let (Some(clients), false) = (chosen.clients, has(&factors, "clients")) {
        factors.push(Factor { name: "clients".to_owned(), levels: vec![clients.to_string()] });
    }
    factors
}

/// Levels as records have them: those of a ladder of numbers, or the one that is written.
fn levels_of(factor: &str, level: &str) -> Vec<String> {
    let ladder = ladder::levels(level).filter(|_| !restarts(factor));
    let levels = ladder.map(|levels| levels.iter().map(i64::to_string).collect());
    levels.unwrap_or_else(|| vec![level_of(factor, level)])
}

/// A level as records have it: a number of a factor of numbers in digits, `1k` as `1000`.
fn level_of(factor: &str, level: &str) -> String {
    let whole = number::whole(level).filter(|_| !restarts(factor));
    whole.map_or_else(|| level.to_owned(), |whole| whole.to_string())
}

/// Whether a level of a factor needs a start of its own. Such levels are words, whatever they look
/// like.
pub fn restarts(factor: &str) -> bool {
    ["build", "config"].contains(&factor) || START_FACTORS.contains(&factor)
}

fn has(factors: &[Factor], name: &str) -> bool {
    factors.iter().any(|factor| factor.name == name)
}

/// Number of tables: the experiment's, or the suite's rule over the only level of `clients`.
fn tables(layers: &Layers, chosen: &Chosen, factors: &[Factor]) -> Result<u64, Error> {
    let Some(rule) = &chosen.tables else {
        return Ok(layers.wire.tables.map_or(1, |tables| tables.0));
    };
    let invalid =
        |key: &[&str], reason: String| Err(Error::Invalid { place: layers.place(key), reason });
    if layers.wire.tables.is_some() {
        let reason = format!("the suite has `{rule}` tables; leave `tables` out");
        return invalid(&["tables"], reason);
    }
    let clients = factors.iter().find(|factor| factor.name == "clients");
    let clients = match clients.map_or(&[][..], |factor| factor.levels.as_slice()) {
        [] => 1,
        // A level that is no number is refused with the other factors.
        [only] => only.parse().unwrap_or(1),
        _ => return invalid(&["factors", "clients"], ONE_LEVEL.to_owned()),
    };
    let value = rule
        .evaluate(&Parameters::from([("clients".to_owned(), clients)]))
        .map_err(|source| Error::Expression { place: layers.place(&["suite"]), source })?;
    Ok(u64::try_from(value).unwrap_or(0))
}

/// Why a factor without restart has one level in suites that load or build as they go.
pub(crate) const ONE_LEVEL: &str = "the phases of this suite build on each other, so that each \
                                    level needs a load of its own; write one experiment for each \
                                    and let them `extends` a common one";

/// The suite that is named, or one made of the list of workloads.
fn suite(layers: &Layers, catalog: &Catalog) -> Result<Suite, Error> {
    let wire = &layers.wire;
    if let Some(index) = wire.workloads.iter().flatten().position(|name| name.trim().is_empty()) {
        let place = layers.place(&["workloads", &index.to_string()]);
        let reason = "a workload has no name; `dbdyno list workloads` has the names".to_owned();
        return Err(Error::Invalid { place, reason });
    }
    let mut seen = BTreeSet::new();
    if let Some(again) = wire.workloads.iter().flatten().find(|name| !seen.insert(*name)) {
        let reason = format!("the workload `{again}` is listed twice; remove one");
        return Err(Error::Invalid { place: layers.place(&["workloads"]), reason });
    }
    match (&wire.suite, &wire.workloads) {
        (Some(suite), None) => {
            catalog.suite(suite).map_err(|error| error.at(layers.place(&["suite"])))
        }
        (None, Some(workloads)) if !workloads.is_empty() => Ok(Suite {
            phases: workloads.iter().map(|workload| listed(workload)).collect(),
            ..Suite::default()
        }),
        (Some(_), Some(_)) => Err(Error::Invalid {
            place: layers.place(&["workloads"]),
            reason: "an experiment has a `suite` or `workloads`, not both; remove one".to_owned(),
        }),
        _ => Err(Error::Invalid {
            place: layers.places().file(),
            reason: "nothing to measure: add `suite = \"quick\"` or `workloads = [\"…\"]`"
                .to_owned(),
        }),
    }
}

/// A workload of a list as a phase.
fn listed(workload: &str) -> SuitePhase {
    SuitePhase {
        name: name_of(workload).to_owned(),
        workload: workload.to_owned(),
        ..SuitePhase::default()
    }
}

/// Workloads in the order in which they are first asked for.
#[derive(Default)]
struct Found {
    workloads: Vec<Workload>,
    /// Index of a workload by the reference that found it.
    references: BTreeMap<String, usize>,
    /// Index of a workload by its name.
    names: BTreeMap<String, usize>,
}

impl Found {
    fn phases(
        &mut self,
        suite: Suite,
        layers: &Layers,
        catalog: &Catalog,
    ) -> Result<Vec<DraftPhase>, Error> {
        let mut phases: Vec<DraftPhase> = Vec::new();
        for (index, entry) in suite.phases.into_iter().enumerate() {
            let place = || match layers.wire.workloads {
                Some(_) => layers.place(&["workloads", &index.to_string()]),
                None => layers.place(&["suite"]),
            };
            let workload = if entry.workload.is_empty() {
                phases.last().map_or(0, |phase| phase.workload)
            } else {
                self.find(&entry.workload, catalog).map_err(|error| error.at_reference(place()))?
            };
            phases.push(DraftPhase { suite: entry, place: index, workload });
        }
        if suite.order == SuiteOrder::ReadsFirst {
            phases.sort_by_key(|phase| self.workloads[phase.workload].writes);
        }
        Ok(phases)
    }

    fn find(&mut self, reference: &str, catalog: &Catalog) -> Result<usize, Error> {
        if let Some(index) = self.references.get(reference) {
            return Ok(*index);
        }
        let workload = catalog.workload(reference)?;
        if let Some(other) = self.names.get(&workload.name) {
            let other = &self.workloads[*other];
            let reason = format!(
                "two workloads are named `{}` (`{}` and `{}`); rename one of the files",
                workload.name,
                other.source(),
                workload.source()
            );
            return Err(Error::Invalid { place: Location::default(), reason });
        }
        let index = self.workloads.len();
        self.references.insert(reference.to_owned(), index);
        self.names.insert(workload.name.clone(), index);
        self.workloads.push(workload);
        Ok(index)
    }
}

/// Drops the phases that `--only` does not name. A warm-up stays with its workload, a settle phase
/// with a writing phase before it.
fn keep_only(
    phases: &mut Vec<DraftPhase>,
    workloads: &[Workload],
    only: &[String],
) -> Result<(), Error> {
    if only.is_empty() {
        return Ok(());
    }
    if phases.iter().any(|phase| phase.suite.kind == PhaseKind::Index) {
        let place = Location { file: format!("--only {}", only.join(",")), line: None };
        let reason = "the phases of this suite build on each other; leave `--only` out".to_owned();
        return Err(Error::Invalid { place, reason });
    }
    let measured = phases.iter().filter(|phase| phase.suite.kind == PhaseKind::Measure);
    let known = measured
        .flat_map(|phase| [workloads[phase.workload].name.as_str(), phase.suite.name.as_str()]);
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    check_only(only, &known)?;
    let is_named = |phase: &DraftPhase| {
        only.contains(&workloads[phase.workload].name) || only.contains(&phase.suite.name)
    };
    let measured = phases.iter().filter(|phase| phase.suite.kind == PhaseKind::Measure);
    let wanted = measured.filter(|phase| is_named(phase)).map(|phase| phase.workload);
    let wanted: BTreeSet<usize> = wanted.collect();
    let mut debts = false;
    phases.retain(|phase| {
        let kept = match phase.suite.kind {
            PhaseKind::Settle => debts,
            PhaseKind::Warmup => wanted.contains(&phase.workload),
            PhaseKind::Measure | PhaseKind::Index => is_named(phase),
        };
        let writes = kept && workloads[phase.workload].writes;
        debts = (writes || debts) && phase.suite.kind != PhaseKind::Settle;
        kept
    });
    let mut before = 0;
    for phase in phases.iter_mut() {
        match phase.suite.kind {
            PhaseKind::Settle => phase.workload = before,
            _ => before = phase.workload,
        }
    }
    Ok(())
}

/// The schemas of the workloads, each of which is read once.
fn schemas(
    workloads: &[Workload],
    catalog: &Catalog,
    values: &Parameters,
) -> Result<Vec<Schema>, Error> {
    let mut schemas: Vec<Schema> = Vec::new();
    let mut dialects: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    // What scripts load is found when they are looked at.
    for workload in workloads.iter().filter(|workload| !workload.is_script()) {
        let place = Location { file: workload.source().to_owned(), line: None };
        if !dialects.contains_key(workload.schema.as_str()) {
            let at = |error: Error| error.at(place.clone());
            let schema = catalog.schema_with(&workload.schema, values).map_err(at)?;
            // Partitions may take a dialect away; it is known all the same.
            let whole = catalog.schema(&workload.schema).map_err(at)?;
            let known = whole.tables.into_iter().flat_map(|table| table.create.into_keys());
            dialects.insert(&workload.schema, known.collect());
            match schemas.iter().find(|other| other.name == schema.name) {
                Some(other) if *other != schema => {
                    let reason = format!("two schemas are named `{}`; rename one", schema.name);
                    return Err(Error::Invalid { place, reason });
                }
                Some(_) => {}
                None => schemas.push(schema),
            }
        }
        check_dialects(workload, &dialects[workload.schema.as_str()])
            .map_err(|error| error.at(place))?;
    }
    Ok(schemas)
}

/// Names of the parameters of all schemas.
fn schema_parameters(workloads: &[Workload], catalog: &Catalog) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    for workload in workloads.iter().filter(|workload| !workload.is_script()) {
        names.extend(catalog.schema_parameters(&workload.schema)?);
    }
    Ok(names)
}

/// Refuses what a workload has for a dialect in which its tables do not exist.
fn check_dialects(workload: &Workload, known: &BTreeSet<String>) -> Result<(), Error> {
    for statement in workload.defaults()?.statements() {
        let texts = statement.sql_for.keys().map(|dialect| ("dialect in `sql_for`", dialect));
        let modes = statement.mode_for.keys().map(|dialect| ("dialect in `mode_for`", dialect));
        for (what, dialect) in texts.chain(modes) {
            if !known.contains(dialect) {
                let hint = suggest::hint(dialect, known.iter().map(String::as_str));
                let (place, name) = (Location::default(), dialect.clone());
                return Err(Error::UnknownName { place, what, name, hint });
            }
        }
    }
    Ok(())
}

fn arrival(layers: &Layers) -> Result<Option<Arrival>, Error> {
    let checked = layers.wire.arrival.map(|arrival| arrival.check()).transpose();
    checked.map_err(|fault| fault.into_error().at(layers.place(&["arrival"])))
}

fn servers(layers: &Layers) -> Result<BTreeMap<String, Build>, Error> {
    let mut servers = BTreeMap::new();
    for (name, server) in &layers.wire.servers {
        let place = || layers.place(&["servers", name]);
        let build = server.check().map_err(|fault| fault.into_error().at(place()))?;
        limits::check_server_name(name).map_err(|error| error.at(place()))?;
        servers.insert(name.clone(), build);
    }
    Ok(servers)
}
