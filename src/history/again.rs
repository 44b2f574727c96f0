//! The command that measures a step of a history again.

use super::Run;
use crate::{details, shell::quoted};
use analysis::history::{History, Session, Trend};
use model::{plan::Plan, subject::Subject};
use report::history::StepPlace;
use std::collections::BTreeMap;

/// The command that measures each step again.
pub(super) fn commands(history: &History, runs: &[Run<'_>]) -> BTreeMap<StepPlace, String> {
    let run = |session: &Session| runs.iter().find(|run| run.info.id == session.run);
    let mut found = BTreeMap::new();
    for (index, trend) in history.trends.iter().enumerate() {
        for (at, step) in trend.found.steps.iter().enumerate() {
            let place = StepPlace { trend: index, step: at };
            let sides = trend.last_before(step, history).zip(trend.first(step, history));
            let command = sides.and_then(|(before, after)| {
                again(trend, (run(before)?, before), (run(after)?, after))
            });
            found.extend(command.map(|command| (place, command)));
        }
    }
    found
}

/// A run with what its history knows of it.
type Known<'a> = (&'a Run<'a>, &'a Session);

/// The command that measures the builds of two runs side by side; where both ran one build, the
/// one that compares the runs, because only the host can have changed, and where the later build
/// has replaced the earlier one, because that is gone.
fn again(trend: &Trend, before: Known<'_>, after: Known<'_>) -> Option<String> {
    let subject = |(run, _): Known<'_>| -> Option<Subject> {
        let mut all = run.plan.subjects.iter();
        let own = all.find(|subject| trend.variant.is_empty() || subject.label == trend.variant);
        own.cloned()
    };
    let (old, new) = (subject(before)?, subject(after)?);
    let binary =
        |(_, session): Known<'_>, subject: &Subject| session.builds.get(&subject.label).cloned();
    if is_replaced(&old, &new) || binary(before, &old) == binary(after, &new) {
        let [folder, other] = [after, before].map(|(run, _)| run.results.dir());
        // `compare` finds both in one folder alone.
        return (folder == other).then(|| {
            let (before, after) = (&before.0.info.id, &after.0.info.id);
            format!("dbdyno compare {before} {after}{}", details::folder_option(folder))
        });
    }
    // What was compiled of a tree or with options has no name that could be a level.
    let is_named = |one: &Subject| one.build.basedir.is_some() || one.build.compilation.is_empty();
    if !is_named(&old) || !is_named(&new) {
        return None;
    }
    let mut words = Vec::new();
    let levels: Vec<String> = [("before", &old), ("after", &new)]
        .map(|(name, subject)| match (&subject.build.basedir, name) {
            (Some(folder), name) => {
                let server = &subject.build.server;
                words.push(format!("servers.{name}={{server={server:?},basedir={folder:?}}}"));
                name.to_owned()
            }
            (None, _) => exact(subject),
        })
        .into();
    if levels[0] == levels[1] {
        return None;
    }
    words.push(format!("factors.build=[{:?},{:?}]", levels[0], levels[1]));
    words.push(format!("baseline={{build={:?}}}", levels[0]));
    let given: Option<Vec<String>> =
        after.0.results.state_of(&after.0.info.id, runner::COMMAND).ok().flatten();
    let given = shaping(given.unwrap_or_default());
    let mut line = details::command_line(&after.0.plan.experiment.name, &given);
    let only = quoted(workload_of(&after.0.plan, &trend.phase));
    line.push_str(&format!(" --only {only} --budget 10m"));
    for word in words {
        line.push_str(&format!(" --set {}", quoted(&word)));
    }
    Some(line)
}

/// The options of a run that shape what it measures, without those that the command which measures
/// a step again has itself.
fn shaping(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word.starts_with("--explain") {
            continue;
        }
        // All others have their value behind them.
        let Some(value) = words.next() else { break };
        let key = value.split_once('=').map_or("", |(key, _)| key.trim());
        let is_of_run = ["note", "seed", "blocks", "looks", "loads"].contains(&key);
        if !is_of_run && !["--only", "--variant", "--budget"].contains(&word.as_str()) {
            kept.extend([word, value]);
        }
    }
    kept
}

/// Whether a later build lies where an earlier one was, or both come from one tree that has moved.
fn is_replaced(old: &Subject, new: &Subject) -> bool {
    let (old, new) = (&old.build, &new.build);
    let has_own_place = old.basedir.is_some() || old.compilation.tree.is_some();
    has_own_place && (&old.basedir, &old.compilation) == (&new.basedir, &new.compilation)
}

/// What `--only` takes for a phase, whose own name has the levels of its factors too.
fn workload_of<'a>(plan: &'a Plan, phase: &'a str) -> &'a str {
    let own = plan.phases.iter().find(|own| own.name == phase);
    own.map_or(phase, |own| own.script.workload.as_str())
}

/// A build by its product and exact version.
fn exact(subject: &Subject) -> String {
    let (server, label) = (&subject.build.server, subject.levels.get("build"));
    let version = label.and_then(|label| label.strip_prefix(server.as_str())?.strip_prefix('-'));
    version.map_or_else(|| server.clone(), |version| format!("{server}@{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::history::Quantity;
    use model::notes::Notes;
    use store::{Results, RunInfo};

    #[test]
    fn a_build_that_was_replaced_in_its_folder_is_compared_by_the_runs_that_measured_it() {
        let lab = tempfile::tempdir().unwrap();
        let results = Results::open_or_create(lab.path()).unwrap();
        let run = |id: &str, folder: &str| {
            let mut plan = crate::versions::tests::plan_of(&[]);
            plan.subjects[0].build.basedir = Some(folder.into());
            let label = plan.subjects[0].label.clone();
            let (id, builds) = (id.to_owned(), [(label, format!("18 binary {id}"))].into());
            let info = RunInfo {
                format: 1,
                id: id.clone(),
                experiment: "nightly".to_owned(),
                finished: true,
                ..RunInfo::default()
            };
            let run = Run { results: &results, info, plan, notes: Notes::default() };
            (run, Session { run: id, builds, ..Session::default() })
        };
        let trend = Trend {
            phase: "point-query".to_owned(),
            variant: String::new(),
            metric: analysis::metric("ops_per_second").unwrap(),
            quantity: Quantity::Value,
            bases: BTreeMap::new(),
            points: Vec::new(),
            found: Default::default(),
        };
        let check = |folder: &str, expected: &str| {
            let (before, after) = (run("r1", "/srv/build"), run("r2", folder));
            let found = again(&trend, (&before.0, &before.1), (&after.0, &after.1)).unwrap();
            assert!(found.starts_with(expected), "{found}");
        };
        check("/srv/build", "dbdyno compare r1 r2 --results ");
        check("/srv/other", "dbdyno run quickstart --only point-query ");
        let (before, mut after) = (run("r1", "/srv/build"), run("r2", "/srv/other"));
        let build = &mut after.0.plan.subjects[0].build;
        (build.basedir, build.compilation.flags) = (None, "rel_o3".to_owned());
        assert_eq!(again(&trend, (&before.0, &before.1), (&after.0, &after.1)), None);
    }

    #[test]
    fn a_step_is_measured_again_with_the_keys_of_its_run() {
        let line = "--only scan --set rows=5000 --set note=1a2b3c --catalog own --counts none \
                    --budget 1h --explain=3 --set blocks=8";
        let found = shaping(line.split_whitespace().map(str::to_owned).collect());
        let expected = "--set rows=5000 --catalog own --counts none";
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn a_phase_of_several_levels_is_measured_again_by_its_workload() {
        let plan = crate::versions::tests::plan_of(&["factors.clients=[1, 8]"]);
        assert_eq!(workload_of(&plan, "point-query.clients8"), "point-query");
        assert_eq!(workload_of(&plan, "load"), "load");
    }
}
