//! Notes that what is about to be executed was written by somebody else.

use crate::{
    args::{ExperimentArgs, Unset},
    talk,
};
use model::{plan::Plan, subject::Subject};
use plan::Catalog;

/// Says that an experiment of the user's is code, where it brings some: its author decides what is
/// executed.
pub(crate) fn warn_of_code(arguments: &ExperimentArgs, catalog: &Catalog) -> anyhow::Result<()> {
    let name = arguments.experiment.as_deref().unwrap_or_default();
    if is_own(name, catalog)? && arguments.draft(catalog, &Unset::default())?.brings_code() {
        talk::say(&format!(
            "note: `{name}` names programs, libraries, sources or commands (`basedir`, `source`, \
             `prefix`, `environment`, `allocator`, `compiler`, `agent`), which are executed: run \
             it only if you trust its author"
        ));
    }
    Ok(())
}

/// Whether an experiment is not the shipped one of its name: a file, or one of `--catalog`.
fn is_own(name: &str, catalog: &Catalog) -> anyhow::Result<bool> {
    let text = |catalog: &Catalog| catalog.text(plan::Kind::Experiment, name).ok();
    Ok(plan::is_path(name) || text(catalog) != text(&Catalog::embedded()?))
}

/// Says that scripts of an experiment are code, before a plan executes them to know their options.
pub(crate) fn warn_of_scripts(draft: &plan::Draft) {
    let scripts = draft.scripts();
    if !scripts.is_empty() {
        let scripts = model::quoted(scripts);
        talk::say(&format!(
            "note: the scripts of this experiment are executed, also to plan it: use it only if \
             you trust the author of {scripts}"
        ));
    }
}

/// Says that a recorded run is code, where the plan brings some for variants that are executed
/// again: its record may come from anybody.
pub(crate) fn warn_of_record(run: &str, plan: &Plan, variants: &[&Subject]) {
    if brings_code(plan, variants) {
        talk::say(&format!(
            "note: the plan of run `{run}` names programs, libraries, sources, commands or \
             scripts, which are executed: explain it only if you trust who recorded it"
        ));
    }
}

fn brings_code(plan: &Plan, variants: &[&Subject]) -> bool {
    variants.iter().any(|one| one.build.brings_code())
        || plan.phases.iter().any(|phase| phase.script.lua.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_of_another_catalog_is_not_the_shipped_one() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("experiments");
        fs_err::create_dir(&own).unwrap();
        fs_err::write(own.join("quickstart.toml"), "question = \"?\"").unwrap();
        let shipped = Catalog::embedded().unwrap();
        let other = Catalog::with_overlay(folder.path()).unwrap();
        let found = |name: &str, catalog: &Catalog| is_own(name, catalog).unwrap();
        assert!(!found("quickstart", &shipped) && found("quickstart", &other));
        assert!(!found("verify", &other) && found("./mine.toml", &shipped));
    }

    #[test]
    fn a_run_is_code_where_its_plan_names_some() {
        let mut plan = crate::versions::tests::plan_of(&[]);
        let found = |plan: &Plan, variant: usize| brings_code(plan, &[&plan.subjects[variant]]);
        assert!(!found(&plan, 0) && !found(&plan, 1));
        plan.subjects[1].build.prefix = vec!["nice".to_owned()];
        assert!(found(&plan, 1) && !found(&plan, 0));
    }
}
