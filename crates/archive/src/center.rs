//! One value per cell, from the values of all blocks and rounds.

use crate::Study;
use model::{
    imported::ImportedValue,
    measurement::{Measurement, Piece, pieces, whole},
    record::SliceState,
};
use std::collections::{BTreeMap, BTreeSet};

/// One metric of one subject in one phase.
#[derive(Debug, Clone)]
pub(crate) struct Center<'a> {
    /// The first of the values: its keys are those of all.
    pub(crate) first: &'a Measurement,
    /// The first of the values as it was imported, and whether it is the only one.
    pub(crate) source: (&'a ImportedValue, bool),
    /// The number as it was printed, where the value is still that number.
    pub(crate) text: Option<&'a str>,
    /// Geometric mean over blocks of the geometric means over rounds, or of what the pieces of a
    /// block are together; arithmetic means where the metric is zero on any subject of the phase,
    /// so that the values of all have to each other the ratios that a comparison shows.
    pub(crate) value: f64,
    /// Least and greatest mean of a block; the value itself if there is one block.
    pub(crate) range: (f64, f64),
    /// Blocks.
    pub(crate) blocks: usize,
}

/// Keys of a cell: phase, subject, metric.
pub(crate) type Centers<'a> = BTreeMap<Key<'a>, Center<'a>>;

type Key<'a> = (&'a str, &'a str, &'a str);

/// The values of a study by phase, subject and metric; those of warm-ups too, which some published
/// files hold.
pub(crate) fn centers<'a>(study: &'a Study) -> Centers<'a> {
    let mut cells: BTreeMap<_, Vec<&ImportedValue>> = BTreeMap::new();
    for value in &study.values {
        let m = &value.measurement;
        if m.state != SliceState::Failed && m.value.is_finite() {
            let key = (m.phase.as_str(), m.subject.as_str(), m.metric.as_str());
            cells.entry(key).or_default().push(value);
        }
    }
    let blocks =
        |values: &[&ImportedValue]| blocks_of(values).into_values().any(|one| has_zero(&one));
    let zero = cells.iter().filter(|(_, values)| blocks(values));
    let zero: BTreeSet<(&str, &str)> =
        zero.map(|((phase, _, metric), _)| (*phase, *metric)).collect();
    let one = |(key, values): (Key<'a>, Vec<&'a ImportedValue>)| {
        let mean = if zero.contains(&(key.0, key.2)) { arithmetic } else { geometric };
        Some((key, center(&values, mean)?))
    };
    cells.into_iter().filter_map(one).collect()
}

/// The values of each block.
fn blocks_of<'a>(values: &[&'a ImportedValue]) -> BTreeMap<(&'a str, u32), Vec<Value>> {
    let mut blocks: BTreeMap<(&str, u32), Vec<Value>> = BTreeMap::new();
    for value in values {
        let m = &value.measurement;
        blocks.entry((&m.run, m.block)).or_default().push((m.value, m.piece));
    }
    blocks
}

/// Whether a value of a block has no logarithm; of pieces that is what they are together.
fn has_zero(values: &[Value]) -> bool {
    match pieces(values).and_then(|pieces| whole(&pieces)) {
        Some(whole) => whole <= 0.0,
        None => values.iter().any(|(value, _)| *value <= 0.0),
    }
}

fn center<'a>(values: &[&'a ImportedValue], mean: Mean) -> Option<Center<'a>> {
    let first = *values.first()?;
    let means: Vec<f64> = blocks_of(values).values().map(|values| of_block(values, mean)).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let printed = crate::number::parse(&first.text) == Some(first.measurement.value);
    Some(Center {
        first: &first.measurement,
        source: (first, values.len() == 1),
        text: (printed && values.len() == 1).then_some(first.text.as_str()),
        // A mean of equal values can miss them by a bit. Of hostile weights there is no mean, and
        // no order of the bounds.
        value: mean(&means).max(low).min(high),
        range: (low, high),
        blocks: means.len(),
    })
}

/// A value, with what it is among pieces.
type Value = (f64, Option<Piece>);

/// What pieces are together; of repetitions the mean.
fn of_block(values: &[Value], mean: Mean) -> f64 {
    let repeated = || mean(&values.iter().map(|(value, _)| *value).collect::<Vec<_>>());
    pieces(values).and_then(|pieces| whole(&pieces)).unwrap_or_else(repeated)
}

/// A mean of several values.
type Mean = fn(&[f64]) -> f64;

fn geometric(values: &[f64]) -> f64 {
    // One number stays what was printed.
    if let [one] = values {
        return *one;
    }
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

fn arithmetic(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric_unless_the_metric_is_zero_on_any_subject() {
        let value = |subject: &str, metric: &str, block: u32, value: f64| {
            let name = |text: &str| text.into();
            ImportedValue {
                measurement: Measurement {
                    phase: name("scan"),
                    subject: name(subject),
                    metric: name(metric),
                    block,
                    value,
                    ..Measurement::default()
                },
                ..ImportedValue::default()
            }
        };
        let values = vec![
            value("old", "reads", 0, 1.0),
            value("old", "reads", 1, 4.0),
            value("new", "reads", 0, 0.0),
            value("new", "reads", 1, 4.0),
            value("old", "writes", 0, 1.0),
            value("old", "writes", 1, 4.0),
        ];
        let study = Study { values, ..Study::default() };
        let centers = centers(&study);
        let of = |subject, metric| centers[&("scan", subject, metric)].value;
        assert_eq!((of("old", "reads"), of("new", "reads")), (2.5, 2.0));
        assert!((of("old", "writes") - 2.0).abs() < 1e-12);
    }

    #[test]
    fn pieces_of_hostile_weights_do_not_panic() {
        let piece = Some(Piece::Weight(f64::MAX));
        let measurement = Measurement { value: f64::MAX, piece, ..Measurement::default() };
        let value = ImportedValue { measurement, ..ImportedValue::default() };
        let study = Study { values: vec![value.clone(), value], ..Study::default() };
        assert_eq!(centers(&study).len(), 1);
    }
}
