//! Every quantity that tables can show: name, unit, direction.

use crate::{Error, Result};
use model::metric::{Better, Kind, Metric};

const fn metric_of(
    name: &'static str,
    short: &'static str,
    unit: &'static str,
    better: Better,
    help: &'static str,
) -> Metric {
    Metric { name, short, unit, kind: Kind::Derived, better, help }
}

const fn rate(name: &'static str, short: &'static str, help: &'static str) -> Metric {
    metric_of(name, short, "1/s", Better::Higher, help)
}

const fn time(name: &'static str, help: &'static str) -> Metric {
    metric_of(name, "", "us", Better::Lower, help)
}

const fn cost(
    name: &'static str,
    short: &'static str,
    unit: &'static str,
    help: &'static str,
) -> Metric {
    metric_of(name, short, unit, Better::Lower, help)
}

/// All metrics, in the order in which `dbdyno list metrics` shows them.
///
/// "per op" divides by what the workload counts: operations, statements or rows.
pub const METRICS: &[Metric] = &[
    rate(
        "ops_per_second",
        "QPS",
        "what the workload counts (operations, statements or rows), per second",
    ),
    rate("queries_per_second", "", "statements per second, BEGIN and COMMIT included"),
    rate("transactions_per_second", "", "operations of the workload per second"),
    rate("rows_per_second", "", "rows returned, changed or scanned, per second, by all clients"),
    rate("rows_per_client_per_second", "", "scans: rows per second, by one client"),
    metric_of(
        "ops_per_second_relative",
        "rQPS",
        "",
        Better::Higher,
        "archives of ratios only: relative to the first variant",
    ),
    rate("insert_rows_per_second", "ips", "rows inserted per second, by all clients"),
    rate("delete_rows_per_second", "dps", "rows deleted per second, by all clients"),
    metric_of(
        "insert_rows_per_second_target",
        "",
        "rows/s",
        Better::Neither,
        "target of rows inserted per second during the queries, by all clients",
    ),
    metric_of(
        "seconds_on_target_share",
        "",
        "share",
        Better::Higher,
        "seconds in which inserts and deletes met their target during the queries",
    ),
    rate(
        "effective_ops_per_second",
        "",
        "writing workloads: statements that changed rows, per second",
    ),
    time("latency_us_p50", "median service time of an operation, from send to reply"),
    time("latency_us_p95", "95th percentile of the service time"),
    time("latency_us_p99", "99th percentile of the service time"),
    time("latency_us_p999", "99.9th percentile of the service time"),
    time("latency_us_max", "largest service time"),
    time("response_us_p50", "median response time, from the intended start to the reply"),
    time("response_us_p95", "95th percentile of the response time"),
    time("response_us_p99", "99th percentile of the response time"),
    time("response_us_p999", "99.9th percentile of the response time"),
    time("response_us_max", "largest response time"),
    time("lag_us_max", "open loop: largest lag of a start behind its intended time"),
    cost("foreground_user_instructions_per_op", "", "1/op", "user instructions of serving tasks"),
    cost(
        "foreground_kernel_instructions_per_op",
        "",
        "1/op",
        "kernel instructions of serving tasks",
    ),
    cost("foreground_cycles_per_op", "", "1/op", "cycles of the tasks that serve connections"),
    cost("foreground_cpu_us_per_op", "", "us/op", "CPU time of the tasks that serve connections"),
    cost("lead_user_instructions_per_op", "", "1/op", "user instructions of the lead role's tasks"),
    cost(
        "lead_kernel_instructions_per_op",
        "",
        "1/op",
        "kernel instructions of the lead role's tasks",
    ),
    cost("lead_cycles_per_op", "", "1/op", "cycles of the tasks that serve the lead role alone"),
    cost("lead_cpu_us_per_op", "", "us/op", "CPU time of the tasks that serve the lead role alone"),
    cost("server_user_instructions_per_op", "", "1/op", "user instructions of the whole server"),
    cost(
        "server_kernel_instructions_per_op",
        "",
        "1/op",
        "kernel instructions of the whole server",
    ),
    cost(
        "server_instructions_per_op",
        "",
        "1/op",
        "user and kernel instructions of the whole server (archives of perf stat)",
    ),
    cost(
        "foreground_instructions_per_op",
        "",
        "1/op",
        "user and kernel instructions of serving tasks (archives of perf stat)",
    ),
    metric_of(
        "server_instructions_per_cycle",
        "IPC",
        "",
        Better::Neither,
        "instructions per cycle of the whole server (archives of perf stat)",
    ),
    metric_of(
        "foreground_instructions_per_cycle",
        "IPC",
        "",
        Better::Neither,
        "instructions per cycle of serving tasks (archives of perf stat)",
    ),
    cost("server_cycles_per_op", "", "1/op", "cycles of the whole server"),
    cost("server_cpu_us_per_op", "cpu/o", "us/op", "CPU time of the whole server"),
    cost(
        "foreground_user_instructions_per_effective_op",
        "",
        "1/op",
        "draining workloads: user instructions of serving tasks per statement that changed rows",
    ),
    cost(
        "server_user_instructions_per_effective_op",
        "",
        "1/op",
        "draining workloads: user instructions of the server per statement that changed rows",
    ),
    cost(
        "server_cpu_us_per_effective_op",
        "",
        "us/op",
        "draining workloads: CPU time of the server per statement that changed rows",
    ),
    cost("background_user_instructions_per_op", "", "1/op", "user instructions of other tasks"),
    cost("background_kernel_instructions_per_op", "", "1/op", "kernel instructions of other tasks"),
    cost("background_cycles_per_op", "", "1/op", "cycles of the server's other tasks"),
    cost("background_cpu_us_per_op", "", "us/op", "CPU time of the server's other tasks"),
    cost("client_user_instructions_per_op", "", "1/op", "user instructions of the driver"),
    cost("client_kernel_instructions_per_op", "", "1/op", "kernel instructions of the driver"),
    cost("client_cycles_per_op", "", "1/op", "cycles of the driver"),
    cost("client_cpu_us_per_op", "", "us/op", "CPU time of the driver"),
    cost("host_cpu_us_per_op", "", "us/op", "busy CPU time of the whole host"),
    cost("host_cpu_percent_per_op", "cpu/o", "%s/op", "busy share of all CPUs per rate (archives)"),
    cost(
        "host_context_switches_per_op",
        "cs/o",
        "1/op",
        "context switches of the whole host, load generator included (archives)",
    ),
    cost("context_switches_per_op", "cs/o", "1/op", "context switches of the server's tasks"),
    cost("page_faults_per_op", "", "1/op", "page faults of the server's tasks"),
    cost("reads_per_op", "r/o", "1/op", "reads from the block device of the data folder"),
    cost("read_kib_per_op", "rKB/o", "KiB/op", "read from the block device of the data folder"),
    cost("writes_per_op", "", "1/op", "writes to the block device of the data folder"),
    cost("write_kib_per_op", "wKB/o", "KiB/op", "written to the block device of the data folder"),
    cost("server_rss_mib_peak", "RSS", "MiB", "largest resident memory of the server"),
    cost("server_vsz_mib_peak", "VSZ", "MiB", "largest address space of the server"),
    cost("database_mib", "", "MiB", "size of tables and indexes"),
    cost("data_folder_mib", "", "MiB", "size of the data folder, logs included"),
    metric_of(
        "stolen_cpu_percent",
        "",
        "%",
        Better::Neither,
        "of one CPU, given to other guests by the hypervisor (steal)",
    ),
    cost("errors_per_op", "", "1/op", "errors that the server reported, retried ones included"),
    metric_of("rows_per_op", "", "1/op", Better::Neither, "rows returned or changed"),
    metric_of("rows_changed_per_op", "", "1/op", Better::Neither, "rows changed"),
];

/// The metric with this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The metrics with these names, in this order; all metrics if there are none. Fails for an unknown
/// name.
pub fn select_metrics(names: &[String]) -> Result<Vec<&'static Metric>> {
    if names.is_empty() {
        return Ok(METRICS.iter().collect());
    }
    let find = |name: &String| {
        metric(name).ok_or_else(|| Error::UnknownMetric { name: name.clone(), near: nearest(name) })
    };
    names.iter().map(find).collect()
}

/// The name that shares most words with `name`; the first among equals.
fn nearest(name: &str) -> String {
    let words: Vec<&str> = name.split('_').collect();
    let shared = |metric: &Metric| {
        let same = metric.name.split('_').filter(|word| words.contains(word)).count();
        // Among equally near names, the one with fewer unmatched words comes first.
        (same * 100).saturating_sub(metric.name.split('_').count())
    };
    let best = METRICS.iter().rev().max_by_key(|metric| shared(metric));
    best.map(|metric| metric.name.to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_end_as_their_unit_says() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            let per_op = ["_per_op", "_per_effective_op"].iter().any(|e| metric.name.ends_with(e));
            assert_eq!(per_op, metric.unit.ends_with("/op"), "{}", metric.name);
            assert_eq!(
                metric.name.ends_with("_per_second"),
                metric.unit == "1/s",
                "{}",
                metric.name
            );
            assert!(!metric.help.is_empty());
        }
    }

    #[test]
    fn unknown_names_suggest_the_nearest() {
        let check = |name: &str, expected: &str| {
            let error = select_metrics(&[name.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean `{expected}`?")), "{error}");
        };
        check("cpu_us_per_op", "foreground_cpu_us_per_op");
        check("latency_p95", "latency_us_p95");
        check("ops", "ops_per_second");
        assert_eq!(select_metrics(&[]).unwrap().len(), METRICS.len());
    }
}
