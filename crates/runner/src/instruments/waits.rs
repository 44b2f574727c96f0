//! What the serving tasks wait for while something is measured.

use super::{Findings, Instrument, Opened, Span};
use crate::{
    Error,
    server::{Instance, Observing},
};
use model::{drive::StretchReport, observed::Observation};

/// The instrument.
pub(super) struct Waits;

struct Open(Observing);

impl Instrument for Waits {
    fn span(&self) -> Span {
        Span::Window
    }

    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error> {
        Ok(Box::new(Open(instance.observe(Observation::Waits)?)))
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        self.0.begin()
    }

    fn end(&mut self, _: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        let waits = self.0.end()?;
        found.readings.extend(waits.readings);
        found.marks.extend(waits.marks);
        Ok(())
    }
}
