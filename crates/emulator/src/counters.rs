//! The file of counters that the plugin writes: a head and a page for each thread. The layout is
//! that of `counter.c`.

use crate::{Error, Result, chosen};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use std::{
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// Its name.
pub(crate) const FILE: &str = "counters";
const PAGE: usize = 4096;
/// Threads that a program may have had. The file has holes where none has been.
const SLOTS: u64 = 8192;
/// Words of a page before its system calls.
const HEAD_WORDS: usize = 16;
const CALLS: usize = 480;
const NAME: std::ops::Range<usize> = 32..48;
const UNPLACED: usize = 6;
const CHOSEN_WORD: usize = HEAD_WORDS + CALLS;
/// Functions that can be chosen.
pub(crate) const CHOSEN: usize = 7;
const ENDED: u64 = 2;

/// The counters of one program, readable while it works.
#[derive(Debug)]
pub struct Counters {
    path: PathBuf,
    file: fs::File,
    /// Names of the chosen functions.
    chosen: Vec<String>,
}

/// What a thread has done since it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Kernel task.
    pub task: u32,
    /// Its process.
    pub process: u32,
    /// What it is called, up to 15 bytes.
    pub name: String,
    /// Whether it has ended.
    pub ended: bool,
    /// Instructions in user mode.
    pub instructions: u64,
    /// Of these, those for which the tree of calls had no room.
    pub unplaced: u64,
    /// System calls by number, those that were made; the last number stands for all from 479 on.
    pub calls: Vec<(u16, u64)>,
    /// The chosen functions, by their places in [`Snapshot::chosen`].
    pub within: [Within; CHOSEN],
}

/// Calls of a chosen function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Within {
    /// How often it was called.
    pub calls: u64,
    /// User instructions from its calls to their returns. Those within a call of any chosen
    /// function belong to the outermost one.
    pub instructions: u64,
}

/// All threads of a program, also those that have ended, in the order in which they began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The threads.
    pub threads: Vec<Thread>,
    /// Threads for which there was no room; they were not counted.
    pub lost: u64,
    /// Names of the chosen functions.
    pub chosen: Vec<String>,
}

impl Counters {
    /// Makes an empty file of counters in a folder, or empties the one that is there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path)?;
        file.set_len((SLOTS + 1) * PAGE as u64)?;
        file.file().write_all_at(&SLOTS.to_ne_bytes(), 0)?;
        Ok(Self { path, file, chosen: Vec::new() })
    }

    /// The counters in a folder that was prepared for a program.
    ///
    /// # Errors
    /// If there are none.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let file = open_plain(&path, fs::OpenOptions::new().read(true))?;
        Ok(Self { file, path, chosen: chosen::names(folder)? })
    }

    /// Reads all counters. Those of a thread that waits are complete; one that works is counted up
    /// to the block of instructions that it executes.
    ///
    /// # Errors
    /// If the file cannot be read, or something else wrote to it.
    pub fn read(&self) -> Result<Snapshot> {
        let mut page = [0; PAGE];
        self.read_page(0, &mut page)?;
        let used = word(&page, 1);
        if word(&page, 0) != SLOTS {
            return Err(Error::Layout(self.path.clone()));
        }
        let mut threads = Vec::new();
        for slot in 1..=used.min(SLOTS) {
            self.read_page(slot, &mut page)?;
            // A slot is taken before it is filled.
            threads.extend(thread(&page));
        }
        Ok(Snapshot { threads, lost: used.saturating_sub(SLOTS), chosen: self.chosen.clone() })
    }

    fn read_page(&self, index: u64, page: &mut [u8; PAGE]) -> Result<()> {
        Ok(self.file.file().read_exact_at(page, index * PAGE as u64)?)
    }
}

/// Opens a file in a folder that the program may write to: through no link, which may lead to
/// anything of the measuring user's, and without waiting at a pipe.
pub(crate) fn open_plain(path: &Path, options: &mut fs::OpenOptions) -> io::Result<fs::File> {
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(format!("`{}` is no file", path.display()))),
    }
}

impl Snapshot {
    /// What was done since an earlier reading, by the threads that did something.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        // A slot is never used twice, so threads stand at the same place.
        let mut threads = Vec::new();
        for (place, now) in self.threads.iter().enumerate() {
            let earlier = before.threads.get(place).filter(|earlier| earlier.task == now.task);
            let done = earlier.map_or_else(|| now.clone(), |earlier| now.since(earlier));
            if done.instructions > 0 {
                threads.push(done);
            }
        }
        let lost = self.lost.saturating_sub(before.lost);
        Self { threads, lost, chosen: self.chosen.clone() }
    }

    /// Instructions of all threads.
    pub fn instructions(&self) -> u64 {
        self.threads.iter().map(|thread| thread.instructions).sum()
    }
}

impl Thread {
    fn since(&self, before: &Self) -> Self {
        let earlier = |number: u16| {
            let known = before.calls.iter().find(|(known, _)| *known == number);
            known.map_or(0, |(_, calls)| *calls)
        };
        // The program can write to its counters, and may be wrong.
        let calls = self.calls.iter();
        let calls = calls.map(|(number, now)| (*number, now.saturating_sub(earlier(*number))));
        Self {
            instructions: self.instructions.saturating_sub(before.instructions),
            unplaced: self.unplaced.saturating_sub(before.unplaced),
            calls: calls.filter(|(_, calls)| *calls > 0).collect(),
            within: std::array::from_fn(|index| {
                let [now, before] = [self.within[index], before.within[index]];
                Within {
                    calls: now.calls.saturating_sub(before.calls),
                    instructions: now.instructions.saturating_sub(before.instructions),
                }
            }),
            ..self.clone()
        }
    }
}

fn thread(page: &[u8; PAGE]) -> Option<Thread> {
    let state = word(page, 0);
    let name: Vec<u8> = page[NAME].iter().copied().take_while(|byte| *byte > 0).collect();
    let calls = (0..CALLS).map(|number| (number as u16, word(page, HEAD_WORDS + number)));
    (state > 0).then(|| Thread {
        task: word(page, 1) as u32,
        process: word(page, 2) as u32,
        name: String::from_utf8_lossy(&name).into_owned(),
        ended: state == ENDED,
        instructions: word(page, 3),
        unplaced: word(page, UNPLACED),
        calls: calls.filter(|(_, calls)| *calls > 0).collect(),
        within: std::array::from_fn(|index| Within {
            calls: word(page, CHOSEN_WORD + 2 * index),
            instructions: word(page, CHOSEN_WORD + 2 * index + 1),
        }),
    })
}

fn word(page: &[u8; PAGE], index: usize) -> u64 {
    let bytes = std::array::from_fn(|byte| page[index * 8 + byte]);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(task: u32, instructions: u64, calls: &[(u16, u64)]) -> Thread {
        let (name, calls) = ("a".to_owned(), calls.to_vec());
        let within = Default::default();
        Thread { task, process: 7, name, ended: false, instructions, unplaced: 0, calls, within }
    }

    #[test]
    fn a_difference_has_the_threads_that_did_something() {
        let before = Snapshot {
            threads: vec![thread(7, 100, &[(0, 2), (1, 1)]), thread(8, 50, &[])],
            ..Snapshot::default()
        };
        let new = thread(9, 5, &[(60, 1)]);
        let after = Snapshot {
            threads: vec![thread(7, 160, &[(0, 5), (1, 1)]), thread(8, 50, &[]), new.clone()],
            lost: 1,
            chosen: vec!["a".to_owned()],
        };
        let done = after.since(&before);
        let threads = vec![thread(7, 60, &[(0, 3)]), new];
        assert_eq!(done, Snapshot { threads, lost: 1, chosen: vec!["a".to_owned()] });
        assert_eq!(done.instructions(), 65);
        assert!(before.since(&after).threads.is_empty(), "nobody counts backwards");
    }

    #[test]
    fn a_new_file_has_no_threads_and_another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let counters = Counters::create(folder.path()).unwrap();
        assert_eq!(counters.read().unwrap(), Snapshot::default());
        fs::write(folder.path().join(FILE), vec![1; PAGE]).unwrap();
        let error = counters.read().unwrap_err().to_string();
        assert!(error.contains("is not a file of counters"), "{error}");
        fs::rename(folder.path().join(FILE), folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink("other", folder.path().join(FILE)).unwrap();
        assert!(Counters::open(folder.path()).is_err(), "it is a link");
    }
}
