//! `dbdyno export`: files that other tools read.

use super::Verb;
use crate::{
    args::{ChoiceArgs, ResultsArgs, RunArgs},
    choice::{self, Choice},
    comparison,
    exit::Code,
    inputs,
    noise::BankChoice,
    outputs, pooled, talk,
};
use archive::{
    ExportOptions, Input, Study,
    export::{self, EXPORTERS},
};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use model::{
    escape,
    imported::{ImportedValue, Source},
    number::counted,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};
use store::{Results, Stored, StoredSlice};

pub(super) const VERB: Verb = Verb {
    name: "export",
    about: "Writes results in the file formats of other tools",
    details: "Exit code 1 if a set rate was missed; the files are written all the same.",
    examples: &[
        ("dbdyno export --format csv --out files", "One CSV file"),
        (
            "dbdyno export --format mytools --out files --variant my5624,my974 --tag sep26",
            "Files such as qps.rel.sep26.tsv, relative to the first variant",
        ),
    ],
    arguments,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    runs: RunArgs,
    /// File format
    #[arg(long, value_name = "FORMAT", value_parser = names())]
    format: String,
    /// Folder for the files; created if missing, existing files are replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    results: ResultsArgs,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Tag in the file names
    #[arg(long, value_name = "NAME", default_value = "all", value_parser = tag)]
    tag: String,
    /// File with one variant per line; a line `-` starts a new group
    #[arg(long, value_name = "FILE", conflicts_with = "variant")]
    groups: Option<PathBuf>,
    /// Also write the ratios of steps that missed their set rate, as published files do, instead of
    /// `NA`
    #[arg(long)]
    as_published: bool,
}

fn names() -> Vec<&'static str> {
    EXPORTERS.iter().map(|exporter| exporter.name).collect()
}

/// A tag is a part of file names.
fn tag(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("use letters, digits, `.`, `_` and `-`".to_owned()),
    }
}

fn arguments(command: Command) -> Command {
    let formats: Vec<String> =
        EXPORTERS.iter().map(|e| format!("  {:8}  {}", e.name, e.help)).collect();
    Arguments::augment_args(command)
        .mut_arg("format", |format| {
            format.long_help(format!("File format:\n{}", formats.join("\n")))
        })
        .mut_arg("variant", |variant| {
            variant.help(
                "Write these variants in this order; the first is the base; `*` and `?` are \
                 wildcards. Without it, all variants, the base first",
            )
        })
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let results = Results::open(&arguments.results.results)?.snapshot();
    let selection = arguments.runs.selection(&results)?;
    let choice = Choice::from(arguments.choice);
    let mut stored = results.slices(&selection)?;
    comparison::chosen_archives(&mut stored, &choice)?;
    let left_out = pooled::leave_out_unreadable(&results, &selection, &mut stored)?;
    for warning in stored.warnings.iter().chain(&left_out) {
        talk::say(&format!("warning: {warning}"));
    }
    let studies = studies(&results, stored)?;
    if export::find(&arguments.format).is_some_and(|exporter| !exporter.keeps_runs) {
        studies.iter().filter_map(joined).for_each(|said| talk::say(&format!("warning: {said}")));
    }
    let known: BTreeSet<&String> = studies.iter().flat_map(|study| &study.subjects).collect();
    let known: Vec<String> = known.into_iter().cloned().collect();
    let groups = match &arguments.groups {
        Some(file) => groups_of(file)?,
        None => Vec::new(),
    };
    let of_group = |group: Vec<String>| choice::matching(("variant", "--groups"), &group, &known);
    let groups = groups.into_iter().map(of_group).collect::<anyhow::Result<_>>()?;
    let options = ExportOptions {
        variants: if choice.has_variants() { choice.variants(&known)? } else { Vec::new() },
        groups,
        tag: arguments.tag,
        as_published: arguments.as_published,
    };
    let input = archive::with_variants(Input { studies }, &options)?;
    let missed = has_missed(&input, &options)?;
    if arguments.out.exists() && !arguments.out.is_dir() {
        return Err(store::Error::NotAFolder { path: arguments.out }.into());
    }
    let mut paths = Vec::new();
    for exporter in EXPORTERS.iter().filter(|e| e.name == arguments.format) {
        for file in (exporter.export)(&input, &options)? {
            let path = arguments.out.join(&file.path);
            if let Some(folder) = path.parent() {
                outputs::create_folder(folder)?;
            }
            outputs::write(&path, &file.bytes)?;
            paths.push(escape::terminal(&path.display().to_string()));
        }
    }
    talk::data(&paths.join("\n"))?;
    Ok(if missed { Code::Missed } else { Code::Done })
}

/// That the values of several runs become one, where there are several.
fn joined(study: &Study) -> Option<String> {
    let runs: BTreeSet<&str> =
        study.values.iter().map(|value| value.measurement.run.as_str()).collect();
    (runs.len() > 1).then(|| {
        format!(
            "values of {} of `{}` become their mean, whatever their builds and hosts are: name a \
             run to write it alone",
            counted(runs.len(), "run"),
            study.experiment
        )
    })
}

/// The groups of a file. Fails where it names nothing: all variants would be written.
fn groups_of(file: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    let groups = archive::groups(&inputs::text("--groups", file)?);
    anyhow::ensure!(
        !groups.is_empty(),
        "`--groups`: `{}` names no variant: write one per line",
        file.display()
    );
    Ok(groups)
}

/// Whether any variant that is written missed a set rate.
fn has_missed(input: &Input, options: &ExportOptions) -> archive::Result<bool> {
    for study in &input.studies {
        let written = archive::written(study, options)?;
        let mut values = study.values.iter().filter(|value| value.measurement.has_missed());
        if values.any(|value| written.contains(&value.measurement.subject.as_str())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The values of each experiment.
fn studies(results: &Results, stored: Stored) -> anyhow::Result<Vec<Study>> {
    let mut studies: BTreeMap<String, Study> = BTreeMap::new();
    for slices in comparison::by_run(&stored.slices) {
        measured(results, slices, &mut studies)?;
    }
    for values in comparison::by_import(&stored.imported) {
        imported(results, values, &mut studies)?;
    }
    anyhow::ensure!(
        !studies.is_empty(),
        "no results are in `{}`: run an experiment or import an archive first",
        results.dir().display()
    );
    Ok(studies.into_values().collect())
}

/// The study of an experiment with these subjects.
fn study<'a>(
    studies: &'a mut BTreeMap<String, Study>,
    experiment: &str,
    subjects: impl Iterator<Item = String>,
) -> &'a mut Study {
    let study = studies.entry(experiment.to_owned()).or_default();
    study.experiment = experiment.to_owned();
    for subject in subjects {
        if !study.subjects.contains(&subject) {
            study.subjects.push(subject);
        }
    }
    study
}

fn measured(
    results: &Results,
    slices: &[StoredSlice],
    studies: &mut BTreeMap<String, Study>,
) -> anyhow::Result<()> {
    let Some(first) = slices.first() else { return Ok(()) };
    let (design, observations) =
        comparison::observed(results, &first.run, slices, &BankChoice::None)?;
    let labels = design.subjects.iter().map(|(label, _)| label.clone());
    let study = study(studies, &first.experiment, labels);
    let run = results.runs()?.into_iter().find(|info| info.id == first.run);
    study.started_us.extend(run.map(|info| (info.id, info.started_us)));
    for trial in results.trials(&first.run)? {
        study.cpus.insert(trial.header.subject, trial.environment.cpus);
    }
    let records = slices.iter().map(|stored| &stored.slice);
    let rates = analysis::client_rates(records, &|phase| design.facts(phase));
    for (cell, rates) in rates {
        study.client_rates.entry(cell).or_default().extend(rates);
    }
    let value =
        |measurement| ImportedValue { measurement, text: String::new(), source: Source::default() };
    for failure in observations.failed_cells() {
        let (subject, phase) = (&failure.at.subject, &failure.at.phase);
        talk::say(&format!("failed: {subject} {phase}, left out: {}", failure.line()));
    }
    let unjudged = observations.unjudged().count();
    if unjudged > 0 {
        let (tests, run) = (counted(unjudged, "test"), &first.run);
        talk::say(&format!(
            "warning: rates and times of {tests} of run {run} are not judged, because the host \
             was disturbed, and are written all the same: `dbdyno compare {run}` names them"
        ));
    }
    study.values.extend(observations.sound_measurements().into_iter().map(value));
    Ok(())
}

fn imported(
    results: &Results,
    values: &[ImportedValue],
    studies: &mut BTreeMap<String, Study>,
) -> anyhow::Result<()> {
    let Some(first) = values.first() else { return Ok(()) };
    let header = results.import_of(&first.measurement.run)?.unwrap_or_default();
    let study = study(studies, &first.measurement.experiment, header.subjects.into_iter());
    for value in values {
        let m = &value.measurement;
        if m.metric == "host_cpus" {
            study.cpus.insert(m.subject.to_string(), m.value as u32);
        }
    }
    study.values.extend_from_slice(values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_become_one_are_told() {
        let said = |runs: &[&str]| {
            let value = |run: &&str| {
                let mut value = ImportedValue::default();
                value.measurement.run = (*run).into();
                value
            };
            let values = runs.iter().map(value).collect();
            joined(&Study { experiment: "nightly".to_owned(), values, ..Study::default() })
        };
        assert_eq!(said(&["1", "1"]), None);
        let told = said(&["1", "2", "1"]).unwrap();
        assert!(told.starts_with("values of 2 runs of `nightly` become their mean"), "{told}");
    }

    #[test]
    fn a_file_without_variants_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("groups.txt");
        fs_err::write(&file, "# none\n-\n").unwrap();
        let refused = groups_of(&file).unwrap_err().to_string();
        assert!(refused.ends_with("groups.txt` names no variant: write one per line"), "{refused}");
        // With the mark of editors that write UTF-8 for Windows.
        fs_err::write(&file, "\u{feff}a\r\n-\r\nb\r\n").unwrap();
        assert_eq!(groups_of(&file).unwrap(), [["a"], ["b"]]);
    }
}
