//! Lays a table out as aligned text; knows no statistics.

use crate::{
    document::{Align, Column, Row, Table, TableCell},
    escape, number,
    screen::{Colors, Screen, width as width_of, wrap},
    words,
};

/// Widest line of a column's title before it is broken.
const TITLE: usize = 11;

/// Blanks between columns.
const GAP: usize = 2;

/// The table in as many parts as fit the columns of a terminal each; the first column is in all of
/// them.
fn parts(table: &Table, columns: Option<usize>) -> Vec<Table> {
    let Some(columns) = columns else { return vec![table.clone()] };
    let widths = widths(table);
    let first = widths.first().copied().unwrap_or(0);
    let widest = widths.iter().skip(1).copied().max().unwrap_or(0);
    if first + GAP + widest > columns && !is_narrow(table) {
        return parts(&narrow(table), Some(columns));
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = columns;
    for (index, width) in widths.iter().enumerate().skip(1) {
        match parts.last_mut() {
            Some(part) if used + GAP + width <= columns => {
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

/// How many stacked tables a row of columns becomes, for widths of the first and the other columns.
pub(crate) fn stacked(first: usize, others: &[usize], columns: Option<usize>) -> usize {
    let Some(columns) = columns else { return 1 };
    let (mut parts, mut used) = (1, first);
    for width in others {
        if used > first && used + GAP + width > columns {
            parts += 1;
            used = first;
        }
        used += GAP + width;
    }
    parts
}

/// Whether the names of the rows stand on lines of their own.
fn is_narrow(table: &Table) -> bool {
    let blank = |row: &Row| !matches!(row, Row::Cells(cells) if cells.first() != Some(&blank()));
    table.rows.iter().all(blank)
}

fn blank() -> TableCell {
    TableCell::Text(String::new())
}

/// The table with the names of its rows on lines of their own, for terminals without room beside
/// them.
fn narrow(table: &Table) -> Table {
    let mut rows = Vec::new();
    for row in &table.rows {
        match row {
            Row::Cells(cells) => {
                rows.extend(cells.first().map(|name| Row::Section(text(name))));
                rows.push(Row::Cells(
                    std::iter::once(blank()).chain(cells.iter().skip(1).cloned()).collect(),
                ));
            }
            other => rows.push(other.clone()),
        }
    }
    let columns = table.columns.iter().enumerate().map(|(index, column)| match index {
        0 => Column::default(),
        _ => column.clone(),
    });
    Table { columns: columns.collect(), rows }
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
        head.iter().chain(body).map(|text| width_of(text)).max().unwrap_or(0)
    };
    table.columns.iter().enumerate().map(width).collect()
}

/// The lines of a table, stacked in parts that fit the screen: the heads, a rule, the rows.
pub(crate) fn lines(table: &Table, screen: Screen) -> Vec<String> {
    let parts = parts(table, screen.columns);
    let parts: Vec<Vec<String>> = parts.iter().map(|part| part_lines(part, screen)).collect();
    parts.join(&String::new())
}

fn part_lines(table: &Table, screen: Screen) -> Vec<String> {
    let widths = widths(table);
    let mut heads: Vec<Vec<String>> = table.columns.iter().map(head).collect();
    let height = heads.iter().map(Vec::len).max().unwrap_or(0);
    for head in &mut heads {
        // Heads stand on the rule, so that all units are in one line.
        head.splice(0..0, vec![String::new(); height - head.len()]);
    }
    let aligned = |texts: &mut dyn Iterator<Item = (String, &'static str)>| {
        let columns = texts.zip(&table.columns).zip(&widths);
        let padded: Vec<String> = columns
            .map(|(((text, color), column), width)| {
                let padded = pad(&text, *width, column.align);
                if color.is_empty() {
                    padded
                } else {
                    padded.replace(&text, &painted(&text, color))
                }
            })
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut lines = Vec::new();
    for line in 0..height {
        lines.push(aligned(&mut heads.iter().map(|head| (head[line].clone(), ""))));
    }
    let rule = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    lines.push("-".repeat(rule));
    for row in &table.rows {
        match row {
            Row::Cells(cells) => {
                let colored = |cell| match screen.colors {
                    Colors::On => (text(cell), color(cell)),
                    Colors::Off => (text(cell), ""),
                };
                lines.push(aligned(&mut cells.iter().map(colored)));
            }
            Row::Section(text) => lines.extend(wrap(&escape::terminal(text), screen.columns, 2)),
            Row::Note(text) => {
                let text = format!("    {}", escape::terminal(text));
                lines.extend(wrap(&text, screen.columns, 4));
            }
        }
    }
    lines
}

/// The terminal's color code of a verdict; empty for none.
fn color(cell: &TableCell) -> &'static str {
    match cell {
        TableCell::Judged(_, sign) => words::terminal_color(sign),
        TableCell::Shaded(inner, _) => color(inner),
        TableCell::Failed | TableCell::Missed(_) => words::RED,
        _ => "",
    }
}

fn painted(text: &str, color: &str) -> String {
    format!("\u{1b}[{color}m{text}\u{1b}[0m")
}

/// A cell as people read it.
pub(crate) fn text(cell: &TableCell) -> String {
    match cell {
        TableCell::Text(text) => escape::terminal(text),
        TableCell::Number(value) => number::value(*value),
        TableCell::Count(count) => count.to_string(),
        TableCell::Ratio(ratio) => number::ratio(*ratio),
        TableCell::Judged(ratio, sign) => format!("{} {sign}", words::judged_ratio(*ratio, sign)),
        TableCell::Compared { value, ratio, sign } => {
            format!("{} ({})", number::value(*value), words::judged_ratio(*ratio, sign))
        }
        TableCell::PartialRatio { ratio, count, all } => {
            format!("{} ({count}/{all})", number::ratio(*ratio))
        }
        // The verdict's sign says it already.
        TableCell::Shaded(inner, _) if matches!(**inner, TableCell::Judged(..)) => text(inner),
        TableCell::Shaded(inner, shade) => format!("{} {}", text(inner), shade.sign()),
        TableCell::Missed(Some(rate)) => format!("missed ({})", number::value(*rate)),
        TableCell::Missed(None) => "missed".to_owned(),
        TableCell::Share(share) => number::percent(*share),
        TableCell::Missing => "-".to_owned(),
        TableCell::Failed => "failed".to_owned(),
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
            Some(line) if width_of(line) + 1 + width_of(word) <= TITLE => {
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
    let blanks = " ".repeat(width.saturating_sub(width_of(text)));
    match align {
        Align::Left => format!("{text}{blanks}"),
        Align::Right => format!("{blanks}{text}"),
    }
}
