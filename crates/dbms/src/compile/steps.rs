//! Executing the steps of a recipe: as the user of the servers, with an environment of their own,
//! and in a group of processes that ends with the step, or with dbdyno.

use super::{Compilers, Order, compiler::PATH, work::Work};
use crate::{
    CompileError, Error, Result,
    leftovers::try_lock,
    process::{GUARD, ended_within, open},
};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use model::recipe::Way;
use std::{
    io::{Read, Seek, SeekFrom, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Who follows a build.
pub struct Watch<'a> {
    /// Hears a sentence per step, and now and then during a long one.
    pub progress: &'a mut dyn FnMut(&str),
    /// Whether it is to end early.
    pub stopped: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    pub(super) fn say(&mut self, text: &str) {
        (self.progress)(text);
    }

    pub(super) fn check(&self, label: &str) -> Result<()> {
        let stopped = || Error::Compile(CompileError::Interrupted { build: label.to_owned() });
        if (self.stopped)() { Err(stopped()) } else { Ok(()) }
    }

    /// Waits, with a word, for the turn of a build, which others of this host may be at; it ends
    /// with the file.
    pub(crate) fn turn(&mut self, file: &Path, label: &str) -> Result<fs::File> {
        let turn = fs::File::create(file)?;
        let mut is_told = false;
        while !try_lock(&turn)? {
            if !is_told {
                self.say(&format!("{label} waits for another build"));
                is_told = true;
            }
            self.check(label)?;
            std::thread::sleep(LOOK);
        }
        Ok(turn)
    }
}

/// The steps of one build.
pub(super) struct Steps<'a> {
    pub(super) order: &'a Order,
    pub(super) way: &'a Way,
    pub(super) compilers: &'a Compilers,
    pub(super) work: &'a Work<'a>,
    pub(super) log: &'a Path,
}

/// What the placeholders for folders stand for.
pub(super) struct Folders<'a> {
    pub(super) tree: &'a Path,
    pub(super) prefix: &'a Path,
    pub(super) stage: &'a Path,
    pub(super) out: &'a Path,
}

/// How often it is looked whether a build is to end.
const LOOK: Duration = Duration::from_millis(200);
/// How often a long step reports its progress.
const TOLD: Duration = Duration::from_secs(15);

impl Steps<'_> {
    pub(super) fn run(&self, folders: &Folders<'_>, watch: &mut Watch<'_>) -> Result<()> {
        let mut options = fs::OpenOptions::new();
        options.create(true).write(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let mut log = options.open(self.log)?;
        let count = self.way.steps.len();
        for (index, words) in self.way.steps.iter().enumerate() {
            let words = self.words(words, folders);
            let program = words.first().map(String::as_str).unwrap_or_default();
            let program = program.rsplit('/').next().unwrap_or(program).to_owned();
            let step = format!("step {} of {count}, `{program}`", index + 1);
            watch.say(&format!("compiling {}: {step}", self.order.label()));
            writeln!(log, "$ {}", words.join(" "))?;
            let child = self.spawn(&words, folders.tree, &log)?;
            let reason = self.wait(child, &step, watch)?;
            if let Some(reason) = reason {
                return Err(self.failed(&format!("{step}: {reason}")));
            }
        }
        Ok(())
    }

    /// The error of a build whose log tells more.
    pub(super) fn failed(&self, reason: &str) -> Error {
        let is_revision = self.order.tree.kind == "git";
        let lacks_parts = is_revision && self.work.tree().join(".gitmodules").is_file();
        let hint = match lacks_parts {
            true => " (its submodules are not there: name a folder that holds them by `path`)",
            false => "",
        };
        Error::Compile(CompileError::Failed {
            build: self.order.label(),
            reason: format!("{reason}{hint}"),
            path: self.log.to_owned(),
            log: last_words(&end_of(self.log).unwrap_or_default()),
        })
    }

    /// The words of a step with what placeholders stand for.
    fn words(&self, words: &[String], folders: &Folders<'_>) -> Vec<String> {
        let set = &self.order.set;
        let shown = |path: &Path| path.display().to_string();
        let cxx = self.compilers.cxx.clone().unwrap_or_default();
        let values = [
            ("{cc}", shown(&self.compilers.cc)),
            ("{cxx}", shown(&cxx)),
            ("{flags}", set.options.clone()),
            ("{configure}", set.configure.join(" ")),
            ("{jobs}", jobs(self.order.recipe.memory_mib_per_job).to_string()),
            ("{tree}", shown(folders.tree)),
            ("{prefix}", shown(folders.prefix)),
            ("{stage}", shown(folders.stage)),
            ("{out}", shown(folders.out)),
        ];
        let one = |word: &String| match word.as_str() {
            "{flags}" => set.options.split_whitespace().map(str::to_owned).collect(),
            "{configure}" => set.configure.clone(),
            _ => vec![
                values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value)),
            ],
        };
        words.iter().flat_map(one).collect()
    }

    fn spawn(&self, words: &[String], folder: &Path, log: &fs::File) -> Result<Child> {
        let home = self.work.home();
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", GUARD, "sh"])
            .args(words)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", &home)
            .env("TMPDIR", &home)
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            // Programs that tell when they were compiled would differ.
            .env("SOURCE_DATE_EPOCH", "1")
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.file().try_clone()?)
            .stderr(log.file().try_clone()?);
        if let Some(user) = self.work.places.user {
            command.gid(user.gid).uid(user.uid);
        }
        command.spawn().map_err(|error| self.failed(&format!("cannot execute: {error}")))
    }

    /// Waits for the end of a step, and ends whatever it left; why it failed, if it did.
    fn wait(&self, mut child: Child, step: &str, watch: &mut Watch<'_>) -> Result<Option<String>> {
        let guard = child.stdin.take();
        let (start, mut told) = (Instant::now(), Instant::now());
        let process = open(child.id())?;
        let stopped = loop {
            if ended_within(&process, LOOK) {
                break Ok(());
            }
            if let Err(stopped) = watch.check(&self.order.label()) {
                break Err(stopped);
            }
            if told.elapsed() >= TOLD {
                told = Instant::now();
                let seconds = start.elapsed().as_secs();
                watch.say(&format!("compiling {}: {step}, {seconds} s", self.order.label()));
            }
        };
        // The rest of the group ends with its guard.
        drop(guard);
        let status = child.wait()?;
        stopped?;
        Ok(match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("exit code {code}")),
            (None, signal) => Some(format!("signal {}", signal.unwrap_or_default())),
        })
    }
}

/// Lines at the end of a log that are shown, and errors before them.
const LAST_LINES: usize = 8;
const FIRST_ERRORS: usize = 3;

/// More of a log than this is not read, bytes.
const LOG_MAX: u64 = 1 << 20;

/// The end of a log, without what a terminal would obey.
fn end_of(log: &Path) -> Result<String> {
    let mut file = fs::File::open(log)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LOG_MAX)))?;
    let mut bytes = Vec::new();
    file.take(LOG_MAX).read_to_end(&mut bytes)?;
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    Ok(String::from_utf8_lossy(&bytes).chars().map(plain).collect())
}

/// What a log says about a failure: its first errors, and its last lines.
fn last_words(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
    let is_error = |line: &&&str| line.contains("error: ") || line.contains("Error: ");
    let errors = before.iter().filter(is_error).take(FIRST_ERRORS);
    errors.chain(last).copied().collect::<Vec<_>>().join("\n")
}

const MEMORY: &str = "/proc/meminfo";

/// Jobs at a time: one for each processor, and not more than the free memory is enough for.
fn jobs(memory_mib_per_job: u64) -> u64 {
    let processors = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
    let text = fs::read_to_string(PathBuf::from(MEMORY)).unwrap_or_default();
    limited(processors, &text, memory_mib_per_job)
}

fn limited(processors: u64, meminfo: &str, memory_mib_per_job: u64) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let fitting = kib.map_or(processors, |kib| kib / 1024 / memory_mib_per_job.max(1));
    processors.min(fitting).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_turn_is_waited_for_with_a_word_until_nobody_wants_it() {
        let folder = tempfile::tempdir().unwrap();
        let [taken, free] = ["taken", "free"].map(|name| folder.path().join(name));
        let other = fs::File::create(&taken).unwrap();
        assert!(try_lock(&other).unwrap());
        let (mut said, is_heard) = (Vec::new(), Cell::new(false));
        let mut progress = |text: &str| {
            said.push(text.to_owned());
            is_heard.set(true);
        };
        let stopped = || is_heard.get();
        let mut watch = Watch { progress: &mut progress, stopped: &stopped };
        assert!(watch.turn(&free, "mysql@5").is_ok());
        let error = watch.turn(&taken, "mysql@9").unwrap_err().to_string();
        assert!(error.starts_with("compiling mysql@9 was interrupted"), "{error}");
        assert_eq!(said, ["mysql@9 waits for another build"]);
    }

    #[test]
    fn the_first_errors_of_a_log_are_shown_before_its_end() {
        let mut log = "$ make\na.c:1: error: one\n".to_owned();
        (0..20).for_each(|line| log.push_str(&format!("line {line}\n")));
        log.push_str("make: *** [all] Error 2\n");
        let shown = last_words(&log);
        assert!(shown.starts_with("a.c:1: error: one\nline 13\n"), "{shown}");
        assert!(shown.ends_with("line 19\nmake: *** [all] Error 2"), "{shown}");
    }

    #[test]
    fn jobs_fit_into_the_memory_that_is_free() {
        let check = |processors, meminfo: &str, each, expected| {
            assert_eq!(limited(processors, meminfo, each), expected, "{meminfo}");
        };
        check(8, "MemTotal: 1 kB\nMemAvailable:    4194304 kB\n", 1000, 4);
        check(2, "MemAvailable: 4194304 kB\n", 1000, 2);
        check(8, "MemAvailable: 1024 kB\n", 1000, 1);
        check(8, "", 1000, 8);
        check(8, "MemAvailable: 4194304 kB\n", 0, 8);
    }
}
