//! The suite and the factors that need no restart (`clients`, parameters) become phases.

use crate::{
    Draft, Length,
    draft::DraftPhase,
    error::{Error, Place},
};
use model::{
    Levels, Parameters,
    experiment::{Design, Factor},
    plan::{Phase, PhaseKind},
    workload::{Arrival, Bounds, Generator, Workload},
};

/// Longest settle of the classic design and its shortest, seconds: the published waiting rule.
const SETTLE_SECONDS: (f64, f64) = (60.0, 1200.0);
/// Rows per second of waiting beyond the shortest settle.
const SETTLE_ROWS_PER_SECOND: f64 = 1e6;
/// Connections of one phase, at most: beyond this nothing on one machine is measured.
const CLIENTS_MAX: i64 = 65_536;

/// All phases in order: for each entry of the suite every combination of levels, clients innermost.
pub(crate) fn phases(draft: &Draft) -> Result<Vec<Phase>, Error> {
    let mut phases: Vec<Phase> = Vec::new();
    for entry in &draft.phases {
        for levels in cells(draft, entry) {
            let phase = phase(draft, entry, levels)?;
            match phases.iter().find(|other| other.name == phase.name) {
                // A factor over a parameter makes the ranges of a suite equal; one of them is
                // enough.
                Some(other) if *other == phase && phase.kind == PhaseKind::Measure => {}
                Some(_) if phase.kind != PhaseKind::Measure => {
                    phases.push(numbered(phase, &phases))
                }
                Some(_) => {
                    let place = draft.places.of(&["suite"]);
                    let reason = format!(
                        "two phases are named `{}`; give one a `name` in the suite",
                        phase.name
                    );
                    return Err(Error::Invalid { place, reason });
                }
                None => phases.push(phase),
            }
        }
    }
    Ok(phases)
}

/// `settle` and warm-ups may occur several times; the second is `settle2`.
fn numbered(mut phase: Phase, phases: &[Phase]) -> Phase {
    let stem = phase.name.clone();
    let taken = |name: &String| phases.iter().any(|other| other.name == *name);
    let names = (2_u32..).map(|number| format!("{stem}{number}"));
    if let Some(name) = names.into_iter().find(|name| !taken(name)) {
        phase.name = name;
    }
    phase
}

/// The combinations of levels that this entry is executed at.
fn cells(draft: &Draft, entry: &DraftPhase) -> Vec<Levels> {
    let mut cells = vec![Levels::new()];
    if entry.suite.kind == PhaseKind::Settle {
        return cells;
    }
    let workload = &draft.workloads[entry.workload];
    let parameters = draft.parameter_factors();
    let parameters = parameters.filter(|factor| workload.parameters.contains_key(&factor.name));
    // A warm-up with connections of its own warms the same at every level.
    let fixed_clients = entry.suite.kind == PhaseKind::Warmup && entry.suite.clients.is_some();
    let clients = draft.experiment.factors.iter();
    let clients = clients.filter(|factor| factor.name == "clients" && !fixed_clients);
    for Factor { name, levels } in parameters.chain(clients) {
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
    cells
}

/// One entry at one combination of levels.
fn phase(draft: &Draft, entry: &DraftPhase, levels: Levels) -> Result<Phase, Error> {
    let workload = &draft.workloads[entry.workload];
    let suite = &entry.suite;
    let place = Place { file: workload.source.clone(), line: None };
    let mut parameters = parameters(draft, entry, &levels);
    let (clients, arrival) = load_of(draft, entry, &parameters)?;
    parameters.insert("clients".to_owned(), i64::from(clients));
    if suite.kind != PhaseKind::Settle {
        check_values(workload, &parameters).map_err(|error| error.at(place))?;
    }
    let range_factor = levels.get("range").and_then(|level| level.parse().ok());
    Ok(Phase {
        name: name(draft, entry, &levels),
        workload: entry.workload,
        group: match (&suite.group, suite.kind) {
            (_, PhaseKind::Settle) => String::new(),
            (Some(group), _) => group.clone(),
            (None, _) => workload.group.clone(),
        },
        range: range_factor.or(suite.range),
        clients,
        parameters,
        arrival,
        seconds: seconds(draft, entry),
        kind: suite.kind,
        levels,
    })
}

/// The suite's name and what the levels add to it, where a factor has several.
fn name(draft: &Draft, entry: &DraftPhase, levels: &Levels) -> String {
    let mut name = entry.suite.name.clone();
    if let (true, Some(range)) = (levels.contains_key("range"), entry.suite.range) {
        // The level says the range; the suite's own is no longer true.
        name = name.strip_suffix(&format!(".range{range}")).unwrap_or(&name).to_owned();
    }
    for Factor { name: factor, levels: all } in &draft.experiment.factors {
        if let (true, Some(level)) = (all.len() > 1, levels.get(factor)) {
            name = format!("{name}.{factor}{level}");
        }
    }
    name
}

/// The workload's defaults, the suite's range and values over them, then the experiment's, then the
/// levels.
fn parameters(draft: &Draft, entry: &DraftPhase, levels: &Levels) -> Parameters {
    let mut parameters = draft.workloads[entry.workload].parameters.clone();
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let levels_over =
        levels.iter().filter_map(|(name, level)| Some((name.clone(), level.parse().ok()?)));
    let range = entry.suite.range.map(|range| ("range".to_owned(), number(range)));
    let over = range
        .into_iter()
        .chain(entry.suite.parameters.clone())
        .chain(draft.parameters.clone())
        .chain(levels_over);
    for (name, value) in over {
        if let Some(old) = parameters.get_mut(&name) {
            *old = value;
        }
    }
    parameters.insert("tables".to_owned(), number(draft.experiment.tables));
    parameters.insert("rows".to_owned(), number(draft.experiment.rows));
    // A phase that is not repeated for each level has the first one.
    let first = || draft.levels("clients").and_then(|levels| levels.first());
    let clients = levels.get("clients").or_else(first).and_then(|level| level.parse().ok());
    parameters.insert("clients".to_owned(), clients.unwrap_or(1));
    parameters
}

/// Connections and arrival: the suite's rule over the workload's only role over the experiment's.
fn load_of(
    draft: &Draft,
    entry: &DraftPhase,
    parameters: &Parameters,
) -> Result<(u32, Arrival), Error> {
    let workload = &draft.workloads[entry.workload];
    let place = Place { file: workload.source.clone(), line: None };
    let role = match workload.roles.as_slice() {
        [] => None,
        [role] => Some(role),
        roles => {
            let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
            let names = crate::suggest::quoted(&names);
            let reason = format!(
                "the workload `{}` has several roles ({names}), which cannot be executed yet; \
                 leave one",
                workload.name
            );
            return Err(Error::Invalid { place, reason });
        }
    };
    let rule = entry.suite.clients.as_ref().or(role.map(|role| &role.clients));
    let clients = match rule {
        Some(rule) => rule
            .evaluate(parameters)
            .map_err(|source| Error::Expression { place: place.clone(), source })?,
        None => parameters["clients"],
    };
    let arrival = draft
        .arrival
        .or(entry.suite.arrival)
        .or(role.map(|role| role.arrival))
        .unwrap_or(Arrival::Closed);
    match u32::try_from(clients) {
        Ok(count) if (1..=CLIENTS_MAX).contains(&clients) => Ok((count, arrival)),
        _ => {
            let name = &entry.suite.name;
            let reason = format!(
                "the phase `{name}` has {clients} clients; 1 to {CLIENTS_MAX} are possible"
            );
            Err(Error::Invalid { place, reason })
        }
    }
}

fn seconds(draft: &Draft, entry: &DraftPhase) -> f64 {
    let experiment = &draft.experiment;
    let writes = draft.workloads[entry.workload].writes();
    match (experiment.design, entry.suite.kind) {
        (Design::Interleaved, PhaseKind::Settle) => 0.0,
        (Design::Interleaved, _) => experiment.slice_seconds,
        (Design::Classic, PhaseKind::Settle) => {
            let rows = experiment.rows as f64 * experiment.tables as f64;
            (SETTLE_SECONDS.0 + rows / SETTLE_ROWS_PER_SECOND).min(SETTLE_SECONDS.1)
        }
        (Design::Classic, _) => entry.suite.seconds.unwrap_or(match (entry.suite.length, writes) {
            (Some(Length::Read), _) | (None, false) => experiment.read_seconds,
            (Some(Length::Write), _) | (None, true) => experiment.write_seconds,
        }),
    }
}

/// Every expression has a value, and every interval a member, under the phase's own parameters.
fn check_values(workload: &Workload, parameters: &Parameters) -> Result<(), Error> {
    for op in &workload.ops {
        let statements = op.statements.iter();
        let draws = op.draws.iter().chain(statements.clone().flat_map(|one| &one.draws));
        for draw in draws {
            check_value(&draw.value, parameters)?;
        }
        for statement in statements {
            for arg in &statement.args {
                check_value(&arg.value, parameters)?;
                check_least(arg.list.as_ref(), 1, parameters)?;
            }
            check_least(statement.rows_per_statement.as_ref(), 1, parameters)?;
            check_least(Some(&statement.repeat), 0, parameters)?;
            for Bounds { low, high } in
                statement.expect.rows.iter().chain(&statement.expect.changed)
            {
                check_pair((low, high), parameters)?;
            }
        }
    }
    Ok(())
}

type Expression = model::expression::Expression;

fn check_value(value: &Generator, parameters: &Parameters) -> Result<(), Error> {
    match value {
        Generator::Uniform { low, high } | Generator::Zipf { low, high, .. } => {
            check_pair((low, high), parameters)
        }
        Generator::Consecutive { first: value }
        | Generator::Sequence { first: value }
        | Generator::Integer { value }
        | Generator::Draw { plus: value, .. }
        | Generator::Captured { plus: value, .. } => check_least(Some(value), i64::MIN, parameters),
        Generator::Template { .. } | Generator::Text { .. } => Ok(()),
    }
}

fn check_pair(
    (low, high): (&Expression, &Expression),
    parameters: &Parameters,
) -> Result<(), Error> {
    let (least, most) = (value(low, parameters)?, value(high, parameters)?);
    if least <= most {
        return Ok(());
    }
    let reason = format!("from `{low}` to `{high}` is from {least} to {most}, which holds nothing");
    Err(Error::Invalid { place: Place::default(), reason })
}

fn check_least(
    expression: Option<&Expression>,
    least: i64,
    parameters: &Parameters,
) -> Result<(), Error> {
    let Some(expression) = expression else { return Ok(()) };
    let number = value(expression, parameters)?;
    if number >= least {
        return Ok(());
    }
    let reason = format!("`{expression}` is {number}; it must be {least} at least");
    Err(Error::Invalid { place: Place::default(), reason })
}

fn value(expression: &Expression, parameters: &Parameters) -> Result<i64, Error> {
    expression
        .evaluate(parameters)
        .map_err(|source| Error::Expression { place: Place::default(), source })
}
