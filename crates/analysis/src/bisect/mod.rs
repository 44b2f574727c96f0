//! Which position of an ordered list a change came with: probabilistic bisection.
//!
//! Each probe says on which side of the change a position lies, and is wrong with a known chance.
//! So the search keeps a probability for every place at which the change may be, as Horstein 1963
//! ("Sequential transmission using noiseless feedback") does, asks where half of it lies on each
//! side, and ends when one place has enough: a wrong answer costs probes and not the result. What
//! to ask next is a function of the answers so far, and of nothing else.

mod evidence;
mod survey;

pub use evidence::{Evidence, Probe, evidence};
pub use survey::Rise;

use std::collections::BTreeSet;

/// What a probe of a position says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is on the good end's side.
    LikeGood,
    /// It is on the bad end's side.
    LikeBad,
    /// It differs from both ends: there is more than one change.
    Neither,
    /// Its blocks do not say.
    Undecided,
    /// It could not be measured: it does not build, start, or do its work.
    Skipped,
}

/// An answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Index into the ordered list.
    pub position: usize,
    /// What it says.
    pub outcome: Outcome,
    /// Where it lies between the good end (0) and the bad one (1).
    pub height: f64,
}

/// What is searched, and how sure the end has to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Positions; the first is the good end, the last the bad one.
    pub count: usize,
    /// Pairs of positions, the lower first, between which nothing changed: their code is equal.
    pub equal: Vec<(usize, usize)>,
}

/// Chance that an answer is wrong.
pub const ERROR: f64 = 0.02;

/// The probability that ends the search.
pub const CERTAIN: f64 = 0.95;

/// Probes of one position that do not decide it before it is passed over.
const TRIES: usize = 3;

/// Probes in all, at most, for each halving that noiseless answers would take, and beside these.
const PER_HALVING: usize = 4;
const BESIDE: usize = 8;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Probe this position.
    Probe(usize),
    /// One change, and where.
    Found(Found),
    /// Several changes, each a rise or a fall between two positions.
    Several(Vec<Rise>),
    /// A slope: no two neighbors differ by a quarter of the change.
    Gradual,
    /// Nothing that is left to probe would decide it; the likeliest places.
    Open(Found),
}

/// Where the change came.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The last position before the change that could be measured.
    pub before: usize,
    /// The positions that may have brought it: one, unless those before it could not be measured.
    pub culprits: Vec<usize>,
    /// The probability that it is one of these.
    pub probability: f64,
}

impl Search {
    /// What to do after these answers.
    pub fn next(&self, answers: &[Answer]) -> Next {
        let usable = self.usable(answers);
        if answers.iter().any(|answer| answer.outcome == Outcome::Neither)
            && let Some(next) = survey::next(self.count, answers, &usable)
        {
            return next;
        }
        let weights = self.weights(answers);
        let found = self.likeliest(&weights, &usable);
        if found.probability >= CERTAIN {
            return Next::Found(found);
        }
        let halvings = (self.count as f64).log2().ceil() as usize;
        let probes = answers.iter().filter(|answer| answer.outcome != Outcome::Skipped).count();
        // How far from half the probability of a change up to a position is.
        let imbalance = |position: usize| {
            let up_to: f64 = weights.iter().take(position + 1).sum();
            (up_to - 0.5).abs()
        };
        let asked = usable.iter().copied().min_by(|a, b| imbalance(*a).total_cmp(&imbalance(*b)));
        match asked {
            Some(position) if probes < PER_HALVING * halvings + BESIDE => Next::Probe(position),
            _ => Next::Open(found),
        }
    }

    /// The positions between the ends that may be probed.
    fn usable(&self, answers: &[Answer]) -> BTreeSet<usize> {
        let of = |position: usize| answers.iter().filter(move |a| a.position == position);
        let is_usable = |position: &usize| {
            let undecided = of(*position).filter(|a| a.outcome == Outcome::Undecided).count();
            let decided = of(*position).any(|a| a.outcome != Outcome::Undecided);
            let skipped = of(*position).any(|a| a.outcome == Outcome::Skipped);
            !skipped && (decided || undecided < TRIES)
        };
        (1..self.count.saturating_sub(1)).filter(is_usable).collect()
    }

    /// The probability that each position brought the change.
    fn weights(&self, answers: &[Answer]) -> Vec<f64> {
        let is_possible = |position: usize| {
            let mut pairs = self.equal.iter();
            position > 0 && !pairs.any(|(low, high)| *low < position && position <= *high)
        };
        let weight = |position: usize| {
            if !is_possible(position) {
                return 0.0;
            }
            let likelihood = |answer: &Answer| match answer.outcome {
                Outcome::LikeBad if answer.position >= position => 1.0 - ERROR,
                Outcome::LikeGood if answer.position < position => 1.0 - ERROR,
                Outcome::LikeBad | Outcome::LikeGood => ERROR,
                Outcome::Neither | Outcome::Undecided | Outcome::Skipped => 1.0,
            };
            answers.iter().map(likelihood).product()
        };
        let weights: Vec<f64> = (0..self.count).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum.max(f64::MIN_POSITIVE)).collect()
    }

    /// The likeliest of the places that probes can tell apart: what could not be measured shares
    /// the place of the next that could, and is blamed with it.
    fn likeliest(&self, weights: &[f64], usable: &BTreeSet<usize>) -> Found {
        let mut before = 0;
        let mut best = Found { before: 0, culprits: Vec::new(), probability: -1.0 };
        for after in usable.iter().copied().chain([self.count.saturating_sub(1)]) {
            let own: Vec<usize> = (before + 1..=after).filter(|k| weights[*k] > 0.0).collect();
            let probability: f64 = own.iter().map(|position| weights[*position]).sum();
            if probability > best.probability {
                best = Found { before, culprits: own, probability };
            }
            before = after;
        }
        best
    }
}

#[cfg(test)]
mod tests;
