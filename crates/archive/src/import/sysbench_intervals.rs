//! The lines that `sysbench.report_csv` and `sysbench.report_json` print, one for each interval,
//! where no report of the whole is beside them.

use super::Importer;
use crate::{Fault, File, FileHead, Found, Line, number, repetition::Repeats};
use serde::Deserialize;

/// Numbers of a line of `report_csv`: seconds, threads, events, statements, reads, writes, others,
/// latency, errors, reconnects; all but the first two and the latency a second.
const NUMBERS: usize = 10;

pub(super) const IMPORTER: Importer = Importer {
    name: "sysbench_intervals",
    help: "lines of sysbench's report_csv and report_json: mean rates, median of the latencies",
    ends_anywhere: false,
    is_own_file: true,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let is_json = head.lines().any(|line| starts_array(&line.text))
        && ["\"tps\"", "\"qps\"", "\"threads\""].iter().all(|key| head.holds(key));
    is_json || head.lines().take(64).any(|line| numbers(&line.text).is_some())
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let lines: Vec<Line<'_>> = file.lines().collect();
    let intervals = intervals(&lines)?;
    if intervals.is_empty() {
        let last = lines.last().map_or(0, |line| line.number);
        return Err(Fault::new(last, "no interval is in the file: the run was cut short"));
    }
    self::add(file, &intervals, found)
}

/// Part of what sysbench prints of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    line: u32,
    /// Seconds from the start to its end.
    time: f64,
    threads: u32,
    /// A second.
    events: f64,
    statements: f64,
    errors: f64,
    /// Milliseconds: the percentile that `--percentile` asked for.
    latency: f64,
}

/// The same as an object.
#[derive(Deserialize)]
struct Object {
    time: f64,
    threads: u32,
    tps: f64,
    qps: Statements,
    latency: f64,
    errors: f64,
}

#[derive(Deserialize)]
struct Statements {
    total: f64,
}

fn starts_array(text: &str) -> bool {
    let text = text.trim();
    text == "[" || text.starts_with("[{")
}

/// The numbers of a line of `report_csv`: two without a fraction, the others with two digits of it.
/// Other lines of ten numbers are no such ones.
fn numbers(text: &str) -> Option<[f64; NUMBERS]> {
    let words: Vec<&str> = text.trim().split(',').collect();
    let fits = |(at, word): (usize, &&str)| match word.split_once('.') {
        None => at < 2,
        Some((_, fraction)) => at >= 2 && fraction.len() == 2,
    };
    let all: Vec<f64> = words.iter().filter_map(|word| number::parse(word)).collect();
    let all = all.try_into().ok()?;
    (words.len() == NUMBERS && words.iter().enumerate().all(fits)).then_some(all)
}

/// The intervals in lines of which others may be something else.
///
/// # Errors
/// A line or an array is cut or makes no sense.
pub(super) fn intervals(lines: &[Line<'_>]) -> Result<Vec<Interval>, Fault> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if starts_array(&line.text) {
            found.extend(array(&lines[at..])?);
            continue;
        }
        let is_meant = line.text.starts_with(|first: char| first.is_ascii_digit())
            && line.text.matches(',').count() > 2;
        let Some([time, threads, events, statements, _, _, _, latency, errors, _]) =
            numbers(&line.text)
        else {
            if is_meant {
                let reason = "a line of `report_csv` has 10 numbers: this one is cut or changed";
                return Err(Fault::new(line.number, reason));
            }
            continue;
        };
        let line = line.number;
        let threads = threads as u32;
        found.push(Interval { line, time, threads, events, statements, errors, latency });
    }
    let makes_sense = |one: &Interval| {
        let numbers = [one.time, one.events, one.statements, one.errors, one.latency];
        one.threads > 0 && numbers.iter().all(|number| number.is_finite() && *number >= 0.0)
    };
    match found.iter().find(|one| !makes_sense(one)) {
        Some(odd) => Err(Fault::new(odd.line, "a number is below 0, or there are no threads")),
        None => Ok(found),
    }
}

/// The intervals of an array that begins with the first line.
fn array(lines: &[Line<'_>]) -> Result<Vec<Interval>, Fault> {
    let first = lines.first().map_or(0, |line| line.number);
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_ref()).collect();
    let text = texts.join("\n");
    let mut arrays = serde_json::Deserializer::from_str(&text).into_iter::<Vec<Object>>();
    let objects = match arrays.next() {
        Some(Ok(objects)) => objects,
        Some(Err(error)) => {
            let line = first.saturating_add(error.line().saturating_sub(1) as u32);
            let reason = format!("the array of `report_json` is cut or changed here: {error}");
            return Err(Fault::new(line, reason));
        }
        None => Vec::new(),
    };
    let interval = |one: Object| Interval {
        line: first,
        time: one.time,
        threads: one.threads,
        events: one.tps,
        statements: one.qps.total,
        errors: one.errors,
        latency: one.latency,
    };
    Ok(objects.into_iter().map(interval).collect())
}

/// Adds what intervals tell; where time begins anew, another run does.
pub(super) fn add(file: &File<'_>, intervals: &[Interval], found: &mut Found) -> Result<(), Fault> {
    let is_same = |one: &Interval, next: &Interval| next.time > one.time;
    let mut repeats = Repeats::default();
    for run in intervals.chunk_by(is_same) {
        let (first, last) = (run[0], run[run.len() - 1]);
        if let Some(other) = run.iter().find(|one| one.threads != first.threads) {
            return Err(Fault::new(other.line, "the number of threads changes within a run"));
        }
        let mut cell = file.loose_cell("sysbench");
        cell.clients = Some(first.threads);
        repeats.number(&mut cell);
        // Intervals are as long as they are apart. Who took warm-up away has no line before the
        // first one, which is no longer than the longest of the others.
        let apart = run.windows(2).map(|pair| pair[1].time - pair[0].time);
        let begin = apart.reduce(f64::max).map_or(0.0, |longest| (first.time - longest).max(0.0));
        let seconds = last.time - begin;
        let ends = std::iter::once(begin).chain(run.iter().map(|one| one.time));
        let weights: Vec<f64> = run.iter().zip(ends).map(|(one, end)| one.time - end).collect();
        let sum = |of: fn(&Interval) -> f64| -> f64 {
            run.iter().zip(&weights).map(|(one, weight)| of(one) * weight).sum()
        };
        let (events, statements) = (sum(|one| one.events), sum(|one| one.statements));
        let mut latencies: Vec<f64> = run.iter().map(|one| one.latency).collect();
        latencies.sort_by(f64::total_cmp);
        // As of a report, with which they may be compared.
        for (metric, value) in [
            ("ops_per_second", statements / seconds),
            ("queries_per_second", statements / seconds),
            ("transactions_per_second", events / seconds),
            ("errors_per_op", sum(|one| one.errors) / events),
            ("latency_us_reported", 1000.0 * latencies[latencies.len() / 2]),
        ] {
            found.computed(&cell, metric, value, first.line);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;

    #[test]
    fn what_was_taken_away_before_the_first_interval_has_no_weight() {
        let line = |time: u32, rate: u32| {
            format!("{time},4,{rate}.00,{rate}.00,0.00,0.00,0.00,1.00,0.00,0.00\n")
        };
        let rate = |lines: &[String]| {
            let (scene, text) = (Scene::new("a/x", &[]), lines.concat());
            let mut found = Found::default();
            import(&File::alone("x.csv", text.as_bytes(), &scene), &mut found).unwrap();
            let own = found.values.iter().find(|value| value.metric == "ops_per_second");
            own.unwrap().value
        };
        let all = [line(10, 100), line(20, 200), line(30, 300)];
        assert_eq!(rate(&all), 200.0);
        assert_eq!(rate(&all[1..]), 250.0);
        assert_eq!(rate(&all[..1]), 100.0);
    }
}
