//! Programs and libraries of Debian that the tests need, beside a Rust toolchain and a C compiler.

use super::{execute_program, succeeds};
use crate::say;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};

/// A Debian package, and how to see that it, or another way to the same, is there.
struct Package {
    /// Its names in Debian's suites, the usual one first.
    names: &'static [&'static str],
    sign: Sign,
    reason: &'static str,
}

/// What shows that a package is not needed.
enum Sign {
    /// A program in the search path.
    Program(&'static str),
    /// A shared library in a folder of the loader.
    Library(&'static str),
}

const PACKAGES: &[Package] = &[
    package(&["git"], Sign::Program("git"), "lists the files that `tidy` checks"),
    package(&["maven"], Sign::Program("mvn"), "downloads Postgres and MariaDB"),
    package(&["npm"], Sign::Program("npm"), "downloads MySQL 5.6"),
    package(&["python3-pip"], Sign::Program("pip3"), "downloads pgvector"),
    package(&["libnuma1"], Sign::Library("libnuma.so.1"), "MySQL is linked with it"),
    package(
        &["libaio1", "libaio1t64"],
        Sign::Library("libaio.so.1"),
        "MySQL and MariaDB are linked with it",
    ),
    package(&["qemu-user"], Sign::Program("qemu-x86_64"), "counts instructions by emulation"),
    package(
        &["valgrind"],
        Sign::Program("valgrind"),
        "counts what the emulator counts, for comparison",
    ),
    package(&["chromium"], Sign::Program("chromium"), "opens reports and presses their switches"),
    package(&["sysbench"], Sign::Program("sysbench"), "works beside our own load engine"),
    package(&["slurm-wlm"], Sign::Program("slurmctld"), "spreads an experiment over two hosts"),
    package(&["munge"], Sign::Program("munged"), "lets the daemons of Slurm trust each other"),
];

const fn package(names: &'static [&'static str], sign: Sign, reason: &'static str) -> Package {
    Package { names, sign, reason }
}

/// Installs the packages that are missing, if this is root; otherwise says what to install.
pub(crate) fn provide() -> anyhow::Result<()> {
    let missing: Vec<&Package> = PACKAGES.iter().filter(|package| !package.is_there()).collect();
    if missing.is_empty() {
        say(&format!("packages: all {} are there", PACKAGES.len()));
        return Ok(());
    }
    for package in &missing {
        say(&format!("package `{}` is missing: {}", package.names[0], package.reason));
    }
    if !rustix::process::geteuid().is_root() {
        let names: Vec<&str> = missing.iter().map(|package| package.names[0]).collect();
        bail!(
            "only root may install packages: `sudo apt-get install --no-install-recommends {}`",
            names.join(" ")
        );
    }
    execute_program("apt-get", &["update", "-q"])?;
    let names =
        missing.iter().map(|package| package.known()).collect::<anyhow::Result<Vec<_>>>()?;
    let fixed = ["DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y"];
    execute_program("env", &[&fixed[..], &["--no-install-recommends"], &names].concat())
}

impl Package {
    fn is_there(&self) -> bool {
        match self.sign {
            Sign::Program(name) => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
            }
            Sign::Library(name) => libraries().iter().any(|folder| folder.join(name).exists()),
        }
    }

    /// The first of its names that this machine's suite knows.
    fn known(&self) -> anyhow::Result<&'static str> {
        let known = |name: &&&str| succeeds("apt-cache", &["show", "--quiet=2", **name]);
        let found = self.names.iter().find(known).copied();
        found.with_context(|| format!("no package of Debian is called `{}`", self.names[0]))
    }
}

/// Folders of the loader on Debian.
fn libraries() -> Vec<PathBuf> {
    let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
    let bases = ["/lib", "/usr/lib", "/usr/local/lib"].map(Path::new);
    bases.iter().flat_map(|base| [base.to_path_buf(), base.join(&multiarch)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_seen_and_what_is_not_is_not() {
        let there = |sign| package(&["x"], sign, "").is_there();
        assert!(there(Sign::Program("sh")));
        assert!(there(Sign::Library("libc.so.6")));
        assert!(!there(Sign::Program("no-such-program")));
        assert!(!there(Sign::Library("libnosuch.so.1")));
    }
}
