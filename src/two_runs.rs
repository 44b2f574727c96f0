//! Two runs as one comparison: each variant of the later run against the same one of the earlier
//! run, as after a build was replaced in place.

use crate::{
    comparison::{Request, observed_in},
    gaps,
    noise::BankChoice,
    resumption, server_state, sizes,
};
use analysis::{Comparison, Design, Observations};
use anyhow::{bail, ensure};
use model::{
    bank::{BankedRun, HostClass},
    mark::{self, Mark},
    measurement::Measurement,
    number::counted,
    plan::{Phase, Plan},
    quoted,
    subject::Subject,
};
use std::collections::{BTreeMap, BTreeSet};
use store::{Results, RunInfo, Selection, Stored, StoredSlice, StoredTrial};

/// A run and what is known of it.
struct Side {
    info: RunInfo,
    plan: Plan,
    slices: Vec<StoredSlice>,
    trials: Vec<StoredTrial>,
    /// What had to be left out of it.
    warnings: Vec<String>,
}

/// Compares the run `new` with the run `base`, each given by its identifier or the start of it;
/// with the names of the metrics that are asked for. Fails if there are no such runs, or if they
/// did not measure the same.
pub(crate) fn compare(
    results: &Results,
    (base, new): (&str, &str),
    request: &Request,
) -> anyhow::Result<(Comparison, Vec<String>)> {
    let known = results.runs()?;
    let mut base = Side::of(results, find(&known, base)?)?;
    let mut new = Side::of(results, find(&known, new)?)?;
    ensure!(base.info.id != new.info.id, "`{}` is one run: name two", base.info.id);
    check(&base, &new)?;
    let pairs = pairs(&base, &new)?;
    let subjects = pairs.iter().flat_map(Pair::subjects).collect();
    let changed: Vec<String> =
        pairs.iter().filter_map(|pair| pair.changed([&base.plan, &new.plan])).collect();
    base.rename(|label| Some(pairs.iter().find(|pair| pair.base.label == label)?.base.name()));
    new.rename(|label| Some(pairs.iter().find(|pair| pair.new.label == label)?.new.name()));
    let (base_id, new_id) = (base.info.id.clone(), new.info.id.clone());
    let minutes = new.info.started_us.abs_diff(base.info.started_us) / 60_000_000;
    let apart = match minutes {
        0..120 => format!("{minutes} min"),
        _ => format!("{} h", minutes / 60),
    };
    // The looks of one run are none at the other.
    let design = Design { subjects, looks: Vec::new(), ..Design::of(&base.plan) };
    let blocks = base.blocks().min(new.blocks());
    let left_out = [&base, &new].map(|side| (side.blocks() - blocks, side.info.id.clone()));
    let mut slices = [std::mem::take(&mut base.slices), std::mem::take(&mut new.slices)].concat();
    // What has no pair would be in the values and not in the ratios.
    slices.retain(|stored| stored.slice.block < blocks);
    let metrics = server_state::named(results, &slices, &request.metrics)?;
    server_state::add(results, &mut slices, &metrics)?;
    // What disturbed one run did not disturb the other. Blocks are paired in their order.
    let sides = [base.observed(&slices), new.observed(&slices)];
    let counted_otherwise = counted_otherwise(&sides);
    let [of_base, of_new] = sides;
    let mut comparison = analysis::compare(&of_base.beside(of_new, &base_id), &design);
    comparison.warnings.extend(counted_otherwise);
    gaps::of_tests(&slices, &mut comparison);
    alone([&base, &new], &pairs).into_iter().for_each(|what| comparison.lacks(what));
    // Both repeat what concerns the whole folder.
    let left: BTreeSet<String> = base.warnings.drain(..).chain(new.warnings.drain(..)).collect();
    comparison.warnings.extend(left);
    let headers = || base.trials.iter().chain(&new.trials).map(|trial| &trial.header);
    let of_base = |subject: &str| base.trials.iter().any(|one| one.header.subject == subject);
    let run = |subject: &str| Some(of_base(subject).to_string());
    comparison.warnings.extend(analysis::same_binaries(headers(), &run));
    comparison.conditions.extend(analysis::build_differences(headers(), &design));
    comparison.warnings.extend(changed);
    comparison.warnings.extend(beside_variants([&base.plan, &new.plan]));
    let hosts = [&base, &new].map(|side| &side.info.environment);
    comparison.warnings.extend(analysis::host_differences(hosts[0], hosts[1]));
    let widened = widened(results, &mut comparison, (&base, &pairs), &request.bank)?;
    comparison.warnings.extend(widened);
    for run in [&base_id, &new_id] {
        resumption::tell_unfinished(results, run, &mut comparison)?;
    }
    comparison.runs = vec![base_id, new_id];
    for (more, run) in left_out.into_iter().filter(|(more, _)| *more > 0) {
        let more = counted(u64::from(more), "block");
        comparison.warnings.push(format!(
            "the last {more} of {run} left out: blocks of two runs are paired in their order"
        ));
    }
    comparison.warnings.push(format!(
        "the runs began {apart} apart, not side by side: what changed on the host in between \
         counts as a change of the variant"
    ));
    Ok((comparison, metrics))
}

/// What a ratio of two runs is of beside what differs between the variants.
fn beside_variants(plans: [&Plan; 2]) -> impl Iterator<Item = String> {
    let keys = differing_keys(plans);
    let differ = (!keys.is_empty()).then(|| {
        let keys = quoted(keys);
        format!("the runs differ in {keys}, which changes values whatever the variant is")
    });
    [remade(plans), differ, early(plans)].into_iter().flatten()
}

/// The keys in which two experiments differ of those that change what one test of one build comes
/// to.
pub(crate) fn differing_keys([one, other]: [&Plan; 2]) -> Vec<&'static str> {
    let [one, other] = [&one.experiment, &other.experiment];
    let keys = [
        ("design", one.design != other.design),
        ("placement", one.placement != other.placement),
        ("age", one.age != other.age),
    ];
    keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}

/// That tables of two runs are not the same, where they are not.
fn remade(plans: [&Plan; 2]) -> Option<String> {
    let schema = sizes::remade(plans)?;
    Some(format!(
        "the tables of `{schema}` are not the same in both runs: they differ in columns, indexes, \
         constraints or rows"
    ))
}

/// That one of two runs could end by what it found, where it could: its blocks are as many as they
/// are because of their values.
fn early(plans: [&Plan; 2]) -> Option<String> {
    let could = |plan: &&Plan| !plan.experiment.looks.is_empty() && plan.subjects.len() > 1;
    plans.iter().any(could).then(|| {
        "a run with looks ends by its own verdicts, which those on two runs do not take into \
         account"
            .to_owned()
    })
}

/// That two runs counted instructions in different ways, where they did.
fn counted_otherwise(sides: &[Observations; 2]) -> Option<String> {
    let is_emulated = |one: &Measurement| {
        one.marks.iter().any(|mark| match mark {
            Mark::Note(note) => [mark::EMULATED, mark::EMULATED_ALONE].contains(&note.as_str()),
            Mark::Missed(_) => false,
        })
    };
    let ways = sides.each_ref().map(|side| {
        let counts = side.values().filter(|one| one.metric == analysis::INSTRUCTIONS[0]);
        counts.map(is_emulated).collect::<BTreeSet<bool>>()
    });
    let [base, new] = ways;
    (!base.is_empty() && !new.is_empty() && base != new).then(|| {
        "one of the runs counted instructions by the processor, the other one under emulation: \
         their ratios are not those of the variant alone"
            .to_owned()
    })
}

/// Takes into account what the bank knows of the differences between runs of one build on hosts of
/// the base's class. Where the other run's is another one, a warning says in what.
fn widened(
    results: &Results,
    comparison: &mut Comparison,
    (base, pairs): (&Side, &[Pair]),
    bank: &BankChoice,
) -> anyhow::Result<Option<String>> {
    let Some(bank) = bank.read(results.dir())? else { return Ok(None) };
    let host = HostClass::of(&base.info.environment);
    let runs: Vec<&BankedRun> = bank.runs.iter().filter(|run| run.host == host).collect();
    let server = |pair: &Pair| {
        let subject = subject_of(&base.plan, &pair.base.label)?;
        Some((pair.base.name(), subject.build.server.clone()))
    };
    let servers = pairs.iter().filter_map(server).collect();
    Ok(analysis::widen_between_runs(comparison, &runs, &servers))
}

impl Side {
    fn of(results: &Results, info: RunInfo) -> anyhow::Result<Self> {
        ensure!(
            results.import_of(&info.id)?.is_none(),
            "`{}` is an imported archive: import the files of both together, as in `dbdyno import \
             before/ after/`, and they are two variants of one comparison",
            info.id
        );
        let plan = results.plan_of(&info.id)?;
        let Stored { slices, warnings, .. } = results.slices(&Selection::Run(info.id.clone()))?;
        let trials = results.trials(&info.id)?;
        Ok(Self { info, plan, slices, trials, warnings })
    }

    /// How many blocks it has, the last of them perhaps in part.
    fn blocks(&self) -> u32 {
        self.slices.iter().map(|stored| stored.slice.block.saturating_add(1)).max().unwrap_or(0)
    }

    fn variants(&self, other: &Self) -> Vec<Variant> {
        let run = told_from(&self.info.id, &other.info.id);
        let variant = |label: &String| Variant { label: label.clone(), run: run.to_owned() };
        self.plan.subjects.iter().map(|subject| variant(&subject.label)).collect()
    }

    /// What its slices among these tell. How long they were to last, and what phases do that the
    /// other run lacks, is in its own plan.
    fn observed(&self, slices: &[StoredSlice]) -> Observations {
        let own = slices.iter().filter(|stored| stored.run == self.info.id);
        observed_in(&Design::of(&self.plan), own)
    }

    /// Gives variants other names, and leaves out those that get none.
    fn rename(&mut self, name: impl Fn(&str) -> Option<String>) {
        let rename = |label: &mut String| name(label).map(|name| *label = name).is_some();
        self.slices.retain_mut(|stored| rename(&mut stored.slice.subject));
        self.trials.retain_mut(|trial| rename(&mut trial.header.subject));
    }
}

/// The name of the run that began last.
pub(crate) const LATEST: &str = "latest";

/// The run with this identifier, or the only one that begins so; for [`LATEST`] the one that began
/// last.
pub(crate) fn find(known: &[RunInfo], text: &str) -> anyhow::Result<RunInfo> {
    if let (LATEST, Some(last)) = (text, known.last()) {
        return Ok(last.clone());
    }
    // One identifier may begin with another one.
    let same = known.iter().find(|run| run.id == text);
    let found: Vec<&RunInfo> = match same {
        Some(same) => vec![same],
        None => known.iter().filter(|run| run.id.starts_with(text)).collect(),
    };
    match found.as_slice() {
        [only] => Ok((*only).clone()),
        [] => match known.iter().rfind(|run| run.experiment == text) {
            Some(RunInfo { id, .. }) => bail!(
                "`{text}` is an experiment: its latest run is `{id}`, and `dbdyno list runs` lists \
                 all"
            ),
            None => bail!("there is no run `{text}`: `dbdyno list runs` lists all"),
        },
        several => {
            bail!("{} runs begin with `{text}`: write more of the identifier", several.len())
        }
    }
}

/// The start of a run's identifier, the second in which it began; all of it where the other run
/// began in the same one.
fn told_from<'a>(run: &'a str, other: &str) -> &'a str {
    let second = |id: &'a str| id.split('.').next().unwrap_or(id);
    if other.starts_with(second(run)) { run } else { second(run) }
}

/// A variant of a run.
#[derive(Clone)]
struct Variant {
    label: String,
    /// What tells its run from the other one.
    run: String,
}

impl Variant {
    fn name(&self) -> String {
        format!("{}@{}", self.label, self.run)
    }
}

/// How many settings a warning names.
const NAMED: usize = 4;

/// Two variants that are compared.
struct Pair {
    base: Variant,
    new: Variant,
}

impl Pair {
    /// The base, and the other one with the name of its base.
    fn subjects(&self) -> [(String, Option<String>); 2] {
        [(self.base.name(), None), (self.new.name(), Some(self.base.name()))]
    }

    /// That the two differ in more than their builds, which a comparison of runs is for.
    fn changed(&self, plans: [&Plan; 2]) -> Option<String> {
        let one = subject_of(plans[0], &self.base.label)?;
        let other = subject_of(plans[1], &self.new.label)?;
        let differing = beside_build(one, other);
        (!differing.is_empty()).then(|| {
            let (label, differing) = (&self.new.label, differing.join(", "));
            format!("`{label}` differs between the runs in more than its build: {differing}")
        })
    }
}

/// In what two variants differ beside their builds, as the parts of a list.
pub(crate) fn beside_build(one: &Subject, other: &Subject) -> Vec<String> {
    let (values, others) = (settings_of(one), settings_of(other));
    let names: BTreeSet<&str> = values.keys().chain(others.keys()).copied().collect();
    let settings = names.into_iter().filter(|name| values.get(name) != others.get(name));
    let mut differing: Vec<String> = settings.map(|name| format!("`{name}`")).collect();
    let more = differing.len().saturating_sub(NAMED);
    differing.truncate(NAMED);
    if more > 0 {
        differing.push(counted(more, "other setting"));
    }
    let is_entered_alike = (&one.config.engine, one.config.transport, &one.config.session)
        == (&other.config.engine, other.config.transport, &other.config.session);
    let is_started_alike = (&one.build.prefix, &one.build.environment, &one.build.memory)
        == (&other.build.prefix, &other.build.environment, &other.build.memory);
    if !(is_entered_alike && is_started_alike) {
        differing.push("how the server is started or entered".to_owned());
    }
    differing
}

fn subject_of<'a>(plan: &'a Plan, label: &str) -> Option<&'a Subject> {
    plan.subjects.iter().find(|subject| subject.label == label)
}

/// Values of settings by name.
fn settings_of(subject: &Subject) -> BTreeMap<&str, &str> {
    let settings = subject.config.settings.iter();
    settings.map(|setting| (setting.name.as_str(), setting.value.as_str())).collect()
}

/// The variants of one label; or the only ones, whatever their labels.
fn pairs(base: &Side, new: &Side) -> anyhow::Result<Vec<Pair>> {
    let (bases, news) = (base.variants(new), new.variants(base));
    if let ([base], [new]) = (bases.as_slice(), news.as_slice()) {
        return Ok(vec![Pair { base: base.clone(), new: new.clone() }]);
    }
    let pair = |base: Variant| {
        let new = news.iter().find(|new| new.label == base.label)?.clone();
        Some(Pair { base, new })
    };
    let pairs: Vec<Pair> = bases.into_iter().filter_map(pair).collect();
    ensure!(!pairs.is_empty(), "the runs have no variant in common");
    Ok(pairs)
}

/// A sentence for each variant that only one of the runs has.
fn alone(sides: [&Side; 2], pairs: &[Pair]) -> Vec<String> {
    let is_in = |pair: &Pair, label: &str| pair.base.label == label || pair.new.label == label;
    let of_side = |side: &Side| -> Vec<String> {
        let labels = side.plan.subjects.iter().map(|subject| subject.label.as_str());
        let alone = labels.filter(|label| !pairs.iter().any(|pair| is_in(pair, label)));
        let run = &side.info.id;
        let sentence = |label| format!("nothing is compared of `{label}`, which {run} has alone");
        alone.map(sentence).collect()
    };
    sides.into_iter().flat_map(of_side).collect()
}

/// Fails unless both runs measured the same: the phases that both have, on tables of equal size.
fn check(base: &Side, new: &Side) -> anyhow::Result<()> {
    if let Some([own, others]) = sizes::unlike([&base.plan, &new.plan]) {
        bail!("the runs differ in their tables: {own}, {others}");
    }
    let phases: BTreeMap<&str, &Phase> =
        base.plan.phases.iter().map(|phase| (phase.name.as_str(), phase)).collect();
    let both = new.plan.phases.iter();
    let both: Vec<_> =
        both.filter_map(|own| Some((*phases.get(own.name.as_str())?, own))).collect();
    ensure!(!both.is_empty(), "the runs have no phase in common");
    for (one, other) in both {
        let name = &one.name;
        ensure!(is_same_work(one, other), "the runs differ in what the phase `{name}` does");
    }
    Ok(())
}

/// Whether two phases do the same.
pub(crate) fn is_same_work(one: &Phase, other: &Phase) -> bool {
    (&one.script, one.clients, one.arrival, one.mode, &one.parameters)
        == (&other.script, other.clients, other.arrival, other.mode, &other.parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        drive::StretchReport,
        record::{SliceRecord, SliceState},
    };

    fn info(id: &str) -> RunInfo {
        RunInfo {
            format: 1,
            id: id.to_owned(),
            experiment: "e".to_owned(),
            finished: true,
            ..RunInfo::default()
        }
    }

    #[test]
    fn an_identifier_may_begin_with_another_one() {
        let known = [info("2026Z-7"), info("2026Z-71")];
        let check = |text: &str, expected: Option<&str>| {
            let found = find(&known, text).ok().map(|run| run.id);
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("2026Z-7", Some("2026Z-7"));
        check("2026Z-71", Some("2026Z-71"));
        check("latest", Some("2026Z-71"));
        check("2026", None);
        let said = find(&known, "e").unwrap_err().to_string();
        assert!(said.starts_with("`e` is an experiment: its latest run is `2026Z-71`"), "{said}");
    }

    #[test]
    fn runs_that_began_in_one_second_have_names_of_their_own() {
        let [one, same, later] = ["20261126T231231.068Z-1", "20261126T231231.069Z-2", "2027Z.1"];
        assert_eq!((told_from(one, later), told_from(later, one)), ("20261126T231231", "2027Z"));
        assert_eq!((told_from(one, same), told_from(same, one)), (one, same));
    }

    #[test]
    fn instructions_of_two_sources_are_told() {
        let side = |notes: &[&str]| {
            let of = |note: &&str| Measurement {
                metric: analysis::INSTRUCTIONS[0].into(),
                marks: vec![Mark::Note((*note).into())],
                ..Measurement::default()
            };
            let mut found = Observations::default();
            found.measurements = notes.iter().map(of).collect();
            found
        };
        let told = |base: &[&str], new: &[&str]| counted_otherwise(&[side(base), side(new)]);
        assert!(told(&[mark::PAIRED], &[mark::EMULATED]).is_some());
        assert_eq!(told(&[mark::EMULATED_ALONE], &[mark::EMULATED]), None);
        assert_eq!(told(&[mark::PAIRED], &[]), None);
    }

    #[test]
    fn a_run_that_could_end_by_its_own_verdicts_is_told() {
        let mut looked = crate::versions::tests::plan_of(&["looks=[4, 8]"]);
        looked.subjects.push(looked.subjects[0].clone());
        let mut fixed = looked.clone();
        fixed.experiment.looks.clear();
        assert!(early([&fixed, &looked]).is_some());
        assert_eq!(early([&fixed, &fixed]), None);
        looked.subjects.truncate(1);
        assert_eq!(early([&looked, &fixed]), None, "one variant has no verdicts of its own");
    }

    #[test]
    fn keys_that_change_what_a_test_comes_to_are_told() {
        let plan = crate::versions::tests::plan_of(&[]);
        let mut other = plan.clone();
        other.experiment.seed += 1;
        assert_eq!(beside_variants([&plan, &other]).count(), 0);
        other.experiment.age = 1.0;
        let said: Vec<String> = beside_variants([&plan, &other]).collect();
        assert!(said.len() == 1 && said[0].contains("differ in `age`"), "{said:?}");
    }

    #[test]
    fn slices_are_as_long_as_the_plan_of_their_own_run_says() {
        let set = ["slice_seconds=12", "workloads=[\"point-query\"]"];
        let plan = crate::versions::tests::plan_of(&set);
        let (end_ns, done) = (12_000_000_000, StretchReport::default());
        let work = StretchReport { end_ns, succeeded: 600, reads: 600, ..done };
        let slice = SliceRecord {
            subject: plan.subjects[0].label.clone(),
            phase: plan.phases[0].name.clone(),
            state: SliceState::Measured,
            work: Some(work),
            ..SliceRecord::default()
        };
        let [run, experiment, trial] = ["r", "e", "t"].map(str::to_owned);
        let stored = StoredSlice { run, experiment, trial, slice };
        let (slices, trials, warnings) = (Vec::new(), Vec::new(), Vec::new());
        let side = Side { info: info("r"), plan, slices, trials, warnings };
        let found = side.observed(&[stored]);
        assert_eq!(found.warnings(), [""; 0]);
        assert!(!found.measurements.is_empty());
    }
}
