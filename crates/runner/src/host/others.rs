//! What others do on this host while something is measured: other runs of dbdyno, and the CPU time
//! of all processes that are not of this run.

use crate::Error;
use dbms::Announcement;
use probe::{HostTime, OwnCpu};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// CPU time of others from which on a run warns before it begins. The kernel counts in ticks of
/// 10 ms on each CPU: less are three of them in a look.
const BUSY_PERCENT: f64 = 10.0;
/// The same below which the host is quiet.
const QUIET_PERCENT: f64 = 5.0;

/// Length of a look at the host.
const LOOK: Duration = Duration::from_millis(300);

/// One mark for each other command of dbdyno that works on this host now.
pub(crate) fn concurrent(announcement: Option<&Announcement>) -> Vec<String> {
    let others = announcement.map(Announcement::others).unwrap_or_default();
    let mark = |other: dbms::Neighbor| format!("not alone on this host: `{}` ran too", other.name);
    others.into_iter().map(mark).collect()
}

/// CPU time of other processes during a short look, in percent of one CPU.
fn used_percent(proc: &Path) -> Result<f64, Error> {
    let (own, before, start) = (OwnCpu::now(proc), busy_ns(proc)?, Instant::now());
    std::thread::sleep(LOOK);
    let busy = busy_ns(proc)? - before;
    let now = OwnCpu::now(proc);
    let used = (busy - now.process_ns_since(&own) - now.kernel_ns_since(&own)).max(0.0);
    Ok(used / start.elapsed().as_nanos() as f64 * 100.0)
}

/// Waits until other processes hardly use the CPUs, at most so long. The servers of this run have
/// to be idle.
pub(crate) fn await_quiet(proc: &Path, limit: Duration) -> Result<(), Error> {
    let start = Instant::now();
    while used_percent(proc)? >= QUIET_PERCENT && start.elapsed() < limit {}
    Ok(())
}

/// A warning where other processes use the CPUs before anything of this run does.
pub(crate) fn warning(proc: &Path) -> Result<Option<String>, Error> {
    let percent = used_percent(proc)?;
    if percent < BUSY_PERCENT {
        return Ok(None);
    }
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

/// CPU time of all tasks, nanoseconds.
fn busy_ns(proc: &Path) -> Result<f64, Error> {
    let text = fs_err::read_to_string(proc.join("stat"))?;
    Ok(HostTime::of(&text).map_or(0.0, |time| time.busy_ns - time.irq_ns))
}
