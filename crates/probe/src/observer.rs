//! The kinds of observation, each between a begin and an end.
//!
//! Runs and agents observe by the same observers, so that what is known of a server does not depend
//! on the host that it is on.

use crate::{Error, Meter, Sampler, Snapshot, Target, Waits, task};
use model::{
    observed::{HostLoad, Observation, Observed},
    reading::{Reading, Scope},
};
use procfs::process::Schedstat;
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

/// Distance of the readings of a series.
const INTERVAL: Duration = Duration::from_secs(1);

/// An observation that is open on one target.
pub trait Observer: Send {
    /// Begins to observe.
    ///
    /// # Errors
    /// If a counter that was open cannot be read any more.
    fn begin(&mut self) -> Result<(), Error>;

    /// What it has found since it began, as far as it can tell before its end.
    ///
    /// # Errors
    /// As [`Observer::begin`].
    fn so_far(&mut self) -> Result<Observed, Error> {
        Ok(Observed::default())
    }

    /// Ends, and tells what it found.
    ///
    /// # Errors
    /// As [`Observer::begin`].
    fn end(&mut self) -> Result<Observed, Error>;
}

/// Opens an observation. The target must be idle or frozen.
///
/// # Errors
/// If counters that this host has cannot be attached.
pub fn observer(observation: Observation, target: &Target) -> Result<Box<dyn Observer>, Error> {
    let target = target.clone();
    Ok(match observation {
        Observation::Series => Box::new(Series { target, sampler: None }),
        Observation::Waits => Box::new(Waiting { target, waits: None, blind: None }),
        Observation::Window => {
            let meter = Meter::open(&target)?;
            let (before, own) = (Snapshot::default(), OwnCpu::now(&target.proc_root));
            Box::new(Window { meter, target, before, own, start: Instant::now() })
        }
    })
}

struct Series {
    target: Target,
    sampler: Option<Sampler>,
}

impl Observer for Series {
    fn begin(&mut self) -> Result<(), Error> {
        self.sampler = Some(Sampler::start(&self.target, INTERVAL)?);
        Ok(())
    }

    fn end(&mut self) -> Result<Observed, Error> {
        let series = self.sampler.take().map(Sampler::stop).unwrap_or_default();
        Ok(Observed { series, ..Observed::default() })
    }
}

struct Waiting {
    target: Target,
    waits: Option<Waits>,
    /// Why nothing can be seen.
    blind: Option<String>,
}

impl Observer for Waiting {
    fn begin(&mut self) -> Result<(), Error> {
        match Waits::start(&self.target) {
            Ok(waits) => self.waits = waits,
            Err(error) => self.blind = Some(format!("waits of serving tasks not seen ({error})")),
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Observed, Error> {
        let readings = self.waits.take().map(Waits::stop).unwrap_or_default();
        let marks = self.blind.take().into_iter().collect();
        Ok(Observed { readings, marks, ..Observed::default() })
    }
}

struct Window {
    meter: Meter,
    target: Target,
    before: Snapshot,
    own: OwnCpu,
    start: Instant,
}

impl Observer for Window {
    fn begin(&mut self) -> Result<(), Error> {
        // The counters come last, closest to the work.
        (self.start, self.own) = (Instant::now(), OwnCpu::now(&self.target.proc_root));
        self.before = self.meter.snapshot()?;
        Ok(())
    }

    fn so_far(&mut self) -> Result<Observed, Error> {
        let readings = Meter::readings(&self.before, &self.meter.snapshot()?);
        Ok(Observed { readings, ..Observed::default() })
    }

    fn end(&mut self) -> Result<Observed, Error> {
        let after = self.meter.snapshot()?;
        let (own, window) = (OwnCpu::now(&self.target.proc_root), self.start.elapsed());
        let readings = Meter::readings(&self.before, &after);
        let tasks = Meter::task_readings(&self.before, &after);
        let load = used(&self.target, &readings).map(|(host_ns, counted_ns)| HostLoad {
            host_ns,
            own_ns: counted_ns + own.process_ns_since(&self.own),
            kernel_ns: own.kernel_ns_since(&self.own),
            window_ns: window.as_nanos() as f64,
        });
        Ok(Observed { readings, tasks, marks: self.meter.marks(), load, ..Observed::default() })
    }
}

/// The CPU time of all tasks of the host and that of a target, where both are known whole.
fn used(target: &Target, readings: &[Reading]) -> Option<(f64, f64)> {
    let of = |scope: Scope, counters: [&str; 2]| {
        let find = |counter: &str| {
            readings.iter().find(|one| one.scope == scope && one.counter == counter)
        };
        counters.into_iter().find_map(find).map(Reading::delta)
    };
    let part = |scope: Scope, pids: &[u32]| match of(scope, ["cpu_ns", "task_clock_ns"]) {
        None if pids.is_empty() => Some(0.0),
        known => known,
    };
    let host = of(Scope::Host, ["host_cpu_ns", ""])?;
    let interrupts = of(Scope::Host, ["host_irq_ns", ""]).unwrap_or(0.0);
    let client = part(Scope::Client, &target.client_pids)?;
    Some((host - interrupts, client + part(Scope::Server, &target.server_pids)?))
}

/// CPU time of this process and of each of the kernel's threads, which write back what servers
/// wrote, since they began.
#[derive(Debug, Clone)]
pub struct OwnCpu {
    /// Before the look and after it: with many CPUs there are thousands of threads to look at.
    process_ns: [f64; 2],
    /// Nanoseconds by task.
    threads: BTreeMap<u32, u64>,
}

impl OwnCpu {
    /// Now.
    pub fn now(proc_root: &Path) -> Self {
        let process_ns = || {
            let own = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            own.tv_sec as f64 * 1e9 + own.tv_nsec as f64
        };
        let before = process_ns();
        // Each is a process of one task.
        let cpu_ns = |tid: u32| {
            let file = task::task_folder(proc_root, tid, tid).join("schedstat");
            Some((tid, task::parse::<Schedstat>(&file).ok()?.sum_exec_runtime))
        };
        let threads = task::kernel_threads_at(proc_root).into_iter().filter_map(cpu_ns).collect();
        Self { process_ns: [before, process_ns()], threads }
    }

    /// What this process has used between an earlier look and this one, nanoseconds.
    pub fn process_ns_since(&self, before: &Self) -> f64 {
        self.process_ns[0] - before.process_ns[1]
    }

    /// What the kernel's threads have used since an earlier look, nanoseconds. One that has ended,
    /// as idle workers do, takes nothing away from what the others used.
    pub fn kernel_ns_since(&self, before: &Self) -> f64 {
        let earlier = |tid: &u32| before.threads.get(tid).copied().unwrap_or(0);
        let used = self.threads.iter().map(|(tid, ns)| ns.saturating_sub(earlier(tid)));
        used.sum::<u64>() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn a_window_tells_the_counters_and_who_used_the_host() {
        let fake = FakeProc::new();
        fake.write("stat", "cpu 100 0 0 0 0 0 0 0\n").task(10, 10, "5000000000 0 1");
        fake.moves(10, 10, [0; 4]);
        let mut target = fake.target();
        target.server_pids = vec![10];
        let mut window = observer(Observation::Window, &target).unwrap();
        window.begin().unwrap();
        fake.write("stat", "cpu 400 0 0 0 0 0 0 0\n").task(10, 10, "7000000000 0 1");
        assert_eq!(window.so_far().unwrap().load, None);
        let found = window.end().unwrap();
        let of = |scope: Scope, counter: &str| {
            let own = |one: &&Reading| one.scope == scope && one.counter == counter;
            found.readings.iter().find(own).map(Reading::delta)
        };
        assert_eq!(of(Scope::Server, "cpu_ns"), Some(2e9));
        let load = found.load.unwrap();
        assert_eq!(load.host_ns, 300.0 * task::tick_ns());
        assert!(load.own_ns >= 2e9 && load.kernel_ns == 0.0 && load.window_ns > 0.0, "{load:?}");
    }

    #[test]
    fn a_thread_of_the_kernel_that_ends_is_no_load_of_others() {
        let fake = FakeProc::new();
        fake.task(2, 2, "1 0 1").write("2/task/2/comm", "kthreadd\n").children(2, 2, "3 4");
        fake.task(3, 3, "5000 0 1").task(4, 4, "90000 0 1");
        let before = OwnCpu::now(fake.root());
        fake.remove("4").children(2, 2, "3 5").task(3, 3, "5700 0 1").task(5, 5, "40 0 1");
        let now = OwnCpu::now(fake.root());
        assert_eq!(now.kernel_ns_since(&before), 740.0);
        assert!(now.process_ns_since(&before) >= 0.0);
    }

    #[test]
    fn looks_are_no_time_between_them() {
        let look = |process_ns| OwnCpu { process_ns, threads: BTreeMap::new() };
        let (first, second) = (look([100.0, 180.0]), look([300.0, 390.0]));
        assert_eq!(second.process_ns_since(&first), 120.0);
    }

    #[test]
    fn the_load_is_not_known_without_all_parts() {
        let reading = |scope, counter: &str, end| Reading {
            scope,
            counter: counter.to_owned(),
            start: 0.0,
            end,
        };
        let readings = [
            reading(Scope::Host, "host_cpu_ns", 60.0),
            reading(Scope::Server, "cpu_ns", 20.0),
            reading(Scope::Client, "task_clock_ns", 10.0),
        ];
        let mut target = Target::new(Path::new(""));
        target.server_pids = vec![1];
        assert_eq!(used(&target, &readings[..2]), Some((60.0, 20.0)), "no client is here");
        target.client_pids = vec![2];
        assert_eq!(used(&target, &readings), Some((60.0, 30.0)));
        assert_eq!(used(&target, &readings[..2]), None);
        assert_eq!(used(&target, &readings[1..]), None);
        let interrupts = [reading(Scope::Host, "host_irq_ns", 7.0)];
        let readings = [&readings[..], &interrupts[..]].concat();
        assert_eq!(used(&target, &readings), Some((53.0, 30.0)), "they are of no task");
    }
}
