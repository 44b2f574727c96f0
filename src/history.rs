//! Runs of a series as values over time: gathered from results folders for `history` and `site`.

mod again;
mod changed;

use crate::{choice, comparison, noise::BankChoice, server_state, sizes};
use analysis::{
    Comparison,
    history::{Quantity, Session, Step},
};
use model::{environment::Environment, metric::Metric, notes::Notes, number::counted, plan::Plan};
use report::history::HistoryPage;
use std::collections::{BTreeMap, BTreeSet};
use store::{Results, RunInfo, Selection, StoredTrial};

/// What of the runs is wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Name of a series, or of an experiment whose runs belong to none; all if absent.
    pub(crate) name: Option<String>,
    /// Tests; `*` and `?` are wildcards; all if empty.
    pub(crate) tests: Vec<String>,
    /// Variants, the same.
    pub(crate) variants: Vec<String>,
    /// Metrics.
    pub(crate) metrics: Vec<&'static Metric>,
    /// Values, or ratios to the base.
    pub(crate) quantity: Quantity,
}

/// A run with its folder and what is known of it.
struct Run<'a> {
    results: &'a Results,
    info: RunInfo,
    plan: Plan,
    notes: Notes,
}

/// One page per series, each of the finished runs in all folders, oldest first.
pub(crate) fn pages(folders: &[Results], wanted: &Wanted) -> anyhow::Result<Vec<HistoryPage>> {
    let mut series: BTreeMap<String, Vec<Run<'_>>> = BTreeMap::new();
    let mut warnings = Vec::new();
    let mut imports = 0;
    let mut known = BTreeSet::new();
    for results in folders {
        let notes = plan::notes_in(results.dir())?;
        let (runs, unreadable) = results.readable_runs()?;
        warnings.extend(unreadable);
        let is_there = |start: &String| runs.iter().any(|run| run.id.starts_with(start));
        let lost = notes.runs.keys().filter(|start| !is_there(start));
        warnings.extend(lost.map(|start| format!("notes.toml: no run begins with `{start}`")));
        for info in runs.into_iter().filter(|run| run.finished) {
            // A folder may be named twice.
            if !known.insert(info.id.clone()) {
                continue;
            }
            let plan = match results.import_of(&info.id) {
                Ok(None) => results.plan_of(&info.id),
                Ok(Some(_)) => {
                    imports += 1;
                    continue;
                }
                Err(error) => Err(error),
            };
            match plan {
                Ok(plan) => {
                    let name = name_of(&plan).to_owned();
                    let run = Run { results, info, plan, notes: notes.clone() };
                    series.entry(name).or_default().push(run);
                }
                Err(error) => warnings.push(format!("run {} is left out: {error}", info.id)),
            }
        }
    }
    anyhow::ensure!(!series.is_empty(), nothing(imports, &warnings));
    if let Some(name) = &wanted.name {
        let known = model::quoted(series.keys());
        series.retain(|own, _| own == name);
        anyhow::ensure!(
            !series.is_empty(),
            "no finished run belongs to `{name}`; there are: {known}"
        );
    }
    let pages = series.into_iter().map(|(name, runs)| {
        let page = page(&name, runs, wanted);
        (name, page)
    });
    let (mut pages, left_out) = sound(pages)?;
    // The first page tells them; once is enough.
    if let Some(first) = pages.first_mut() {
        first.warnings.splice(0..0, warnings.into_iter().chain(left_out));
    }
    Ok(pages)
}

/// The series that have a page, and a sentence for each that has none, such as one without the test
/// that is asked for. Fails with the first reason where no series has any.
fn sound<T>(
    found: impl Iterator<Item = (String, anyhow::Result<T>)>,
) -> anyhow::Result<(Vec<T>, Vec<String>)> {
    let (mut pages, mut left_out, mut first) = (Vec::new(), Vec::new(), None);
    for (name, page) in found {
        match page {
            Ok(page) => pages.push(page),
            Err(error) => {
                left_out.push(format!("series `{name}` is left out: {error:#}"));
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if pages.is_empty() => Err(error),
        _ => Ok((pages, left_out)),
    }
}

/// Why there is no series, and what to do. `unreadable` has a sentence for each run that cannot be
/// read.
fn nothing(imports: usize, unreadable: &[String]) -> String {
    match (imports, unreadable) {
        (_, [first, ..]) => format!("there is no finished run that can be read: {first}"),
        (0, []) => "there are no finished runs: run an experiment first".to_owned(),
        (_, []) => "there are no finished runs but imported archives, which have no series: run \
                    an experiment first, or compare the archives by `dbdyno compare`"
            .to_owned(),
    }
}

/// The series of a run: the one that its experiment names, or the experiment itself.
pub(crate) fn name_of(plan: &Plan) -> &str {
    match plan.experiment.series.as_str() {
        "" => &plan.experiment.name,
        series => series,
    }
}

fn page(name: &str, mut runs: Vec<Run<'_>>, wanted: &Wanted) -> anyhow::Result<HistoryPage> {
    let mut warnings = Vec::new();
    runs.sort_by_key(|run| run.info.started_us);
    let mut compared = Vec::with_capacity(runs.len());
    let read = |run: &Run<'_>| -> anyhow::Result<_> {
        Ok((session(run)?, comparison(run, &wanted.metrics)?))
    };
    runs.retain(|run| match read(run) {
        Ok((session, (comparison, left_out))) => {
            // Each run repeats what concerns the whole folder.
            let news = left_out.into_iter().filter(|sentence| !warnings.contains(sentence));
            let news: Vec<String> = news.collect();
            warnings.extend(news);
            compared.push((session, comparison));
            true
        }
        Err(error) => {
            warnings.push(format!("run {} is left out: {error:#}", run.info.id));
            false
        }
    });
    anyhow::ensure!(
        !runs.is_empty(),
        "no run of `{name}` can be compared: {}",
        warnings.join("; ")
    );
    choose(&mut compared, wanted)?;
    warnings.extend(unlike(&runs));
    let later = compared.iter_mut().skip(1);
    for ((session, _), pair) in later.zip(runs.windows(2)) {
        session.notes.extend(changed::beside_builds([&pair[0].plan, &pair[1].plan]));
    }
    let history = analysis::history::history(name, compared, &wanted.metrics, wanted.quantity);
    let has_points = |session: usize| {
        history.trends.iter().flat_map(|trend| &trend.points).any(|point| point.session == session)
    };
    let empty = (0..history.sessions.len()).filter(|session| !has_points(*session));
    let why = match wanted.quantity {
        Quantity::Value => "its host was disturbed, or this was not measured",
        Quantity::Ratio => {
            "its host was disturbed, this was not measured, or it has no variant beside its base"
        }
    };
    warnings.extend(
        empty.map(|session| {
            format!("run {} has no value here: {why}", history.sessions[session].run)
        }),
    );
    let commands = again::commands(&history, &runs);
    Ok(HistoryPage { history, commands, warnings })
}

fn session(run: &Run<'_>) -> anyhow::Result<Session> {
    let trials = run.results.trials(&run.info.id)?;
    let about = run.notes.runs.iter().filter(|(start, _)| run.info.id.starts_with(*start));
    let own = Some(run.plan.experiment.note.clone()).filter(|note| !note.is_empty());
    Ok(Session {
        run: run.info.id.clone(),
        started_us: run.info.started_us,
        host: host(&run.info.environment),
        builds: trials.iter().map(|trial| (trial.header.subject.clone(), build(trial))).collect(),
        notes: own.into_iter().chain(about.map(|(_, note)| note.clone())).collect(),
    })
}

/// What of a host changes its values, and which one it is.
pub(crate) fn host(environment: &Environment) -> String {
    let Environment { cpu, cpus, kernel, virtualization, perf, dbdyno, .. } = environment;
    let host: String = environment.host.chars().take(6).collect();
    let guest = if virtualization.is_empty() { "" } else { ", virtual" };
    let cpus = counted(*cpus, "CPU");
    // Instructions are counted otherwise where perf permits less.
    let counters = if perf.is_empty() { String::new() } else { format!(", counters {perf}") };
    format!("{cpus} {cpu}{guest}, Linux {kernel}{counters}, host {host}, dbdyno {dbdyno}")
}

/// What a build is: its version and its binary.
fn build(trial: &StoredTrial) -> String {
    let header = &trial.header;
    match header.short_sha256() {
        "" => header.server_version.clone(),
        binary => format!("{} binary {binary}", header.server_version),
    }
}

/// What a run tells, and what had to be left out of it.
fn comparison(
    run: &Run<'_>,
    metrics: &[&'static Metric],
) -> anyhow::Result<(Comparison, Vec<String>)> {
    let mut stored = run.results.slices(&Selection::Run(run.info.id.clone()))?;
    let names: Vec<String> = metrics.iter().map(|metric| metric.name.to_owned()).collect();
    server_state::add(run.results, &mut stored.slices, &names)?;
    let (design, observations) =
        comparison::observed(run.results, &run.info.id, &stored.slices, &BankChoice::None)?;
    Ok((analysis::compare(&observations, &design), stored.warnings))
}

/// Leaves the wanted tests and variants. Fails for a name that no run has.
fn choose(compared: &mut [(Session, Comparison)], wanted: &Wanted) -> anyhow::Result<()> {
    let all = |names: &dyn Fn(&Comparison) -> Vec<String>| -> Vec<String> {
        let found: BTreeSet<String> =
            compared.iter().flat_map(|(_, comparison)| names(comparison)).collect();
        found.into_iter().collect()
    };
    let tests = all(&|one| one.phases.iter().map(|phase| phase.phase.clone()).collect());
    let variants = all(&|one| one.subjects.clone());
    let tests = choice::matching(("test", "--test"), &wanted.tests, &tests)?;
    let variants = choice::matching(("variant", "--variant"), &wanted.variants, &variants)?;
    for (_, comparison) in compared {
        if !wanted.tests.is_empty() {
            comparison.phases.retain(|phase| tests.contains(&phase.phase));
        }
        if !wanted.variants.is_empty() {
            // `subjects` stays whole: a run of one variant alone is shown without its name.
            let is_wanted = |name: &str| variants.iter().any(|known| known == name);
            for phase in &mut comparison.phases {
                phase.cells.retain(|cell| is_wanted(&cell.subject));
            }
        }
    }
    Ok(())
}

/// Says where runs of one series measured tables of different sizes: their values do not compare.
fn unlike(runs: &[Run<'_>]) -> Option<String> {
    let first = runs.first()?;
    runs.iter().find_map(|other| {
        let [own, others] = sizes::unlike([&first.plan, &other.plan])?;
        Some(format!(
            "runs differ in their tables: {own} in {}, {others} in {}; give each a series of its \
             own",
            first.info.id, other.info.id
        ))
    })
}

/// The largest of the steps of a page, as an index tells it.
pub(crate) fn largest(page: &HistoryPage) -> Option<&Step> {
    let steps = page.history.trends.iter().flat_map(|trend| &trend.found.steps);
    let confirmed = steps.filter(|step| step.is_confirmed);
    confirmed.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Cell, PhaseResult};

    #[test]
    fn a_folder_without_a_series_is_told_with_the_next_step() {
        let check = |imports, unreadable: &[&str], expected: &str| {
            let unreadable: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
            let said = nothing(imports, &unreadable);
            assert!(said.contains(expected), "{said}");
        };
        check(0, &[], "no finished runs: run an experiment first");
        check(3, &[], "but imported archives, which have no series");
        check(3, &["run 1 is left out: old"], "can be read: run 1 is left out: old");
    }

    #[test]
    fn a_series_without_a_page_costs_itself_alone() {
        let of = |name: &str, page: Result<u8, &str>| {
            (name.to_owned(), page.map_err(|why| anyhow::anyhow!("{why}")))
        };
        let found = [of("a", Err("no test fits")), of("b", Ok(1)), of("c", Ok(2))];
        let (pages, left_out) = sound(found.into_iter()).unwrap();
        assert_eq!(pages, [1, 2]);
        assert_eq!(left_out, ["series `a` is left out: no test fits"]);
        let none = [of("a", Err("no test fits")), of("b", Err("damaged"))];
        assert_eq!(sound(none.into_iter()).unwrap_err().to_string(), "no test fits");
    }

    #[test]
    fn the_chosen_variant_of_several_keeps_its_name() {
        let metric = analysis::metric("ops_per_second").unwrap();
        let cell = |subject: &str| Cell { value: Some(1.0), ..Cell::empty(subject, metric) };
        let cells = vec![cell("old"), cell("new")];
        let phase = PhaseResult { phase: "scan".to_owned(), cells, ..PhaseResult::default() };
        let subjects = vec!["old".to_owned(), "new".to_owned()];
        let comparison = Comparison { subjects, phases: vec![phase], ..Comparison::default() };
        let mut compared = vec![(Session::default(), comparison)];
        let wanted = Wanted { variants: vec!["new".to_owned()], ..Wanted::default() };
        choose(&mut compared, &wanted).unwrap();
        let found = analysis::history::history("nightly", compared, &[metric], Quantity::Value);
        let variants = found.trends.iter().map(|trend| trend.variant.as_str());
        // By its name its builds are found, and the command that measures it again.
        assert_eq!(variants.collect::<Vec<_>>(), ["new"]);
    }

    #[test]
    fn a_host_of_one_processor_has_one() {
        let found = host(&Environment { cpus: 1, cpu: "Xeon".to_owned(), ..Default::default() });
        assert!(found.starts_with("1 CPU Xeon, Linux "), "{found}");
    }

    #[test]
    fn other_counters_are_a_change_of_the_host() {
        let of = |perf: &str| host(&Environment { perf: perf.to_owned(), ..Default::default() });
        assert!(of("none").contains(", counters none, host "), "{}", of("none"));
        assert_ne!(of("none"), of("full"));
    }
}
