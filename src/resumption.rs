//! What is said where a run was interrupted, or cannot be continued.

use crate::{details, shell};
use analysis::Comparison;
use model::{experiment::Design, number::counted, plan::Plan};
use serde_json::Value;
use std::{collections::BTreeSet, fmt, path::Path};
use store::{Results, RunInfo, Selection, StoredTrial};

/// An error of a run with what helps: the command that continues it, or in what an unfinished run
/// differs from the one that was asked for.
pub(crate) fn with_remedy(error: runner::Error, plan: &Plan, results: &Path) -> anyhow::Error {
    let context = match error {
        runner::Error::Interrupted => match kept(plan, results) {
            Some(kept) => format!("interrupted; {kept}"),
            None => "interrupted before anything was measured".to_owned(),
        },
        runner::Error::NothingToResume { .. } => match unlike(plan, results) {
            Some(difference) => format!("{error}; {difference}"),
            None => return error.into(),
        },
        runner::Error::OtherProgram { .. } => return error.into(),
        _ => match kept(plan, results).filter(|kept| kept.count > 0) {
            Some(kept) => followed(&error.to_string(), &kept.to_string()),
            None => return error.into(),
        },
    };
    anyhow::Error::from(error).context(context)
}

/// More of a sentence, behind an error; below it, where that ends with the lines of a log.
pub(crate) fn followed(error: &str, more: &str) -> String {
    let apart = if error.contains('\n') { "\n" } else { "; " };
    format!("{error}{apart}{more}")
}

/// What an unfinished run has measured, and the command that continues it.
struct Kept {
    count: usize,
    unit: &'static str,
    command: String,
}

impl fmt::Display for Kept {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, unit, command } = self;
        match count {
            0 => write!(to, "no {unit} is complete"),
            1 => write!(to, "the complete {unit} is kept"),
            _ => write!(to, "{count} complete {unit}s are kept"),
        }?;
        write!(to, ". Continue with: {command}")
    }
}

fn kept(plan: &Plan, results: &Path) -> Option<Kept> {
    let results = Results::open(results).ok()?;
    let mut runs = results.runs().ok()?;
    runs.retain(|run| !run.finished && run.plan == plan.hash);
    let trials = results.trials(&runs.pop()?.id).ok()?;
    let (count, unit) = match plan.experiment.design {
        Design::Interleaved => (complete_blocks(&trials, plan), "block"),
        Design::Classic => (trials.iter().filter(|trial| trial.complete).count(), "trial"),
    };
    Some(Kept { count, unit, command: shell::with_flag(std::env::args_os(), "--resume") })
}

/// Blocks of which every variant has a complete record.
pub(crate) fn complete_blocks(trials: &[StoredTrial], plan: &Plan) -> usize {
    let of = |block| trials.iter().filter(|t| t.complete && t.header.block == block).count();
    plan.blocks.iter().filter(|block| of(block.index) == plan.subjects.len()).count()
}

/// Says in a comparison that one of its runs is unfinished, where it is.
pub(crate) fn tell_unfinished(
    results: &Results,
    run: &str,
    comparison: &mut Comparison,
) -> anyhow::Result<()> {
    let open = results.runs()?.into_iter().find(|info| info.id == run && !info.finished);
    let Some(open) = open else { return Ok(()) };
    let blocks = blocks(results, &open)?;
    comparison.is_unfinished = true;
    comparison.conditions.push(format!(
        "Run {run} is unfinished, {blocks}: it still measures, or `--resume` continues it."
    ));
    Ok(())
}

/// That an unfinished run is newer, where the latest was meant: one sentence.
pub(crate) fn newer(
    results: &Results,
    selection: &Selection,
    run: &str,
) -> anyhow::Result<Option<String>> {
    let runs = results.runs()?;
    let Some(own) = runs.iter().find(|info| info.id == run && info.finished) else {
        return Ok(None);
    };
    let newer = |info: &&RunInfo| info.experiment == own.experiment && info.id > own.id;
    match runs.iter().rfind(newer).filter(|newest| !newest.finished) {
        Some(newest) if *selection == Selection::LatestPerExperiment => {
            let id = &newest.id;
            // Nothing of it is shown, so that what cannot be read of it is no reason to fail.
            let blocks = blocks(results, newest).unwrap_or_else(|error| error.to_string());
            Ok(Some(format!(
                "run {id} is newer, and left out as unfinished: {blocks}; name it to see it"
            )))
        }
        _ => Ok(None),
    }
}

/// `3 of 5 blocks complete`.
fn blocks(results: &Results, run: &RunInfo) -> anyhow::Result<String> {
    let (plan, trials) = (results.plan_of(&run.id)?, results.trials(&run.id)?);
    let all = counted(plan.blocks.len(), "block");
    Ok(format!("{} of {all} complete", complete_blocks(&trials, &plan)))
}

/// In what the latest unfinished run of the experiment differs from `plan`, or where it has none,
/// of which other experiment one is; with the command that began it.
fn unlike(plan: &Plan, results: &Path) -> Option<String> {
    let results = Results::open(results).ok()?;
    let mut runs = results.runs().ok()?;
    runs.retain(|run| !run.finished && results.plan_of(&run.id).is_ok());
    let own = runs.iter().rfind(|run| run.experiment == plan.experiment.name);
    let run = own.or(runs.last())?;
    let what = match own {
        Some(run) => format!("differs in {}", difference(&results.plan_of(&run.id).ok()?, plan)),
        None => format!("is of `{}`", run.experiment),
    };
    let words: Vec<String> = results.state_of(&run.id, runner::COMMAND).ok()?.unwrap_or_default();
    let began = details::command_line(&run.experiment, &words);
    Some(format!("the unfinished run {} {what}, and began as `{began}`", run.id))
}

/// The keys of the experiment in which two plans differ, or else the part of the plan.
fn difference(other: &Plan, plan: &Plan) -> String {
    let values = [other, plan].map(|plan| serde_json::to_value(&plan.experiment).ok());
    let [Some(Value::Object(other_keys)), Some(Value::Object(keys))] = values else {
        return "its experiment".to_owned();
    };
    let all: BTreeSet<&String> = other_keys.keys().chain(keys.keys()).collect();
    // Unless somebody sets it, each run draws its seed, and a resumed one takes it over. The text
    // of the file says the same as the keys.
    let counts = |key: &&String| !["seed", "text"].contains(&key.as_str());
    let differs = |key: &&String| counts(key) && other_keys.get(*key) != keys.get(*key);
    let shown = |value: Option<&Value>| value.filter(|v| v.is_number() || v.is_boolean()).cloned();
    let named: Vec<String> = (all.into_iter().filter(differs))
        .map(|key| match (shown(other_keys.get(key)), shown(keys.get(key))) {
            (Some(there), Some(here)) => format!("`{key}` ({there} there, {here} here)"),
            _ => format!("`{key}`"),
        })
        .collect();
    match named.is_empty() {
        false => named.join(", "),
        true if other.subjects != plan.subjects => "its variants".to_owned(),
        true => "its workloads".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::tests::plan_of;
    use model::environment::Environment;

    #[test]
    fn a_newer_run_that_cannot_be_read_is_named_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open_or_create(folder.path().join("r")).unwrap();
        let begin = || results.start_run(&plan_of(&[]), &Environment::default()).unwrap();
        let first = begin();
        first.finish().unwrap();
        // Identifiers sort by milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = begin();
        let latest = Selection::LatestPerExperiment;
        let said = || newer(&results, &latest, first.id()).unwrap().unwrap();
        assert!(said().contains(": 0 of 5 blocks complete; name it"), "{}", said());
        fs_err::remove_file(second.dir().join("plan.json")).unwrap();
        assert!(said().contains(second.id()) && said().contains("plan.json"), "{}", said());
    }

    #[test]
    fn an_unfinished_run_of_another_experiment_is_named_with_its_command() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open_or_create(folder.path().join("r")).unwrap();
        let mut plan = plan_of(&[]);
        plan.experiment.name = "mine".to_owned();
        assert_eq!(unlike(&plan, results.dir()), None);
        let run = results.start_run(&plan_of(&[]), &Environment::default()).unwrap();
        run.note_state(runner::COMMAND, &["--budget", "1h"]).unwrap();
        let said = unlike(&plan, results.dir()).unwrap();
        let expected = "is of `quickstart`, and began as `dbdyno run quickstart --budget 1h`";
        assert!(said.contains(run.id()) && said.ends_with(expected), "{said}");
    }

    #[test]
    fn what_is_kept_stands_below_the_log_of_a_server() {
        let kept = "2 complete blocks are kept";
        assert_eq!(followed("no space", kept), "no space; 2 complete blocks are kept");
        assert_eq!(followed("its log:\na\nb", kept), format!("its log:\na\nb\n{kept}"));
    }
}
