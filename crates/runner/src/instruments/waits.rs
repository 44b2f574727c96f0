//! What the serving tasks wait for while something is measured.

use super::{Findings, Instrument, Opened, Span};
use crate::{Error, server::Instance};
use model::drive::StretchReport;

/// The instrument.
pub(super) struct Waits;

struct Open {
    target: probe::Target,
    waits: Option<probe::Waits>,
    /// Why nothing can be seen.
    blind: Option<String>,
}

impl Instrument for Waits {
    fn span(&self) -> Span {
        Span::Window
    }

    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error> {
        Ok(Box::new(Open { target: instance.counted(), waits: None, blind: None }))
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        match probe::Waits::start(&self.target) {
            Ok(waits) => self.waits = waits,
            Err(error) => self.blind = Some(format!("waits of serving tasks not seen ({error})")),
        }
        Ok(())
    }

    fn end(&mut self, _: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        found.readings.extend(self.waits.take().map(probe::Waits::stop).unwrap_or_default());
        found.marks.extend(self.blind.take());
        Ok(())
    }
}
