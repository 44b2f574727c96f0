//! The code of a task: read where it is executed, and decoded once.

use super::{
    ptrace,
    way::{self, Ahead, PIECE},
};
use fs_err::os::unix::fs::FileExt as _;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};
use std::{collections::HashMap, ops::Range, rc::Rc};

/// System calls after which other code may lie at an address: mmap, mprotect, munmap, mremap and
/// pkey_mprotect.
const MAPPING: [u64; 5] = [9, 10, 11, 25, 329];

/// Finds what lies ahead of a task.
pub(super) struct CodeOf {
    task: u32,
    /// Most instructions of a way.
    longest: usize,
    /// The memory of its process.
    memory: Option<fs_err::File>,
    known: HashMap<u64, Rc<Ahead>>,
    /// Addresses of code that only a mapping can change: that of files, and the kernel's own. None
    /// if they have to be looked for.
    lasting: Option<Vec<Range<u64>>>,
}

impl CodeOf {
    pub(super) fn new(task: u32, longest: usize) -> Self {
        let memory = fs_err::File::open(format!("/proc/{task}/mem")).ok();
        Self { task, longest, memory, known: HashMap::new(), lasting: None }
    }

    /// What lies ahead of an address. Code that was made while the process ran is decoded each
    /// time.
    pub(super) fn ahead(&mut self, at: u64) -> Rc<Ahead> {
        if let Some(known) = self.known.get(&at) {
            return Rc::clone(known);
        }
        let found = Rc::new(way::ahead(at, self.longest, |at| self.read(at)));
        let lasting = self.lasting.get_or_insert_with(|| lasting(self.task));
        let lasts = |address: &u64| lasting.iter().any(|range| range.contains(address));
        let keeps = match found.as_ref() {
            Ahead::Way(way) => way.through().iter().chain(&way.ends).all(lasts),
            Ahead::SystemCall | Ahead::Step => lasts(&at),
        };
        if keeps {
            self.known.insert(at, Rc::clone(&found));
        }
        found
    }

    /// Before a system call of the task: forgets what that may change. Other tasks of the process
    /// load and unload code so rarely while queries are answered that they are not looked at.
    pub(super) fn before_system_call(&mut self) {
        if ptrace::number_register(self.task).is_ok_and(|call| MAPPING.contains(&call)) {
            self.known.clear();
            self.lasting = None;
        }
    }

    fn read(&self, at: u64) -> Vec<u8> {
        let mut bytes = vec![0; PIECE];
        let read = |bytes: &mut [u8]| self.memory.as_ref()?.read_at(bytes, at).ok();
        let length = read(&mut bytes).unwrap_or(0);
        bytes.truncate(length);
        bytes
    }
}

fn lasting(task: u32) -> Vec<Range<u64>> {
    let lasts = |map: &MemoryMap| {
        map.perms.contains(MMPermissions::EXECUTE)
            && !map.perms.contains(MMPermissions::WRITE)
            && matches!(map.pathname, MMapPath::Path(_) | MMapPath::Vdso)
    };
    let process = i32::try_from(task).ok().and_then(|task| Process::new(task).ok());
    let maps = process.and_then(|process| process.maps().ok()).into_iter().flatten();
    maps.filter(lasts).map(|map| map.address.0..map.address.1).collect()
}
