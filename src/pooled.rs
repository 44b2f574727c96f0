//! Several runs at once: those that cannot be read are left out, and those of one plan are one
//! comparison, because their blocks repeat the same measurement.

use analysis::Design;
use model::{experiment::Experiment, number::counted, plan::Plan};
use std::collections::{BTreeMap, BTreeSet};
use store::{Results, Selection, Stored, StoredSlice, StoredTrial};

/// Runs that are compared together.
pub(crate) struct Pool<'a> {
    /// The slices of each, oldest run first.
    pub(crate) runs: Vec<&'a [StoredSlice]>,
    /// Why they are not together with earlier runs of their experiment, one sentence.
    pub(crate) apart: Option<String>,
}

impl<'a> Pool<'a> {
    /// A run by itself.
    pub(crate) fn of(slices: &'a [StoredSlice]) -> Self {
        Self { runs: vec![slices], apart: None }
    }
}

/// What runs have in common.
struct Common {
    experiment: String,
    run: String,
    plan: Plan,
    trials: Vec<StoredTrial>,
}

/// Leaves out the runs and imports of which not all that a comparison needs can be read, of many
/// that nobody named. Gives a sentence for each.
pub(crate) fn leave_out_unreadable(
    results: &Results,
    selection: &Selection,
    stored: &mut Stored,
) -> anyhow::Result<Vec<String>> {
    if matches!(selection, Selection::Run(_)) {
        return Ok(Vec::new());
    }
    let measured: BTreeSet<&str> = stored.slices.iter().map(|slice| slice.run.as_str()).collect();
    let imported = stored.imported.iter().map(|value| value.measurement.run.as_str());
    let imported: BTreeSet<&str> = imported.collect();
    let measured = measured.into_iter().map(|run| (run, damage(results, run)));
    let imported = imported.into_iter().map(|run| (run, results.import_of(run).err()));
    let unreadable: BTreeMap<String, store::Error> = measured
        .chain(imported)
        .filter_map(|(run, error)| Some((run.to_owned(), error?)))
        .collect();
    stored.slices.retain(|slice| !unreadable.contains_key(&slice.run));
    stored.imported.retain(|value| !unreadable.contains_key(value.measurement.run.as_str()));
    if stored.slices.is_empty() && stored.imported.is_empty() {
        return unreadable.into_values().next().map_or(Ok(Vec::new()), |error| Err(error.into()));
    }
    Ok(unreadable.into_values().map(|error| format!("left out: {error}")).collect())
}

/// Why a run cannot be compared, if it cannot.
fn damage(results: &Results, run: &str) -> Option<store::Error> {
    let state = || results.state_of::<serde_json::Value>(run, runner::TIME).err();
    let explanations = || results.explanations(run).err();
    results.plan_of(run).err().or_else(state).or_else(explanations)
}

/// Puts runs together whose plans are equal but for the seed, and whose servers and hosts are:
/// hosts of one kind may have different names.
pub(crate) fn pools<'a>(
    results: &Results,
    runs: impl Iterator<Item = &'a [StoredSlice]>,
) -> anyhow::Result<Vec<Pool<'a>>> {
    let mut found: Vec<(Common, Pool<'a>)> = Vec::new();
    for slices in runs {
        let Some(first) = slices.first() else { continue };
        let own = Common {
            experiment: first.experiment.clone(),
            run: first.run.clone(),
            plan: results.plan_of(&first.run)?,
            trials: results.trials(&first.run)?,
        };
        let earlier =
            found.iter_mut().rev().filter(|(known, _)| known.experiment == own.experiment);
        let mut apart = None;
        let mut together = None;
        for (known, pool) in earlier {
            match difference(known, &own) {
                None => {
                    together = Some(pool);
                    break;
                }
                Some(what) => {
                    let sentence =
                        || format!("not pooled with the earlier run `{}`: {what}", known.run);
                    apart.get_or_insert_with(sentence);
                }
            }
        }
        match together {
            Some(pool) => pool.runs.push(slices),
            None => found.push((own, Pool { apart, ..Pool::of(slices) })),
        }
    }
    Ok(found.into_iter().map(|(_, pool)| pool).collect())
}

/// What is said of a page of several runs, which shows each of them by itself, where others pool
/// some of them.
pub(crate) fn apart_on_pages<'a>(
    results: &Results,
    runs: impl Iterator<Item = &'a [StoredSlice]>,
) -> Option<String> {
    let pools = pools(results, runs).ok()?;
    let most = pools.iter().map(|pool| pool.runs.len()).max()?;
    (most > 1).then(|| {
        "each run stands by itself on pages, with its own verdicts, also those of one plan: \
         `dbdyno compare --all` as a table, as CSV or JSON pools their blocks"
            .to_owned()
    })
}

/// Why blocks of two runs are no repetitions of each other.
fn difference(one: &Common, other: &Common) -> Option<String> {
    if let Some(what) = of_plans(&one.plan, &other.plan) {
        return Some(format!("their plans differ in {what}"));
    }
    let mut trials: Vec<StoredTrial> = one.trials.iter().chain(&other.trials).cloned().collect();
    without_names(&mut trials);
    let known = trials.iter().map(|trial| (&trial.header, &trial.environment));
    let found = analysis::residue(known);
    (!found.is_empty()).then(|| found.join("; "))
}

/// Clears what names the folders of a run and its host, and so always differs; the plan has what is
/// set in the folders.
pub(crate) fn without_names(trials: &mut [StoredTrial]) {
    for trial in trials {
        trial.header.configuration.clear();
        trial.environment.host.clear();
        trial.environment.device = kind_of_device(&trial.environment.device).to_owned();
        trial.environment.memory_bytes = whole_gib(trial.environment.memory_bytes);
    }
}

/// What the names of devices of one kind have in common: `/dev/nvme` of `/dev/nvme0n1p2`. Which
/// number or letter a disk gets differs from boot to boot, and volumes are often named after hosts.
fn kind_of_device(device: &str) -> &str {
    const LETTERED: [&str; 4] = ["/dev/sd", "/dev/vd", "/dev/xvd", "/dev/mapper/"];
    let numbered = || device.split(|c: char| c.is_ascii_digit()).next().unwrap_or(device);
    let lettered = LETTERED.into_iter().find(|kind| device.starts_with(*kind));
    lettered.unwrap_or_else(numbered)
}

/// Bytes in whole GiB: hosts of one kind tell of slightly different memory.
fn whole_gib(bytes: u64) -> u64 {
    bytes >> 30 << 30
}

/// The design of pooled runs of a plan with these trials. There is one look at the data, at its
/// end.
pub(crate) fn design(plan: &Plan, trials: &[StoredTrial]) -> Design {
    Design { looks: Vec::new(), hosts: hosts(trials), ..Design::of(plan) }
}

/// The host of each block by run.
type Hosts = BTreeMap<String, BTreeMap<u32, String>>;

/// The hosts of all blocks, if they are several: a run may have been continued on another one.
fn hosts(trials: &[StoredTrial]) -> Hosts {
    let mut hosts = Hosts::new();
    for StoredTrial { header, environment, .. } in trials {
        let of_run = hosts.entry(header.run.clone()).or_default();
        of_run.insert(header.block, environment.host.clone());
    }
    if distinct(&hosts).len() > 1 { hosts } else { Hosts::new() }
}

fn distinct(hosts: &Hosts) -> BTreeSet<&String> {
    hosts.values().flat_map(BTreeMap::values).collect()
}

/// That blocks span hosts, where they do: the classic design continues a run in the middle of one,
/// and may do so elsewhere.
pub(crate) fn spanning(trials: &[StoredTrial]) -> Option<String> {
    let mut hosts: BTreeMap<(&str, u32), BTreeSet<&str>> = BTreeMap::new();
    for StoredTrial { header, environment, .. } in trials {
        hosts.entry((&header.run, header.block)).or_default().insert(&environment.host);
    }
    hosts.retain(|_, hosts| hosts.len() > 1);
    let runs: BTreeSet<&str> = hosts.keys().map(|(run, _)| *run).collect();
    let runs: Vec<&str> = runs.into_iter().collect();
    (!runs.is_empty()).then(|| {
        format!(
            "the variants of {} were measured on different hosts, whose differences are in the \
             ratios; continued elsewhere: {}",
            counted(hosts.len(), "block"),
            runs.join(", ")
        )
    })
}

/// What a reader of a comparison of pooled runs must know.
pub(crate) fn sentence(plan: &Plan, runs: usize, design: &Design) -> String {
    let judged = match plan.experiment.looks.as_slice() {
        [] => "",
        _ => "; each could end early, which the verdicts on all of them do not take into account",
    };
    let on = match distinct(&design.hosts).len() {
        0 => String::new(),
        several => format!(" on {several} hosts"),
    };
    format!("the blocks of {runs} runs{on} of one plan are pooled{judged}")
}

/// What of a plan differs beside the seed and what was drawn by it.
fn of_plans(one: &Plan, other: &Plan) -> Option<&'static str> {
    let keys = |plan: &Plan| Experiment {
        seed: 0,
        explain: false,
        question: String::new(),
        note: String::new(),
        text: String::new(),
        ..plan.experiment.clone()
    };
    [
        ("the variants, their builds or configurations", one.subjects != other.subjects),
        ("the base", one.base != other.base),
        ("the tables", one.schemas != other.schemas),
        ("the workloads", one.phases != other.phases),
        ("the keys of the experiment", keys(one) != keys(other)),
    ]
    .into_iter()
    .find_map(|(what, differs)| differs.then_some(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::HostVersions;
    use model::{
        environment::Environment,
        imported::{ImportHeader, ImportedValue},
        record::{SliceRecord, TrialHeader},
    };
    use std::path::PathBuf;

    fn plan(set: &str, seed: u64) -> Plan {
        let catalog = plan::Catalog::embedded().unwrap();
        let set = vec!["rounds=2".to_owned(), set.to_owned()];
        let overrides = plan::Overrides { set, seed: Some(seed), ..Default::default() };
        let draft = plan::load_experiment("quickstart", &catalog, &overrides).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let places = dbms::Places::at(folder.path(), None).unwrap();
        plan::plan(&draft, &catalog, &HostVersions { places: &places }).unwrap()
    }

    #[test]
    fn of_many_runs_one_whose_state_is_damaged_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open_or_create(folder.path().join("r")).unwrap();
        let of = plan("blocks=5", 1);
        let begin = |_| {
            let run = results.start_run(&of, &Environment::default()).unwrap();
            run.note_state(runner::TIME, &1).unwrap();
            run.id().to_owned()
        };
        let [sound, damaged] = [0, 1].map(begin);
        let state = results.dir().join("runs").join(&damaged).join("state.json");
        fs_err::write(state, "{}").unwrap();
        let slice = |run: &String| StoredSlice {
            run: run.clone(),
            experiment: String::new(),
            trial: String::new(),
            slice: SliceRecord::default(),
        };
        let slices = [&sound, &damaged].map(slice).to_vec();
        let mut stored = Stored { slices, ..Stored::default() };
        let said = leave_out_unreadable(&results, &Selection::All, &mut stored).unwrap();
        let left: Vec<&str> = stored.slices.iter().map(|slice| slice.run.as_str()).collect();
        assert_eq!(left, [sound.as_str()]);
        assert!(said[0].contains(&damaged), "{said:?}");
    }

    #[test]
    fn of_many_imports_one_that_is_damaged_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open_or_create(folder.path().join("r")).unwrap();
        let import = |name: &str| {
            let mut value = ImportedValue::default();
            value.measurement.experiment = name.into();
            value.measurement.subject = "x".into();
            let header = ImportHeader { experiment: name.to_owned(), ..ImportHeader::default() };
            results.import(&header, &[value]).unwrap()
        };
        let [sound, damaged] = ["a", "b"].map(import);
        let head = results.dir().join("runs").join(&damaged).join("import.json");
        fs_err::write(head, "{").unwrap();
        let read = |selection: &Selection| {
            let mut stored = results.slices(selection).unwrap();
            let said = leave_out_unreadable(&results, selection, &mut stored).unwrap();
            let runs = stored.imported.iter().map(|value| value.measurement.run.to_string());
            (runs.collect::<Vec<_>>(), said)
        };
        let (runs, warnings) = read(&Selection::All);
        assert_eq!(runs, [sound]);
        let is_told = |said: &String| said.starts_with("left out: ") && said.contains(&damaged);
        assert!(warnings.iter().any(is_told), "{warnings:?}");
        // Whoever names it learns why it cannot be read.
        assert_eq!(read(&Selection::Run(damaged.clone())).0, [damaged]);
    }

    #[test]
    fn memory_stays_in_bytes_and_loses_its_rest() {
        assert_eq!(whole_gib((16 << 30) + 5), 16 << 30);
    }

    #[test]
    fn devices_are_told_apart_by_their_kind_and_not_by_their_names() {
        let check = |device: &str, expected| assert_eq!(kind_of_device(device), expected);
        check("/dev/nvme0n1p2", "/dev/nvme");
        check("/dev/sda3", "/dev/sd");
        check("/dev/sdb", "/dev/sd");
        check("/dev/mapper/rl_n01-root", "/dev/mapper/");
        check("/dev/root", "/dev/root");
        check("", "");
    }

    fn trial(block: u32, host: &str) -> StoredTrial {
        StoredTrial {
            header: TrialHeader { run: "r".to_owned(), block, ..TrialHeader::default() },
            environment: Environment { host: host.to_owned(), ..Environment::default() },
            complete: true,
            dir: PathBuf::new(),
        }
    }

    #[test]
    fn a_block_whose_variants_are_on_two_hosts_is_told() {
        assert_eq!(spanning(&[trial(0, "a"), trial(0, "a"), trial(1, "b")]), None);
        let told = spanning(&[trial(0, "a"), trial(0, "b"), trial(1, "b")]).unwrap();
        assert!(told.starts_with("the variants of 1 block were measured"), "{told}");
        assert!(told.ends_with("; continued elsewhere: r"), "{told}");
    }

    #[test]
    fn a_run_that_was_continued_elsewhere_has_blocks_of_two_hosts() {
        assert_eq!(hosts(&[trial(0, "a"), trial(1, "a")]), Hosts::new(), "one host");
        let found = hosts(&[trial(0, "a"), trial(1, "b")]);
        let blocks = BTreeMap::from([(0, "a".to_owned()), (1, "b".to_owned())]);
        assert_eq!(found, Hosts::from([("r".to_owned(), blocks)]));
    }

    #[test]
    fn plans_are_equal_but_for_the_seed() {
        let check = |set: &str, expected: Option<&str>| {
            assert_eq!(of_plans(&plan("blocks=5", 1), &plan(set, 2)), expected, "{set}");
        };
        check("blocks=5", None);
        check("blocks=6", Some("the keys of the experiment"));
        check("rows=3000", Some("the tables"));
    }
}
