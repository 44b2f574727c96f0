//! Reports in the words of sysbench 1.0.20, as texts.

use crate::counters::{Snapshot, Sums};
use std::fmt::Write;

/// Column in which the numbers of the upper half begin.
const COLUMN: usize = 41;

/// What a report is about: the fields of the table that hooks get, in seconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Stat {
    pub(crate) threads: u32,
    /// Seconds since the last report of the kind, and since the start.
    pub(crate) interval: f64,
    pub(crate) total: f64,
    pub(crate) sums: Sums,
    /// The percentile, the extremes, the mean, the sum.
    pub(crate) latency: [f64; 5],
    /// Events that are due and not begun, and those in work; none without a rate.
    pub(crate) queue: Option<(u64, u64)>,
    /// Whether it is the one at the end.
    pub(crate) cumulative: bool,
}

impl Stat {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.interval.max(1e-9)
    }

    fn queries(&self) -> u64 {
        self.sums.reads + self.sums.writes + self.sums.others
    }
}

/// The line of an interval.
pub(crate) fn intermediate(stat: &Stat, percentile: f64) -> String {
    let rate = |count| stat.per_second(count);
    let sums = &stat.sums;
    let mut line = format!(
        "[ {:.0}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat \
         (ms,{percentile}%): {:.2} err/s: {:.2} reconn/s: {:.2}\n",
        stat.total,
        stat.threads,
        rate(sums.events),
        rate(stat.queries()),
        rate(sums.reads),
        rate(sums.writes),
        rate(sums.others),
        stat.latency[0] * 1e3,
        rate(sums.errors),
        rate(sums.reconnects),
    );
    if let Some((waiting, working)) = stat.queue {
        // Writing to a string cannot fail.
        let _ = writeln!(
            line,
            "[ {:.0}s ] queue length: {waiting}, concurrency: {working}",
            stat.total
        );
    }
    line
}

/// The same between commas.
pub(crate) fn csv(stat: &Stat) -> String {
    let rate = |count| stat.per_second(count);
    let sums = &stat.sums;
    format!(
        "{:.0},{},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2}\n",
        stat.total,
        stat.threads,
        rate(sums.events),
        rate(stat.queries()),
        rate(sums.reads),
        rate(sums.writes),
        rate(sums.others),
        stat.latency[0] * 1e3,
        rate(sums.errors),
        rate(sums.reconnects),
    )
}

/// The same as an object.
pub(crate) fn json(stat: &Stat) -> String {
    let rate = |count| stat.per_second(count);
    let sums = &stat.sums;
    format!(
        "{{\"time\": {:.0}, \"threads\": {}, \"tps\": {:.2}, \"qps\": {{\"total\": {:.2}, \
         \"reads\": {:.2}, \"writes\": {:.2}, \"other\": {:.2}}}, \"latency\": {:.2}, \"errors\": \
         {:.2}, \"reconnects\": {:.2}}}\n",
        stat.total,
        stat.threads,
        rate(sums.events),
        rate(stat.queries()),
        rate(sums.reads),
        rate(sums.writes),
        rate(sums.others),
        stat.latency[0] * 1e3,
        rate(sums.errors),
        rate(sums.reconnects),
    )
}

/// A line with its number in the common column.
fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name:<COLUMN$}{value}");
}

/// The statistics of the whole: counts, rates and latencies.
pub(crate) fn cumulative(stat: &Stat, percentile: f64) -> String {
    let mut text = "SQL statistics:\n    queries performed:\n".to_owned();
    let sums = &stat.sums;
    let counts = [
        ("read:", sums.reads),
        ("write:", sums.writes),
        ("other:", sums.others),
        ("total:", stat.queries()),
    ];
    for (name, count) in counts {
        line(&mut text, &format!("        {name}"), &count.to_string());
    }
    let rates = [
        ("transactions:", sums.events),
        ("queries:", stat.queries()),
        ("ignored errors:", sums.errors),
        ("reconnects:", sums.reconnects),
    ];
    for (name, count) in rates {
        let rate = stat.per_second(count);
        line(&mut text, &format!("    {name}"), &format!("{count:<6} ({rate:.2} per sec.)"));
    }
    text.push_str("\nGeneral statistics:\n");
    line(&mut text, "    total time:", &format!("{:.4}s", stat.total));
    line(&mut text, "    total number of events:", &sums.events.to_string());
    text.push_str("\nLatency (ms):\n");
    let [quantile, min, max, avg, sum] = stat.latency;
    // All numbers end in one column.
    const END: usize = 53;
    let place = if percentile > 0.0 {
        format!("         {percentile:.0}th percentile:")
    } else {
        "         percentile stats:".to_owned()
    };
    let values = [
        ("         min:", min),
        ("         avg:", avg),
        ("         max:", max),
        (place.as_str(), quantile),
        ("         sum:", sum),
    ];
    for (name, seconds) in values {
        let width = END - name.len().min(END);
        let disabled = percentile <= 0.0 && name == place;
        let value = if disabled { "disabled".to_owned() } else { format!("{:.2}", seconds * 1e3) };
        let _ = writeln!(text, "{name}{value:>width$}");
    }
    text.push('\n');
    text
}

/// How even the threads' shares are.
pub(crate) fn fairness(snapshot: &Snapshot) -> String {
    let events: Vec<f64> = snapshot.shares.iter().map(|share| share.0).collect();
    let seconds: Vec<f64> = snapshot.shares.iter().map(|share| share.1).collect();
    let mut text = "Threads fairness:\n".to_owned();
    for (name, values) in [("events", events), ("execution time", seconds)] {
        let (mean, deviation) = spread(&values);
        let name = format!("    {name} (avg/stddev):");
        let _ = writeln!(text, "{name:<35}{mean:.4}/{deviation:.2}");
    }
    text.push('\n');
    text
}

/// Mean and standard deviation of a whole population, as sysbench has it.
fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat() -> Stat {
        let sums = Sums { events: 20, reads: 280, writes: 80, others: 40, ..Sums::default() };
        Stat {
            threads: 2,
            interval: 2.0,
            total: 2.0,
            sums,
            latency: [0.0125, 0.001, 0.02, 0.01, 0.2],
            ..Stat::default()
        }
    }

    #[test]
    fn lines_are_those_of_sysbench() {
        let expected = "[ 2s ] thds: 2 tps: 10.00 qps: 200.00 (r/w/o: 140.00/40.00/20.00) lat \
                        (ms,95%): 12.50 err/s: 0.00 reconn/s: 0.00\n";
        assert_eq!(intermediate(&stat(), 95.0), expected);
        assert_eq!(csv(&stat()), "2,2,10.00,200.00,140.00,40.00,20.00,12.50,0.00,0.00\n");
        let text = cumulative(&stat(), 95.0);
        for line in [
            "        read:                            280\n",
            "    transactions:                        20     (10.00 per sec.)\n",
            "    total number of events:              20\n",
            "         95th percentile:                       12.50\n",
            "         sum:                                  200.00\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(cumulative(&stat(), 0.0).contains("disabled"));
    }
}
