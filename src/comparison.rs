//! From records to a rendered comparison: the few steps that `run` and `compare` share.

use crate::{
    across::{self, Across},
    best,
    choice::{self, Choice},
    details, gaps, imports,
    noise::{self, BankChoice},
    outputs::{self, Author},
    pooled::{self, Pool},
    server_state, two_runs,
};
use analysis::{Comparison, Design, Input, Observations};
use anyhow::Context;
use model::{imported::ImportedValue, mark::Mark, metric::Metric, plan::Plan, state};
use report::{Details, Rendered, Report, Screen, View};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use store::{Results, Selection, Stored, StoredSlice};

/// The form of a comparison for people, where none is named.
pub(crate) const TABLE: &str = "table";

/// The form of a report for people with a browser.
pub(crate) const HTML: &str = "html";

/// What is said where nothing can be compared, with the remedy.
const ALONE: &str = "there is only one variant, so nothing is compared: put both builds into one \
    experiment (`build = [\"before\", \"after\"]`, with a table `[servers.NAME]` and its `basedir` \
    for each), or compare two runs by `dbdyno compare RUN RUN`";

/// What to compare with, which metrics, and in which form.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// A variant's label; the experiment's baseline if absent.
    pub(crate) base: Option<String>,
    /// A factor whose levels, phases of one server, are compared with each other.
    pub(crate) across: Option<String>,
    /// Another variant that the report compares with too.
    pub(crate) second_base: Option<String>,
    /// Names of metrics; the usual ones if empty.
    pub(crate) metrics: Vec<String>,
    /// Name of a format.
    pub(crate) format: String,
    /// How the HTML report is laid out; its aliases may be patterns.
    pub(crate) view: View,
    /// Which variants and archives are shown.
    pub(crate) choice: Choice,
    /// The terminal that tables are for.
    pub(crate) screen: Screen,
    /// What is known of the noise of the host.
    pub(crate) bank: BankChoice,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            base: None,
            across: None,
            second_base: None,
            metrics: Vec::new(),
            format: TABLE.to_owned(),
            view: View::default(),
            choice: Choice::default(),
            screen: Screen::default(),
            bank: BankChoice::default(),
        }
    }
}

/// Reads the selected slices, compares them experiment by experiment, and renders the comparisons.
pub(crate) fn rendered(
    results: &Results,
    selection: &Selection,
    request: &Request,
) -> anyhow::Result<Rendered> {
    Ok(report::rendered(&report(results, selection, request)?, &request.format)?)
}

/// The comparisons of the selected slices.
pub(crate) fn report(
    results: &Results,
    selection: &Selection,
    request: &Request,
) -> anyhow::Result<Report> {
    let mut stored = results.slices(selection)?;
    if stored.slices.is_empty() && stored.imported.is_empty() {
        let dir = results.dir().display();
        match stored.warnings.as_slice() {
            [] => anyhow::bail!("no slices are in `{dir}`: run an experiment or import an archive"),
            [first, ..] => anyhow::bail!("no slices of `{dir}` can be used: {first}"),
        }
    }
    // One that cannot be read is named, also where nothing here would use it.
    request.bank.read(results.dir())?;
    chosen_archives(&mut stored, &request.choice)?;
    let left_out = pooled::leave_out_unreadable(results, selection, &mut stored)?;
    if let Some(factor) = &request.across {
        across::only(results, &mut stored, factor)?;
    }
    let metrics = server_state::named(results, &stored.slices, &request.metrics)?;
    let request = &Request { metrics, ..request.clone() };
    server_state::add(results, &mut stored.slices, &request.metrics)?;
    let format = report::format::find(&request.format);
    let detailed = format.is_some_and(|format| format.shows_details) && request.across.is_none();
    let mut comparisons = Vec::new();
    let mut all_details = Vec::new();
    // Charts and histories are those of one run.
    let pools = match selection {
        Selection::All if !detailed => pooled::pools(results, by_run(&stored.slices))?,
        _ => by_run(&stored.slices).map(Pool::of).collect(),
    };
    let apart = match selection {
        Selection::All if detailed => pooled::apart_on_pages(results, by_run(&stored.slices)),
        _ => None,
    };
    for pool in pools {
        let slices = pool.runs[0];
        let mut compared = compare(results, &pool.runs, request)?;
        let is_told = pool.apart.is_some();
        compared.comparison.warnings.extend(pool.apart);
        gaps::of_runs(results, selection, &pool.runs, &mut compared.comparison)?;
        if request.across.is_none() {
            gaps::of_tests(pool.runs.iter().copied().flatten(), &mut compared.comparison);
        }
        // Candidates are a run's variants against its own base.
        if request.across.is_none() && request.base.is_none() {
            let best = best::again(results, run_of(slices), &compared.comparison)?;
            compared.comparison.conditions.extend(best);
        }
        all_details.push(match detailed {
            true => compared.with_more(details::of(results, slices)?, request)?,
            false => details::origin(results, slices)?,
        });
        comparisons.push(compared.comparison);
        if !is_told {
            warn_of_earlier_run(&mut comparisons, &all_details);
        }
    }
    for (compared, own) in imports::compared(results, stored.imported, request)? {
        all_details.push(if detailed { compared.with_more(own, request)? } else { own });
        comparisons.push(compared.comparison);
    }
    let mut report = requested(comparisons, all_details, request)?;
    if let Some(first) = report.comparisons.first_mut() {
        first.warnings.extend(stored.warnings.into_iter().chain(apart));
        left_out.into_iter().for_each(|what| first.lacks(what));
    }
    Ok(report)
}

/// A run compared with another one, each given by its identifier or the start of it.
pub(crate) fn report_of_runs(
    results: &Results,
    base: &str,
    new: &str,
    request: &Request,
) -> anyhow::Result<Report> {
    let (comparison, metrics) = two_runs::compare(results, (base, new), request)?;
    requested(vec![comparison], Vec::new(), &Request { metrics, ..request.clone() })
}

/// Comparisons with the variants, metrics and form that are asked for.
fn requested(
    mut comparisons: Vec<Comparison>,
    mut details: Vec<Details>,
    request: &Request,
) -> anyhow::Result<Report> {
    let metrics = match request.metrics.as_slice() {
        [] => Vec::new(),
        names => analysis::select_metrics(names)?,
    };
    choose_variants(&mut comparisons, &mut details, &request.choice)?;
    warn_of_unmeasured(&metrics, &mut comparisons)?;
    request.view.check(&comparisons)?;
    let mut view = request.view.clone();
    view.aliases = choice::known_aliases(&view.aliases, &labels(&comparisons))?;
    for comparison in &comparisons {
        let own = |label: &String| comparison.subjects.contains(label);
        let aliases = view.aliases.iter().filter(|(label, _)| own(label));
        let aliases = aliases.map(|(label, name)| (label.clone(), name.clone())).collect();
        choice::check_distinct(&aliases, &comparison.subjects)?;
    }
    Ok(Report { comparisons, metrics, details, view, screen: request.screen })
}

/// Says which of the metrics that are asked for nothing was measured of. Fails where all of them
/// are counters of servers that no record has: their names are not checked otherwise.
fn warn_of_unmeasured(
    metrics: &[&'static Metric],
    comparisons: &mut [Comparison],
) -> anyhow::Result<()> {
    let is_measured = |metric: &&&Metric| {
        let of_metric = |cell: &analysis::Cell| {
            cell.metric.name == metric.name && (cell.value.is_some() || cell.ratio.is_some())
        };
        let mut cells = comparisons.iter().flat_map(|c| &c.phases).flat_map(|phase| &phase.cells);
        cells.any(of_metric)
    };
    let missing: Vec<_> = metrics.iter().filter(|metric| !is_measured(metric)).collect();
    let is_counter = |metric: &&&Metric| state::is_counter(metric.name);
    if let (true, Some(first)) = (missing.len() == metrics.len(), missing.first())
        && missing.iter().all(&is_counter)
    {
        anyhow::bail!(
            "no record has a counter `{}` that moved; names are those of the server, such as \
             `status.Handler_commit` of MySQL, and SQLite keeps none",
            first.name
        );
    }
    let said = missing.iter().map(|metric| match is_counter(metric) {
        true => format!("no record has a counter `{}` that moved", metric.name),
        false => format!("nothing was measured of `{}`", metric.name),
    });
    let said: Vec<String> = said.collect();
    comparisons.iter_mut().take(1).for_each(|one| one.warnings.extend(said.iter().cloned()));
    Ok(())
}

/// Says how the trials of the last comparison differ from those of the last run of its experiment,
/// whose values stand apart.
fn warn_of_earlier_run(comparisons: &mut [Comparison], details: &[Details]) {
    let Some((last, earlier)) = comparisons.split_last_mut() else { return };
    let Some(index) = earlier.iter().rposition(|one| one.experiment == last.experiment) else {
        return;
    };
    let (Some(one), Some(other)) = (details.get(index), details.last()) else { return };
    let mut trials: Vec<_> = one.trials.iter().chain(&other.trials).cloned().collect();
    // It names the run's folders, so it always differs.
    trials.iter_mut().for_each(|trial| trial.header.configuration.clear());
    let trials = trials.iter().map(|trial| (&trial.header, &trial.environment));
    let found = analysis::residue(trials);
    let run = &one.run;
    let said = found.into_iter().filter(|said| !last.warnings.contains(said));
    let said: Vec<_> = said.map(|said| format!("with the earlier run `{run}`, {said}")).collect();
    last.warnings.extend(said);
}

/// Leaves the slices and values of the chosen archives and experiments.
pub(crate) fn chosen_archives(stored: &mut Stored, choice: &Choice) -> anyhow::Result<()> {
    let measured = stored.slices.iter().map(|slice| slice.experiment.clone());
    let imported = stored.imported.iter().map(|value| value.measurement.experiment.to_string());
    let known: BTreeSet<String> = measured.chain(imported).collect();
    let wanted = choice.archives(&known.into_iter().collect::<Vec<_>>())?;
    stored.slices.retain(|slice| wanted.contains(&slice.experiment));
    stored.imported.retain(|value| wanted.contains(value.measurement.experiment.as_str()));
    Ok(())
}

/// The labels of all variants, each once.
fn labels(comparisons: &[Comparison]) -> Vec<String> {
    let all: BTreeSet<&String> = comparisons.iter().flat_map(|c| &c.subjects).collect();
    all.into_iter().cloned().collect()
}

/// Leaves the chosen variants and their bases; a comparison without any of them is left out.
fn choose_variants(
    comparisons: &mut Vec<Comparison>,
    details: &mut Vec<report::Details>,
    choice: &Choice,
) -> anyhow::Result<()> {
    if !choice.has_variants() {
        return Ok(());
    }
    let wanted = choice.variants(&labels(comparisons))?;
    let is_wanted = |subject: &str| wanted.iter().any(|label| label == subject);
    let mut all_details = std::mem::take(details).into_iter();
    for comparison in std::mem::take(comparisons) {
        let own = all_details.next();
        if comparison.subjects.iter().any(|subject| is_wanted(subject)) {
            let comparison = comparison.only(&is_wanted);
            details.extend(own.map(|mut own| {
                own.keep(&comparison.subjects);
                own
            }));
            comparisons.push(comparison);
        }
    }
    Ok(())
}

/// Where the HTML report of a results folder lies.
pub(crate) fn report_file(results: &Results) -> PathBuf {
    results.dir().join("report.html")
}

/// Writes all comparisons as one HTML page; gives its path.
pub(crate) fn write_file(report: &Report, out: PathBuf) -> anyhow::Result<PathBuf> {
    outputs::write_page(Author::Report, &out, &report::render(report, HTML)?)?;
    Ok(out)
}

/// Writes a page for each comparison and an index of them; gives the path of the index.
pub(crate) fn write_pages(report: &Report, folder: &Path) -> anyhow::Result<PathBuf> {
    outputs::create_folder(folder)?;
    let pages = report::pages(report)?;
    // All or none.
    for page in &pages {
        Author::Report.check(&folder.join(&page.file))?;
    }
    for page in &pages {
        outputs::write_page(Author::Report, &folder.join(&page.file), &page.text)?;
    }
    Ok(folder.join(report::INDEX))
}

/// The phases that did not keep their set rate, one sentence each.
pub(crate) fn missed_rates(
    results: &Results,
    slices: &[StoredSlice],
) -> anyhow::Result<Vec<String>> {
    let mut missed = Vec::new();
    for slices in by_run(slices) {
        let found = observed(results, run_of(slices), slices, &BankChoice::None)?.1;
        // As in a comparison, whose cells have the marks of all slices.
        for measurement in found.values() {
            let marks = measurement.marks.iter();
            for mark in marks.filter(|mark| matches!(mark, Mark::Missed(_))) {
                let sentence = format!("{} {}: {mark}", measurement.subject, measurement.phase);
                if !missed.contains(&sentence) {
                    missed.push(sentence);
                }
            }
        }
    }
    Ok(missed)
}

/// The slices of each run, which the store gives one after the other.
pub(crate) fn by_run(slices: &[StoredSlice]) -> impl Iterator<Item = &[StoredSlice]> {
    slices.chunk_by(|a, b| a.run == b.run)
}

/// The run of slices of one.
pub(crate) fn run_of(slices: &[StoredSlice]) -> &str {
    slices.first().map_or("", |slice| slice.run.as_str())
}

/// The values of each import, which the store gives one after the other.
pub(crate) fn by_import(values: &[ImportedValue]) -> impl Iterator<Item = &[ImportedValue]> {
    values.chunk_by(|a, b| a.measurement.run == b.measurement.run)
}

/// The design of a run, what its slices tell, and what a bank knows of noise.
pub(crate) fn observed(
    results: &Results,
    run: &str,
    slices: &[StoredSlice],
    bank: &BankChoice,
) -> anyhow::Result<(Design, Observations)> {
    let plan = results.plan_of(run)?;
    let design = design_of(results, run, &plan)?;
    let mut observations = observed_in(&design, slices);
    observations.noise = noise::of_run(results, run, &plan, bank)?;
    Ok((design, observations))
}

/// The design of a run, which may have ended before its last look.
fn design_of(results: &Results, run: &str, plan: &Plan) -> anyhow::Result<Design> {
    let mut design = Design::of(plan);
    if let Some(blocks) = results.state_of(run, runner::PERMITTED_BLOCKS)? {
        design.end_after(blocks);
    }
    Ok(design)
}

/// What slices tell, the phases being those of `design`.
pub(crate) fn observed_in<'a>(
    design: &Design,
    slices: impl IntoIterator<Item = &'a StoredSlice>,
) -> Observations {
    let inputs = slices.into_iter().map(|s| Input {
        experiment: &s.experiment,
        run: &s.run,
        slice: &s.slice,
    });
    analysis::observe(inputs, &|_, phase| design.facts(phase))
}

/// A comparison and what it was made from.
pub(crate) struct Compared {
    pub(crate) comparison: Comparison,
    pub(crate) design: Design,
    pub(crate) observations: Observations,
}

impl Compared {
    /// The details with the comparisons of the same values that only the report shows.
    pub(crate) fn with_more(
        &self,
        mut details: Details,
        request: &Request,
    ) -> anyhow::Result<Details> {
        let compared = |design: Design| analysis::compare(&self.observations, &design);
        if self.design.subjects.len() > 2 {
            details.steps = Some(compared(self.design.clone().consecutive()));
        }
        if let Some(base) = &request.second_base {
            let design = self.design.clone();
            details.second = Some(compared(against(design, base, "--second-base", request)?));
        }
        Ok(details)
    }
}

/// The design with another base, given as tables show it: by its label, short name or alias.
pub(crate) fn against(
    design: Design,
    base: &str,
    flag: &'static str,
    request: &Request,
) -> anyhow::Result<Design> {
    let labels: Vec<String> = design.subjects.iter().map(|(label, _)| label.clone()).collect();
    let mut aliases = request.view.aliases.iter();
    let given = aliases.find(|(_, alias)| *alias == base).map_or(base, |(given, _)| given);
    let found = choice::matching(("variant", flag), &[given.to_owned()], &labels);
    let found = found.with_context(|| format!("in `{}`", design.experiment))?;
    match found.as_slice() {
        [label] => Ok(design.against(label)?),
        several => anyhow::bail!(
            "`{base}` of `{flag}` fits {} variants of `{}`: name one of them in full",
            several.len(),
            design.experiment
        ),
    }
}

/// Compares what a run measured, or several runs whose blocks repeat the same.
fn compare(
    results: &Results,
    runs: &[&[StoredSlice]],
    request: &Request,
) -> anyhow::Result<Compared> {
    let names: Vec<&str> = runs.iter().copied().map(run_of).collect();
    let plan = results.plan_of(names.first().copied().unwrap_or_default())?;
    let slices = || runs.iter().copied().flatten();
    let mut trials = Vec::new();
    for run in &names {
        trials.extend(results.trials(run)?);
    }
    let (design, said) = match runs {
        [own] => (design_of(results, run_of(own), &plan)?, Vec::new()),
        _ => {
            let design = pooled::design(&plan, &trials);
            let said = pooled::sentence(&plan, names.len(), &design);
            (design, [Some(said), pooled::spanning(&trials)].into_iter().flatten().collect())
        }
    };
    let (mut design, mut observations) = match &request.across {
        Some(factor) => Across::of(&plan, factor)?.observed(&design, slices()),
        None => {
            let observations = observed_in(&design, slices());
            (design, observations)
        }
    };
    // A bank describes the noise of single runs, and of their own variants.
    if let ([own], None) = (runs, &request.across) {
        observations.noise = noise::of_run(results, run_of(own), &plan, &request.bank)?;
    }
    if let Some(base) = &request.base {
        design = against(design, base, "--base", request)?;
    }
    let mut comparison = analysis::compare(&observations, &design);
    comparison.warnings.extend(said);
    let is_bank_named = matches!(request.bank, BankChoice::File(_));
    let is_idle = is_bank_named && observations.noise.is_none();
    comparison.warnings.extend(is_idle.then(|| noise::IDLE.to_owned()));
    comparison.warnings.extend(request.across.as_deref().map(across::warning));
    if comparison.subjects.len() == 1 {
        let other = across::factors(&plan).next().map(|one| {
            format!(
                "there is only one variant: its levels of `{0}` are compared by `dbdyno compare \
                 --across {0}`",
                one.name
            )
        });
        comparison.warnings.push(other.unwrap_or_else(|| ALONE.to_owned()));
    }
    if names.len() > 1 {
        pooled::without_names(&mut trials);
    }
    let known = trials.iter().map(|trial| (&trial.header, &trial.environment));
    comparison.warnings.extend(analysis::residue(known));
    let headers = || trials.iter().map(|trial| &trial.header);
    let build = |subject: &str| {
        let known = plan.subjects.iter().find(|known| known.label == subject)?;
        known.levels.get("build").cloned()
    };
    comparison.warnings.extend(analysis::same_binaries(headers(), &build));
    comparison.conditions.extend(analysis::build_differences(headers(), &design));
    comparison.conditions.extend(plan.wide_ranges());
    if plan.phases.iter().any(|phase| phase.script.writes()) {
        comparison.conditions.extend(analysis::unsynced_commits(headers()));
    }
    Ok(Compared { comparison, design, observations })
}
