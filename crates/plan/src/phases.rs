//! The suite and the factors that need no restart (`clients`, parameters) become phases.

use crate::{
    Draft, Length,
    check::{MODE, mode_named},
    draft::DraftPhase,
    error::{Error, Location},
    limits::{self, CONNECTIONS_MAX, Rate, SECONDS_MAX},
    preset, suggest,
    wire::numbers::Limits,
};
use model::{
    Levels, Parameters,
    experiment::{Design, Factor},
    expression::Expression,
    number::counted,
    plan::{Phase, PhaseKind, Settle},
    schema::Schema,
    script::{End, Op, Role, Script},
    workload::{Arrival, Mode},
};
use std::collections::BTreeMap;

/// Longest settle of the classic design and its shortest, seconds: the published waiting rule.
const SETTLE_SECONDS: (f64, f64) = (60.0, 1200.0);
/// Rows per second of waiting beyond the shortest settle.
const SETTLE_ROWS_PER_SECOND: f64 = 1e6;
/// The longest wait is as many of the shortest, if the suite says nothing else.
const SETTLE_CEILING_FLOORS: f64 = 4.0;

/// All phases in order: for each entry of the suite every combination of levels, clients innermost.
pub(crate) fn phases(draft: &Draft) -> Result<Vec<Phase>, Error> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for entry in &draft.phases {
        for levels in cells(draft, entry)? {
            let mut phase = phase(draft, entry, levels)?;
            if let Some(other) = names.get(&phase.name) {
                match phase.kind {
                    // A factor over a parameter makes the ranges of a suite equal; one of them is
                    // enough.
                    PhaseKind::Measure if phases[*other] == phase => continue,
                    PhaseKind::Measure => return Err(named_twice(draft, &phase.name)),
                    _ => phase.name = numbered(&phase.name, &names),
                }
            }
            limits::check_name("phase", &phase.name)
                .map_err(|error| error.at(draft.places.of(&["suite"])))?;
            names.insert(phase.name.clone(), phases.len());
            phases.push(phase);
            draft.check_crossed(phases.len(), "phases")?;
        }
    }
    Ok(phases)
}

fn named_twice(draft: &Draft, name: &str) -> Error {
    let reason = format!("two phases are named `{name}`; give one a `name` in the suite");
    Error::Invalid { place: draft.places.of(&["suite"]), reason }
}

/// `settle` and warm-ups may occur several times; the second is `settle2`.
fn numbered(stem: &str, taken: &BTreeMap<String, usize>) -> String {
    let mut names = (2_u32..).map(|number| format!("{stem}{number}"));
    names.find(|name| !taken.contains_key(name)).unwrap_or_else(|| stem.to_owned())
}

/// The combinations of levels that this entry is executed at.
fn cells(draft: &Draft, entry: &DraftPhase) -> Result<Vec<Levels>, Error> {
    let mut cells = vec![Levels::new()];
    if entry.suite.kind == PhaseKind::Settle {
        return Ok(cells);
    }
    let workload = &draft.workloads[entry.workload];
    let parameters = draft.parameter_factors();
    let parameters = parameters.filter(|factor| workload.parameters.contains_key(&factor.name));
    let parameters = parameters.filter(|_| entry.suite.kind != PhaseKind::Index);
    // A warm-up with connections of its own warms the same at every level.
    let fixed_clients = entry.suite.kind == PhaseKind::Warmup && entry.suite.clients.is_some();
    let clients = draft.experiment.factors.iter();
    let clients = clients.filter(|factor| factor.name == "clients" && !fixed_clients);
    // Indexes are built once.
    let once = |factor: &&Factor| entry.suite.kind != PhaseKind::Index || factor.levels.len() == 1;
    let clients = clients.filter(once);
    let modes = draft.experiment.factors.iter();
    let modes = modes.filter(|one| one.name == MODE && entry.suite.kind == PhaseKind::Measure);
    for Factor { name, levels } in parameters.chain(modes).chain(clients) {
        draft.check_crossed(cells.len().saturating_mul(levels.len()), "phases")?;
        let with = |cell: &Levels, level: &String| {
            let mut cell = cell.clone();
            cell.insert(name.clone(), level.clone());
            cell
        };
        cells = cells
            .iter()
            .flat_map(|cell| levels.iter().map(move |level| with(cell, level)))
            .collect();
    }
    Ok(cells)
}

/// One entry at one combination of levels.
fn phase(draft: &Draft, entry: &DraftPhase, levels: Levels) -> Result<Phase, Error> {
    let workload = &draft.workloads[entry.workload];
    let suite = &entry.suite;
    let in_suite = || draft.places.of(&["suite"]);
    let mut parameters = parameters(draft, entry, &levels).map_err(|error| error.at(in_suite()))?;
    let clients = clients(entry, &parameters).map_err(|error| error.at(in_suite()))?;
    parameters.insert("clients".to_owned(), i64::from(clients));
    let (mut script, arrival) = if executes(suite.kind) {
        let mut script = workload.resolve(&parameters)?;
        let arrival = arrival_of(draft, entry, &mut script)?;
        check_pauses(&script).map_err(|error| error.at(arrival_place(draft, entry, &script)))?;
        (script, arrival)
    } else {
        (workload.script(&parameters, Limits::Unchecked)?, Arrival::Closed)
    };
    if let Some(lua) = &mut script.lua {
        lua.options.clone_from(&suite.options);
    }
    check_kind(draft, entry)?;
    let settle = match suite.kind {
        PhaseKind::Settle => {
            Some(settle(draft, entry, &parameters).map_err(|error| error.at(in_suite()))?)
        }
        _ => None,
    };
    let seconds = match &settle {
        Some(settle) => settle.floor_seconds,
        None => {
            seconds(draft, entry, &parameters, &script).map_err(|error| error.at(in_suite()))?
        }
    };
    check_length(draft, entry, seconds)?;
    if executes(suite.kind) {
        check_rates(draft, entry, &script, seconds)?;
    }
    if suite.kind == PhaseKind::Measure && draft.experiment.design == Design::Interleaved {
        check_pieces(entry, &script, draft.experiment.rounds)?;
    }
    Ok(Phase {
        name: name(draft, entry, &levels),
        script,
        group: match (&suite.group, suite.kind) {
            (_, PhaseKind::Settle) => String::new(),
            (Some(group), _) => group.clone(),
            (None, PhaseKind::Index) => "index".to_owned(),
            (None, _) => workload.group.clone(),
        },
        range: own_range(draft, entry, &levels).or(suite.range),
        clients,
        seconds,
        mode: mode(draft, entry, &levels),
        parameters,
        arrival,
        kind: suite.kind,
        levels,
        settle,
    })
}

/// Refuses lengths beyond use.
fn check_length(draft: &Draft, entry: &DraftPhase, seconds: f64) -> Result<(), Error> {
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        return Ok(());
    }
    let name = &entry.suite.name;
    let reason =
        format!("the phase `{name}` takes {seconds} seconds; at most {SECONDS_MAX} (a week)");
    Err(Error::Invalid { place: draft.places.of(&["suite"]), reason })
}

/// Where the arrival of a phase is written.
fn arrival_place(draft: &Draft, entry: &DraftPhase, script: &Script) -> Location {
    match (draft.arrival, entry.suite.arrival) {
        (Some(_), _) => draft.places.of(&["arrival"]),
        (None, Some(_)) => draft.places.of(&["suite"]),
        (None, None) => Location { file: script.source.clone(), line: None },
    }
}

/// Refuses rates that no host reaches.
fn check_rates(
    draft: &Draft,
    entry: &DraftPhase,
    script: &Script,
    seconds: f64,
) -> Result<(), Error> {
    for role in &script.roles {
        let Some(per_second) = role.arrival.per_second() else { continue };
        let rate = Rate { per_second, connections: role.clients, seconds };
        let of_phase = format!("the phase `{}`", entry.suite.name);
        let who = match script.roles.as_slice() {
            [_] => of_phase,
            _ => format!("the role `{}` of {of_phase}", role.name),
        };
        rate.check(&who).map_err(|error| error.at(arrival_place(draft, entry, script)))?;
    }
    Ok(())
}

/// Refuses roles with less to do than there are rounds, into which the interleaved design cuts
/// their work: some would have nothing to do.
fn check_pieces(entry: &DraftPhase, script: &Script, rounds: u32) -> Result<(), Error> {
    for role in &script.roles {
        let (amount, what) = match role.end {
            End::Operations(operations) => (operations, "operation"),
            // A piece of rows is one operation at least.
            End::Rows(rows) => (role.operations().unwrap_or(rows), "operation"),
            End::Seconds(seconds) => (seconds, "second"),
            End::Stretch | End::With(_) | End::Others => continue,
        };
        if amount < u64::from(rounds) {
            let reason = format!(
                "the role `{}` of the phase `{}` ends after {}, but each of {rounds} rounds \
                 needs one at least: lower `rounds`, or give the role more to do",
                role.name,
                entry.suite.name,
                counted(amount, what)
            );
            let place = Location { file: script.source.clone(), line: None };
            return Err(Error::Invalid { place, reason });
        }
    }
    Ok(())
}

/// Whether a phase executes operations.
fn executes(kind: PhaseKind) -> bool {
    matches!(kind, PhaseKind::Measure | PhaseKind::Warmup)
}

/// What the schema must have for a phase.
fn check_kind(draft: &Draft, entry: &DraftPhase) -> Result<(), Error> {
    let workload = &draft.workloads[entry.workload];
    let name = &entry.suite.name;
    if entry.suite.kind != PhaseKind::Index {
        return Ok(());
    }
    let mut schemas = draft.schemas.iter().filter(|schema| schema.name == workload.schema);
    let has_indexes = schemas.any(|one| one.tables.iter().any(|table| !table.indexes.is_empty()));
    if !has_indexes {
        let schema = &workload.schema;
        let reason = format!("the phase `{name}` has no index to build in the schema `{schema}`");
        return Err(Error::Invalid { place: draft.places.of(&["suite"]), reason });
    }
    Ok(())
}

/// The suite's name and what the levels add to it, where a factor has several.
fn name(draft: &Draft, entry: &DraftPhase, levels: &Levels) -> String {
    let mut name = entry.suite.name.clone();
    if let (Some(_), Some(range)) = (own_range(draft, entry, levels), entry.suite.range) {
        // The suite's own is no longer true.
        name = name.strip_suffix(&format!(".range{range}")).unwrap_or(&name).to_owned();
    }
    for Factor { name: factor, levels: all } in &draft.experiment.factors {
        match levels.get(factor) {
            Some(level) if all.len() > 1 => name = format!("{name}.{}", in_names(factor, level)),
            _ => {}
        }
    }
    name
}

/// What names of phases say of a level of a factor.
pub fn in_names(factor: &str, level: &str) -> String {
    if factor == MODE { level.to_owned() } else { format!("{factor}{level}") }
}

/// The range that the experiment chooses for a phase by a factor or a parameter, if it does.
fn own_range(draft: &Draft, entry: &DraftPhase, levels: &Levels) -> Option<u64> {
    let level = || levels.get("range").and_then(|level| level.parse().ok());
    let has_range = draft.workloads[entry.workload].parameters.contains_key("range");
    let given = draft.parameters.get("range").filter(|_| has_range);
    level().or(given.and_then(|range| u64::try_from(*range).ok()))
}

/// The workload's defaults, the suite's values over them, then the phase's range and values, then
/// the experiment's, then the levels; beside them the parameters of the suite, and those that every
/// phase has.
fn parameters(draft: &Draft, entry: &DraftPhase, levels: &Levels) -> Result<Parameters, Error> {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let levels_over =
        levels.iter().filter_map(|(name, level)| Some((name.clone(), level.parse().ok()?)));
    let experiment = &draft.experiment;
    let scope = match levels.get("clients").and_then(|level| level.parse().ok()) {
        Some(clients) => preset::scope_at(experiment, &draft.suite_parameters, clients),
        // A phase that is not repeated for each level has the first one.
        None => preset::scope(experiment, &draft.suite_parameters),
    }?;
    let of_phase = own_values(draft, entry, &scope)?;
    let mut parameters = draft.workloads[entry.workload].parameters.clone();
    let range = entry.suite.range.map(|range| ("range".to_owned(), number(range)));
    let over = scope
        .clone()
        .into_iter()
        .chain(range)
        .chain(of_phase)
        .chain(draft.parameters.clone())
        .chain(levels_over);
    for (name, value) in over {
        if let Some(old) = parameters.get_mut(&name) {
            *old = value;
        }
    }
    for (name, value) in scope {
        parameters.entry(name).or_insert(value);
    }
    Ok(parameters)
}

/// The values that the suite gives to parameters of a phase's workload. Refuses what the workload
/// lacks, and what is otherwise than the tables are loaded: either would change nothing, or only
/// half of it.
fn own_values(draft: &Draft, entry: &DraftPhase, scope: &Parameters) -> Result<Parameters, Error> {
    let workload = &draft.workloads[entry.workload];
    let phase = &entry.suite.name;
    let mut own = Parameters::new();
    for (name, expression) in &entry.suite.parameters {
        let given = value(expression, scope)?;
        let is_loaded = draft.schema_parameters.contains(name);
        let reason = if !workload.parameters.contains_key(name) {
            let hint = suggest::hint(name, workload.parameters.keys().map(String::as_str));
            format!(
                "the phase `{phase}` sets `{name}`, which the workload `{}` does not have{hint}",
                workload.name
            )
        } else if is_loaded
            && !draft.parameters.contains_key(name)
            && scope.get(name).or(workload.parameters.get(name)) != Some(&given)
        {
            format!(
                "the phase `{phase}` sets `{name}`, with which the tables are loaded; make it a \
                 parameter of the suite, or set `parameters.{name}` in the experiment"
            )
        } else {
            own.insert(name.clone(), given);
            continue;
        };
        return Err(Error::Invalid { place: Location::default(), reason });
    }
    Ok(own)
}

/// How the statements of a phase travel: the level over the experiment's word over the suite's.
fn mode(draft: &Draft, entry: &DraftPhase, levels: &Levels) -> Option<Mode> {
    if !executes(entry.suite.kind) {
        return None;
    }
    let level = levels.get(MODE).and_then(|level| mode_named(level));
    level.or(draft.mode).or(entry.suite.mode)
}

/// Clients of a phase: the suite's rule over the level.
fn clients(entry: &DraftPhase, parameters: &Parameters) -> Result<u32, Error> {
    let clients = match &entry.suite.clients {
        Some(rule) => value(rule, parameters)?,
        None => parameters["clients"],
    };
    match u32::try_from(clients) {
        Ok(count) if (1..=CONNECTIONS_MAX).contains(&clients) => Ok(count),
        _ => {
            let name = &entry.suite.name;
            let reason = format!(
                "the phase `{name}` has {clients} clients; it must have 1 to {CONNECTIONS_MAX}"
            );
            Err(Error::Invalid { place: Location::default(), reason })
        }
    }
}

/// Operations that start after pauses cannot start at intended times too.
fn check_pauses(script: &Script) -> Result<(), Error> {
    let is_both =
        |role: &Role| role.arrival != Arrival::Closed && role.ops.iter().any(Op::has_pauses);
    if !script.roles.iter().any(is_both) {
        return Ok(());
    }
    let name = &script.workload;
    let reason = format!(
        "operations of `{name}` have `keying_ms` or `think_ms`, and start after these; leave \
         `arrival` out"
    );
    Err(Error::Invalid { place: Location::default(), reason })
}

/// Puts the experiment's arrival over the suite's over that of the only role. Several roles have
/// their own.
fn arrival_of(draft: &Draft, entry: &DraftPhase, script: &mut Script) -> Result<Arrival, Error> {
    let over = draft.arrival.or(entry.suite.arrival);
    match (script.roles.as_mut_slice(), over) {
        ([only], over) => {
            only.arrival = over.unwrap_or(only.arrival);
            Ok(only.arrival)
        }
        (_, None) => Ok(Arrival::Closed),
        (_, Some(_)) => {
            let key = if draft.arrival.is_some() { "arrival" } else { "suite" };
            let name = &entry.suite.name;
            let reason = format!(
                "the phase `{name}` has several roles, each with an `arrival` of its own; \
                 change them in the workload"
            );
            Err(Error::Invalid { place: draft.places.of(&[key]), reason })
        }
    }
}

/// The published rule for the wait, unless the suite has its own: a minute and a second for each
/// million rows, at most twenty minutes, and four times that if background work is still pending.
fn settle(draft: &Draft, entry: &DraftPhase, parameters: &Parameters) -> Result<Settle, Error> {
    let schema = &draft.workloads[entry.workload].schema;
    let schema = draft.schemas.iter().find(|other| other.name == *schema);
    let loaded = schema.map_or(0.0, Schema::all_rows);
    // Where phases insert the rows themselves, the load has none.
    let rows = loaded.max(draft.experiment.rows as f64 * draft.experiment.tables as f64);
    let published = SETTLE_SECONDS.0 + rows / SETTLE_ROWS_PER_SECOND;
    let published = published.min(SETTLE_SECONDS.1).round();
    let floor = match (&entry.suite.floor_seconds, draft.experiment.design) {
        (Some(floor), _) => value(floor, parameters)? as f64,
        (None, Design::Classic) => published,
        // Slices drain on their own.
        (None, Design::Interleaved) => 0.0,
    };
    let ceiling = match &entry.suite.ceiling_seconds {
        Some(ceiling) => value(ceiling, parameters)? as f64,
        None if floor > 0.0 => SETTLE_CEILING_FLOORS * floor,
        None => SETTLE_CEILING_FLOORS * published,
    };
    if floor < 0.0 || ceiling < floor || ceiling > SECONDS_MAX {
        let name = &entry.suite.name;
        let reason = format!(
            "the phase `{name}` waits {floor} to {ceiling} seconds; \
             `floor_seconds` must be at least 0, `ceiling_seconds` not below it and at most \
             {SECONDS_MAX}"
        );
        return Err(Error::Invalid { place: Location::default(), reason });
    }
    let servers = entry.suite.servers.clone();
    Ok(Settle { floor_seconds: floor, ceiling_seconds: ceiling, servers })
}

fn seconds(
    draft: &Draft,
    entry: &DraftPhase,
    parameters: &Parameters,
    script: &Script,
) -> Result<f64, Error> {
    let experiment = &draft.experiment;
    if entry.suite.kind == PhaseKind::Index {
        return Ok(0.0);
    }
    if script.ends_by_itself() {
        if entry.suite.seconds.is_some() || entry.suite.length.is_some() {
            let name = &entry.suite.name;
            let reason = format!(
                "the phase `{name}` ends when its roles say so; \
                 leave `seconds` and `length` out"
            );
            return Err(Error::Invalid { place: Location::default(), reason });
        }
        return Ok(script.roles.iter().filter_map(Role::seconds).fold(0.0, f64::max));
    }
    if experiment.design == Design::Interleaved {
        return Ok(experiment.slice_seconds);
    }
    if let Some(seconds) = &entry.suite.seconds {
        let seconds = value(seconds, parameters)?;
        if seconds < 1 {
            let reason = format!("`seconds` must be at least 1, not `{seconds}`");
            return Err(Error::Invalid { place: Location::default(), reason });
        }
        return Ok(seconds as f64);
    }
    Ok(match (entry.suite.length, script.writes()) {
        (Some(Length::Read), _) | (None, false) => experiment.read_seconds,
        (Some(Length::Write), _) | (None, true) => experiment.write_seconds,
    })
}

fn value(expression: &Expression, parameters: &Parameters) -> Result<i64, Error> {
    expression
        .evaluate(parameters)
        .map_err(|source| Error::Expression { place: Location::default(), source })
}
