//! A table of tab-separated text with one header and groups between lines of `-`.

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
    Row(Vec<String>),
    /// The end of a group.
    Break,
}

/// A line that is not as its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetProblem {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong, one sentence.
    pub reason: String,
}

impl Sheet {
    /// Reads a table. Lines that have not one cell per column are left out and told; a row is never
    /// shifted.
    pub fn read(text: &str) -> (Self, Vec<SheetProblem>) {
        let mut problems = Vec::new();
        let mut lines = text.lines().enumerate();
        let Some((_, header)) = lines.next() else {
            problems.push(SheetProblem { line: 1, reason: "the table is empty".to_owned() });
            return (Self::default(), problems);
        };
        let split = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<String>>();
        let mut sheet = Self { columns: split(header), lines: Vec::new() };
        for (index, line) in lines {
            let cells = split(line);
            if line == "-" {
                sheet.lines.push(Line::Break);
            } else if cells.len() == sheet.columns.len() {
                sheet.lines.push(Line::Row(cells));
            } else {
                let reason =
                    format!("{} cells where {} are named", cells.len(), sheet.columns.len());
                problems.push(SheetProblem { line: index + 1, reason });
            }
        }
        (sheet, problems)
    }

    /// The text that [`Sheet::read`] reads.
    pub fn text(&self) -> String {
        let mut text = self.columns.join("\t") + "\n";
        for line in &self.lines {
            match line {
                Line::Row(cells) => text.push_str(&cells.join("\t")),
                Line::Break => text.push('-'),
            }
            text.push('\n');
        }
        text
    }

    /// The rows without the breaks.
    pub fn rows(&self) -> impl Iterator<Item = &[String]> {
        self.lines.iter().filter_map(|line| match line {
            Line::Row(cells) => Some(cells.as_slice()),
            Line::Break => None,
        })
    }

    /// Index of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The number in a cell of this row; absent for `NA`.
    pub fn number(&self, row: &[String], column: &str) -> Option<f64> {
        row.get(self.column(column)?)?.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let text = "ips\ttag\n1\ta\n-\nNA\tb\n";
        let (sheet, problems) = Sheet::read(text);
        assert_eq!((sheet.text().as_str(), problems.len()), (text, 0));
        let values: Vec<_> = sheet.rows().map(|row| sheet.number(row, "ips")).collect();
        assert_eq!(values, [Some(1.0), None]);
    }

    #[test]
    fn rows_of_another_length_are_told_and_left_out() {
        let (sheet, problems) = Sheet::read("ips\tqps\ttag\n1\ta\n1\t2\ta\n1\t2\t3\ta\n\n");
        assert_eq!(sheet.lines.len(), 1);
        let told: Vec<_> = problems.iter().map(|p| (p.line, p.reason.as_str())).collect();
        assert_eq!(
            told,
            [
                (2, "2 cells where 3 are named"),
                (4, "4 cells where 3 are named"),
                (5, "1 cells where 3 are named")
            ]
        );
        assert_eq!(Sheet::read("").1[0].reason, "the table is empty");
    }
}
