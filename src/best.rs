//! The best of many candidates: an estimate that is too good, and the command that measures it
//! again.

use crate::details;
use analysis::{Comparison, mean_of_tests};
use model::{Levels, plan::Plan};
use std::collections::BTreeSet;
use store::Results;

/// Candidates from which on the best is said to be optimistic.
const MANY: usize = 6;

/// The metric by which a candidate is the best: what tables show first.
const METRIC: &str = "ops_per_second";

/// The option that keeps one of them and its base.
const VARIANT: &str = "--variant";

/// What is said of the best of a run's candidates; nothing where they are few, or none is better
/// than its base.
pub(crate) fn again(
    results: &Results,
    run: &str,
    comparison: &Comparison,
) -> anyhow::Result<Option<String>> {
    let Ok(plan) = results.plan_of(run) else { return Ok(None) };
    let candidates = candidates(&plan);
    // Where instructions alone are decided, slices are too short for rates.
    let is_sought = candidates >= MANY && comparison.lead().name == METRIC;
    let Some(best) = best(comparison).filter(|_| is_sought) else { return Ok(None) };
    let words: Vec<String> = results.state_of(run, runner::COMMAND)?.unwrap_or_default();
    let runs = comparison.runs.len();
    // One run of a pool has too few by itself.
    let blocks = (runs > 1).then(|| runs * plan.blocks.len());
    let words = narrowed(words, best.label, blocks);
    let folder = details::folder_option(results.dir());
    let command = details::command_line(&plan.experiment.name, &words) + &folder;
    Ok(Some(format!(
        "`{}` has the highest throughput of {candidates} candidates, {:.2}x, which is optimistic, \
         because chance helps the first of many: `{command}` measures it and its base in fresh \
         blocks",
        best.label, best.ratio
    )))
}

/// The words of a run with one variant alone, and with so many blocks, if they are named.
fn narrowed(mut words: Vec<String>, label: &str, blocks: Option<usize>) -> Vec<String> {
    if let Some(chosen) = words.iter().position(|word| word == VARIANT) {
        words.drain(chosen..words.len().min(chosen + 2));
    }
    let blocks = blocks.map(|blocks| ["--set".to_owned(), format!("blocks={blocks}")]);
    words.extend(blocks.into_iter().flatten());
    words.extend([VARIANT.to_owned(), label.to_owned()]);
    words
}

/// Combinations of levels that are compared within one build: versions are a line, and nobody
/// chooses among them.
fn candidates(plan: &Plan) -> usize {
    let without_build = |levels: &Levels| {
        let mut levels = levels.clone();
        levels.remove("build");
        levels
    };
    let all: BTreeSet<Levels> =
        plan.subjects.iter().map(|subject| without_build(&subject.levels)).collect();
    all.len()
}

/// A variant with its mean ratio over all tests that count.
#[derive(Debug, PartialEq)]
struct Best<'a> {
    label: &'a str,
    ratio: f64,
    /// How many tests that are.
    tests: usize,
}

fn best(comparison: &Comparison) -> Option<Best<'_>> {
    let phases = comparison.counted();
    let mean = |label: &str| {
        let cells = phases.iter().filter_map(|phase| phase.cell(label, METRIC));
        let ratios: Vec<f64> = cells.filter_map(|cell| cell.ratio).collect();
        mean_of_tests(&ratios)
    };
    let variants = comparison.subjects.iter().filter(|label| !comparison.bases.contains(label));
    let found = variants.filter_map(|label| {
        let mean = mean(label)?;
        Some(Best { label, ratio: mean.ratio, tests: mean.tests })
    });
    highest(found.collect())
}

/// The highest that is above its base, of those that were measured in most tests: the mean of one
/// that failed in some is a mean of others.
fn highest(found: Vec<Best<'_>>) -> Option<Best<'_>> {
    let most = found.iter().map(|one| one.tests).max()?;
    let whole = found.into_iter().filter(|one| one.tests == most);
    whole.max_by(|a, b| a.ratio.total_cmp(&b.ratio)).filter(|best| best.ratio > 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_measured_again_in_as_many_blocks_as_are_pooled() {
        let check = |words: &str, blocks, expected: &str| {
            let words = words.split(' ').map(str::to_owned).collect();
            assert_eq!(narrowed(words, "b", blocks).join(" "), expected);
        };
        check("--set rows=9", None, "--set rows=9 --variant b");
        check("--variant a,b --set rows=9", None, "--set rows=9 --variant b");
        check("--set blocks=1", Some(16), "--set blocks=1 --set blocks=16 --variant b");
    }

    #[test]
    fn the_best_is_above_its_base() {
        let check = |found: &[(&'static str, f64, usize)], expected: Option<&str>| {
            let all = found.iter().map(|&(label, ratio, tests)| Best { label, ratio, tests });
            assert_eq!(highest(all.collect()).map(|best| best.label), expected, "{found:?}");
        };
        check(&[("a", 1.1, 2), ("b", 1.3, 2), ("c", 0.9, 2)], Some("b"));
        check(&[("a", 1.1, 2), ("failed in one", 1.3, 1)], Some("a"));
        check(&[("a", 0.8, 2), ("b", 1.0, 2)], None);
        check(&[], None);
    }
}
