//! From paths to archives: every file is offered to the importers.

use crate::{
    Archive, Error, Fault, FileHead, Result,
    content::{Content, Packing},
    correct,
    folders::Folders,
    intake::{Candidate, Intake},
    phase, repetition, step,
    tag::Tag,
};
use fs_err as fs;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
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
    /// What was irregular: rows that were left out, and the like.
    pub warnings: Vec<Warning>,
    /// Files of a known format that are broken or cut, and files of no known format that were named
    /// themselves.
    pub broken: Vec<Warning>,
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
/// Files of no known format in a folder are counted and left alone. A file of a known format that
/// is broken, and a file of no known format that the paths name, is among the broken ones; all
/// others are imported, and so is a path that is not there, where there are others. Fails where no
/// value could be read.
pub fn import(paths: &[PathBuf], options: &Options) -> Result<Imported> {
    correct::check(&options.corrections)?;
    let (there, missing): (Vec<&PathBuf>, Vec<&PathBuf>) =
        paths.iter().partition(|path| found(path).is_ok());
    let common = common(&there);
    let flat = if common.is_none() { scattered(&there) } else { None };
    let tells = common.is_some() || flat.is_some();
    let above = if tells { None } else { namesakes(&there) };
    let alike = above.as_deref().and_then(|above| alike(&there, above));
    let mut walk = Walk { common, flat, above, ..Walk::default() };
    if let Some(alike) = alike {
        (walk.common, walk.alike) = (walk.above.take(), alike);
    }
    let named = walk.named(&there)?;
    for path in there {
        walk.root(path, &named)?;
    }
    for path in missing {
        match found(path) {
            Err(Error::Unreadable { path, reason, .. }) if paths.len() > 1 => {
                walk.intake.failed(&path, &path, Fault::new(0, reason));
            }
            other => drop(other?),
        }
    }
    let path = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
    walk.intake.finish(path, options)
}

/// The real path of a file or folder that the user named; a link keeps its own name. Errors: there
/// is none, or it cannot be reached.
fn found(path: &Path) -> Result<PathBuf> {
    let real = std::fs::canonicalize(path).map_err(|error| {
        let path = path.display().to_string();
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        Error::Unreadable { path, reason }
    })?;
    let (Some(name), Some(above)) = (path.file_name(), path.parent()) else { return Ok(real) };
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    Ok(std::fs::canonicalize(above).map_or(real, |above| above.join(name)))
}

/// The folder above the folders of files, where these are neighbors: `before/read.txt` and
/// `after/read.txt` are two variants of one archive, and so are the folders `before` and `after` of
/// such files.
fn common(paths: &[&PathBuf]) -> Option<PathBuf> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let path = found(path).ok()?;
        let folder = if path.is_file() { path.parent()? } else { &path };
        if path.is_dir() && !holds_loose_files(&path) {
            return None;
        }
        folders.insert(folder.to_owned());
    }
    let above: BTreeSet<&Path> = folders.iter().filter_map(|folder| folder.parent()).collect();
    let is_one = folders.len() > 1 && above.len() == 1;
    above.first().filter(|_| is_one).map(|folder| folder.to_path_buf())
}

/// The name of an archive of files in several folders that are no neighbors, such as `old.txt` and
/// `more/new.txt`: that of the folder above all. Each file is a variant. None where any path is a
/// folder or of a published archive, where all are in one folder, or where names are not unique.
fn scattered(paths: &[&PathBuf]) -> Option<String> {
    let (mut folders, mut names) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        let path = found(path).ok().filter(|path| path.is_file())?;
        folders.insert(path.parent()?.to_owned());
        if is_published(&name_of(&path)) || !names.insert(name_of(&path)) {
            return None;
        }
    }
    let above = above(&folders)?;
    (folders.len() > 1).then(|| name_of(&above)).map(archive_name)
}

/// The folder above all, where several have the name that archives would have: `old/results` and
/// `new/results` are two.
fn namesakes(paths: &[&PathBuf]) -> Option<PathBuf> {
    let folder = |path: &&PathBuf| {
        let mut folder = found(path).ok()?;
        while (folder.is_file() || phase::is_inner(&name_of(&folder))) && folder.pop() {}
        Some(folder)
    };
    let folders: BTreeSet<PathBuf> = paths.iter().filter_map(folder).collect();
    let names: BTreeSet<String> = folders.iter().map(|folder| name_of(folder)).collect();
    above(&folders).filter(|_| names.len() < folders.len())
}

/// How many folders below those of the variants have the same names in all paths: the `results` of
/// `old/results` and `new/results` tells nothing, and `old` and `new` are two variants of one
/// archive. None where the names differ, or where any name tells clients, a phase or a repetition.
fn alike(paths: &[&PathBuf], above: &Path) -> Option<usize> {
    let mut ends = BTreeSet::new();
    for path in paths {
        let path = found(path).ok()?;
        let folder = if path.is_file() { path.parent()? } else { &path };
        let below = folder.strip_prefix(above).ok()?;
        let names: Vec<String> =
            below.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let (variant, end) = names.split_first()?;
        let tells = repetition::of_folder(variant).is_some()
            || names.iter().any(|name| phase::is_inner(name));
        if tells || !holds_loose_files(folder) {
            return None;
        }
        ends.insert(end.to_vec());
    }
    ends.first().filter(|_| ends.len() == 1).map(Vec::len)
}

/// The folder that all are in.
fn above(folders: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    folders.iter().cloned().reduce(|above, folder| {
        let shared = above.components().zip(folder.components());
        shared.take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    })
}

/// Whether a file has a name of a published archive.
fn is_published(name: &str) -> bool {
    Tag::of(unpacked(name)).is_some() || step::of_file(unpacked(name)).is_some()
}

/// Whether a folder holds files whose names are those of no published archive, or folders that hold
/// one repetition of such files each.
fn holds_loose_files(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let (files, others): (Vec<_>, Vec<_>) = entries.partition(|entry| entry.path().is_file());
    if !files.is_empty() {
        return !files.iter().any(|file| is_published(&name_of(&file.path())));
    }
    let folders = others.iter().filter(|other| other.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut repetitions = folders
        .map(fs::DirEntry::path)
        .filter(|folder| repetition::of_folder(&name_of(folder)).is_some());
    repetitions.any(|folder| holds_loose_files(&folder))
}

#[derive(Default)]
struct Walk {
    intake: Intake,
    seen: BTreeSet<PathBuf>,
    /// Of files that the user named one by one.
    common: Option<PathBuf>,
    /// How many folders below those of its variants tell nothing.
    alike: usize,
    /// The name of their archive, where their folders tell nothing.
    flat: Option<String>,
    /// Where the names of archives begin, where they would be equal.
    above: Option<PathBuf>,
}

impl Walk {
    /// Names of the files that are read because the user named them, by folder: with each summary
    /// the others of the same tag.
    fn named(&self, paths: &[&PathBuf]) -> Result<BTreeMap<PathBuf, BTreeSet<String>>> {
        let mut named: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for path in paths {
            let path = found(path)?;
            let Some(folder) = path.parent().filter(|_| path.is_file()) else { continue };
            let names = named.entry(folder.to_owned()).or_default();
            names.insert(name_of(&path));
            let Some(tag) = Tag::of(unpacked(&name_of(&path))) else { continue };
            for entry in fs::read_dir(folder)?.flatten() {
                let name = name_of(&entry.path());
                let same = Tag::of(unpacked(&name)).is_some_and(|other| other == tag);
                if same && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                    names.insert(name);
                }
            }
        }
        Ok(named)
    }

    fn root(&mut self, path: &Path, named: &BTreeMap<PathBuf, BTreeSet<String>>) -> Result<()> {
        let root = found(path)?;
        if root.is_file() {
            let folder = root.parent().unwrap_or(Path::new("/")).to_owned();
            let none = BTreeSet::new();
            let names = named.get(&folder).unwrap_or(&none);
            let above = self.above(&folder);
            self.file(&root, &above, names, Some(&path.display().to_string()));
            let tag = Tag::of(unpacked(&name_of(&root)));
            let same = |name: &&String| tag.is_some() && Tag::of(unpacked(name)) == tag;
            for name in names.iter().filter(same) {
                self.file(&folder.join(name), &above, names, None);
            }
            return Ok(());
        }
        let above = self.above(&root);
        let mut folders: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        let walk = walkdir::WalkDir::new(&root).max_depth(DEPTH_MAX).sort_by_file_name();
        let mut files = Vec::new();
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let label = shown(&root, error.path().unwrap_or(&root));
                    let reason = format!("the folder cannot be read: {}", io::Error::from(error));
                    self.intake.failed(&label, &label, Fault::new(0, reason));
                    continue;
                }
            };
            if entry.file_type().is_file() {
                let folder = entry.path().parent().unwrap_or(&root).to_owned();
                folders.entry(folder).or_default().insert(name_of(entry.path()));
                files.push(entry.into_path());
            }
        }
        for file in files {
            let names = file.parent().and_then(|folder| folders.get(folder));
            self.file(&file, &above, names.unwrap_or(&BTreeSet::new()), None);
        }
        Ok(())
    }

    /// The folder with which the name of an archive begins; `own` is the one that was named.
    fn above(&self, own: &Path) -> PathBuf {
        let above = self.common.as_deref().or(self.above.as_deref());
        above.unwrap_or(own).to_owned()
    }

    /// Offers a file; `named` is its path as the user wrote it, if the user did.
    fn file(&mut self, path: &Path, root: &Path, siblings: &BTreeSet<String>, named: Option<&str>) {
        if !self.seen.insert(path.to_owned()) {
            return;
        }
        let shown = shown(root, path);
        let candidate = Candidate {
            path: &shown,
            label: named.unwrap_or(&shown),
            folders: match &self.flat {
                Some(name) => Folders::of(std::slice::from_ref(name), 0),
                None => folders(root, path, self.alike),
            },
            siblings,
            named: named.is_some(),
            in_order: named.is_some() || self.common.is_some(),
        };
        let head = read(path, Some(FileHead::BYTES as u64));
        self.intake.offer(&candidate, &head, || {
            let below = path.strip_prefix(root.parent().unwrap_or(root)).unwrap_or(path);
            match below.to_str() {
                Some(_) => read(path, None),
                // Two names could become one.
                None => Content::unreadable(io::Error::other("its path is not UTF-8; rename it")),
            }
        });
    }
}

/// The content of a file, unpacked where its name ends in `.gz`.
fn read(path: &Path, limit: Option<u64>) -> Content {
    let packing = Packing::of(&name_of(path));
    match (fs::File::open(path), limit) {
        (Ok(file), Some(limit)) => Content::read(file, packing, limit),
        (Ok(file), None) => Content::whole(file, packing),
        (Err(error), _) => Content::unreadable(error),
    }
}

/// A file name without `.gz`.
fn unpacked(name: &str) -> &str {
    name.strip_suffix(".gz").unwrap_or(name)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The name of the archive of a folder with this name: `/` has none.
fn archive_name(folder: String) -> String {
    if folder.is_empty() { "imported".to_owned() } else { folder }
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

/// The folders above a file, without so many below that of its variant.
fn folders(root: &Path, path: &Path, alike: usize) -> Folders {
    let parts = |path: &Path| -> Vec<String> {
        let normal =
            path.components().filter(|part| matches!(part, std::path::Component::Normal(_)));
        normal.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let mut folders = parts(path.parent().unwrap_or(path));
    if name_of(root).is_empty() {
        folders.insert(0, archive_name(String::new()));
    }
    let root = parts(root).len().saturating_sub(1);
    let end = folders.len();
    folders.drain((root + 2).min(end)..(root + 2 + alike).min(end));
    Folders::of(&folders, root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_root_and_of_one_name_are_variants() {
        let check = |root: &str, path: &str, alike: usize, expected: [&str; 3]| {
            let cell = folders(Path::new(root), Path::new(path), alike).loose_cell("r.txt", "kind");
            assert_eq!([&*cell.experiment, &*cell.subject, &*cell.phase], expected, "{path}");
        };
        check("/", "/r.txt", 0, ["imported", "r", "kind"]);
        check("/", "/new/r.txt", 0, ["imported", "new", "r"]);
        check("/", "/new/results/r.txt", 1, ["imported", "new", "r"]);
        check("/a/x", "/a/x/new/r.txt", 0, ["x", "new", "r"]);
        check("/a/x", "/a/x/new/deep/results/r.txt", 2, ["x", "new", "r"]);
        check("/a/x", "/a/x/new/results/run2/r.txt", 1, ["x", "new", "r"]);
    }
}
