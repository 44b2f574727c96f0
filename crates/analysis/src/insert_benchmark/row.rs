//! One row of the published summary, computed from what was measured.

use crate::rounding::{rate, tenths, whole};

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

/// What a phase does, which says what its operations are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// It inserts: an operation is a row.
    Insert,
    /// It builds indexes over as many rows as were loaded before.
    Index {
        /// Those rows, of all tables.
        loaded_rows: u64,
    },
    /// It queries while rows are inserted: an operation is a query.
    Query {
        /// Queries of all clients.
        queries: u64,
    },
}

/// One phase of one subject, as measured. Rates of device and host are means over the phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseTotals {
    /// What it did.
    pub work: Work,
    /// Length, whole seconds.
    pub seconds: u64,
    /// Rows inserted by all clients.
    pub inserted_rows: u64,
    /// Reads of the device [1/s].
    pub reads_per_second: f64,
    /// Read from the device [KiB/s].
    pub read_kib_per_second: f64,
    /// Writes to the device [1/s].
    pub writes_per_second: f64,
    /// Written to the device [KiB/s].
    pub write_kib_per_second: f64,
    /// Context switches of the host [1/s].
    pub switches_per_second: f64,
    /// Busy CPU time of the host, percent of all CPUs.
    pub cpu_percent: f64,
    /// CPUs of the host.
    pub cpus: u32,
    /// Size of the database [GiB].
    pub database_gib: f64,
    /// Size of its whole folder [GiB].
    pub folder_gib: f64,
    /// Resident memory of the server [GiB].
    pub resident_gib: Option<f64>,
    /// Largest response time of an operation [s].
    pub response_s_max: f64,
    /// Rates of one client in single seconds [1/s]: rows while loading, else queries.
    pub client_rates: Vec<u64>,
}

/// The row as published: rates are cut to a tenth before anything is divided by them.
pub fn published_row(totals: &PhaseTotals, tag: &str) -> [String; 21] {
    let seconds = totals.seconds as f64;
    let per_second = |count: u64| if totals.seconds == 0 { 0.0 } else { count as f64 / seconds };
    let (rows, queries) = match totals.work {
        Work::Insert => (totals.inserted_rows, 0),
        Work::Index { loaded_rows } => (totals.inserted_rows.saturating_add(loaded_rows), 0),
        Work::Query { queries } => (totals.inserted_rows, queries),
    };
    let (inserts, queries) = (tenths(per_second(rows)), tenths(per_second(queries)));
    let operations = if matches!(totals.work, Work::Query { .. }) { queries } else { inserts };
    let cpu_seconds = totals.cpu_percent / 100.0 * seconds * f64::from(totals.cpus);
    let cpu_us = whole(cpu_seconds * 10.0) / 10.0 * 1e6;
    let [p50, p99] = [0.50, 0.99].map(|share| descending_rank(&totals.client_rates, share));
    [
        format!("{}", rate(inserts)),
        format!("{}", rate(queries)),
        format!("{:.1}", totals.reads_per_second),
        format!("{:.1}", totals.read_kib_per_second / 1024.0),
        format!("{:.1}", totals.writes_per_second),
        format!("{:.1}", totals.write_kib_per_second / 1024.0),
        quotient(totals.reads_per_second, operations),
        quotient(totals.read_kib_per_second, operations),
        quotient(totals.writes_per_second, inserts),
        quotient(totals.write_kib_per_second, inserts),
        format!("{:.0}", totals.switches_per_second),
        format!("{:.1}", totals.cpu_percent),
        quotient(totals.switches_per_second, operations),
        known(cpu_us / (operations * seconds), 0),
        format!("{:.1}", totals.database_gib),
        format!("{:.1}", totals.folder_gib),
        totals.resident_gib.map_or_else(|| "NA".to_owned(), |gib| format!("{gib:.1}")),
        format!("{:.3}", totals.response_s_max),
        p50,
        p99,
        tag.to_owned(),
    ]
}

fn quotient(value: f64, rate: f64) -> String {
    known(value / rate, 3)
}

/// A quotient that does not exist is `NA`.
fn known(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "NA".to_owned() }
}

/// The rate that was exceeded for `share` of the time: a rank of the rates in descending order.
/// `NA` for fewer than ten rates.
fn descending_rank(rates: &[u64], share: f64) -> String {
    if rates.len() < 10 {
        return "NA".to_owned();
    }
    let mut sorted = rates.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let rank = whole(share * sorted.len() as f64) as usize;
    sorted[rank.clamp(1, sorted.len()) - 1].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals() -> PhaseTotals {
        PhaseTotals {
            work: Work::Insert,
            seconds: 143,
            inserted_rows: 20_000_000,
            reads_per_second: 1238.3,
            read_kib_per_second: 4.78 * 1024.0,
            writes_per_second: 51.3,
            write_kib_per_second: 32.2 * 1024.0,
            switches_per_second: 15_177.0,
            cpu_percent: 45.7,
            cpus: 4,
            database_gib: 1.3,
            folder_gib: 41.8,
            resident_gib: Some(2.0),
            response_s_max: 0.265,
            client_rates: Vec::new(),
        }
    }

    #[test]
    fn a_load_of_2021_gives_its_published_row() {
        let expected = "139860 0 1238.3 4.8 51.3 32.2 0.009 0.035 0.000 0.236 15177 45.7 0.109 13 \
                        1.3 41.8 2.0 0.265 NA NA my5649";
        assert_eq!(published_row(&totals(), "my5649").join(" "), expected);
    }

    #[test]
    fn building_indexes_counts_the_rows_that_are_there() {
        let index = PhaseTotals {
            work: Work::Index { loaded_rows: 20_000_000 },
            seconds: 187,
            inserted_rows: 100_000,
            cpu_percent: 21.2,
            ..totals()
        };
        let row = published_row(&index, "");
        assert_eq!((row[0].as_str(), row[1].as_str(), row[13].as_str()), ("107487", "0", "8"));
    }

    #[test]
    fn queries_divide_reads_and_cpu_and_inserts_divide_writes() {
        let query = PhaseTotals {
            work: Work::Query { queries: 12_772_452 },
            seconds: 1803,
            inserted_rows: 180_000,
            writes_per_second: 113.2,
            cpu_percent: 26.0,
            switches_per_second: 27_542.0,
            client_rates: (1..=100).collect(),
            ..totals()
        };
        let row = published_row(&query, "");
        let picked = [0, 1, 8, 12, 13, 18, 19].map(|index| row[index].as_str());
        assert_eq!(picked, ["100", "7084", "1.134", "3.888", "147", "51", "2"]);
    }

    #[test]
    fn nothing_divides_by_zero() {
        let nothing = PhaseTotals { seconds: 0, resident_gib: None, ..totals() };
        let row = published_row(&nothing, "");
        let picked = [0, 6, 13, 16].map(|index| row[index].as_str());
        assert_eq!(picked, ["0", "NA", "NA", "NA"]);
    }
}
