//! Whether a plan fits into a budget of time.

use crate::{shell::quoted, talk};
use model::{
    number::counted,
    plan::{PhaseKind, Plan},
};
use std::time::Duration;

/// Estimates are rough: only what takes this many times the budget is refused.
const ROUGHLY: f64 = 2.0;

/// Refuses a product of factors whose verdicts would begin long after the budget is spent, with
/// what would fit. What has one factor is measured at least until its first look.
/// `seconds` is what all blocks take.
pub(crate) fn check(plan: &Plan, seconds: f64, budget: Duration) -> anyhow::Result<()> {
    let Some(&first) = plan.experiment.looks.first() else {
        talk::say(&format!(
            "note: the budget ends nothing: verdicts need more than {}",
            counted(plan.experiment.blocks, "block")
        ));
        return Ok(());
    };
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
            time(seconds),
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
            time(seconds * alone as f64 / variants as f64)
        ));
    }
    ways.extend(fewer_levels(plan, seconds));
    ways.extend(fewer_tests(plan, seconds, budget));
    ways.push(format!("`--budget {}`", time(seconds).replace(' ', "")));
    anyhow::bail!(
        "{first} blocks, after which verdicts begin, take about {} for {variants} variants and {}, \
         and the budget is {}; take {}",
        time(seconds),
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

/// The factor with the most levels with two of them: that of the base and another one. Not builds,
/// which the plan calls otherwise than the experiment.
fn fewer_levels(plan: &Plan, seconds: f64) -> Option<String> {
    let experiment = &plan.experiment;
    let own = experiment.factors.iter().filter(|one| plan::restarts(&one.name));
    let own = own.filter(|one| one.name != "build" && one.levels.len() > 2);
    let factor = own.max_by_key(|one| one.levels.len())?;
    let base = experiment.baseline.get(&factor.name).or(factor.levels.first())?;
    let other = factor.levels.iter().find(|level| *level != base)?;
    let set = format!("factors.{}=[{base:?},{other:?}]", factor.name);
    let seconds = seconds * 2.0 / factor.levels.len() as f64;
    Some(format!("`--set {}` (about {})", quoted(&set), time(seconds)))
}

/// Workloads that a message lists, at most.
const LISTED: usize = 3;

/// The first workloads, as many as fit: `--only` takes these, whatever levels their tests have.
fn fewer_tests(plan: &Plan, seconds: f64, budget: Duration) -> Option<String> {
    let measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let mut names: Vec<&str> = Vec::new();
    for phase in measured {
        if !names.contains(&phase.script.workload.as_str()) {
            names.push(&phase.script.workload);
        }
    }
    let all = names.len();
    let fitting = (all as f64 * ROUGHLY * budget.as_secs_f64() / seconds) as usize;
    names.truncate(fitting.clamp(1, LISTED));
    let seconds = seconds * names.len() as f64 / all as f64;
    (names.len() < all).then(|| {
        format!(
            "`--only {}` ({} of {}, about {})",
            quoted(&names.join(",")),
            names.len(),
            counted(all as u64, "workload"),
            time(seconds)
        )
    })
}

/// A time as `--budget` takes it, to two units.
pub(crate) fn time(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil().max(1.0) as u64;
    humantime::format_duration(Duration::from_secs(60 * minutes)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_tests_are_named_as_the_command_line_takes_them() {
        let plan = crate::versions::tests::plan_of(&["factors.clients=[1, 8]"]);
        let said = fewer_tests(&plan, 3600.0, Duration::from_secs(60)).unwrap();
        assert!(said.starts_with("`--only point-query` (1 of 4 workloads, about"), "{said}");
    }
}
