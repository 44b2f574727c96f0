//! `dbdyno site`: static pages of all series and runs, with an index of them.

use super::Verb;
use crate::{
    args::DEFAULT_RESULTS,
    comparison::{self, HTML, Request},
    exit::Code,
    history::{self, Wanted},
    outputs, talk,
};
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use model::number::counted;
use report::{
    Report, SiteEntry, format,
    history::{Extent, HistoryPage, METRICS},
};
use std::path::{Path, PathBuf};
use store::{Results, RunInfo, Selection};

pub(super) const VERB: Verb = Verb {
    name: "site",
    about: "Writes static pages of all series and runs, with an index",
    details: "The pages need no network and no server: open `index.html`, or copy the folder to \
              any web server. A page per series shows its history, a page per run its report; the \
              index can be searched.",
    examples: &[
        ("dbdyno site --out public", "Pages of the results folder"),
        ("dbdyno site --results lab-1,lab-2 --out public", "Of two folders together"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Folder for the pages; created if missing, existing pages are replaced
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
    outputs::create_folder(&arguments.out)?;
    let mut entries = series(&folders, &arguments.out)?;
    for results in &folders {
        for info in results.runs()?.iter().rev() {
            match page_of_run(results, info, &arguments.out) {
                Ok(entry) => entries.push(entry),
                // One damaged run costs its own page.
                Err(error) => {
                    talk::say(&format!("warning: run {} has no page: {error:#}", info.id))
                }
            }
        }
    }
    let index = arguments.out.join(report::INDEX);
    outputs::write(&index, report::site_index(&entries))?;
    talk::data(&talk::printable(&index.display().to_string()))?;
    Ok(Code::Done)
}

/// The pages of all series.
fn series(folders: &[Results], out: &Path) -> anyhow::Result<Vec<SiteEntry>> {
    let finished = |results: &Results| {
        Ok::<bool, store::Error>(results.runs()?.iter().any(|run| run.finished))
    };
    let mut any = false;
    for results in folders {
        any |= finished(results)?;
    }
    if !any {
        return Ok(Vec::new());
    }
    let metrics = analysis::select_metrics(&METRICS.map(str::to_owned))?;
    let pages = history::pages(folders, &Wanted { metrics, ..Wanted::default() });
    let pages = match pages {
        Ok(pages) => pages,
        // Imported archives alone have no series.
        Err(error) => {
            talk::say(&format!("warning: no series: {error:#}"));
            return Ok(Vec::new());
        }
    };
    let html = format::find(HTML).context("no format `html`")?;
    let mut entries = Vec::new();
    for (index, page) in pages.iter().enumerate() {
        let file = format!("series-{}.html", index + 1);
        let text = (html.text)(&Report::default(), &page.document(Extent::All));
        outputs::write(&out.join(&file), text)?;
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
    outputs::write(&out.join(&file), report::render(&report, HTML)?)?;
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
