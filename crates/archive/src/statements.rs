//! Whether reports of sysbench that a comparison takes for one test executed the same statements:
//! a report does not name its script, but counts.

use model::{measurement::Measurement, number::counted};
use std::collections::BTreeMap;

/// What of a report says how many statements of a kind a transaction has.
const METRICS: [&str; 4] =
    ["read_statements", "statements", "queries_per_second", "transactions_per_second"];

/// Statements of two scripts differ by more than this factor; those of transactions that failed
/// and were repeated, by less.
const FACTOR: f64 = 1.2;

/// Statements of a transaction by which rounding may differ.
const ROUNDING: f64 = 0.1;

/// Statements of a transaction: those that read rows, and others. Writes are not told apart from
/// the rest, because sysbench counts one that found no row among others.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mix<'a> {
    subject: &'a str,
    reads: f64,
    others: f64,
}

impl<'a> Mix<'a> {
    fn of(subject: &'a str, metrics: &BTreeMap<&str, f64>) -> Option<Self> {
        let [reads, all, queries, transactions] = METRICS.map(|metric| metrics.get(metric));
        let statements = queries? / transactions?;
        let reads = statements * reads? / all?;
        let mix = Self { subject, reads, others: statements - reads };
        (mix.reads.is_finite() && mix.others.is_finite()).then_some(mix)
    }

    fn is_of_another_script(&self, other: &Self) -> bool {
        let differ = |a: f64, b: f64| a.max(b) > a.min(b) * FACTOR + ROUNDING;
        differ(self.reads, other.reads) || differ(self.others, other.others)
    }

    fn shown(&self) -> String {
        let Self { subject, reads, others } = self;
        format!("{reads:.1} reads and {others:.1} others (`{subject}`)")
    }
}

/// One sentence where variants or repetitions of a phase executed other statements.
pub fn statement_difference<'a>(values: impl Iterator<Item = &'a Measurement>) -> Option<String> {
    type Repetition<'a> = (&'a str, u32, u32);
    let mut phases: BTreeMap<&str, BTreeMap<Repetition<'_>, BTreeMap<&str, f64>>> = BTreeMap::new();
    for value in values {
        if METRICS.contains(&value.metric.as_str()) {
            let repetition = (value.subject.as_str(), value.block, value.round);
            let metrics = phases.entry(&value.phase).or_default().entry(repetition).or_default();
            metrics.insert(value.metric.as_str(), value.value);
        }
    }
    let mut differing = phases.iter().filter_map(|(phase, repetitions)| {
        let all = repetitions.iter().filter_map(|((subject, ..), told)| Mix::of(subject, told));
        let mixes: Vec<Mix<'_>> = all.collect();
        let first = *mixes.first()?;
        let other = *mixes.iter().find(|one| one.is_of_another_script(&first))?;
        Some((*phase, first, other))
    });
    let (phase, first, other) = differing.next()?;
    let more = match differing.count() {
        0 => String::new(),
        count => format!(" and {}", counted(count, "more phase")),
    };
    Some(format!(
        "sysbench's statements per transaction differ in `{phase}`{more}: {}, {}; the scripts are \
         not the same, or many transactions failed",
        first.shown(),
        other.shown()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_other_scripts_are_told() {
        let report = |place: (&str, u32), [reads, all, transactions]: [f64; 3]| {
            let values = [reads, all, all / 10.0, transactions / 10.0];
            let value = |(metric, value): (&str, f64)| Measurement {
                subject: place.0.into(),
                phase: "read".into(),
                metric: metric.into(),
                block: place.1,
                value,
                ..Measurement::default()
            };
            METRICS.into_iter().zip(values).map(value).collect::<Vec<_>>()
        };
        let said = |reports: &[Vec<Measurement>]| statement_difference(reports.iter().flatten());
        let read_only = report(("old", 0), [1400.0, 1600.0, 100.0]);
        let point = report(("old", 1), [900.0, 900.0, 900.0]);
        let update = report(("new", 0), [0.0, 900.0, 900.0]);
        // A few transactions failed.
        let failed = report(("new", 0), [1470.0, 1680.0, 100.0]);
        assert_eq!(said(&[read_only.clone(), failed]), None);
        let told = said(&[read_only.clone(), point.clone()]).unwrap();
        let expected = "sysbench's statements per transaction differ in `read`: 14.0 reads and 2.0 \
                        others (`old`), 1.0 reads and 0.0 others (`old`); the scripts are not the \
                        same, or many transactions failed";
        assert_eq!(told, expected);
        assert!(said(&[point, update.clone()]).is_some());
        // A summary counts no statements, and a report without transactions has no ratio.
        let none = report(("old", 0), [0.0, 0.0, 0.0]);
        assert_eq!(said(&[none, update.clone()]), None);
        assert_eq!(said(&[read_only[2..].to_vec(), update]), None);
    }
}
