//! `dbdyno site`: static pages of all series and runs, with an index of them.

use super::Verb;
use crate::{
    args::DEFAULT_RESULTS,
    comparison::{self, HTML, Request},
    exit::Code,
    history::{self, Wanted},
    outputs::{self, Author},
    talk,
};
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use model::{escape, number::counted};
use report::{
    Report, SiteEntry, format,
    history::{Extent, HistoryPage, METRICS},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use store::{Results, RunInfo, Selection};

pub(super) const VERB: Verb = Verb {
    name: "site",
    about: "Writes static pages of all series and runs, with an index",
    details: "The pages need no network and no server: open `index.html`, or copy the folder to \
              any web server. A page per series shows its history, a page per run its report; the \
              index can be searched. A run that cannot be read has no page: the other pages are \
              written, and the exit code is 2.",
    examples: &[
        ("dbdyno site --out public", "Pages of the results folder"),
        ("dbdyno site --results lab-1,lab-2 --out public", "Of two folders together"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Folder for the pages; created if missing, own pages are replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Results folders
    #[arg(long, value_name = "DIR,…", value_delimiter = ',', default_value = DEFAULT_RESULTS)]
    results: Vec<PathBuf>,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let folders: Result<Vec<Results>, store::Error> =
        arguments.results.iter().map(|dir| Ok(Results::open(dir)?.snapshot())).collect();
    let folders = folders?;
    check_any_run(&folders)?;
    outputs::create_folder(&arguments.out)?;
    let index = arguments.out.join(report::INDEX);
    Author::Site.check(&index)?;
    // What is damaged costs its own page, and is an error when the others are written.
    let mut failed = 0;
    let mut entries = match series(&folders, &arguments.out) {
        Ok(entries) => entries,
        Err(error) => {
            talk::say(&format!("warning: series have no pages: {error:#}"));
            failed += 1;
            Vec::new()
        }
    };
    let mut known = BTreeSet::new();
    for results in &folders {
        let (runs, unreadable) = results.readable_runs()?;
        for sentence in &unreadable {
            talk::say(&format!("warning: {sentence}"));
        }
        failed += unreadable.len();
        // A run may be in two folders, or a folder be named twice.
        for info in runs.iter().rev().filter(|info| known.insert(info.id.clone())) {
            match page_of_run(results, info, &arguments.out) {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    talk::say(&format!("warning: run {} has no page: {error:#}", info.id));
                    failed += usize::from(!ended_at_once(results, info));
                }
            }
        }
    }
    outputs::write_page(Author::Site, &index, &report::site_index(&entries))?;
    talk::data(&escape::terminal(&index.display().to_string()))?;
    anyhow::ensure!(
        failed == 0,
        "not all pages are written: mend what the warnings name, then run the command again"
    );
    Ok(Code::Done)
}

/// Refuses results folders that hold no run at all.
fn check_any_run(folders: &[Results]) -> anyhow::Result<()> {
    for results in folders {
        let (runs, unreadable) = results.readable_runs()?;
        if !runs.is_empty() || !unreadable.is_empty() {
            return Ok(());
        }
    }
    anyhow::bail!("there are no runs: run an experiment or import an archive first")
}

/// Whether a run was cut short before its first slice, so that a page would have nothing to show.
fn ended_at_once(results: &Results, info: &RunInfo) -> bool {
    let stored = results.slices(&Selection::Run(info.id.clone()));
    let is_empty =
        stored.is_ok_and(|stored| stored.slices.is_empty() && stored.imported.is_empty());
    is_empty && !info.finished
}

/// Whether a run was measured to its end. Imported archives have no series, damaged ones neither.
fn has_series(results: &Results, info: &RunInfo) -> bool {
    info.finished && matches!(results.import_of(&info.id), Ok(None))
}

/// The pages of all series.
fn series(folders: &[Results], out: &Path) -> anyhow::Result<Vec<SiteEntry>> {
    let mut any = false;
    for results in folders {
        for info in results.runs()? {
            any |= has_series(results, &info);
        }
    }
    if !any {
        return Ok(Vec::new());
    }
    let metrics = analysis::select_metrics(&METRICS.map(str::to_owned))?;
    let pages = history::pages(folders, &Wanted { metrics, ..Wanted::default() })?;
    let html = format::find(HTML).context("no format `html`")?;
    let mut entries = Vec::new();
    for (index, page) in pages.iter().enumerate() {
        let file = format!("series-{}.html", index + 1);
        let text = (html.text)(&Report::default(), &page.document(Extent::All));
        outputs::write_page(Author::Site, &out.join(&file), &text)?;
        entries.push(entry_of_series(page, file));
    }
    Ok(entries)
}

fn entry_of_series(page: &HistoryPage, file: String) -> SiteEntry {
    let [confirmed, suspected] = page.counts();
    let largest = history::largest(page).map(|step| format!(", largest {:.3}", step.ratio));
    let sessions = &page.history.sessions;
    SiteEntry {
        file,
        kind: "series",
        name: page.history.name.clone(),
        started_us: sessions.last().map_or(0, |session| session.started_us),
        host: sessions.last().map(|session| session.host.clone()).unwrap_or_default(),
        about: format!(
            "{}; {}, {suspected} suspected{}",
            counted(sessions.len() as u64, "run"),
            counted(confirmed as u64, "confirmed step"),
            largest.unwrap_or_default()
        ),
    }
}

fn page_of_run(results: &Results, info: &RunInfo, out: &Path) -> anyhow::Result<SiteEntry> {
    let request = Request { format: HTML.to_owned(), ..Request::default() };
    let selection = Selection::Run(info.id.clone());
    let report = comparison::report(results, &selection, &request)?;
    let file = format!("run-{}.html", info.id);
    outputs::write_page(Author::Site, &out.join(&file), &report::render(&report, HTML)?)?;
    let first = report.comparisons.first();
    let variants = first.map_or_else(String::new, |one| one.subjects.join(", "));
    let tests = first.map_or(0, |one| one.phases.len());
    let state = if info.finished { "" } else { "; unfinished" };
    Ok(SiteEntry {
        file,
        kind: "run",
        name: format!("{} {}", info.experiment, info.id),
        started_us: info.started_us,
        host: history::host(&info.environment),
        about: format!("{variants}; {}{state}", counted(tests as u64, "test")),
    })
}
