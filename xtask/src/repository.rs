//! The files of this repository.

use anyhow::Context;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// One file.
pub(crate) struct File {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Empty where the file is not text.
    pub(crate) text: String,
}

/// All files that are, or would be, in version control.
pub(crate) struct Repository {
    root: PathBuf,
    files: Vec<File>,
}

impl Repository {
    /// The repository that this program was built from.
    pub(crate) fn open() -> anyhow::Result<Self> {
        let root = root();
        let mut files = Vec::new();
        for path in listed(&root).unwrap_or_else(|| walked(&root)) {
            let full = root.join(&path);
            // Files that were removed are listed until that is committed.
            let Ok(about) = fs_err::metadata(&full) else { continue };
            let text = fs_err::read(&full).map(|bytes| String::from_utf8(bytes).ok())?;
            files.push(File { path, bytes: about.len(), text: text.unwrap_or_default() });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        anyhow::ensure!(!files.is_empty(), "`{}` has no files to check", root.display());
        Ok(Self { root, files })
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            bytes: text.len() as u64,
            text: (*text).to_owned(),
        };
        Self { root: root(), files: files.iter().map(file).collect() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// The files whose names end so.
    pub(crate) fn ending(&self, end: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }

    pub(crate) fn text(&self, path: &str) -> anyhow::Result<&str> {
        let file = self.files.iter().find(|file| file.path == path);
        file.map(|file| file.text.as_str()).with_context(|| format!("`{path}` is missing"))
    }
}

/// The folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// What version control knows, and new files that it would not ignore.
fn listed(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.split_terminator('\0').map(str::to_owned).collect())
}

/// All files, for a source archive without version control.
fn walked(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Some(own) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
            if ["target", ".git", "dbdyno-results"].contains(&own) {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(own.to_owned()),
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_found_with_or_without_version_control() {
        for paths in [listed(&root()).unwrap_or_default(), walked(&root())] {
            // A source archive has no version control: then only the second list has anything.
            assert!(paths.is_empty() || paths.iter().any(|path| path == "xtask/src/main.rs"));
            assert!(!paths.iter().any(|path| path.starts_with("target/")));
        }
        assert!(Repository::open().unwrap().text("Cargo.toml").is_ok());
    }
}
