//! The table that can be switched, sorted and filtered, and its values for the script.

use super::{cells, text};
use crate::{
    escape,
    grid::{Grid, Kind, Part, Row, Value},
    number, words,
};
use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use std::collections::BTreeMap;

/// Metrics of the switch, in its order; those that a comparison has not are left out.
const SWITCH: [&str; 22] = [
    "ops_per_second",
    "foreground_user_instructions_per_op",
    "server_user_instructions_per_op",
    "background_user_instructions_per_op",
    "foreground_cpu_us_per_op",
    "server_cpu_us_per_op",
    "host_cpu_us_per_op",
    "host_cpu_percent_per_op",
    "client_cpu_us_per_op",
    "foreground_instructions_per_op",
    "server_instructions_per_op",
    "server_instructions_per_cycle",
    "context_switches_per_op",
    "host_context_switches_per_op",
    "reads_per_op",
    "read_kib_per_op",
    "write_kib_per_op",
    "latency_us_p50",
    "latency_us_p95",
    "latency_us_p99",
    "server_rss_mib_peak",
    "database_mib",
];

/// Columns beyond which they are narrow.
const MANY: usize = 5;

/// With more cells than this, only the script adds hover texts, to limit the size of the file.
const TITLES: usize = 1000;

/// Names that nothing else on the page has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids<'a> {
    /// Of the values for the script.
    pub(super) data: &'a str,
    /// Of the table and of what belongs to it.
    pub(super) table: &'a str,
}

/// A part of a grid, as the table of one metric.
struct PartTable<'a> {
    grid: &'a Grid,
    part: &'a Part,
    metric: usize,
    notes: Vec<&'a String>,
    id: &'a str,
}

/// The table under its switches. Without script it shows ratios of the first metric.
pub(super) fn table(grid: &Grid, part: &Part, ids: Ids<'_>) -> Markup {
    let metric = first(grid);
    let own = PartTable { grid, part, metric, notes: notes(grid, part, metric), id: ids.table };
    html! {
        (switches(grid, ids))
        (own.markup(ids.data))
        p class="empty" role="status" hidden { "No test fits the filter." }
        @if grid.values.iter().flatten().flatten().any(|value| cells::hairline(value).is_some()) {
            p class="under" {
                "A line in a cell is the 95 % interval of its ratio, 0.5 at the left edge, 1 in "
                "the middle, 2 at the right edge."
            }
        }
        // Always there: the script fills it anew with every metric.
        ol class="notes" id={ (own.id) "-notes" } hidden[own.notes.is_empty()] {
            @for (number, note) in own.notes.iter().enumerate() {
                li id={ (own.id) "-note-" (number + 1) } { (text::inline(note)) }
            }
        }
    }
}

impl PartTable<'_> {
    fn markup(&self, data: &str) -> Markup {
        let Self { grid, part, metric, id, .. } = *self;
        let width = part.columns.len();
        html! {
            @let box_class = if width > MANY { "wide tall" } else { "wide" };
            div class=(box_class) tabindex="0" role="group"
                aria-label="Table of all tests and variants" {
                @let class = if width > MANY { "grid many" } else { "grid" };
                table class=(class) id={ (id) "-table" } style={ "--columns:" (width) }
                    data-grid=(data) data-metric=(metric) {
                    caption { (self.caption()) }
                    thead { tr {
                        th scope="col" { (text::shown(&grid.row_keys.join(" · "))) }
                        @for index in &part.columns { (self.head(*index)) }
                    } }
                    @for (group, rows) in self.groups() {
                        tbody {
                            @if !group.is_empty() {
                                tr class="group" {
                                    th scope="rowgroup" colspan=(width + 1) {
                                        span { (text::shown(group)) }
                                    }
                                }
                            }
                            @for row in rows { (self.line(row)) }
                        }
                    }
                }
            }
        }
    }

    fn head(&self, index: usize) -> Markup {
        let column = &self.grid.columns[index];
        let unit = self.grid.unit_of_ratios(self.metric, index);
        let label = Some(&column.label).filter(|label| !label.is_empty());
        html! {
            th scope="col" class=(if column.is_base { "num base" } else { "num" })
                data-column=(index) data-variant=(text::shown(&column.title))
                title=[label.map(|label| text::shown(label))] {
                span class="name" { (text::name(&column.title)) }
                span class="unit" { (unit) }
            }
        }
    }

    /// The rows by group.
    fn groups(&self) -> Vec<(&str, Vec<usize>)> {
        let mut groups = self.grid.groups();
        groups.iter_mut().for_each(|(_, rows)| rows.retain(|row| self.part.rows.contains(row)));
        groups.retain(|(_, rows)| !rows.is_empty());
        groups
    }

    fn caption(&self) -> String {
        // The base may stand in another table, as a variant.
        let has_base = |index: &usize| self.grid.has_base(self.metric, *index);
        let values = if self.part.columns.iter().any(has_base) {
            "Absolute values of the base, then ratios to it."
        } else {
            "Ratios to the base."
        };
        self.grid.metrics.get(self.metric).map_or_else(String::new, |metric| {
            format!("{}: {}. {values}", words::long_title(metric), metric.help)
        })
    }

    fn line(&self, row: usize) -> Markup {
        let head = &self.grid.rows[row];
        let name = anchor(self.grid, row, self.id);
        html! {
            tr id=(name) data-row=(row) {
                th scope="row" {
                    (text::shown(&head.title))
                    @if !head.note.is_empty() { span class="note" { (text::shown(&head.note)) } }
                    a class="link" href={ "#" (name) }
                        aria-label={ "Link to " (text::shown(&head.title)) } { "#" }
                }
                @for column in &self.part.columns {
                    (self.cell(&self.grid.values[self.metric][row][*column]))
                }
            }
        }
    }

    fn cell(&self, value: &Value) -> Markup {
        let metric = self.grid.metrics[self.metric];
        let number =
            noted(value).and_then(|note| self.notes.iter().position(|known| *known == note));
        let few = self.grid.rows.len() * self.grid.columns.len() <= TITLES;
        let title = Some(cells::title(value, metric.unit)).filter(|title| few && !title.is_empty());
        html! {
            td class=(cells::classes(value, metric.better)) style=[cells::hairline(value)]
                data-s=(cells::standing(value, metric, words::margin(&self.grid.margins, metric)))
                title=[title] {
                (cells::words(value))
                @let symbol = value.ratio.and(value.verdict).map_or("", words::symbol);
                @if !symbol.is_empty() { i { (symbol) } }
                @if let Some(number) = number {
                    a class="ref" href={ "#" (self.id) "-note-" (number + 1) } { (number + 1) }
                }
                @let aside = cells::aside(value);
                @if !aside.is_empty() { span class="aside" { (aside) } }
            }
        }
    }
}

fn first(grid: &Grid) -> usize {
    SWITCH.iter().find_map(|name| grid.metric(name)).unwrap_or(0)
}

/// The controls; they appear when the script has started.
fn switches(grid: &Grid, ids: Ids<'_>) -> Markup {
    let known: Vec<usize> = SWITCH.iter().filter_map(|name| grid.metric(name)).collect();
    let rest = (0..grid.metrics.len()).filter(|index| !known.contains(index));
    let option = |index: usize| {
        let metric = grid.metrics[index];
        let short =
            if metric.short.is_empty() { String::new() } else { format!(" {}", metric.short) };
        format!("{}{short}{}", words::long_title(metric), words::unit_behind(metric))
    };
    html! {
        form class="switches scripted" data-grid=(ids.data) data-table=(ids.table) {
            label { "Metric "
                select name="metric" {
                    optgroup label="usual" {
                        @for index in &known { option value=(index) { (option(*index)) } }
                    }
                    optgroup label="more" {
                        @for index in rest { option value=(index) { (option(index)) } }
                    }
                }
            }
            fieldset { legend { "Values" }
                label { input type="radio" name="form" value="relative" checked; " relative" }
                label { input type="radio" name="form" value="absolute"; " absolute" }
            }
            label { "Tests " input type="search" name="text" placeholder="filter by name"; }
            label { "Show "
                select name="standing" {
                    option value="" { "all" }
                    option value="worse" { "slower or more expensive" }
                    option value="better" { "faster or cheaper" }
                    option value="same" { "about the same" }
                    option value="undecided" { "undecided" }
                    option value="nothing" { "failed or missing" }
                }
            }
            label { "Colors "
                select name="colours" {
                    option value="" { "diverging" }
                    option value="published" { "published" }
                }
            }
        }
    }
}

/// Why a cell has no number to compare, if it has none.
fn noted(value: &Value) -> Option<&String> {
    let broken = !matches!(value.kind, Kind::Base | Kind::Ratio);
    Some(&value.note).filter(|note| broken && !note.is_empty())
}

fn notes<'a>(grid: &'a Grid, part: &Part, metric: usize) -> Vec<&'a String> {
    let mut notes: Vec<&String> = Vec::new();
    let plane = grid.values.get(metric);
    let rows = plane.into_iter().flat_map(|plane| part.rows.iter().map(|row| &plane[*row]));
    for value in rows.flat_map(|row| part.columns.iter().map(|column| &row[*column])) {
        if let Some(note) = noted(value).filter(|note| !notes.contains(note)) {
            notes.push(note);
        }
    }
    notes
}

/// The anchor of a row, for links that last: its name, and a number if another has the same.
fn anchor(grid: &Grid, row: usize, id: &str) -> String {
    let slug = |row: &Row| words::slug(&row.title);
    let own = slug(&grid.rows[row]);
    let before = grid.rows[..row].iter().filter(|other| slug(other) == own).count();
    let again = if before == 0 { String::new() } else { format!("-{}", before + 1) };
    let prefix = id.strip_prefix("grid").unwrap_or(id);
    format!("row{prefix}-{own}{again}")
}

#[derive(Serialize)]
struct Data<'a> {
    schema: u32,
    row_keys: &'a [String],
    column_keys: &'a [String],
    metrics: Vec<Metric<'a>>,
    columns: Vec<(&'a str, &'a [String], u8)>,
    rows: Vec<(&'a str, &'a [String], &'a str)>,
    words: Vec<&'a str>,
    fields: [&'static str; 7],
    values: Vec<Vec<Vec<Packed>>>,
}

#[derive(Serialize)]
struct Metric<'a> {
    name: &'a str,
    title: String,
    unit: &'a str,
    better: &'static str,
    margin: f64,
    help: &'a str,
}

/// Value, ratio, low, high, verdict, kind and note; the last three as indexes into the words.
type Packed = (Option<f64>, Option<f64>, Option<f64>, Option<f64>, usize, usize, usize);

/// All values of a grid as JSON that no text in it can end early.
pub(super) fn data(grid: &Grid, id: &str) -> Markup {
    let mut words: Vec<&str> = vec![""];
    let mut known: BTreeMap<&str, usize> = BTreeMap::from([("", 0)]);
    for value in grid.values.iter().flatten().flatten() {
        for text in [value.verdict_word(), value.kind.name(), value.note.as_str()] {
            known.entry(text).or_insert_with(|| {
                words.push(text);
                words.len() - 1
            });
        }
    }
    let index = |text: &str| known.get(text).copied().unwrap_or(0);
    let packed = |value: &Value| -> Packed {
        let own =
            |found: Option<f64>| found.and_then(|found| number::embedded(found, number::value));
        let six =
            |found: Option<f64>| found.and_then(|found| number::embedded(found, number::ratio));
        let (low, high) = value.interval.unzip();
        let (verdict, kind) = (index(value.verdict_word()), index(value.kind.name()));
        (own(value.value), six(value.ratio), six(low), six(high), verdict, kind, index(&value.note))
    };
    let lines = |plane: &Vec<Vec<Value>>| -> Vec<Vec<Packed>> {
        plane.iter().map(|line| line.iter().map(packed).collect()).collect()
    };
    let values = grid.values.iter().map(lines).collect();
    let data = Data {
        schema: 1,
        row_keys: &grid.row_keys,
        column_keys: &grid.column_keys,
        metrics: grid.metrics.iter().map(|metric| described(grid, metric)).collect(),
        columns: grid
            .columns
            .iter()
            .map(|c| (c.title.as_str(), c.keys.as_slice(), u8::from(c.is_base)))
            .collect(),
        rows: grid
            .rows
            .iter()
            .map(|r| (r.title.as_str(), r.keys.as_slice(), r.group.as_str()))
            .collect(),
        words,
        fields: ["value", "ratio", "low", "high", "verdict", "kind", "note"],
        values,
    };
    // Plain structures with text keys always serialize.
    let json = escape::embedded_json(&serde_json::to_string(&data).unwrap_or_default());
    html! { script type="application/json" id=(id) { (PreEscaped(json)) } }
}

fn described(grid: &Grid, metric: &'static model::metric::Metric) -> Metric<'static> {
    Metric {
        name: metric.name,
        title: words::long_title(metric),
        unit: metric.unit,
        better: crate::page::better(metric.better),
        margin: words::margin(&grid.margins, metric),
        help: metric.help,
    }
}
