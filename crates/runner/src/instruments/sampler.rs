//! The cheap counters once a second, for the series of a trial and for the peaks of gauges.

use super::{Findings, Instrument, Opened, Span};
use crate::{
    Error,
    clock::wall_us,
    server::{Instance, Observing},
};
use model::{drive::StretchReport, observed::Observation};

/// The instrument.
pub(super) struct Sampler;

struct Open(Observing);

impl Instrument for Sampler {
    fn span(&self) -> Span {
        Span::Slice
    }

    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error> {
        Ok(Box::new(Open(instance.observe(Observation::Series)?)))
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        self.0.begin()
    }

    fn end(&mut self, _: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        let rows = self.0.end()?.series;
        probe::raise_peaks(&mut found.readings, &rows, found.from_us, wall_us());
        found.series.extend(rows);
        Ok(())
    }
}
