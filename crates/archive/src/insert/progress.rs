//! Progress of one client of the Insert Benchmark, second by second.

use super::row::descending_rank;
use crate::{Cell, Found, Value, number, phase};

/// The columns that matter; there were 12 in 2021, and are 17 since there are deletes.
const KNOWN: [&str; 17] = [
    "i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d",
    "max_q", "t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
];

/// Rows of a statement in phases with a rate: seconds end between statements.
const STATEMENT_ROWS: f64 = 50.0;

/// Share of the rate that a second on target has at least.
const SHARE: f64 = 0.95;

/// The columns of a header; `None` if one is not known.
pub(crate) fn columns(header: &str) -> Option<Vec<&'static str>> {
    let known = |name: &str| KNOWN.into_iter().find(|known| *known == name);
    header.split('\t').map(|name| known(name.trim())).collect()
}

/// One line of progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interval {
    values: Vec<(&'static str, f64)>,
}

impl Interval {
    /// Reads a line; fails with the reason why it is left out.
    pub(crate) fn read(header: &[&'static str], text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
        if fields.len() != header.len() {
            return Err(number::wrong_columns(fields.len(), header.len()));
        }
        let value = |(name, field): (&&'static str, &&str)| match number::parse(field) {
            Some(value) => Ok((*name, value)),
            None => {
                let shown = number::excerpt(field);
                Err(format!("`{shown}` is not a number; its line is left out"))
            }
        };
        let values = header.iter().zip(&fields).map(value).collect::<Result<_, _>>()?;
        Ok(Self { values })
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// All lines of one client.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    intervals: Vec<Interval>,
    last: u32,
}

impl Progress {
    pub(crate) fn add(&mut self, interval: Interval, line: u32) {
        self.intervals.push(interval);
        self.last = line;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Adds what follows from the lines, each at the last of them.
    pub(crate) fn values(&self, cell: &Cell, prefix: &str, found: &mut Found) {
        let Some(phase) = phase::of(&cell.phase) else { return };
        let printed: Vec<String> = found
            .values
            .iter()
            .map(|value| value.metric.strip_prefix(prefix).unwrap_or_default().to_owned())
            .collect();
        let mut add = |metric: &str, value: Option<f64>| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                found.values.push(Value {
                    cell: cell.clone(),
                    metric: format!("{prefix}{metric}").into(),
                    value,
                    text: String::new(),
                    line: self.last,
                    biases: Vec::new(),
                });
            }
        };
        let last = |name: &str| self.intervals.last().and_then(|interval| interval.get(name));
        let seconds = last("t_sec").filter(|seconds| *seconds > 0.0);
        let rate = |name: &str| last(name).zip(seconds).map(|(count, seconds)| count / seconds);
        add("insert_rows_per_second", rate("t_ins"));
        add("delete_rows_per_second", rate("t_del"));
        let operations = if phase.kind.queries() { "t_query" } else { "t_ins" };
        add("queries_per_second", rate("t_query"));
        add("ops_per_second", rate(operations));
        for (metric, column) in [
            ("insert_response_us_max", "max_i"),
            ("delete_response_us_max", "max_d"),
            ("query_response_us_max", "max_q"),
        ] {
            // What the client printed at its end is more exact.
            if !printed.contains(&metric.to_owned()) {
                add(metric, self.each(column).reduce(f64::max));
            }
        }
        for (metric, column) in [
            ("insert_retries", "retry_i"),
            ("delete_retries", "retry_d"),
            ("query_retries", "retry_q"),
        ] {
            add(metric, self.each(column).reduce(|a, b| a + b));
        }
        let column = if phase.kind.queries() { "i_qps" } else { "i_ips" };
        let rates: Vec<u64> = self.each(column).map(|rate| rate.max(0.0) as u64).collect();
        for (metric, share) in [("client_rate_p50", 0.50), ("client_rate_p99", 0.99)] {
            add(metric, number::parse(&descending_rank(&rates, share)));
        }
        if phase.kind.queries() {
            let target = f64::from(phase.rate);
            if prefix.is_empty() {
                add("insert_rows_per_second_target", Some(target));
            }
            add("seconds_on_target_share", Some(self.on_target(target)));
        }
    }

    fn each(&self, column: &str) -> impl Iterator<Item = f64> {
        self.intervals.iter().filter_map(move |interval| interval.get(column))
    }

    /// Share of the lines in which inserts, and deletes where there are any, kept the rate.
    fn on_target(&self, target: f64) -> f64 {
        let least = SHARE * target - STATEMENT_ROWS;
        let enough = |interval: &&Interval| {
            ["i_ips", "i_dps"].iter().all(|name| interval.get(name).is_none_or(|v| v >= least))
        };
        self.intervals.iter().filter(enough).count() as f64 / self.intervals.len() as f64
    }
}
