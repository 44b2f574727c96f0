//! CPU time that others had while slices were measured: other guests of the hypervisor, and other
//! processes of this host.

use crate::warning::{Location, Warnings};
use model::{
    disturbance::window_ns,
    reading::{Reading, Scope},
    record::SliceRecord,
};
use std::collections::BTreeMap;

/// A counter of CPU time of others.
struct Loss {
    counter: &'static str,
    /// CPU time of a cell that causes a warning, in percent of one CPU.
    told_percent: f64,
    who: &'static str,
}

const STEAL: &str = "steal_ns";

const LOSSES: [Loss; 2] = [
    // The smallest difference of rates that published styles color: steal alone could explain it.
    Loss { counter: STEAL, told_percent: 5.0, who: "other guests of the hypervisor used" },
    Loss { counter: "others_cpu_ns", told_percent: 10.0, who: "other processes used" },
];

/// CPU time of others and the window, of all slices of a cell, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    used: f64,
    window: f64,
}

/// Subject, position and name of the phase.
type CellKey = (String, u32, String);

/// CPU time of others by cell, for each of [`LOSSES`].
#[derive(Debug, Clone, Default)]
pub(crate) struct HostLoad {
    cells: [BTreeMap<CellKey, Taken>; LOSSES.len()],
}

impl HostLoad {
    /// Adds a slice to its cell.
    pub(crate) fn add(&mut self, slice: &SliceRecord) {
        for (loss, cells) in LOSSES.iter().zip(&mut self.cells) {
            let Some(taken) = taken(slice, loss.counter) else { continue };
            let key = (slice.subject.clone(), slice.position, slice.phase.clone());
            let cell = cells.entry(key).or_default();
            cell.used += taken.used;
            cell.window += taken.window;
        }
    }

    /// One warning for each kind of others, with the cell that lost most. Ticks of the kernel's
    /// count are too coarse for a single short slice, not for a cell.
    pub(crate) fn tell(&self, warnings: &mut Warnings) {
        for (loss, cells) in LOSSES.iter().zip(&self.cells) {
            let much: Vec<(&CellKey, f64)> = cells
                .iter()
                .map(|(key, taken)| (key, taken.percent()))
                .filter(|(_, percent)| *percent >= loss.told_percent)
                .collect();
            let most = much.iter().map(|(_, percent)| *percent).fold(0.0, f64::max);
            let text =
                format!("{} up to {most:.0} % of a CPU: rates and times are affected", loss.who);
            for ((subject, position, phase), _) in much {
                warnings.add(Location { subject, phase, position: *position }, &text, 1);
            }
        }
    }
}

impl Taken {
    fn percent(self) -> f64 {
        self.used / self.window * 100.0
    }
}

/// CPU time that the hypervisor gave to other guests in a slice, in percent of one CPU; nothing
/// where the host does not count it.
pub(crate) fn stolen_percent(slice: &SliceRecord) -> Option<f64> {
    taken(slice, STEAL).map(Taken::percent)
}

fn taken(slice: &SliceRecord, counter: &str) -> Option<Taken> {
    let window = window_ns(slice)?;
    let own = |reading: &&Reading| reading.scope == Scope::Host && reading.counter == counter;
    let used = slice.readings.iter().find(own)?.delta();
    (window > 0.0 && used.is_finite()).then_some(Taken { used, window })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::tests::slice;

    /// A slice of so many seconds in which others had so many.
    fn short_of(counter: &str, seconds: f64, used: f64) -> SliceRecord {
        let mut slice = slice("new", seconds, &[]);
        let (counter, end) = (counter.to_owned(), 4e9 + used * 1e9);
        slice.readings = vec![Reading { scope: Scope::Host, counter, start: 4e9, end }];
        slice
    }

    fn told(slices: &[SliceRecord]) -> Vec<String> {
        let mut load = HostLoad::default();
        slices.iter().for_each(|slice| load.add(slice));
        let mut warnings = Warnings::default();
        load.tell(&mut warnings);
        warnings.sentences()
    }

    #[test]
    fn a_cell_is_told_by_the_sum_of_its_slices() {
        assert_eq!(stolen_percent(&short_of(STEAL, 2.0, 0.5)), Some(25.0));
        // One tick in a slice of 0.1 s is 10 %, and 0.9 % of the cell.
        let none: [&str; 0] = [];
        assert_eq!(told(&[short_of(STEAL, 0.1, 0.01), short_of(STEAL, 1.0, 0.0)]), none);
        let expected = "`new`: other guests of the hypervisor used up to 10 % of a CPU: rates and \
                        times are affected (`point`)";
        assert_eq!(told(&[short_of(STEAL, 1.0, 0.2), short_of(STEAL, 1.0, 0.0)]), [expected]);
    }

    #[test]
    fn however_much_other_processes_use_in_each_cell_it_is_one_sentence() {
        let mut other = short_of("others_cpu_ns", 1.0, 0.3);
        other.phase = "range".to_owned();
        let expected = "`new`: other processes used up to 150 % of a CPU: rates and times are \
                        affected (`point`, `range`)";
        assert_eq!(told(&[short_of("others_cpu_ns", 1.0, 1.5), other]), [expected]);
    }

    #[test]
    fn a_host_without_a_hypervisor_loses_nothing_and_is_not_told() {
        assert_eq!(stolen_percent(&slice("new", 1.0, &[])), None);
        assert_eq!(told(&[slice("new", 1.0, &[])]).len(), 0);
    }
}
