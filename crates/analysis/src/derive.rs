//! One raw slice to the values of all metrics that it can tell.

use crate::{PhaseFacts, metrics::metric, parts::Parts, role_cost, roles::RoleFacts, sla, stolen};
use model::{
    drive::{OpReport, Percentiles, StretchReport},
    mark,
    measurement::Piece,
    reading::Scope,
    record::SliceRecord,
    workload::{Arrival, Counts},
};

/// Metric and value.
type Value = (&'static str, f64);

/// Prefix of metric names, scope of the readings.
const PARTS: [(&str, Scope); 4] = [
    ("server", Scope::Server),
    ("foreground", Scope::Foreground),
    ("background", Scope::Background),
    ("client", Scope::Client),
];

/// The values of a slice by metric name, in the metrics' units. The state of the slice is not
/// looked at.
pub fn derive(slice: &SliceRecord, facts: &PhaseFacts) -> Vec<(&'static str, f64)> {
    let succeeded = slice.work.as_ref().map_or(0, |work| work.succeeded) as f64;
    let parts = Parts::new(slice, succeeded);
    let mut values = Vec::with_capacity(crate::METRICS.len());
    if let Some(work) = &slice.work {
        let operations = denominator(work, facts);
        throughput(work, facts, &mut values);
        if scans(work, facts) {
            let clients = f64::from(slice.clients.max(1));
            let all = values.iter().find(|(name, _)| *name == "rows_per_second");
            let one = all.map(|(_, rate)| ("rows_per_client_per_second", rate / clients));
            values.extend(one);
        }
        latencies(work, facts, &mut values);
        if operations > 0.0 {
            if facts.drains && work.writes > 0 {
                effective(&parts, work.writes as f64, &mut values);
            }
            if facts.writes {
                values.push(("rows_changed_per_op", work.rows_changed as f64 / operations));
            }
            processor(&parts, operations, &mut values);
            lead(slice, facts, operations, &mut values);
            traffic(&parts, operations, &mut values);
            outcomes(work, operations, &mut values);
        }
    }
    sizes(&parts, &mut values);
    values.extend(stolen::percent(slice).map(|share| ("stolen_cpu_percent", share)));
    values.retain(|(_, value)| value.is_finite());
    values
}

/// How a value becomes part of that of the whole work, where slices are pieces of it: rates weigh
/// as much as the seconds that they were divided by, costs and percentiles as the operations. Of
/// levels and largest values the largest counts.
pub(crate) fn piece(metric: &str, slice: &SliceRecord, facts: &PhaseFacts) -> Piece {
    let Some(work) = &slice.work else { return Piece::Largest };
    let of_rows = facts.roles.as_ref().filter(|_| OF_ROWS.contains(&metric));
    let seconds = || work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
    match metric {
        "lag_us_max" | "latency_us_max" | "response_us_max" => Piece::Largest,
        _ if metric.contains("_mib") => Piece::Largest,
        _ if metric.ends_with("_per_op") || metric.contains("_us_p") => {
            Piece::Weight(denominator(work, facts))
        }
        _ => Piece::Weight(of_rows.map_or_else(seconds, |roles| roles.seconds(work))),
    }
}

/// Rates that are divided by the seconds of the schedule.
const OF_ROWS: [&str; 2] = ["insert_rows_per_second", "delete_rows_per_second"];

/// Marks of the slice, corrected by what else is known of it.
pub(crate) fn slice_marks(slice: &SliceRecord) -> Vec<String> {
    let waited = slice.work.as_ref().filter(|work| has_waited(work)).map(|_| WAITED.to_owned());
    let stepped = Parts::new(slice, 1.0).is_stepped();
    let known = |found: &String| match found.as_str() {
        mark::EMBEDDED_EARLIER => mark::EMBEDDED.to_owned(),
        mark::NO_HARDWARE if stepped => mark::NO_HARDWARE_BUT_STEPS.to_owned(),
        _ => found.clone(),
    };
    let others = slice.marks.iter().filter(|found| !stepped || *found != mark::STEPPED).map(known);
    others.chain(stepped.then(|| mark::STEPPED.to_owned())).chain(waited).collect()
}

/// Mark of a slice in which something stood still for a while.
const WAITED: &str = "an operation took 5 s or longer, 1000 times the median or more";

/// Whether an operation waited so long that the mean over the slice is not that of its operations:
/// for a server that stalled, or for one that was stopped.
fn has_waited(work: &StretchReport) -> bool {
    let Percentiles { max, p50, .. } = work.service_us;
    max >= 5e6 && max >= 1000.0 * p50
}

/// Marks of values: those of the slice, and those of their meaning.
pub(crate) fn marks(slice: &SliceRecord) -> Vec<String> {
    let mut marks = slice_marks(slice);
    if Parts::new(slice, 0.0).is_embedded() && !marks.iter().any(|own| own == mark::EMBEDDED) {
        marks.push(mark::EMBEDDED.to_owned());
    }
    marks
}

/// What per-operation metrics divide by: as many as the workload counts.
pub(crate) fn denominator(work: &StretchReport, facts: &PhaseFacts) -> f64 {
    if let Some(roles) = &facts.roles {
        let lead = roles.leading(work);
        return match facts.counts {
            Counts::Operations | Counts::Statements => lead.map(|op| op.count).sum::<u64>() as f64,
            Counts::Rows => lead.map(|op| op.rows_read + op.rows_changed).sum::<u64>() as f64,
        };
    }
    match facts.counts {
        Counts::Operations => work.succeeded as f64,
        Counts::Statements => statements(work),
        Counts::Rows => rows(work, facts),
    }
}

fn statements(work: &StretchReport) -> f64 {
    (work.reads + work.writes + work.others) as f64
}

/// Whether the rows that a workload counts are those that it looks at: it returns at most one per
/// operation (a filter that nothing meets, an aggregate).
fn scans(work: &StretchReport, facts: &PhaseFacts) -> bool {
    facts.counts == Counts::Rows
        && work.rows_changed == 0
        && work.rows_read <= work.succeeded
        && facts.scanned_rows > 0.0
}

/// Rows returned or changed; where a workload scans, the rows that it looks at.
fn rows(work: &StretchReport, facts: &PhaseFacts) -> f64 {
    if scans(work, facts) {
        return work.succeeded as f64 * facts.scanned_rows;
    }
    (work.rows_read + work.rows_changed) as f64
}

fn throughput(work: &StretchReport, facts: &PhaseFacts, values: &mut Vec<Value>) {
    let seconds = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
    if seconds <= 0.0 {
        return;
    }
    values.push(("ops_per_second", denominator(work, facts) / seconds));
    values.push(("queries_per_second", statements(work) / seconds));
    values.push(("transactions_per_second", work.succeeded as f64 / seconds));
    values.push(("rows_per_second", rows(work, facts) / seconds));
    if facts.writes {
        values.push(("effective_ops_per_second", work.writes as f64 / seconds));
    }
    if let Some(roles) = &facts.roles {
        let [inserted, deleted] = roles.changed_per_second(work);
        values.extend(inserted.map(|rate| ("insert_rows_per_second", rate)));
        values.extend(deleted.map(|rate| ("delete_rows_per_second", rate)));
        pace(work, roles, values);
    }
}

/// How well a set rate was kept.
fn pace(work: &StretchReport, roles: &RoleFacts, values: &mut Vec<Value>) {
    let Some(paced) = roles.paced(work) else { return };
    values.push(("insert_rows_per_second_target", paced.target_per_second));
    values.extend(paced.lag_us_max.map(|lag| ("lag_us_max", lag)));
    let share = paced.seconds_on_target(sla::SECOND_SHARE);
    values.extend(share.map(|share| ("seconds_on_target_share", share)));
}

fn latencies(work: &StretchReport, facts: &PhaseFacts, values: &mut Vec<Value>) {
    // Percentiles of several operations cannot be made from those of each.
    let lead: Vec<&OpReport> = match &facts.roles {
        Some(roles) => roles.leading(work).collect(),
        None => work.ops.iter().collect(),
    };
    let only = match lead.as_slice() {
        [op] => Some((op.service_us, op.response_us)),
        _ => None,
    };
    let unknown = Percentiles::default();
    let pick = |whole: Percentiles, of_one: Option<Percentiles>| {
        // With roles the whole holds operations that nobody asked about.
        let whole = Some(whole).filter(|whole| *whole != unknown && facts.roles.is_none());
        whole.or(of_one.filter(|one| *one != unknown))
    };
    if let Some(service) = pick(work.service_us, only.map(|pair| pair.0)) {
        values.extend([
            ("latency_us_p50", service.p50),
            ("latency_us_p95", service.p95),
            ("latency_us_p99", service.p99),
            ("latency_us_p999", service.p999),
            ("latency_us_max", service.max),
        ]);
    }
    if let Some(response) = pick(work.response_us, only.map(|pair| pair.1)) {
        values.extend([
            ("response_us_p50", response.p50),
            ("response_us_p95", response.p95),
            ("response_us_p99", response.p99),
            ("response_us_p999", response.p999),
            ("response_us_max", response.max),
        ]);
    }
    if matches!(facts.arrival, Arrival::Open { .. }) {
        values.push(("lag_us_max", work.lag_us_max as f64));
    }
}

fn processor(parts: &Parts<'_>, operations: f64, values: &mut Vec<Value>) {
    for (prefix, scope) in PARTS {
        let sum = |counters: [&str; 2]| sum_of_known(counters.map(|name| parts.total(scope, name)));
        let cpu_ns = parts.total(scope, "cpu_ns").or_else(|| parts.total(scope, "task_clock_ns"));
        let totals = [
            ("user_instructions_per_op", parts.user_instructions(scope)),
            ("kernel_instructions_per_op", parts.total(scope, "kernel_instructions")),
            ("cycles_per_op", sum(["user_cycles", "kernel_cycles"])),
            ("cpu_us_per_op", cpu_ns.map(|ns| ns / 1e3)),
        ];
        for (ending, total) in totals {
            let name = format!("{prefix}_{ending}");
            if let (Some(total), Some(metric)) = (total, metric(&name)) {
                values.push((metric.name, total / operations));
            }
        }
    }
    if let Some(ns) = parts.total(Scope::Host, "host_cpu_ns") {
        values.push(("host_cpu_us_per_op", ns / 1e3 / operations));
    }
    let of_server = |counter| parts.total(Scope::Server, counter);
    let voluntary = ["voluntary_switches", "involuntary_switches"];
    let switches = of_server("context_switches").or_else(|| sum_of_known(voluntary.map(of_server)));
    if let Some(switches) = switches {
        values.push(("context_switches_per_op", switches / operations));
    }
    if let Some(faults) = of_server("page_faults") {
        values.push(("page_faults_per_op", faults / operations));
    }
}

/// What the tasks that serve the lead role alone did, per operation of it; nothing where several
/// roles lead, whose operations together are what costs are divided by.
fn lead(slice: &SliceRecord, facts: &PhaseFacts, operations: f64, values: &mut Vec<Value>) {
    let Some((roles, work)) = facts.roles.as_ref().zip(slice.work.as_ref()) else { return };
    let mut leading = roles.leading(work).map(|op| op.role.as_str());
    let Some(role) = leading.next().filter(|role| !role.is_empty()) else { return };
    if leading.any(|other| other != role) {
        return;
    }
    let moved = |counter| role_cost::total(slice, role, counter);
    let totals = [
        ("lead_user_instructions_per_op", moved("user_instructions")),
        ("lead_kernel_instructions_per_op", moved("kernel_instructions")),
        ("lead_cycles_per_op", sum_of_known(["user_cycles", "kernel_cycles"].map(moved))),
        ("lead_cpu_us_per_op", role_cost::cpu_ns(slice, role).map(|ns| ns / 1e3)),
    ];
    for (name, total) in totals {
        values.extend(total.map(|total| (name, total / operations)));
    }
}

/// What a statement costs that has changed rows, where many find none: those that found none are in
/// the cost, and not in the number. Single steps are of too few operations to tell.
fn effective(parts: &Parts<'_>, writes: f64, values: &mut Vec<Value>) {
    let instructions = |scope| parts.total(scope, "user_instructions");
    let of_server = |counter| parts.total(Scope::Server, counter);
    let cpu_us = of_server("cpu_ns").or_else(|| of_server("task_clock_ns")).map(|ns| ns / 1e3);
    let totals = [
        ("foreground_user_instructions_per_effective_op", instructions(Scope::Foreground)),
        ("server_user_instructions_per_effective_op", instructions(Scope::Server)),
        ("server_cpu_us_per_effective_op", cpu_us),
    ];
    for (name, total) in totals {
        values.extend(total.map(|total| (name, total / writes)));
    }
}

fn sum_of_known(values: [Option<f64>; 2]) -> Option<f64> {
    values.into_iter().flatten().reduce(|a, b| a + b)
}

/// The device's counters; where the device is not known, what the server's processes did to
/// storage.
fn traffic(parts: &Parts<'_>, operations: f64, values: &mut Vec<Value>) {
    let device = |counter| parts.total(Scope::Device, counter);
    let kib = |counter| parts.total(Scope::Server, counter).map(|bytes: f64| bytes / 1024.0);
    let totals = [
        ("reads_per_op", device("device_reads")),
        ("read_kib_per_op", device("device_read_kib").or_else(|| kib("read_bytes"))),
        ("writes_per_op", device("device_writes")),
        ("write_kib_per_op", device("device_write_kib").or_else(|| kib("write_bytes"))),
    ];
    for (name, total) in totals {
        values.extend(total.map(|total| (name, total / operations)));
    }
}

fn outcomes(work: &StretchReport, operations: f64, values: &mut Vec<Value>) {
    let errors: u64 = work.errors.iter().map(|error| error.count).sum();
    values.push(("errors_per_op", errors as f64 / operations));
    values.push(("rows_per_op", (work.rows_read + work.rows_changed) as f64 / operations));
}

fn sizes(parts: &Parts<'_>, values: &mut Vec<Value>) {
    const KIB: f64 = 1024.0;
    const BYTES: f64 = 1024.0 * 1024.0;
    let mib = |counter, divisor| parts.peak(Scope::Server, counter).map(|v: f64| v / divisor);
    let found = [
        ("server_rss_mib_peak", mib("rss_kib", KIB)),
        ("server_vsz_mib_peak", mib("vsz_kib", KIB)),
        ("database_mib", mib("database_bytes", BYTES)),
        ("data_folder_mib", mib("data_folder_bytes", BYTES)),
    ];
    values.extend(found.into_iter().filter_map(|(name, value)| Some((name, value?))));
}
