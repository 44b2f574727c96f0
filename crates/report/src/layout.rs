//! Lays a table out as aligned text; knows no statistics.

use crate::{
    document::{Align, Cell, Column, Row, Table},
    escape, number,
};

/// Widest line of a column's title before it is broken.
const TITLE: usize = 11;

/// Columns of text that tables should fit into.
pub(crate) const PAGE_WIDTH: usize = 120;

/// Blanks between columns.
const GAP: usize = 2;

/// The table in as many parts as fit a page each; the first column is in all of them.
pub(crate) fn parts(table: &Table) -> Vec<Table> {
    let widths = widths(table);
    let first = widths.first().copied().unwrap_or(0);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = PAGE_WIDTH;
    for (index, width) in widths.iter().enumerate().skip(1) {
        match parts.last_mut() {
            Some(part) if used + GAP + width <= PAGE_WIDTH => {
                used += GAP + width;
                part.push(index);
            }
            _ => {
                used = first + GAP + width;
                parts.push(vec![index]);
            }
        }
    }
    match parts.len() {
        0 | 1 => vec![table.clone()],
        _ => parts.iter().map(|columns| picked(table, columns)).collect(),
    }
}

/// The first column and these others.
fn picked(table: &Table, columns: &[usize]) -> Table {
    fn of<T: Clone>(all: &[T], columns: &[usize]) -> Vec<T> {
        let others = columns.iter().filter_map(|index| all.get(*index));
        all.first().into_iter().chain(others).cloned().collect()
    }
    let row = |row: &Row| match row {
        Row::Cells(cells) => Row::Cells(of(cells, columns)),
        other => other.clone(),
    };
    Table { columns: of(&table.columns, columns), rows: table.rows.iter().map(row).collect() }
}

/// Characters of the widest text of each column.
fn widths(table: &Table) -> Vec<usize> {
    let cells: Vec<Vec<String>> = table.rows.iter().filter_map(texts).collect();
    let width = |(index, column): (usize, &Column)| {
        let head = head(column);
        let body = cells.iter().filter_map(|row| row.get(index));
        head.iter().chain(body).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    table.columns.iter().enumerate().map(width).collect()
}

/// The lines of a table: the heads, a rule, the rows.
pub(crate) fn lines(table: &Table) -> Vec<String> {
    let widths = widths(table);
    let mut heads: Vec<Vec<String>> = table.columns.iter().map(head).collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    for head in &mut heads {
        // Heads stand on the rule, so that all units are in one line.
        head.splice(0..0, vec![String::new(); height - head.len()]);
    }
    let cells: Vec<Option<Vec<String>>> = table.rows.iter().map(texts).collect();
    let aligned = |texts: &[String]| {
        let columns = texts.iter().zip(&table.columns).zip(&widths);
        let padded: Vec<String> =
            columns.map(|((t, column), w)| pad(t, *w, column.align)).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut lines = Vec::new();
    for line in 0..height {
        let texts: Vec<String> = heads.iter().map(|head| head[line].clone()).collect();
        lines.push(aligned(&texts));
    }
    let rule = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    lines.push("-".repeat(rule));
    for (row, texts) in table.rows.iter().zip(&cells) {
        match (row, texts) {
            (_, Some(texts)) => lines.push(aligned(texts)),
            (Row::Section(text), _) => lines.push(escape::terminal(text)),
            (Row::Note(text), _) => lines.push(format!("    {}", escape::terminal(text))),
            (Row::Cells(_), None) => {}
        }
    }
    lines
}

/// A cell as people read it.
pub(crate) fn text(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => escape::terminal(text),
        Cell::Number(value) => number::value(*value),
        Cell::Count(count) => count.to_string(),
        Cell::Ratio(ratio) => number::ratio(*ratio),
        Cell::Judged(ratio, sign) => format!("{} {sign}", number::ratio(*ratio)),
        Cell::Compared { value, ratio } => {
            format!("{} ({})", number::value(*value), number::ratio(*ratio))
        }
        Cell::PartialRatio { ratio, count, all } => {
            format!("{} ({count}/{all})", number::ratio(*ratio))
        }
        // The verdict's sign says it already.
        Cell::Shaded(inner, _) if matches!(**inner, Cell::Judged(..)) => text(inner),
        Cell::Shaded(inner, shade) => format!("{} {}", text(inner), shade.sign()),
        Cell::Missed(Some(rate)) => format!("missed ({})", number::value(*rate)),
        Cell::Missed(None) => "missed".to_owned(),
        Cell::Share(share) => number::percent(*share),
        Cell::Missing => "-".to_owned(),
        Cell::Failed => "failed".to_owned(),
    }
}

fn texts(row: &Row) -> Option<Vec<String>> {
    match row {
        Row::Cells(cells) => Some(cells.iter().map(text).collect()),
        Row::Section(_) | Row::Note(_) => None,
    }
}

/// Title broken between words, then unit, then short name.
fn head(column: &Column) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in escape::terminal(&column.title).split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= TITLE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let rest = [&column.short, &column.unit].into_iter().filter(|text| !text.is_empty());
    lines.extend(rest.map(|text| escape::terminal(text)));
    lines
}

fn pad(text: &str, width: usize, align: Align) -> String {
    let blanks = " ".repeat(width.saturating_sub(text.chars().count()));
    match align {
        Align::Left => format!("{text}{blanks}"),
        Align::Right => format!("{blanks}{text}"),
    }
}
