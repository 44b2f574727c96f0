//! What was said of tests whose truth is known.

use super::{
    Kind,
    rig::{Run, TWIN},
};
use serde_json::Value;
use std::fmt;

/// The tests of all suites so far.
#[derive(Default)]
pub(crate) struct Tally {
    twins: Vec<Test>,
    changed: Vec<Test>,
    /// Changes of other metrics, which nothing explains, by their names. [twin]
    unexplained: Vec<String>,
}

/// What was said of one test.
struct Test {
    verdict: String,
    blocks: u64,
    /// Logarithms: of the ratio, of its interval, and of what would have been found.
    ratio: f64,
    interval: [f64; 2],
    /// None where a test is decided.
    detectable: Option<f64>,
    /// Standard deviation of the logarithms of the blocks' ratios.
    deviation: f64,
}

impl Test {
    fn of(row: &Value) -> Option<Self> {
        let log = |key: &str| row[key].as_f64().map(f64::ln);
        let blocks: Vec<f64> =
            row["block_ratios"].as_array()?.iter().filter_map(Value::as_f64).map(f64::ln).collect();
        Some(Self {
            verdict: row["verdict"].as_str()?.to_owned(),
            blocks: row["blocks"].as_u64()?,
            ratio: log("ratio")?,
            interval: [log("ratio_low")?, log("ratio_high")?],
            detectable: log("detectable"),
            deviation: deviation(&blocks),
        })
    }
}

impl Tally {
    pub(crate) fn add(&mut self, run: &Run, kind: &Kind) {
        for row in rows(run) {
            let tests = if is_twin(row) { &mut self.twins } else { &mut self.changed };
            if row["metric"] == kind.metric {
                tests.extend(Test::of(row));
            } else if is_twin(row) && is_change(row["verdict"].as_str().unwrap_or_default()) {
                self.unexplained.push(row["metric"].to_string());
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, tests) in [("twin", &self.twins), ("changed", &self.changed)] {
            show(to, name, tests)?;
        }
        writeln!(to, "other metrics of twins called changed: {:?}", self.unexplained)
    }
}

fn show(to: &mut fmt::Formatter<'_>, name: &str, tests: &[Test]) -> fmt::Result {
    let mut words: Vec<&str> = tests.iter().map(|test| test.verdict.as_str()).collect();
    words.sort_unstable();
    let said = words.chunk_by(PartialEq::eq).map(|same| format!("{} {}", same.len(), same[0]));
    writeln!(to, "{name}: {} tests: {}", tests.len(), said.collect::<Vec<_>>().join(", "))?;
    // Of a twin the truth is known; of what is injected the mean of all tests is the best guess.
    let mean = mean(tests.iter().map(|test| test.ratio));
    let truth = if name == "twin" { 0.0 } else { mean };
    let held = tests.iter().filter(|test| (test.interval[0]..=test.interval[1]).contains(&truth));
    writeln!(
        to,
        "  mean change {:+.3} %; intervals that hold {:+.3} %: {}",
        percent(mean),
        percent(truth),
        held.count()
    )?;
    let ends = |value: fn(&Test) -> Option<f64>| {
        let values: Vec<f64> = tests.iter().filter_map(value).collect();
        [0.5, 0.9].map(|share| quantile(values.clone(), share))
    };
    let blocks = ends(|test| Some(test.blocks as f64));
    let deviation = ends(|test| Some(test.deviation)).map(|share| 100.0 * share);
    let open = tests.iter().filter(|test| test.detectable.is_some()).count();
    let detectable = ends(|test| test.detectable.map(f64::abs)).map(percent);
    writeln!(
        to,
        "  median and 90th percentile: blocks {} {}; sd of blocks {:.2} {:.2} %; detectable by the \
         {open} open ones {:.2} {:.2} %",
        blocks[0], blocks[1], deviation[0], deviation[1], detectable[0], detectable[1],
    )
}

/// By how much the changed variant costs more: mean of the logarithms of the ratios.
pub(crate) fn mean_cost(run: &Run, kind: &Kind) -> f64 {
    let changed = rows(run).filter(|row| !is_twin(row) && row["metric"] == kind.metric);
    mean(changed.filter_map(|row| row["ratio"].as_f64()).map(|ratio| ratio.ln().abs()))
}

fn rows(run: &Run) -> impl Iterator<Item = &Value> {
    run.comparison["comparisons"].as_array().into_iter().flatten()
}

fn is_twin(row: &Value) -> bool {
    row["factors"]["environment"].as_str().is_some_and(|level| level.contains(TWIN))
}

fn is_change(verdict: &str) -> bool {
    ["regression", "improvement", "worse", "better"].contains(&verdict)
}

fn percent(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values.iter().copied());
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// The value below which a share of the values lie.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    values.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
