//! The columns of published tables, and the metrics that they are.

/// A column that is known.
#[derive(Debug, PartialEq)]
pub(crate) struct Column {
    /// As headers have it.
    pub(crate) name: &'static str,
    /// Metric.
    pub(crate) metric: &'static str,
    /// The metric's value is the printed number times this.
    pub(crate) factor: f64,
}

const fn column(name: &'static str, metric: &'static str, factor: f64) -> Column {
    Column { name, metric, factor }
}

/// All columns of all ages: headers differ, and only their names count.
const KNOWN: &[Column] = &[
    column("ips", "insert_rows_per_second", 1.0),
    column("qps", "queries_per_second", 1.0),
    column("rps", "reads_per_second", 1.0),
    column("rmbps", "read_mib_per_second", 1.0),
    column("rkbps", "read_mib_per_second", 1.0 / 1024.0),
    column("wps", "writes_per_second", 1.0),
    column("wmbps", "write_mib_per_second", 1.0),
    column("wkbps", "write_mib_per_second", 1.0 / 1024.0),
    column("rpq", "reads_per_op", 1.0),
    column("rkbpq", "read_kib_per_op", 1.0),
    column("wpi", "writes_per_insert_row", 1.0),
    column("wkbpi", "write_kib_per_insert_row", 1.0),
    column("wkbpq", "write_kib_per_op", 1.0),
    column("csps", "host_context_switches_per_second", 1.0),
    column("cpups", "host_cpu_percent", 1.0),
    column("cspq", "host_context_switches_per_op", 1.0),
    column("cpupq", "host_cpu_us_per_op", 1.0),
    column("ccpupq", "client_cpu_us_per_op", 1.0),
    column("dbgb", "database_mib", 1024.0),
    column("dbgb1", "database_mib", 1024.0),
    column("dbgb2", "data_folder_mib", 1024.0),
    column("vsz", "server_vsz_mib_peak", 1024.0),
    column("rss", "server_rss_mib_peak", 1024.0),
    column("maxop", "latency_us_max", 1e6),
    column("p50", "client_rate_p50", 1.0),
    column("p90", "client_rate_p90", 1.0),
    column("p99", "client_rate_p99", 1.0),
];

/// Metrics that come from vmstat, whose repeated headers were counted.
pub(crate) const VMSTAT: [&str; 4] = [
    "host_context_switches_per_second",
    "host_cpu_percent",
    "host_context_switches_per_op",
    "host_cpu_us_per_op",
];

/// The column with this name.
pub(crate) fn find(name: &str) -> Option<&'static Column> {
    KNOWN.iter().find(|column| column.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_column_is_known() {
        for name in &crate::insert::COLUMNS[..20] {
            assert!(find(name).is_some(), "{name}");
        }
        assert_eq!(find("tag"), None);
    }
}
