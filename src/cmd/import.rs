//! `dbdyno import`: third-party result archives into records.

use super::Verb;
use crate::{args::ResultsArgs, exit::Code, talk};
use archive::{Imported, correct::CORRECTIONS, import::IMPORTERS};
use clap::{ArgMatches, Args, FromArgMatches};
use model::{escape, imported::ImportHeader, notes::Notes, number::counted, quoted};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};
use store::Results;

pub(super) const VERB: Verb = Verb {
    name: "import",
    about: "Imports result files of other benchmark tools",
    details: "Reads every file of a known format (see `dbdyno list importers`); counts the others \
              and leaves them alone.\n\n\
              Exit codes:\n  \
              0  every file of a known format was imported\n  \
              2  a file is broken, or one that you named has no known format; the others were \
              imported",
    examples: &[
        ("dbdyno import sep26/", "Import all files below a folder"),
        ("dbdyno import sep26/ --results sep26-results", "Into a results folder of its own"),
    ],
    arguments: Arguments::augment_args,
    run,
};

/// Warnings that are shown.
const SHOWN: usize = 20;

/// Files of no known format that are all named, at most.
const NAMED: usize = 3;

/// Warnings that the record of an archive keeps.
const KEPT: usize = 1000;

#[derive(Debug, Args)]
struct Arguments {
    /// Files, or folders to search for result files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    results: ResultsArgs,
    #[arg(long, value_name = "NAME", help = correct_help())]
    correct: Vec<String>,
}

fn correct_help() -> String {
    let lines: Vec<String> =
        CORRECTIONS.iter().map(|c| format!("`{}`: {}", c.name, c.help)).collect();
    format!("Correct a known bias of the numbers; can be repeated. {}", lines.join("; "))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let options = archive::Options { corrections: arguments.correct };
    let notes = notes(&arguments.paths)?;
    let imported = archive::import(&arguments.paths, &options)?;
    talk_of(&imported);
    let results = Results::open_or_create(&arguments.results.results)?;
    for archive in &imported.archives {
        let kept = archive.warnings.iter().take(KEPT);
        let header = ImportHeader {
            format: 0,
            experiment: archive.experiment.clone(),
            subjects: archive.subjects.clone(),
            paths: paths_of(archive, &arguments.paths),
            importers: archive.importers.clone(),
            bases: archive.bases.clone(),
            corrections: options.corrections.clone(),
            warnings: kept.map(ToString::to_string).collect(),
            irregular: archive.warnings.len() as u64,
            notes: notes.clone(),
        };
        let known = earlier(&results, &header)?;
        let run = results.import(&header, &archive.values)?;
        if let Some(known) = known {
            talk::say(&format!(
                "note: {} was imported from there before, as run {known}; `compare` shows the \
                 newer one",
                header.experiment
            ));
        }
        let blocks = archive.values.iter().map(|value| value.measurement.block + 1).max();
        let repeated = match blocks {
            Some(blocks @ 2..) => format!(", up to {blocks} repetitions"),
            _ => String::new(),
        };
        let line = format!(
            "{}: {} of {}{repeated}, run {run}",
            archive.experiment,
            counted(archive.values.len(), "value"),
            counted(archive.subjects.len(), "variant")
        );
        talk::data(&escape::terminal(&line))?;
        note_of(archive).into_iter().for_each(|note| talk::say(&note));
    }
    if imported.broken.is_empty() {
        return Ok(Code::Done);
    }
    let (broken, all) = (imported.broken.len(), counted(imported.files, "file"));
    talk::say(&format!("error: {broken} of {all} broken; everything else was imported"));
    Ok(Code::Failed)
}

/// What names of users' own files were taken for, where they may have meant something else.
fn note_of(archive: &archive::Archive) -> Option<String> {
    let own = IMPORTERS.iter().filter(|importer| importer.is_own_file);
    if !own.map(|importer| importer.name).any(|name| archive.importers.contains_key(name)) {
        return None;
    }
    match archive.subjects.as_slice() {
        [] => None,
        [only] => Some(format!(
            "note: `{only}` is the only variant; to compare it, import the files of both together, \
             as in `dbdyno import before/ after/`"
        )),
        [first, others @ ..] => {
            let base = |other: &String| archive.bases.get(other).unwrap_or(first);
            let compared: Vec<_> = others.iter().filter(|other| base(other) != *other).collect();
            let more = compared.len().saturating_sub(NAMED);
            let mut by_base: BTreeMap<&String, Vec<String>> = BTreeMap::new();
            for other in compared.into_iter().take(NAMED) {
                by_base.entry(base(other)).or_default().push(format!("`{other}`"));
            }
            if by_base.is_empty() {
                return None;
            }
            let with = |(base, others): (&&String, &Vec<String>)| {
                format!("{} will be compared with `{base}`", others.join(", "))
            };
            let listed: Vec<String> = by_base.iter().map(with).collect();
            let more = if more > 0 { format!(", and {more} more likewise") } else { String::new() };
            Some(format!(
                "note: {}{more} (`compare --base` takes another one); files that are tests or \
                 repetitions of one variant belong into a folder of that variant",
                listed.join(", ")
            ))
        }
    }
}

/// The latest import of the same archive from the same paths.
fn earlier(results: &Results, header: &ImportHeader) -> anyhow::Result<Option<String>> {
    for run in results.runs()?.into_iter().rev() {
        let known = match run.experiment == header.experiment {
            // One that is damaged is no reason to refuse another.
            true => results.import_of(&run.id).ok().flatten(),
            false => None,
        };
        if known.is_some_and(|known| known.paths == header.paths) {
            return Ok(Some(run.id));
        }
    }
    Ok(None)
}

/// The paths that an archive comes from; all of them, where that cannot be told.
fn paths_of(archive: &archive::Archive, paths: &[PathBuf]) -> Vec<String> {
    let files: BTreeSet<&str> =
        archive.values.iter().map(|value| value.source.file.as_str()).collect();
    let holds = |path: &&PathBuf| {
        let root = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        // Files are named from the imported folder on, or from the folder of an imported file.
        let name = path.file_name().or(root.file_name());
        let start = name.map(|name| format!("{}/", name.to_string_lossy()));
        let start = start.unwrap_or_default();
        files.iter().any(|file| match root.is_file() {
            true => root.ends_with(file),
            false => file.starts_with(&start),
        })
    };
    let own: Vec<&PathBuf> = paths.iter().filter(holds).collect();
    let own = if own.is_empty() { paths.iter().collect() } else { own };
    own.into_iter().map(|path| path.display().to_string()).collect()
}

/// What people wrote beside the files.
fn notes(paths: &[PathBuf]) -> anyhow::Result<Notes> {
    let mut notes = Notes::default();
    for path in paths {
        let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
        if let Some(folder) = folder {
            notes = notes.with(plan::notes_in(folder)?);
        }
    }
    Ok(notes)
}

/// What was found, what was not known, what was irregular.
fn talk_of(imported: &Imported) {
    for broken in imported.broken.iter().take(SHOWN) {
        talk::say(&format!("error: {broken}"));
    }
    if imported.broken.len() > SHOWN {
        let more = counted(imported.broken.len() - SHOWN, "more broken file");
        talk::say(&format!("error: and {more}"));
    }
    for warning in imported.warnings.iter().take(SHOWN) {
        talk::say(&format!("warning: {warning}"));
    }
    if imported.warnings.len() > SHOWN {
        let more = imported.warnings.len() - SHOWN;
        talk::say(&format!(
            "warning: and {more} more; `import.json` of each run has the first {KEPT} of its \
             archive"
        ));
    }
    talk::say(&taken(imported));
}

/// What each file was taken for: the numbers add up to that of all files.
fn taken(imported: &Imported) -> String {
    let mut taken: Vec<String> =
        imported.taken.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let notes = format!("/{}", plan::NOTES);
    let unknown: Vec<_> = imported.unknown.iter().filter(|file| !file.ends_with(&notes)).collect();
    let of_notes = imported.unknown.len() - unknown.len();
    if of_notes > 0 {
        taken.push(format!("{of_notes} of notes"));
    }
    if !unknown.is_empty() {
        let (which, most) = match unknown.len() <= NAMED {
            true => (": ", NAMED),
            false => (", such as ", 1),
        };
        let named = quoted(unknown.iter().take(most));
        taken.push(format!("{} of no known format{which}{named}", unknown.len()));
    }
    let known: u64 = imported.taken.values().sum::<u64>() + imported.unknown.len() as u64;
    let named = imported.files.saturating_sub(known);
    if named > 0 {
        taken.push(format!("{named} not read"));
    }
    format!("{}: {}", counted(imported.files, "file"), taken.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_what_has_that_base_alone() {
        let importer = IMPORTERS.iter().find(|importer| importer.is_own_file).unwrap();
        let subjects = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        let check = |own: &[&str], expected: &str| {
            let archive = archive::Archive {
                subjects: subjects.to_vec(),
                importers: [(importer.name.to_owned(), 6)].into(),
                bases: own.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect(),
                ..Default::default()
            };
            let note = note_of(&archive).unwrap();
            assert!(note.starts_with(expected), "{note}");
        };
        check(&[], "note: `b`, `c`, `d` will be compared with `a`, and 2 more likewise (");
        check(&["c", "e", "f"], "note: `b`, `d` will be compared with `a` (");
    }
}
