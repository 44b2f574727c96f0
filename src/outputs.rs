//! Files and folders that a user names for output; errors say what to do about the path.

use anyhow::{Context, anyhow};
use std::{
    io::{self, Read, Write},
    path::Path,
};

/// The command that a page belongs to, which alone replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// `dbdyno report`, and `dbdyno run`, which writes the same page.
    Report,
    /// `dbdyno site`.
    Site,
    /// `dbdyno history`.
    History,
}

impl Author {
    /// Its name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Site => "site",
            Self::History => "history",
        }
    }

    /// Fails where this command may not write `path`, because a file is there that it did not
    /// write. Nothing is lost with an empty file, and a device or pipe holds nothing. Through a
    /// link to nothing, which may have come with a results folder, a page would become any file.
    pub(crate) fn check(self, path: &Path) -> anyhow::Result<()> {
        anyhow::ensure!(
            !path.is_symlink() || path.exists(),
            "`{}` is a link to a file that is not there: name another path with `--out`, or remove \
             it",
            path.display()
        );
        if !path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0) {
            return Ok(());
        }
        let mut head = Vec::new();
        let file = fs_err::File::open(path).map_err(|error| refused(path, "read", &error))?;
        file.take(HEAD).read_to_end(&mut head).map_err(|error| refused(path, "read", &error))?;
        let wrote = match author(&String::from_utf8_lossy(&head)) {
            Some(name) if name == self.name() => return Ok(()),
            // A page of an earlier version, which does not name its command.
            Some(name) if name.starts_with(|c: char| c.is_ascii_digit()) => return Ok(()),
            Some(name) => format!("`dbdyno {name}` wrote it"),
            None => "it is no page of dbdyno".to_owned(),
        };
        Err(anyhow!(
            "`{}` is not overwritten, because {wrote}: name another path with `--out`, or remove \
             it",
            path.display()
        ))
    }
}

/// Bytes at the start of a page that hold its author.
const HEAD: u64 = 4096;

/// What stands before the author in the head of a page.
const BEFORE: &str = "<meta name=\"generator\" content=\"dbdyno ";

/// The command in the head of a page of dbdyno, or the version where an older one named no command.
fn author(head: &str) -> Option<&str> {
    let (_, after) = head.split_once(BEFORE)?;
    after.split([' ', '"']).next()
}

/// Writes a page of `author` into a folder that is there. Fails where another one's file is there.
pub(crate) fn write_page(author: Author, path: &Path, page: &str) -> anyhow::Result<()> {
    author.check(path)?;
    let version = report::GENERATOR.strip_prefix("dbdyno ").context("a page names its version")?;
    let named = format!("{BEFORE}{} {version}", author.name());
    write(path, page.replacen(&format!("{BEFORE}{version}"), &named, 1))
}

/// Writes a file into a folder that is there. What was there before stays until all is written.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let missing = folder.filter(|folder| !folder.exists());
    replace(path, bytes.as_ref()).map_err(|error| match missing {
        Some(folder) => anyhow!(
            "`{}` cannot be written: there is no folder `{}`; create it or name another path",
            path.display(),
            folder.display()
        ),
        None => refused(path, "written", &error),
    })
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_file = match path.symlink_metadata() {
        Ok(found) => found.is_file(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    let Some(name) = path.file_name().filter(|_| is_file) else {
        // A device or pipe keeps nothing, and a link stays one.
        return fs_err::write(path, bytes);
    };
    let new = format!(".{}.{}.new", name.to_string_lossy(), std::process::id());
    let new = path.with_file_name(new);
    let written = store::new_file(&new).and_then(|mut file| file.write_all(bytes));
    let written = written.and_then(|()| fs_err::rename(&new, path));
    let Err(error) = written else { return Ok(()) };
    let _ = fs_err::remove_file(&new);
    // A file may be replaced in a folder that takes no new ones.
    match error.kind() {
        io::ErrorKind::PermissionDenied => fs_err::write(path, bytes),
        _ => Err(error),
    }
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

    #[test]
    fn a_page_is_replaced_by_its_command_alone() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("index.html");
        let check = |author: Author, there: &str, expected: &str| {
            fs_err::write(&path, there).unwrap();
            let said = match write_page(author, &path, &report::site_index(&[])) {
                Ok(()) => "written".to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(said.contains(expected), "{said}");
            fs_err::read_to_string(&path).unwrap()
        };
        let remedy = "name another path with `--out`, or remove it";
        check(Author::Site, "<title>mine</title>", "no page of dbdyno");
        check(Author::Site, "<title>mine</title>", remedy);
        let site = check(Author::Site, "", "written");
        assert!(site.contains("<meta name=\"generator\" content=\"dbdyno site "), "{site}");
        assert_eq!(check(Author::Site, &site, "written"), site);
        check(Author::Report, &site, "because `dbdyno site` wrote it");
        check(Author::History, &report::site_index(&[]), "written");
        write_page(Author::Site, Path::new("/dev/null"), &site).unwrap();
        let beside = lab.path().join(format!(".index.html.{}.new", std::process::id()));
        let mine = lab.path().join("mine");
        fs_err::write(&mine, "mine").unwrap();
        std::os::unix::fs::symlink(&mine, beside).unwrap();
        check(Author::Site, "", "written");
        assert_eq!(fs_err::read_to_string(&mine).unwrap(), "mine");
        let [link, none] = ["link.html", "none"].map(|name| lab.path().join(name));
        std::os::unix::fs::symlink(&none, &link).unwrap();
        let said = write_page(Author::Report, &link, &site).unwrap_err().to_string();
        assert!(said.contains("is a link to a file that is not there") && !none.exists(), "{said}");
    }
}
