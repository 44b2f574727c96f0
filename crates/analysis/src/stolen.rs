//! CPU time that the hypervisor gave to other guests while a slice was measured.

use crate::warning::{Location, Warnings};
use model::{
    reading::{Reading, Scope},
    record::SliceRecord,
};
use std::collections::BTreeMap;

/// Stolen CPU time of a cell that causes a warning, in percent of one CPU. It is the smallest
/// difference of rates that published styles color, so steal alone could explain such a difference.
const TOLD_PERCENT: f64 = 5.0;

/// Stolen CPU time and its window, of all slices of a cell, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    stolen: f64,
    window: f64,
}

/// Stolen CPU time by cell: subject, position and name of the phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stolen {
    cells: BTreeMap<(String, u32, String), Taken>,
}

impl Stolen {
    /// Adds a slice to its cell.
    pub(crate) fn add(&mut self, slice: &SliceRecord) {
        let Some(taken) = taken(slice) else { return };
        let key = (slice.subject.clone(), slice.position, slice.phase.clone());
        let cell = self.cells.entry(key).or_default();
        cell.stolen += taken.stolen;
        cell.window += taken.window;
    }

    /// One warning for each cell that lost much. Ticks of the kernel's count are too coarse for a
    /// single short slice, not for a cell.
    pub(crate) fn tell(&self, warnings: &mut Warnings) {
        let text = format!(
            "the hypervisor gave more than {TOLD_PERCENT} % of a CPU to other guests: rates and \
             times are affected"
        );
        let much = |taken: &Taken| taken.percent() >= TOLD_PERCENT;
        for ((subject, position, phase), _) in self.cells.iter().filter(|(_, taken)| much(taken)) {
            warnings.add(Location { subject, phase, position: *position }, &text, 1);
        }
    }
}

impl Taken {
    fn percent(self) -> f64 {
        self.stolen / self.window * 100.0
    }
}

/// CPU time stolen in a slice, in percent of one CPU; nothing where the host does not count it.
pub(crate) fn percent(slice: &SliceRecord) -> Option<f64> {
    taken(slice).map(Taken::percent)
}

fn taken(slice: &SliceRecord) -> Option<Taken> {
    let work = slice.work.as_ref()?;
    let window = work.end_ns.saturating_sub(work.start_ns) as f64;
    let steal = |reading: &&Reading| reading.scope == Scope::Host && reading.counter == "steal_ns";
    let stolen = slice.readings.iter().find(steal)?.delta();
    (window > 0.0 && stolen.is_finite()).then_some(Taken { stolen, window })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::tests::slice;

    /// A slice of so many seconds that lost so many seconds.
    fn short_of(seconds: f64, stolen: f64) -> SliceRecord {
        let mut slice = slice("new", seconds, &[]);
        let counter = "steal_ns".to_owned();
        let end = 4e9 + stolen * 1e9;
        slice.readings = vec![Reading { scope: Scope::Host, counter, start: 4e9, end }];
        slice
    }

    fn told(slices: &[SliceRecord]) -> usize {
        let mut stolen = Stolen::default();
        slices.iter().for_each(|slice| stolen.add(slice));
        let mut warnings = Warnings::default();
        stolen.tell(&mut warnings);
        warnings.sentences().len()
    }

    #[test]
    fn a_cell_is_told_by_the_sum_of_its_slices() {
        assert_eq!(percent(&short_of(2.0, 0.5)), Some(25.0));
        // One tick in a slice of 0.1 s is 10 %, and 0.9 % of the cell.
        assert_eq!(told(&[short_of(0.1, 0.01), short_of(1.0, 0.0)]), 0);
        assert_eq!(told(&[short_of(1.0, 0.2), short_of(1.0, 0.0)]), 1);
    }

    #[test]
    fn a_host_without_a_hypervisor_loses_nothing_and_is_not_told() {
        assert_eq!(percent(&slice("new", 1.0, &[])), None);
        assert_eq!(told(&[slice("new", 1.0, &[])]), 0);
    }
}
