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
        per_operation(metrics);
        client_cpu(metrics);
        per_backend(metrics);
        host_cpu(metrics, cpus.get(&key.subject).copied());
    }
}

/// Rates of captures, with the metrics per operation that follow from them.
const RATES: [(&str, &str); 10] = [
    ("server_instructions_per_second", "server_instructions_per_op"),
    ("server_user_instructions_per_second", "server_user_instructions_per_op"),
    ("server_kernel_instructions_per_second", "server_kernel_instructions_per_op"),
    ("server_cycles_per_second", "server_cycles_per_op"),
    ("host_cpu_percent", "host_cpu_percent_per_op"),
    ("host_context_switches_per_second", "host_context_switches_per_op"),
    ("reads_per_second", "reads_per_op"),
    ("read_kib_per_second", "read_kib_per_op"),
    ("writes_per_second", "writes_per_op"),
    ("write_kib_per_second", "write_kib_per_op"),
];

/// Rates of the host over the rate of operations, where no archive printed that.
fn per_operation(metrics: &mut Metrics) {
    let ops = metrics.get("ops_per_second").map(|kept| kept.value.value);
    let Some(ops) = ops.filter(|ops| *ops > 0.0) else { return };
    for (rate, per_op) in RATES {
        if let Some(value) = metrics.get(rate).map(|kept| kept.value.value / ops) {
            add(metrics, rate, per_op, value);
        }
    }
}

/// Rates of the backend of one client: it serves its share of the operations.
const OF_ONE_BACKEND: [(&str, &str); 4] = [
    ("backend_instructions_per_second", "foreground_instructions_per_op"),
    ("backend_user_instructions_per_second", "foreground_user_instructions_per_op"),
    ("backend_kernel_instructions_per_second", "foreground_kernel_instructions_per_op"),
    ("backend_cycles_per_second", "foreground_cycles_per_op"),
];

/// What one backend executes per operation: nothing where the number of clients is not known.
fn per_backend(metrics: &mut Metrics) {
    let Some(ops) = metrics.get("ops_per_second") else { return };
    let Some(clients) = ops.value.cell.clients.map(f64::from) else { return };
    let ops = ops.value.value / clients;
    for (rate, per_op) in OF_ONE_BACKEND.into_iter().filter(|_| ops > 0.0) {
        if let Some(value) = metrics.get(rate).map(|kept| kept.value.value / ops) {
            add(metrics, rate, per_op, value);
        }
    }
}

/// CPU time of the load generator per second, over the rate of operations: its warm-up is in both.
fn client_cpu(metrics: &mut Metrics) {
    let get = |name: &str| metrics.get(name).map(|kept| kept.value.value);
    let known = (get("client_cpu_seconds"), get("client_elapsed_seconds"), get("ops_per_second"));
    if let (Some(cpu), Some(elapsed), Some(ops)) = known {
        add(metrics, "client_cpu_seconds", "client_cpu_us_per_op", cpu * 1e6 / elapsed / ops);
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
