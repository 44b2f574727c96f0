//! The cheap counters once a second, for the series of a trial and for the peaks of gauges.

use super::{Findings, Instrument, Span};
use crate::clock::wall_us;
use model::observed::{Observation, Observed};

/// The instrument.
pub(super) const SAMPLER: Instrument =
    Instrument { span: Span::Slice, observation: Observation::Series, add, tells_later: false };

fn add(Observed { series, .. }: Observed, found: &mut Findings) {
    probe::raise_peaks(&mut found.readings, &series, found.from_us, wall_us());
    found.series.extend(series);
}
