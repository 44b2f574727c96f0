//! CPU time of the whole host, and what the hypervisor took.

use super::{Probe, Purpose, Reader};
use crate::{Counter, Error, Target, Values, counter, task::irq_ticks};
use model::reading::Scope;
use std::path::PathBuf;

const COUNTERS: &[Counter] = &[
    counter::total("host_cpu_ns", "ns", "time that the host's CPUs were busy, in all"),
    counter::total("host_irq_ns", "ns", "time of interrupts, where it is no task's"),
    counter::total("steal_ns", "ns", "steal: time that the hypervisor gave to other guests"),
    counter::total("iowait_ns", "ns", "time that CPUs were idle while storage worked"),
    counter::total("host_context_switches", "switches", "context switches of all tasks"),
    counter::total("host_interrupts", "interrupts", "interrupts of all CPUs"),
];

/// Counters of the host from `/proc/stat`.
pub(super) const PROBE: Probe = Probe { name: "proc_stat", counters: COUNTERS, open };

fn open(target: &Target, _: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    let path = target.proc_root.join("stat");
    if !path.exists() {
        return Err(Error::Absent("host counters absent: no `/proc/stat`".into()));
    }
    Ok(Some(Box::new(Open { path, tick_ns: crate::task::tick_ns() })))
}

struct Open {
    path: PathBuf,
    tick_ns: f64,
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let text = fs_err::read_to_string(&self.path)
            .map_err(|e| Error::Source { path: self.path.clone(), reason: e.to_string() })?;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let name = words.next().unwrap_or_default();
            let mut numbers = words.map(|word| word.parse::<f64>().unwrap_or(0.0));
            match name {
                "cpu" => self.cpu(&numbers.collect::<Vec<_>>(), values),
                "intr" => {
                    values.push(Scope::Host, "host_interrupts", numbers.next().unwrap_or(0.0));
                }
                "ctxt" => {
                    let count = numbers.next().unwrap_or(0.0);
                    values.push(Scope::Host, "host_context_switches", count);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Open {
    /// user nice system idle iowait irq softirq steal; guests are part of user.
    fn cpu(&self, ticks: &[f64], values: &mut Values) {
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0.0) * self.tick_ns;
        let busy = [0, 1, 2, 5, 6].into_iter().map(at).sum();
        values.push(Scope::Host, "host_cpu_ns", busy);
        let interrupts = irq_ticks(ticks);
        if interrupts > 0.0 {
            values.push(Scope::Host, "host_irq_ns", interrupts * self.tick_ns);
        }
        values.push(Scope::Host, "iowait_ns", at(4));
        values.push(Scope::Host, "steal_ns", at(7));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn busy_time_leaves_out_idle_steal_and_guests() {
        let fake = FakeProc::new();
        let stat = "cpu  100 2 30 4000 7 5 6 11 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n\
                    intr 987 1 2 3\nctxt 555\nbtime 1\n";
        fake.write("stat", stat);
        let mut reader = open(&fake.target(), Purpose::Window).unwrap().unwrap();
        let mut values = Values::default();
        reader.read(&mut values).unwrap();
        let tick = 1e9 / procfs::ticks_per_second() as f64;
        for (counter, expected) in [
            ("host_cpu_ns", 143.0 * tick),
            ("host_irq_ns", 11.0 * tick),
            ("steal_ns", 11.0 * tick),
            ("iowait_ns", 7.0 * tick),
            ("host_context_switches", 555.0),
            ("host_interrupts", 987.0),
        ] {
            assert_eq!(values.get(Scope::Host, counter), Some(expected), "{counter}");
        }
    }
}
