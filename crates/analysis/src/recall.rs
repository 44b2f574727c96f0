//! The best rate at a recall: how published comparisons of vector indexes are read.
//!
//! Settings of different indexes mean different things, so only rates at equal recall compare. Only
//! measured settings count; nothing is interpolated.

use crate::{
    comparison::{Cell, Comparison, PhaseResult},
    interval::interval,
    mean::geometric_mean,
    reason::Reason,
    verdict::Verdict,
};
use model::grouped;

/// The shares of the nearest rows that are asked for.
pub const RECALLS: [f64; 7] = [1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.9];

/// Recalls are published with three digits: this much less is as good.
const ROUNDING: f64 = 0.000_5;

/// The factors that say how long a search looks, whose levels are the points of one curve.
const SEARCH: [&str; 2] = ["ef", "probes"];

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
    /// The workload, where several search by different kinds of index.
    pub kind: Option<&'a str>,
    /// Its rate relative to the fastest setting with this recall of the base's first kind of
    /// index.
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
    /// The variants in their order, each with all kinds of index.
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
        let recall = phase.cell(subject, RECALL)?.value?;
        // What missed its set rate compares with nothing.
        let rate = phase.cell(subject, RATE).filter(|cell| cell.missed().is_none())?.value?;
        Some(Searched { subject, phase, recall, rate })
    };
    comparison.phases.iter().filter_map(point).collect()
}

/// The fastest settings for each recall that any setting reaches, by the number of users.
pub fn at_recalls(comparison: &Comparison) -> Vec<AtRecall<'_>> {
    let all = comparison.subjects.iter().flat_map(|subject| searched(comparison, subject));
    let all: Vec<Searched<'_>> = all.collect();
    let kinds = grouped(all.iter().map(|one| (kind(one), ())));
    let kinds: Vec<Option<&str>> = kinds.into_iter().map(|(kind, _)| kind).collect();
    let tests = grouped(all.into_iter().map(|one| (one.phase.clients, one)));
    let reached = tests.iter().flat_map(|(clients, settings)| {
        let kinds = &kinds;
        RECALLS.into_iter().map(move |least| {
            let good = settings.iter().filter(|one| one.recall >= least - ROUNDING).copied();
            let good = good.collect::<Vec<_>>();
            AtRecall { least, clients: *clients, rows: rows(comparison, &good, kinds) }
        })
    });
    reached.filter(|one| one.rows.iter().any(|row| row.found.is_some())).collect()
}

/// The workload by whose kind of index is searched. An imported setting says it in its variant.
fn kind<'a>(one: &Searched<'a>) -> Option<&'a str> {
    let cell = one.phase.cell(one.subject, RATE)?;
    (!cell.factors.is_empty()).then_some(one.phase.workload.as_str())
}

/// A row for each variant and kind of index, of settings that find enough.
fn rows<'a>(
    comparison: &'a Comparison,
    good: &[Searched<'a>],
    kinds: &[Option<&'a str>],
) -> Vec<Fastest<'a>> {
    let fastest = |subject: &str, own: Option<&str>| {
        let own = good.iter().filter(|one| one.subject == subject && kind(one) == own);
        own.max_by(|a, b| a.rate.total_cmp(&b.rate)).copied()
    };
    let first = kinds.first().copied().flatten();
    let row = |subject: &'a String, own: Option<&'a str>| {
        let kind = own.filter(|_| kinds.len() > 1);
        let found = fastest(subject, own);
        let cell = found.and_then(|one| one.phase.cell(subject, RATE));
        let base = cell.and_then(|cell| {
            let base = cell.base.as_deref().unwrap_or(subject);
            (base != subject || own != first).then(|| fastest(base, first)).flatten()
        });
        let base = base.and_then(|one| one.phase.cell(one.subject, RATE));
        let Some((cell, base)) = cell.zip(base) else {
            return Fastest {
                found,
                subject,
                kind,
                ratio: None,
                interval: None,
                is_unjudged: false,
            };
        };
        let blocks = cell.by_block.iter().zip(&base.by_block);
        let ratios: Vec<f64> = blocks.filter_map(|(own, base)| Some((*own)? / (*base)?)).collect();
        // Two tests may have left out different blocks, as disturbed.
        let is_alone = |cell: &Cell| cell.by_block.iter().flatten().count() > ratios.len();
        let of_pairs = || geometric_mean(&ratios).filter(|_| is_alone(cell) || is_alone(base));
        let of_values = || Some(cell.value? / base.value?);
        Fastest {
            found,
            subject,
            kind,
            ratio: of_pairs().or_else(of_values),
            interval: interval(&ratios, &comparison.looks),
            is_unjudged: is_unjudged(cell) || is_unjudged(base),
        }
    };
    let row = &row;
    let of_subject = |subject| kinds.iter().map(move |own| row(subject, *own));
    comparison.subjects.iter().flat_map(of_subject).collect()
}

/// Whether a host that was disturbed leaves several blocks of a setting not judged. A base has no
/// verdict for that, and a setting that the base lacks is compared with another one.
fn is_unjudged(cell: &Cell) -> bool {
    let is_open = cell.verdict == Verdict::Invalid || cell.base.is_none() && cell.blocks > 1;
    is_open && matches!(cell.reason, Some(Reason::Disturbed(_)))
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
    let mut factors = SEARCH.into_iter();
    let level = factors.find_map(|name| Some((name, cell?.factors.get(name)?)));
    match level {
        Some((factor, level)) => one.phase.name_without(factor, level),
        None => "all settings".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disturbed, testing};
    use model::{Levels, mark::Mark};
    use std::sync::Arc;

    /// A setting with the recall and the rates of both variants.
    fn setting(name: &str, old: (f64, [f64; 2]), new: (f64, [f64; 2])) -> PhaseResult {
        let cells = [("old", None, old), ("new", Some("old"), new)];
        let of = |(subject, base, (recall, rates)): (&str, Option<&str>, (f64, [f64; 2]))| {
            let factors = Arc::new(Levels::from([(SEARCH[0].to_owned(), name[2..].to_owned())]));
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
        let workload = "s".to_owned();
        PhaseResult { cells, workload, ..testing::phase(&format!("s.m6.{name}")) }
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
    fn a_setting_that_missed_its_rate_is_not_compared() {
        let mut comparison = searches();
        let missed = comparison.phases[0].cells.iter_mut().filter(|cell| cell.subject == "new");
        missed.for_each(|cell| cell.marks = vec![Mark::Missed(Vec::new().into())]);
        let reached = at_recalls(&comparison);
        let row = reached.iter().find(|one| one.least == 0.9).map(|one| &one.rows[1]).unwrap();
        assert_eq!((row.found.map(|found| found.rate), row.ratio), (Some(200.0), Some(2.0)));
    }

    #[test]
    fn settings_that_lack_different_blocks_are_compared_by_those_of_both() {
        let mut comparison = searches();
        let cells = comparison.phases[0].cells.iter_mut();
        cells.filter(|cell| cell.subject == "new").for_each(|cell| cell.by_block[0] = None);
        let reached = at_recalls(&comparison);
        let row = reached.iter().find(|one| one.least == 0.95).map(|one| &one.rows[1]).unwrap();
        assert_eq!((row.ratio, row.interval), (Some(340.0 / 80.0), None));
    }

    #[test]
    fn kinds_of_index_are_compared_with_the_first_one() {
        let mut comparison = searches();
        let mut other = setting("ef80", (0.99, [75.0, 75.0]), (0.99, [25.0, 25.0]));
        other.workload = "t".to_owned();
        comparison.phases.push(other);
        let reached = at_recalls(&comparison);
        let rows = reached.iter().find(|one| one.least == 0.99).unwrap().rows.iter();
        let rows: Vec<_> = rows.map(|row| (row.subject, row.kind.unwrap(), row.ratio)).collect();
        let expected = [
            ("old", "s", None),
            ("old", "t", Some(1.5)),
            ("new", "s", None),
            ("new", "t", Some(0.5)),
        ];
        assert_eq!(rows, expected, "only the other kind of the newer one finds so much");
    }

    #[test]
    fn a_disturbed_setting_is_compared_and_not_judged() {
        let by = Disturbed { what: "steal", rounds: 1, of: 4 };
        let unjudged = |phase: usize, subject: &str, verdict, reason: Reason| {
            let mut comparison = searches();
            let cells = comparison.phases[phase].cells.iter_mut();
            for cell in cells.filter(|cell| cell.subject == subject) {
                (cell.verdict, cell.reason, cell.blocks) = (verdict, Some(reason.clone()), 2);
            }
            let reached = at_recalls(&comparison);
            reached.iter().map(|one| one.rows[1].is_unjudged).collect::<Vec<bool>>()
        };
        // The older one is the fastest there with a recall of 0.9 alone.
        let found = unjudged(0, "old", Verdict::Base, Reason::Disturbed(by));
        assert_eq!(found, [false, false, false, false, false, true]);
        let found = unjudged(2, "new", Verdict::Invalid, Reason::Disturbed(by));
        assert_eq!(found, [false, true, false, false, false, false]);
        let lacking = Reason::OfBase(Reason::NotMeasured.into());
        let found = unjudged(2, "new", Verdict::Invalid, lacking);
        assert_eq!(found, [false; 6], "the base has other settings");
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
