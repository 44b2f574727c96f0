//! Reports in the words of sysbench 1.0.20, as texts.

use crate::{
    bins::Bins,
    counters::{Snapshot, Sums},
};
use report::sysbench::{
    Latency, Share, Totals, fairness_text, general_text, latency_text, statements_text,
};
use std::fmt::Write;

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
    /// Whether the script has connected to a server; statements of others are not shown.
    pub(crate) has_sql: bool,
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

/// What lines, commas and objects show, in this order: seconds, threads, events, queries, reads,
/// writes, others, milliseconds, errors, reconnects; all but the first two and the time a second.
fn figures(stat: &Stat) -> [String; 10] {
    let rate = |count| format!("{:.2}", stat.per_second(count));
    let sums = &stat.sums;
    [
        format!("{:.0}", stat.total),
        stat.threads.to_string(),
        rate(sums.events),
        rate(stat.queries()),
        rate(sums.reads),
        rate(sums.writes),
        rate(sums.others),
        format!("{:.2}", stat.latency[0] * 1e3),
        rate(sums.errors),
        rate(sums.reconnects),
    ]
}

/// The line of an interval.
pub(crate) fn intermediate(stat: &Stat, percentile: f64) -> String {
    let [time, threads, tps, qps, reads, writes, others, latency, errors, reconnects] =
        figures(stat);
    let mut line = match stat.has_sql {
        true => format!(
            "[ {time}s ] thds: {threads} tps: {tps} qps: {qps} (r/w/o: {reads}/{writes}/{others}) \
             lat (ms,{percentile}%): {latency} err/s: {errors} reconn/s: {reconnects}\n"
        ),
        false => {
            format!("[ {time}s ] thds: {threads} eps: {tps} lat (ms,{percentile}%): {latency}\n")
        }
    };
    if let Some((waiting, working)) = stat.queue {
        // Writing to a string cannot fail.
        let _ = writeln!(line, "[ {time}s ] queue length: {waiting}, concurrency: {working}");
    }
    line
}

/// The same between commas.
pub(crate) fn csv(stat: &Stat) -> String {
    figures(stat).join(",") + "\n"
}

/// The same as an object, without an end of line.
pub(crate) fn json(stat: &Stat) -> String {
    let [time, threads, tps, qps, reads, writes, others, latency, errors, reconnects] =
        figures(stat);
    format!(
        "{{\"time\": {time}, \"threads\": {threads}, \"tps\": {tps}, \"qps\": {{\"total\": {qps}, \
         \"reads\": {reads}, \"writes\": {writes}, \"other\": {others}}}, \"latency\": {latency}, \
         \"errors\": {errors}, \"reconnects\": {reconnects}}}"
    )
}

/// The statistics of the whole: counts, rates and latencies.
pub(crate) fn cumulative(stat: &Stat, percentile: f64) -> String {
    let sums = &stat.sums;
    let totals = Totals {
        reads: sums.reads,
        writes: sums.writes,
        others: sums.others,
        events: sums.events,
        errors: sums.errors,
        reconnects: sums.reconnects,
        rated_seconds: stat.interval,
        seconds: stat.total,
    };
    let [quantile, min, max, mean, sum] = stat.latency.map(|seconds| seconds * 1e3);
    let latency = Latency { min, mean, max, percentile: quantile, percent: percentile, sum };
    let statements = if stat.has_sql { statements_text(&totals) } else { String::new() };
    statements + &general_text(&totals) + &latency_text(&latency)
}

/// The histogram of latencies.
pub(crate) fn histogram(bins: &Bins) -> String {
    format!("Latency histogram (values are in milliseconds)\n{} \n", bins.text())
}

/// How even the threads' shares are.
pub(crate) fn fairness(snapshot: &Snapshot) -> String {
    let events: Vec<f64> = snapshot.shares.iter().map(|share| share.0).collect();
    let seconds: Vec<f64> = snapshot.shares.iter().map(|share| share.1).collect();
    fairness_text(Share::of(&events), Share::of(&seconds)) + "\n"
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
            has_sql: true,
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
        let other = Stat { has_sql: false, ..stat() };
        let line = "[ 2s ] thds: 2 eps: 10.00 lat (ms,95%): 12.50\n";
        assert_eq!(intermediate(&other, 95.0), line);
        assert!(cumulative(&other, 95.0).starts_with("General statistics:\n"));
    }
}
