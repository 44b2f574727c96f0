//! Values that follow from several printed ones of the same cell.

use crate::{
    Value,
    assemble::{Cells, Kept, Metrics},
};
use std::borrow::Cow;

/// Adds what follows to every cell.
pub(crate) fn all(cells: &mut Cells) {
    let mut cpus = std::collections::BTreeMap::new();
    for (key, metrics) in cells.iter() {
        if let Some(kept) = metrics.get("host_cpus") {
            cpus.insert(key.subject.clone(), kept.value.value);
        }
    }
    for (key, metrics) in cells.iter_mut() {
        host_cpu(metrics, cpus.get(&key.subject).copied());
    }
}

/// Percent of all CPUs per operation and second, times the CPUs, is time: 1 % of a CPU for a second
/// is 10,000 microseconds.
fn host_cpu(metrics: &mut Metrics, cpus: Option<f64>) {
    let Some((percent, cpus)) = metrics.get("host_cpu_percent_per_op").zip(cpus) else { return };
    let value = percent.value.value * 1e4 * cpus;
    add(metrics, "host_cpu_percent_per_op", "host_cpu_us_per_op", value);
}

/// Adds a computed value beside the one that it follows from.
pub(crate) fn add(metrics: &mut Metrics, from: &str, metric: &'static str, value: f64) {
    let Some(source) = metrics.get(from) else { return };
    if metrics.contains_key(metric) || !value.is_finite() {
        return;
    }
    let value =
        Value { metric: Cow::Borrowed(metric), value, text: String::new(), ..source.value.clone() };
    let kept = Kept { value, ..source.clone() };
    metrics.insert(metric.to_owned(), kept);
}
