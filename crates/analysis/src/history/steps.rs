//! Lasting changes of level in a sequence of values.
//!
//! E-divisive alone takes as long as the third power of the values, and divides a slope again and
//! again. So it looks through windows that overlap by half, as Otava does; what they find is tested
//! once more between its neighbors, from the weakest on, and a change that a straight line
//! describes as well as a step is a drift and no step.

use super::divisive::{self, Permutations};
use crate::prior::Spread;
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use std::collections::{BTreeMap, BTreeSet};
use values::SplitMix;

/// Values of a window, and most values on each side of a step that say anything about it.
const WINDOW: usize = 64;

/// What the windows may propose.
const PROPOSED: Permutations = Permutations { count: 199, level: 0.02 };

/// What a step needs between its neighbors, at least to be suspected.
const SUSPECTED: Permutations = Permutations { count: 999, level: 0.02 };

/// The p value up to which a step is confirmed.
const CONFIRMED: f64 = 0.005;

/// What a step has to explain of the squares that a straight line leaves, in variances of the
/// values. Its place was chosen, so that of a line alone it explains more than one.
const BETTER: f64 = 9.0;

/// Values that a confirmed step has on each side, at least: after fewer it may be an episode.
pub const LASTING: usize = 5;

/// Seed of the permutations: the same values give the same steps.
const SEED: u64 = 20_141_101;

/// A change of level.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Index of the first value at the new level.
    pub at: usize,
    /// The p value of the permutation test.
    pub chance: f64,
    /// Whether `chance` is small enough and the new level has lasted.
    pub is_confirmed: bool,
    /// Geometric means of the values between the neighboring steps, before and after it.
    pub levels: [f64; 2],
    /// The new level relative to the old one.
    pub ratio: f64,
    /// Its interval, at 95 %, by Welch's t over the logarithms.
    pub interval: (f64, f64),
}

/// What a sequence of values shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Places at which the values change gradually, each by its index.
    pub drifts: Vec<usize>,
}

/// The steps of positive values in the order of time. What has no logarithm has no steps.
pub fn steps(values: &[f64]) -> Steps {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    if !logs.iter().all(|log| log.is_finite()) {
        return Steps::default();
    }
    let mut random = SplitMix(SEED);
    let proposed = proposed(&logs, &mut random);
    let (kept, drifts) = kept(&logs, proposed, &mut random);
    let places: Vec<usize> = kept.iter().map(|(at, _)| *at).collect();
    let steps = kept.iter().enumerate().filter_map(|(index, (at, chance))| {
        let span = span(&places, index, logs.len());
        Step::of(&logs[span.0..*at], &logs[*at..span.1]).map(|step| {
            let is_confirmed = step.is_confirmed && *chance <= CONFIRMED;
            Step { at: *at, chance: *chance, is_confirmed, ..step }
        })
    });
    Steps { steps: steps.collect(), drifts }
}

impl Step {
    /// The size of a step between logarithms of values.
    fn of(before: &[f64], after: &[f64]) -> Option<Self> {
        let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
        let (old, new) = (mean(before), mean(after));
        let parts = [before, after].map(|logs| Some((Spread::of(logs)?, logs.len() as f64)));
        let [Some((one, n)), Some((other, m))] = parts else { return None };
        let (a, b) = (one.variance / n, other.variance / m);
        let freedom = match a + b > 0.0 {
            true => (a + b).powi(2) / (a * a / one.freedom + b * b / other.freedom),
            false => one.freedom + other.freedom,
        };
        let reach = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975) * (a + b).sqrt();
        Some(Self {
            at: 0,
            chance: 1.0,
            is_confirmed: before.len().min(after.len()) >= LASTING,
            levels: [old.exp(), new.exp()],
            ratio: (new - old).exp(),
            interval: ((new - old - reach).exp(), (new - old + reach).exp()),
        })
    }
}

/// Divisions of overlapping windows.
fn proposed(logs: &[f64], random: &mut SplitMix) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut start = 0;
    loop {
        let end = (start + WINDOW).min(logs.len());
        divide(logs, (start, end), random, &mut found);
        if end == logs.len() {
            return found;
        }
        // The last window is a whole one.
        start = (start + WINDOW / 2).min(logs.len() - WINDOW);
    }
}

fn divide(
    logs: &[f64],
    (from, to): (usize, usize),
    random: &mut SplitMix,
    found: &mut BTreeSet<usize>,
) {
    let values = &logs[from..to];
    let Some(division) = divisive::division(values) else { return };
    if divisive::chance(values, division, PROPOSED, random) > PROPOSED.level {
        return;
    }
    let at = from + division.at;
    found.insert(at);
    divide(logs, (from, at), random, found);
    divide(logs, (at, to), random, found);
}

/// A place with the p value of its test.
type Tested = (usize, f64);

/// The places that are steps between their neighbors, and those of drifts. The weakest goes first,
/// because it may have hidden behind others.
fn kept(
    logs: &[f64],
    proposed: BTreeSet<usize>,
    random: &mut SplitMix,
) -> (Vec<Tested>, Vec<usize>) {
    let mut places: Vec<usize> = proposed.into_iter().collect();
    let mut drifts = Vec::new();
    // Tests between neighbors that have not changed.
    let mut known: BTreeMap<(usize, usize), Option<Tested>> = BTreeMap::new();
    loop {
        let spans: Vec<_> = (0..places.len()).map(|i| span(&places, i, logs.len())).collect();
        for (from, to) in &spans {
            known
                .entry((*from, *to))
                .or_insert_with(|| tested(&logs[*from..*to], random).map(|(at, p)| (from + at, p)));
        }
        let found: Vec<Option<Tested>> = spans.iter().map(|span| known[span]).collect();
        // What nothing supports goes first, then what a line describes, then the weakest.
        let bad = |index: usize| match found[index] {
            None => Some(f64::INFINITY),
            Some((at, chance)) if is_drift(logs, spans[index], at) => Some(1.0 + chance),
            Some((_, chance)) => Some(chance).filter(|chance| *chance > SUSPECTED.level),
        };
        let worst = (0..places.len()).filter_map(|index| Some((bad(index)?, index)));
        let Some((badness, index)) = worst.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            let mut kept: Vec<Tested> = found.into_iter().flatten().collect();
            kept.sort_unstable_by_key(|(at, _)| *at);
            kept.dedup_by_key(|(at, _)| *at);
            return (kept, drifts);
        };
        if (1.0..f64::INFINITY).contains(&badness)
            && found[index].is_some_and(|(_, p)| p <= SUSPECTED.level)
        {
            drifts.push(places[index]);
        }
        places.remove(index);
    }
}

/// The values between the neighbors of a place that say something about it.
fn span(places: &[usize], index: usize, count: usize) -> (usize, usize) {
    let at = places[index];
    let from = if index == 0 { 0 } else { places[index - 1] };
    let to = places.get(index + 1).copied().unwrap_or(count);
    (from.max(at.saturating_sub(WINDOW)), to.min(at + WINDOW))
}

/// The best division of a span with its p value.
fn tested(values: &[f64], random: &mut SplitMix) -> Option<Tested> {
    let division = divisive::division(values)?;
    Some((division.at, divisive::chance(values, division, SUSPECTED, random)))
}

/// Whether a straight line explains the values, so that a step at `at` beside it explains little
/// more: the regression of the values on their places with and without the step.
fn is_drift(logs: &[f64], (from, to): (usize, usize), at: usize) -> bool {
    let values = &logs[from..to];
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let places: Vec<f64> = (0..values.len()).map(|index| index as f64 - middle).collect();
    let step: Vec<f64> = (from..to).map(|index| f64::from(u8::from(index >= at))).collect();
    let (rest, step) = (without_line(values, &places), without_line(&step, &places));
    let square =
        |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let explained = square(&rest, &step).powi(2) / square(&step, &step).max(f64::MIN_POSITIVE);
    let left = square(&rest, &rest) - explained;
    let variance = left.max(0.0) / (values.len() as f64 - 3.0).max(1.0);
    // Of values on an exact line nothing but rounding is left.
    let nothing = 1e-20 * square(values, values);
    explained <= (BETTER * variance).max(nothing)
}

/// What a straight line over centered places leaves of values.
fn without_line(values: &[f64], places: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let with: f64 = places.iter().zip(values).map(|(place, value)| place * (value - mean)).sum();
    let square: f64 = places.iter().map(|place| place * place).sum();
    let slope = with / square.max(f64::MIN_POSITIVE);
    places.iter().zip(values).map(|(place, value)| value - mean - slope * place).collect()
}

#[cfg(test)]
mod tests;
