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

/// What each connection did is not recorded, so only one connection has a known deviation.
fn fairness(text: &mut String, work: &StretchReport, clients: u32) {
    let threads = f64::from(clients.max(1));
    let deviation = if clients <= 1 { "0.00" } else { "nan" };
    let events = work.succeeded as f64 / threads;
    let seconds = work.service_us.mean * work.succeeded as f64 / 1e6 / threads;
    text.push_str("Threads fairness:\n");
    let _ = writeln!(text, "    events (avg/stddev):           {events:.4}/{deviation}");
    let _ = writeln!(text, "    execution time (avg/stddev):   {seconds:.4}/{deviation}");
}
