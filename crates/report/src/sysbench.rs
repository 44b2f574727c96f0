//! One slice in the words of sysbench 1.0.20's final report, so that programs which read that
//! report read this one too.
//!
//! What sysbench counts and dbdyno does not is shown as it is here: an operation that met a
//! deadlock is restarted, which are its "ignored errors"; lost connections are not opened again.

use model::{drive::StretchReport, record::SliceRecord};
use std::fmt::Write;

/// Column in which the numbers of the upper half begin.
const COLUMN: usize = 41;

/// The report of a slice that was measured; nothing for any other.
pub fn text(slice: &SliceRecord) -> Option<String> {
    let work = slice.work.as_ref()?;
    let mut text = format!("Number of threads: {}\n\n", slice.clients);
    let seconds = work.end_ns.saturating_sub(work.start_ns).max(1) as f64 / 1e9;
    statistics(&mut text, work, seconds);
    general(&mut text, work, seconds);
    latency(&mut text, work);
    fairness(&mut text, work, slice.clients);
    Some(text)
}

/// A line with its number in the common column.
fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name:<COLUMN$}{value}");
}

fn statistics(text: &mut String, work: &StretchReport, seconds: f64) {
    let queries = work.reads + work.writes + work.others;
    text.push_str("SQL statistics:\n    queries performed:\n");
    let counts = [
        ("read:", work.reads),
        ("write:", work.writes),
        ("other:", work.others),
        ("total:", queries),
    ];
    for (name, count) in counts {
        line(text, &format!("        {name}"), &count.to_string());
    }
    let rates = [
        ("transactions:", work.succeeded),
        ("queries:", queries),
        ("ignored errors:", work.retries),
        ("reconnects:", 0),
    ];
    for (name, count) in rates {
        let rate = count as f64 / seconds;
        line(text, &format!("    {name}"), &format!("{count:<6} ({rate:.2} per sec.)"));
    }
    text.push('\n');
}

fn general(text: &mut String, work: &StretchReport, seconds: f64) {
    text.push_str("General statistics:\n");
    line(text, "    total time:", &format!("{seconds:.4}s"));
    line(text, "    total number of events:", &work.succeeded.to_string());
    text.push('\n');
}

fn latency(text: &mut String, work: &StretchReport) {
    text.push_str("Latency (ms):\n");
    let service = work.service_us;
    let sum = service.mean * work.succeeded as f64;
    let values = [
        ("         min:", service.min),
        ("         avg:", service.mean),
        ("         max:", service.max),
        ("         95th percentile:", service.p95),
        ("         sum:", sum),
    ];
    // All numbers end in one column.
    const END: usize = 53;
    for (name, us) in values {
        let width = END - name.len();
        let _ = writeln!(text, "{name}{:>width$.2}", us / 1e3);
    }
    text.push('\n');
}

/// How even the connections' shares are; records from before they were told have no deviation but
/// that of one connection.
fn fairness(text: &mut String, work: &StretchReport, clients: u32) {
    let threads = f64::from(clients.max(1));
    let (events, seconds) = if work.shares.is_empty() {
        let deviation = if clients <= 1 { 0.0 } else { f64::NAN };
        let seconds = work.service_us.mean * work.succeeded as f64 / 1e6;
        ((work.succeeded as f64 / threads, deviation), (seconds / threads, deviation))
    } else {
        let events: Vec<f64> = work.shares.iter().map(|share| share.succeeded as f64).collect();
        let seconds: Vec<f64> = work.shares.iter().map(|share| share.service_seconds).collect();
        (spread(&events), spread(&seconds))
    };
    text.push_str("Threads fairness:\n");
    for (name, (mean, deviation)) in [("events", events), ("execution time", seconds)] {
        let name = format!("    {name} (avg/stddev):");
        // Rust writes NaN where C writes nan.
        let deviation = format!("{deviation:.2}").to_lowercase();
        let _ = writeln!(text, "{name:<35}{mean:.4}/{deviation}");
    }
}

/// Mean and standard deviation of a whole population, as sysbench has it.
fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / count).sqrt())
}
