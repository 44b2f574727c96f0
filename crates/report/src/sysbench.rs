//! The words of sysbench 1.0.20's final report, so that programs which read that report read this
//! one too; and a slice in them.
//!
//! What sysbench counts and dbdyno does not is shown as it is here: an operation that met a
//! deadlock is restarted, which are its "ignored errors"; lost connections are not opened again.

use model::{drive::StretchReport, record::SliceRecord};
use std::fmt::Write;

/// Column in which the numbers of the upper half begin.
const COLUMN: usize = 41;

/// All numbers of latencies end in this column.
const END: usize = 53;

/// What was done, in sysbench's words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Statements that returned rows.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All other statements.
    pub others: u64,
    /// Operations.
    pub events: u64,
    /// Errors after which an operation was restarted.
    pub errors: u64,
    /// Connections that were opened again.
    pub reconnects: u64,
    /// Seconds of the rates.
    pub rated_seconds: f64,
    /// Seconds in all.
    pub seconds: f64,
}

/// Latencies in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
    /// The percentile that is shown.
    pub percentile: f64,
    /// Which one it is; 0 shows none.
    pub percent: f64,
    /// Sum.
    pub sum: f64,
}

/// Mean and standard deviation over threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    mean: f64,
    deviation: f64,
}

impl Share {
    /// That of a whole population, as sysbench has it.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, deviation: (squares / count).sqrt() }
    }
}

/// The report of a slice that was measured; nothing for any other.
pub fn text(slice: &SliceRecord) -> Option<String> {
    let work = slice.work.as_ref()?;
    let seconds = work.end_ns.saturating_sub(work.start_ns).max(1) as f64 / 1e9;
    let totals = Totals {
        reads: work.reads,
        writes: work.writes,
        others: work.others,
        events: work.succeeded,
        errors: work.retries,
        reconnects: 0,
        rated_seconds: seconds,
        seconds,
    };
    let service = work.service_us;
    let latency = Latency {
        min: service.min / 1e3,
        mean: service.mean / 1e3,
        max: service.max / 1e3,
        percentile: service.p95 / 1e3,
        percent: 95.0,
        sum: service.mean * work.succeeded as f64 / 1e3,
    };
    let [events, times] = shares(work, slice.clients);
    Some(format!(
        "Number of threads: {}\n\n{}{}{}{}",
        slice.clients,
        statements_text(&totals),
        general_text(&totals),
        latency_text(&latency),
        fairness_text(events, times)
    ))
}

/// Operations and seconds of each connection; records from before they were told have no deviation
/// but that of one connection.
fn shares(work: &StretchReport, clients: u32) -> [Share; 2] {
    if work.shares.is_empty() {
        let deviation = if clients <= 1 { 0.0 } else { f64::NAN };
        let threads = f64::from(clients.max(1));
        let seconds = work.service_us.mean * work.succeeded as f64 / 1e6;
        return [work.succeeded as f64, seconds]
            .map(|all| Share { mean: all / threads, deviation });
    }
    let events: Vec<f64> = work.shares.iter().map(|share| share.succeeded as f64).collect();
    let seconds: Vec<f64> = work.shares.iter().map(|share| share.service_seconds).collect();
    [Share::of(&events), Share::of(&seconds)]
}

/// A line with its number in the common column.
fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name:<COLUMN$}{value}");
}

/// Statements, operations and their rates.
pub fn statements_text(totals: &Totals) -> String {
    let mut text = "SQL statistics:\n    queries performed:\n".to_owned();
    let queries = totals.reads + totals.writes + totals.others;
    let counts = [
        ("read:", totals.reads),
        ("write:", totals.writes),
        ("other:", totals.others),
        ("total:", queries),
    ];
    for (name, count) in counts {
        line(&mut text, &format!("        {name}"), &count.to_string());
    }
    let rates = [
        ("transactions:", totals.events),
        ("queries:", queries),
        ("ignored errors:", totals.errors),
        ("reconnects:", totals.reconnects),
    ];
    for (name, count) in rates {
        let rate = count as f64 / totals.rated_seconds.max(1e-9);
        line(&mut text, &format!("    {name}"), &format!("{count:<6} ({rate:.2} per sec.)"));
    }
    text.push('\n');
    text
}

/// Operations and their time.
pub fn general_text(totals: &Totals) -> String {
    let mut text = "General statistics:\n".to_owned();
    line(&mut text, "    total time:", &format!("{:.4}s", totals.seconds));
    line(&mut text, "    total number of events:", &totals.events.to_string());
    text.push('\n');
    text
}

/// Latencies, below each other.
pub fn latency_text(latency: &Latency) -> String {
    let place = match latency.percent > 0.0 {
        true => format!("         {:.0}th percentile:", latency.percent),
        false => "         percentile stats:".to_owned(),
    };
    let values = [
        ("         min:", latency.min),
        ("         avg:", latency.mean),
        ("         max:", latency.max),
        (place.as_str(), latency.percentile),
        ("         sum:", latency.sum),
    ];
    let mut text = "Latency (ms):\n".to_owned();
    for (name, value) in values {
        let width = END - name.len().min(END);
        let is_off = latency.percent <= 0.0 && name == place;
        let value = if is_off { "disabled".to_owned() } else { format!("{value:.2}") };
        let _ = writeln!(text, "{name}{value:>width$}");
    }
    text.push('\n');
    text
}

/// How even the threads' shares are: of operations, and of seconds.
pub fn fairness_text(events: Share, seconds: Share) -> String {
    let mut text = "Threads fairness:\n".to_owned();
    for (name, Share { mean, deviation }) in [("events", events), ("execution time", seconds)] {
        let name = format!("    {name} (avg/stddev):");
        // Rust writes NaN where C writes nan.
        let deviation = format!("{deviation:.2}").to_lowercase();
        let _ = writeln!(text, "{name:<35}{mean:.4}/{deviation}");
    }
    text
}
