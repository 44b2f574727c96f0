//! One slice: thaw, a discarded start, the measured stretch, the drain, freeze.

use crate::{
    Error, by_role,
    calm::Patience,
    copy,
    driver::unexpected,
    indexes,
    ledger::Activity,
    others,
    rows::{self, Held},
    run::Run,
    trial::{Trial, is_embedded, wall_us},
};
use model::{
    drive::{Command, Reply, Stretch, StretchEnd, StretchReport},
    mark,
    plan::{Phase, PhaseKind},
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
    workload::Workload,
};
use probe::{Meter, Sampler, Snapshot};
use std::time::{Duration, Instant};

/// How long the background work of one writing slice may take before the slice is marked.
const DRAIN_CEILING: Duration = Duration::from_secs(15);

/// Distance of the readings of the series.
const SERIES_INTERVAL: Duration = Duration::from_secs(1);

/// What to do in one slice.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// Index of the phase in the plan.
    pub(crate) phase: usize,
    /// Round in the block.
    pub(crate) round: u32,
    /// Place in the round.
    pub(crate) order: u32,
    /// The discarded start, if any.
    pub(crate) warmup: Option<StretchEnd>,
    /// The measured stretch.
    pub(crate) end: StretchEnd,
    /// Seed of the measured stretch; the start has one of its own.
    pub(crate) seed: u64,
    /// State of the record if nothing breaks.
    pub(crate) state: SliceState,
    /// What follows the measured stretch.
    pub(crate) after: After,
}

/// What follows the measured stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing: the slice only read, or the design lets the next one pay (classic).
    Freeze,
    /// The slice wrote, and the server pays for it before anything else is measured.
    Drain,
}

impl After {
    /// What the interleaved design does after a slice of `workload`.
    pub(crate) fn of(workload: &Workload) -> Self {
        if workload.writes() { After::Drain } else { After::Freeze }
    }
}

/// What a slice gave before it became a record.
struct Measured {
    /// Wall clock at the start of the measured stretch, microseconds since 1970.
    from_us: u64,
    work: StretchReport,
    readings: Vec<Reading>,
    drained: Vec<Reading>,
    drain_seconds: f64,
    marks: Vec<String>,
}

/// Executes a slice and records it. Only errors that are not the subject's own end the run.
pub(crate) fn execute(run: &mut Run<'_>, trial: &mut Trial, work: &Work) -> Result<(), Error> {
    let mut record = blank(run, trial, work);
    run.now(&doing(&record));
    let announcement = run.options.announcement.as_deref();
    let mut concurrent = others::concurrent(announcement);
    let measured = measured_and_counted(run, trial, work);
    concurrent.extend(others::concurrent(announcement));
    concurrent.sort();
    concurrent.dedup();
    match trial.keep_apart(measured)? {
        Some((measured, miscount)) => {
            fill_in(&mut record, trial, measured);
            if let Some(reason) = &mut record.reason {
                let workload = run.plan.phases[work.phase].workload;
                let source = &run.plan.workloads[workload].source;
                // The load engine has named the line where it knows it.
                if !reason.contains(source.as_str()) {
                    reason.push_str(&format!("; the workload is `{source}`"));
                }
            }
            if let Some(reason) = miscount {
                record.state = SliceState::Failed;
                record.reason.get_or_insert(reason);
            }
        }
        None => {
            record.state = SliceState::Failed;
            record.reason.clone_from(&trial.broken);
            note_indexes(run, trial, work);
        }
    }
    record.marks.extend(concurrent);
    let embedded = is_embedded(&trial.stand.target);
    if embedded {
        let (phase, report) = (&run.plan.phases[work.phase], record.work.as_ref());
        let null = run.calibration.null_readings(phase, &record.readings, report);
        record.readings.extend(null);
    }
    record.readings.extend(trial.stepped.iter().cloned());
    let sizes = [
        ("database_bytes", trial.database_bytes),
        ("data_folder_bytes", Some(dbms::bytes_below(&trial.stand.data) as f64)),
    ];
    record.readings.extend(sizes.into_iter().filter_map(|(counter, bytes)| {
        let scope = if embedded { Scope::Client } else { Scope::Server };
        Some(Reading { scope, counter: counter.to_owned(), start: 0.0, end: bytes? })
    }));
    trial.writer.slice(&record)?;
    run.slice_done(&record);
    Ok(())
}

/// What a slice does, for a display.
fn doing(record: &SliceRecord) -> String {
    let part = match record.state {
        SliceState::Discarded => "discarded start".to_owned(),
        _ => format!("round {}", record.round),
    };
    let (subject, phase) = (&record.subject, &record.phase);
    format!("block {}: {phase} on {subject}, {part}", record.block)
}

/// A slice, and what is wrong with the rows that it left, where its roles insert and delete.
fn measured_and_counted(
    run: &mut Run<'_>,
    trial: &mut Trial,
    work: &Work,
) -> Result<(Measured, Option<String>), Error> {
    let phase = &run.plan.phases[work.phase];
    let workload = &run.plan.workloads[phase.workload];
    let counted = phase.kind == PhaseKind::Index || workload.ends_by_roles();
    let before = match counted {
        true => Some(rows_before(run, trial, phase)?),
        false => None,
    };
    if workload.writes() {
        // Whatever comes of it, the tables do not hold what was counted.
        trial.rows = None;
    }
    let measured = trial.thawed(|trial| measure(run, trial, (work, before)))?;
    if work.after == After::Drain {
        copy::sync_file_system(&trial.stand.data)?;
    }
    let Some(before) = before else { return Ok((measured, None)) };
    let (found, bytes) = trial
        .thawed(|trial| Ok((rows::count(run, trial, phase)?, trial.stand.database_bytes()?)))?;
    // What inserts grows: its size is that of its end.
    trial.database_bytes = bytes;
    let tables = rows::tables(run, phase)?;
    let held = Held { rows: before, tables: tables.len() as u64 };
    trial.rows = Some((tables, found));
    let expected = rows::expected(before, workload, &measured.work);
    let miscount = rows::mismatch(expected, found)
        .or_else(|| rows::missed(held, (workload, &phase.parameters), &measured.work));
    Ok((measured, miscount))
}

/// Rows of a phase's tables: as last counted, if these were counted and nothing has written since.
fn rows_before(run: &Run<'_>, trial: &mut Trial, phase: &Phase) -> Result<u64, Error> {
    let tables = rows::tables(run, phase)?;
    match &trial.rows {
        Some((known, rows)) if *known == tables => Ok(*rows),
        _ => trial.thawed(|trial| rows::count(run, trial, phase)),
    }
}

/// Records a slice that cannot be executed, with the reason.
pub(crate) fn refuse(
    run: &mut Run<'_>,
    trial: &mut Trial,
    work: &Work,
    reason: &str,
) -> Result<(), Error> {
    let mut record = blank(run, trial, work);
    record.state = SliceState::Failed;
    let first = reason.lines().next().unwrap_or_default();
    record.reason = Some(match trial.broken {
        Some(_) => format!("not executed, because of an earlier failure: {first}"),
        None => first.to_owned(),
    });
    note_indexes(run, trial, work);
    trial.writer.slice(&record)?;
    run.slice_done(&record);
    Ok(())
}

/// Notes which tables are not what they should be, if this phase was to create indexes and broke.
fn note_indexes(run: &Run<'_>, trial: &mut Trial, work: &Work) {
    let phase = &run.plan.phases[work.phase];
    if phase.kind == PhaseKind::Index {
        let schema = run.plan.workloads[phase.workload].schema.clone();
        trial.unindexed.entry(schema).or_insert_with(|| phase.name.clone());
    }
}

fn fill_in(record: &mut SliceRecord, trial: &Trial, measured: Measured) {
    record.wall_start_us = measured.from_us;
    record.marks.extend(measured.marks);
    record.readings = measured.readings;
    record.drained = measured.drained;
    record.drain_seconds = measured.drain_seconds;
    if measured.work.failed > 0 {
        let first = measured.work.errors.first();
        let words = first.map_or_else(String::new, |e| format!(" ({}: {})", e.code, e.message));
        record.state = SliceState::Failed;
        record.reason = Some(format!(
            "{} of {} operations failed{words}",
            measured.work.failed, measured.work.scheduled
        ));
    }
    if trial.stand.foreground.tasks.is_empty() && trial.stand.server.is_some() {
        record.marks.push("foreground missing".to_owned());
    }
    record.work = Some(measured.work);
}

fn measure(
    run: &mut Run<'_>,
    trial: &mut Trial,
    (work, rows): (&Work, Option<u64>),
) -> Result<Measured, Error> {
    let phase = &run.plan.phases[work.phase];
    let sampler = Sampler::start(&trial.stand.counted(), SERIES_INTERVAL)?;
    if let Some(warmup) = work.warmup {
        run.during(Activity::WarmUp, |_| stretch(trial, phase, warmup, work.seed ^ WARMUP_SEED))?;
    }
    let from_us = wall_us();
    let window = others::Window::begin();
    let before = snapshot(trial)?;
    let activity = match work.state {
        SliceState::Measured => Activity::Measurement,
        SliceState::Discarded | SliceState::Failed => Activity::WarmUp,
    };
    let report = run.during(activity, |run| match phase.kind {
        PhaseKind::Index => indexes::create(run, (trial, rows.unwrap_or(0)), phase),
        _ => stretch(trial, phase, work.end, work.seed),
    })?;
    let after = snapshot(trial)?;
    let idle = window.elapsed().saturating_sub(length(&report));
    let series = sampler.stop();
    trial.writer.series(&series)?;
    let mut readings = Meter::readings(&before, &after);
    let (load, load_mark) = window.end(&readings).unzip();
    readings.extend(load);
    probe::raise_peaks(&mut readings, &series, from_us, wall_us());
    let workload = &run.plan.workloads[phase.workload];
    let tasks = Meter::task_readings(&before, &after);
    let serving = &trial.stand.foreground.tasks;
    readings.extend(by_role::readings(workload, &phase.parameters, serving, &tasks));
    if let Some(lost) = &report.lost {
        let message =
            format!("{} connections were lost ({}: {})", lost.count, lost.code, lost.message);
        return Err(Error::Sql { message, lost: true });
    }
    if let Some(server) = trial.stand.server.as_ref().filter(|server| !server.is_alive()) {
        let message = format!("the server with process {} is gone", server.pid());
        return Err(Error::Sql { message, lost: true });
    }
    let mut measured = Measured {
        from_us,
        work: report,
        readings,
        drained: Vec::new(),
        drain_seconds: 0.0,
        marks: trial.meter.as_ref().map(Meter::marks).unwrap_or_default(),
    };
    measured.marks.extend(load_mark.flatten());
    let stopped = phase.kind != PhaseKind::Index && ran_on(idle, length(&measured.work));
    measured.marks.extend(stopped.then(|| mark::STOPPED.to_owned()));
    if work.after == After::Drain {
        run.during(Activity::Maintenance, |_| drain(trial, &before, &mut measured))?;
    }
    Ok(measured)
}

/// How long a stretch worked.
fn length(report: &StretchReport) -> Duration {
    Duration::from_nanos(report.end_ns.saturating_sub(report.start_ns))
}

/// Whether the counters ran on without work for so long that their values are not those of the
/// work. What the driver needs for its report is less.
fn ran_on(idle: Duration, work: Duration) -> bool {
    idle >= Duration::from_secs(1).max(work / 2)
}

/// The discarded start draws from a stream of its own.
const WARMUP_SEED: u64 = 0x5eed_0000_0000_0001;

/// The server pays what the slice left it to pay; the whole server's counters cover that time too.
fn drain(trial: &mut Trial, before: &Snapshot, measured: &mut Measured) -> Result<(), Error> {
    let start = Instant::now();
    let left = trial.stand.drain(DRAIN_CEILING, Patience::WhilePaying)?;
    if !left.is_empty() {
        measured.marks.push("background work pending after the drain".to_owned());
        trial.event("warning", &format!("background work pending: {}", left.join(", ")), None)?;
    }
    measured.drain_seconds = start.elapsed().as_secs_f64();
    measured.drained = Meter::readings(before, &snapshot(trial)?);
    Ok(())
}

fn snapshot(trial: &mut Trial) -> Result<Snapshot, Error> {
    let meter = trial.meter.as_mut();
    let meter = meter.ok_or_else(|| Error::Driver("no counters are attached".to_owned()))?;
    Ok(meter.snapshot()?)
}

/// One stretch of the compiled workload.
pub(crate) fn stretch(
    trial: &mut Trial,
    phase: &Phase,
    end: StretchEnd,
    seed: u64,
) -> Result<StretchReport, Error> {
    run_stretch(&mut trial.stand.driver, phase, end, seed)
}

/// One stretch on any driver.
pub(crate) fn run_stretch(
    driver: &mut crate::Driver,
    phase: &Phase,
    end: StretchEnd,
    seed: u64,
) -> Result<StretchReport, Error> {
    let stretch = Stretch { end, arrival: phase.arrival, seed, interval_ms: 1000 };
    match driver.ask(&Command::Run(stretch))? {
        Reply::Ran(report) => Ok(*report),
        other => Err(unexpected("run", &other)),
    }
}

/// A record with everything that is known before the slice.
fn blank(run: &Run<'_>, trial: &Trial, work: &Work) -> SliceRecord {
    let phase = &run.plan.phases[work.phase];
    let subject = run.subject(trial.subject);
    let mut levels = subject.levels.clone();
    levels.extend(phase.levels.clone());
    SliceRecord {
        block: trial.header.block,
        subject: subject.label.clone(),
        phase: phase.name.clone(),
        workload: run.plan.workloads[phase.workload].name.clone(),
        group: phase.group.clone(),
        position: u32::try_from(work.phase).unwrap_or(u32::MAX),
        range: phase.range,
        clients: phase.clients,
        levels,
        round: work.round,
        order: work.order,
        seed: work.seed,
        state: work.state,
        reason: None,
        marks: trial.marks.clone(),
        wall_start_us: wall_us(),
        work: None,
        readings: Vec::new(),
        drained: Vec::new(),
        drain_seconds: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_run_on_without_work_are_found() {
        let check = |idle: f64, work: f64, expected: bool| {
            let [idle, work] = [idle, work].map(Duration::from_secs_f64);
            assert_eq!(ran_on(idle, work), expected, "{idle:?} {work:?}");
        };
        check(0.05, 0.1, false);
        check(0.9, 0.1, false);
        check(1.0, 2.0, true);
        check(1.4, 3.0, false);
        check(20.0, 30.0, true);
    }
}
