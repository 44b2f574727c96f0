//! A fake `/proc` for tests, and work of a known size.

use crate::Target;
use std::path::Path;
use tempfile::TempDir;

/// A folder with files as the kernel writes them.
pub(crate) struct FakeProc(TempDir);

impl FakeProc {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn target(&self) -> Target {
        Target { proc_root: self.root().to_path_buf(), ..Target::new(Path::new("/data")) }
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
        self
    }

    /// A task with its `schedstat`: CPU ns, waiting ns, stretches.
    pub(crate) fn task(&self, pid: u32, tid: u32, schedstat: &str) -> &Self {
        let folder = format!("{pid}/task/{tid}");
        self.write(&format!("{folder}/schedstat"), &format!("{schedstat}\n"));
        self.write(&format!("{folder}/comm"), &format!("task-{tid}\n"))
    }

    /// The switches and page faults of a task: voluntary, involuntary, minor, major.
    pub(crate) fn moves(&self, pid: u32, tid: u32, counts: [u64; 4]) -> &Self {
        let [voluntary, involuntary, minor, major] = counts;
        let folder = format!("{pid}/task/{tid}");
        let status = format!(
            "Name:\tx\nTgid:\t{pid}\nvoluntary_ctxt_switches:\t{voluntary}\n\
             nonvoluntary_ctxt_switches:\t{involuntary}\n"
        );
        self.write(&format!("{folder}/status"), &status);
        let stat =
            format!("{tid} (a b) c) S 1 1 1 0 -1 4194304 {minor} 7 {major} 8 1 1 0 0 20 0\n");
        self.write(&format!("{folder}/stat"), &stat)
    }

    pub(crate) fn children(&self, pid: u32, tid: u32, children: &str) -> &Self {
        self.write(&format!("{pid}/task/{tid}/children"), children)
    }

    /// The `status` under the task's own number, which `/proc` has for tasks as well.
    pub(crate) fn status(&self, tid: u32, pid: u32) -> &Self {
        self.write(&format!("{tid}/status"), &format!("Name:\tx\nTgid:\t{pid}\n"))
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        fs_err::remove_dir_all(self.root().join(path)).unwrap();
        self
    }
}

/// Burns a number of user instructions that is proportional to `rounds`.
pub(crate) fn spin(rounds: u64) {
    let mut state = rounds;
    for round in 0..rounds {
        state = std::hint::black_box(state ^ round);
    }
}
