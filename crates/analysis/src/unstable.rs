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
        let blocks = cell.by_block.iter().zip(1..);
        let mut blocks: Vec<(f64, u32)> =
            blocks.filter_map(|(value, block)| Some(((*value)?, block))).collect();
        blocks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ends = blocks.first().zip(blocks.last()).filter(|_| blocks.len() >= BLOCKS);
        if let Some(((least, slow), (most, fast))) = ends
            && *least > 0.0
            && most / least >= LARGE
        {
            let place =
                Location { subject: &cell.subject, phase: &phase.phase, position: phase.position };
            let text = format!(
                "throughput differed by a factor of 1.5 or more between blocks ({} in block \
                 {slow}, {} in block {fast}): it depends on more than the variant, and another run \
                 may find another ratio",
                rate(*least),
                rate(*most)
            );
            warnings.add(place, &text, 1);
        }
    }
}

/// A positive rate with three digits at least: queries may take minutes.
fn rate(per_second: f64) -> String {
    let decimals = (2.0 - per_second.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{per_second:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn rates_of_slow_queries_have_digits() {
        let check = |per_second: f64, expected: &str| assert_eq!(rate(per_second), expected);
        check(24_733.4, "24733");
        check(150.0, "150");
        check(1.5, "1.50");
        check(0.0123, "0.0123");
        check(1e-12, "0.000000000");
    }

    #[test]
    fn blocks_far_apart_are_told() {
        let check = |blocks: &[f64], expected: usize| {
            let mut cell = testing::cell("ops_per_second", 1.0, 1.0);
            cell.by_block = blocks.iter().copied().map(Some).chain([None]).collect();
            let phase = PhaseResult { cells: vec![cell], ..testing::phase("p") };
            let mut warnings = Warnings::default();
            warn(&phase, &mut warnings);
            let said = warnings.sentences();
            assert_eq!(said.len(), expected, "{blocks:?}");
            let ends = "(100 in block 1, 150 in block 3)";
            assert!(said.iter().all(|one| one.contains(ends)), "{said:?}");
        };
        check(&[100.0, 120.0, 140.0], 0);
        check(&[100.0, 120.0, 150.0], 1);
        check(&[100.0, 150.0], 0);
    }
}
