//! Whether a plan fits into a budget of time.

use crate::talk;
use model::{number::counted, plan::Plan};
use std::time::Duration;

/// Estimates are rough: only what takes this many times the budget is refused.
const ROUGHLY: f64 = 2.0;

/// Refuses a product of factors whose verdicts would begin long after the budget is spent, with
/// what would fit. What has one factor is measured at least until its first look.
/// `seconds` is what all blocks take.
pub(crate) fn check(plan: &Plan, seconds: f64, budget: Duration) -> anyhow::Result<()> {
    let first = plan.experiment.looks.first().copied().unwrap_or(plan.experiment.blocks);
    let share = f64::from(first) / f64::from(plan.experiment.blocks.max(1));
    let seconds = seconds * share.min(1.0);
    if seconds <= ROUGHLY * budget.as_secs_f64() {
        return Ok(());
    }
    let others = other_levels(plan);
    if others.len() < 2 {
        talk::say(&format!(
            "note: the run does not end before {first} blocks, after which verdicts begin: about \
             {}, and the budget is {}",
            text(seconds),
            humantime::format_duration(budget)
        ));
        return Ok(());
    }
    let variants = plan.subjects.len();
    let alone = 1 + others.iter().sum::<usize>();
    let mut ways = Vec::new();
    if alone < variants {
        ways.push(format!(
            "`--set 'combine=\"one-at-a-time\"'` ({alone} variants, about {})",
            text(seconds * alone as f64 / variants as f64)
        ));
    }
    ways.push("fewer tests by `--only`".to_owned());
    ways.push("fewer levels by `--set`".to_owned());
    ways.push(format!("`--budget {}`", text(seconds).replace(' ', "")));
    anyhow::bail!(
        "{first} blocks, after which verdicts begin, take about {} for {variants} variants and {}, \
         and the budget is {}; take {}",
        text(seconds),
        counted(plan.phases.len() as u64, "phase"),
        humantime::format_duration(budget),
        ways.join(", or ")
    )
}

/// Of each factor that needs a server of its own and has several levels, how many there are beside
/// the base's.
fn other_levels(plan: &Plan) -> Vec<usize> {
    let factors = plan.experiment.factors.iter().filter(|factor| plan::restarts(&factor.name));
    factors.map(|factor| factor.levels.len() - 1).filter(|others| *others > 0).collect()
}

/// A time as `--budget` takes it, to two units.
fn text(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil().max(1.0) as u64;
    humantime::format_duration(Duration::from_secs(60 * minutes)).to_string()
}
