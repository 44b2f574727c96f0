//! The best rate at a recall: how published comparisons of vector indexes are read.
//!
//! Settings of different indexes mean different things, so only rates at equal recall compare. Only
//! measured settings count; nothing is interpolated.

use crate::{
    comparison::{Comparison, PhaseResult},
    interval::interval,
    verdict::Verdict,
};
use model::grouped;

/// The shares of the nearest rows that are asked for.
pub const RECALLS: [f64; 7] = [1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.9];

/// Recalls are published with three digits: this much less is as good.
const ROUNDING: f64 = 0.000_5;

/// The factor that says how long a search looks, whose levels are the points of one curve.
const SEARCH: &str = "ef";

const RECALL: &str = "recall";
const RATE: &str = "ops_per_second";

/// A setting of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Searched<'a> {
    /// Label of the variant.
    pub subject: &'a str,
    /// The phase with this setting.
    pub phase: &'a PhaseResult,
    /// Share of the nearest rows that were found.
    pub recall: f64,
    /// Searches per second.
    pub rate: f64,
}

/// The fastest setting of a variant with a recall.
#[derive(Debug, Clone, PartialEq)]
pub struct Fastest<'a> {
    /// The setting; none where no setting of the variant finds so much.
    pub found: Option<Searched<'a>>,
    /// Label of the variant.
    pub subject: &'a str,
    /// Its rate relative to the fastest setting of the base with this recall.
    pub ratio: Option<f64>,
    /// The interval for the ratio by the blocks of both.
    pub interval: Option<(f64, f64)>,
    /// Whether the host was too disturbed to judge one of the two.
    pub is_unjudged: bool,
}

/// The fastest settings with one recall and one number of users, a row for each variant.
#[derive(Debug, Clone, PartialEq)]
pub struct AtRecall<'a> {
    /// The least recall.
    pub least: f64,
    /// Users.
    pub clients: u32,
    /// The variants in their order.
    pub rows: Vec<Fastest<'a>>,
}

/// Rates over recall: the settings of one index, in the order of their recall.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallCurve<'a> {
    /// What its phases have in common in their names.
    pub index: String,
    /// Label of the variant.
    pub subject: &'a str,
    /// The settings.
    pub points: Vec<Searched<'a>>,
}

fn searched<'a>(comparison: &'a Comparison, subject: &'a str) -> Vec<Searched<'a>> {
    let point = |phase: &'a PhaseResult| {
        let value = |metric| phase.cell(subject, metric)?.value;
        Some(Searched { subject, phase, recall: value(RECALL)?, rate: value(RATE)? })
    };
    comparison.phases.iter().filter_map(point).collect()
}

/// The fastest settings for each recall that any setting reaches, by the number of users.
pub fn at_recalls(comparison: &Comparison) -> Vec<AtRecall<'_>> {
    let all = comparison.subjects.iter().flat_map(|subject| searched(comparison, subject));
    let tests = grouped(all.map(|one| (one.phase.clients, one)));
    let reached = tests.iter().flat_map(|(clients, settings)| {
        RECALLS.into_iter().map(|least| AtRecall {
            least,
            clients: *clients,
            rows: rows(comparison, settings, least),
        })
    });
    reached.filter(|one| one.rows.iter().any(|row| row.found.is_some())).collect()
}

fn rows<'a>(comparison: &'a Comparison, settings: &[Searched<'a>], least: f64) -> Vec<Fastest<'a>> {
    let fastest = |subject: &str| {
        let good = settings.iter().filter(|one| one.recall >= least - ROUNDING);
        good.filter(|one| one.subject == subject).max_by(|a, b| a.rate.total_cmp(&b.rate)).copied()
    };
    let row = |subject: &'a String| {
        let found = fastest(subject);
        let cell = found.and_then(|one| one.phase.cell(subject, RATE));
        let base = cell.and_then(|cell| fastest(cell.base.as_deref()?));
        let base = base.and_then(|one| one.phase.cell(one.subject, RATE));
        let Some((cell, base)) = cell.zip(base) else {
            return Fastest { found, subject, ratio: None, interval: None, is_unjudged: false };
        };
        let blocks = cell.by_block.iter().zip(&base.by_block);
        let ratios: Vec<f64> = blocks.filter_map(|(own, base)| Some((*own)? / (*base)?)).collect();
        Fastest {
            found,
            subject,
            ratio: cell.value.zip(base.value).map(|(own, base)| own / base),
            interval: interval(&ratios, &comparison.looks),
            is_unjudged: [cell, base].iter().any(|cell| cell.verdict == Verdict::Invalid),
        }
    };
    comparison.subjects.iter().map(row).collect()
}

/// The curves of all indexes that were searched with several settings.
pub fn recall_curves(comparison: &Comparison) -> Vec<RecallCurve<'_>> {
    let of = |subject| {
        let settings = searched(comparison, subject);
        let indexes = grouped(settings.into_iter().map(|one| (index(&one), one)));
        indexes.into_iter().map(move |(index, mut points)| {
            // Of settings that find the same, the fastest.
            points.sort_by(|a, b| (a.recall.total_cmp(&b.recall)).then(b.rate.total_cmp(&a.rate)));
            points.dedup_by(|later, first| later.recall == first.recall);
            RecallCurve { index, subject, points }
        })
    };
    let curves: Vec<_> = comparison.subjects.iter().map(String::as_str).flat_map(of).collect();
    let is_curve =
        |index: &str| curves.iter().any(|one| one.index == index && one.points.len() > 1);
    curves.iter().filter(|one| is_curve(&one.index)).cloned().collect()
}

/// The name of a phase without how long a search looks. Phases that do not say it are the settings
/// of one variant.
fn index(one: &Searched<'_>) -> String {
    let cell = one.phase.cell(one.subject, RATE);
    match cell.and_then(|cell| cell.factors.get(SEARCH)) {
        Some(level) => one.phase.name_without(SEARCH, level),
        None => "all settings".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, testing};
    use model::Levels;
    use std::sync::Arc;

    /// A setting with the recall and the rates of both variants.
    fn setting(name: &str, old: (f64, [f64; 2]), new: (f64, [f64; 2])) -> PhaseResult {
        let cells = [("old", None, old), ("new", Some("old"), new)];
        let of = |(subject, base, (recall, rates)): (&str, Option<&str>, (f64, [f64; 2]))| {
            let factors = Arc::new(Levels::from([(SEARCH.to_owned(), name[2..].to_owned())]));
            let cell = |metric, values: [f64; 2]| Cell {
                subject: subject.into(),
                base: base.map(Into::into),
                factors: factors.clone(),
                value: Some((values[0] + values[1]) / 2.0),
                by_block: values.map(Some).into(),
                verdict: Verdict::Unassessed,
                ..testing::cell(metric, 1.0, 1.0)
            };
            [cell(RATE, rates), cell(RECALL, [recall, recall])]
        };
        let cells = cells.into_iter().flat_map(of).collect();
        PhaseResult { cells, ..testing::phase(&format!("s.m6.{name}")) }
    }

    fn searches() -> Comparison {
        testing::comparison(vec![
            setting("ef10", (0.90, [100.0, 100.0]), (0.9496, [300.0, 340.0])),
            setting("ef20", (0.96, [80.0, 80.0]), (0.97, [200.0, 200.0])),
            setting("ef40", (0.995, [50.0, 50.0]), (0.98, [150.0, 150.0])),
        ])
    }

    #[test]
    fn the_fastest_setting_that_finds_enough_is_compared() {
        let comparison = searches();
        let reached = at_recalls(&comparison);
        let least: Vec<f64> = reached.iter().map(|one| one.least).collect();
        assert_eq!(least, [0.99, 0.98, 0.97, 0.96, 0.95, 0.9], "nothing finds all");
        let at = |least: f64, row: usize| {
            let one = reached.iter().find(|one| one.least == least).unwrap();
            let row = &one.rows[row];
            (row.found.map(|found| found.rate), row.ratio)
        };
        assert_eq!(at(0.99, 0), (Some(50.0), None));
        assert_eq!(at(0.99, 1), (None, None));
        assert_eq!(at(0.98, 1), (Some(150.0), Some(3.0)));
        // Three digits: 0.9496 is 0.95.
        assert_eq!(at(0.95, 1), (Some(320.0), Some(4.0)));
        assert_eq!(at(0.9, 1), (Some(320.0), Some(3.2)));
        let (low, high) = reached[5].rows[1].interval.unwrap();
        assert!(low < 3.2 && high > 3.2, "{low} to {high}");
    }

    #[test]
    fn a_disturbed_setting_is_compared_and_not_judged() {
        let mut comparison = searches();
        let cells = comparison.phases[0].cells.iter_mut();
        cells.filter(|cell| cell.subject == "old").for_each(|c| c.verdict = Verdict::Invalid);
        let reached = at_recalls(&comparison);
        let unjudged: Vec<bool> = reached.iter().map(|one| one.rows[1].is_unjudged).collect();
        assert_eq!(unjudged, [false, false, false, false, false, true]);
    }

    #[test]
    fn a_curve_has_the_settings_of_one_index() {
        let comparison = searches();
        let curves = recall_curves(&comparison);
        let shown: Vec<(&str, &str, usize)> = curves
            .iter()
            .map(|curve| (curve.index.as_str(), curve.subject, curve.points.len()))
            .collect();
        assert_eq!(shown, [("s.m6", "old", 3), ("s.m6", "new", 3)]);
        assert!(curves[0].points.is_sorted_by_key(|point| point.recall));
        let mut exact = searches();
        let recalls = exact.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        let own = recalls.filter(|cell| cell.subject == "new" && cell.metric.name == RECALL);
        own.for_each(|cell| cell.value = Some(1.0));
        let curves = recall_curves(&exact);
        let rates = curves[1].points.iter().map(|point| point.rate).collect::<Vec<_>>();
        assert_eq!(rates, [320.0], "what always finds all has one point");
        let none = testing::comparison(vec![testing::phase("s")]);
        assert!(recall_curves(&none).is_empty() && at_recalls(&none).is_empty());
    }
}
