//! Slices that are pieces of one work: what stalls in one of them stays in the result.

use super::{slice, work};
use analysis::{Comparison, Design, Input, PhaseFacts, RoleFacts, compare, observe};
use model::{
    drive::{ErrorCount, OpReport},
    record::SliceRecord,
    workload::Counts,
};

/// A piece of this many queries in these seconds, with as many errors, and 1000 rows inserted.
fn piece(
    (subject, round): (&str, u32),
    (queries, seconds): (u64, f64),
    errors: u64,
) -> SliceRecord {
    let mut slice = slice(subject, 0, round);
    let work = work(&mut slice);
    work.end_ns = work.start_ns + (seconds * 1e9) as u64;
    work.errors = vec![ErrorCount { code: "40001".into(), message: String::new(), count: errors }];
    let op = |name: &str, role: &str, count: u64, rows_changed: u64| OpReport {
        name: name.into(),
        role: role.into(),
        count,
        rows_changed,
        service_us: model::drive::Percentiles { max: seconds * 1e6, ..Default::default() },
        ..OpReport::default()
    };
    work.ops = vec![op("point", "query", queries, 0), op("insert", "insert", 20, 1000)];
    slice
}

fn facts(has_pieces: bool) -> PhaseFacts {
    let roles = RoleFacts {
        lead: vec!["point".into()],
        inserts: vec!["insert".into()],
        rows_per_statement: 50,
        ..RoleFacts::default()
    };
    PhaseFacts { counts: Counts::Operations, roles: Some(roles), has_pieces, ..Default::default() }
}

fn compared(slices: &[SliceRecord], has_pieces: bool) -> Comparison {
    let inputs = slices.iter().map(|slice| Input { experiment: "e", run: "r", slice });
    let observations = observe(inputs, &|_, _| facts(has_pieces));
    let design = Design {
        experiment: "e".into(),
        suite: "s".into(),
        subjects: vec![("old".into(), None), ("new".into(), Some("old".into()))],
        ..Design::default()
    };
    compare(&observations, &design)
}

/// Ten pieces of equal work; in one of them the new server has a hundredth of the rate.
fn stalled(seconds: f64) -> Vec<SliceRecord> {
    let new = |round: u32| if round == 3 { seconds } else { 1.0 };
    let pieces = |round: u32| {
        let errors = if round == 3 { 10 } else { 0 };
        [piece(("old", round), (500, 1.0), 0), piece(("new", round), (500, new(round)), errors)]
    };
    (0..10).flat_map(pieces).collect()
}

#[test]
fn the_whole_is_the_sum_of_the_work_over_the_sum_of_the_time() {
    let comparison = compared(&stalled(100.0), true);
    let check = |metric: &str, value: f64, ratio: Option<f64>| {
        let cell = comparison.cell("point-query", "new", metric).unwrap();
        assert!((cell.value.unwrap() / value - 1.0).abs() < 1e-9, "{metric}: {cell:?}");
        assert_eq!(cell.by_block, [cell.value], "{metric}");
        if let Some(ratio) = ratio {
            assert!((cell.ratio.unwrap() / ratio - 1.0).abs() < 1e-9, "{metric}: {cell:?}");
        }
    };
    // 10 s of the base are 109 s.
    check("ops_per_second", 5000.0 / 109.0, Some(10.0 / 109.0));
    check("insert_rows_per_second", 10_000.0 / 109.0, Some(10.0 / 109.0));
    check("errors_per_op", 10.0 / 5000.0, None);
    check("latency_us_max", 100e6, Some(100.0));
}

#[test]
fn pieces_weigh_as_much_as_what_they_are_divided_by() {
    // Pieces of equal time: queries are fewer in one of them, and slower.
    let slices = [
        piece(("old", 0), (900, 1.0), 9),
        piece(("old", 1), (100, 1.0), 10),
        piece(("new", 0), (450, 1.0), 9),
        piece(("new", 1), (50, 1.0), 10),
        // Without a partner it counts in the value, and not in the ratio.
        piece(("new", 2), (2500, 2.0), 0),
    ];
    let comparison = compared(&slices, true);
    let of = |metric: &str| {
        let cell = comparison.cell("point-query", "new", metric).unwrap();
        (cell.base_value, cell.value, cell.ratio)
    };
    assert_eq!(of("ops_per_second"), (Some(500.0), Some(750.0), Some(0.5)));
    assert_eq!(of("errors_per_op"), (Some(0.019), Some(19.0 / 3000.0), Some(2.0)));
}

#[test]
fn rounds_that_repeat_the_same_work_have_a_geometric_mean() {
    let ratio = |seconds: f64| {
        let comparison = compared(&stalled(seconds), false);
        let ratio = comparison.cell("point-query", "new", "ops_per_second").unwrap().ratio;
        (ratio.unwrap(), comparison.warnings)
    };
    let (slower, _) = ratio(2.0);
    assert!((slower - 0.5_f64.powf(0.1)).abs() < 1e-9, "{slower}");
    // What takes 3 times as long as the others is a stall, and is not judged.
    let (without, warnings) = ratio(100.0);
    assert!((without - 1.0).abs() < 1e-9, "{without}");
    let said = "`new`: 1 slice left out: they took 3 times as long";
    assert!(warnings.iter().any(|warning| warning.starts_with(said)), "{warnings:?}");
}
