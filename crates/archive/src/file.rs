//! A file of an archive, as importers see it.

use crate::{
    Cell, Fault,
    folders::Folders,
    number::{self, dop},
    tag::Tag,
};
use std::{borrow::Cow, collections::BTreeSet};

/// The beginning of a file, by which importers know their own.
#[derive(Debug, Clone, Copy)]
pub struct FileHead<'a> {
    /// File name, without folder and without `.gz`.
    pub name: &'a str,
    /// The first bytes, at most [`FileHead::BYTES`].
    pub start: &'a [u8],
}

/// A whole file.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Path from the imported folder on, which is its first part.
    pub path: &'a str,
    /// File name, without folder and without `.gz`.
    pub name: &'a str,
    /// The content, uncompressed: UTF-8 without zero bytes.
    pub bytes: &'a [u8],
    pub(crate) folders: &'a Folders,
    pub(crate) siblings: &'a BTreeSet<String>,
}

/// Why a file of the Insert Benchmark is left out.
pub(crate) const NO_PHASE: &str = "its folder is not that of a phase, such as `RUN/qr100.L1`";

/// A line of a file.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// From 1.
    pub number: u32,
    /// The text without line end. Bytes that are no UTF-8 are replaced: only beginnings of files,
    /// by which formats are known, can hold any.
    pub text: Cow<'a, str>,
}

impl<'a> FileHead<'a> {
    /// How much of a file importers see before they take it.
    pub const BYTES: usize = 4096;

    /// The lines of the beginning; the last one may be cut.
    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        lines(self.start)
    }

    /// Whether the beginning holds `text`.
    pub fn holds(&self, text: &str) -> bool {
        self.start.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

impl<'a> File<'a> {
    /// A file of its own, in an imported folder `folder`: for tests and fuzzing.
    pub fn alone(path: &'a str, bytes: &'a [u8], scene: &'a Scene) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self { path, name, bytes, folders: &scene.folders, siblings: &scene.siblings }
    }

    /// Its lines.
    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        lines(self.bytes)
    }

    /// Fails at the first line that holds one of `words`, by which runs say that they failed: what
    /// they measured until then is not the test.
    pub(crate) fn is_of_no_failed_run(&self, words: &[&str]) -> Result<(), Fault> {
        let failed = |line: &Line<'_>| words.iter().any(|word| line.text.contains(word));
        let Some(line) = self.lines().find(failed) else { return Ok(()) };
        let shown = number::excerpt(&line.text);
        let reason = format!("the run failed: `{shown}`; repeat it, or remove it from the file");
        Err(Fault::new(line.number, reason))
    }

    /// The cell of a file that belongs to one subject and one step: both come from the file's
    /// name and folder.
    pub fn cell(&self) -> Cell {
        self.folders.cell(self.name)
    }

    /// The cell of a file that has no place in a known archive: in a folder of its own the folder
    /// is the subject and the file's name is the phase; otherwise the name is the subject and
    /// `kind`, which the file itself tells, is the phase. In the folder of a phase of the Insert
    /// Benchmark it belongs to that phase.
    pub fn loose_cell(&self, kind: &str) -> Cell {
        self.folders.loose_cell(self.name, kind)
    }

    /// The same for a capture. Those of the Insert Benchmark, such as `o.vm` and `o.io.dop4`, fail
    /// outside the folder of a phase: nothing tells what they are of.
    pub fn capture_cell(&self, kind: &str) -> Result<Cell, Fault> {
        let mut parts = self.name.split('.');
        let published = parts.next() == Some("o")
            && matches!(parts.next(), Some("vm" | "io" | "ps"))
            && parts.all(|part| dop(part).is_some());
        if published && self.folders.phase_cell().is_none() {
            return Err(Fault::new(1, NO_PHASE));
        }
        let mut cell = self.loose_cell(kind);
        if published {
            let clients = self.name.rsplit('.').next().and_then(dop);
            cell.clients = clients.or(cell.clients);
        }
        Ok(cell)
    }

    /// A cell of a file that sums up several subjects. The number of clients is that of the file's
    /// tag, else that of its folder.
    pub fn summary_cell(&self, subject: &str) -> Cell {
        let mut cell = self.folders.summary_cell(subject);
        if let Some(clients) = Tag::of(self.name).and_then(|tag| tag.clients) {
            (cell.clients, cell.table_clients) = (Some(clients), Some(clients));
        }
        cell
    }

    /// Whether the published averages of the same step, an `sb.met` file, lie beside this capture.
    pub fn has_averages(&self) -> bool {
        let averages = [".vm.", ".io."].iter().map(|kind| self.name.replacen(kind, ".met.", 1));
        averages.into_iter().any(|name| name != self.name && self.has_sibling(&name))
    }

    /// Whether the folder of this file holds a file of this name, packed or not.
    pub fn has_sibling(&self, name: &str) -> bool {
        self.siblings.contains(name) || self.siblings.contains(&format!("{name}.gz"))
    }
}

/// Where a file lies: see [`File::alone`].
#[derive(Debug, Clone, Default)]
pub struct Scene {
    folders: Folders,
    siblings: BTreeSet<String>,
}

impl Scene {
    /// The folder `path`, whose first part is the imported folder, with these files in it.
    pub fn new(path: &str, siblings: &[&str]) -> Self {
        let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        let siblings = siblings.iter().map(|name| (*name).to_owned()).collect();
        Self { folders: Folders::of(&parts, 0), siblings }
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let end = if bytes.ends_with(b"\n") { bytes.len() - 1 } else { bytes.len() };
    // An empty file has no line, not an empty one.
    let count = if bytes.is_empty() { 0 } else { usize::MAX };
    let lines = bytes[..end].split(|byte| *byte == b'\n').take(count).zip(1_u32..);
    lines.map(|(line, number)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Line { number, text: String::from_utf8_lossy(line) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_siblings_count() {
        let scene = Scene::new("a/x", &["sb.met.scan.range100.pk1.gz", "b"]);
        let file = File::alone("a/x/sb.vm.scan.range100.pk1", b"", &scene);
        assert!(file.has_averages() && file.has_sibling("b") && !file.has_sibling("c"));
    }
}
