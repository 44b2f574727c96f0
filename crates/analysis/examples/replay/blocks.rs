//! Where the blocks of a suite come from: a model, or the blocks of a bank.

use analysis::{Noise, metric};
use model::{
    bank::{BANK_FORMAT, BankedPhase, BankedRun, HostClass},
    metric::Metric,
};
use std::collections::{BTreeMap, BTreeSet};
use values::SplitMix;

/// Runs that a model's bank is made of, and blocks in each.
const RUNS: usize = 20;
const BLOCKS: usize = 5;

/// One metric of one phase.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MetricOfPhase {
    pub(crate) server: String,
    pub(crate) phase: String,
    pub(crate) group: String,
    pub(crate) metric: String,
}

/// Logarithms of ratios of a build against itself, block by block.
pub(crate) enum Blocks {
    /// Normal and independent, with one deviation per place.
    Model(Vec<(MetricOfPhase, f64)>),
    /// Those that were measured: whole blocks, so that what the phases of a block share stays.
    Bank { places: Vec<MetricOfPhase>, runs: Vec<BankedRun> },
}

impl Blocks {
    /// Phases of one group, each with these metrics and deviations.
    pub(crate) fn model(phases: usize, metrics: &[(&str, f64)]) -> Self {
        let place = |phase: usize, metric: &str| MetricOfPhase {
            server: "server".to_owned(),
            phase: format!("p{phase:02}"),
            group: "point".to_owned(),
            metric: metric.to_owned(),
        };
        let of = |phase| metrics.iter().map(move |(name, sd)| (place(phase, name), *sd));
        Self::Model((0..phases).flat_map(of).collect())
    }

    /// The blocks of these runs.
    pub(crate) fn bank(runs: Vec<BankedRun>) -> Self {
        let places: BTreeSet<MetricOfPhase> = runs.iter().flat_map(places).collect();
        // A place that a run lacks could not be drawn from it.
        let in_all = |place: &MetricOfPhase| {
            let mut own = runs.iter().filter(|run| run.server == place.server);
            own.all(|run| logs(run, place).is_some())
        };
        Self::Bank { places: places.into_iter().filter(in_all).collect(), runs }
    }

    pub(crate) fn places(&self) -> Vec<MetricOfPhase> {
        match self {
            Self::Model(places) => places.iter().map(|(place, _)| place.clone()).collect(),
            Self::Bank { places, .. } => places.clone(),
        }
    }

    /// One block, by place. Which copy of a build was called the base is arbitrary, so its sign is
    /// drawn too.
    pub(crate) fn draw(&self, random: &mut SplitMix) -> Vec<f64> {
        match self {
            Self::Model(places) => places.iter().map(|(_, sd)| sd * random.normal()).collect(),
            Self::Bank { places, runs } => {
                let mut drawn: BTreeMap<&str, (&BankedRun, usize, f64)> = BTreeMap::new();
                let mut block = |place: &MetricOfPhase| {
                    let (run, index, sign) =
                        drawn.entry(server(place, runs)).or_insert_with(|| {
                            let own = |run: &&BankedRun| run.server == place.server;
                            let own: Vec<&BankedRun> = runs.iter().filter(own).collect();
                            let chosen = random.bits() % own.len() as u64;
                            (own[chosen as usize], random.bits() as usize, sign(random))
                        });
                    let logs = logs(run, place).unwrap_or_default();
                    *sign * logs[*index % logs.len()]
                };
                places.iter().map(&mut block).collect()
            }
        }
    }

    /// What a bank of such blocks knows, if its noise was `times` that of the suites.
    pub(crate) fn noise(&self, times: f64) -> Option<Noise> {
        let runs = match self {
            Self::Bank { runs, .. } => runs.clone(),
            Self::Model(_) => (0..RUNS).map(|run| self.model_run(run as u64, times)).collect(),
        };
        let servers = runs.iter().map(|run| (run.server.clone(), run.server.clone())).collect();
        Noise::of(&runs, &runs.first()?.host.clone(), servers, "")
    }

    fn model_run(&self, seed: u64, times: f64) -> BankedRun {
        let mut random = SplitMix(1000 + seed);
        let blocks: Vec<Vec<f64>> = (0..BLOCKS).map(|_| self.draw(&mut random)).collect();
        let places = self.places();
        let phase = |(index, place): (usize, &MetricOfPhase)| BankedPhase {
            values: Default::default(),
            phase: place.phase.clone(),
            group: place.group.clone(),
            log_ratios: BTreeMap::from([(
                place.metric.clone(),
                blocks.iter().map(|block| times * block[index]).collect(),
            )]),
        };
        BankedRun {
            format: BANK_FORMAT,
            host: HostClass { cpus: 1, ..HostClass::default() },
            server: places.first().map(|place| place.server.clone()).unwrap_or_default(),
            phases: places.iter().enumerate().map(phase).collect(),
            ..BankedRun::default()
        }
    }
}

impl MetricOfPhase {
    pub(crate) fn metric(&self) -> &'static Metric {
        metric(&self.metric).expect("a bank names metrics of dbdyno")
    }
}

/// -1 or 1.
pub(crate) fn sign(random: &mut SplitMix) -> f64 {
    if random.uniform() < 0.5 { -1.0 } else { 1.0 }
}

/// The server's name, as long as the runs live.
fn server<'a>(place: &MetricOfPhase, runs: &'a [BankedRun]) -> &'a str {
    let run = runs.iter().find(|run| run.server == place.server);
    run.map_or("", |run| run.server.as_str())
}

/// The places of a run in which anything is decided.
fn places(run: &BankedRun) -> Vec<MetricOfPhase> {
    let of = |phase: &BankedPhase| {
        let decided = |name: &&String| metric(name).is_some_and(|metric| metric.family.is_some());
        let known = phase.log_ratios.keys().filter(decided);
        let place = |metric: &String| MetricOfPhase {
            server: run.server.clone(),
            phase: format!("{} {}", run.server, phase.phase),
            group: phase.group.clone(),
            metric: metric.clone(),
        };
        known.map(place).collect::<Vec<MetricOfPhase>>()
    };
    run.phases.iter().flat_map(of).collect()
}

fn logs<'a>(run: &'a BankedRun, place: &MetricOfPhase) -> Option<&'a [f64]> {
    let (_, name) = place.phase.split_once(' ')?;
    let phase = run.phases.iter().find(|phase| phase.phase == name)?;
    phase.log_ratios.get(&place.metric).map(Vec::as_slice).filter(|logs| !logs.is_empty())
}
