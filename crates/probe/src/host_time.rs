//! How long the CPUs of a host were busy, by `/proc/stat`.

use crate::task::tick_ns;
use rustix::time::{ClockId, clock_gettime};
use std::ops::Sub;

/// The time of all CPUs of a host, nanoseconds since some moment: differences are what counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostTime {
    /// All of it.
    pub whole_ns: f64,
    /// Of tasks and of interrupts.
    pub busy_ns: f64,
    /// Of interrupts, where it is no time of the tasks that they interrupt: a kernel that tells
    /// them apart (`CONFIG_IRQ_TIME_ACCOUNTING`) counts those of devices, and no other one ever
    /// does.
    pub irq_ns: f64,
    /// Idle while storage worked.
    pub iowait_ns: f64,
    /// Given to other guests by the hypervisor.
    pub steal_ns: f64,
}

impl HostTime {
    /// What a text of `/proc/stat` says that was just read; none where it tells of no CPUs.
    pub fn of(stat: &str) -> Option<Self> {
        let now = clock_gettime(ClockId::Monotonic);
        Self::at(stat, now.tv_sec as f64 * 1e9 + now.tv_nsec as f64)
    }

    /// What a text of `/proc/stat` says that was read at this moment, nanoseconds of any clock.
    ///
    /// Most kernels charge a whole tick to the task that runs when the clock ticks. They see too
    /// much or too little of tasks that the same clock wakes up, such as clients at a set rate, but
    /// know to the microsecond how long a CPU was idle: what is left of all time was busy.
    pub fn at(stat: &str, now_ns: f64) -> Option<Self> {
        let is_of_one = |line: &&str| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let whole_ns = stat.lines().filter(is_of_one).count() as f64 * now_ns;
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<f64> =
            line.split_ascii_whitespace().map(|ticks| ticks.parse().unwrap_or(0.0)).collect();
        // Time of guests, which follows, is part of user time.
        let [user, nice, system, idle_ns, iowait_ns, irq, softirq, steal_ns] =
            std::array::from_fn(|at| ticks.get(at).copied().unwrap_or(0.0) * tick_ns());
        let not_busy_ns = idle_ns + iowait_ns + steal_ns;
        // Some containers show no single CPUs, or no idle time.
        let whole_ns = match whole_ns > 0.0 && idle_ns > 0.0 {
            true => whole_ns,
            false => user + nice + system + irq + softirq + not_busy_ns,
        };
        let busy_ns = whole_ns - not_busy_ns;
        let irq_ns = if irq > 0.0 { irq + softirq } else { 0.0 };
        Some(Self { whole_ns, busy_ns, irq_ns, iowait_ns, steal_ns })
    }
}

impl Sub for HostTime {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            whole_ns: self.whole_ns - before.whole_ns,
            busy_ns: self.busy_ns - before.busy_ns,
            irq_ns: self.irq_ns - before.irq_ns,
            iowait_ns: self.iowait_ns - before.iowait_ns,
            steal_ns: self.steal_ns - before.steal_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_what_was_neither_idle_nor_stolen() {
        let tick = tick_ns();
        let found = |cpu: &str, cpus: &str, ticks: f64| {
            HostTime::at(&format!("cpu  {cpu}\n{cpus}intr 9\n"), ticks * tick).unwrap()
        };
        let two = "cpu0 1 1 1\ncpu1 1 1 1\n";
        let before = found("100 2 30 4000 7 5 6 11 50 0", two, 10_000.0);
        let after = found("190 2 30 4100 17 5 6 31 50 0", two, 10_300.0);
        // 600 ticks of two CPUs, of which 100 were idle, 10 waited, and 20 were stolen.
        assert_eq!(after.whole_ns - before.whole_ns, 600.0 * tick);
        assert_eq!(after.busy_ns - before.busy_ns, 470.0 * tick);
        assert_eq!(
            [after.irq_ns, after.iowait_ns, after.steal_ns],
            [11.0, 17.0, 31.0].map(|n| n * tick)
        );
        // Without single CPUs, and without idle time, what the clock saw.
        assert_eq!(found("100 2 30 4000 7 5 6 11 50 0", "", 9.0).busy_ns, 143.0 * tick);
        assert_eq!(found("100 2 30 0 0 0 6 0", two, 9.0).busy_ns, 138.0 * tick);
        assert_eq!(found("100 2 30 0 0 0 6 0", two, 9.0).irq_ns, 0.0);
        assert_eq!(HostTime::at("ctxt 1\n", 9.0), None);
    }
}
