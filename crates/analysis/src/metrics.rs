//! Every quantity that tables can show, a row each: whoever asks what a metric is asks its row.

use crate::{Error, Result};
use model::{
    metric::{Better, Kind, Metric, Part, Per, Source},
    state,
};
use serde::{Deserialize, de::value};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{LazyLock, Mutex, PoisonError},
};

/// The table: columns between `|`, in the order of [`row`].
///
/// Counters are names of the probes' tables: those to add up, and what one unit of the metric is in
/// theirs; behind `or` what is taken where they are not known.
const TABLE: &str = include_str!("metrics.txt");

/// All metrics, in the order in which `dbdyno list metrics` shows them.
///
/// "per op" divides by what the workload counts: operations, statements or rows.
pub static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let rows = TABLE.lines().skip(1).map(|line| {
        row(line).unwrap_or_else(|| panic!("the program's own table has a wrong row: {line}"))
    });
    rows.collect()
});

fn row(line: &'static str) -> Option<Metric> {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, title, short, unit, better, part, kind, per, table, family, counters, help] =
        *columns
    else {
        return None;
    };
    let sources = counters.split(" or ").filter(|source| !source.is_empty());
    Some(Metric {
        name,
        title,
        short,
        unit,
        better: word(better)?,
        part: word(part)?,
        kind: word(kind)?,
        per: word(per)?,
        sources: sources.map(source).collect::<Option<_>>()?,
        table: optional(table)?,
        family: optional(family)?,
        help,
    })
}

fn source(text: &'static str) -> Option<Source> {
    let (counters, divisor) = text.split_once(" / ").unwrap_or((text, "1"));
    let counters = counters.split(" + ").collect();
    Some(Source { counters, divisor: divisor.trim().parse().ok()? })
}

/// The value that a word of the table names.
fn word<T: Deserialize<'static>>(text: &'static str) -> Option<T> {
    T::deserialize(value::BorrowedStrDeserializer::<value::Error>::new(text)).ok()
}

/// The same for a column that may be empty.
fn optional<T: Deserialize<'static>>(text: &'static str) -> Option<Option<T>> {
    if text.is_empty() { Some(None) } else { word(text).map(Some) }
}

/// The metric with this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name).or_else(|| counter(name))
}

/// The metrics of counters that a server has of itself, as far as they were asked for.
static COUNTERS: Mutex<BTreeMap<String, &'static Metric>> = Mutex::new(BTreeMap::new());

/// A counter that a server has of itself, per operation: `status.Innodb_rows_read`. Which there are
/// is the server's to say, so each is made when it is first asked for, and stays.
fn counter(name: &str) -> Option<&'static Metric> {
    if !state::is_counter(name) {
        return None;
    }
    let mut known = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || -> &'static Metric {
        let name: &'static str = name.to_owned().leak();
        Box::leak(Box::new(Metric {
            name,
            title: name,
            short: "",
            unit: "1/op",
            better: Better::Neither,
            part: Part::Server,
            kind: Kind::Fact,
            per: Per::Operation,
            sources: Vec::new(),
            table: None,
            family: None,
            help: "a counter of the server itself, per operation",
        }))
    };
    Some(*known.entry(name.to_owned()).or_insert_with(new))
}

/// The metrics with these names that there are, in the order of tables: those of servers' own
/// counters last.
pub fn ordered(names: &BTreeSet<&str>) -> Vec<&'static Metric> {
    let usual = METRICS.iter().filter(|metric| names.contains(metric.name));
    usual.chain(names.iter().filter_map(|name| counter(name))).collect()
}

/// The usual metric of a kind and a part: the first one.
pub fn metric_of(part: Part, kind: Kind) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| (metric.part, metric.kind) == (part, kind))
}

/// The metrics with these names, in this order; all metrics if there are none. Fails for an unknown
/// name.
pub fn select_metrics(names: &[String]) -> Result<Vec<&'static Metric>> {
    if names.is_empty() {
        return Ok(METRICS.iter().collect());
    }
    let find = |name: &String| {
        metric(name).ok_or_else(|| Error::UnknownMetric { name: name.clone(), hint: hint(name) })
    };
    names.iter().map(find).collect()
}

/// What sysbench and its users call metrics: their words, and the names here.
const WORDS: [(&str, &str); 9] = [
    ("tps", "transactions_per_second"),
    ("eps", "transactions_per_second"),
    ("lat", "latency_us_p99"),
    ("latency", "latency_us_p99"),
    ("rps", "rows_per_second"),
    ("cpu", "server_cpu_us_per_op"),
    ("instructions", "foreground_user_instructions_per_op"),
    ("rss", "server_rss_mib_peak"),
    ("memory", "server_rss_mib_peak"),
];

/// The share that a percentile is of: 0.98 of `p98`, 0.999 of `p999`.
fn share(word: &str) -> Option<f64> {
    let digits = word.strip_prefix('p')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("0.{digits}").parse().ok()).flatten()
}

/// The metric with the nearest percentile to that of `name`, of latencies where it names no other.
fn with_percentile(name: &str) -> Option<&'static Metric> {
    let (stem, word) = name.rsplit_once('_').unwrap_or(("", name));
    let asked = share(word)?;
    let stem = if stem.starts_with("response") { "response_us_p" } else { "latency_us_p" };
    let known = METRICS.iter().filter(|metric| metric.name.starts_with(stem));
    let distance = |metric: &&Metric| {
        let found = metric.name.rsplit_once('_').and_then(|(_, word)| share(word));
        found.map_or(f64::INFINITY, |found| (found - asked).abs())
    };
    known.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Likeness, of 1 for the same letters, from which on a name is a misspelled one.
const MISSPELLED: f64 = 0.8;

/// The metric that is called `name` but for a few letters or underscores.
fn misspelled(name: &str) -> Option<&'static Metric> {
    let letters = |name: &str| name.to_lowercase().replace(['_', '-', ' ', '.'], "");
    let likeness = |metric: &Metric| {
        strsim::normalized_damerau_levenshtein(&letters(name), &letters(metric.name))
    };
    let found = METRICS.iter().rev().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    found.filter(|metric| likeness(metric) >= MISSPELLED)
}

/// A question for the metric whose column or word of sysbench is `name`, that has the nearest
/// percentile, or that is spelled almost like it, else for the name that shares most words with it,
/// the first among equals; nothing where none shares any.
fn hint(name: &str) -> String {
    let column = METRICS.iter().find(|metric| metric.short.eq_ignore_ascii_case(name));
    let word = || WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name));
    let called = column.filter(|metric| !metric.short.is_empty());
    let called = called.or_else(|| metric(word()?.1)).or_else(|| with_percentile(name));
    let called = called.or_else(|| misspelled(name));
    if let Some(metric) = called {
        return format!("did you mean `{}`? ", metric.name);
    }
    let words: Vec<&str> = name.split('_').collect();
    let shared = |metric: &Metric| {
        let same = metric.name.split('_').filter(|word| words.contains(word)).count();
        // Among equally near names, the one with fewer unmatched words comes first.
        (same * 100).saturating_sub(metric.name.split('_').count())
    };
    let best = METRICS.iter().rev().max_by_key(|metric| shared(metric));
    let best = best.filter(|metric| shared(metric) > 0);
    best.map(|metric| format!("did you mean `{}`? ", metric.name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_end_as_their_unit_says() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS.iter() {
            let per_op = ["_per_op", "_per_effective_op"].iter().any(|e| metric.name.ends_with(e));
            assert_eq!(per_op, metric.unit.ends_with("/op"), "{}", metric.name);
            assert_eq!(
                metric.name.ends_with("_per_second"),
                metric.unit == "1/s",
                "{}",
                metric.name
            );
            assert!(!metric.help.is_empty());
        }
    }

    #[test]
    fn counters_of_servers_are_metrics_by_name() {
        let found = metric("status.Innodb_rows_read").unwrap();
        assert_eq!((found.name, found.unit), ("status.Innodb_rows_read", "1/op"));
        assert!(std::ptr::eq(found, metric("status.Innodb_rows_read").unwrap()));
        assert_eq!(metric("stats.x").or(metric("status.")), None);
        let names = BTreeSet::from(["wal.wal_bytes", "ops_per_second", "unknown"]);
        let names: Vec<&str> = ordered(&names).into_iter().map(|metric| metric.name).collect();
        assert_eq!(names, ["ops_per_second", "wal.wal_bytes"]);
    }

    #[test]
    fn unknown_names_suggest_the_nearest() {
        let check = |name: &str, expected: &str| {
            let error = select_metrics(&[name.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean `{expected}`?")), "{error}");
        };
        check("cpu_us_per_op", "foreground_cpu_us_per_op");
        check("latency_p95", "latency_us_p95");
        check("op_per_second", "ops_per_second");
        check("opspersecond", "ops_per_second");
        check("Ops-Per-Second", "ops_per_second");
        check("sever_cpu_us_per_op", "server_cpu_us_per_op");
        check("ops", "ops_per_second");
        check("qps", "ops_per_second");
        check("IPS", "insert_rows_per_second");
        check("tps", "transactions_per_second");
        check("eps", "transactions_per_second");
        check("lat", "latency_us_p99");
        check("p95", "latency_us_p95");
        check("p98", "latency_us_p99");
        check("p999", "latency_us_p999");
        check("latency_us_p98", "latency_us_p99");
        check("response_us_p98", "response_us_p99");
        check("cpu", "server_cpu_us_per_op");
        check("instructions", "foreground_user_instructions_per_op");
        check("rss", "server_rss_mib_peak");
        for (_, name) in WORDS {
            assert!(metric(name).is_some(), "{name}");
        }
        let nothing = select_metrics(&["wal".to_owned()]).unwrap_err().to_string();
        assert_eq!(nothing, "unknown metric `wal`; `dbdyno list metrics` shows all");
        assert_eq!(select_metrics(&[]).unwrap().len(), METRICS.len());
    }
}
