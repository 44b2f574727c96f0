//! From paths to archives: every file is offered to the importers.

use crate::{
    Archive, Error, Fault, FileHead, Found, Result,
    assemble::{Assembly, Told},
    content::{Content, MARK},
    correct,
    file::File,
    import as formats,
    place::Place,
};
use fs_err as fs;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

/// Folders below the imported one that are walked.
const DEPTH_MAX: usize = 32;

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Names of [`correct::CORRECTIONS`] that are applied.
    pub corrections: Vec<String>,
}

/// Everything that the paths hold.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// The archives by name.
    pub archives: Vec<Archive>,
    /// Number of files.
    pub files: u64,
    /// Files that each importer took, by its name.
    pub taken: BTreeMap<&'static str, u64>,
    /// Files of no known format, in the order of the walk.
    pub unknown: Vec<String>,
    /// What was irregular.
    pub warnings: Vec<Warning>,
}

/// What was irregular in a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Path from the imported folder on.
    pub file: String,
    /// Line from 1; 0 for the file as a whole.
    pub line: u32,
    /// One clear sentence.
    pub reason: String,
}

impl Warning {
    pub(crate) fn new(file: &str, fault: Fault) -> Self {
        Self { file: file.to_owned(), line: fault.line, reason: fault.reason }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "`{}`: {}", self.file, self.reason),
            line => write!(formatter, "`{}`:{line}: {}", self.file, self.reason),
        }
    }
}

/// Reads files and folders, which are walked.
///
/// Files of no known format are counted. A file of a known format that is broken is a warning
/// inside a folder, and an error where the path names it. Fails where nothing is of a known format.
pub fn import(paths: &[PathBuf], options: &Options) -> Result<Imported> {
    correct::check(&options.corrections)?;
    let mut walk = Walk::default();
    for path in paths {
        walk.root(path)?;
    }
    let Walk { mut imported, mut assembly, .. } = walk;
    imported.archives = assembly.archives(&options.corrections, &mut imported.warnings);
    if imported.archives.is_empty() {
        let path = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        let files = imported.files;
        let first = imported.warnings.into_iter().next();
        return Err(first.map_or(Error::NothingKnown { path, files }, broken));
    }
    Ok(imported)
}

fn broken(warning: Warning) -> Error {
    let place = match warning.line {
        0 => format!("`{}`", warning.file),
        line => format!("`{}`:{line}", warning.file),
    };
    Error::Broken { place, reason: warning.reason }
}

#[derive(Default)]
struct Walk {
    imported: Imported,
    assembly: Assembly,
    seen: BTreeSet<PathBuf>,
}

impl Walk {
    fn root(&mut self, path: &Path) -> Result<()> {
        let root = fs::canonicalize(path)?;
        if root.is_file() {
            let folder = root.parent().unwrap_or(Path::new("/")).to_owned();
            let names = BTreeSet::from([name_of(&root)]);
            if let Some(fault) = self.file(&root, &folder, &names)? {
                return Err(broken(Warning::new(&path.display().to_string(), fault)));
            }
            return Ok(());
        }
        let mut folders: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        let walk = walkdir::WalkDir::new(&root).max_depth(DEPTH_MAX).sort_by_file_name();
        let mut files = Vec::new();
        for entry in walk {
            let entry = entry.map_err(std::io::Error::from)?;
            if entry.file_type().is_file() {
                let folder = entry.path().parent().unwrap_or(&root).to_owned();
                folders.entry(folder).or_default().insert(name_of(entry.path()));
                files.push(entry.into_path());
            }
        }
        for file in files {
            let names = file.parent().and_then(|folder| folders.get(folder));
            let fault = self.file(&file, &root, names.unwrap_or(&BTreeSet::new()))?;
            if let Some(fault) = fault {
                let shown = shown(&root, &file);
                self.imported.warnings.push(Warning::new(&shown, fault));
            }
        }
        Ok(())
    }

    /// Offers a file to the importers. Gives the fault of a file that tells nothing.
    fn file(
        &mut self,
        path: &Path,
        root: &Path,
        siblings: &BTreeSet<String>,
    ) -> Result<Option<Fault>> {
        if !self.seen.insert(path.to_owned()) {
            return Ok(None);
        }
        self.imported.files += 1;
        let shown = shown(root, path);
        let full = name_of(path);
        let name = full.strip_suffix(".gz").unwrap_or(&full);
        let head = read(path, Some(FileHead::BYTES as u64));
        let start = head.start(FileHead::BYTES);
        let start = start.strip_prefix(MARK).unwrap_or(start);
        let Some(importer) = formats::find(&FileHead { name, start }) else {
            self.imported.unknown.push(shown);
            return Ok(None);
        };
        *self.imported.taken.entry(importer.name()).or_default() += 1;
        let bytes = match read(path, None).text() {
            Ok(bytes) => bytes,
            Err(fault) => return Ok(Some(fault)),
        };
        let place = place(root, path);
        let file = File { path: &shown, name, bytes: &bytes, place: &place, siblings };
        let mut found = Found::default();
        if let Err(fault) = importer.import(&file, &mut found) {
            return Ok(Some(fault));
        }
        for fault in std::mem::take(&mut found.warnings) {
            self.imported.warnings.push(Warning::new(&shown, fault));
        }
        self.assembly.add(Told { file: shown, importer: importer.name(), found });
        Ok(None)
    }
}

/// The content of a file, unpacked where its name ends in `.gz`.
fn read(path: &Path, limit: Option<u64>) -> Content {
    let packed = path.extension().is_some_and(|ending| ending == "gz");
    match (fs::File::open(path), limit) {
        (Ok(file), Some(limit)) => Content::read(file, packed, limit),
        (Ok(file), None) => Content::whole(file, packed),
        (Err(error), _) => Content::unreadable(error),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Path from the imported folder on.
fn shown(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let name = name_of(root);
    if name.is_empty() {
        below.display().to_string()
    } else {
        format!("{name}/{}", below.display())
    }
}

fn place(root: &Path, path: &Path) -> Place {
    let parts = |path: &Path| -> Vec<String> {
        let normal =
            path.components().filter(|part| matches!(part, std::path::Component::Normal(_)));
        normal.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let root = parts(root).len().saturating_sub(1);
    Place::of(&parts(path.parent().unwrap_or(path)), root)
}
