//! Which blocks and rounds a value and a ratio are made of.

use super::{compared, design, reading, slice, work};
use analysis::{
    Comparison, Input, PhaseFacts, Reason, Verdict, compare,
    history::{Quantity, Session, history},
    observe,
};
use model::{
    reading::{Reading, Scope},
    record::SliceRecord,
};

/// A slice of this many operations per second.
fn at_rate(subject: &str, block: u32, round: u32, rate: f64) -> SliceRecord {
    let mut slice = slice(subject, block, round);
    work(&mut slice).end_ns = 1 + (1e12 / rate) as u64;
    slice
}

fn rate_of<'a>(found: &'a Comparison, subject: &str) -> &'a analysis::Cell {
    let cells = &mut found.phases[0].cells.iter();
    cells.find(|cell| cell.metric.name == "ops_per_second" && *cell.subject == *subject).unwrap()
}

#[test]
fn rounds_of_two_runs_are_not_pairs_and_the_ratio_is_that_of_the_values() {
    let earlier: Vec<_> = (0..4).map(|block| at_rate("old", block, 0, 1000.0)).collect();
    // Round 0 was disturbed and repeated twice.
    let of_block = |block| {
        [(0, 800.0), (3, 1000.0), (4, 1000.0)]
            .map(|(round, rate)| at_rate("new", block, round, rate))
    };
    let later: Vec<_> = (0..4).flat_map(of_block).collect();
    let observed = |run, slices: &[SliceRecord]| {
        let input = |slice| Input { experiment: "one", run, slice };
        observe(slices.iter().map(input), &|_, _| PhaseFacts::default())
    };
    let both = observed("r", &earlier).beside(observed("s", &later), "r");
    let found = compare(&both, &design(&[("old", None), ("new", Some("old"))]));
    let cell = rate_of(&found, "new");
    let expected = 0.8_f64.powf(1.0 / 3.0);
    assert!((cell.ratio.unwrap() - expected).abs() < 1e-6, "{:?}", cell.ratio);
    let values = cell.value.unwrap() / cell.base_value.unwrap();
    assert!((values - expected).abs() < 1e-6, "{values}");
}

#[test]
fn a_ratio_of_two_runs_is_that_of_the_values_where_one_is_zero() {
    let observed = |run, subject: &str, of_rounds: [(u32, u32, f64); 3]| {
        let slices = of_rounds.map(|(block, round, switches)| {
            let mut slice = slice(subject, block, round);
            slice.readings.push(reading(Scope::Server, "voluntary_switches", switches));
            slice
        });
        let input = |slice| Input { experiment: "one", run, slice };
        observe(slices.iter().map(input), &|_, _| PhaseFacts::default())
    };
    let earlier = observed("r", "old", [(0, 0, 10.0), (0, 1, 40.0), (1, 0, 0.0)]);
    let later = observed("s", "new", [(0, 0, 20.0), (0, 1, 20.0), (1, 0, 30.0)]);
    let both = earlier.beside(later, "r");
    let found = compare(&both, &design(&[("old", None), ("new", Some("old"))]));
    let cell = found.cell("point-query", "new", "context_switches_per_op").unwrap();
    let values = cell.value.unwrap() / cell.base_value.unwrap();
    assert_eq!((cell.ratio, values), (Some(2.0), 2.0));
}

#[test]
fn a_block_that_lacks_one_side_is_in_neither_value_of_a_ratio() {
    let slices =
        [at_rate("old", 0, 0, 1000.0), at_rate("old", 1, 0, 4000.0), at_rate("new", 1, 0, 2000.0)];
    let found = compared(&slices);
    let cell = rate_of(&found, "new");
    assert_eq!((cell.blocks, cell.verdict), (1, Verdict::Unreplicated));
    let near = |value: Option<f64>, expected: f64| (value.unwrap() / expected - 1.0).abs() < 1e-6;
    assert!(near(cell.ratio, 0.5), "{:?}", cell.ratio);
    assert!(near(cell.value, 2000.0) && near(cell.base_value, 4000.0), "{cell:?}");
}

#[test]
fn a_disturbed_host_is_told_of_all_sides_and_leaves_no_point_in_a_history() {
    let busy = |subject: &str, block: u32| {
        let mut slice = at_rate(subject, block, 0, 1000.0);
        let (counter, end) = ("others_cpu_ns".to_owned(), 1e12);
        slice.readings.push(Reading { scope: Scope::Host, counter, start: 0.0, end });
        slice
    };
    let check = |design: &[(&str, Option<&str>)], slices: &[SliceRecord]| {
        let input = |slice| Input { experiment: "one", run: "r", slice };
        let observed = observe(slices.iter().map(input), &|_, _| PhaseFacts::default());
        let found = compare(&observed, &super::design(design));
        for (subject, base) in design {
            let cell = rate_of(&found, subject);
            assert!(matches!(cell.reason, Some(Reason::Disturbed(_))), "{cell:?}");
            assert_eq!(cell.verdict == Verdict::Base, base.is_none(), "{cell:?}");
            let is_judged = base.is_some() && slices.iter().any(|slice| slice.block > 0);
            assert_eq!(cell.verdict == Verdict::Invalid, is_judged, "{cell:?}");
        }
        for quantity in [Quantity::Value, Quantity::Ratio] {
            let runs = vec![(Session::default(), found.clone())];
            let metrics = [analysis::metric("ops_per_second").unwrap()];
            let history = history("nightly", runs, &metrics, quantity);
            assert_eq!(history.trends, [], "{quantity:?}");
        }
    };
    let both = [("old", None), ("new", Some("old"))];
    check(&both, &[busy("old", 0), busy("new", 0)]);
    check(&both, &[busy("old", 0), busy("new", 0), busy("old", 1), busy("new", 1)]);
    check(&both[..1], &[busy("old", 0), busy("old", 1)]);
}

#[test]
fn slices_in_which_the_processor_was_slow_are_left_out_alone() {
    // Per operation the load engine needs 10 us, and 20 us where the processor is slow.
    let at_speed = |subject: &str, block: u32, round: u32, slowdown: f64| {
        let mut slice = slice(subject, block, round);
        let work = work(&mut slice);
        work.end_ns = work.start_ns + (slowdown * 1e9) as u64;
        for (scope, us) in [(Scope::Client, 10e6), (Scope::Foreground, 30e6)] {
            slice.readings.push(reading(scope, "cpu_ns", us * slowdown));
        }
        slice
    };
    let of_block = |block| {
        let new = |round, slowdown: f64| {
            let mut slice = at_speed("new", block, round, slowdown);
            // It takes a tenth longer than the base.
            work(&mut slice).end_ns += (slowdown * 0.1e9) as u64;
            slice
        };
        let old = |round, slowdown| at_speed("old", block, round, slowdown);
        // No round is fast for both.
        [old(0, 1.0), new(0, 2.0), old(1, 2.0), new(1, 1.0), old(2, 1.0), new(2, 2.0), new(3, 1.0)]
    };
    let slices: Vec<SliceRecord> = (0..4).flat_map(of_block).collect();
    let comparison = compared(&slices);
    let rate = comparison.cell("point-query", "new", "ops_per_second").unwrap();
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
    assert!(near(rate.ratio.unwrap(), 1.0 / 1.1), "{rate:?}");
    assert_eq!(rate.block_ratios.len(), 4);
    assert!(near(rate.base_value.unwrap(), 1000.0), "{rate:?}");
    let said = "slices left out: the processor was slower than in the fastest slices";
    assert!(comparison.warnings.iter().any(|one| one.contains(said)), "{:?}", comparison.warnings);
}
