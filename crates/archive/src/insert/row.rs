//! One row of the published summary, computed from what was measured.

/// The columns in their order. `tag` names the variant; the others are:
/// rows inserted and queries per second; reads and MB read per second, writes and MB written per
/// second of the device; reads and KB read per operation, writes and KB written per insert;
/// switches and CPU (percent of all) per second and (microseconds) per operation; size of the
/// database and of its folder, resident memory \[GiB\]; the largest response time \[s\]; median
/// and 99th percentile of a client's rates in single seconds.
pub const COLUMNS: [&str; 21] = [
    "ips", "qps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups",
    "cspq", "cpupq", "dbgb1", "dbgb2", "rss", "maxop", "p50", "p99", "tag",
];

/// What the operations of a phase are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Work {
    /// Rows that are inserted, or that get an index.
    #[default]
    Insert,
    /// Queries, while rows are inserted.
    Query,
}

/// One phase of one subject, as means over the phase; what is absent was not measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseRates {
    /// What its operations are.
    pub work: Work,
    /// Length, seconds.
    pub seconds: Option<f64>,
    /// Rows inserted by all clients, or indexed \[1/s\].
    pub inserts_per_second: f64,
    /// Queries of all clients \[1/s\].
    pub queries_per_second: f64,
    /// Reads of the device \[1/s\].
    pub reads_per_second: Option<f64>,
    /// Read from the device \[KiB/s\].
    pub read_kib_per_second: Option<f64>,
    /// Writes to the device \[1/s\].
    pub writes_per_second: Option<f64>,
    /// Written to the device \[KiB/s\].
    pub write_kib_per_second: Option<f64>,
    /// Context switches \[1/s\].
    pub switches_per_second: Option<f64>,
    /// Busy CPU time, percent of all CPUs.
    pub cpu_percent: Option<f64>,
    /// CPUs of the host.
    pub cpus: Option<u32>,
    /// Size of the database \[GiB\].
    pub database_gib: Option<f64>,
    /// Size of its whole folder \[GiB\].
    pub folder_gib: Option<f64>,
    /// Resident memory of the server \[GiB\].
    pub resident_gib: Option<f64>,
    /// Largest response time of an operation \[s\].
    pub response_s_max: Option<f64>,
    /// Rates of one client in single seconds \[1/s\]: rows while loading, else queries.
    pub client_rates: Vec<u64>,
}

/// The row as published: rates are cut to a tenth before anything is divided by them. What was not
/// measured, or divides by nothing, is `NA`.
pub fn published_row(rates: &PhaseRates, tag: &str) -> [String; 21] {
    let (inserts, queries) = (tenths(rates.inserts_per_second), tenths(rates.queries_per_second));
    let operations = if rates.work == Work::Query { queries } else { inserts };
    let per = |value: Option<f64>, rate: f64| printed(value.map(|value| value / rate), 3);
    let mib = |kib: Option<f64>| printed(kib.map(|kib| kib / 1024.0), 1);
    let cpu_us = rates.cpu_percent.zip(rates.cpus).map(|(percent, cpus)| {
        let per_second = percent / 100.0 * f64::from(cpus);
        // The scripts round the CPU seconds of the whole phase to a tenth.
        let seconds = match rates.seconds.filter(|seconds| *seconds > 0.0) {
            Some(seconds) => (per_second * seconds * 10.0).round_ties_even() / 10.0 / seconds,
            None => per_second,
        };
        seconds * 1e6 / operations
    });
    [
        printed(Some(inserts), 0),
        printed(Some(queries), 0),
        printed(rates.reads_per_second, 1),
        mib(rates.read_kib_per_second),
        printed(rates.writes_per_second, 1),
        mib(rates.write_kib_per_second),
        per(rates.reads_per_second, operations),
        per(rates.read_kib_per_second, operations),
        per(rates.writes_per_second, inserts),
        per(rates.write_kib_per_second, inserts),
        printed(rates.switches_per_second, 0),
        printed(rates.cpu_percent, 1),
        per(rates.switches_per_second, operations),
        printed(cpu_us, 0),
        printed(rates.database_gib, 1),
        printed(rates.folder_gib, 1),
        printed(rates.resident_gib, 1),
        printed(rates.response_s_max, 3),
        descending_rank(&rates.client_rates, 0.50),
        descending_rank(&rates.client_rates, 0.99),
        tag.to_owned(),
    ]
}

/// Cut to one decimal.
fn tenths(value: f64) -> f64 {
    // The nearest multiple counts where the number is as near to it as numbers can be.
    let scaled = value * 10.0;
    let near = (scaled - scaled.round()).abs() <= scaled.abs() * 1e-12;
    (if near { scaled.round() } else { scaled.trunc() }) / 10.0
}

fn printed(value: Option<f64>, decimals: usize) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) => format!("{value:.decimals$}"),
        None => "NA".to_owned(),
    }
}

/// The rate that was exceeded for `share` of the time: a rank of the rates in descending order.
/// `NA` for fewer than ten rates.
pub(crate) fn descending_rank(rates: &[u64], share: f64) -> String {
    if rates.len() < 10 {
        return "NA".to_owned();
    }
    let mut sorted = rates.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let rank = (share * sorted.len() as f64).round_ties_even() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> PhaseRates {
        PhaseRates {
            seconds: Some(143.0),
            inserts_per_second: 20e6 / 143.0,
            reads_per_second: Some(1238.3),
            read_kib_per_second: Some(4.78 * 1024.0),
            writes_per_second: Some(51.3),
            write_kib_per_second: Some(32.2 * 1024.0),
            switches_per_second: Some(15_177.0),
            cpu_percent: Some(45.7),
            cpus: Some(4),
            database_gib: Some(1.3),
            folder_gib: Some(41.8),
            resident_gib: Some(2.0),
            response_s_max: Some(0.265),
            ..PhaseRates::default()
        }
    }

    #[test]
    fn a_load_of_2021_gives_its_published_row() {
        let expected = "139860 0 1238.3 4.8 51.3 32.2 0.009 0.035 0.000 0.236 15177 45.7 0.109 13 \
                        1.3 41.8 2.0 0.265 NA NA my5649";
        assert_eq!(published_row(&load(), "my5649").join(" "), expected);
    }

    #[test]
    fn building_indexes_counts_the_rows_that_are_there() {
        let index = PhaseRates {
            seconds: Some(187.0),
            inserts_per_second: (20_000_000.0 + 100_000.0) / 187.0,
            cpu_percent: Some(21.2),
            ..load()
        };
        let row = published_row(&index, "");
        assert_eq!((row[0].as_str(), row[1].as_str(), row[13].as_str()), ("107487", "0", "8"));
    }

    #[test]
    fn queries_divide_reads_and_cpu_and_inserts_divide_writes() {
        let query = PhaseRates {
            work: Work::Query,
            seconds: Some(1803.0),
            inserts_per_second: 180_000.0 / 1803.0,
            queries_per_second: 12_772_452.0 / 1803.0,
            writes_per_second: Some(113.2),
            cpu_percent: Some(26.0),
            switches_per_second: Some(27_542.0),
            client_rates: (1..=100).collect(),
            ..load()
        };
        let row = published_row(&query, "");
        let picked = [0, 1, 8, 12, 13, 18, 19].map(|index| row[index].as_str());
        assert_eq!(picked, ["100", "7084", "1.134", "3.888", "147", "51", "2"]);
    }

    #[test]
    fn what_was_not_measured_is_not_invented() {
        let row = published_row(&PhaseRates::default(), "x");
        assert_eq!(row.join(" "), format!("0 0{} x", " NA".repeat(18)));
        assert_eq!((tenths(0.3), tenths(0.29), tenths(1.1)), (0.3, 0.2, 1.1));
    }
}
