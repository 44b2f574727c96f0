//! The CPU time of processes that are not of this run, while something is measured.

use super::{Findings, Instrument, Opened, Span};
use crate::{Error, host::others, server::Instance};
use model::{
    disturbance::WINDOW,
    drive::StretchReport,
    reading::{Reading, Scope},
};
use std::time::Instant;

/// The instrument.
pub(super) struct HostLoad;

/// CPU time of this process and of the kernel's threads, which write back what servers wrote, at
/// the start of a window.
struct Open {
    start: Instant,
    own_ns: f64,
}

impl Instrument for HostLoad {
    fn span(&self) -> Span {
        Span::Window
    }

    fn open(&self, _: &Instance) -> Result<Box<dyn Opened>, Error> {
        Ok(Box::new(Open::now()))
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        *self = Self::now();
        Ok(())
    }

    fn end(&mut self, _: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        if let Some(end) = self.others_ns(&found.readings) {
            let window = self.start.elapsed().as_nanos() as f64;
            for (counter, end) in [("others_cpu_ns", end), (WINDOW, window)] {
                let counter = counter.to_owned();
                found.readings.push(Reading { scope: Scope::Host, counter, start: 0.0, end });
            }
        }
        Ok(())
    }
}

impl Open {
    fn now() -> Self {
        Self { start: Instant::now(), own_ns: others::own_ns() }
    }

    /// The CPU time of other processes over the window of `readings`; none where the host's, the
    /// server's and the driver's time are not all known.
    fn others_ns(&self, readings: &[Reading]) -> Option<f64> {
        let of = |scope: Scope, counters: [&str; 2]| {
            let find = |counter: &str| {
                readings.iter().find(|one| one.scope == scope && one.counter == counter)
            };
            counters.into_iter().find_map(find).map(Reading::delta)
        };
        let host = of(Scope::Host, ["host_cpu_ns", ""])?;
        let client = of(Scope::Client, ["cpu_ns", "task_clock_ns"])?;
        let server = of(Scope::Server, ["cpu_ns", "task_clock_ns"]).unwrap_or(0.0);
        let ours = client + server + (others::own_ns() - self.own_ns);
        Some((host - ours).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(scope: Scope, counter: &str, end: f64) -> Reading {
        Reading { scope, counter: counter.to_owned(), start: 0.0, end }
    }

    #[test]
    fn what_is_neither_the_servers_nor_the_drivers_is_of_others() {
        let mut window = Open::now();
        let mut found = Findings {
            readings: vec![
                reading(Scope::Host, "host_cpu_ns", 60e9),
                reading(Scope::Server, "cpu_ns", 20e9),
                reading(Scope::Client, "task_clock_ns", 10e9),
            ],
            ..Findings::default()
        };
        let known = found.readings[..2].to_vec();
        window.end(&StretchReport::default(), &mut found).unwrap();
        // This process and the kernel use a little meanwhile.
        let [others, window] = found.readings.last_chunk().unwrap();
        assert_eq!((others.counter.as_str(), window.counter.as_str()), ("others_cpu_ns", WINDOW));
        assert!((29e9..=30e9).contains(&others.end), "{others:?}");
        assert!(window.end > 0.0);
        assert!(Open::now().others_ns(&known).is_none(), "the driver's time is not known");
    }
}
