//! What a noise bank tells of the spread of a comparison's blocks: a [`Prior`] for each server
//! product, group of workloads and metric.

use crate::{
    comparison::{Cell, Comparison, PhaseResult},
    prior::{Prior, Spread},
};
use model::{
    bank::{BankedPhase, BankedRun, HostClass},
    shared::Name,
};
use std::collections::BTreeMap;

/// A prior of no more degrees of freedom tells nothing: phases differ so much that s²/s0² has no
/// mean, and kappa is one.
pub(crate) const FEWEST_FREEDOM: f64 = 2.0;

/// The noise of a class of hosts, and which product each subject of a comparison is.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    priors: BTreeMap<Key, Prior>,
    servers: BTreeMap<String, String>,
    pub(crate) source: BankSource,
}

/// Where what is known of noise comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankSource {
    /// Runs of the host class.
    pub runs: usize,
    /// Wall clock at the start of the latest of them, microseconds since 1970.
    pub last_us: u64,
    /// SHA-256 of the bank, hexadecimal.
    pub sha256: String,
}

/// Whose noise is taken for the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Server product.
    pub server: String,
    /// Report group of the workload.
    pub group: String,
    /// Metric.
    pub metric: String,
}

/// What is known of the spread of a cell's blocks before they are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// How earlier runs spread.
    pub prior: Prior,
    /// How many times their variance this comparison has, kappa; at least 1.
    pub inflation: f64,
}

impl Noise {
    /// What the runs of one class of hosts tell; none if there are none. `servers` has the product
    /// of each label, `sha256` is that of the bank.
    pub fn of(
        runs: &[BankedRun],
        host: &HostClass,
        servers: BTreeMap<String, String>,
        sha256: &str,
    ) -> Option<Self> {
        let runs: Vec<&BankedRun> = runs.iter().filter(|run| run.host == *host).collect();
        let last_us = runs.iter().map(|run| run.started_us).max()?;
        let mut priors = fitted(runs.iter().copied());
        priors.retain(|_, prior| prior.freedom > FEWEST_FREEDOM);
        let source = BankSource { runs: runs.len(), last_us, sha256: sha256.to_owned() };
        Some(Self { priors, servers, source })
    }

    /// Gives every cell what is known of its spread. Kappa is that of a subject and metric.
    pub(crate) fn tell(&self, phases: &mut [PhaseResult]) {
        let mut found: BTreeMap<(Name, &str), Vec<(Spread, Prior)>> = BTreeMap::new();
        for phase in phases.iter() {
            for cell in &phase.cells {
                let Some(prior) = self.prior(&phase.group, cell) else { continue };
                let spread = cell.own_spread().map(|spread| (spread, prior));
                found.entry((cell.subject.clone(), cell.metric.name)).or_default().extend(spread);
            }
        }
        for phase in phases {
            let group = phase.group.clone();
            for cell in &mut phase.cells {
                let Some(prior) = self.prior(&group, cell) else { continue };
                let key = (cell.subject.clone(), cell.metric.name);
                let all = found.get(&key).map_or(&[][..], Vec::as_slice);
                let inflation = Prior::inflation(all);
                let shown: f64 = all.iter().map(|(spread, _)| spread.freedom).sum();
                let own = cell.own_spread().map_or(0.0, |spread| spread.freedom);
                let prior = match inflation > 1.0 {
                    // That today is noisier is known from the other phases, as well as they show.
                    true => Prior { freedom: prior.freedom.min(shown - own), ..prior },
                    false => prior,
                };
                cell.known = Some(Known { prior, inflation });
            }
        }
    }

    /// The prior of a cell: that of its base's product.
    fn prior(&self, group: &str, cell: &Cell) -> Option<Prior> {
        let key = Key {
            server: self.servers.get(cell.base.as_deref()?)?.clone(),
            group: group.to_owned(),
            metric: cell.metric.name.to_owned(),
        };
        self.priors.get(&key).copied()
    }
}

impl Cell {
    /// The spread of the blocks' own ratios; none for fewer than two, or where a ratio has no
    /// logarithm.
    fn own_spread(&self) -> Option<Spread> {
        let logs: Vec<f64> = self.block_ratios.iter().map(|ratio| ratio.ln()).collect();
        Spread::of(&logs).filter(|spread| spread.variance.is_finite())
    }

    /// Standard deviation of the logarithms of the blocks' ratios; none for fewer than two.
    pub fn own_deviation(&self) -> Option<f64> {
        Some(self.own_spread()?.variance.sqrt())
    }
}

impl Known {
    pub(crate) fn moderate(&self, own: Spread) -> Spread {
        self.prior.moderate(own, self.inflation)
    }
}

/// The priors of some runs: each phase of each run gives one spread to its group.
pub fn fitted<'a>(runs: impl Iterator<Item = &'a BankedRun>) -> BTreeMap<Key, Prior> {
    let mut spreads: BTreeMap<Key, Vec<Spread>> = BTreeMap::new();
    for run in runs {
        for phase in &run.phases {
            for (metric, logs) in &phase.log_ratios {
                let (server, group) = (run.server.clone(), phase.group.clone());
                let key = Key { server, group, metric: metric.clone() };
                spreads.entry(key).or_default().extend(Spread::of(logs));
            }
        }
    }
    let fit = |(key, spreads): (Key, Vec<Spread>)| Some((key, Prior::fit(&spreads)?));
    spreads.into_iter().filter_map(fit).collect()
}

/// The phases of a comparison of a build with itself, as a bank keeps them: the metrics of which
/// anything is claimed. `base` is the label of the build.
pub fn banked(comparison: &Comparison, base: &str) -> Vec<BankedPhase> {
    let phase = |phase: &PhaseResult| {
        let own = phase.cells.iter().filter(|cell| cell.base.as_deref() == Some(base));
        let claimed = own.filter(|cell| cell.metric.family.is_some());
        let logs = claimed.filter(|cell| cell.block_ratios.len() > 1).map(|cell| {
            let logs = cell.block_ratios.iter().map(|ratio| rounded(ratio.ln()));
            (cell.metric.name.to_owned(), logs.collect::<Vec<f64>>())
        });
        let log_ratios: BTreeMap<String, Vec<f64>> =
            logs.filter(|(_, logs)| logs.iter().all(|log| log.is_finite())).collect();
        let value = |cell: &Cell| Some((cell.metric.name.to_owned(), cell.base_value?));
        let own = phase.cells.iter().filter(|cell| cell.base.as_deref() == Some(base));
        // Two runs may differ in whatever has a verdict, which is more than priors are known of.
        let values = own.filter(|cell| cell.margin.is_some()).filter_map(value).collect();
        BankedPhase { phase: phase.phase.clone(), group: phase.group.clone(), log_ratios, values }
    };
    let phases = comparison.phases.iter().map(phase);
    phases.filter(|phase| !phase.log_ratios.is_empty()).collect()
}

/// To a millionth: a hundredth of the smallest floor.
fn rounded(log: f64) -> f64 {
    (log * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::bank::BANK_FORMAT;

    fn run(server: &str, group: &str, logs: &[f64]) -> BankedRun {
        BankedRun {
            format: BANK_FORMAT,
            run: "r".to_owned(),
            host: HostClass { cpus: 2, counters: "none".to_owned(), ..HostClass::default() },
            server: server.to_owned(),
            subject: server.to_owned(),
            block_seconds: 1.0,
            phases: vec![BankedPhase {
                phase: "p".to_owned(),
                group: group.to_owned(),
                log_ratios: [("ops_per_second".to_owned(), logs.to_vec())].into(),
                values: BTreeMap::new(),
            }],
            ..BankedRun::default()
        }
    }

    #[test]
    fn noise_is_that_of_one_server_group_and_metric() {
        let quiet = [0.01, -0.01, 0.012, -0.012];
        let loud = [0.1, -0.1, 0.12, -0.12];
        let runs: Vec<BankedRun> = (0..4)
            .flat_map(|_| [run("sqlite", "point", &quiet), run("sqlite", "write", &loud)])
            .chain([run("mysql", "point", &loud)])
            .collect();
        let found = fitted(runs.iter());
        let named: Vec<(&str, &str)> =
            found.keys().map(|key| (key.server.as_str(), key.group.as_str())).collect();
        assert_eq!(named, [("sqlite", "point"), ("sqlite", "write")], "one run is no prior");
        let deviations: Vec<f64> = found.values().map(|prior| prior.deviation).collect();
        assert!((deviations[1] / deviations[0] - 10.0).abs() < 1e-9, "{deviations:?}");
        assert!((0.01..0.02).contains(&deviations[0]), "{deviations:?}");
    }

    #[test]
    fn a_bank_has_the_values_of_all_that_has_verdicts() {
        let cells = ["ops_per_second", "latency_us_p95", "reads_per_op"];
        let cell = |name| Cell { block_ratios: vec![1.0, 1.01], ..testing::cell(name, 2.0, 2.0) };
        let phase = PhaseResult { cells: cells.map(cell).into(), ..testing::phase("p") };
        let found = banked(&testing::comparison(vec![phase]), "old");
        assert!(found[0].values.keys().eq(["latency_us_p95", "ops_per_second"]));
        assert!(found[0].log_ratios.keys().eq(["ops_per_second"]));
    }
}
