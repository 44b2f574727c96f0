//! The phase that creates secondary indexes, each timed.

use crate::{
    Error,
    clock::monotonic_ns,
    run::Run,
    server::{Instance, unexpected},
    trial::Trial,
};
use model::{
    drive::{Command, IndexJob, IndexTime, OpReport, Percentiles, Reply, StretchReport},
    plan::{Phase, PhaseKind},
    reading::{Reading, Scope},
};

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
