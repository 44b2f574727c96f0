//! A server that runs.

use crate::{
    Error, Keeper, NotReady, Rendered, Result,
    freezer::Freezer,
    keeper::Spawned,
    memory_limit,
    process::{ended_within, open, send},
    product::Dbms,
    setup::Setup,
    task,
};
use fs_err as fs;
use model::{
    drive::{Endpoint, Target},
    secret::{self, Secret},
    subject::Config,
};
use rustix::process::{Signal, pidfd_send_signal};
use std::{
    io::{Read, Seek},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

/// InnoDB may have a large buffer pool to write.
const STOP_LIMIT: Duration = Duration::from_secs(1200);
const LAST_LINES: usize = 20;
/// Bytes of a log that are read at its start, and as many at its end.
const LOG_PART_BYTES: u64 = 4 << 20;
const FIRST_ERRORS: usize = 5;
const ERROR_MARKS: &[&str] = &["[ERROR]", "FATAL:", "ERROR:", "PANIC:"];

/// A server that answers. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
    pub(crate) rendered: Rendered,
    /// What a log may quote and nobody is shown.
    pub(crate) secrets: Vec<Secret>,
    pid: u32,
    process: OwnedFd,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    /// Started by dbdyno.
    Keeper {
        keeper: Keeper,
        freezer: Freezer,
        log: PathBuf,
        stop: Signal,
        /// The group that limits its memory.
        memory: Option<PathBuf>,
    },
    /// It has ended, and its remains are removed.
    Nobody,
}

impl Server {
    pub(crate) fn started(
        product: &dyn Dbms,
        target: Target,
        spawned: Spawned,
        keeper: &Keeper,
        log: &Path,
    ) -> Result<Self> {
        let freezer = match spawned.group {
            Some(group) => Freezer::Group(group),
            None => Freezer::of_process(spawned.pid),
        };
        Ok(Self {
            name: product.name(),
            target,
            rendered: Rendered::default(),
            secrets: Vec::new(),
            pid: spawned.pid,
            process: open(spawned.pid)?,
            owner: Owner::Keeper {
                keeper: keeper.clone(),
                freezer,
                log: log.to_owned(),
                stop: product.stop_signal(),
                memory: spawned.memory,
            },
        })
    }

    /// Where it listens.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Has each connection be encrypted. The server answers without that, so what fails now is TLS.
    pub(crate) fn encrypt(
        &mut self,
        setup: &Setup<'_>,
        ready: &mut dyn FnMut(&Target) -> std::result::Result<(), NotReady>,
    ) -> Result<()> {
        let Some(tls) = setup.tls() else { return Ok(()) };
        self.target.tls = Some(tls);
        let installed = setup.launch.installed;
        ready(&self.target).map_err(|(NotReady::Yet(said) | NotReady::Never(said))| Error::NoTls {
            build: format!("{} {}", installed.server, installed.version),
            transport: setup.launch.config.transport.name(),
            said,
        })
    }

    /// Has each connection execute the statements of a configuration. The server answers without
    /// them, so what it refuses now is one of them.
    pub(crate) fn prepare_sessions(
        &mut self,
        config: &Config,
        ready: &mut dyn FnMut(&Target) -> std::result::Result<(), NotReady>,
    ) -> Result<()> {
        if config.session.is_empty() {
            return Ok(());
        }
        self.target.initial_sql.clone_from(&config.session);
        ready(&self.target).map_err(|(NotReady::Yet(said) | NotReady::Never(said))| {
            Error::RefusedSession { config: config.name.clone(), said }
        })
    }

    /// The configuration that it was given.
    pub fn rendered(&self) -> &Rendered {
        &self.rendered
    }

    /// Its processes that the kernel killed because the server had reached the limit of its memory.
    pub fn memory_kills(&self) -> u64 {
        match &self.owner {
            Owner::Keeper { memory: Some(group), .. } => memory_limit::kills(group),
            _ => 0,
        }
    }

    /// Its first process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// All its processes.
    pub fn processes(&self) -> Vec<u32> {
        match &self.owner {
            Owner::Keeper { freezer, .. } => freezer.processes(),
            Owner::Nobody => Vec::new(),
        }
    }

    /// All tasks of all its processes.
    pub fn tasks(&self) -> Vec<u32> {
        self.processes().into_iter().flat_map(task::tasks).collect()
    }

    /// Its control group of version 2, where there is one.
    pub fn group(&self) -> Option<&Path> {
        match &self.owner {
            Owner::Keeper { freezer: Freezer::Group(group), .. } => Some(group),
            _ => None,
        }
    }

    /// Whether its first process lives.
    pub fn is_alive(&self) -> bool {
        !ended_within(&self.process, Duration::ZERO)
    }

    /// Whether it is this server that listens on its port, as far as can be told: another one may
    /// have taken it first, and let the driver of this one in.
    pub(crate) fn listens(&self) -> bool {
        let Endpoint::Port(port) = &self.target.endpoint else { return true };
        let sockets = task::text(&format!("/proc/{}/net/tcp", self.pid));
        let Some(socket) = task::listener(&sockets, *port) else { return true };
        self.processes().into_iter().any(|pid| task::holds(pid, &socket) != Some(false))
    }

    /// Waits until nothing of it executes any more.
    pub fn freeze(&mut self) -> Result<()> {
        self.freezer("freeze")?.freeze().map_err(|error| self.freeze_error("freeze", &error))?;
        // What it shares by now could not be found once it is killed.
        match &self.owner {
            Owner::Keeper { keeper, .. } => keeper.note(self.pid),
            Owner::Nobody => Ok(()),
        }
    }

    /// Lets it go on.
    pub fn thaw(&mut self) -> Result<()> {
        self.freezer("thaw")?.thaw().map_err(|error| self.freeze_error("thaw", &error))
    }

    /// Stops it cleanly and waits. Fails if it did not end well: its data are then not those of a
    /// clean stop.
    pub fn stop(mut self) -> Result<()> {
        let Owner::Keeper { keeper, stop, .. } = &self.owner else { return Ok(()) };
        let (keeper, stop) = (keeper.clone(), *stop);
        if self.is_alive() {
            self.thaw()?;
            // It may have ended since; how is asked below.
            let _ = pidfd_send_signal(&self.process, stop);
        }
        if !ended_within(&self.process, STOP_LIMIT) {
            let log = self.last_words();
            self.kill();
            let reason = format!("not within {} seconds, and was killed", STOP_LIMIT.as_secs());
            return Err(Error::Stop { server: self.name.to_owned(), reason, log });
        }
        let ending = keeper.ending(self.pid)?;
        let log = self.last_words();
        self.owner = Owner::Nobody;
        keeper.forget(self.pid)?;
        if ending.code == Some(0) {
            return Ok(());
        }
        Err(Error::Stop { server: self.name.to_owned(), reason: ending.to_string(), log })
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        if !matches!(self.owner, Owner::Keeper { .. }) {
            return;
        }
        let owner = std::mem::replace(&mut self.owner, Owner::Nobody);
        let Owner::Keeper { keeper, freezer, .. } = owner else { return };
        if keeper.kill(self.pid).and_then(|()| keeper.forget(self.pid)).is_err() {
            // The keeper is gone, and what it left is swept; this takes part.
            let _ = pidfd_send_signal(&self.process, Signal::KILL);
            freezer.processes().into_iter().for_each(|pid| send(pid, Signal::KILL));
        }
    }

    /// The last lines of its log without secrets, without an end of line.
    pub fn log_tail(&self, lines: usize) -> String {
        match &self.owner {
            Owner::Keeper { log, .. } => self.hide(&tail(log, lines)),
            Owner::Nobody => String::new(),
        }
    }

    fn last_words(&self) -> String {
        match &self.owner {
            Owner::Keeper { log, .. } => self.hide(&last_words(log)),
            Owner::Nobody => String::new(),
        }
    }

    fn hide(&self, text: &str) -> String {
        secret::hide(text, self.secrets.iter().map(Secret::reveal))
    }

    fn freezer(&self, action: &'static str) -> Result<&Freezer> {
        match &self.owner {
            Owner::Keeper { freezer, .. } => Ok(freezer),
            Owner::Nobody => Err(self.freeze_error(action, &"it has ended")),
        }
    }

    fn freeze_error(&self, action: &'static str, reason: &dyn std::fmt::Display) -> Error {
        Error::Freeze { action, pid: self.pid, reason: reason.to_string() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The text of a log. A server may write any amount, and cut or stretch what it wrote: of a long
/// log the middle is left out.
pub(crate) fn log_text(file: &Path) -> Result<String> {
    let mut log = fs::File::open(file)?;
    let mut bytes = Vec::new();
    log.by_ref().take(LOG_PART_BYTES).read_to_end(&mut bytes)?;
    let rest = log.metadata()?.len().saturating_sub(LOG_PART_BYTES);
    if rest > LOG_PART_BYTES {
        log.seek_relative(i64::try_from(rest - LOG_PART_BYTES).unwrap_or(i64::MAX))?;
        bytes.push(b'\n');
    }
    log.take(LOG_PART_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a log; empty if it cannot be read.
pub(crate) fn tail(file: &Path, lines: usize) -> String {
    let text = log_text(file).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// What a log says about a failure: its first errors, where they are before the last lines, and
/// those.
pub(crate) fn last_words(file: &Path) -> String {
    let text = tail(file, usize::MAX);
    let lines: Vec<&str> = text.lines().collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
    let is_error = |line: &&&str| ERROR_MARKS.iter().any(|mark| line.contains(mark));
    let mut words: Vec<&str> = before.iter().filter(is_error).take(FIRST_ERRORS).copied().collect();
    words.extend(last);
    if words.is_empty() { "(it is empty)".to_owned() } else { words.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{SeekFrom, Write};

    #[test]
    fn errors_are_not_lost_behind_the_words_of_a_shutdown() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut text = "start\n1 [ERROR] unknown variable `x`\n".to_owned();
        (0..30).for_each(|number| text.push_str(&format!("shutting down {number}\n")));
        fs::write(log.path(), &text).unwrap();
        let words = last_words(log.path());
        assert!(words.starts_with("1 [ERROR] unknown variable `x`\nshutting down 10\n"), "{words}");
        assert!(words.ends_with("shutting down 29"), "{words}");
        assert_eq!(tail(log.path(), 1), "shutting down 29");
        assert_eq!(tail(Path::new("/no/such/log"), 1), "");
    }

    #[test]
    fn a_log_that_a_server_stretched_is_not_read_whole() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        log.write_all(b"1 [ERROR] first\n").unwrap();
        log.as_file().set_len(1 << 40).unwrap();
        log.seek(SeekFrom::End(0)).unwrap();
        log.write_all(b"\nlast").unwrap();
        let text = log_text(log.path()).unwrap();
        assert!(text.len() < 10 << 20 && text.starts_with("1 [ERROR] first\n"));
        assert_eq!(tail(log.path(), 1), "last");
    }
}
