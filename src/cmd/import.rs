//! `dbdyno import`: foreign result archives into records.

use super::Verb;
use crate::{args::ResultsArgs, exit::Code, talk};
use archive::{Imported, correct::CORRECTIONS};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use model::imported::ImportHeader;
use std::path::PathBuf;
use store::Results;

pub(super) const VERB: Verb = Verb { name: "import", command, run };

/// Warnings that are shown.
const SHOWN: usize = 20;

/// Warnings that the record of an archive keeps.
const KEPT: usize = 1000;

#[derive(Debug, Args)]
struct Arguments {
    /// Files, and folders that are walked.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    results: ResultsArgs,
    /// Undoes a known bias of the archive's numbers; may be given several times.
    #[arg(long, value_name = "NAME", help = correct_help())]
    correct: Vec<String>,
}

fn correct_help() -> String {
    let lines: Vec<String> =
        CORRECTIONS.iter().map(|c| format!("`{}`: {}", c.name, c.help)).collect();
    format!("Undoes a known bias exactly: {}", lines.join("; "))
}

fn command(command: Command) -> Command {
    Arguments::augment_args(command.about("Reads result archives of other tools into records"))
        .after_help(
            "`dbdyno list importers` names the formats. Files of other formats are counted and \
             left alone. Exit codes: 0 everything of a known format was imported, 2 a file of a \
             known format is broken, or a named one is of none: the others are imported.",
        )
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let options = archive::Options { corrections: arguments.correct };
    let imported = archive::import(&arguments.paths, &options)?;
    talk_of(&imported);
    let results = Results::open_or_create(&arguments.results.results)?;
    for archive in &imported.archives {
        let kept = archive.warnings.iter().take(KEPT);
        let header = ImportHeader {
            format: 0,
            experiment: archive.experiment.clone(),
            subjects: archive.subjects.clone(),
            corrections: options.corrections.clone(),
            warnings: kept.map(ToString::to_string).collect(),
            irregular: archive.warnings.len() as u64,
        };
        let run = results.import(&header, &archive.values)?;
        let line = format!(
            "{}: {} values of {} variants, run {run}",
            archive.experiment,
            archive.values.len(),
            archive.subjects.len()
        );
        talk::data(&talk::printable(&line))?;
    }
    if imported.broken.is_empty() {
        return Ok(Code::Done);
    }
    let (broken, all) = (imported.broken.len(), files(imported.files));
    talk::say(&format!("error: {broken} of {all} broken; everything else was imported"));
    Ok(Code::Failed)
}

/// What was found, what was not known, what was irregular.
fn talk_of(imported: &Imported) {
    for broken in imported.broken.iter().take(SHOWN) {
        talk::say(&format!("error: {broken}"));
    }
    if imported.broken.len() > SHOWN {
        talk::say(&format!("error: and {} more broken files", imported.broken.len() - SHOWN));
    }
    for warning in imported.warnings.iter().take(SHOWN) {
        talk::say(&format!("warning: {warning}"));
    }
    if imported.warnings.len() > SHOWN {
        let more = imported.warnings.len() - SHOWN;
        talk::say(&format!(
            "warning: and {more} more; `import.json` of each run has its first {KEPT}"
        ));
    }
    let taken: Vec<String> =
        imported.taken.iter().map(|(name, count)| format!("{count} {name}")).collect();
    talk::say(&format!("{}: {}", files(imported.files), taken.join(", ")));
    if let Some(first) = imported.unknown.first() {
        let unknown = files(imported.unknown.len() as u64);
        talk::say(&format!("{unknown} of no known format, such as `{first}`"));
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
