//! The phase that creates secondary indexes, each timed.

use crate::{
    Error,
    clock::monotonic_ns,
    run::Run,
    server::{Instance, OwnServer, Waiting, unexpected},
    trial::Trial,
};
use model::{
    drive::{Command, IndexJob, IndexTime, OpReport, Percentiles, Reply, StretchReport},
    plan::{Phase, PhaseKind},
    reading::{Reading, Scope},
};
use std::path::Path;

/// A server beside the subject's own that is started as that is.
const BESIDE: OwnServer = |_, _, _, _| Ok(());

/// Creates them and reports each DDL statement as an operation whose service time is its wall time.
/// The `rows` of the tables count as changed: the published figure is indexed rows per second.
pub(crate) fn create(
    run: &Run<'_>,
    trial: &mut Trial,
    phase: &Phase,
    rows: u64,
) -> Result<StretchReport, Error> {
    let start_ns = monotonic_ns();
    let times = build(run, trial.subject, &mut trial.instance, phase)?;
    let mut report = StretchReport { start_ns, end_ns: monotonic_ns(), ..Default::default() };
    report.scheduled = times.len() as u64;
    report.succeeded = report.scheduled;
    report.others = report.scheduled;
    report.rows_changed = rows;
    report.ops = times.iter().map(operation).collect();
    Ok(report)
}

/// Creates the indexes that a phase asks for.
pub(crate) fn build(
    run: &Run<'_>,
    subject: usize,
    instance: &mut Instance,
    phase: &Phase,
) -> Result<Vec<IndexTime>, Error> {
    let engine = run.subject(subject).config.engine.clone().unwrap_or_default();
    let schema = run.schema_of(phase)?.clone();
    match instance.driver.ask(&Command::Index(IndexJob { schema, engine }))? {
        Reply::Indexed(times) => Ok(times),
        other => Err(unexpected("index", &other)),
    }
}

/// The phases of a plan that have built indexes when the turn of one of them comes.
pub(crate) fn before<'a>(phases: &'a [Phase], phase: &'a Phase) -> impl Iterator<Item = &'a Phase> {
    let earlier = phases.iter().take_while(move |one| one.name != phase.name);
    earlier.filter(|one| one.kind == PhaseKind::Index)
}

/// Builds in a copy of a template, which has no index that a phase builds, those that a phase
/// finds. A server of its own does it, at full speed, whatever is started there later.
pub(super) fn build_in(
    run: &Run<'_>,
    subject: usize,
    folder: &Path,
    phase: &Phase,
) -> Result<(), Error> {
    let phases: Vec<&Phase> = before(&run.plan.phases, phase).collect();
    if phases.is_empty() {
        return Ok(());
    }
    let waiting = Waiting::spawn_beside(run, subject, "indexes", BESIDE)?;
    let mut instance = Instance::launch(run, waiting, folder)?;
    instance.connect(0)?;
    for phase in phases {
        build(run, subject, &mut instance, phase)?;
    }
    instance.end()
}

/// Bytes of the tables before their indexes are created; none in other phases.
pub(super) fn size_before(trial: &mut Trial, phase: &Phase) -> Result<Option<f64>, Error> {
    match phase.kind {
        PhaseKind::Index => trial.instance.database_bytes(),
        _ => Ok(None),
    }
}

/// Bytes of the indexes: by how much the tables have grown.
pub(super) fn size(trial: &mut Trial, before: Option<f64>) -> Result<Option<Reading>, Error> {
    let Some(before) = before else { return Ok(None) };
    let after = trial.instance.database_bytes()?;
    let scope = if trial.instance.is_embedded() { Scope::Client } else { Scope::Server };
    Ok(after.map(|after| Reading {
        scope,
        counter: "index_bytes".to_owned(),
        start: 0.0,
        end: (after - before).max(0.0),
    }))
}

fn operation(time: &IndexTime) -> OpReport {
    let us = time.seconds * 1e6;
    let all = Percentiles { mean: us, p50: us, p95: us, p99: us, p999: us, max: us, min: us };
    OpReport {
        name: time.sql.split_whitespace().collect::<Vec<_>>().join(" "),
        count: 1,
        service_us: all,
        response_us: all,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::phase;

    #[test]
    fn a_phase_finds_the_indexes_of_those_before_it() {
        let named = |name: &str, kind| Phase { name: name.to_owned(), ..phase(kind) };
        let phases = [
            named("scan", PhaseKind::Measure),
            named("build", PhaseKind::Index),
            named("search", PhaseKind::Measure),
        ];
        let check = |place: usize, expected: &[&str]| {
            let found = before(&phases, &phases[place]).map(|one| one.name.as_str());
            assert_eq!(found.collect::<Vec<_>>(), expected);
        };
        check(0, &[]);
        check(1, &[]);
        check(2, &["build"]);
    }
}
