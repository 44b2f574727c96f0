//! What runs of one build differ by, taken into account where two runs are compared.
//!
//! Blocks of two runs are paired in their order, and did not share their minutes: what the host did
//! in between is in every ratio alike, and the spread of blocks does not show it. A bank has the
//! values of one build from run to run, whose spread does. The variance of a ratio of two runs is
//! that of its blocks and twice that of a run's value.

use crate::{
    Comparison, PhaseResult, Verdict, decide::decide, interval::informed_interval, prior::Spread,
};
use model::{bank::BankedRun, number::counted};
use std::collections::BTreeMap;

/// Fewest degrees of freedom of a spread that says anything: those of three runs of one build.
const FEWEST_FREEDOM: f64 = 2.0;

/// Widens the intervals of a comparison of two runs by what runs of one build differ by, and tests
/// all cells once more with that, as many at once as before. `servers` has the product of each
/// variant. Gives a sentence about it; none where the bank knows none of the tests.
pub fn widen_between_runs(
    comparison: &mut Comparison,
    runs: &[&BankedRun],
    servers: &BTreeMap<String, String>,
) -> Option<String> {
    let is_own = |run: &&BankedRun| {
        run.experiment == comparison.experiment && servers.values().any(|one| *one == run.server)
    };
    let own: Vec<&BankedRun> = runs.iter().copied().filter(is_own).collect();
    let looks = comparison.looks.clone();
    let (mut known, mut largest) = (0, 0.0_f64);
    for phase in &mut comparison.phases {
        for cell in &mut phase.cells {
            let Some(server) = cell.base.as_deref().and_then(|base| servers.get(base)) else {
                continue;
            };
            let Some(spread) = spread(&own, server, (&phase.phase, cell.metric.name)) else {
                continue;
            };
            cell.between = Some(Spread { variance: 2.0 * spread.variance, ..spread });
            let Some(interval) = informed_interval(cell, &looks) else { continue };
            cell.interval = Some(interval);
            known += 1;
            largest = largest.max(spread.variance.sqrt());
        }
    }
    if known > 0 {
        judge_again(&mut comparison.phases, &looks);
    }
    (known > 0).then(|| {
        format!(
            "intervals include what runs of one build differ by on such a host: up to {:.1} % \
             (sd), from {} of the bank",
            100.0 * largest,
            counted(own.len() as u64, "run")
        )
    })
}

/// How the logarithm of a value differs from run to run of one build: builds and configurations
/// have levels of their own.
fn spread(runs: &[&BankedRun], server: &str, (phase, metric): (&str, &str)) -> Option<Spread> {
    let mut builds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.server == server) {
        let of_phase = run.phases.iter().find(|one| one.phase == phase);
        let log = of_phase.and_then(|one| one.values.get(metric)).map(|value| value.ln());
        builds.entry(&run.subject).or_default().extend(log.filter(|log| log.is_finite()));
    }
    let spreads: Vec<Spread> = builds.values().filter_map(|logs| Spread::of(logs)).collect();
    let freedom: f64 = spreads.iter().map(|spread| spread.freedom).sum();
    let squares: f64 = spreads.iter().map(|spread| spread.freedom * spread.variance).sum();
    (freedom >= FEWEST_FREEDOM).then(|| Spread { variance: squares / freedom, freedom })
}

/// Gives the cells that have verdicts those that follow now.
fn judge_again(phases: &mut [PhaseResult], looks: &[u32]) {
    for cell in phases.iter_mut().flat_map(|phase| &mut phase.cells) {
        if cell.verdict.is_assessed() {
            (cell.verdict, cell.test) = (Verdict::Unassessed, None);
        }
    }
    decide(phases, looks);
    for cell in phases.iter_mut().flat_map(|phase| &mut phase.cells) {
        if cell.between.is_some() && cell.verdict == Verdict::Inconclusive {
            // It is of blocks, and more of them do not narrow what runs differ by.
            cell.test = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, testing};
    use model::bank::{BANK_FORMAT, BankedPhase, HostClass};

    fn run(value: f64) -> BankedRun {
        BankedRun {
            format: BANK_FORMAT,
            host: HostClass { cpus: 2, ..HostClass::default() },
            experiment: "e".to_owned(),
            server: "sqlite".to_owned(),
            block_seconds: 1.0,
            phases: vec![BankedPhase {
                phase: "p".to_owned(),
                group: "point".to_owned(),
                log_ratios: BTreeMap::new(),
                values: [("ops_per_second".to_owned(), value)].into(),
            }],
            ..BankedRun::default()
        }
    }

    #[test]
    fn a_change_that_runs_of_one_build_show_too_is_not_proved() {
        let check = |values: &[f64], expected: Verdict| {
            let mut cell = testing::cell("ops_per_second", 100.0, 90.0);
            cell.block_ratios = vec![0.9, 0.901, 0.899, 0.9];
            (cell.blocks, cell.verdict) = (4, Verdict::Regression);
            let phase = crate::PhaseResult { cells: vec![cell], ..testing::phase("p") };
            let mut comparison = testing::comparison(vec![phase]);
            let mut runs: Vec<BankedRun> = values.iter().map(|value| run(*value)).collect();
            runs.push(BankedRun { server: "mysql".to_owned(), ..run(1.0) });
            let runs: Vec<&BankedRun> = runs.iter().collect();
            let servers = [("old".to_owned(), "sqlite".to_owned())].into();
            let said = widen_between_runs(&mut comparison, &runs, &servers);
            let cell = &comparison.phases[0].cells[0];
            assert_eq!(cell.verdict, expected, "{said:?} {:?}", cell.interval);
            // The mean over one test says what it says.
            let overall = comparison.overall("new", "ops_per_second").unwrap();
            assert_eq!(overall.verdict, expected, "{overall:?}");
            let width = |ends: Option<(f64, f64)>| ends.map(|(low, high)| high / low);
            if let (Some(own), Some(of_mean)) = (width(cell.interval), width(overall.interval)) {
                assert!((own / of_mean - 1.0).abs() < 1e-9, "{overall:?} {:?}", cell.interval);
            }
            (said, cell.interval)
        };
        let (said, interval) = check(&[100.0, 100.1, 99.9, 100.0], Verdict::Regression);
        assert!(said.unwrap().contains("up to 0.1 % (sd), from 4 runs"));
        // By SciPy 1.17.1: variances 2.05762e-7 of the blocks' mean and 1.33333e-6 of the runs, so
        // sd 1.240603e-3 with 3.904388 degrees of freedom, and t(0.975) 2.803466.
        let (low, high) = interval.unwrap();
        assert!((low / 0.896_874_970_826_972_1 - 1.0).abs() < 1e-9, "{low}");
        assert!((high / 0.903_135_360_386_942_3 - 1.0).abs() < 1e-9, "{high}");
        check(&[100.0, 90.0, 110.0, 95.0], Verdict::Inconclusive);
        assert_eq!(check(&[100.0, 90.0], Verdict::Regression).0, None);
    }

    #[test]
    fn a_change_has_to_be_one_beyond_the_floor_still() {
        let mut cell = testing::cell("ops_per_second", 100.0, 96.0);
        cell.block_ratios = vec![0.96, 0.961, 0.959, 0.96];
        (cell.blocks, cell.verdict) = (4, Verdict::Worse);
        let phase = crate::PhaseResult { cells: vec![cell], ..testing::phase("p") };
        let mut comparison = testing::comparison(vec![phase]);
        let runs = [99.05, 100.0, 100.95, 100.0].map(run);
        let runs: Vec<&BankedRun> = runs.iter().collect();
        let servers = [("old".to_owned(), "sqlite".to_owned())].into();
        widen_between_runs(&mut comparison, &runs, &servers);
        let cell = &comparison.phases[0].cells[0];
        // 3.0 % beyond the floor of 1 % are 2.7 standard errors of 3 degrees: p is 0.07.
        assert!(cell.interval.is_some_and(|(_, high)| high < 1.0), "{:?}", cell.interval);
        assert_eq!((cell.verdict, &cell.test), (Verdict::Inconclusive, &None));
    }

    #[test]
    fn what_builds_differ_by_is_none_of_what_runs_differ_by() {
        let runs =
            [("a", 100.0), ("a", 102.0), ("a", 98.0), ("b", 10.0), ("b", 10.1), ("c", 500.0)]
                .map(|(subject, value)| BankedRun { subject: subject.to_owned(), ..run(value) });
        let runs: Vec<&BankedRun> = runs.iter().collect();
        let of = |runs: &[&BankedRun]| spread(runs, "sqlite", ("p", "ops_per_second"));
        let found = of(&runs).unwrap();
        assert_eq!(found.freedom, 3.0);
        assert!((0.01..0.03).contains(&found.variance.sqrt()), "{found:?}");
        assert_eq!(of(&runs[3..]), None, "two runs of one build, and one of another");
    }

    #[test]
    fn blocks_that_are_taken_together_stay_so() {
        let width = |together| {
            let mut cell = Cell { together, ..testing::cell("ops_per_second", 100.0, 90.0) };
            cell.block_ratios = vec![0.90, 0.90, 0.91, 0.91];
            cell.between = Some(Spread { variance: 1e-12, freedom: 3.0 });
            let (low, high) = informed_interval(&cell, &[]).unwrap();
            high / low
        };
        assert!(width(2) > width(1));
    }
}
