//! How much work a slice is, and what the load engine itself costs.
//!
//! Both are found once per run and kept in its state, so that a resumed run repeats exactly the
//! same work.

use super::null_client;
use crate::{
    Error,
    calibration::{Calibration, STATE},
    run::Run,
    server::{Instance, data, tables},
    slice::indexes,
};
use model::{
    drive::{StretchEnd, StretchReport},
    plan::{Phase, PhaseKind, Plan},
};
use std::collections::BTreeSet;

/// Length of the stretch that warms up, and of those that tell the rate of the base, seconds.
const WARM_UP_SECONDS: f64 = 1.0;
const PROBE_SECONDS: f64 = 0.25;
/// The fastest of so many stretches counts: beside a busy process the others are a fraction of it,
/// and slices would be as short, far shorter than the effects of a thaw.
const PROBES: u64 = 4;

/// Reads the calibration from the run's state, or makes it.
pub(crate) fn calibration(run: &mut Run<'_>) -> Result<Calibration, Error> {
    if let Some(known) = run.writer.state(STATE)? {
        return Ok(known);
    }
    run.step("calibrating: the rate of the base, and the cost of the load engine itself");
    let mut found = Calibration::default();
    null_client::costs(run, &mut found)?;
    rates(run, &mut found)?;
    run.writer.note_state(STATE, &found)?;
    Ok(found)
}

/// The load engine's own cost only: what the classic design needs, whose steps have durations.
pub(crate) fn null_calibration(run: &mut Run<'_>) -> Result<Calibration, Error> {
    if let Some(known) = run.writer.state(STATE)? {
        return Ok(known);
    }
    let mut found = Calibration::default();
    null_client::costs(run, &mut found)?;
    run.writer.note_state(STATE, &found)?;
    Ok(found)
}

/// Whether the length of a phase's slices follows from a rate: its roles do not say it themselves.
fn by_rate(phase: &Phase) -> bool {
    phase.kind == PhaseKind::Measure && !phase.script.ends_by_itself()
}

/// Runs every phase for a moment on a throw-away copy of the base's data, so that no measured state
/// is touched. A phase whose statements the base refuses is tried on the next subject.
fn rates(run: &mut Run<'_>, found: &mut Calibration) -> Result<(), Error> {
    let is_base = |label: &String| run.plan.base.contains(label);
    let base = run.plan.subjects.iter().position(|s| is_base(&s.label)).unwrap_or(0);
    let others = (0..run.plan.subjects.len()).filter(|subject| *subject != base);
    for subject in std::iter::once(base).chain(others) {
        let plan = run.plan;
        let measured = plan.phases.iter().filter(|phase| by_rate(phase));
        let open: Vec<&Phase> =
            measured.filter(|phase| !found.operations.contains_key(&phase.name)).collect();
        if open.is_empty() {
            break;
        }
        let label = &plan.subjects[subject].label;
        rates_of(run, subject, &open, found).map_err(|error| error.of_subject(label))?;
    }
    Ok(())
}

/// The rates of these phases on one subject, as far as it executes them.
fn rates_of(
    run: &mut Run<'_>,
    subject: usize,
    phases: &[&Phase],
    found: &mut Calibration,
) -> Result<(), Error> {
    let data = data::copy_for_block(run, subject, 0)?;
    let mut instance = Instance::start(run, subject, &data, 1)?;
    tables::warm(run, &mut instance)?;
    let seed = seed(run);
    let mut done = BTreeSet::new();
    for phase in phases {
        // Without the indexes that it will find a search looks at all rows, and in empty tables at
        // none: slices of as many searches would be far too short, or too long.
        for earlier in before(run.plan, phase) {
            if !done.insert(earlier.name.as_str()) {
                continue;
            }
            if earlier.kind == PhaseKind::Index {
                accepted(indexes::build(run, subject, &mut instance, earlier))?;
            } else if compiled(run, &mut instance, earlier)? {
                run.step(&format!("calibrating: `{}` fills the tables first", earlier.name));
                instance.driver.stretch(StretchEnd::Roles, seed)?;
            }
        }
        if !compiled(run, &mut instance, phase)? {
            continue;
        }
        instance.driver.stretch(StretchEnd::Seconds(WARM_UP_SECONDS), seed)?;
        let probe =
            |number| instance.driver.stretch(StretchEnd::Seconds(PROBE_SECONDS), seed + 1 + number);
        let probes = (0..PROBES).map(probe).collect::<Result<Vec<StretchReport>, Error>>()?;
        let Some(report) = probes.into_iter().max_by(|a, b| rate(a).total_cmp(&rate(b))) else {
            continue;
        };
        if report.succeeded == 0 && report.failed > 0 {
            continue;
        }
        found.operations.insert(phase.name.clone(), per_connection(&report, phase));
    }
    instance.end()
}

/// Seed of what is executed here.
fn seed(run: &Run<'_>) -> u64 {
    run.plan.experiment.seed ^ 0xca1b
}

/// What a phase finds done to its tables, in order: indexes that are built, and rows in what the
/// load leaves empty.
fn before<'a>(plan: &'a Plan, phase: &'a Phase) -> impl Iterator<Item = &'a Phase> {
    let filling = tables::filling(plan, phase).map(|filling| &filling.name);
    let earlier = plan.phases.iter().take_while(move |one| one.name != phase.name);
    earlier.filter(move |one| match one.kind {
        PhaseKind::Index => one.script.schema == phase.script.schema,
        PhaseKind::Measure => filling == Some(&one.name),
        PhaseKind::Warmup | PhaseKind::Settle => false,
    })
}

/// Connects and compiles a phase; false if the subject refuses it.
fn compiled(run: &Run<'_>, instance: &mut Instance, phase: &Phase) -> Result<bool, Error> {
    let clients = phase.script.connections();
    if instance.connections.len() != clients as usize {
        instance.connect(clients)?;
    }
    Ok(accepted(instance.compile(&run.assignment(phase)?))?.is_some())
}

/// What a subject has done; `None` if it refuses the statement, as its slices will say.
fn accepted<T>(done: Result<T, Error>) -> Result<Option<T>, Error> {
    match done {
        Err(Error::Sql { lost: false, .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// Operations per second of a stretch.
fn rate(report: &StretchReport) -> f64 {
    let seconds = report.end_ns.saturating_sub(report.start_ns).max(1) as f64 / 1e9;
    report.succeeded as f64 / seconds
}

/// Operations on each connection in a slice of a phase, at the rate of a stretch.
fn per_connection(report: &StretchReport, phase: &Phase) -> u64 {
    let measured = rate(report) / f64::from(phase.script.connections().max(1));
    let rate = match phase.script.most_per_connection() {
        // In a moment one operation may be due, or none: its answer tells no rate.
        Some(most) if report.succeeded == 0 => most,
        Some(most) => measured.min(most),
        None => measured,
    };
    (rate * phase.seconds).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::phase;
    use model::workload::{Arrival, Spacing};

    #[test]
    fn a_slice_is_as_long_as_the_phase_on_all_connections_of_its_roles() {
        // The phase has one client, and its roles five connections.
        let mut phase = Phase { seconds: 2.0, ..phase(PhaseKind::Measure) };
        phase.script.roles[0].clients = 5;
        let report = StretchReport { succeeded: 1000, end_ns: 1_000_000_000, ..Default::default() };
        assert_eq!(per_connection(&report, &phase), 400);
        assert_eq!(per_connection(&StretchReport::default(), &phase), 1);
    }

    #[test]
    fn a_set_rate_is_that_of_its_slices_unless_the_base_does_not_reach_it() {
        let mut phase = Phase { seconds: 30.0, ..phase(PhaseKind::Measure) };
        let spacing = Spacing::Even;
        phase.script.roles[0].arrival = Arrival::Open { per_second: 4.0, spacing };
        let check = |succeeded, end_ns, expected| {
            let report = StretchReport { succeeded, end_ns, ..Default::default() };
            assert_eq!(per_connection(&report, &phase), expected, "{succeeded} in {end_ns} ns");
        };
        // One operation was due, and answered after a millisecond; none was; each takes a second.
        check(1, 1_000_000, 120);
        check(0, 0, 120);
        check(1, 1_000_000_000, 30);
    }
}
