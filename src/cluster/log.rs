//! What a task leaves beside its results: its log, and the name of its host.

use super::{Cluster, LOGS};
use crate::talk;
use std::{
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Before each attempt of a task, in its log.
const BEGINS: &str = "this task is on ";
/// The part of a log that is read: its end has the reason of an end.
const END_BYTES: u64 = 64 << 10;
/// Characters of a line that is no error.
const LINE: usize = 200;
/// Errors that are shown: the batch system's and the run's.
const SHOWN: usize = 2;

/// The log of a task, which need not be there.
pub(crate) struct Log {
    path: PathBuf,
}

impl Log {
    /// Of a task.
    pub(crate) fn of(folder: &Path, task: u32) -> Self {
        Self { path: folder.join(LOGS).join(format!("{task}.log")) }
    }

    /// Whether the task ever began.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Names the host at the begin of an attempt. A full disk is the business of the run after it.
    pub(crate) fn begin(&self, cluster: &Cluster) {
        let host =
            std::env::var(cluster.host_variable).unwrap_or_else(|_| "an unknown host".into());
        talk::say(&format!("{BEGINS}{host}"));
        let _ = fs_err::write(self.host_file(), &host);
    }

    /// The host of the last attempt; empty where it is not known.
    pub(crate) fn host(&self) -> String {
        fs_err::read_to_string(self.host_file()).unwrap_or_default()
    }

    /// The errors of the last attempt as one sentence; none where it said none.
    pub(crate) fn errors(&self, cluster: &Cluster) -> Option<String> {
        errors(&self.end().ok()?, cluster)
    }

    /// What there is to say where there are no errors: of dbdyno, which another program may have
    /// kept from its start.
    pub(crate) fn silence(&self) -> String {
        let folder = self.path.parent().unwrap_or(&self.path).display();
        let log = self.end().unwrap_or_default();
        match log.lines().rfind(|line| !line.trim().is_empty()) {
            Some(last) => {
                let last: String = last.trim().chars().take(LINE).collect();
                format!("no error is in its log in `{folder}`, which ends with `{last}`")
            }
            None => format!("its log in `{folder}` is empty: is that disk full?"),
        }
    }

    fn end(&self) -> std::io::Result<String> {
        let mut file = fs_err::File::open(&self.path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn host_file(&self) -> PathBuf {
        self.path.with_extension("host")
    }
}

/// The last errors of the last attempt, without the command that `dbdyno retry` stands for.
fn errors(log: &str, cluster: &Cluster) -> Option<String> {
    let lines: Vec<&str> = log.lines().collect();
    let begin = lines.iter().rposition(|line| line.starts_with(BEGINS)).unwrap_or_default();
    let error = |line: &&str| match line.strip_prefix("error: ") {
        Some(own) => own.split(". Continue with: ").next().map(str::to_owned),
        None => (cluster.failure)(line),
    };
    let said: Vec<String> = lines[begin..].iter().filter_map(error).collect();
    let last = &said[said.len().saturating_sub(SHOWN)..];
    (!last.is_empty()).then(|| last.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::CLUSTERS;

    #[test]
    fn the_errors_of_the_last_attempt_are_its_reason() {
        let check = |log: &str, expected: Option<&str>| {
            assert_eq!(errors(log, &CLUSTERS[0]).as_deref(), expected, "{log}");
        };
        check("", None);
        check("this task is on n1\nerror: no space: 1 MiB\n", Some("no space: 1 MiB"));
        check("this task is on n1\nerror: x\nthis task is on n2\nthe report is y\n", None);
        check(
            "this task is on n2\nslurmstepd-n2: error: *** JOB 3 ON n2 CANCELLED AT noon ***\n\
             error: interrupted; no block is complete. Continue with: dbdyno run --resume\n",
            Some("Slurm canceled it; interrupted; no block is complete"),
        );
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir(folder.path().join(LOGS)).unwrap();
        let log = Log::of(folder.path(), 3);
        assert!(!log.exists() && log.errors(&CLUSTERS[0]).is_none() && log.host().is_empty());
        let text = format!("error: old\n{}\nerror: new\n", "x".repeat(END_BYTES as usize));
        fs_err::write(&log.path, "").unwrap();
        assert!(log.silence().ends_with("is empty: is that disk full?"));
        fs_err::write(&log.path, "a\ndbdyno: no such library\n\n").unwrap();
        assert!(log.silence().ends_with("which ends with `dbdyno: no such library`"));
        fs_err::write(&log.path, text).unwrap();
        assert_eq!(log.errors(&CLUSTERS[0]).as_deref(), Some("new"));
    }
}
