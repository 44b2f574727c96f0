//! What the records of a run tell beside its slices' values: gathered for the HTML report.

use crate::{args::DEFAULT_RESULTS, server_state, shell::quoted};
use analysis::{Curve, PhaseFacts, RoleTimes};
use model::{
    imported::ImportedValue,
    number::counted,
    reading::{LatencyCounts, LatencyTime, Scope},
    record::{SliceRecord, SliceState},
    shared::Name,
};
use plan::Catalog;
use report::{Details, LeftOut, Overhead, Provenance, Trial};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use store::{Results, StoredSlice, StoredTrial};

/// Everything that is known of the run of `slices` beside their values. What cannot be read is
/// missing, and a remark says so.
pub(crate) fn of(results: &Results, slices: &[StoredSlice]) -> anyhow::Result<Details> {
    let run = slices.first().map_or("", |slice| slice.run.as_str());
    let records = || slices.iter().map(|stored| &stored.slice);
    let plan = results.plan_of(run).ok();
    let words: Vec<String> = results.state_of(run, runner::COMMAND)?.unwrap_or_default();
    let command = plan.as_ref().map(|plan| command_line(&plan.experiment.name, &words));
    let design = plan.as_ref().map(analysis::Design::of);
    let facts = |phase: &str| design.as_ref().map(|d| d.facts(phase)).unwrap_or_default();
    let mut details = Details {
        run: run.to_owned(),
        started_us: results.runs()?.into_iter().find(|info| info.id == run).map(|i| i.started_us),
        ledger: results.state_of(run, runner::TIME)?.unwrap_or_default(),
        accounting: Some(analysis::account(records())),
        throughput: analysis::throughput_curves(records(), &facts),
        stalls: analysis::stall_curves(records(), &facts),
        roles: analysis::role_curves(records()),
        role_costs: analysis::role_costs(records()),
        left_out: left_out(slices),
        overhead: overhead(slices, &facts),
        command: command.unwrap_or_default(),
        folder: folder_option(results.dir()),
        notes: plan::notes_in(results.dir())?,
        explanations: results.explanations(run)?,
        counted: design
            .as_ref()
            .map(|d| server_state::counted(results, slices, d))
            .unwrap_or_default(),
        plan,
        ..Details::default()
    };
    let mut latencies = Latencies::of(slices);
    for trial in results.trials(run)? {
        add_trial(results, &trial, &mut details, &mut latencies);
    }
    details.role_times = latencies.role_times();
    details.latency = latencies.curves();
    join(&mut details.resident);
    join(&mut details.addressed);
    Ok(details)
}

/// Run, date and host of `slices`: what every form of a comparison says of them.
pub(crate) fn origin(results: &Results, slices: &[StoredSlice]) -> anyhow::Result<Details> {
    let run = slices.first().map_or("", |slice| slice.run.as_str());
    let trials = results.trials(run)?.into_iter().map(|trial| Trial {
        header: trial.header,
        environment: trial.environment,
        remarks: Vec::new(),
    });
    Ok(Details {
        run: run.to_owned(),
        started_us: results.runs()?.into_iter().find(|info| info.id == run).map(|i| i.started_us),
        trials: trials.collect(),
        folder: folder_option(results.dir()),
        explanations: results.explanations(run)?,
        ..Details::default()
    })
}

/// Where the values of an import come from.
pub(crate) fn of_import(
    results: &Results,
    run: &str,
    values: &[ImportedValue],
) -> anyhow::Result<Details> {
    let mut files: BTreeMap<Name, u64> = BTreeMap::new();
    for value in values {
        *files.entry(value.source.file.clone()).or_default() += 1;
    }
    let header = results.import_of(run)?.unwrap_or_default();
    let notes = header.notes.clone().with(plan::notes_in(results.dir())?);
    let imported = Some(Provenance { header, files });
    Ok(Details { run: run.to_owned(), imported, notes, ..Details::default() })
}

/// The command that repeats a run: the experiment, which is a file unless it is a shipped one, and
/// the options that shaped it.
pub(crate) fn command_line(experiment: &str, words: &[String]) -> String {
    let shipped = Catalog::embedded().and_then(|catalog| catalog.experiments());
    let is_shipped = shipped.is_ok_and(|all| all.iter().any(|one| one.name == experiment));
    let named = match is_shipped {
        true => experiment.to_owned(),
        false => format!("{}.toml", file_name(experiment)),
    };
    let mut line = format!("dbdyno run {}", quoted(&named));
    for word in words {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

/// The option that names a results folder, with a blank before it; nothing for the usual one.
pub(crate) fn folder_option(folder: &Path) -> String {
    match folder == Path::new(DEFAULT_RESULTS) {
        true => String::new(),
        false => format!(" --results {}", quoted(&folder.display().to_string())),
    }
}

/// The name of a file for an experiment, whatever it is called.
fn file_name(experiment: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    experiment.chars().map(plain).collect()
}

fn add_trial(
    results: &Results,
    trial: &StoredTrial,
    details: &mut Details,
    latencies: &mut Latencies,
) {
    let header = &trial.header;
    let mut remarks = Vec::new();
    let events = results.events(trial).map(|events| (events, 0));
    let mut events = readable("events.jsonl", events, &mut remarks);
    events.retain(|event| matches!(event.kind.as_str(), "warning" | "error"));
    remarks.extend(events.into_iter().map(|event| event.message));
    if !trial.complete {
        remarks.push("the trial is still running or was cut short".to_owned());
    }
    let rows = readable("series.csv", results.series(trial), &mut remarks);
    for (curves, counter) in
        [(&mut details.resident, "rss_kib"), (&mut details.addressed, "vsz_kib")]
    {
        let points = analysis::memory_points(&rows, counter);
        if !points.is_empty() {
            let title = if counter == "rss_kib" { "resident memory" } else { "address space" };
            let subject = header.subject.clone();
            curves.push(Curve { subject, phase: title.to_owned(), segments: vec![points] });
        }
    }
    latencies.add(&header.trial, readable("ops.hlog", results.latencies(trial), &mut remarks));
    let (header, environment) = (header.clone(), trial.environment.clone());
    details.trials.push(Trial { header, environment, remarks });
}

/// What could be read of a file of a record; a remark says what could not.
fn readable<T>(
    file: &str,
    read: store::Result<(Vec<T>, usize)>,
    remarks: &mut Vec<String>,
) -> Vec<T> {
    match read {
        Ok((rows, 0)) => rows,
        Ok((rows, damaged)) => {
            let lines = counted(damaged, "line");
            remarks.push(format!("{lines} of {file} left out: cannot be read"));
            rows
        }
        Err(error) => {
            remarks.push(format!("{file} left out: {error}"));
            Vec::new()
        }
    }
}

/// One curve per subject: the trials of a subject are segments of it.
fn join(curves: &mut Vec<Curve>) {
    let mut joined: Vec<Curve> = Vec::new();
    for curve in curves.drain(..) {
        match joined.iter_mut().find(|known| known.subject == curve.subject) {
            Some(known) => known.segments.extend(curve.segments),
            None => joined.push(curve),
        }
    }
    *curves = joined;
}

/// Failed slices, and discarded ones that have a reason: those without were planned.
fn left_out(slices: &[StoredSlice]) -> Vec<LeftOut> {
    let mut found: BTreeMap<(u32, &str, &str, String), u64> = BTreeMap::new();
    for slice in slices.iter().map(|stored| &stored.slice) {
        let reason = match (slice.state, &slice.reason) {
            (SliceState::Measured, _) | (SliceState::Discarded, None) => continue,
            (_, Some(reason)) => reason.lines().next().unwrap_or_default().to_owned(),
            (SliceState::Failed, None) => "no reason was recorded".to_owned(),
        };
        let key = (slice.position, slice.phase.as_str(), slice.subject.as_str(), reason);
        *found.entry(key).or_default() += 1;
    }
    let left = |((_, phase, subject, reason), slices): ((u32, &str, &str, String), u64)| LeftOut {
        subject: subject.to_owned(),
        phase: phase.to_owned(),
        reason,
        slices,
    };
    found.into_iter().map(left).collect()
}

/// The null client's cost in each phase, from the first slice that has it, divided as all costs in
/// tables are.
fn overhead(slices: &[StoredSlice], facts: &dyn Fn(&str) -> PhaseFacts) -> Vec<Overhead> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for slice in slices.iter().map(|stored| &stored.slice) {
        let value = |counter: &str| {
            let mut readings = slice.readings.iter();
            let own = readings.find(|r| r.scope == Scope::Client && r.counter == counter);
            own.map(|reading| reading.end)
        };
        let cpu_ns = value("null_cpu_ns_per_op").or_else(|| value("null_task_clock_ns_per_op"));
        let user_instructions = value("null_user_instructions_per_op")
            .or_else(|| value("null_emulated_user_instructions_per_op"));
        if cpu_ns.is_none() && user_instructions.is_none() {
            continue;
        }
        // Readings are per operation, and each may have many statements or rows.
        let operations = slice.work.as_ref().map_or(0.0, |work| work.succeeded as f64);
        let share = operations / analysis::operations(slice, &facts(&slice.phase));
        if share.is_finite() && seen.insert(slice.phase.clone()) {
            found.push(Overhead {
                phase: slice.phase.clone(),
                user_instructions: user_instructions.map(|count| count * share),
                cpu_us: cpu_ns.map(|ns| ns / 1e3 * share),
            });
        }
    }
    found
}

/// Phase and subject, behind the phase's position.
type PhaseAndSubject = (u32, String, String);

/// A measured slice that histograms belong to.
struct Slice {
    place: PhaseAndSubject,
    /// The operations with their roles, as the workload has them.
    roles: Vec<(String, String)>,
}

/// Latencies of measured slices by position, phase and subject.
#[derive(Default)]
struct Latencies {
    /// What a histogram belongs to: its trial and the millisecond in which its slice began.
    slices: BTreeMap<(String, u64), Slice>,
    counts: BTreeMap<PhaseAndSubject, Vec<LatencyCounts>>,
    /// Behind each place the role's place in the workload, and its name.
    roles: BTreeMap<(PhaseAndSubject, usize, String), Vec<LatencyCounts>>,
}

impl Latencies {
    fn of(slices: &[StoredSlice]) -> Self {
        let measured = slices.iter().filter(|s| s.slice.state == SliceState::Measured);
        let key =
            |stored: &StoredSlice| (stored.trial.clone(), rounded(stored.slice.wall_start_us));
        let known = |slice: &SliceRecord| Slice {
            place: (slice.position, slice.phase.clone(), slice.subject.clone()),
            roles: roles(slice),
        };
        let slices = measured.map(|stored| (key(stored), known(&stored.slice))).collect();
        Self { slices, ..Self::default() }
    }

    fn add(&mut self, trial: &str, counts: Vec<LatencyCounts>) {
        // The log keeps milliseconds, rounded either way.
        let keys = |found: &LatencyCounts| {
            let near = [found.wall_start_ms, found.wall_start_ms.saturating_sub(1)];
            near.map(|at| (trial.to_owned(), at))
        };
        let is_response = |found: &LatencyCounts| found.time == LatencyTime::Response;
        let operation = |found: &LatencyCounts| (found.wall_start_ms, found.operation.clone());
        // Several roles may have an operation: each has a line of its own, in their order.
        let mut lines: BTreeMap<(u64, String), usize> = BTreeMap::new();
        let mut left = counts.into_iter().peekable();
        while let Some(found) = left.next() {
            let line = lines.entry(operation(&found)).or_default();
            *line += usize::from(!is_response(&found));
            let nth = line.saturating_sub(1);
            let Some(slice) = keys(&found).iter().find_map(|key| self.slices.get(key)) else {
                continue;
            };
            // In a closed loop the service times are the response times; else these follow them.
            let follows =
                |next: &LatencyCounts| is_response(next) && operation(next) == operation(&found);
            let counts = is_response(&found) || !left.peek().is_some_and(follows);
            let mut own = slice.roles.iter().filter(|(name, _)| *name == found.operation);
            match own.nth(nth).map(|(_, role)| role).filter(|role| !role.is_empty()) {
                // Roles do different things: together their times mean nothing.
                Some(role) if counts => {
                    let place = slice.roles.iter().position(|(_, other)| other == role);
                    let key = (slice.place.clone(), place.unwrap_or(0), role.clone());
                    self.roles.entry(key).or_default().push(found);
                }
                None if !is_response(&found) => {
                    self.counts.entry(slice.place.clone()).or_default().push(found);
                }
                _ => {}
            }
        }
    }

    fn role_times(&self) -> Vec<RoleTimes> {
        let times = self.roles.iter().map(|(((_, phase, subject), _, role), counts)| RoleTimes {
            phase: phase.clone(),
            subject: subject.clone(),
            role: role.clone(),
            ..RoleTimes::of(counts)
        });
        times.collect()
    }

    fn curves(self) -> Vec<Curve> {
        let curve = |((_, phase, subject), counts): (PhaseAndSubject, Vec<LatencyCounts>)| Curve {
            subject,
            phase,
            segments: vec![analysis::latency_points(&counts)],
        };
        self.counts.into_iter().map(curve).collect()
    }
}

/// The operations of a slice as the log names them, with their roles.
fn roles(slice: &SliceRecord) -> Vec<(String, String)> {
    let ops = slice.work.iter().flat_map(|work| &work.ops);
    ops.map(|op| (store::latency_tag(&op.name), op.role.clone())).collect()
}

fn rounded(wall_us: u64) -> u64 {
    wall_us / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        drive::{OpReport, StretchReport},
        reading::Reading,
        workload::Counts,
    };

    #[test]
    fn what_the_load_engine_costs_is_divided_as_other_costs_are() {
        let reading = |counter: &str, end: f64| Reading {
            scope: Scope::Client,
            counter: counter.into(),
            start: 0.0,
            end,
        };
        // Ten operations of 20 statements each.
        let work = StretchReport { succeeded: 10, reads: 150, writes: 50, ..Default::default() };
        let slice = SliceRecord {
            phase: "read-write".into(),
            readings: vec![
                reading("null_cpu_ns_per_op", 40_000.0),
                reading("null_user_instructions_per_op", 60_000.0),
            ],
            work: Some(work),
            ..SliceRecord::default()
        };
        let (run, experiment, trial) = (String::new(), String::new(), String::new());
        let stored = [StoredSlice { run, experiment, trial, slice }];
        let check = |counts: Counts, cpu_us: f64, instructions: f64| {
            let facts = |_: &str| PhaseFacts { counts, ..PhaseFacts::default() };
            let found = overhead(&stored, &facts);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].cpu_us, Some(cpu_us), "{counts:?}");
            assert_eq!(found[0].user_instructions, Some(instructions), "{counts:?}");
        };
        check(Counts::Operations, 40.0, 60_000.0);
        check(Counts::Statements, 2.0, 3_000.0);
    }

    #[test]
    fn an_operation_of_two_roles_has_the_times_of_each() {
        let op =
            |role: &str| OpReport { name: "find".into(), role: role.into(), ..Default::default() };
        let work = StretchReport { ops: vec![op("closed"), op("open")], ..Default::default() };
        let slice = SliceRecord {
            state: SliceState::Measured,
            wall_start_us: 7_000,
            work: Some(work),
            ..SliceRecord::default()
        };
        let [run, experiment, trial] = ["r", "e", "t"].map(str::to_owned);
        let mut latencies = Latencies::of(&[StoredSlice { run, experiment, trial, slice }]);
        let line = |time, ns| LatencyCounts {
            wall_start_ms: 7,
            operation: "find".into(),
            time,
            counts: vec![(ns, 1)],
        };
        let [closed, open] = [1_000, 2_000].map(|ns| line(LatencyTime::Service, ns));
        latencies.add("t", vec![closed, open, line(LatencyTime::Response, 9_000)]);
        let times = latencies.role_times().into_iter().map(|one| (one.role, one.max_us));
        let expected = [("closed".to_owned(), 1.0), ("open".to_owned(), 9.0)];
        assert_eq!(times.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn commands_name_another_results_folder() {
        assert_eq!(folder_option(Path::new("dbdyno-results")), "");
        assert_eq!(folder_option(Path::new("/a b")), " --results '/a b'");
    }

    #[test]
    fn the_command_that_repeats_a_run_can_be_pasted_into_a_shell() {
        let words = ["--only", "scan,insert", "--set", "factors.build=[\"a\"]", "--set", "x=it's"];
        let words = words.map(str::to_owned);
        let expected = "dbdyno run my_test.toml --only scan,insert \
                        --set 'factors.build=[\"a\"]' --set 'x=it'\\''s'";
        assert_eq!(command_line("my test", &words), expected);
        assert_eq!(command_line("quickstart", &[]), "dbdyno run quickstart");
    }
}
