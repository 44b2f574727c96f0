//! What the servers counted of themselves per operation.

use super::Section;
use crate::{
    details::Counted,
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
};
use analysis::Comparison;
use model::{grouped, state};
use std::collections::BTreeSet;

pub(super) const SECTION: Section = Section { name: "state", write };

/// Counters in a table.
const COUNTERS: usize = 40;

/// What a counter moves per operation at least, on any server, to be shown.
const LEAST: f64 = 0.001;

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let counted = &inputs.details.counted;
    if counted.is_empty() {
        return;
    }
    document.section("state", "What the servers counted");
    document.paragraph(
        "Counters of the servers themselves over the measured windows, per operation: those that \
         differ most between the variants. `--metric` takes each by its name, such as \
         `status.Innodb_rows_read`, and the records have all of them.",
    );
    let phases = grouped(counted.iter().map(|one| (one.phase.clone(), one)));
    let Comparison { subjects, bases, .. } = inputs.comparison;
    let place = |one: &&Counted| {
        let place = subjects.iter().position(|label| *label == one.subject);
        (!bases.contains(&one.subject), place)
    };
    for (phase, mut servers) in phases {
        // As in all other tables.
        servers.sort_by_key(place);
        let table = table(&servers);
        if !table.rows.is_empty() {
            document.fold(format!("`{phase}`"), vec![Item::Table(table)]);
        }
    }
}

fn table(servers: &[&Counted]) -> Table {
    let names = |one: &&Counted| one.per_op.keys().cloned().collect::<BTreeSet<String>>();
    let own: Vec<BTreeSet<String>> = servers.iter().map(names).collect();
    let values = |name: &String| -> Vec<Option<f64>> {
        let both = servers.iter().zip(&own);
        let value = |(one, names): (&&Counted, _)| {
            state::keeps(names, &own, name).then(|| one.per_op.get(name).copied().unwrap_or(0.0))
        };
        both.map(value).collect()
    };
    let names: BTreeSet<&String> = own.iter().flatten().collect();
    let mut rows: Vec<(&String, Vec<Option<f64>>)> =
        names.into_iter().map(|name| (name, values(name))).collect();
    rows.retain(|(_, values)| values.iter().flatten().any(|value| value.abs() >= LEAST));
    rows.sort_by(|a, b| spread(&b.1).total_cmp(&spread(&a.1)));
    rows.truncate(COUNTERS);
    let row = |(name, values): (&String, Vec<Option<f64>>)| {
        Row::named(name.clone(), values.into_iter().map(TableCell::number).collect::<Vec<_>>())
    };
    let columns = servers.iter().map(|one| Column::numbers(&one.subject, "1/op"));
    Table {
        columns: [Column::words("counter")].into_iter().chain(columns).collect(),
        rows: rows.into_iter().map(row).collect(),
    }
}

/// How far the values lie apart, as a ratio, where what is below [`LEAST`] counts as that.
fn spread(values: &[Option<f64>]) -> f64 {
    let sizes = values.iter().flatten().map(|value| value.abs().max(LEAST));
    let (least, most) = sizes
        .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    most / least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_most_comes_first_and_what_hardly_moves_is_left_out() {
        let server = |subject: &str, values: [f64; 4]| Counted {
            phase: "p".to_owned(),
            subject: subject.to_owned(),
            per_op: ["same", "twice", "only", "rare"]
                .map(str::to_owned)
                .into_iter()
                .zip(values)
                .filter(|(_, value)| *value > 0.0)
                .collect(),
            ..Counted::default()
        };
        let one = server("one", [5.0, 1.0, 0.0, 0.0001]);
        let other = server("other", [5.0, 2.0, 3.0, 0.0]);
        let table = table(&[&one, &other]);
        let names: Vec<String> = table.rows.iter().map(|row| format!("{row:?}")).collect();
        assert_eq!(names.len(), 3);
        for (row, name) in names.iter().zip(["only", "twice", "same"]) {
            assert!(row.contains(&format!("\"{name}\"")), "{row}");
        }
    }

    #[test]
    fn what_a_server_does_not_count_is_no_zero() {
        let server = |subject: &str, counters: &[(&str, f64)]| Counted {
            subject: subject.to_owned(),
            per_op: counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..Counted::default()
        };
        let old = server("old", &[("status.Questions", 1.0), ("status.Opened", 2.0)]);
        let new = server("new", &[("status.Questions", 1.0)]);
        let other = server("other", &[("status.commits", 1.0)]);
        let table = table(&[&old, &new, &other]);
        let row = |name: &str, cells: [TableCell; 3]| Row::named(name.to_owned(), cells);
        let number = TableCell::Number;
        let expected = [
            row("status.Opened", [number(2.0), number(0.0), TableCell::Missing]),
            row("status.Questions", [number(1.0), number(1.0), TableCell::Missing]),
            row("status.commits", [TableCell::Missing, TableCell::Missing, number(1.0)]),
        ];
        assert_eq!(table.rows, expected);
    }
}
