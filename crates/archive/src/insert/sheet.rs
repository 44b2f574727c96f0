//! A table of text with one header and groups between lines of `-`.

use crate::{Fault, number};

/// A table as published: cells are kept as they are printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sheet {
    /// Names of the columns; the last one is the variant's.
    pub columns: Vec<String>,
    /// The lines under the header.
    pub lines: Vec<Line>,
}

/// A line under the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// One cell per column.
    Row(Row),
    /// The end of a group.
    Break,
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Its line in the file, from 1; 0 if it is in none.
    pub line: u32,
    /// One cell per column.
    pub cells: Vec<String>,
}

impl Sheet {
    /// Reads a table from numbered lines; cells are separated by tabs, or by commas where the
    /// header has no tab. Lines that have not one cell per column are left out and told; a row is
    /// never shifted.
    pub fn read<'a>(lines: impl IntoIterator<Item = (u32, &'a str)>) -> (Self, Vec<Fault>) {
        let mut faults = Vec::new();
        let mut lines = lines.into_iter();
        let Some((_, header)) = lines.next() else {
            faults.push(Fault::new(1, "the table is empty"));
            return (Self::default(), faults);
        };
        let separator = if header.contains('\t') { '\t' } else { ',' };
        let split = |line: &str| line.split(separator).map(str::to_owned).collect::<Vec<String>>();
        let mut sheet = Self { columns: split(header), lines: Vec::new() };
        for (line, text) in lines {
            if text == "-" {
                sheet.lines.push(Line::Break);
                continue;
            }
            let (has, needs) = (text.split(separator).count(), sheet.columns.len());
            if has == needs {
                sheet.lines.push(Line::Row(Row { line, cells: split(text) }));
            } else {
                faults.push(Fault::new(line, number::wrong_columns(has, needs)));
            }
        }
        (sheet, faults)
    }

    /// The text that [`Sheet::read`] reads, with tabs.
    pub fn text(&self) -> String {
        let mut text = self.columns.join("\t") + "\n";
        for line in &self.lines {
            match line {
                Line::Row(row) => text.push_str(&row.cells.join("\t")),
                Line::Break => text.push('-'),
            }
            text.push('\n');
        }
        text
    }

    /// The rows without the breaks.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.lines.iter().filter_map(|line| match line {
            Line::Row(row) => Some(row),
            Line::Break => None,
        })
    }

    /// Whether the last column names the variant and there are others.
    pub fn is_tagged(&self) -> bool {
        self.columns.len() > 1 && self.columns.last().is_some_and(|name| name == "tag")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Sheet, Vec<Fault>) {
        Sheet::read((1..).zip(text.lines()))
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let text = "ips\ttag\n1\ta\n-\nNA\tb\n";
        let (sheet, faults) = read(text);
        assert_eq!((sheet.text().as_str(), faults.len(), sheet.is_tagged()), (text, 0, true));
        assert_eq!(sheet.rows().map(|row| row.line).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(read("ips,tag\n1,a\n").0.text(), "ips\ttag\n1\ta\n");
    }

    #[test]
    fn rows_of_another_length_are_told_and_left_out() {
        let (sheet, faults) = read("ips\tqps\ttag\n1\ta\n1\t2\ta\n1\t2\t3\ta\n\n");
        assert_eq!(sheet.lines.len(), 1);
        let told: Vec<_> = faults.iter().map(|fault| (fault.line, fault.reason.as_str())).collect();
        assert_eq!(
            told,
            [
                (2, "the row has 2 columns instead of 3; it is left out"),
                (4, "the row has 4 columns instead of 3; it is left out"),
                (5, "the row has 1 column instead of 3; it is left out")
            ]
        );
        assert_eq!(read("").1[0].reason, "the table is empty");
    }
}
