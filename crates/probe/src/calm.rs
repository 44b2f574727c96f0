//! Whether a server has come to rest: the share of a CPU that its background tasks use.

use crate::task_cpu;
use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::{Duration, Instant},
};

/// Watches the background tasks of a server from one look to the next.
#[derive(Debug)]
pub struct Calm {
    pids: Vec<u32>,
    foreground: BTreeSet<u32>,
    last: BTreeMap<u32, u64>,
    looked: Instant,
}

impl Calm {
    /// Takes the first look. `pids` are the server's processes, `foreground` the tasks that do not
    /// count.
    pub fn new(pids: &[u32], foreground: &[u32]) -> Self {
        let foreground = foreground.iter().copied().collect();
        let last = background(pids, &foreground);
        Self { pids: pids.to_vec(), foreground, last, looked: Instant::now() }
    }

    /// CPU time of the background since the last look, as a share of one CPU: 0 is rest, 1 is one
    /// busy CPU.
    pub fn share(&mut self) -> f64 {
        let now = background(&self.pids, &self.foreground);
        let elapsed = self.looked.elapsed();
        self.looked = Instant::now();
        let share = share(&self.last, &now, elapsed);
        self.last = now;
        share
    }
}

/// The background's share of one CPU over a window from now on; waits that long.
pub fn background_share(pids: &[u32], foreground: &[u32], window: Duration) -> f64 {
    let mut calm = Calm::new(pids, foreground);
    thread::sleep(window);
    calm.share()
}

fn background(pids: &[u32], foreground: &BTreeSet<u32>) -> BTreeMap<u32, u64> {
    let tasks = task_cpu(pids).into_iter();
    tasks.filter(|task| !foreground.contains(&task.tid)).map(|t| (t.tid, t.cpu_ns)).collect()
}

fn share(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>, elapsed: Duration) -> f64 {
    let moved: u64 = after
        .iter()
        .map(|(task, cpu)| cpu.saturating_sub(before.get(task).copied().unwrap_or(0)))
        .sum();
    if elapsed.is_zero() { 0.0 } else { moved as f64 / elapsed.as_nanos() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_tasks_count_and_ended_ones_do_not() {
        let map = |pairs: &[(u32, u64)]| pairs.iter().copied().collect::<BTreeMap<_, _>>();
        let second = Duration::from_secs(1);
        let before = map(&[(1, 500_000_000), (2, 10)]);
        let after = map(&[(1, 600_000_000), (3, 50_000_000)]);
        assert!((share(&before, &after, second) - 0.15).abs() < 1e-9);
        assert_eq!(share(&before, &before, second), 0.0);
        assert_eq!(share(&before, &after, Duration::ZERO), 0.0);
    }

    #[test]
    fn a_busy_task_disturbs_only_while_it_is_background() {
        let me = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let pid = std::process::id();
        // Both look at the same work of this thread; other tests of this process may work at the
        // same time, so only the difference that this thread makes is certain.
        let mut all = Calm::new(&[pid], &[]);
        let mut others = Calm::new(&[pid], &[me]);
        crate::fake::spin(100_000_000);
        thread::sleep(Duration::from_millis(1));
        let (all, others) = (all.share(), others.share());
        assert!(all > 0.0 && all > others, "{all} {others}");
    }
}
