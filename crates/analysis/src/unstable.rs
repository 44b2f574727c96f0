//! Tests whose throughput depends on something beside the variant.

use crate::{
    PhaseResult,
    warning::{Location, Warnings},
};

/// How many times the smallest block's throughput the largest one's may be. Blocks of reads on
/// shared virtual machines, which change their speed, stay within a quarter.
const LARGE: f64 = 1.5;

/// Blocks from which on their spread tells anything.
const BLOCKS: usize = 3;

/// Warns of the subjects of a phase whose blocks are that far apart: verdicts count blocks of one
/// run, and another run may meet other conditions.
pub(crate) fn warn(phase: &PhaseResult, warnings: &mut Warnings) {
    for cell in phase.cells.iter().filter(|cell| cell.metric.name == "ops_per_second") {
        let blocks: Vec<f64> = cell.by_block.iter().flatten().copied().collect();
        let least = blocks.iter().copied().fold(f64::INFINITY, f64::min);
        let most = blocks.iter().copied().fold(0.0, f64::max);
        if blocks.len() >= BLOCKS && least > 0.0 && most / least >= LARGE {
            let place =
                Location { subject: &cell.subject, phase: &phase.phase, position: phase.position };
            let text = "throughput differed by a factor of 1.5 or more between blocks: it depends \
                        on more than the variant, and another run may find another ratio";
            warnings.add(place, text, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn blocks_far_apart_are_told() {
        let check = |blocks: &[f64], expected: usize| {
            let mut cell = testing::cell("ops_per_second", 1.0, 1.0);
            cell.by_block = blocks.iter().copied().map(Some).chain([None]).collect();
            let phase = PhaseResult { cells: vec![cell], ..testing::phase("p") };
            let mut warnings = Warnings::default();
            warn(&phase, &mut warnings);
            assert_eq!(warnings.sentences().len(), expected, "{blocks:?}");
        };
        check(&[100.0, 120.0, 140.0], 0);
        check(&[100.0, 120.0, 150.0], 1);
        check(&[100.0, 150.0], 0);
    }
}
