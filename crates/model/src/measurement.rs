//! One value of one metric in one slice, with its keys: what everything after the record reads.

use crate::{Levels, mark::Mark, record::SliceState, shared, shared::Name};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One value with everything that identifies it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Experiment name.
    pub experiment: Name,
    /// Run, by its identifier.
    pub run: Name,
    /// Label of the subject: the variant of the tables.
    pub subject: Name,
    /// Phase: the row of the tables.
    pub phase: Name,
    /// Workload of the phase.
    pub workload: Name,
    /// Report group of the phase.
    pub group: Name,
    /// Position of the phase in the suite.
    pub position: u32,
    /// Published range, if any.
    pub range: Option<u64>,
    /// Connections.
    pub clients: u32,
    /// Every factor's level.
    #[serde(with = "shared::levels")]
    pub levels: Arc<Levels>,
    /// Block.
    pub block: u32,
    /// Round in the block.
    pub round: u32,
    /// Metric name.
    pub metric: Name,
    /// Value in the metric's unit.
    pub value: f64,
    /// Only measured slices have values that tables may show.
    pub state: SliceState,
    /// How far the value may be trusted: marks such as `user mode only`, empty if fully.
    pub marks: Vec<Mark>,
    /// What the value is among those of its phase and block, where the rounds are pieces of one
    /// work; absent where they repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Piece>,
}

/// How the value of a piece of work becomes part of the value of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// A rate or a cost weighs as much as it was divided by: seconds, or operations. So the whole
    /// is sum over sum.
    Weight(f64),
    /// Of largest values the whole has the largest.
    Largest,
}

/// The values as pieces of one work; `None` if any of them repeats the others.
pub fn pieces(values: &[(f64, Option<Piece>)]) -> Option<Vec<(f64, Piece)>> {
    values.iter().map(|(value, piece)| Some((*value, (*piece)?))).collect()
}

/// The value of a whole from those of its pieces; `None` if there are none, or if they weigh
/// nothing.
pub fn whole(pieces: &[(f64, Piece)]) -> Option<f64> {
    if let [(value, _)] = pieces {
        return Some(*value);
    }
    let (mut sum, mut weights) = (0.0, 0.0);
    let mut largest: Option<f64> = None;
    for (value, piece) in pieces {
        match piece {
            Piece::Weight(weight) => {
                sum += value * weight;
                weights += weight;
            }
            Piece::Largest => largest = Some(largest.map_or(*value, |other| other.max(*value))),
        }
    }
    largest.or_else(|| (weights > 0.0).then(|| sum / weights))
}

impl Measurement {
    /// Whether its slice did not keep a set rate: its rates are what they are, and compare with
    /// nothing.
    pub fn has_missed(&self) -> bool {
        self.marks.iter().any(|mark| matches!(mark, Mark::Missed(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_sum_over_sum_or_the_largest() {
        let check = |pieces: &[(f64, Piece)], expected: Option<f64>| {
            assert_eq!(whole(pieces), expected, "{pieces:?}");
        };
        let weight = Piece::Weight;
        check(&[], None);
        check(&[(3.0, weight(0.0))], Some(3.0));
        // 100 rows in 1 s and 100 rows in 4 s are 200 rows in 5 s.
        check(&[(100.0, weight(1.0)), (25.0, weight(4.0))], Some(40.0));
        check(&[(0.0, weight(3.0)), (8.0, weight(1.0))], Some(2.0));
        check(&[(1.0, weight(0.0)), (2.0, weight(0.0))], None);
        check(&[(1.0, Piece::Largest), (7.0, Piece::Largest), (2.0, Piece::Largest)], Some(7.0));
    }
}
