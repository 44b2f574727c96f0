//! Tables of several variants from their summaries, and what is relative to the first of them.

use super::sheet::{Line, Row, Sheet};
use crate::{cell::plain, phase::without_size};

/// One row of every variant, from its summary, with the published rounding: `ips`, `qps` and `rps`
/// become whole, `dbgb2` has one decimal, and the tag loses the size before it. `None` ends a
/// group.
pub fn merged<'a>(columns: &[String], rows: impl IntoIterator<Item = Option<&'a Row>>) -> Sheet {
    let line = |row: Option<&Row>| match row {
        Some(Row { line, cells }) => {
            let cells = columns.iter().zip(cells).map(|(name, cell)| reprinted(name, cell));
            Line::Row(Row { line: *line, cells: cells.collect() })
        }
        None => Line::Break,
    };
    Sheet { columns: columns.to_vec(), lines: rows.into_iter().map(line).collect() }
}

fn reprinted(column: &str, cell: &str) -> String {
    let number = || crate::number::parse(cell);
    match column {
        "ips" | "qps" | "rps" => number().map(|value| format!("{value:.0}")),
        "dbgb2" => number().filter(|value| *value >= 10.0).map(|value| format!("{value:.1}")),
        "tag" => Some(plain(without_size(cell))),
        _ => None,
    }
    .unwrap_or_else(|| cell.to_owned())
}

/// Every row but the first of a group, relative to that one, from the printed numbers.
pub fn relative(sheet: &Sheet) -> Sheet {
    let mut base: Option<&Row> = None;
    let mut lines = Vec::new();
    for line in &sheet.lines {
        match (line, base) {
            (Line::Break, _) => {
                base = None;
                lines.push(Line::Break);
            }
            (Line::Row(row), None) => base = Some(row),
            (Line::Row(row), Some(base)) => {
                let pairs = sheet.columns.iter().zip(&row.cells).zip(&base.cells);
                let ratios = pairs.map(|((column, cell), base)| match column.as_str() {
                    "tag" => cell.clone(),
                    _ => ratio(cell, base),
                });
                lines.push(Line::Row(Row { line: row.line, cells: ratios.collect() }));
            }
        }
    }
    Sheet { columns: sheet.columns.clone(), lines }
}

/// A printed ratio: `NA` for what is no number, `1` for nothing of nothing, `inf` for something of
/// nothing.
fn ratio(cell: &str, base: &str) -> String {
    match (crate::number::parse(cell), crate::number::parse(base)) {
        (Some(0.0), Some(0.0)) => "1".to_owned(),
        (Some(_), Some(0.0)) => "inf".to_owned(),
        (Some(value), Some(base)) => format!("{:.2}", value / base),
        _ => "NA".to_owned(),
    }
}

/// Tables below each other, each under an empty line and its phase.
pub fn some<'a>(tables: impl IntoIterator<Item = (&'a str, &'a Sheet)>) -> String {
    let part = |(phase, sheet): (&str, &Sheet)| format!("\n{phase}\n{}", sheet.text());
    tables.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_printed_numbers() {
        let check = |cell: &str, base: &str, expected: &str| {
            assert_eq!(ratio(cell, base), expected, "{cell}/{base}");
        };
        check("0.0", "0.0", "1");
        check("0.1", "0.0", "inf");
        check("NA", "1", "NA");
        check("1", "NA", "NA");
        check("7238", "6886", "1.05");
        check("inf", "1", "NA");
        // A half of a hundredth that a binary number holds exactly goes to the even neighbor.
        check("1", "8", "0.12");
        check("3", "8", "0.38");
    }

    #[test]
    fn cells_are_reprinted_as_published() {
        let check = |column: &str, cell: &str, expected: &str| {
            assert_eq!(reprinted(column, cell), expected, "{column} {cell}");
        };
        check("rps", "1238.3", "1238");
        check("rps", "0.5", "0");
        check("rps", "1.5", "2");
        check("qps", "NA", "NA");
        check("dbgb2", "412.34", "412.3");
        check("dbgb2", "5.2", "5.2");
        check("wps", "51.30", "51.30");
        check("tag", "20m.my5649.cx6d", "my5649.cx6d");
        check("tag", "4000m.x.m.y", "x.m.y");
        check("tag", "com.x", "com.x");
        check("tag", "m.x", "m.x");
        check("tag", "20m.=1+1\tb", "'=1+1_b");
    }

    #[test]
    fn a_group_of_one_gives_nothing_but_its_end() {
        let (sheet, _) = Sheet::read((1..).zip("ips\ttag\n4\ta\n-\n2\tb\n3\tc\n-\n".lines()));
        assert_eq!(relative(&sheet).text(), "ips\ttag\n-\n1.50\tc\n-\n");
    }
}
