//! The phase that creates secondary indexes, each timed.

use crate::{Error, driver::unexpected, run::Run, trial::Trial};
use model::{
    drive::{Command, IndexJob, IndexTime, OpReport, Percentiles, Reply, StretchReport},
    plan::Phase,
};
use rustix::time::{ClockId, clock_gettime};

/// Creates them and reports each DDL statement as an operation whose service time is its wall time.
/// The `rows` of the tables count as changed: the published figure is indexed rows per second.
pub(crate) fn create(
    run: &Run<'_>,
    (trial, rows): (&mut Trial, u64),
    phase: &Phase,
) -> Result<StretchReport, Error> {
    let engine = run.subject(trial.subject).config.engine.clone().unwrap_or_default();
    let schema = run.schema_of(phase)?.clone();
    let job = IndexJob { schema, parameters: phase.parameters.clone(), engine };
    let start_ns = monotonic_ns();
    let times = match trial.stand.driver.ask(&Command::Index(job))? {
        Reply::Indexed(times) => times,
        other => return Err(unexpected("index", &other)),
    };
    let mut report = StretchReport { start_ns, end_ns: monotonic_ns(), ..Default::default() };
    report.scheduled = times.len() as u64;
    report.succeeded = report.scheduled;
    report.others = report.scheduled;
    report.rows_changed = rows;
    report.ops = times.iter().map(operation).collect();
    Ok(report)
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

/// The clock of the load engine's reports.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let whole = u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000;
    whole + u64::try_from(now.tv_nsec).unwrap_or(0)
}
