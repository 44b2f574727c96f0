//! One file after the other: offered to the importers, checked, and kept.

use crate::{
    Error, Fault, FileHead, Found, Imported, Options, Result, Warning,
    assemble::{Archives, Assembly, Told},
    content::{Content, MARK, Text},
    file::File,
    folders::Folders,
    import::{self as formats, Importer},
    names,
};
use model::number::counted;
use std::collections::{BTreeMap, BTreeSet};

/// Broken files that are named where nothing was imported, beside the first.
const LISTED: usize = 5;

/// A file that may be one of an archive.
pub(crate) struct Candidate<'a> {
    /// Path from the imported folder on.
    pub(crate) path: &'a str,
    /// The path in messages.
    pub(crate) label: &'a str,
    pub(crate) folders: Folders,
    /// Names of the files in its folder.
    pub(crate) siblings: &'a BTreeSet<String>,
    /// Whether the user named this very file, and not a folder around it.
    pub(crate) named: bool,
    /// Whether the order of the files is the user's.
    pub(crate) in_order: bool,
}

impl Candidate<'_> {
    /// File name without `.gz`.
    fn name(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        name.strip_suffix(".gz").unwrap_or(name)
    }
}

/// What was taken in so far.
#[derive(Default)]
pub(crate) struct Intake {
    imported: Imported,
    assembly: Assembly,
    /// What was said of single files, with their paths from the imported folder on.
    said: Vec<(String, Warning)>,
}

impl Intake {
    /// Takes what an importer finds in a file. A file of no known format is counted, and is broken
    /// if it was named.
    pub(crate) fn offer(
        &mut self,
        candidate: &Candidate<'_>,
        head: &Content,
        whole: impl FnOnce() -> Content,
    ) {
        self.imported.files += 1;
        let start = head.start(FileHead::BYTES);
        let start = start.strip_prefix(MARK).unwrap_or(start);
        let outcome = match formats::find(&FileHead { name: candidate.name(), start }) {
            Some(importer) => {
                *self.imported.taken.entry(importer.name).or_default() += 1;
                self.take(candidate, importer, whole())
            }
            None if candidate.named => {
                whole().text().and_then(|text| Err(text.damage.unwrap_or_else(unknown)))
            }
            None => {
                self.imported.unknown.push(candidate.path.to_owned());
                Ok(())
            }
        };
        if let Err(fault) = outcome {
            self.failed(candidate.path, candidate.label, fault);
        }
    }

    /// Keeps that something could not be read; `label` is its path in messages.
    pub(crate) fn failed(&mut self, path: &str, label: &str, fault: Fault) {
        let warning = Warning::new(label, fault);
        self.said.push((path.to_owned(), warning.clone()));
        self.imported.broken.push(warning);
    }

    /// Keeps what a file tells. A fault means that it is broken: it tells nothing, or is damaged or
    /// ends within a line and tells what is before that.
    fn take(
        &mut self,
        candidate: &Candidate<'_>,
        importer: &Importer,
        content: Content,
    ) -> std::result::Result<(), Fault> {
        let Text { bytes, damage } = content.text()?;
        let file = File {
            path: candidate.path,
            name: candidate.name(),
            bytes: &bytes,
            folders: &candidate.folders,
            siblings: candidate.siblings,
        };
        let mut found = Found::default();
        if let Err(fault) = (importer.import)(&file, &mut found) {
            return Err(damage.unwrap_or_else(|| at_a_line(fault, &file)));
        }
        names::check(&mut found);
        let cut = match damage {
            None if !importer.ends_anywhere => cut(&file, &mut found),
            damage => damage,
        };
        let faults = std::mem::take(&mut found.warnings);
        if found.values.is_empty() {
            let none = || at_a_line(Fault::new(0, "no line holds a value"), &file);
            let fault = cut.or(faults.into_iter().next());
            let fault = fault.or_else(|| (!found.is_told_elsewhere).then(none));
            return fault.map_or(Ok(()), Err);
        }
        for fault in faults {
            let warning = Warning::new(candidate.path, fault);
            self.said.push((candidate.path.to_owned(), warning.clone()));
            self.imported.warnings.push(warning);
        }
        let importer = importer.name;
        let (file, in_order) = (candidate.path.to_owned(), candidate.in_order);
        self.assembly.add(Told { file, importer, found, in_order });
        cut.map_or(Ok(()), Err)
    }

    /// The archives. Fails where there is none; `path` is what was asked for.
    pub(crate) fn finish(self, path: String, options: &Options) -> Result<Imported> {
        let Self { mut imported, assembly, said } = self;
        let Archives { all, owners } = assembly.archives(&options.corrections);
        imported.archives = all;
        for archive in &imported.archives {
            imported.warnings.extend(archive.warnings.iter().cloned());
        }
        let mut known: BTreeMap<String, Option<&str>> = BTreeMap::new();
        for (path, warning) in said {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            let own = owners.get(&path).map(String::as_str);
            let owner =
                own.or_else(|| *known.entry(folder).or_insert_with_key(|f| near(&owners, f)));
            let own = imported.archives.iter_mut().find(|a| owner == Some(a.experiment.as_str()));
            if let Some(archive) = own {
                archive.warnings.push(warning);
            }
        }
        if !imported.archives.is_empty() {
            return Ok(imported);
        }
        let Imported { files, broken, warnings, .. } = imported;
        let others: Vec<String> =
            broken.iter().skip(1).map(|other| format!("`{}`", other.file)).collect();
        let Some(first) = broken.into_iter().chain(warnings).next() else {
            return Err(match files {
                0 => Error::NoFiles { path },
                _ => Error::NothingKnown { path, files },
            });
        };
        let place = match first.line {
            0 => format!("`{}`", first.file),
            line => format!("`{}`:{line}", first.file),
        };
        let shown = others.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        let reason = match others.len() {
            0 => first.reason,
            count if count <= LISTED => format!("{}; also broken: {shown}", first.reason),
            count => {
                let more = counted(count - LISTED, "more file");
                format!("{}; also broken: {shown} and {more}", first.reason)
            }
        };
        Err(Error::Broken { place, reason })
    }
}

/// The archive of a file in `folder` that told nothing: that of the files with which it shares most
/// folders. `None` where several archives are equally near and none of them has its folder for a
/// name.
fn near<'a>(owners: &'a BTreeMap<String, String>, folder: &str) -> Option<&'a str> {
    let shared =
        |file: &str| folder.split('/').zip(file.split('/')).take_while(|(a, b)| a == b).count();
    let nearest = owners.keys().map(|file| shared(file)).max().filter(|count| *count > 0)?;
    let near = owners.iter().filter(|(file, _)| shared(file) == nearest);
    let near: BTreeSet<&str> = near.map(|(_, experiment)| experiment.as_str()).collect();
    match near.len() {
        1 => near.first().copied(),
        _ => near.get(folder).copied(),
    }
}

/// What is missing in a file as a whole, or behind its end, is missed at its end.
fn at_a_line(fault: Fault, file: &File<'_>) -> Fault {
    let last = file.lines().last().map_or(1, |line| line.number);
    let line = if fault.line == 0 { last } else { fault.line.min(last) };
    Fault { line, ..fault }
}

fn unknown() -> Fault {
    let reason = "the file is of no known format, or its beginning is missing (see `dbdyno list \
                  importers`)";
    Fault::new(1, reason)
}

/// A last line without an end may be cut within a number or a name, which then is another one: what
/// it tells is left out. A closing bracket is the end of a line.
fn cut(file: &File<'_>, found: &mut Found) -> Option<Fault> {
    if file.bytes.ends_with(b"\n") || file.bytes.ends_with(b")") {
        return None;
    }
    let line = file.lines().last()?;
    found.values.retain(|value| value.line != line.number);
    found.warnings.retain(|fault| fault.line != line.number);
    let known: BTreeSet<&String> = found.values.iter().map(|value| &value.cell.subject).collect();
    found.subjects.retain(|subject| known.contains(subject));
    let reason = "the file ends within this line, which is left out, and so may be what followed; \
                  if the line is whole, end it with a line break";
    Some(Fault::new(line.number, reason))
}
