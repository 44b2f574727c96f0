//! A draft and the versions that exist become a plan.

use crate::{
    Catalog, Draft, Versions, coded, connections,
    error::{Error, Location},
    estimate::estimate,
    limits,
    order::{self, Shape, Turns},
    phases::phases,
    scripts,
    subjects::{Subjects, around_base, base, subjects},
    suggest,
};
use model::{
    experiment::{Combine, Design, Experiment, Factor},
    plan::{Estimate, PLAN_FORMAT, Phase, PhaseKind, Plan},
    subject::Subject,
};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Resolves everything that is open in a draft, puts it in order and hashes it.
///
/// In the plan the levels of `build` are labels with exact versions (`mysql-9.7.4`), in the factors
/// and in the baseline as in the subjects. A settle phase names the workload of the phase before
/// it.
///
/// Errors: an unknown server, version or configuration, a phase whose expressions have no value,
/// and a phase that the design cannot execute, each by name.
pub fn plan(draft: &Draft, catalog: &Catalog, versions: &dyn Versions) -> Result<Plan, Error> {
    ordered(draft, versions, compared(draft, catalog, versions)?)
}

/// The same with every base of the experiment twice, and nothing else: a build against itself. The
/// experiment gets a name of its own and the factor `copy`.
pub fn plan_against_itself(
    draft: &Draft,
    catalog: &Catalog,
    versions: &dyn Versions,
) -> Result<Plan, Error> {
    ordered(draft, versions, compared(draft, catalog, versions)?.against_itself())
}

/// Who is compared with whom.
struct Compared {
    experiment: Experiment,
    subjects: Vec<Subject>,
    base: Vec<String>,
}

fn compared(draft: &Draft, catalog: &Catalog, versions: &dyn Versions) -> Result<Compared, Error> {
    let Subjects { subjects, build_labels } = subjects(draft, catalog, versions)?;
    let mut experiment = draft.experiment.clone();
    resolve_levels(&mut experiment, |level| build_labels.get(level).cloned());
    let (subjects, base) = match experiment.combine {
        Combine::All => {
            let base = base(draft, &experiment.baseline, &subjects);
            (subjects, base)
        }
        Combine::OneAtATime => around_base(&experiment.baseline, subjects),
    };
    let subjects = only(&draft.variants, subjects, &base)?;
    Ok(Compared { experiment, subjects, base })
}

/// The variants of these labels and the bases; all if none is named.
fn only(
    labels: &[String],
    mut subjects: Vec<Subject>,
    base: &[String],
) -> Result<Vec<Subject>, Error> {
    let known = || subjects.iter().map(|subject| subject.label.as_str());
    if let Some(unknown) = labels.iter().find(|label| !known().any(|own| own == *label)) {
        return Err(Error::UnknownName {
            place: Location { file: format!("--variant {unknown}"), line: None },
            what: "variant",
            name: unknown.clone(),
            hint: suggest::hint(unknown, known()),
        });
    }
    let is_wanted = |label: &String| labels.contains(label) || base.contains(label);
    subjects.retain(|subject| labels.is_empty() || is_wanted(&subject.label));
    Ok(subjects)
}

/// Factor of a comparison of a build with itself, and its levels.
const COPY: &str = "copy";
const FIRST: &str = "first";
const AGAIN: &str = "again";

impl Compared {
    fn against_itself(self) -> Self {
        let Self { mut experiment, subjects, base } = self;
        experiment.name = format!("{}-against-itself", experiment.name);
        experiment.question = "How much does a build differ from itself on this host?".to_owned();
        // No test is decided here, so no run may end early.
        experiment.looks.clear();
        experiment.baseline = [(COPY.to_owned(), FIRST.to_owned())].into();
        let levels = [FIRST, AGAIN].map(str::to_owned).to_vec();
        experiment.factors.push(Factor { name: COPY.to_owned(), levels });
        let bases = subjects.into_iter().filter(|subject| base.contains(&subject.label));
        let twice = bases.flat_map(|subject| {
            [FIRST, AGAIN].map(|copy| {
                let mut subject = subject.clone();
                subject.levels.insert(COPY.to_owned(), copy.to_owned());
                if copy == AGAIN {
                    subject.label = format!("{}.{AGAIN}", subject.label);
                }
                subject
            })
        });
        Self { experiment, subjects: twice.collect(), base }
    }
}

/// Puts a comparison in order and hashes it.
fn ordered(draft: &Draft, versions: &dyn Versions, compared: Compared) -> Result<Plan, Error> {
    let Compared { mut experiment, subjects, base } = compared;
    let mut phases = phases(draft)?;
    check_settling(draft, &phases, versions)?;
    let mut schemas = draft.schemas.clone();
    schemas.extend(scripts::look(draft, &mut phases, versions)?);
    scripts::check_subjects(draft, &phases, &subjects, versions)?;
    coded::check_phases(draft, &phases, &subjects)?;
    let turns = match experiment.design {
        Design::Interleaved => Turns::Rounds,
        Design::Classic => Turns::Subjects,
    };
    if turns == Turns::Subjects {
        // A step by duration is done once; its length is what makes it precise.
        experiment.rounds = 1;
    }
    let rounds = phases.iter().map(|phase| match phase.kind {
        PhaseKind::Measure => experiment.rounds,
        PhaseKind::Warmup | PhaseKind::Settle | PhaseKind::Index => 1,
    });
    let rounds: Vec<u32> = rounds.collect();
    let per_block = rounds.iter().map(|count| u64::from(*count)).sum::<u64>();
    limits::check_slices(u64::from(experiment.blocks), per_block, subjects.len() as u64)
        .map_err(|error| error.at(draft.places.of(&["blocks"])))?;
    let blocks = order::blocks(Shape {
        seed: experiment.seed,
        blocks: experiment.blocks,
        loads: experiment.loads,
        subjects: subjects.len(),
        rounds: &rounds,
        turns,
    });
    let mut plan = Plan {
        format: PLAN_FORMAT,
        hash: String::new(),
        experiment,
        subjects,
        base,
        schemas,
        phases,
        blocks,
        estimate: Estimate::default(),
    };
    let used = |name: &String| plan.phases.iter().any(|phase| phase.script.schema == *name);
    plan.schemas.retain(|schema| used(&schema.name));
    connections::fit(&mut plan)?;
    plan.estimate = estimate(&plan, versions);
    plan.hash = hash(&plan)?;
    Ok(plan)
}

/// Refuses a settle phase of a server that there is not: nobody would settle.
fn check_settling(draft: &Draft, phases: &[Phase], versions: &dyn Versions) -> Result<(), Error> {
    let products = versions.products();
    let settling = phases.iter().filter_map(|phase| phase.settle.as_ref());
    let mut servers = settling.flat_map(|settle| &settle.servers);
    let Some(name) = servers.find(|name| !products.contains(*name)) else { return Ok(()) };
    let hint = suggest::hint(name, products.iter().map(String::as_str));
    let place = draft.places.of(&["suite"]);
    Err(Error::UnknownName { place, what: "server of a settle phase", name: name.clone(), hint })
}

/// Writes the levels of `build` as the subjects have them.
fn resolve_levels(experiment: &mut Experiment, label: impl Fn(&str) -> Option<String>) {
    let levels = experiment.factors.iter_mut().filter(|factor| factor.name == "build");
    let levels = levels.flat_map(|factor| factor.levels.iter_mut());
    let baseline = experiment.baseline.iter_mut().filter(|(name, _)| *name == "build");
    for level in levels.chain(baseline.map(|(_, level)| level)) {
        if let Some(label) = label(level) {
            *level = label;
        }
    }
}

/// SHA-256 of the plan's JSON without the text of the experiment, because plans are the same
/// however their numbers were written; the plan's own hash is still empty in it.
fn hash(plan: &Plan) -> Result<String, Error> {
    let mut plan = plan.clone();
    plan.experiment.text.clear();
    let json = serde_json::to_vec(&plan).map_err(|error| Error::Invalid {
        place: Default::default(),
        reason: format!("the plan cannot be written: {error}"),
    })?;
    let mut text = String::new();
    for byte in Sha256::digest(&json) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
