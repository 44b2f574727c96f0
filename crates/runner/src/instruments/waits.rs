//! What the serving tasks wait for while something is measured.

use super::{Findings, Instrument, Span};
use model::observed::{Observation, Observed};

/// The instrument.
pub(super) const WAITS: Instrument =
    Instrument { span: Span::Window, observation: Observation::Waits, add, tells_later: false };

fn add(waits: Observed, found: &mut Findings) {
    found.readings.extend(waits.readings);
    found.marks.extend(waits.marks);
}
