//! What the tests of this folder share.

use archive::{Archive, ExportOptions, Input, Study, export};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A sample of the folder `data`.
pub(crate) fn data(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read(folder.join(name)).unwrap()
}

/// The same as text.
pub(crate) fn text_of(name: &str) -> String {
    String::from_utf8(data(name)).unwrap()
}

/// Published data, which are beside the repository or nowhere: then a line says that.
pub(crate) fn published(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if !path.exists() {
        println!("skipped: `{}` is not there", path.display());
        return None;
    }
    Some(path)
}

/// What was imported as what is exported.
pub(crate) fn study(archive: &Archive) -> Study {
    Study {
        experiment: archive.experiment.clone(),
        subjects: archive.subjects.clone(),
        values: archive.values.clone(),
        ..Study::default()
    }
}

/// The files of an export by path.
pub(crate) fn exported(
    format: &str,
    studies: Vec<Study>,
    options: &ExportOptions,
) -> BTreeMap<String, String> {
    let files = (export::find(format).unwrap().export)(&Input { studies }, options).unwrap();
    files.into_iter().map(|file| (file.path, String::from_utf8(file.bytes).unwrap())).collect()
}
