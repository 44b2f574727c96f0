//! Files that are in memory, as if they lay in a folder.

use crate::{
    FileHead, Imported, Options, Result,
    content::{Content, Packing},
    correct,
    folders::Folders,
    intake::{Candidate, Intake},
};
use std::collections::{BTreeMap, BTreeSet};

/// Reads files from memory, each with its path, whose first part is the folder that is imported.
/// They go the way of [`crate::import`], in their order. Fails as that does.
pub fn import_bytes(files: &[(&str, &[u8])], options: &Options) -> Result<Imported> {
    correct::check(&options.corrections)?;
    let mut folders: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let split = |path: &'_ str| path.rfind('/').unwrap_or(0);
    for (path, _) in files {
        let (folder, name) = path.split_at(split(path));
        folders.entry(folder).or_default().insert(name.trim_start_matches('/').to_owned());
    }
    let mut intake = Intake::default();
    let none = BTreeSet::new();
    for (path, bytes) in files {
        let folder = &path[..split(path)];
        let parts: Vec<String> = folder.split('/').map(str::to_owned).collect();
        let candidate = Candidate {
            path,
            label: path,
            folders: Folders::of(&parts, 0),
            siblings: folders.get(folder).unwrap_or(&none),
            named: false,
            in_order: false,
        };
        let packing = Packing::of(path);
        let head = Content::read(*bytes, packing, FileHead::BYTES as u64);
        intake.offer(&candidate, &head, || Content::whole(*bytes, packing));
    }
    let first = files.first().and_then(|(path, _)| path.split('/').next());
    intake.finish(first.unwrap_or_default().to_owned(), options)
}
