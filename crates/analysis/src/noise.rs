//! What a noise bank tells of the spread of a comparison's blocks: a [`Prior`] for each server
//! product, group of workloads and metric.

use crate::{
    compare::{Comparison, PhaseResult},
    prior::{Prior, Spread},
};
use model::bank::{BankedPhase, BankedRun};
use std::collections::BTreeMap;

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
        let claimed = own.filter(|cell| cell.metric.margin().is_some());
        let logs = claimed.filter(|cell| cell.block_ratios.len() > 1).map(|cell| {
            let logs = cell.block_ratios.iter().map(|ratio| rounded(ratio.ln()));
            (cell.metric.name.to_owned(), logs.collect::<Vec<f64>>())
        });
        let log_ratios: BTreeMap<String, Vec<f64>> =
            logs.filter(|(_, logs)| logs.iter().all(|log| log.is_finite())).collect();
        BankedPhase { phase: phase.phase.clone(), group: phase.group.clone(), log_ratios }
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
    use model::bank::{BANK_FORMAT, HostClass};

    fn run(server: &str, group: &str, logs: &[f64]) -> BankedRun {
        BankedRun {
            format: BANK_FORMAT,
            run: "r".to_owned(),
            started_us: 0,
            host: HostClass {
                cpu: String::new(),
                cpus: 2,
                kernel: String::new(),
                virtualization: String::new(),
                counters: "none".to_owned(),
            },
            dbdyno: String::new(),
            experiment: String::new(),
            server: server.to_owned(),
            subject: server.to_owned(),
            note: String::new(),
            block_seconds: 1.0,
            phases: vec![BankedPhase {
                phase: "p".to_owned(),
                group: group.to_owned(),
                log_ratios: [("ops_per_second".to_owned(), logs.to_vec())].into(),
            }],
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
}
