//! The cheap counters once a second, for the series of a trial and for the peaks of gauges.

use super::{Findings, Instrument, Opened, Span};
use crate::{Error, clock::wall_us, server::Instance};
use model::drive::StretchReport;
use std::time::Duration;

/// Distance of the readings.
const INTERVAL: Duration = Duration::from_secs(1);

/// The instrument.
pub(super) struct Sampler;

struct Open {
    target: probe::Target,
    sampler: Option<probe::Sampler>,
}

impl Instrument for Sampler {
    fn span(&self) -> Span {
        Span::Slice
    }

    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error> {
        Ok(Box::new(Open { target: instance.counted(), sampler: None }))
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        self.sampler = Some(probe::Sampler::start(&self.target, INTERVAL)?);
        Ok(())
    }

    fn end(&mut self, _: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        let rows = self.sampler.take().map(probe::Sampler::stop).unwrap_or_default();
        probe::raise_peaks(&mut found.readings, &rows, found.from_us, wall_us());
        found.series.extend(rows);
        Ok(())
    }
}
