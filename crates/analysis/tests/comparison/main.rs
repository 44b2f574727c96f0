//! Slices to values to ratios, through the public functions.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod blocks;
mod parts;
mod pieces;

use analysis::{Comparison, Design, Input, PhaseFacts, Reason, Verdict, compare, derive, observe};
use model::{
    drive::{ErrorCount, OpReport, Percentiles, StretchReport},
    mark,
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
    workload::{Arrival, Counts, Spacing},
};

/// One second of 1,000 operations of two statements each, returning five rows each.
fn slice(subject: &str, block: u32, round: u32) -> SliceRecord {
    SliceRecord {
        block,
        subject: subject.into(),
        phase: "point-query".into(),
        workload: "point-query".into(),
        group: "point".into(),
        range: Some(100),
        clients: 1,
        levels: [("build".to_owned(), subject.to_owned())].into(),
        round,
        seed: 1,
        work: Some(StretchReport {
            start_ns: 1,
            end_ns: 1_000_000_001,
            scheduled: 1000,
            succeeded: 1000,
            reads: 1500,
            others: 500,
            rows_read: 5000,
            ..StretchReport::default()
        }),
        ..SliceRecord::default()
    }
}

fn work(slice: &mut SliceRecord) -> &mut StretchReport {
    slice.work.as_mut().unwrap()
}

fn reading(scope: Scope, counter: &str, delta: f64) -> Reading {
    Reading { scope, counter: counter.into(), start: 7.0, end: 7.0 + delta }
}

fn value(slice: &SliceRecord, facts: &PhaseFacts, metric: &str) -> Option<f64> {
    derive(slice, facts).into_iter().find(|(name, _)| *name == metric).map(|(_, value)| value)
}

fn facts(counts: Counts) -> PhaseFacts {
    PhaseFacts { counts, scanned_rows: 100.0, writes: true, ..PhaseFacts::default() }
}

fn design(subjects: &[(&str, Option<&str>)]) -> Design {
    let owned =
        |(label, base): &(&str, Option<&str>)| ((*label).to_owned(), base.map(str::to_owned));
    Design {
        experiment: "one".into(),
        question: "Is it slower?".into(),
        suite: "one".into(),
        subjects: subjects.iter().map(owned).collect(),
        ..Design::default()
    }
}

fn compared(slices: &[SliceRecord]) -> Comparison {
    let input = |slice| Input { experiment: "one", run: "r", slice };
    let observations = observe(slices.iter().map(input), &|_, _| PhaseFacts::default());
    compare(&observations, &design(&[("old", None), ("new", Some("old"))]))
}

#[test]
fn the_workload_says_what_an_operation_is() {
    let mut slice = slice("old", 0, 0);
    slice.readings.push(reading(Scope::Server, "cpu_ns", 30e6));
    let check = |counts, metric: &str, expected: f64| {
        assert_eq!(value(&slice, &facts(counts), metric), Some(expected), "{counts:?} {metric}");
    };
    check(Counts::Operations, "ops_per_second", 1000.0);
    check(Counts::Statements, "ops_per_second", 2000.0);
    check(Counts::Rows, "ops_per_second", 5000.0);
    check(Counts::Operations, "server_cpu_us_per_op", 30.0);
    check(Counts::Statements, "server_cpu_us_per_op", 15.0);
    check(Counts::Rows, "server_cpu_us_per_op", 6.0);
    check(Counts::Rows, "queries_per_second", 2000.0);
    check(Counts::Statements, "transactions_per_second", 1000.0);
    check(Counts::Statements, "rows_per_op", 2.5);
}

#[test]
fn a_scan_that_returns_nothing_counts_the_rows_it_looks_at() {
    let mut slice = slice("old", 0, 0);
    work(&mut slice).rows_read = 0;
    assert_eq!(value(&slice, &facts(Counts::Rows), "ops_per_second"), Some(100_000.0));
    // What was published as the rate of a scan: of all threads once, of one thread since.
    slice.clients = 4;
    assert_eq!(value(&slice, &facts(Counts::Rows), "rows_per_second"), Some(100_000.0));
    let per_client = "rows_per_client_per_second";
    assert_eq!(value(&slice, &facts(Counts::Rows), per_client), Some(25_000.0));
    assert_eq!(value(&slice, &facts(Counts::Statements), per_client), None);
    // An insert changes one row per operation and is no scan.
    work(&mut slice).rows_changed = 1000;
    assert_eq!(value(&slice, &facts(Counts::Rows), per_client), None);
    assert_eq!(value(&slice, &facts(Counts::Rows), "ops_per_second"), Some(1000.0));
}

#[test]
fn deletes_that_find_no_row_are_queries_and_not_effective_operations() {
    // 2000 statements in a second, of which 300 found a row: a table that is nearly empty.
    let mut slice = slice("old", 0, 0);
    let work = work(&mut slice);
    (work.reads, work.writes, work.others, work.rows_read) = (0, 300, 1700, 0);
    work.rows_changed = 300;
    let facts = facts(Counts::Statements);
    assert_eq!(value(&slice, &facts, "queries_per_second"), Some(2000.0));
    assert_eq!(value(&slice, &facts, "effective_ops_per_second"), Some(300.0));
    assert_eq!(value(&slice, &facts, "rows_changed_per_op"), Some(0.15));
    let (cost, instructions) =
        ("server_cpu_us_per_effective_op", "foreground_user_instructions_per_effective_op");
    slice.readings.push(reading(Scope::Server, "cpu_ns", 30e6));
    slice.readings.push(reading(Scope::Foreground, "user_instructions", 6e6));
    assert_eq!(value(&slice, &facts, cost), None, "an operation may be anything");
    let drains = PhaseFacts { drains: true, ..facts.clone() };
    assert_eq!(value(&slice, &drains, "server_cpu_us_per_op"), Some(15.0));
    assert_eq!(value(&slice, &drains, cost), Some(100.0));
    assert_eq!(value(&slice, &drains, instructions), Some(20_000.0));
    let reads = PhaseFacts { writes: false, ..facts };
    assert_eq!(value(&slice, &reads, "effective_ops_per_second"), None);
}

#[test]
fn latencies_are_never_made_from_percentiles_of_several_operations() {
    let percentiles = |p95| Percentiles { p95, ..Percentiles::default() };
    let op = |p95| OpReport {
        service_us: percentiles(p95),
        response_us: percentiles(p95),
        ..OpReport::default()
    };
    let check = |ops: Vec<OpReport>, whole: f64, expected: Option<f64>| {
        let mut slice = slice("old", 0, 0);
        work(&mut slice).ops = ops;
        work(&mut slice).service_us = percentiles(whole);
        let found = value(&slice, &facts(Counts::Operations), "latency_us_p95");
        assert_eq!(found, expected);
    };
    check(vec![op(5.0)], 0.0, Some(5.0));
    check(vec![op(5.0), op(6.0)], 0.0, None);
    check(vec![op(5.0), op(6.0)], 5.5, Some(5.5));
    check(vec![], 0.0, None);
    let mut slice = slice("old", 0, 0);
    work(&mut slice).lag_us_max = 9;
    assert_eq!(value(&slice, &facts(Counts::Operations), "lag_us_max"), None);
    let arrival = Arrival::Open { per_second: 1.0, spacing: Spacing::Even };
    let open = PhaseFacts { arrival, ..facts(Counts::Operations) };
    assert_eq!(value(&slice, &open, "lag_us_max"), Some(9.0));
}

/// A slice with this throughput.
fn fast(subject: &str, block: u32, round: u32, rate: u64) -> SliceRecord {
    let mut slice = slice(subject, block, round);
    work(&mut slice).succeeded = rate;
    slice
}

#[test]
fn ratios_are_means_over_blocks_of_pairs() {
    let slices = [
        fast("old", 0, 0, 100),
        fast("old", 0, 1, 400),
        fast("old", 1, 0, 1000),
        fast("new", 0, 0, 50),
        fast("new", 0, 1, 200),
        fast("new", 1, 0, 2000),
    ];
    let found = compared(&slices);
    let cell = found.cell("point-query", "new", "ops_per_second").unwrap();
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() / expected - 1.0).abs() < 1e-12, "{found:?} {expected}");
    };
    // Blocks: 0.5 and 2.
    near(cell.ratio, 1.0);
    near(cell.base_value, (200.0_f64 * 1000.0).sqrt());
    near(cell.value, (100.0_f64 * 2000.0).sqrt());
    assert_eq!((cell.blocks, cell.verdict), (2, Verdict::Inconclusive));
    let base = found.cell("point-query", "old", "ops_per_second").unwrap();
    assert_eq!((base.ratio, base.verdict, base.blocks), (None, Verdict::Base, 2));
    assert_eq!(found.warnings, Vec::<String>::new());

    let found = compared(&slices[1..5]);
    let cell = found.cell("point-query", "new", "ops_per_second").unwrap();
    // Only round 1 of block 0 has a partner.
    near(cell.ratio, 0.5);
    assert_eq!((cell.blocks, cell.verdict), (1, Verdict::Unreplicated));
    let expected = "`new`: some blocks lack the base or the variant and are left out of the ratio \
         (`point-query`)";
    assert_eq!(found.warnings, [expected]);
}

#[test]
fn an_interval_is_one_of_its_ratio_and_a_value_of_zero_leaves_none() {
    let switching = |subject: &str, block: u32, switches: f64| {
        let mut slice = slice(subject, block, 0);
        slice.readings.push(reading(Scope::Server, "voluntary_switches", switches));
        slice
    };
    let case = |switches: [[f64; 2]; 3]| {
        let slices = (0..).zip(switches).flat_map(|(block, [old, new])| {
            [switching("old", block, old), switching("new", block, new)]
        });
        let found = compared(&slices.collect::<Vec<_>>());
        let cell = found.cell("point-query", "new", "context_switches_per_op").unwrap();
        // A ratio that its values contradict is none.
        if cell.block_ratios.is_empty() {
            let base = found.cell("point-query", "old", "context_switches_per_op").unwrap();
            let values = cell.value.unwrap() / base.value.unwrap();
            assert!((values / cell.ratio.unwrap() - 1.0).abs() < 1e-12, "{values}");
            assert_eq!(cell.base_value, base.value);
        }
        (cell.ratio.unwrap(), cell.interval, cell.block_ratios.len())
    };
    let (ratio, interval, blocks) = case([[10.0, 20.0], [10.0, 21.0], [10.0, 22.0]]);
    let (low, high) = interval.unwrap();
    assert!(low < ratio && ratio < high && blocks == 3, "{low} {ratio} {high}");
    assert!(((low * high).sqrt() / ratio - 1.0).abs() < 1e-12, "{low} {ratio} {high}");
    // What is no longer made of blocks has no interval that could contradict it.
    let (ratio, interval, blocks) = case([[0.0, 10.0], [10.0, 10.0], [10.0, 9.0]]);
    assert_eq!((ratio, interval, blocks), (29.0 / 20.0, None, 0));
    // Here a geometric mean of the new server would be 4, and that of the base, with its zero, 41.
    let (ratio, ..) = case([[0.0, 1.0], [123.0, 8.0], [0.0, 8.0]]);
    assert!((ratio - 17.0 / 123.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn blocks_of_more_rounds_weigh_no_more_in_a_ratio_than_in_its_values() {
    let written = |subject: &str, block: u32, round: u32, switches: f64| {
        let mut slice = slice(subject, block, round);
        slice.readings.push(reading(Scope::Server, "voluntary_switches", switches));
        slice
    };
    let rounds = [(0, 0, [0.0, 20.0]), (0, 1, [40.0, 20.0]), (1, 0, [100.0, 50.0])];
    let slices = rounds.into_iter().flat_map(|(block, round, [old, new])| {
        [written("old", block, round, old), written("new", block, round, new)]
    });
    let found = compared(&slices.collect::<Vec<_>>());
    let cell = found.cell("point-query", "new", "context_switches_per_op").unwrap();
    let values = cell.value.unwrap() / cell.base_value.unwrap();
    assert_eq!((cell.ratio, values), (Some(70.0 / 120.0), 70.0 / 120.0));
}

#[test]
fn the_mean_over_phases_has_the_interval_of_its_blocks() {
    let mut slices = Vec::new();
    for (phase, rates) in [("a", [50, 100]), ("b", [200, 100])] {
        for (block, rate) in (0..).zip(rates) {
            for (subject, rate) in [("old", 100), ("new", rate)] {
                slices.push(SliceRecord { phase: phase.into(), ..fast(subject, block, 0, rate) });
            }
        }
    }
    // Phases go up and down, their mean is 1 in both blocks.
    let ends = compared(&slices).mean_interval("new", "ops_per_second");
    assert_eq!(ends, Some((1.0, 1.0)));
    slices.pop();
    assert_eq!(compared(&slices).mean_interval("new", "ops_per_second"), None);
}

/// Why a cell with a slice whose server ended has no value.
fn ended() -> Reason {
    Reason::Failed("the server ended".into())
}

#[test]
fn a_failed_slice_leaves_no_number_of_its_cell() {
    let mut broken = fast("new", 0, 1, 200);
    broken.state = SliceState::Failed;
    broken.reason = Some("the server ended\nits log".into());
    let good = [fast("old", 0, 0, 100), fast("old", 0, 1, 100), fast("new", 0, 0, 90)];
    let mut slices = good.to_vec();
    slices.push(broken.clone());
    let found = compared(&slices);
    for cell in found.phases[0].cells.iter().filter(|cell| cell.subject == "new") {
        assert_eq!((cell.value, cell.ratio, cell.verdict), (None, None, Verdict::Invalid));
        assert_eq!(cell.reason, Some(ended()));
        assert_eq!(cell.factors["build"], "new");
    }
    assert_eq!(found.phases[0].failure("new"), Some(&ended()));

    broken.subject = "old".into();
    let mut slices = good.to_vec();
    slices.push(broken.clone());
    let found = compared(&slices);
    let cell = found.cell("point-query", "new", "ops_per_second").unwrap();
    assert_eq!((cell.base_value, cell.value, cell.ratio), (None, Some(90.0), None));
    assert_eq!(cell.verdict, Verdict::Invalid);
    assert_eq!(cell.reason, Some(Reason::OfBase(ended().into())));

    let found = compared(&[broken]);
    let reasons: Vec<_> = found.phases[0].cells.iter().map(|cell| cell.reason.clone()).collect();
    assert_eq!(reasons, [Some(ended()), Some(Reason::NotMeasured)]);
}

#[test]
fn a_slice_without_operations_is_a_failure() {
    let mut slices = [slice("old", 0, 0), slice("new", 0, 0)];
    *work(&mut slices[1]) = StretchReport { end_ns: 1_000_000_000, ..StretchReport::default() };
    let found = compared(&slices);
    let nothing = Reason::Failed("no operation was completed".into());
    assert_eq!(found.phases[0].failure("new"), Some(&nothing));
}

#[test]
fn what_readers_must_know_is_a_warning() {
    let check = |change: &dyn Fn(&mut SliceRecord), expected: &[&str]| {
        let mut slices = [slice("old", 0, 0), slice("new", 0, 0)];
        change(&mut slices[1]);
        assert_eq!(compared(&slices).warnings, expected);
    };
    check(&|_| {}, &[]);
    check(
        &|slice| work(slice).unexpected = 3,
        &["`new`: 3 statements had rows outside what the workload expects (`point-query`)"],
    );
    let error = ErrorCount { code: "1213".into(), message: "deadlock".into(), count: 2 };
    check(
        &|slice| work(slice).errors = vec![error.clone(), error.clone()],
        &["`new`: 4 errors were reported (`point-query`)"],
    );
    check(
        &|slice| {
            work(slice).dropped = 5;
            work(slice).late = 6;
        },
        &[
            "`new`: 5 operations due but never started (`point-query`)",
            "`new`: 6 operations started late (`point-query`)",
        ],
    );
    check(
        &|slice| slice.marks = vec!["user mode only".into()],
        &["`new`: user mode only (`point-query`)"],
    );
    check(
        &|slice| slice.readings.push(reading(Scope::Server, "cpu_ns", 1.0)),
        &["`new`: foreground missing (`point-query`)"],
    );
    check(&|slice| slice.levels.insert("clients".into(), "9".into()).map_or((), drop), &[]);
    let mut other = slice("new", 0, 1);
    other.clients = 2;
    let found = compared(&[slice("old", 0, 0), slice("new", 0, 0), other]);
    assert_eq!(found.warnings, ["cells combine values of different clients: `1`, `2`"]);
    let mut warmup = slice("old", 0, 1);
    warmup.state = SliceState::Discarded;
    let found = compared(&[slice("old", 0, 0), slice("new", 0, 0), warmup.clone()]);
    assert_eq!(found.warnings, [""; 0]);
    warmup.reason = Some("the host stole CPU time".to_owned());
    let found = compared(&[slice("old", 0, 0), slice("new", 0, 0), warmup]);
    let expected = "`old`: 1 slice left out: the host stole CPU time (`point-query`)";
    assert_eq!(found.warnings, [expected]);
}

#[test]
fn cells_of_a_subject_are_found_however_many_the_others_have() {
    let subjects = ["old", "new", "newer"];
    let mut phase = compared(&subjects.map(|subject| fast(subject, 0, 0, 100))).phases.remove(0);
    let all = phase.cells_of("old").len();
    assert!(all > 2 && phase.cells.len() == 3 * all);
    // One less of the first, two less of the second.
    phase.cells.remove(0);
    phase.cells.drain(all..all + 2);
    for (subject, missing) in subjects.into_iter().zip([1, 2, 0]) {
        let own = phase.cells_of(subject);
        assert_eq!(own.len(), all - missing, "{subject}");
        assert!(own.iter().all(|cell| cell.subject == subject));
    }
    assert!(
        phase.cells_of("nobody").is_empty() && phase.cell("nobody", "ops_per_second").is_none()
    );
}

#[test]
fn another_base_can_be_chosen() {
    let design = design(&[("old", None), ("new", Some("old"))]);
    let turned = design.clone().against("new").unwrap();
    assert_eq!(turned.bases(), ["new"]);
    assert_eq!(turned.subjects[0], ("old".to_owned(), Some("new".to_owned())));
    let error = design.against("mysql").unwrap_err().to_string();
    assert_eq!(error, "`mysql` is not among the compared variants; choose one of `old`, `new`");
}

#[test]
fn strange_numbers_are_left_out_and_nothing_panics() {
    let mut slice = slice("old", 0, 0);
    slice.readings = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
        .into_iter()
        .map(|delta| reading(Scope::Server, "cpu_ns", delta))
        .collect();
    work(&mut slice).end_ns = 0;
    let names: Vec<_> =
        derive(&slice, &facts(Counts::Operations)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["rows_changed_per_op", "errors_per_op", "rows_per_op"]);
    slice.work = None;
    assert_eq!(derive(&slice, &facts(Counts::Operations)), []);
    assert_eq!(compared(&[slice]).phases.len(), 0);
    assert_eq!(compared(&[]).phases, []);
}

#[test]
fn what_is_left_of_a_failed_cell_is_no_value_of_it() {
    let failed = SliceRecord {
        state: SliceState::Failed,
        reason: Some("the server ended\nits log".into()),
        ..slice("new", 1, 0)
    };
    let again = SliceRecord { round: 1, ..failed.clone() };
    let slices = [slice("old", 0, 0), slice("new", 0, 0), failed, again];
    let input = |slice| Input { experiment: "one", run: "r", slice };
    let observations = observe(slices.iter().map(input), &|_, _| PhaseFacts::default());
    let told: Vec<_> =
        observations.failed_cells().iter().map(|f| (&*f.at.subject, f.line())).collect();
    assert_eq!(told, [("new", "the server ended")]);
    let subjects: Vec<String> =
        observations.sound_measurements().into_iter().map(|m| m.subject.to_string()).collect();
    assert!(!subjects.is_empty() && subjects.iter().all(|s| s == "old"), "{subjects:?}");
}

#[test]
fn a_mark_that_no_slice_warned_of_is_told_once() {
    let mut slices = [slice("old", 0, 0), slice("new", 0, 0), slice("new", 1, 0)];
    slices[1].marks.push("not calm 9 s after its start".into());
    let input = |slice| Input { experiment: "one", run: "r", slice };
    let mut observations = observe(slices.iter().map(input), &|_, _| PhaseFacts::default());
    for measurement in &mut observations.measurements {
        measurement.marks.push("client overhead subtracted".into());
        if measurement.metric == "rows_per_second" {
            measurement.marks.push("a bias of the format".into());
        }
    }
    let design = design(&[("old", None), ("new", Some("old"))]);
    let mut warnings = compare(&observations, &design).warnings;
    warnings.sort_unstable();
    let expected = [
        "`new`: not calm 9 s after its start (`point-query`)",
        "a bias of the format (`new`, `old`, `rows_per_second`)",
        "client overhead subtracted (`new`, `old`)",
    ];
    // Another warning says that a block is missing.
    warnings.retain(|warning| !warning.contains("some blocks lack"));
    assert_eq!(warnings, expected);
}
