//! One slice: thaw, a discarded start, the measured stretch, the drain, freeze.

mod gap;
pub(crate) mod indexes;
pub(crate) mod intrusive;
mod rows;
mod state;

use crate::{
    Error, by_role,
    clock::wall_us,
    host::{files, others},
    instruments::{Findings, Opened, observe, unexpected},
    ledger::Activity,
    run::Run,
    server::{Patience, attached},
    trial::Trial,
};
use model::{
    drive::StretchReport,
    mark,
    number::{counted, ordinal},
    plan::{Phase, PhaseKind},
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
    schedule::{After, Slice},
    workload::Check,
};
use rows::Held;
use std::time::{Duration, Instant};

/// How long the background work of one writing slice may take before the slice is marked.
const DRAIN_CEILING: Duration = Duration::from_secs(15);

/// So many statements take CPU time.
const MANY_STATEMENTS: u64 = 100;

/// CPU time in which no server reads a statement, executes it and sends the answer, nanoseconds:
/// the two system calls alone take longer.
const LEAST_NS: f64 = 1000.0;

/// The discarded start draws from a stream of its own.
const WARMUP_SEED: u64 = 0x5eed_0000_0000_0001;

/// What a slice gave before it became a record.
struct Measured {
    /// Wall clock at the start of the measured stretch, microseconds since 1970.
    from_us: u64,
    work: StretchReport,
    readings: Vec<Reading>,
    drained: Vec<Reading>,
    drain_seconds: f64,
    marks: Vec<String>,
    artefacts: Vec<String>,
}

/// Executes a slice and records it. Only errors that are not the subject's own end the run.
pub(crate) fn execute(
    run: &mut Run<'_>,
    trial: &mut Trial,
    slice: &Slice,
) -> Result<SliceRecord, Error> {
    let mut record = blank(run, trial, slice);
    run.now(&doing(&record));
    let announcement = run.options.announcement.as_deref();
    let mut concurrent = others::concurrent(announcement);
    let measured = measured_and_counted(run, trial, slice);
    concurrent.extend(others::concurrent(announcement));
    concurrent.sort();
    concurrent.dedup();
    match trial.keep_apart(measured)? {
        Some((measured, miscount)) => {
            fill_in(&mut record, trial, measured);
            if let Some(reason) = miscount {
                record.state = SliceState::Failed;
                record.reason.get_or_insert(reason);
            }
            if let Some(reason) = &mut record.reason {
                let source = &run.plan.phases[slice.phase].script.source;
                // The load engine has named the line where it knows it.
                if !reason.contains(source.as_str()) {
                    reason.push_str(&format!("; the workload is `{source}`"));
                }
            }
        }
        None => {
            record.state = SliceState::Failed;
            record.reason.clone_from(&trial.broken);
            note_indexes(run, trial, slice);
        }
    }
    record.marks.extend(concurrent);
    let embedded = trial.instance.is_embedded();
    if embedded {
        let (phase, report) = (&run.plan.phases[slice.phase], record.work.as_ref());
        let null = run.calibration.null_readings(phase, &record.readings, report);
        record.readings.extend(null);
    }
    record.readings.extend(trial.of_phase.readings.iter().cloned());
    record.artefacts.extend(trial.of_phase.artefacts.iter().cloned());
    record.marks.extend(trial.of_phase.marks.iter().cloned());
    let folder_bytes = || dbms::bytes_below(&trial.instance.data) as f64;
    let sizes = [
        ("database_bytes", trial.database_bytes),
        ("data_folder_bytes", (!trial.instance.is_attached()).then(folder_bytes)),
    ];
    record.readings.extend(sizes.into_iter().filter_map(|(counter, bytes)| {
        let scope = if embedded { Scope::Client } else { Scope::Server };
        Some(Reading { scope, counter: counter.to_owned(), start: 0.0, end: bytes? })
    }));
    trial.writer.slice(&record)?;
    trial.note_audited(slice);
    run.slice_done(&record);
    Ok(record)
}

/// Executes what comes before the first round of a phase, and records it without counters.
pub(crate) fn discard(
    run: &Run<'_>,
    trial: &mut Trial,
    slice: &Slice,
) -> Result<SliceRecord, Error> {
    let phase = &run.plan.phases[slice.phase];
    if let Some(reason) = trial.obstacle(&phase.script) {
        return refused(run, trial, slice, &reason);
    }
    let mut record = blank(run, trial, slice);
    run.now(&doing(&record));
    if phase.script.writes() {
        trial.rows = None;
    }
    let end = run.calibration.end(phase, slice.length);
    let worked = trial.thawed(|trial| {
        let work = trial.instance.driver.stretch(end, slice.seed)?;
        if slice.after == After::Drain {
            trial.instance.drain(DRAIN_CEILING, Patience::WhilePaying)?;
        }
        Ok(work)
    });
    match trial.keep_apart(worked)? {
        Some(work) => note_work(&mut record, work),
        None => {
            record.state = SliceState::Failed;
            record.reason.clone_from(&trial.broken);
        }
    }
    if slice.after == After::Drain {
        files::sync_file_system(&trial.instance.data)?;
    }
    trial.writer.slice(&record)?;
    Ok(record)
}

/// What a slice does, for a display.
fn doing(record: &SliceRecord) -> String {
    let part = match record.state {
        SliceState::Discarded => "discarded start".to_owned(),
        _ => match record.repeats {
            Some(round) => format!("round {} again, it was disturbed", ordinal(round)),
            None => format!("round {}", ordinal(record.round)),
        },
    };
    let (subject, phase) = (&record.subject, &record.phase);
    format!("block {}: {phase} on {subject}, {part}", ordinal(record.block))
}

/// A slice, and what is wrong with the rows that it found, or left where its roles insert and
/// delete.
fn measured_and_counted(
    run: &mut Run<'_>,
    trial: &mut Trial,
    slice: &Slice,
) -> Result<(Measured, Option<String>), Error> {
    let phase = &run.plan.phases[slice.phase];
    let script = &phase.script;
    // What coded operations insert and delete is for their audit to say.
    let by_roles = script.ends_by_itself() && script.coded.is_none();
    let counted = phase.kind == PhaseKind::Index || by_roles;
    let before = match counted {
        true => Some(rows_before(run, trial, phase)?),
        false => None,
    };
    if script.writes() {
        // Whatever comes of it, the tables do not hold what was counted.
        trial.rows = None;
    }
    let measured = trial.thawed(|trial| measure(run, trial, slice, before))?;
    if slice.after == After::Drain {
        files::sync_file_system(&trial.instance.data)?;
    }
    let wrong = unexpected(&measured.work)
        .or_else(|| mistaken(phase.kind, &measured.readings, &measured.work));
    let Some(before) = before else { return Ok((measured, wrong)) };
    let (found, bytes) = trial
        .thawed(|trial| Ok((rows::count(run, trial, phase)?, trial.instance.database_bytes()?)))?;
    // What inserts grows: its size is that of its end.
    trial.database_bytes = bytes;
    let tables = rows::tables_of(run, phase)?;
    let held = Held { rows: before, tables: tables.len() as u64 };
    trial.rows = Some((tables, found));
    let expected = rows::expected(before, script, &measured.work);
    // Rows that triggers and foreign keys change are no statement's.
    let subject = &run.plan.subjects[trial.subject];
    let is_told = script.deviation(subject, Check::Effect).is_none();
    let miscount = expected
        .filter(|_| is_told)
        .and_then(|expected| rows::mismatch(expected, found))
        .or(wrong)
        .or_else(|| rows::missed(held, script, &measured.work));
    Ok((measured, miscount))
}

/// One sentence where the tasks that were taken for the serving ones did nothing, or too little to
/// have served: neither costs nor placement are those of the operations then.
fn mistaken(kind: PhaseKind, readings: &[Reading], work: &StretchReport) -> Option<String> {
    // Indexes are built on connections of their own.
    if kind == PhaseKind::Index {
        return None;
    }
    let done = work.reads + work.writes + work.others;
    let of = |counter: &str| {
        let is_own = |one: &&Reading| one.scope == Scope::Foreground && one.counter == counter;
        readings.iter().find(is_own).map(Reading::delta)
    };
    let cpu_ns = of("cpu_ns").or_else(|| of("task_clock_ns"))?;
    (done >= MANY_STATEMENTS && cpu_ns < LEAST_NS * done as f64).then(|| {
        format!(
            "the tasks that were taken for the serving ones did not execute the {done} statements: \
             they had {cpu_ns} ns of CPU time; run it again"
        )
    })
}

/// Rows of a phase's tables: as last counted, if these were counted and nothing has written since.
fn rows_before(run: &Run<'_>, trial: &mut Trial, phase: &Phase) -> Result<u64, Error> {
    let tables = rows::tables_of(run, phase)?;
    match &trial.rows {
        Some((known, rows)) if *known == tables => Ok(*rows),
        _ => trial.thawed(|trial| rows::count(run, trial, phase)),
    }
}

/// Records a slice that cannot be executed, with the reason.
pub(crate) fn refuse(
    run: &mut Run<'_>,
    trial: &mut Trial,
    slice: &Slice,
    reason: &str,
) -> Result<SliceRecord, Error> {
    let record = refused(run, trial, slice, reason)?;
    run.slice_done(&record);
    Ok(record)
}

fn refused(
    run: &Run<'_>,
    trial: &mut Trial,
    slice: &Slice,
    reason: &str,
) -> Result<SliceRecord, Error> {
    let mut record = blank(run, trial, slice);
    record.state = SliceState::Failed;
    let first = reason.lines().next().unwrap_or_default();
    record.reason = Some(match trial.broken {
        Some(_) => format!("not executed, because of an earlier failure: {first}"),
        None => first.to_owned(),
    });
    note_indexes(run, trial, slice);
    trial.writer.slice(&record)?;
    Ok(record)
}

/// Notes which tables are not what they should be, if this phase was to create indexes and broke.
fn note_indexes(run: &Run<'_>, trial: &mut Trial, slice: &Slice) {
    let phase = &run.plan.phases[slice.phase];
    if phase.kind == PhaseKind::Index {
        let schema = phase.script.schema.clone();
        trial.unindexed.entry(schema).or_insert_with(|| phase.name.clone());
    }
}

fn fill_in(record: &mut SliceRecord, trial: &Trial, measured: Measured) {
    record.wall_start_us = measured.from_us;
    record.marks.extend(measured.marks);
    record.readings = measured.readings;
    record.drained = measured.drained;
    record.drain_seconds = measured.drain_seconds;
    record.artefacts = measured.artefacts;
    note_work(record, measured.work);
    if trial.instance.foreground.tasks.is_empty() && trial.instance.is_seen() {
        record.marks.push("foreground missing".to_owned());
    }
    record.marks.extend(trial.instance.placed.mark().map(str::to_owned));
}

/// What was done, and whether any of it failed.
fn note_work(record: &mut SliceRecord, work: StretchReport) {
    if work.failed > 0 {
        let first = work.errors.first();
        let words = first.map_or_else(String::new, |e| format!(" ({}: {})", e.code, e.message));
        record.state = SliceState::Failed;
        record.reason =
            Some(format!("{} of {} operations failed{words}", work.failed, work.scheduled));
    }
    record.work = Some(work);
}

/// The discarded start and the measured stretch, with all instruments that do not disturb; then
/// the drain. The instruments stay closed where something breaks.
fn measure(
    run: &mut Run<'_>,
    trial: &mut Trial,
    slice: &Slice,
    rows: Option<u64>,
) -> Result<Measured, Error> {
    let phase = &run.plan.phases[slice.phase];
    let mut instruments = std::mem::take(&mut trial.instruments);
    if instruments.is_empty() {
        return Err(Error::Driver("no counters are attached".to_owned()));
    }
    let activity = match slice.state {
        SliceState::Measured => Activity::Measurement,
        SliceState::Discarded | SliceState::Failed => Activity::WarmUp,
    };
    let mut found = Findings::default();
    let mut window = Window::default();
    let work = observe(&mut instruments.slice, &mut found, |found| {
        if let Some(warmup) = slice.warmup {
            let end = run.calibration.end(phase, warmup);
            let driver = &mut trial.instance.driver;
            run.during(Activity::WarmUp, |_| driver.stretch(end, slice.seed ^ WARMUP_SEED))?;
        }
        let before = state::read(&mut trial.instance)?;
        let tables = indexes::size_before(trial, phase)?;
        found.from_us = wall_us();
        let start = Instant::now();
        let work = observe(&mut instruments.window, found, |_| {
            window.opened = start.elapsed();
            let work = run.during(activity, |run| match phase.kind {
                PhaseKind::Index => indexes::create(run, trial, phase, rows.unwrap_or(0)),
                _ => {
                    let end = run.calibration.end(phase, slice.length);
                    trial.instance.driver.stretch(end, slice.seed)
                }
            });
            window.answered = start.elapsed();
            work
        })?;
        window.closed = start.elapsed();
        found.readings.extend(indexes::size(trial, tables)?);
        // A server that was lost is found out below.
        let after = state::read(&mut trial.instance).unwrap_or_default();
        found.artefacts.extend(state::artefact(before, after));
        Ok(work)
    })?;
    trial.writer.series(&found.series)?;
    let stopped = phase.kind != PhaseKind::Index && window.ran_on(length(&work), phase.clients);
    let mut measured = measured(trial, phase, work, found)?;
    measured.marks.extend(stopped.then(|| mark::STOPPED.to_owned()));
    if slice.after == After::Drain {
        let window = &mut instruments.window;
        run.during(Activity::Maintenance, |_| drain(trial, window, &mut measured))?;
    }
    trial.instruments = instruments;
    Ok(measured)
}

/// What a stretch and its instruments gave. Fails where the server was lost on the way.
fn measured(
    trial: &mut Trial,
    phase: &Phase,
    work: StretchReport,
    found: Findings,
) -> Result<Measured, Error> {
    if let Some(lost) = &work.lost {
        let message =
            format!("{} lost ({}: {})", counted(lost.count, "connection"), lost.code, lost.message);
        return Err(Error::Sql { message, lost: true });
    }
    if let Some(server) = trial.instance.server.as_ref().filter(|server| !server.is_alive()) {
        let message = format!("the server with process {} is gone", server.pid());
        return Err(Error::Sql { message, lost: true });
    }
    let mut readings = found.readings;
    attached::leave_out(&trial.instance, &mut readings);
    let serving = &trial.instance.foreground.tasks;
    readings.extend(by_role::readings(&phase.script, serving, &found.tasks));
    Ok(Measured {
        from_us: found.from_us,
        work,
        readings,
        drained: Vec::new(),
        drain_seconds: 0.0,
        marks: found.marks,
        artefacts: trial.keep_artefacts(&found.artefacts)?,
    })
}

/// How long a stretch worked.
fn length(report: &StretchReport) -> Duration {
    Duration::from_nanos(report.end_ns.saturating_sub(report.start_ns))
}

/// What a busy host may need for the start and the report of one more connection.
const OF_CLIENT: Duration = Duration::from_millis(2);

/// Moments of a window, since its instruments began to be opened.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    /// All of them were.
    opened: Duration,
    /// The driver had worked and reported.
    answered: Duration,
    /// All of them had been read.
    closed: Duration,
}

impl Window {
    /// Whether the counters ran on without work for so long that their values are not those of the
    /// work. What the driver needs for its report is less; to read the counters of a thousand tasks
    /// takes as long at the end as at the start.
    fn ran_on(self, work: Duration, clients: u32) -> bool {
        let limit = Duration::from_secs(1).max(work / 4);
        let idle = self.answered.saturating_sub(self.opened + work);
        let closing = self.closed.saturating_sub(self.answered);
        idle >= limit + OF_CLIENT * clients || closing >= limit.max(3 * self.opened)
    }
}

/// The server pays what the slice left it to pay; the whole server's counters cover that time too.
fn drain(
    trial: &mut Trial,
    window: &mut [Box<dyn Opened>],
    measured: &mut Measured,
) -> Result<(), Error> {
    let gap = so_far(window)?;
    let start = Instant::now();
    let left = trial.instance.drain(DRAIN_CEILING, Patience::WhilePaying)?;
    if !left.is_empty() {
        measured.marks.push("background work pending after the drain".to_owned());
        trial.event("warning", &format!("background work pending: {}", left.join(", ")), None)?;
    }
    measured.drain_seconds = start.elapsed().as_secs_f64();
    measured.drained = gap::left_out(&measured.readings, &gap, so_far(window)?);
    Ok(())
}

/// Readings since the window began.
fn so_far(window: &mut [Box<dyn Opened>]) -> Result<Vec<Reading>, Error> {
    let mut readings = Vec::new();
    for instrument in window.iter_mut().rev() {
        readings.extend(instrument.so_far()?);
    }
    Ok(readings)
}

/// A record with everything that is known before the slice.
fn blank(run: &Run<'_>, trial: &Trial, slice: &Slice) -> SliceRecord {
    let phase = &run.plan.phases[slice.phase];
    let subject = run.subject(trial.subject);
    let mut levels = subject.levels.clone();
    levels.extend(phase.levels.clone());
    SliceRecord {
        block: trial.header.block,
        subject: subject.label.clone(),
        phase: phase.name.clone(),
        workload: phase.script.workload.clone(),
        group: phase.group.clone(),
        position: u32::try_from(slice.phase).unwrap_or(u32::MAX),
        range: phase.range,
        clients: phase.clients,
        levels,
        round: slice.round,
        repeats: slice.repeats,
        order: slice.order,
        seed: slice.seed,
        state: slice.state,
        marks: trial.marks.clone(),
        wall_start_us: wall_us(),
        ..SliceRecord::default()
    }
}

#[cfg(test)]
mod tests;
