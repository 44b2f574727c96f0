//! The noise bank: one file of JSON lines, one line per run of a build against itself.

use crate::{Error, Result, layout, sums};
use fs_err as fs;
use model::bank::{BANK_FORMAT, BankedRun};
use serde::de::DeserializeOwned;
use std::{io::Write as _, path::Path};

/// A bank as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Bank {
    /// Its lines, in order.
    pub runs: Vec<BankedRun>,
    /// SHA-256 of the text, hexadecimal.
    pub sha256: String,
}

impl Bank {
    /// The bank at `path`, or none if there is no such file.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        match sums::read(path) {
            Ok(bytes) => Self::parse(path, &bytes).map(Some),
            Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A bank with this text; `path` is for messages. Fails for a line that cannot be read: a
    /// prior of some of the runs would be another prior.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let text = String::from_utf8_lossy(bytes);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
        let run = |(number, line): (u32, &str)| {
            let found: layout::Format = of_line(path, number, line)?;
            if found.format > BANK_FORMAT {
                let (path, found) = (path.to_owned(), found.format);
                return Err(Error::Newer { path, found, known: BANK_FORMAT });
            }
            of_line(path, number, line)
        };
        let mut runs: Vec<BankedRun> = Vec::new();
        for run in lines.map(run) {
            let run = run?;
            // Files that were joined may share lines, and no run says anything twice.
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        Ok(Self { runs, sha256: sums::sum_of(bytes) })
    }

    /// Adds a run to the bank at `path`, which is created where it is missing.
    pub fn append(path: &Path, run: &BankedRun) -> Result<()> {
        let mut line = serde_json::to_vec(run).map_err(|error| layout::malformed(path, &error))?;
        line.push(b'\n');
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        // Two processes do not mix their lines.
        file.file().lock()?;
        // A line that was cut, as by a crash, is not continued: it alone is lost.
        let before = fs::read(path)?;
        if before.last().is_some_and(|last| *last != b'\n') {
            line.insert(0, b'\n');
        }
        let written = file.write_all(&line).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // On a full disk a part of the line may be there, with which nobody reads the bank.
            let _ = file.set_len(before.len() as u64);
            error.into()
        })
    }
}

/// What a line of a bank holds; an error says which line it is.
fn of_line<T: DeserializeOwned>(path: &Path, number: u32, line: &str) -> Result<T> {
    serde_json::from_str(line).map_err(|error| {
        let error = error.to_string();
        // Each line is a text of its own, so that all of them are its line 1.
        let reason = error.rsplit_once(" at line ").map_or(error.as_str(), |(reason, _)| reason);
        layout::malformed(path, &format!("line {number}: {reason}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::bank::{BankedPhase, HostClass};

    fn run(id: &str) -> BankedRun {
        BankedRun {
            format: BANK_FORMAT,
            run: id.to_owned(),
            started_us: 1,
            host: HostClass {
                cpu: "CPU".to_owned(),
                cpus: 2,
                kernel: "6.18".to_owned(),
                virtualization: String::new(),
                counters: "none".to_owned(),
            },
            dbdyno: "0.1.0".to_owned(),
            experiment: "mine".to_owned(),
            server: "sqlite".to_owned(),
            subject: "sqlite-3.50.4".to_owned(),
            note: String::new(),
            block_seconds: 2.5,
            phases: vec![BankedPhase {
                phase: "insert".to_owned(),
                group: "write".to_owned(),
                log_ratios: [("ops_per_second".to_owned(), vec![0.01, -0.02])].into(),
                values: [("ops_per_second".to_owned(), 1000.5)].into(),
            }],
        }
    }

    #[test]
    fn runs_are_appended_and_read_back() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("bank.jsonl");
        assert_eq!(Bank::read(&path).unwrap(), None);
        Bank::append(&path, &run("one")).unwrap();
        let first = Bank::read(&path).unwrap().unwrap();
        Bank::append(&path, &run("two")).unwrap();
        let both = Bank::read(&path).unwrap().unwrap();
        assert_eq!(first.runs, [run("one")]);
        assert_eq!(both.runs, [run("one"), run("two")]);
        assert_ne!(first.sha256, both.sha256);
    }

    #[test]
    fn a_run_in_two_of_the_files_that_were_joined_counts_once() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("bank.jsonl");
        Bank::append(&path, &run("one")).unwrap();
        let earlier = fs::read(&path).unwrap();
        Bank::append(&path, &run("two")).unwrap();
        let joined = [earlier, fs::read(&path).unwrap()].concat();
        let found = Bank::parse(&path, &joined).unwrap();
        assert_eq!(found.runs, [run("one"), run("two")]);
    }

    #[test]
    fn a_damaged_or_newer_line_is_refused_by_name() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("bank.jsonl");
        let check = |text: &str, expected: &str| {
            fs::write(&path, text).unwrap();
            let said = Bank::read(&path).unwrap_err().to_string();
            assert!(said.contains("bank.jsonl") && said.contains(expected), "{said}");
        };
        check("{\"format\":2}\n", "has format 2, this dbdyno reads up to 1");
        check("{\"format\":1}\n", "is not readable: line 1: missing field `run`;");
        check("\n\nhalf a li", "is not readable: line 3: ");
        // A pipe would be waited for, and a device may have no end.
        let said = Bank::read(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(said.contains("it is not a regular file"), "{said}");
    }

    #[test]
    fn a_line_that_was_cut_takes_no_other_with_it() {
        let lab = tempfile::tempdir().unwrap();
        let path = lab.path().join("bank.jsonl");
        fs::write(&path, "{\"format\":1,\"ru").unwrap();
        Bank::append(&path, &run("one")).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let (cut, whole) = text.split_once('\n').unwrap();
        assert_eq!(cut, "{\"format\":1,\"ru");
        assert_eq!(Bank::parse(&path, whole.as_bytes()).unwrap().runs, [run("one")]);
    }
}
