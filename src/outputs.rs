//! Files and folders that a user names for output; errors say what to do about the path.

use anyhow::anyhow;
use std::{io, path::Path};

/// Writes a file into a folder that is there.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let missing = folder.filter(|folder| !folder.exists());
    fs_err::write(path, bytes).map_err(|error| match missing {
        Some(folder) => anyhow!(
            "`{}` cannot be written: there is no folder `{}`; create it or name another path",
            path.display(),
            folder.display()
        ),
        None => refused(path, "written", &error),
    })
}

/// Creates a folder with those above it, unless it is there.
pub(crate) fn create_folder(path: &Path) -> anyhow::Result<()> {
    fs_err::create_dir_all(path).map_err(|error| refused(path, "created", &error))
}

fn refused(path: &Path, done: &str, error: &io::Error) -> anyhow::Error {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "its file system takes no files of users".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a part of it is a file and no folder".to_owned()
        }
        _ => error.to_string(),
    };
    anyhow!("`{}` cannot be {done}: {reason}; name another path", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_named_with_the_reason_and_the_remedy() {
        let lab = tempfile::tempdir().unwrap();
        let path = |name: &str| lab.path().join(name);
        let check = |result: anyhow::Result<()>, expected: &str| {
            let said = result.unwrap_err().to_string();
            assert_eq!(said.replace(lab.path().to_str().unwrap(), "LAB"), expected);
        };
        write(&path("file"), "text").unwrap();
        check(
            write(&path("x/y.html"), ""),
            "`LAB/x/y.html` cannot be written: there is no folder `LAB/x`; create it or name \
             another path",
        );
        check(write(lab.path(), ""), "`LAB` cannot be written: it is a folder; name another path");
        check(
            create_folder(&path("file/x")),
            "`LAB/file/x` cannot be created: a part of it is a file and no folder; name another \
             path",
        );
        create_folder(&path("a/b")).unwrap();
        write(&path("a/b/c"), "text").unwrap();
    }
}
