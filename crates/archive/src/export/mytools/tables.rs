//! `qps.abs` and `qps.rel`: one row per phase, one column per variant.

use super::{PhaseName, TableSet, shown};
use crate::{assemble::IN_TABLE, cell::plain, number, step};
use std::fmt::Write as _;

const RATE: &str = "ops_per_second";

impl PhaseName<'_> {
    /// Whole operations per second, as published; all digits of a rate that has few.
    pub(super) fn rate(&self, value: f64) -> String {
        match self.is_step || value >= 100.0 {
            true => format!("{value:.0}"),
            false => number::general(value),
        }
    }
}

/// A row of a table.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<Option<String>>,
}

/// The row relative to its first cell: ratios of the numbers as they are printed.
fn relative_row(row: &Row) -> Row {
    let base = row.cells.first().and_then(|cell| number::parse(cell.as_ref()?));
    let ratio = |cell: &Option<String>| ratio(number::parse(cell.as_ref()?)?, base?);
    Row { name: row.name.clone(), cells: row.cells.iter().skip(1).map(ratio).collect() }
}

/// A ratio as it is printed; none to a base of 0.
fn ratio(own: f64, base: f64) -> Option<String> {
    let ratio = own / base;
    ratio.is_finite().then(|| format!("{ratio:.2}"))
}

/// The form with commas: the name first, no header.
pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| !row.cells.is_empty()) {
        let cells: Vec<&str> = row.cells.iter().map(shown).collect();
        let _ = writeln!(text, "{},{}", row.name, cells.join(","));
    }
    text
}

impl TableSet<'_> {
    /// Rows of the tables: point queries, ranges, writes, each part as `ls` sorts it. Imported
    /// tables tell which rows they have, and how they print them.
    pub(super) fn rows(&self) -> Vec<Row> {
        let published = self.is_published();
        self.rows_of(|phase, subject| {
            let in_table = match published {
                true => self.variants.iter().any(|v| self.in_table(phase, v).is_some()),
                false => step::is_row(&phase.test, phase.workload),
            };
            self.in_table(phase, subject).map(str::to_owned).or_else(|| {
                let center = self.center(phase.phase, subject, RATE)?;
                in_table.then(|| phase.rate(center.value))
            })
        })
    }

    /// The same rows as ratios to the first variant: of what a published table prints, else of what
    /// was measured.
    pub(super) fn relative(&self, rows: &[Row]) -> Vec<Row> {
        if rows.is_empty() {
            return self.published_ratios();
        }
        if self.is_published() {
            return rows.iter().map(relative_row).collect();
        }
        let Some((base, others)) = self.variants.split_first() else { return Vec::new() };
        let ratios = TableSet { variants: others, phases: self.phases.clone(), ..*self };
        ratios.rows_of(|phase, subject| {
            let center = |subject| self.center(phase.phase, subject, RATE);
            let (own, base) = (center(subject)?, center(base)?);
            let rounded = |value: f64| if phase.is_step { value.round_ties_even() } else { value };
            let is_row = step::is_row(&phase.test, phase.workload);
            ratio(rounded(own.value), rounded(base.value)).filter(|_| is_row)
        })
    }

    /// What a published table prints of a variant in a phase.
    fn in_table<'s>(&'s self, phase: &'s PhaseName<'_>, subject: &'s str) -> Option<&'s str> {
        self.center(phase.phase, subject, IN_TABLE)?.text
    }

    fn is_published(&self) -> bool {
        let printed = |phase| self.variants.iter().any(|v| self.in_table(phase, v).is_some());
        self.phases.iter().any(printed)
    }

    /// Rows of ratios to the first variant, of archives that have nothing else.
    fn published_ratios(&self) -> Vec<Row> {
        let Some((base, others)) = self.variants.split_first() else { return Vec::new() };
        let metric = "ops_per_second_relative";
        let ratios = TableSet { variants: others, phases: self.phases.clone(), ..*self };
        ratios.rows_of(|phase, subject| {
            let base = self.center(phase.phase, base, metric)?.value;
            let own = self.center(phase.phase, subject, metric)?;
            let printed = own.text.filter(|_| base == 1.0).map(str::to_owned);
            printed.or_else(|| ratio(own.value, base))
        })
    }

    fn rows_of(&self, cell: impl Fn(&PhaseName<'_>, &str) -> Option<String>) -> Vec<Row> {
        let mut phases: Vec<(u8, String, &PhaseName<'_>)> = Vec::new();
        for phase in &self.phases {
            if let Some(part) = step::part(&phase.test) {
                phases.push((part, step::collation(&phase.test, phase.range), phase));
            }
        }
        phases.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let row = |phase: &PhaseName<'_>| {
            let cells: Vec<Option<String>> =
                self.variants.iter().map(|subject| cell(phase, subject)).collect();
            let some = cells.iter().any(Option::is_some);
            let name = format!("{}_range={}", plain(&phase.test), phase.range);
            some.then_some(Row { name, cells })
        };
        phases.into_iter().filter_map(|(_, _, phase)| row(phase)).collect()
    }

    /// The form with tabs; relative to `base` if there is one.
    pub(super) fn table(&self, rows: &[Row], base: Option<&str>) -> String {
        let columns = match base {
            Some(_) => &self.variants[1..],
            None => self.variants,
        };
        if rows.is_empty() || columns.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        if let Some(base) = base {
            let _ = writeln!(text, "Relative to: {}", plain(base));
        }
        for (index, variant) in columns.iter().enumerate() {
            let _ = writeln!(text, "col-{} : {}", index + 1, plain(variant));
        }
        let header: Vec<String> = (1..=columns.len()).map(|n| format!("col-{n}")).collect();
        let _ = writeln!(text, "\n{}", header.join("\t"));
        for row in rows {
            let cells: Vec<&str> = row.cells.iter().map(shown).collect();
            let _ = writeln!(text, "{}\t{}", cells.join("\t"), row.name);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_of_zero_has_no_ratios() {
        let relative = |cells: [&str; 3]| {
            let cells = cells.map(|cell| Some(cell.to_owned())).to_vec();
            csv(&[relative_row(&Row { name: "scan".to_owned(), cells })])
        };
        assert_eq!(relative(["10", "5", "x"]), "scan,0.50,NA\n");
        assert_eq!(relative(["0", "5", "0"]), "scan,NA,NA\n");
    }
}
