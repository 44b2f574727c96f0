//! The summary tables of the Insert Benchmark: rates of all phases, the same relative to the first
//! variant, and the inserts beside queries with their targets; in a style with verdicts the
//! intervals of the ratios too, where several blocks repeat them.

use crate::{
    document::{Column, Item, Row, Table, TableCell},
    trust, words,
};
use analysis::{Comparison, Content, PhaseColumn, Shade, Shown, style::Style};

/// One of the summary tables.
pub(crate) struct Summary {
    pub(crate) title: &'static str,
    pub(crate) table: Table,
    /// What its signs mean, a paragraph each.
    pub(crate) legend: Vec<String>,
}

impl Summary {
    fn new(title: &'static str, table: Table, legend: &str) -> Self {
        Self { title, table, legend: vec![legend.to_owned()] }
    }
}

/// Rates, ratios, their intervals where there are any, and inserts beside queries.
pub(crate) fn tables(
    comparison: &Comparison,
    columns: &[PhaseColumn],
    style: &Style,
) -> Vec<Summary> {
    let [absolute, relative, inserts] = style.legends;
    let all: Vec<&PhaseColumn> = columns.iter().collect();
    let cells = |show: &dyn Fn(&PhaseColumn) -> Vec<Shown>, columns: &[&PhaseColumn]| {
        columns.iter().map(|column| show(column)).collect::<Vec<_>>()
    };
    let rates = table(comparison, &all, &cells(&style.absolute, &all));
    let shown_ratios = cells(&style.relative, &all);
    let mut ratios = Summary::new(RELATIVE, table(comparison, &all, &shown_ratios), relative);
    if style.has_verdicts {
        ratios.legend.extend(trust::all(comparison));
    }
    let paced: Vec<&PhaseColumn> =
        columns.iter().filter(|column| column.target_per_second.is_some()).collect();
    let shown = cells(&style.inserts, &paced);
    let mut beside = table(comparison, &paced, &shown);
    let targets =
        paced.iter().map(|column| column.target_per_second.map_or(TableCell::Missing, count));
    beside.rows.push(Row::named("target", targets));
    let mut found = vec![Summary::new(RATES, rates, absolute), ratios];
    if shown_ratios.iter().flatten().any(|shown| interval_of(shown).is_some()) {
        let table = table_of(comparison, &all, &shown_ratios, interval);
        found.push(Summary::new(INTERVALS, table, "- where there is no interval."));
    }
    found.push(Summary::new(INSERTS, beside, inserts));
    found
}

const RATES: &str = "Rates: rows inserted or indexed in loads, queries in other phases (1/s)";
const RELATIVE: &str = "The same relative to the base";
const INTERVALS: &str = "Intervals of these ratios, from the spread between blocks";
const INSERTS: &str = "Rows inserted during queries (1/s)";

fn interval_of(shown: &Shown) -> Option<(f64, f64)> {
    match shown.content {
        Content::Judged(effect) => effect.interval,
        _ => None,
    }
}

fn interval(shown: &Shown) -> TableCell {
    match (interval_of(shown), shown.content) {
        (Some(ends), _) => TableCell::Text(words::ends(ends)),
        (None, Content::Missed(_) | Content::Failed) => cell(shown),
        (None, _) => TableCell::Missing,
    }
}

fn table(comparison: &Comparison, columns: &[&PhaseColumn], shown: &[Vec<Shown>]) -> Table {
    table_of(comparison, columns, shown, cell)
}

fn table_of(
    comparison: &Comparison,
    columns: &[&PhaseColumn],
    shown: &[Vec<Shown>],
    cell: fn(&Shown) -> TableCell,
) -> Table {
    let mut table = Table { columns: vec![Column::words("variant")], ..Table::default() };
    table
        .columns
        .extend(columns.iter().map(|column| Column::numbers(step_title(&column.phase), "")));
    for (index, subject) in comparison.subjects.iter().enumerate() {
        let cells = shown.iter().map(|cells| cells.get(index).map_or(TableCell::Missing, cell));
        table.rows.push(Row::named(subject, cells));
    }
    table
}

/// The phase without the number that says which of all it is: `qr100` of `qr100.L1`.
pub(crate) fn step_title(phase: &str) -> &str {
    let counted = |number: &str| {
        let digits = number.strip_prefix('L').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match phase.rsplit_once('.') {
        Some((name, number)) if counted(number) => name,
        _ => phase,
    }
}

/// Numbers stay numbers, whatever stands out.
fn cell(shown: &Shown) -> TableCell {
    let plain = match shown.content {
        Content::Rate(rate) => count(rate),
        Content::Ratio(ratio) => TableCell::Ratio(ratio),
        Content::Judged(effect) => TableCell::judged(effect.ratio, effect.verdict),
        Content::Missed(rate) => return TableCell::Missed(rate),
        Content::Failed => return TableCell::Failed,
        Content::Missing => return TableCell::Missing,
    };
    match shown.shade {
        Shade::Plain => plain,
        shade => TableCell::Shaded(Box::new(plain), shade),
    }
}

/// A rate as whole rows or queries; small ones keep their decimals.
fn count(rate: f64) -> TableCell {
    let whole = rate.round_ties_even();
    if (whole - rate).abs() < 1e-9 || rate >= 100.0 {
        return TableCell::Count(whole.max(0.0) as u64);
    }
    TableCell::Number(rate)
}

/// What failed, and why targets were missed.
pub(crate) fn warnings(comparison: &Comparison, columns: &[PhaseColumn]) -> Vec<Item> {
    let mut warnings = Vec::new();
    for (index, subject) in comparison.subjects.iter().enumerate() {
        for column in columns {
            let Some(cell) = column.cells.get(index) else { continue };
            let phase = &column.phase;
            let failed = cell.failure.iter().map(words::reason);
            let failed = failed.map(|why| format!("`{subject}`, `{phase}`: {why}"));
            let missed = cell.missed().map(|missed| {
                let (rule, words) = (missed.rule, missed.words());
                format!("`{subject}` missed the target of `{phase}` by the `{rule}` rule: {words}")
            });
            warnings.extend(failed.chain(missed).map(Item::Warning));
        }
    }
    warnings
}
