//! Pressure stall information of the host: how long tasks waited for CPU, storage and memory.

use super::{Probe, Purpose, Reader};
use crate::{Counter, Error, Target, Values, counter};
use model::reading::Scope;
use std::path::PathBuf;

const COUNTERS: &[Counter] = &[
    counter::total("pressure_cpu_some_us", "us", "time that some task waited for a CPU"),
    counter::total("pressure_io_some_us", "us", "time that some task waited for storage"),
    counter::total("pressure_io_full_us", "us", "time that all tasks waited for storage"),
    counter::total("pressure_memory_some_us", "us", "time that some task waited for memory"),
];

/// File, kind of stall, and the counter it gives.
const LINES: &[(&str, &str, &str)] = &[
    ("cpu", "some", "pressure_cpu_some_us"),
    ("io", "some", "pressure_io_some_us"),
    ("io", "full", "pressure_io_full_us"),
    ("memory", "some", "pressure_memory_some_us"),
];

/// Counters of `/proc/pressure`.
pub(super) const PROBE: Probe = Probe { name: "pressure", counters: COUNTERS, open };

fn open(target: &Target, _: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    let folder = target.proc_root.join("pressure");
    // Many kernels do without; nothing that a verdict needs is lost, so no mark.
    if fs_err::read_to_string(folder.join("cpu")).is_err() {
        return Ok(None);
    }
    Ok(Some(Box::new(Open { folder })))
}

struct Open {
    folder: PathBuf,
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        for file in ["cpu", "io", "memory"] {
            let text = fs_err::read_to_string(self.folder.join(file)).unwrap_or_default();
            for (_, kind, counter) in LINES.iter().filter(|(of, _, _)| *of == file) {
                if let Some(total) = total(&text, kind) {
                    values.push(Scope::Host, counter, total);
                }
            }
        }
        Ok(())
    }
}

/// The total of one kind of stall, microseconds.
fn total(text: &str, kind: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(kind))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn totals_are_read_and_absent_lines_are_left_out() {
        let line =
            |kind, total| format!("{kind} avg10=0.00 avg60=0.10 avg300=0.00 total={total}\n");
        let fake = FakeProc::new();
        fake.write("pressure/cpu", &line("some", 77)).write("pressure/io", &line("full", 5));
        let mut reader = open(&fake.target(), Purpose::Series).unwrap().unwrap();
        let mut values = Values::default();
        reader.read(&mut values).unwrap();
        assert_eq!(values.get(Scope::Host, "pressure_cpu_some_us"), Some(77.0));
        assert_eq!(values.get(Scope::Host, "pressure_io_full_us"), Some(5.0));
        assert_eq!(values.iter().count(), 2);
        assert!(open(&FakeProc::new().target(), Purpose::Series).unwrap().is_none());
    }
}
