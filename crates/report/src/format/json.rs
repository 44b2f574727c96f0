//! JSON that scripts rely on: schema 1 of the command line's contract.

use super::Format;
use crate::{
    Report,
    document::Document,
    page::{self, better, is_asked},
    words,
};
use analysis::{Comparison, PhaseResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// Grows when a key changes its meaning or goes away.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Output<'a> {
    schema: u32,
    base: String,
    /// The cells of variants, with the value of their base.
    comparisons: Vec<Record<'a>>,
    /// The cells of the bases themselves.
    bases: Vec<Record<'a>>,
    /// What the report says under Why.
    why: Vec<Why<'a>>,
    warnings: Vec<&'a str>,
}

/// The reasons of one change, those that are most of it first.
#[derive(Serialize)]
struct Why<'a> {
    experiment: &'a str,
    phase: &'a str,
    variant: String,
    base: String,
    /// What changed.
    metric: &'static str,
    ratio: f64,
    verdict: &'static str,
    reasons: Vec<Reason>,
    ruled_out: Vec<String>,
}

#[derive(Serialize)]
struct Reason {
    rule: &'static str,
    sentence: String,
    /// The share that it is of the change, where that is known.
    share: Option<f64>,
}

#[derive(Serialize)]
struct Record<'a> {
    experiment: &'a str,
    run: String,
    suite: &'a str,
    workload: &'a str,
    phase: &'a str,
    group: &'a str,
    range: Option<u64>,
    /// `null` where no file of an archive tells it.
    clients: Option<u32>,
    variant: &'a str,
    base: &'a str,
    factors: BTreeMap<&'a str, serde_json::Value>,
    metric: &'static str,
    unit: &'static str,
    better: &'static str,
    base_value: Option<f64>,
    value: Option<f64>,
    ratio: Option<f64>,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    confidence: Option<f64>,
    blocks: u32,
    verdict: &'static str,
    /// The least change, as a ratio above 1, that would have been found; of undecided cells.
    detectable: Option<f64>,
    /// The ratio of each block, in order.
    block_ratios: &'a [f64],
    /// The tests behind the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<Tested<'a>>,
    /// What a bank told of the spread of the blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<Told<'a>>,
    reason: Option<String>,
    marks: Vec<String>,
}

/// The tests of a cell: FORMAT.md explains the keys.
#[derive(Serialize)]
struct Tested<'a> {
    p_change: f64,
    p_equivalence: f64,
    deviation: f64,
    degrees_of_freedom: f64,
    tests: usize,
    error_rate: f64,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    looks: &'a [u32],
}

fn tested(test: &analysis::Test) -> Tested<'_> {
    Tested {
        p_change: test.p_change,
        p_equivalence: test.p_equivalence,
        deviation: test.deviation,
        degrees_of_freedom: test.freedom,
        tests: test.share.tests,
        error_rate: test.share.error,
        looks: &test.share.looks,
    }
}

/// Deviations are those of logarithms of ratios.
#[derive(Serialize)]
struct Told<'a> {
    /// That of the cell's own blocks, s; `test` has the one that was used, and its freedom.
    deviation: Option<f64>,
    /// That of the bank, s0, and its degrees of freedom, d0.
    prior_deviation: f64,
    prior_freedom: f64,
    /// How many times the bank's variance this comparison has, kappa.
    inflation: f64,
    /// SHA-256 of the bank.
    bank: &'a str,
}

pub(super) const FORMAT: Format = Format {
    name: "json",
    help: "JSON with exact numbers and the warnings, for scripts",
    page: page::RECORDS,
    holds_warnings: true,
    shows_details: false,
    any_document: false,
    text,
};

fn text(report: &Report, _: &Document) -> String {
    let mut bases: Vec<&str> = Vec::new();
    let mut output = Output {
        schema: SCHEMA,
        base: String::new(),
        comparisons: Vec::new(),
        bases: Vec::new(),
        why: Vec::new(),
        warnings: Vec::new(),
    };
    for comparison in &report.comparisons {
        for base in &comparison.bases {
            if !bases.contains(&base.as_str()) {
                bases.push(base);
            }
        }
        output.warnings.extend(comparison.all_warnings());
        for phase in &comparison.phases {
            output.why.extend(why(comparison, phase));
            let asked = phase.cells.iter().filter(|cell| is_asked(report, cell));
            for cell in asked {
                let record = record(comparison, phase, cell);
                let is_base = cell.base.is_none();
                (if is_base { &mut output.bases } else { &mut output.comparisons }).push(record);
            }
        }
    }
    output.base = bases.join(", ");
    // Plain structures with text keys always serialize.
    model::escape::json(&serde_json::to_string_pretty(&output).unwrap_or_default()) + "\n"
}

fn why<'a>(comparison: &'a Comparison, phase: &'a PhaseResult) -> impl Iterator<Item = Why<'a>> {
    analysis::diagnoses(phase).into_iter().map(|found| Why {
        experiment: &comparison.experiment,
        phase: &phase.phase,
        variant: found.subject,
        base: found.base,
        metric: found.metric.name,
        ratio: found.ratio,
        verdict: found.verdict.name(),
        reasons: found
            .findings
            .into_iter()
            .map(|one| Reason { rule: one.rule, sentence: one.sentence, share: one.share })
            .collect(),
        ruled_out: found.ruled_out,
    })
}

fn record<'a>(
    comparison: &'a Comparison,
    phase: &'a PhaseResult,
    cell: &'a analysis::Cell,
) -> Record<'a> {
    Record {
        experiment: &comparison.experiment,
        run: comparison.runs.join(", "),
        suite: &comparison.suite,
        workload: &phase.workload,
        phase: &phase.phase,
        group: &phase.group,
        range: phase.range,
        clients: Some(phase.clients).filter(|clients| *clients > 0),
        variant: &cell.subject,
        base: cell.base.as_deref().unwrap_or(&cell.subject),
        factors: cell
            .factors
            .iter()
            .map(|(name, level)| (name.as_str(), json(name, level)))
            .collect(),
        metric: cell.metric.name,
        unit: cell.metric.unit,
        better: better(cell.metric.better),
        base_value: cell.base_value,
        value: cell.value,
        ratio: cell.ratio,
        ratio_low: cell.interval.map(|(low, _)| low),
        ratio_high: cell.interval.map(|(_, high)| high),
        confidence: cell.interval.map(|_| analysis::CONFIDENCE),
        blocks: cell.blocks,
        verdict: cell.verdict.name(),
        detectable: analysis::detectable(cell),
        block_ratios: &cell.block_ratios,
        test: cell.test.as_ref().map(tested),
        noise: told(comparison, cell),
        reason: cell.reason.as_ref().map(words::reason),
        marks: cell.marks.iter().map(ToString::to_string).collect(),
    }
}

fn told<'a>(comparison: &'a Comparison, cell: &analysis::Cell) -> Option<Told<'a>> {
    let known = cell.known?;
    Some(Told {
        deviation: cell.own_deviation(),
        prior_deviation: known.prior.deviation,
        prior_freedom: known.prior.freedom,
        inflation: known.inflation,
        bank: &comparison.bank.as_ref()?.sha256,
    })
}

/// Levels that are integers are numbers, except the names of builds and configs.
fn json(name: &str, level: &str) -> serde_json::Value {
    match level.parse::<i64>() {
        Ok(number) if number.to_string() == level && name != "build" && name != "config" => {
            number.into()
        }
        _ => level.into(),
    }
}
