//! Which file a download must be: `registry/known.toml` names it for exact versions, and what it
//! does not name must be the file that this host fetched the first time.

use crate::{Error, Places, Result, folder, manifest::Download, package::Package};
use fs_err as fs;
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf, sync::LazyLock};

static SHIPPED: LazyLock<BTreeMap<String, Known>> = LazyLock::new(|| {
    toml::from_str(include_str!("registry/known.toml"))
        .expect("a test reads the table of known downloads")
});

/// Ending of files whose signature the registry's client verifies.
const SIGNED: &str = ".deb";

/// What dbdyno knows of a build's files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    /// Exact version of the package, as its registry writes it.
    pub(crate) at: String,
    /// SHA-256 by file name.
    files: BTreeMap<String, String>,
}

/// A build whose download is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) server: &'a str,
    pub(crate) version: &'a str,
}

/// What dbdyno knows of the files of a build.
pub(crate) fn shipped(wanted: Wanted<'_>) -> Option<&'static Known> {
    SHIPPED.get(&format!("{}@{}", wanted.server, wanted.version))
}

/// The SHA-256 of the file of a build, by its name; none where dbdyno does not know it.
pub(crate) fn sha256_of(file: &str) -> Option<&'static str> {
    SHIPPED.values().find_map(|known| known.files.get(file)).map(String::as_str)
}

/// All versions of a server of which dbdyno knows the files.
pub(crate) fn versions_of(server: &str) -> impl Iterator<Item = (&'static str, &'static Known)> {
    SHIPPED.iter().filter_map(move |(build, known)| {
        let version = build.strip_prefix(server)?.strip_prefix('@')?;
        Some((version, known))
    })
}

impl Wanted<'_> {
    /// Fails where files are others than dbdyno knows, or than this host fetched before.
    pub(crate) fn check(self, files: &[Download], places: &Places) -> Result<()> {
        self.check_shipped(files)?;
        match self.first_use(places)? {
            Some(before) if shipped(self).is_none() => self.compare(files, &before),
            _ => Ok(()),
        }
    }

    /// Fails where files are others than dbdyno knows.
    pub(crate) fn check_shipped(self, files: &[Download]) -> Result<()> {
        shipped(self).map_or(Ok(()), |known| self.compare(files, &known.files))
    }

    /// Remembers files that nothing else vouches for. Packages of Debian are signed, and move.
    pub(crate) fn remember(
        self,
        package: &Package,
        files: &[Download],
        places: &Places,
    ) -> Result<()> {
        if package.is_signed() || shipped(self).is_some() {
            return Ok(());
        }
        let path = self.note(places);
        if let Some(above) = path.parent() {
            places.make(above, places.readable())?;
        }
        let lines = files.iter().map(|file| format!("{}  {}\n", file.sha256, file.file));
        folder::write_for_group(&path, &lines.collect::<String>(), None)
    }

    fn first_use(self, places: &Places) -> Result<Option<BTreeMap<String, String>>> {
        let path = self.note(places);
        if !path.exists() || !folder::is_ours(&path) {
            return Ok(None);
        }
        let text = fs::read_to_string(path)?;
        let file = |line: &str| {
            let (sha256, file) = line.split_once("  ")?;
            Some((file.to_owned(), sha256.to_owned()))
        };
        let files: BTreeMap<_, _> = text.lines().filter_map(file).collect();
        // A note that a crash left empty says nothing.
        Ok(Some(files).filter(|files| !files.is_empty()))
    }

    /// A file as `sha256sum` writes it.
    fn note(self, places: &Places) -> PathBuf {
        places.root.join("known").join(format!("{}-{}.sha256", self.server, self.version))
    }

    fn compare(self, files: &[Download], expected: &BTreeMap<String, String>) -> Result<()> {
        let names = || expected.keys().cloned().collect::<Vec<_>>().join("`, `");
        for file in files {
            let expected = match expected.get(&file.file) {
                Some(sha256) if *sha256 == file.sha256 => continue,
                // Its signature says what it is: a newer packaging, or something else's package.
                None if file.file.ends_with(SIGNED) => continue,
                Some(sha256) => sha256.clone(),
                None => format!("the file `{}`", names()),
            };
            return Err(Error::OtherDownload {
                build: format!("{}@{}", self.server, self.version),
                file: file.file.clone(),
                sha256: file.sha256.clone(),
                expected,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::DBMSES;

    const OLD: Wanted<'_> = Wanted { server: "mysql", version: "5.6.24" };
    const FREE: Wanted<'_> = Wanted { server: "postgres", version: "0.1" };

    fn file(name: &str, sha256: &str) -> Download {
        Download { file: name.to_owned(), sha256: sha256.to_owned() }
    }

    #[test]
    fn files_are_known_for_versions_that_are_offered() {
        let releases = DBMSES.iter().flat_map(|product| {
            let name = product.name();
            product.releases().into_iter().map(move |release| (name, release))
        });
        let offered: BTreeMap<String, Package> = releases
            .map(|(name, release)| (format!("{name}@{}", release.version), release.package))
            .collect();
        for (build, known) in SHIPPED.iter() {
            let package = offered.get(build);
            assert_eq!(package.map(|package| &package.at), Some(&known.at), "{build}");
            let is_signed = package.unwrap().is_signed();
            assert!(is_signed || known.files.len() == 1, "{build}");
            for (file, sha256) in &known.files {
                assert!(is_signed || file.contains(&known.at), "{build}");
                assert_eq!(is_signed, file.ends_with(SIGNED), "{build}");
                let is_hash = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
                assert!(sha256.len() == 64 && sha256.chars().all(is_hash), "{build}");
            }
        }
    }

    #[test]
    fn another_file_than_the_known_one_is_refused_by_name() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let (name, sha256) = shipped(OLD).unwrap().files.first_key_value().unwrap();
        OLD.check(&[file(name, sha256)], &places).unwrap();
        let zeros = "0".repeat(64);
        let message = OLD.check(&[file(name, &zeros)], &places).unwrap_err().to_string();
        let start = format!(
            "the registry delivered another file for `mysql@5.6.24` than expected: `{name}` has \
             the SHA-256 {zeros}, expected {sha256}; "
        );
        assert!(message.starts_with(&start), "{message}");
        let message = OLD.check(&[file("x.tgz", &zeros)], &places).unwrap_err().to_string();
        assert!(message.contains(&format!("expected the file `{name}`; ")), "{message}");
    }

    #[test]
    fn a_signed_package_is_compared_where_it_is_known() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let rolling = Wanted { server: "mysql", version: "9.7.4" };
        let (name, sha256) = shipped(rolling).unwrap().files.first_key_value().unwrap();
        let other = file("libc6_9_amd64.deb", "11");
        rolling.check(&[other.clone(), file(name, sha256)], &places).unwrap();
        rolling.check(&[other, file(name, "22")], &places).unwrap_err();
    }

    #[test]
    fn a_file_that_nobody_knows_stays_what_it_was_at_its_first_use() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let (first, other) = ([file("a.jar", "11")], [file("a.jar", "22")]);
        let package = |registry| Package { registry, names: Vec::new(), at: String::new() };
        FREE.remember(&package("debian"), &other, &places).unwrap();
        FREE.check(&first, &places).unwrap();
        FREE.remember(&package("maven"), &first, &places).unwrap();
        FREE.check(&first, &places).unwrap();
        let message = FREE.check(&other, &places).unwrap_err().to_string();
        assert!(message.contains("`a.jar` has the SHA-256 22, expected 11; "), "{message}");
    }
}
