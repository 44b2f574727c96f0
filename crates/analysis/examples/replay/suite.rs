//! Suites whose truth is known, judged by the code that judges runs.

use crate::blocks::{Blocks, MetricOfPhase, sign};
use analysis::{Cell, Noise, PhaseResult, Verdict, conclude};
use model::margins::Margins;
use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use values::SplitMix;

/// What is done to the blocks.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Disturbance {
    None,
    /// Every second block has twice the deviation.
    Doubled,
    /// Each start of a server is in one of two states, this far apart, for all phases of its block.
    Bimodal(f64),
    /// Each block keeps half of the last one's deviation.
    Correlated,
}

/// How suites are drawn.
pub(crate) struct Suites<'a> {
    pub(crate) blocks: &'a Blocks,
    pub(crate) disturbance: Disturbance,
    /// Blocks of each.
    pub(crate) count: u32,
}

/// Logarithms of ratios by block, then by place.
pub(crate) type Logs = Vec<Vec<f64>>;

/// Suites that are drawn from one seed.
const CHUNK: usize = 100;

impl Suites<'_> {
    /// The mean over so many suites of the figures that `of` finds in each. However many threads
    /// there are, the suites are the same.
    pub(crate) fn mean(&self, suites: usize, of: impl Fn(Logs) -> Vec<f64> + Sync) -> Vec<f64> {
        let chunks = suites.div_ceil(CHUNK);
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<Vec<f64>>> = Mutex::new(vec![Vec::new(); chunks]);
        let work = || {
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= chunks {
                    return;
                }
                let mut random = SplitMix(7 + ((chunk as u64) << 32));
                let count = CHUNK.min(suites - chunk * CHUNK);
                let all = (0..count).map(|_| of(self.draw(&mut random)));
                let sum = all.reduce(|one, other| added(&one, &other)).unwrap_or_default();
                found.lock().expect("no thread panics")[chunk] = sum;
            }
        };
        thread::scope(|scope| {
            let threads = thread::available_parallelism().map_or(1, usize::from);
            (0..threads).for_each(|_| drop(scope.spawn(work)));
        });
        let found = found.into_inner().expect("no thread panics");
        let sums = found.into_iter().reduce(|one, other| added(&one, &other)).unwrap_or_default();
        sums.into_iter().map(|sum| sum / suites as f64).collect()
    }

    fn draw(&self, random: &mut SplitMix) -> Logs {
        let mut last: Option<Vec<f64>> = None;
        let block = |index: u32| {
            let own = self.blocks.draw(random);
            let block = match self.disturbance {
                Disturbance::None => own,
                Disturbance::Doubled => {
                    own.iter().map(|log| f64::from(1 + index % 2) * log).collect()
                }
                Disturbance::Bimodal(apart) => {
                    let state = (sign(random) - sign(random)) * apart / 2.0;
                    own.iter().map(|log| log + state).collect()
                }
                Disturbance::Correlated => match &last {
                    None => own,
                    Some(last) => {
                        let kept = last.iter().zip(&own);
                        kept.map(|(last, own)| 0.5 * last + 0.75_f64.sqrt() * own).collect()
                    }
                },
            };
            last = Some(block.clone());
            block
        };
        (0..self.count).map(block).collect()
    }
}

fn added(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one + other).collect()
}

/// How suites are judged.
pub(crate) struct Judge<'a> {
    pub(crate) places: &'a [MetricOfPhase],
    pub(crate) noise: Option<&'a Noise>,
    /// Numbers of blocks after which a run is judged; empty for a fixed number.
    pub(crate) looks: &'a [u32],
}

impl Judge<'_> {
    /// The cells after so many blocks, by place.
    pub(crate) fn cells(&self, logs: &[Vec<f64>], blocks: u32) -> Vec<Cell> {
        let mut phases: Vec<PhaseResult> = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            let used = &logs[..blocks as usize];
            let cell = cell(place, used.iter().map(|block| block[index].exp()).collect());
            match phases.last_mut().filter(|phase| phase.phase == place.phase) {
                Some(phase) => phase.cells.push(cell),
                None => phases.push(phase(place, cell)),
            }
        }
        conclude(&mut phases, self.looks, self.noise);
        phases.into_iter().flat_map(|phase| phase.cells).collect()
    }
}

/// The same blocks with the first phase changed in all that is measured of it: a cost grows by this
/// logarithm, or a rate falls.
pub(crate) fn changed(places: &[MetricOfPhase], mut logs: Logs, log: f64) -> Logs {
    for block in &mut logs {
        for (value, place) in block.iter_mut().zip(places) {
            if place.phase == places[0].phase {
                let rate = place.metric().better == model::metric::Better::Higher;
                *value += if rate { -log } else { log };
            }
        }
    }
    logs
}

fn phase(place: &MetricOfPhase, cell: Cell) -> PhaseResult {
    PhaseResult {
        phase: place.phase.clone(),
        workload: place.phase.clone(),
        group: place.group.clone(),
        clients: 1,
        cells: vec![cell],
        ..PhaseResult::default()
    }
}

fn cell(place: &MetricOfPhase, block_ratios: Vec<f64>) -> Cell {
    Cell {
        base: Some(place.server.as_str().into()),
        margin: Margins::default().of(place.metric()),
        base_value: Some(1.0),
        value: Some(1.0),
        ratio: Some(1.0),
        blocks: block_ratios.len() as u32,
        block_ratios,
        verdict: Verdict::Unassessed,
        ..Cell::empty("again", place.metric())
    }
}
