//! All counters of the server, the driver and the host, read at both ends of the window.

use super::{Findings, Instrument, Opened, Span};
use crate::{Error, server::Instance};
use model::{drive::StretchReport, reading::Reading};
use probe::Snapshot;

/// The instrument.
pub(super) struct Meter;

struct Open {
    meter: probe::Meter,
    before: Snapshot,
}

impl Instrument for Meter {
    fn span(&self) -> Span {
        Span::Window
    }

    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error> {
        let meter = probe::Meter::open(&instance.counted())?;
        Ok(Box::new(Open { meter, before: Snapshot::default() }))
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        self.before = self.meter.snapshot()?;
        Ok(())
    }

    fn end(&mut self, _: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        let after = self.meter.snapshot()?;
        found.readings.extend(probe::Meter::readings(&self.before, &after));
        found.tasks.extend(probe::Meter::task_readings(&self.before, &after));
        found.marks.extend(self.meter.marks());
        Ok(())
    }

    fn with_drain(&mut self) -> Result<Vec<Reading>, Error> {
        Ok(probe::Meter::readings(&self.before, &self.meter.snapshot()?))
    }
}
