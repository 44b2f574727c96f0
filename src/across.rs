//! Levels of a factor that needs no start of its own, compared with each other: its phases run on
//! one server, one after the other, and here become variants of one phase.

use crate::{
    comparison::{by_run, observed_in, run_of},
    talk,
};
use analysis::{Design, Observations};
use anyhow::{Context, anyhow, ensure};
use model::{
    experiment::Factor,
    plan::{Phase, Plan},
    quoted,
};
use std::collections::{BTreeMap, BTreeSet};
use store::{Results, Stored, StoredSlice};

/// How phases and variants are called in such a comparison.
#[derive(Debug)]
pub(crate) struct Across {
    factor: String,
    /// Each variant with its base, in the plan's order.
    subjects: Vec<(String, Option<String>)>,
    /// The phases that differ in the factor, by their names.
    phases: BTreeMap<String, Moved>,
}

/// What becomes of a phase.
#[derive(Debug, PartialEq)]
struct Moved {
    /// Its name without the level.
    phase: String,
    /// The level as variants are called after it.
    level: String,
}

impl Across {
    /// The levels of a factor of a plan, each against the base's level on the same server. Fails
    /// where the factor has no phases of its own.
    pub(crate) fn of(plan: &Plan, factor: &str) -> anyhow::Result<Self> {
        let known = named(plan, factor)?;
        let base = plan.experiment.baseline.get(factor).or(known.levels.first());
        let subjects = plan.subjects.iter().flat_map(|subject| {
            let name = |level: &String| subject_at(&subject.label, &plan::in_names(factor, level));
            let base = base.map(name);
            known.levels.iter().map(move |level| {
                let own = name(level);
                let base = base.clone().filter(|base| *base != own);
                (own, base)
            })
        });
        let phases = plan.phases.iter().filter_map(|phase| moved(phase, factor)).collect();
        Ok(Self { factor: factor.to_owned(), subjects: subjects.collect(), phases })
    }

    /// The design of the comparison; with the facts of the phases of one level, if it is named.
    fn design(&self, of_plan: &Design, level: Option<&str>) -> Design {
        let own = self.phases.iter().filter(|(_, moved)| level.is_none_or(|it| it == moved.level));
        let facts = |(name, moved): (&String, &Moved)| {
            Some((moved.phase.clone(), of_plan.phases.get(name)?.clone()))
        };
        let phases = own.filter_map(facts).collect();
        Design { subjects: self.subjects.clone(), phases, ..of_plan.clone() }
    }

    /// The design of the comparison, and what slices tell. Where clients or ranges are compared, a
    /// phase has none of its own.
    pub(crate) fn observed<'a>(
        &self,
        of_plan: &Design,
        slices: impl Iterator<Item = &'a StoredSlice>,
    ) -> (Design, Observations) {
        let slices: Vec<&StoredSlice> = slices.collect();
        let levels: BTreeSet<&str> = self.phases.values().map(|one| one.level.as_str()).collect();
        let mut found = Observations::default();
        // Levels differ in what a phase is to do, such as its set rate.
        for level in levels {
            let design = self.design(of_plan, Some(level));
            found = found.and(observed_in(&design, &self.slices(level, &slices)));
        }
        let failed = found.failures.iter_mut().map(|failure| &mut failure.at);
        for one in found.measurements.iter_mut().chain(failed) {
            match self.factor.as_str() {
                "clients" => one.clients = 0,
                "range" => one.range = None,
                _ => {}
            }
        }
        (self.design(of_plan, None), found)
    }

    /// The slices of a level's phases.
    fn slices(&self, level: &str, slices: &[&StoredSlice]) -> Vec<StoredSlice> {
        let renamed = |stored: &&StoredSlice| {
            let own = self.phases.get(&stored.slice.phase);
            let moved = own.filter(|moved| moved.level == level)?;
            let mut stored = (*stored).clone();
            stored.slice.subject = subject_at(&stored.slice.subject, &moved.level);
            stored.slice.phase.clone_from(&moved.phase);
            Some(stored)
        };
        slices.iter().filter_map(renamed).collect()
    }
}

/// The name of a server at a level.
fn subject_at(subject: &str, level: &str) -> String {
    format!("{subject}.{level}")
}

fn moved(phase: &Phase, factor: &str) -> Option<(String, Moved)> {
    let level = plan::in_names(factor, phase.levels.get(factor)?);
    let mut parts: Vec<&str> = phase.name.split('.').collect();
    parts.remove(parts.iter().rposition(|part| *part == level)?);
    Some((phase.name.clone(), Moved { phase: parts.join("."), level }))
}

/// The factor of this name. Fails where it has no phases of its own.
fn named<'a>(plan: &'a Plan, factor: &str) -> anyhow::Result<&'a Factor> {
    factors(plan).find(|one| one.name == factor).with_context(|| {
        let known = quoted(factors(plan).map(|one| &one.name));
        format!(
            "`--across {factor}`: no factor of `{}` with several levels on one server; {}",
            plan.experiment.name,
            match known.as_str() {
                "" => "there is none".to_owned(),
                known => format!("there are: {known}"),
            }
        )
    })
}

/// Leaves the runs whose levels of a factor can be compared. Fails where there are none.
pub(crate) fn only(results: &Results, stored: &mut Stored, factor: &str) -> anyhow::Result<()> {
    let (mut kept, mut left) = (BTreeSet::new(), Vec::new());
    let mut lacking =
        anyhow!("`--across {factor}` takes runs, and here are imported archives only");
    for slices in by_run(&stored.slices) {
        let run = run_of(slices);
        match named(&results.plan_of(run)?, factor) {
            Ok(_) => drop(kept.insert(run.to_owned())),
            Err(error) => {
                left.push(format!("`{run}`"));
                lacking = error;
            }
        }
    }
    ensure!(!kept.is_empty(), lacking);
    left.extend((!stored.imported.is_empty()).then(|| "imported archives".to_owned()));
    if !left.is_empty() {
        talk::say(&format!(
            "left out, as they have no levels of `{factor}` on one server: {}",
            left.join(", ")
        ));
    }
    stored.slices.retain(|stored| kept.contains(&stored.run));
    stored.imported.clear();
    Ok(())
}

/// What a reader of the comparison must know.
pub(crate) fn warning(factor: &str) -> String {
    format!(
        "levels of `{factor}` are measured one after the other on each server, always in this \
         order: where a test writes, a later one finds the tables that the earlier have left"
    )
}

/// The factors whose levels phases of one server have.
pub(crate) fn factors(plan: &Plan) -> impl Iterator<Item = &Factor> {
    let factors = plan.experiment.factors.iter();
    factors.filter(|one| !plan::restarts(&one.name) && one.levels.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::tests::plan_of;
    use model::{
        drive::StretchReport,
        record::{SliceRecord, SliceState},
        workload::Counts,
    };

    #[test]
    fn levels_become_variants_of_one_phase_and_the_other_factors_stay() {
        let plan = plan_of(&[
            "factors.clients=[1, 16]",
            "factors.mode=[\"prepared\", \"text\"]",
            "baseline.clients=\"16\"",
            "workloads=[\"point-query\"]",
        ]);
        let check = |factor: &str, pairs: [(&str, Option<&str>); 2], phases: &[[&str; 2]]| {
            let found = Across::of(&plan, factor).unwrap();
            let label = &plan.subjects[0].label;
            let named = |level: &str| format!("{label}.{level}");
            let expected = pairs.map(|(own, base)| (named(own), base.map(named)));
            assert_eq!(found.subjects[..2], expected);
            let moved = found.phases.iter().map(|(name, moved)| [name.as_str(), &moved.phase]);
            assert_eq!(moved.collect::<Vec<_>>(), phases);
            let design = found.design(&Design::of(&plan), None);
            let names: BTreeSet<&str> = phases.iter().map(|[_, phase]| *phase).collect();
            assert!(design.phases.keys().map(String::as_str).eq(names));
        };
        check(
            "clients",
            [("clients1", Some("clients16")), ("clients16", None)],
            &[
                ["point-query.clients1.prepared", "point-query.prepared"],
                ["point-query.clients1.text", "point-query.text"],
                ["point-query.clients16.prepared", "point-query.prepared"],
                ["point-query.clients16.text", "point-query.text"],
            ],
        );
        check(
            "mode",
            [("prepared", None), ("text", Some("prepared"))],
            &[
                ["point-query.clients1.prepared", "point-query.clients1"],
                ["point-query.clients1.text", "point-query.clients1"],
                ["point-query.clients16.prepared", "point-query.clients16"],
                ["point-query.clients16.text", "point-query.clients16"],
            ],
        );
        // A level may begin another one.
        let levels = [("mode".to_owned(), "text".to_owned())].into();
        let name = "point-query.text.text2".to_owned();
        let found = moved(&Phase { name, levels, ..plan.phases[0].clone() }, "mode").unwrap();
        assert_eq!(found.1.phase, "point-query.text2");
        let refused = |factor: &str| Across::of(&plan, factor).unwrap_err().to_string();
        assert!(refused("build").ends_with("there are: `clients`, `mode`"), "{}", refused("build"));
    }

    #[test]
    fn each_level_has_its_own_facts() {
        let plan = plan_of(&["factors.clients=[1, 16]", "workloads=[\"point-query\"]"]);
        let mut design = Design::of(&plan);
        let statements = design.phases.get_mut("point-query.clients1").unwrap();
        statements.counts = Counts::Statements;
        let operations = design.phases.get_mut("point-query.clients16").unwrap();
        operations.counts = Counts::Operations;
        let (end_ns, done) = (1_000_000_000, StretchReport::default());
        let work = StretchReport { end_ns, succeeded: 10, reads: 30, ..done };
        let stored = ["point-query.clients1", "point-query.clients16"].map(|phase| StoredSlice {
            run: "r".to_owned(),
            experiment: "e".to_owned(),
            trial: "t".to_owned(),
            slice: SliceRecord {
                subject: plan.subjects[0].label.clone(),
                phase: phase.to_owned(),
                state: SliceState::Measured,
                work: Some(work.clone()),
                ..SliceRecord::default()
            },
        });
        let across = Across::of(&plan, "clients").unwrap();
        let (_, found) = across.observed(&design, stored.iter());
        let rates = found.measurements.iter().filter(|one| one.metric == "ops_per_second");
        assert_eq!(rates.map(|one| one.value).collect::<Vec<_>>(), [30.0, 10.0]);
    }
}
