//! Builds of the revisions of a git repository by a command of the user's.
//!
//! The build command is executed as the caller; where root started dbdyno, as the server user, and
//! what it leaves is copied, so that nothing of it can be changed afterwards. Its folder is that of
//! the revision's tree and of the command: an equal tree is built once. All are built in one place,
//! one after the other, so that paths in programs do not tell equal code apart. The repository is
//! only read: git writes the files of a revision as an archive.

use crate::{
    Error, Places, Result, ServerUser, folder, full_disk::is_full_disk, leftovers::try_lock,
    process::GUARD, source::folder_hash,
};
use fs_err as fs;
use object::{Object, ObjectSection, ReadCache, SectionKind};
use sha2::{Digest, Sha256};
use std::{
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A revision of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its commit, in full.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
}

/// A repository, and how a revision of it is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Folder of the repository.
    pub repository: PathBuf,
    /// The build, as a shell reads it. It is executed in a folder with the files of the revision,
    /// and installs into the folder that `PREFIX` names.
    pub command: String,
}

/// What became of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Built {
    /// The folder into which it was installed.
    Done(PathBuf),
    /// Why there is none, with its log.
    Failed(String),
}

/// Name of the file that says that a build is complete, and of the one that says why it is not.
const DONE: &str = "built";
const FAILED: &str = "failed";
const LOG: &str = "log";
const OUT: &str = "out";
/// Held by the process that builds, in the folder above those of all builds.
const TURN: &str = "turn";

/// Where a build keeps libraries that its program loads, engines and plugins among others, at any
/// depth: distributions have folders of their own below.
const LIBRARIES: [&str; 2] = ["lib", "lib64"];

/// Lines of a log that a message quotes.
const LAST_LINES: usize = 3;

/// How often a build is looked at.
const PAUSE: Duration = Duration::from_millis(50);

const INTERRUPTED: &str = "the build was interrupted";

impl Source {
    /// The revisions from `good` to `bad` along first parents, both included, oldest first.
    pub fn revisions(&self, good: &str, bad: &str) -> Result<Vec<Revision>> {
        // The repository's own error comes first.
        self.git(&["rev-parse", "--git-dir"])?;
        let ends = [good, bad];
        let good = self.commit("--good", good)?;
        let bad = self.commit("--bad", bad)?;
        if good == bad {
            return Err(self.failed(format!(
                "the ends are the same: `--good {}` and `--bad {}` are both commit {good}; name \
                 two that differ",
                ends[0], ends[1]
            )));
        }
        let range = format!("{good}..{bad}");
        let text = self.git(&["log", "--first-parent", "--reverse", "--format=%H %s", &range])?;
        let first = self.git(&["log", "-1", "--format=%H %s", &good])?;
        let revision = |line: &str| {
            let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
            Revision { commit: commit.to_owned(), subject: subject.to_owned() }
        };
        let found: Vec<Revision> = first.lines().chain(text.lines()).map(revision).collect();
        let is_line = found.last().is_some_and(|last| last.commit == bad);
        let Some(next) = found.get(1).filter(|_| is_line) else {
            return Err(self.failed(format!(
                "`--bad {}` does not follow `--good {}`: swap them",
                ends[1], ends[0]
            )));
        };
        self.check_follows(next, &good, ends)?;
        Ok(found)
    }

    /// Fails where the first parent of a revision is not the good end: this lies on another branch,
    /// and the revision would answer for all that tells both branches apart.
    fn check_follows(&self, next: &Revision, good: &str, ends: [&str; 2]) -> Result<()> {
        let parents = self.git(&["log", "-1", "--format=%P", &next.commit])?;
        let remedy = match parents.split(' ').next().unwrap_or_default() {
            own if own == good => return Ok(()),
            "" => "they have no commit in common".to_owned(),
            own => format!("name `{own}`, the last of these that it holds"),
        };
        Err(self.failed(format!(
            "`--good {}` is not among the first parents of `--bad {}`: {remedy}",
            ends[0], ends[1]
        )))
    }

    /// The commit that the value of an option names.
    fn commit(&self, option: &str, name: &str) -> Result<String> {
        let found = self.git(&["rev-parse", "--verify", &format!("{name}^{{commit}}")]);
        found
            .map_err(|_| self.failed(format!("there is no revision `{name}`, given by `{option}`")))
    }

    /// Builds a revision, unless that was done before. `stopped` says whether to give up, which
    /// ends the build with all of its processes and is an error, as is a full disk.
    pub fn build(
        &self,
        revision: &Revision,
        places: &Places,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Built> {
        let tree = self.git(&["rev-parse", &format!("{}^{{tree}}", revision.commit)])?;
        let above = places.root.join("revisions");
        places.make(&above, places.readable())?;
        let own = above.join(key(&[&tree, &self.command]));
        places.make(&own, places.readable())?;
        if let Some(built) = built_before(&own) {
            return Ok(built);
        }
        let _turn = self.turn(&above, stopped)?;
        if let Some(built) = built_before(&own) {
            return Ok(built);
        }
        let (out, failed) = (own.join(OUT), own.join(FAILED));
        let work = above.join("work");
        // What an interrupted build left.
        for left in [&work, &out].into_iter().filter(|left| left.exists()) {
            folder::remove(left)?;
        }
        folder::make(&work, 0o700, None)?;
        for part in ["tree", OUT] {
            folder::make(&work.join(part), 0o700, None)?;
        }
        self.extract(&revision.commit, &work.join("tree"))?;
        folder::give(&work, places.user)?;
        let status = self.execute(&work, (&own.join(LOG), places.user), stopped)?;
        if let Some(why) = why_failed(status, &work.join(OUT))? {
            let mut reason = format!("{why}: {}", last_lines(&own.join(LOG)));
            if work.join("tree/.gitmodules").is_file() {
                reason += "; submodules are not in its folder, unless the command brings them";
            }
            folder::remove(&work)?;
            // It would be full for every other revision too.
            if is_full_disk(&reason) {
                return Err(self.failed(reason));
            }
            // What ended it by a signal may be gone the next time.
            if status.is_some() {
                reason += &format!("; remove `{}` to build it again", failed.display());
                fs::write(&failed, &reason)?;
            }
            return Ok(Built::Failed(reason));
        }
        folder::copy_tree(&work.join(OUT), &out)?;
        // Whatever the umask was: the servers' user has to read it, and it is root's by now.
        folder::make_readable(&out)?;
        folder::remove(&work)?;
        fs::write(own.join(DONE), "")?;
        Ok(Built::Done(out))
    }

    /// Waits for the turn of a build, which another bisection may be at; it ends with the file.
    fn turn(&self, above: &Path, stopped: &dyn Fn() -> bool) -> Result<fs::File> {
        let turn = fs::File::create(above.join(TURN))?;
        while !try_lock(&turn)? {
            if stopped() {
                return Err(self.failed(INTERRUPTED.to_owned()));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(turn)
    }

    /// The files of a revision.
    fn extract(&self, commit: &str, to: &Path) -> Result<()> {
        let mut git = self.command(&["archive", "--format=tar", commit])?;
        let mut child = git.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let unpacked = match child.stdout.take() {
            Some(stream) => {
                let mut archive = tar::Archive::new(stream);
                // Behind the end git writes zeros, and a signal ends it where nobody reads them.
                archive
                    .unpack(to)
                    .and_then(|()| io::copy(&mut archive.into_inner(), &mut io::sink()).map(drop))
            }
            None => Ok(()),
        };
        let status = child.wait()?;
        unpacked?;
        match status.success() {
            true => Ok(()),
            false => Err(self.failed(format!("it has no files of `{commit}`"))),
        }
    }

    /// The exit code of the build command; none where a signal ended it.
    fn execute(
        &self,
        work: &Path,
        (log, user): (&Path, Option<ServerUser>),
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<i32>> {
        let log = fs::File::create(log)?.into_parts().0;
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "sh", "sh", "-c", &self.command]);
        command.current_dir(work.join("tree")).env_clear();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        command.env("PATH", path).env("LC_ALL", "C").env("HOME", work);
        // Its input stays open as long as somebody waits for it.
        command.env("PREFIX", work.join(OUT)).stdin(Stdio::piped());
        command.stdout(log.try_clone()?).stderr(log).process_group(0);
        if let Some(user) = user {
            command.gid(user.gid).uid(user.uid);
        }
        let mut child = command.spawn()?;
        let ended = loop {
            if let Some(status) = child.try_wait()? {
                break Ok(status.code());
            }
            if stopped() {
                break Err(self.failed(INTERRUPTED.to_owned()));
            }
            std::thread::sleep(PAUSE);
        };
        // Nothing that it started outlives it.
        end_group(&child);
        child.wait()?;
        ended
    }

    /// What git answers, without the line end.
    fn git(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments)?.stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let first = said.lines().next().unwrap_or("it gave no reason");
            return Err(self.failed(first.trim_start_matches("fatal: ").to_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// git as the owner of the repository, whose configuration may name programs.
    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let about = fs::metadata(&self.repository)?;
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.repository).args(arguments);
        command.env_clear().env("LC_ALL", "C").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()));
        if rustix::process::geteuid().is_root() && about.uid() != 0 {
            command.gid(about.gid()).uid(about.uid());
        }
        Ok(command)
    }

    fn failed(&self, reason: String) -> Error {
        Error::Repository { path: self.repository.clone(), reason }
    }
}

/// What became of a build in its folder, where it came to an end before.
fn built_before(own: &Path) -> Option<Built> {
    if own.join(DONE).exists() {
        return Some(Built::Done(own.join(OUT)));
    }
    // One that a full disk has left empty says nothing.
    let reason = fs::read_to_string(own.join(FAILED)).ok()?;
    (!reason.is_empty()).then_some(Built::Failed(reason))
}

/// Why the end of a build is a failure, if it is one. No exit code means a signal.
fn why_failed(status: Option<i32>, out: &Path) -> Result<Option<String>> {
    Ok(match status {
        Some(0) if fs::read_dir(out)?.next().is_some() => None,
        Some(0) => Some("the build left nothing in `PREFIX`".to_owned()),
        Some(code) => Some(format!("the build ended with exit code {code}")),
        None => Some("a signal ended the build".to_owned()),
    })
}

/// Ends a build with everything that it started.
fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // It may be gone already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// The name of a folder for what these texts determine.
fn key(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hexadecimal(&hash.finalize()[..8])
}

fn last_lines(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("; ");
    format!("{last} (log `{}`)", log.display())
}

/// SHA-256 of the code of a build: of its program, of the libraries in its folder that the program
/// may load, and of the settings, views and messages in `share`. None where the program has none.
pub fn build_sha256(folder: &Path, program: &Path) -> Option<String> {
    let mut hash = Sha256::new();
    hash.update(code_sha256(program)?);
    let mut libraries = Vec::new();
    LIBRARIES.iter().for_each(|below| find_libraries(&folder.join(below), &mut libraries));
    libraries.sort();
    for library in libraries {
        hash.update(library.strip_prefix(folder).unwrap_or(&library).as_os_str().as_bytes());
        hash.update(code_sha256(&library).unwrap_or_default());
    }
    let share = folder.join("share");
    if share.is_dir() {
        hash.update(folder_hash(&share).ok()?);
    }
    Some(hexadecimal(&hash.finalize()))
}

/// Adds what is called `NAME.so` or `NAME.so.1` below a folder, but for links, which lead to one of
/// these.
fn find_libraries(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => find_libraries(&entry.path(), found),
            Ok(kind) if kind.is_file() && (name.ends_with(".so") || name.contains(".so.")) => {
                found.push(entry.path());
            }
            _ => {}
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of what a program or library executes and reads: its sections of code and of data, and
/// neither its debug information nor its build ID. None for what is no ELF file.
pub fn code_sha256(file: &Path) -> Option<String> {
    let cache = ReadCache::new(fs::File::open(file).ok()?.into_file());
    let program = object::File::parse(&cache).ok()?;
    let mut hash = Sha256::new();
    let mut any = false;
    for section in program.sections() {
        use SectionKind::{Data, ReadOnlyData, ReadOnlyString, Text};
        if matches!(section.kind(), Text | Data | ReadOnlyData | ReadOnlyString) {
            hash.update(section.name().ok()?);
            hash.update(section.address().to_le_bytes());
            hash.update(section.uncompressed_data().ok()?);
            any = true;
        }
    }
    any.then(|| hexadecimal(&hash.finalize()))
}

#[cfg(test)]
mod tests;
