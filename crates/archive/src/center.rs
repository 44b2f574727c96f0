//! One value per cell, from the values of all blocks and rounds.

use crate::Study;
use model::{
    imported::ImportedValue,
    measurement::{Measurement, Piece, pieces, whole},
    record::SliceState,
};
use std::collections::BTreeMap;

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
    /// block are together; the arithmetic mean where a value is not positive.
    pub(crate) value: f64,
    /// Least and greatest mean of a block; the value itself if there is one block.
    pub(crate) range: (f64, f64),
    /// Blocks.
    pub(crate) blocks: usize,
}

/// Keys of a cell: phase, subject, metric.
pub(crate) type Centers<'a> = BTreeMap<(&'a str, &'a str, &'a str), Center<'a>>;

/// The values of a study by phase, subject and metric; those of warm-ups too, which some published
/// files hold.
pub(crate) fn centers(study: &Study) -> Centers<'_> {
    let mut cells: BTreeMap<_, Vec<&ImportedValue>> = BTreeMap::new();
    for value in &study.values {
        let m = &value.measurement;
        if m.state != SliceState::Failed && m.value.is_finite() {
            let key = (m.phase.as_str(), m.subject.as_str(), m.metric.as_str());
            cells.entry(key).or_default().push(value);
        }
    }
    cells.into_iter().filter_map(|(key, values)| Some((key, center(&values)?))).collect()
}

fn center<'a>(values: &[&'a ImportedValue]) -> Option<Center<'a>> {
    let first = *values.first()?;
    let mut blocks: BTreeMap<(&str, u32), Vec<Value>> = BTreeMap::new();
    for value in values {
        let m = &value.measurement;
        blocks.entry((&m.run, m.block)).or_default().push((m.value, m.piece));
    }
    let means: Vec<f64> = blocks.values().map(|values| of_block(values)).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let printed = crate::number::parse(&first.text) == Some(first.measurement.value);
    Some(Center {
        first: &first.measurement,
        source: (first, values.len() == 1),
        text: (printed && values.len() == 1).then_some(first.text.as_str()),
        value: mean(&means),
        range: (low, high),
        blocks: means.len(),
    })
}

/// A value, with what it is among pieces.
type Value = (f64, Option<Piece>);

/// What pieces are together; of repetitions the mean.
fn of_block(values: &[Value]) -> f64 {
    let repeated = || mean(&values.iter().map(|(value, _)| *value).collect::<Vec<_>>());
    pieces(values).and_then(|pieces| whole(&pieces)).unwrap_or_else(repeated)
}

fn mean(values: &[f64]) -> f64 {
    if let [one] = values {
        return *one;
    }
    let count = values.len() as f64;
    if values.iter().all(|value| *value > 0.0) {
        return (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp();
    }
    values.iter().sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric_where_they_can_be() {
        let check = |values: &[f64], expected: f64| {
            assert!((mean(values) - expected).abs() < 1e-12, "{values:?}");
        };
        check(&[3.0], 3.0);
        check(&[1.0, 4.0], 2.0);
        check(&[0.0, 4.0], 2.0);
        check(&[2.0, 4.0, 8.0], 4.0);
    }
}
