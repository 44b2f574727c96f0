//! The answer in a sentence per variant, then per group of tests.

use super::Section;
use crate::{
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    layout, number,
    sentence::{Label, answers},
    status, trust,
    words::{self, Basis, Standing},
};
use analysis::{Comparison, PhaseResult, Verdict, mean_of_tests};
use model::metric::{Better, Metric};

/// Variants of a base that get sentences and rows of their own; more become columns.
const FEW: usize = 3;

pub(super) const SECTION: Section = Section { name: "answer", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    document.section("answer", "Answer");
    let comparison = inputs.comparison;
    if comparison.phases.is_empty() {
        document.paragraph("No slice was measured.");
        return;
    }
    let compared = inputs.compared();
    for (base, variants) in inputs.families() {
        if variants.len() <= FEW {
            sentences(comparison, &variants, document);
        } else {
            extremes(comparison, base, &variants, document);
            means(inputs, base, &variants, document);
        }
    }
    status::line(comparison).into_iter().for_each(|line| document.paragraph(line));
    if compared.len() <= FEW {
        counts(comparison, &compared, document);
    } else {
        let mut inner = Document::default();
        counts(comparison, &compared, &mut inner);
        let [worse, better] = words::worse_and_better(inputs.lead);
        let title = match inputs.lead.better {
            Better::Neither => "Means and ends, by variant".to_owned(),
            _ => format!("How many tests are {worse} and {better}, by variant"),
        };
        document.fold(title, inner.items);
    }
    trust(comparison, document);
}

/// The ratios of a metric in some phases.
fn ratios(phases: &[&PhaseResult], subject: &str, metric: &str) -> Vec<f64> {
    let cells = phases.iter().filter_map(|phase| phase.cell(subject, metric));
    cells.filter_map(|cell| cell.ratio).collect()
}

/// The sentences of these variants, as a terminal has them.
fn sentences(comparison: &Comparison, variants: &[&str], document: &mut Document) {
    let all = comparison.subjects.iter();
    let labels: Vec<Label> =
        all.map(|name| Label { short: name.clone(), full: format!("`{name}`") }).collect();
    let said = answers(comparison, &labels, &|subject| variants.contains(&subject));
    said.into_iter().for_each(|line| document.paragraph(line));
}

fn bounds(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// The ends of many variants of one base.
fn extremes(comparison: &Comparison, base: &str, variants: &[&str], document: &mut Document) {
    let (phases, lead) = (comparison.counted(), comparison.lead());
    let what = words::noun(lead);
    let mut found: Vec<(f64, &str)> = variants
        .iter()
        .filter_map(|subject| {
            Some((mean_of_tests(&ratios(&phases, subject, lead.name))?.ratio, *subject))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(low), Some(high)) = (found.first(), found.last()) else {
        document.paragraph(format!("No variant has a test in common with its base `{base}`."));
        return;
    };
    let [least, most] = words::ends_of(lead);
    document.paragraph(format!(
        "Of {} compared with `{base}`, `{}` has {least} {what}, {}x, and `{}` {most}, {}x: \
         geometric means of up to {}.",
        words::variants(found.len()),
        low.1,
        number::ratio(low.0),
        high.1,
        number::ratio(high.0),
        words::tests(phases.len()),
    ));
    let is_disturbed = |subject: &&&str| {
        let overall = comparison.overall(subject, lead.name);
        overall.is_some_and(|overall| overall.verdict == Verdict::Invalid)
    };
    match variants.iter().filter(is_disturbed).count() {
        0 => {}
        of => document.paragraph(format!(
            "{} of {} is not judged, because the host was disturbed.",
            words::capitalized(&what),
            if of == variants.len() { "all".to_owned() } else { words::variants(of) }
        )),
    }
}

/// All tests that count, then each group if there are several.
pub(super) fn parts(comparison: &Comparison) -> Vec<(String, Vec<&PhaseResult>)> {
    let counted = comparison.counted();
    let whole = match comparison.phases.len() - counted.len() {
        0 => "all tests".to_owned(),
        _ => "all tests except the group apart".to_owned(),
    };
    let mut parts = vec![(whole, counted)];
    let groups = words::groups(comparison);
    if groups.len() > 1 {
        let own = groups.into_iter().map(|(name, phases)| (words::group(name).to_owned(), phases));
        parts.extend(own);
    }
    parts
}

/// Geometric means of the variants of one base: a line per variant, its groups as columns.
fn means(inputs: &Inputs<'_>, base: &str, variants: &[&str], document: &mut Document) {
    let (comparison, lead) = (inputs.comparison, inputs.lead);
    // A test that none of them has counts for other bases only.
    let has = |phase: &&PhaseResult| {
        variants.iter().any(|subject| !ratios(&[*phase], subject, lead.name).is_empty())
    };
    let basis = Basis::of(comparison);
    let mut parts = parts(comparison);
    parts.iter_mut().for_each(|(_, phases)| phases.retain(has));
    parts.retain(|(_, phases)| !phases.is_empty());
    let mut table = Table { columns: vec![Column::words("variant")], ..Table::default() };
    table.columns.extend(parts.iter().map(|(name, _)| Column::ratios(name, lead.better)));
    for subject in variants {
        let mean = |phases: &[&PhaseResult]| {
            let standings = basis.standings(phases, subject, lead);
            let mean = mean_cell(phases, subject, lead);
            colored(mean.unwrap_or(TableCell::Missing), &standings)
        };
        let means = parts.iter().map(|(_, phases)| mean(phases));
        table.rows.push(Row::named(*subject, means));
        let ends: Vec<TableCell> =
            parts.iter().map(|(_, phases)| interval_cell(comparison, phases, subject)).collect();
        if ends.iter().any(|cell| *cell != TableCell::Missing) {
            table.rows.push(Row::named(words::interval_title(), ends));
        }
    }
    document.paragraph(format!("Geometric means of {} relative to `{base}`:", words::noun(lead)));
    // With intervals every second row belongs to the one above it.
    document.items.push(match table.rows.len() > variants.len() {
        true => Item::Table(table),
        false => Item::Sortable(table),
    });
}

/// A mean of tests that stand so. Where none of them is decided it has no color, which would say
/// what no verdict says.
pub(super) fn colored(mean: TableCell, standings: &[Standing]) -> TableCell {
    let is_open = |one: &Standing| matches!(one, Standing::Undecided | Standing::Nothing);
    match standings.iter().all(is_open) {
        true => TableCell::Text(layout::text(&mean)),
        false => mean,
    }
}

/// The geometric mean of a variant's ratios in some phases; none without any. It is not judged
/// where one of them is not. If some are missing, it says how many it has.
pub(crate) fn mean_cell(
    phases: &[&PhaseResult],
    subject: &str,
    metric: &Metric,
) -> Option<TableCell> {
    let mean = TableCell::mean(&ratios(phases, subject, metric.name), phases.len())?;
    let mut cells = phases.iter().filter_map(|phase| phase.cell(subject, metric.name));
    // What failed has no ratio, and is in no mean.
    let is_unjudged = cells.any(|cell| cell.verdict == Verdict::Invalid && cell.ratio.is_some());
    Some(match mean {
        mean if !is_unjudged => mean,
        TableCell::Ratio(ratio) => TableCell::judged(ratio, Verdict::Invalid),
        partial => {
            let sign = words::symbol(Verdict::Invalid);
            TableCell::Text(format!("{} {sign}", layout::text(&partial)))
        }
    })
}

/// The interval of a group's mean.
fn interval_cell(comparison: &Comparison, phases: &[&PhaseResult], subject: &str) -> TableCell {
    let (lead, looks) = (comparison.lead().name, &comparison.looks);
    let ends = analysis::mean_interval(phases.iter().copied(), subject, lead, looks);
    ends.map_or(TableCell::Missing, |ends| TableCell::Text(words::ends(ends)))
}

/// Per group: mean with its interval, ends, and how many tests are slower, the same and faster.
fn counts(comparison: &Comparison, compared: &[&str], document: &mut Document) {
    let basis = Basis::of(comparison);
    let lead = comparison.lead();
    let margin = words::margin(&comparison.margins, lead);
    let [worse, better] = words::worse_and_better(lead);
    let digits = if margin < 1.01 { 3 } else { 2 };
    let [low, high] = [1.0 / margin, margin].map(|bound| format!("{bound:.digits$}"));
    let heads = if basis == Basis::Verdicts {
        [worse, "the same", better, "undecided"].map(str::to_owned)
    } else {
        let (below, above) = (format!("below {low}"), format!("above {high}"));
        let (worse, better) = match lead.better {
            Better::Lower => (above, below),
            Better::Higher | Better::Neither => (below, above),
        };
        [worse, format!("{low} to {high}"), better, "not judged".to_owned()]
    };
    let mut columns = vec![Column::words(format!("{} of", words::noun(lead)))];
    columns.push(Column::ratios("geometric mean", lead.better));
    columns.push(Column::numbers(words::interval_title(), "ratio"));
    columns.extend(["least", "largest"].map(|title| Column::numbers(title, "ratio")));
    columns.extend(heads.iter().map(|head| Column::numbers(head, "tests")));
    columns.push(Column::numbers("no value", "tests"));
    let mut table = Table { columns, rows: Vec::new() };
    for subject in compared {
        if compared.len() > 1 {
            table.rows.push(Row::Section((*subject).to_owned()));
        }
        for (name, phases) in parts(comparison) {
            let standings = basis.standings(&phases, subject, lead);
            let mut ratios = spread(comparison, &name, &phases, subject);
            ratios[MEAN] = colored(ratios[MEAN].clone(), &standings);
            table.rows.push(Row::Cells([ratios, counts_of(&standings)].concat()));
        }
    }
    let is_sure =
        |row: &Row| !matches!(row, Row::Cells(own) if own[UNDECIDED] != TableCell::Count(0));
    if lead.better == Better::Neither {
        // Nothing says how far apart is about the same, or worse.
        (WORSE..=UNDECIDED).rev().for_each(|index| drop_column(&mut table, index));
    } else if basis == Basis::Ratios && table.rows.iter().all(is_sure) {
        drop_column(&mut table, UNDECIDED);
    }
    let without =
        |row: &Row| !matches!(row, Row::Cells(own) if own[INTERVAL] != TableCell::Missing);
    if table.rows.iter().all(without) {
        drop_column(&mut table, INTERVAL);
    }
    if !compared.is_empty() {
        document.items.push(Item::Table(table));
    }
}

/// Columns of the counts that are left out where they would say nothing.
const MEAN: usize = 1;
const INTERVAL: usize = 2;
const WORSE: usize = 5;
const UNDECIDED: usize = 8;

fn drop_column(table: &mut Table, index: usize) {
    table.columns.remove(index);
    for row in &mut table.rows {
        if let Row::Cells(cells) = row {
            cells.remove(index);
        }
    }
}

/// The name of a part, its mean with its interval, and its smallest and largest ratio.
fn spread(
    comparison: &Comparison,
    name: &str,
    phases: &[&PhaseResult],
    subject: &str,
) -> Vec<TableCell> {
    let lead = comparison.lead();
    let end =
        |value: f64| if value.is_finite() { TableCell::Ratio(value) } else { TableCell::Missing };
    let (low, high) = bounds(&ratios(phases, subject, lead.name));
    vec![
        TableCell::Text(name.to_owned()),
        mean_cell(phases, subject, lead).unwrap_or(TableCell::Missing),
        interval_cell(comparison, phases, subject),
        end(low),
        end(high),
    ]
}

/// How many tests stand in each way, in the order of the columns.
fn counts_of(standings: &[Standing]) -> Vec<TableCell> {
    use Standing::{Better, Nothing, Same, Undecided, Worse};
    let count = |wanted| standings.iter().filter(|standing| **standing == wanted).count() as u64;
    [Worse, Same, Better, Undecided, Nothing].map(|wanted| TableCell::Count(count(wanted))).to_vec()
}

/// What the numbers above may be taken for.
fn trust(comparison: &Comparison, document: &mut Document) {
    trust::all(comparison).into_iter().for_each(|said| document.paragraph(said));
    let warnings = comparison.warnings.len();
    if warnings > 0 {
        document.paragraph(format!(
            "Warnings: {warnings}, in the section Builds, settings and \
            host."
        ));
    }
}
