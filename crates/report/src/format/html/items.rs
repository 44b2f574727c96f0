//! Items of a document as HTML.

use super::{cells, grid, heat, text};
use crate::{
    chart,
    document::{Align, Column, Item, Row, Styled, Table, TableCell},
    grid::Grid,
    layout, number, words,
};
use maud::{Markup, html};

/// Columns beyond which they are narrow.
const MANY: usize = 6;

/// Writes the items of one comparison.
pub(super) struct Writer {
    index: usize,
    grids: usize,
    tables: usize,
    charts: usize,
    /// Keys of the grids that are in the page already, with their ids.
    known: Vec<(String, Vec<String>, Vec<String>)>,
    /// The heading that stands above the next item.
    heading: String,
}

impl Writer {
    pub(super) fn new(index: usize) -> Self {
        Self { index, grids: 0, tables: 0, charts: 0, known: Vec::new(), heading: String::new() }
    }

    /// The items of a section, under its title.
    pub(super) fn section(&mut self, title: &str, items: &[Item]) -> Markup {
        title.clone_into(&mut self.heading);
        self.items(items)
    }

    pub(super) fn items(&mut self, items: &[Item]) -> Markup {
        let written: Vec<Markup> = items.iter().map(|item| self.item(item)).collect();
        html! { @for item in written { (item) } }
    }

    fn item(&mut self, item: &Item) -> Markup {
        match item {
            Item::Heading { level, text } => {
                text.clone_into(&mut self.heading);
                heading(*level, text)
            }
            Item::Section { title, .. } => heading(2, title),
            Item::Paragraph(text) => html! { p { (text::inline(text)) } },
            Item::Warning(text) => html! { p class="warning" { (text::inline(text)) } },
            Item::Code(code) => html! { pre tabindex="0" { code { (text::lines(code)) } } },
            Item::Facts(facts) => html! {
                dl class="facts" {
                    @for (name, value) in facts {
                        div { dt { (text::shown(name)) } dd { (text::shown(value)) } }
                    }
                }
            },
            Item::Fold { anchor, title, items } => {
                let before = std::mem::replace(&mut self.heading, title.clone());
                let inner = self.items(items);
                self.heading = before;
                let id = Some(super::prefixed(self.index, anchor)).filter(|_| !anchor.is_empty());
                html! {
                    details id=[&id] {
                        summary {
                            (text::inline(title))
                            @if let Some(id) = &id {
                                a class="link" href={ "#" (id) } aria-label="Link to this part" {
                                    "#"
                                }
                            }
                        }
                        div class="inner" { (inner) }
                    }
                }
            }
            Item::Table(found) => table(found, "plain", &self.heading),
            Item::Sortable(found) => table(found, "plain sortable", &self.heading),
            Item::Styles(styles) => self.styles(styles),
            Item::Chart(found) => {
                self.charts += 1;
                let id = super::prefixed(self.index, &format!("chart-{}", self.charts));
                chart::draw(found, &id)
            }
            Item::Grid(found, part) => {
                let (id, data) = self.embedded(found);
                self.tables += 1;
                let table = match self.tables {
                    1 => id.clone(),
                    count => format!("{id}-{count}"),
                };
                let ids = grid::Ids { data: &id, table: &table };
                html! { (grid::table(found, part, ids)) @if let Some(data) = data { (data) } }
            }
            Item::Heat(found, metric) => heat::table(found, *metric, &self.heading),
            Item::Data { name, grid } => self.data(name, grid),
        }
    }

    /// The same in all styles, of which the page's class shows one, under the switch that changes
    /// that class and a filter of the rows.
    fn styles(&mut self, styles: &[Styled]) -> Markup {
        let written: Vec<(&str, Markup)> =
            styles.iter().map(|style| (style.name, self.items(&style.items))).collect();
        html! {
            div class="styles" {
                form class="styling scripted" {
                    label { "Colors "
                        select name="colours" {
                            option value="" { "own: missed targets are marked" }
                            option value="published" { "published" }
                        }
                    }
                    label { "Variants "
                        input type="search" name="text" placeholder="filter by name";
                    }
                }
                @for (name, items) in written { div class={ "style-" (name) } { (items) } }
            }
        }
    }

    /// The id of a grid's values, and the values unless they are in the page already.
    fn embedded(&mut self, grid: &Grid) -> (String, Option<Markup>) {
        let same = |known: &&(String, Vec<String>, Vec<String>)| {
            known.1 == grid.row_keys && known.2 == grid.column_keys
        };
        if let Some((id, ..)) = self.known.iter().find(same) {
            return (id.clone(), None);
        }
        let id = match (self.index, self.grids) {
            (0, 0) => "grid".to_owned(),
            (index, grids) => format!("grid{}.{}", index + 1, grids + 1),
        };
        self.grids += 1;
        self.known.push((id.clone(), grid.row_keys.clone(), grid.column_keys.clone()));
        let data = grid::data(grid, &id);
        (id, Some(data))
    }

    fn data(&mut self, name: &str, grid: &Grid) -> Markup {
        let (id, data) = self.embedded(grid);
        let name = words::slug(name);
        html! {
            @if let Some(data) = data { (data) }
            p class="save scripted" {
                @for (kind, words) in [("json", "Save as JSON"), ("csv", "Save as CSV")] {
                    button type="button" data-save=(kind) data-grid=(id) data-name=(name) {
                        (words)
                    }
                }
            }
            noscript {
                p {
                    "Without JavaScript, the values are in this file as JSON, in the element "
                    code { (id) } "."
                }
            }
        }
    }
}

fn heading(level: usize, text: &str) -> Markup {
    html! {
        @if level <= 2 { h2 { (text::inline(text)) } } @else { h3 { (text::inline(text)) } }
    }
}

fn table(table: &Table, class: &str, heading: &str) -> Markup {
    let width = table.columns.len();
    let many = if width > MANY { " many" } else { "" };
    html! {
        @let tall = if many.is_empty() { "wide" } else { "wide tall" };
        div class=(tall) tabindex="0" role="group" aria-label=(label(heading)) {
            table class={ (class) (many) } style={ "--columns:" (width) } {
                thead { tr { @for column in &table.columns { (head(column)) } } }
                tbody {
                    @for row in &table.rows {
                        @match row {
                            Row::Section(name) => tr class="group" {
                                th scope="rowgroup" colspan=(width) { (text::inline(name)) }
                            },
                            Row::Note(note) => tr class="remark" {
                                td colspan=(width) { (text::inline(note)) }
                            },
                            Row::Cells(cells) => tr {
                                @for (index, (cell, column)) in
                                    cells.iter().zip(&table.columns).enumerate()
                                {
                                    @match cell {
                                        TableCell::Text(name) if index == 0 && !name.is_empty() => {
                                            th scope="row" { (layout::text(cell)) }
                                        }
                                        _ => (one(cell, column)),
                                    }
                                }
                            },
                        }
                    }
                }
            }
        }
    }
}

/// What a table that can be scrolled is called: after the heading above it.
fn label(heading: &str) -> String {
    match heading {
        "" => "Table".to_owned(),
        heading => format!("Table: {}", text::shown(&heading.replace('`', ""))),
    }
}

fn head(column: &Column) -> Markup {
    html! {
        @let label = Some(&column.label).filter(|label| !label.is_empty());
        th scope="col" class=[class(column)] title=[label.map(|label| text::shown(label))] {
            (text::name(&column.title))
            @if !column.short.is_empty() { span class="unit" { (text::shown(&column.short)) } }
            @if !column.unit.is_empty() { span class="unit" { (text::shown(&column.unit)) } }
        }
    }
}

fn class(column: &Column) -> Option<&'static str> {
    (column.align == Align::Right).then_some("num")
}

fn one(cell: &TableCell, column: &Column) -> Markup {
    let heat = match (cell, column.heat) {
        (TableCell::Ratio(ratio) | TableCell::PartialRatio { ratio, .. }, Some(better)) => {
            cells::heat(*ratio, better)
        }
        (
            TableCell::Judged(ratio, sign) | TableCell::Compared { ratio, sign, .. },
            Some(better),
        ) => cells::judged_heat(*ratio, sign, better),
        (TableCell::Failed, _) => "failed".to_owned(),
        (TableCell::Missed(_), _) => "missed".to_owned(),
        (TableCell::Shaded(_, shade), _) => shade.class().unwrap_or_default().to_owned(),
        (TableCell::Share(share), _) if *share > 0.0 => "share".to_owned(),
        _ => String::new(),
    };
    let style = match cell {
        TableCell::Share(share) if *share > 0.0 => Some(format!("--p:{:.0}%", share * 100.0)),
        _ => None,
    };
    // What is too small to be shown is more than nothing.
    let order = match cell {
        TableCell::Share(share) => Some(share.to_string()),
        _ => None,
    };
    let classes = format!("{} {heat}", class(column).unwrap_or_default());
    let classes = Some(classes.trim()).filter(|classes| !classes.is_empty());
    html! {
        td class=[classes] style=[style] data-order=[order] {
            @match cell {
                // The blank lets the script read the value alone.
                TableCell::Compared { value, ratio, sign } => {
                    (number::value(*value)) " " small {
                        (words::judged_ratio(*ratio, sign))
                        @if words::is_open(sign) { " " (sign) }
                    }
                },
                _ => (layout::text(cell)),
            }
        }
    }
}
