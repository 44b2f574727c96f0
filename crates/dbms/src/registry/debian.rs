//! Debian: packages of any suite with all that they need, down to the C library, unpacked side by
//! side. The state of apt is private, so the machine's own is neither read for versions nor
//! changed.

use super::{Destination, Registry};
use crate::{Error, Places, Result, client, package::Package};
use fs_err as fs;
use std::path::{Path, PathBuf};

pub(super) const REGISTRY: Registry = Registry { name: "debian", lookup, fetch, unpack };

/// Packages that servers depend on and never load: taken for installed, they stay out of the
/// download.
const STAND_INS: &[&str] = &[
    "debconf",
    "mariadb-common",
    "mariadb-server",
    "mariadb-server-10.5",
    "mysql-common",
    "perl",
    "perl-base",
    "python3",
    "rocksdb-tools",
];

const KEYRINGS: &[&str] = &[
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

fn lookup(package: &Package, places: &Places) -> Result<String> {
    let apt = Apt::open(package, places)?;
    apt.update()?;
    apt.candidate()
}

fn fetch(package: &Package, places: &Places, to: &Destination<'_>) -> Result<Vec<PathBuf>> {
    let apt = Apt::open(package, places)?;
    apt.update()?;
    apt.stand_in(&apt.candidate()?)?;
    let cache = to.scratch.join("archives");
    places.make(&cache, places.readable())?;
    places.make(&cache.join("partial"), 0o700)?;
    let option = format!("Dir::Cache::archives={}", cache.display());
    let mut words = vec!["-o", &option, "--yes", "--download-only", "install"];
    words.extend(package.names.iter().map(String::as_str));
    apt.run("apt-get", &words)?;
    super::files_in(&cache, "deb")
}

fn unpack(package: &Package, files: &[PathBuf], to: &Destination<'_>) -> Result<()> {
    for file in files {
        let words = [Path::new("-x"), file, to.folder];
        client::run("dpkg", &words, to.scratch, &package.label())?;
    }
    Ok(())
}

/// A private state of apt for one suite.
struct Apt<'a> {
    package: &'a Package,
    folder: PathBuf,
    /// Builds of one suite take turns.
    _lock: fs::File,
}

impl<'a> Apt<'a> {
    fn open(package: &'a Package, places: &Places) -> Result<Self> {
        let suite = package.at.split(' ').next().unwrap_or_default();
        let folder = places.registry(&format!("debian-{suite}"))?;
        for name in ["lists", "cache", "cache/archives"] {
            places.make(&folder.join(name), places.readable())?;
        }
        let lock = fs::File::create(folder.join("turn"))?;
        lock.file().lock()?;
        fs::write(folder.join("status"), "")?;
        let apt = Self { package, folder, _lock: lock };
        let text = client::run(
            "apt-get",
            &[
                "indextargets",
                "--format",
                "$(ORIGIN) $(RELEASE) $(REPO_URI)",
                "Created-By: Packages",
            ],
            &apt.folder,
            &package.label(),
        )?;
        let sources = sources(&text, &package.at)
            .ok_or_else(|| Error::NoMirror { package: package.label() })?;
        fs::write(apt.folder.join("sources.list"), sources)?;
        Ok(apt)
    }

    fn update(&self) -> Result<()> {
        self.run("apt-get", &["update"]).map(drop)
    }

    /// Version of the first package, with epoch and revision.
    fn candidate(&self) -> Result<String> {
        let name = self.package.names.first().map_or("", String::as_str);
        let text = self.run("apt-cache", &["show", "--no-all-versions", name])?;
        text.lines()
            .find_map(|line| line.strip_prefix("Version: "))
            .map(|version| version.trim().to_owned())
            .ok_or_else(|| Error::ClientFailed {
                program: "apt-cache".to_owned(),
                package: self.package.label(),
                text: format!("it has no version of {name}"),
            })
    }

    fn stand_in(&self, version: &str) -> Result<()> {
        let architecture = self.run("dpkg", &["--print-architecture"])?;
        let status: String = STAND_INS
            .iter()
            .map(|name| {
                format!(
                    "Package: {name}\nStatus: install ok installed\nArchitecture: {}\n\
                     Multi-Arch: allowed\nMaintainer: none\nVersion: {version}\n\
                     Description: stand-in\n\n",
                    architecture.trim()
                )
            })
            .collect();
        Ok(fs::write(self.folder.join("status"), status)?)
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<String> {
        let folder = self.folder.display();
        let settings = [
            format!("Dir::State={folder}"),
            format!("Dir::State::lists={folder}/lists"),
            format!("Dir::State::status={folder}/status"),
            format!("Dir::Cache={folder}/cache"),
            format!("Dir::Etc::sourcelist={folder}/sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferences=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            "APT::Install-Recommends=false".to_owned(),
            "Acquire::Languages=none".to_owned(),
            // Whatever the host allows: lists are signed, and packages are as the lists say.
            "Acquire::AllowInsecureRepositories=false".to_owned(),
            "Acquire::AllowWeakRepositories=false".to_owned(),
            "APT::Get::AllowUnauthenticated=false".to_owned(),
            "Debug::NoLocking=true".to_owned(),
        ];
        let mut arguments: Vec<&str> = Vec::new();
        if program != "dpkg" {
            arguments.push("-q");
            settings.iter().for_each(|setting| arguments.extend(["-o", setting]));
        }
        arguments.extend(words);
        client::run(program, &arguments, &self.folder, &self.package.label())
    }
}

/// The list of sources for suites, at the mirrors that the machine itself uses: its first archive
/// of Debian, and its security archive for suites that are security's; one that the machine does
/// not use is left out.
fn sources(index_targets: &str, suites: &str) -> Option<String> {
    let targets: Vec<(&str, &str)> = index_targets
        .lines()
        .filter_map(|line| line.strip_prefix("Debian "))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let is_security = |release: &str| release.ends_with("-security");
    let mirror = |security: bool| {
        targets.iter().find(|(release, _)| is_security(release) == security).map(|(_, uri)| *uri)
    };
    let archive = mirror(false)?;
    let signed = KEYRINGS.iter().find(|path| Path::new(path).exists());
    let option = signed.map_or(String::new(), |path| format!("[signed-by={path}] "));
    let mut text = String::new();
    for suite in suites.split(' ') {
        let uri = if is_security(suite) { mirror(true) } else { Some(archive) };
        if let Some(uri) = uri {
            text.push_str(&format!("deb {option}{uri} {suite} main\n"));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_those_of_the_machine() {
        let targets = "Other stable http://other.example/\n\
                       Debian bookworm-security http://mirror.example/security/\n\
                       Debian bookworm http://mirror.example/debian/\n";
        let check = |suite, expected: &[&str]| {
            let text = sources(targets, suite).unwrap();
            let lines: Vec<String> = text
                .lines()
                .map(|line| line.split_whitespace().rev().take(3).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(lines, expected);
        };
        check("sid", &["main sid http://mirror.example/debian/"]);
        check(
            "trixie trixie-security",
            &[
                "main trixie http://mirror.example/debian/",
                "main trixie-security http://mirror.example/security/",
            ],
        );
        check("bullseye", &["main bullseye http://mirror.example/debian/"]);
        assert_eq!(sources("Ubuntu noble http://other.example/\n", "sid"), None);
    }
}
