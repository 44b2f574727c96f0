//! Tracer and tasks on one CPU.
//!
//! A step is a short talk between two tasks that never work at the same time. On two CPUs each turn
//! wakes the other CPU; in a virtual machine that made stepping three times slower.

use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
};

/// Tasks bound to one CPU until dropped; they get their own CPUs back then.
pub(super) struct OneCpu {
    /// Tasks with the CPUs that they may use.
    before: Vec<(Option<Pid>, CpuSet)>,
}

impl OneCpu {
    /// Binds the calling thread and the tasks to a CPU that all of them may use. Where there is
    /// none, or where it is not permitted, they stay as they are: it is slower, not wrong.
    pub(super) fn bind(tasks: &[u32]) -> Self {
        let others = tasks.iter().filter_map(|task| pid(*task)).map(Some);
        let known = [None].into_iter().chain(others);
        let before: Vec<_> =
            known.filter_map(|task| Some((task, sched_getaffinity(task).ok()?))).collect();
        let common = |cpu: &usize| before.iter().all(|(_, set)| set.is_set(*cpu));
        let here = sched_getcpu();
        let cpu = [here].into_iter().chain(0..CpuSet::MAX_CPU).find(common);
        if let Some(cpu) = cpu {
            let mut one = CpuSet::new();
            one.set(cpu);
            for (task, _) in &before {
                let _ = sched_setaffinity(*task, &one);
            }
        }
        Self { before }
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        for (task, set) in &self.before {
            // A task may have ended.
            let _ = sched_setaffinity(*task, set);
        }
    }
}

fn pid(task: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(task).ok()?)
}
