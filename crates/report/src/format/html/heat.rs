//! Many tests by many variants as one picture: a table of narrow cells in the colors of the scale.

use super::{cells, text};
use crate::{
    grid::{Grid, Kind, Value},
    number, words,
};
use maud::{Markup, html};
use model::metric::Better;

/// Columns up to which a cell has room for its number; with more it has a sign.
const NUMBERS: usize = 40;

/// Cells up to which each says on hover what it is.
const TITLES: usize = 1500;

/// The picture, under the steps of its colors.
pub(super) fn table(grid: &Grid, metric: usize, heading: &str) -> Markup {
    let better = grid.metrics[metric].better;
    let title = words::long_title(grid.metrics[metric]);
    let base = grid.columns.iter().find(|column| column.is_base);
    let base = base.map_or_else(|| "its base".to_owned(), |column| column.title.clone());
    let label = format!("{title} relative to {base}: {}", words::tests(grid.rows.len()));
    let several = grid.groups().len() > 1;
    html! {
        figure class="heat" data-chart="heat" {
            figcaption { (text::shown(&label)) }
            (scale(better))
            div class="wide tall" tabindex="0" role="group" aria-label=(text::shown(heading)) {
                table {
                    thead { tr {
                        td {}
                        @for column in &grid.columns { (head(column)) }
                    } }
                    @for (group, rows) in grid.groups() {
                        tbody {
                            @if !group.is_empty() && several {
                                tr class="group" {
                                    th scope="rowgroup" colspan=(grid.columns.len() + 1) {
                                        span { (text::shown(group)) }
                                    }
                                }
                            }
                            @for row in rows { (line(grid, metric, row)) }
                        }
                    }
                }
            }
        }
    }
}

fn head(column: &crate::grid::Column) -> Markup {
    let full = if column.label.is_empty() { &column.title } else { &column.label };
    html! {
        th scope="col" class=[column.is_base.then_some("base")]
            data-variant=(text::shown(&column.title)) title=(text::shown(full)) {
            span { (text::shown(&column.title)) }
        }
    }
}

fn line(grid: &Grid, metric: usize, row: usize) -> Markup {
    let (better, unit) = (grid.metrics[metric].better, grid.metrics[metric].unit);
    let name = &grid.rows[row].title;
    let few = grid.rows.len() * grid.columns.len() <= TITLES;
    let numbers = grid.columns.len() <= NUMBERS;
    html! {
        tr {
            th scope="row" { (text::shown(name)) }
            @for (value, column) in grid.values[metric][row].iter().zip(&grid.columns) {
                @let unit = if value.kind == Kind::Base { unit } else { "" };
                @let words = format!("{} {unit}", cells::words(value));
                @let title = format!("{name}, {}: {}", column.title, words.trim_end());
                td class=(cells::classes(&plain(value), better))
                    title=[few.then(|| text::shown(&title))] {
                    @let said = said(value);
                    @if numbers || said.chars().count() < 3 { (said) } @else {
                        (sign(value))
                        span class="aside" { (said) }
                    }
                }
            }
        }
    }
}

/// Without its interval, for which there is no room.
fn plain(value: &Value) -> Value {
    Value { interval: None, ..value.clone() }
}

/// The ratio; the base has 1, and what has no ratio a sign.
fn said(value: &Value) -> String {
    match (value.kind, value.ratio) {
        (Kind::Base, _) => "1".to_owned(),
        (Kind::Ratio, Some(ratio)) => number::ratio(ratio),
        (Kind::Failed | Kind::Missed, _) => "✕".to_owned(),
        _ => "–".to_owned(),
    }
}

/// Up, down or the same, where a number has no room; that nothing is decided, where that is so.
fn sign(value: &Value) -> &'static str {
    let verdict = value.verdict.map_or("", words::symbol);
    match value.ratio {
        Some(_) if words::is_open(verdict) => verdict,
        Some(ratio) if ratio >= cells::STEPS[0] => "+",
        Some(ratio) if ratio <= 1.0 / cells::STEPS[0] => "−",
        _ => "",
    }
}

/// What the colors mean.
fn scale(better: Better) -> Markup {
    let down = cells::STEPS.iter().rev().map(|step| 1.0 / step);
    let ratios: Vec<f64> = down.chain([1.0]).chain(cells::STEPS).collect();
    html! {
        ul class="scale" aria-label="Colors by ratio" {
            @for ratio in ratios {
                li class=(cells::heat(ratio, better)) { (number::ratio(ratio)) }
            }
        }
    }
}
