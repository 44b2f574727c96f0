//! CPU time of the whole host, and what the hypervisor took.

use super::{Probe, Purpose, Reader};
use crate::{Counter, Error, HostTime, Target, Values, counter};
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
    Ok(Some(Box::new(Open { path })))
}

struct Open {
    path: PathBuf,
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let text = fs_err::read_to_string(&self.path)
            .map_err(|e| Error::Source { path: self.path.clone(), reason: e.to_string() })?;
        if let Some(time) = HostTime::of(&text) {
            values.push(Scope::Host, "host_cpu_ns", time.busy_ns);
            if time.irq_ns > 0.0 {
                values.push(Scope::Host, "host_irq_ns", time.irq_ns);
            }
            values.push(Scope::Host, "iowait_ns", time.iowait_ns);
            values.push(Scope::Host, "steal_ns", time.steal_ns);
        }
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let name = words.next().unwrap_or_default();
            let mut numbers = words.map(|word| word.parse::<f64>().unwrap_or(0.0));
            match name {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn counters_of_the_host_are_those_of_all_cpus() {
        let fake = FakeProc::new();
        let stat = "cpu  100 2 30 4000 7 5 6 11 50 0\nintr 987 1 2 3\nctxt 555\nbtime 1\n";
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
