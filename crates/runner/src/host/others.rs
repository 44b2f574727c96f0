//! What others do on this host while something is measured: other runs of dbdyno, and the CPU time
//! of all processes that are not of this run.

use crate::Error;
use dbms::Announcement;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// Shares of a CPU from which on the load of others is marked, in percent. A cell's slices seldom
/// have the same load, and tables should not have a line for each.
const LEVELS: [u32; 7] = [10, 25, 50, 100, 200, 400, 800];

/// CPU time below which nothing is marked: the kernel counts in ticks of 10 ms on each CPU.
const FLOOR_NS: f64 = 40e6;

/// Length of the look at the host before a run.
const LOOK: Duration = Duration::from_millis(300);

/// The mark that the CPU time of others over a window deserves.
pub(crate) fn mark(used_ns: f64, window: Duration) -> Option<String> {
    let percent = used_ns / window.as_nanos() as f64 * 100.0;
    let level = LEVELS.into_iter().rev().find(|level| percent >= f64::from(*level));
    let level = level.filter(|_| used_ns >= FLOOR_NS)?;
    Some(format!("other processes used {level} % of a CPU or more"))
}

/// One mark for each other command of dbdyno that works on this host now.
pub(crate) fn concurrent(announcement: Option<&Announcement>) -> Vec<String> {
    let others = announcement.map(Announcement::others).unwrap_or_default();
    let mark = |other: dbms::Neighbor| format!("not alone on this host: `{}` ran too", other.name);
    others.into_iter().map(mark).collect()
}

/// A warning where other processes use the CPUs before anything of this run does.
pub(crate) fn warning(proc: &Path) -> Result<Option<String>, Error> {
    let (own, before, start) = (own_ns(), busy_ns(proc)?, Instant::now());
    std::thread::sleep(LOOK);
    let used = (busy_ns(proc)? - before - (own_ns() - own)).max(0.0);
    if mark(used, start.elapsed()).is_none() {
        return Ok(None);
    }
    let percent = used / start.elapsed().as_nanos() as f64 * 100.0;
    let text = fs_err::read_to_string(proc.join("loadavg"))?;
    // This process is one of those that run.
    let running = text.split_whitespace().nth(3).and_then(|part| part.split('/').next());
    let running = running.and_then(|n| n.parse::<u64>().ok()).unwrap_or(1).saturating_sub(1);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Some(format!(
        "this host is not idle: other processes use {percent:.0} % of a CPU (run queue {running}, \
         CPUs {cpus}); rates and times will be noisy, and `dbdyno doctor` names the busiest process"
    )))
}

/// Busy time of all CPUs, nanoseconds.
fn busy_ns(proc: &Path) -> Result<f64, Error> {
    let text = fs_err::read_to_string(proc.join("stat"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<f64> =
        line.split_whitespace().map(|number| number.parse().unwrap_or(0.0)).collect();
    let busy: f64 = [0, 1, 2, 5, 6].into_iter().filter_map(|at| ticks.get(at)).sum();
    Ok(busy * probe::tick_ns())
}

/// CPU time of this process and of the kernel's threads, nanoseconds.
pub(crate) fn own_ns() -> f64 {
    let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let kernel: u64 = probe::task_cpu(&probe::kernel_threads()).iter().map(|t| t.cpu_ns).sum();
    own.tv_sec as f64 * 1e9 + own.tv_nsec as f64 + kernel as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_has_a_figure_and_needs_more_than_some_ticks() {
        let second = Duration::from_secs(1);
        let check = |used_ns, window, expected: Option<&str>| {
            assert_eq!(mark(used_ns, window).as_deref(), expected, "{used_ns} in {window:?}");
        };
        check(0.09e9, second, None);
        check(0.1e9, second, Some("other processes used 10 % of a CPU or more"));
        check(1.9e9, second, Some("other processes used 100 % of a CPU or more"));
        check(99e9, second, Some("other processes used 800 % of a CPU or more"));
        check(0.03e9, Duration::from_millis(100), None);
    }
}
