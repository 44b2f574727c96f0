//! All counters of the server, the driver and the host, read at both ends of the window, and the
//! CPU time of processes that are not of this run.

use super::{Findings, Instrument, Span};
use model::{
    disturbance::WINDOW,
    observed::{HostLoad, Observation, Observed},
    reading::{Reading, Scope},
};

/// The instrument.
pub(super) const METER: Instrument =
    Instrument { span: Span::Window, observation: Observation::Window, add, tells_later: true };

fn add(window: Observed, found: &mut Findings) {
    found.readings.extend(window.readings);
    found.readings.extend(window.load.iter().flat_map(others));
    found.tasks.extend(window.tasks);
    found.marks.extend(window.marks);
}

/// What others used of the host, and over which time.
fn others(load: &HostLoad) -> [Reading; 2] {
    [("others_cpu_ns", load.others_ns()), (WINDOW, load.window_ns)].map(|(counter, end)| Reading {
        scope: Scope::Host,
        counter: counter.to_owned(),
        start: 0.0,
        end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_the_servers_nor_the_drivers_is_of_others() {
        let load = HostLoad { host_ns: 60e9, own_ns: 29e9, kernel_ns: 1e9, window_ns: 40e9 };
        let found = others(&load).map(|reading| (reading.counter, reading.end));
        assert_eq!(found, [("others_cpu_ns".to_owned(), 30e9), (WINDOW.to_owned(), 40e9)]);
        // The kernel counts the host in ticks, and tasks exactly.
        let [others, _] = others(&HostLoad { own_ns: 70e9, ..load });
        assert_eq!(others.end, 0.0);
    }
}
