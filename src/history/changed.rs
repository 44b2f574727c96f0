//! In what the plans of two runs of a series differ beside the builds that they measure.

use crate::{sizes, two_runs};
use model::{
    number::counted,
    plan::{Phase, Plan},
    subject::Subject,
};

/// One phrase for each change of the experiment from one run to the next.
pub(super) fn beside_builds(plans: [&Plan; 2]) -> Vec<String> {
    let [before, after] = plans;
    let mut said: Vec<String> = match (sizes::unlike(plans), sizes::remade(plans)) {
        // What tests do depends on the rows.
        (Some([old, new]), _) => vec![format!("tables: {old} before, {new} now")],
        (None, Some(schema)) => vec![format!("tables of `{schema}`: made in another way")],
        (None, None) => work(before, after).into_iter().collect(),
    };
    let keys = two_runs::differing_keys(plans);
    said.extend(keys.into_iter().map(|key| format!("`{key}` of the experiment")));
    for subject in &after.subjects {
        let differing =
            same(before, after, subject).map(|old| two_runs::beside_build(old, subject));
        if let Some(differing) = differing.filter(|differing| !differing.is_empty()) {
            said.push(format!("settings of `{}`: {}", subject.label, differing.join(", ")));
        }
    }
    said
}

/// The tests of both plans that do not do the same.
fn work(before: &Plan, after: &Plan) -> Option<String> {
    let is_other = |phase: &&Phase| {
        let mut own = before.phases.iter().filter(|own| own.name == phase.name);
        own.any(|own| !two_runs::is_same_work(own, phase))
    };
    let mut others = after.phases.iter().filter(is_other);
    let first = &others.next()?.name;
    Some(match others.count() {
        0 => format!("what `{first}` does"),
        more => format!("what `{first}` and {} do", counted(more, "other test")),
    })
}

/// The variant of this label in the plan before; the only one, where both have only one.
fn same<'a>(before: &'a Plan, after: &Plan, subject: &Subject) -> Option<&'a Subject> {
    match (before.subjects.as_slice(), after.subjects.len()) {
        ([only], 1) => Some(only),
        (all, _) => all.iter().find(|one| one.label == subject.label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::tests::plan_of;

    #[test]
    fn a_change_of_the_experiment_is_named_and_another_seed_or_build_is_none() {
        let before = plan_of(&[]);
        let check = |change: &dyn Fn(&mut Plan), expected: &[&str]| {
            let mut after = before.clone();
            change(&mut after);
            assert_eq!(beside_builds([&before, &after]), expected);
        };
        check(&|_| {}, &[]);
        check(&|plan| plan.experiment.seed += 1, &[]);
        check(&|plan| plan.subjects[0].build.version.push_str(".1"), &[]);
        let first = &before.phases[0].name;
        check(&|plan| plan.phases[0].clients += 1, &[&format!("what `{first}` does")]);
        let all = |plan: &mut Plan| plan.phases.iter_mut().for_each(|phase| phase.clients += 1);
        let more = before.phases.len() - 1;
        check(&all, &[&format!("what `{first}` and {more} other tests do")]);
        let label = &before.subjects[0].label;
        let entered = format!("settings of `{label}`: how the server is started or entered");
        let session = |plan: &mut Plan| plan.subjects[0].config.session.push("SET x".to_owned());
        check(&session, &[&entered]);
        let (tables, rows) = (before.experiment.tables, before.experiment.rows);
        let larger =
            format!("tables: {tables} of {rows} rows before, {tables} of {} rows now", rows + 1);
        check(&|plan| plan.experiment.rows += 1, &[&larger]);
        check(&|plan| plan.experiment.age = 1.0, &["`age` of the experiment"]);
    }
}
