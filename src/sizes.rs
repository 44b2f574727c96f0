//! How many rows the tables of plans have, and in which tables two plans differ.

use model::{number::counted, plan::Plan, schema::Schema};

/// The sizes of tables that two plans have in common, where these differ.
pub(crate) fn unlike(plans: [&Plan; 2]) -> Option<[String; 2]> {
    let said = plans.map(|plan| (plan.experiment.tables, plan.experiment.rows));
    if said[0] != said[1] {
        return Some(said.map(|(tables, rows)| format!("{tables} of {rows} rows")));
    }
    // Schemas may have sizes of their own, such as `warehouses`.
    let [one, other] = plans;
    one.schemas.iter().find_map(|schema| {
        let same = other.schemas.iter().find(|other| other.name == schema.name)?;
        (sizes(schema) != sizes(same)).then(|| [schema, same].map(summary))
    })
}

/// The name of a schema that both plans have, and whose tables are made in two ways: they have
/// other columns, indexes or constraints, or other rows.
pub(crate) fn remade([one, other]: [&Plan; 2]) -> Option<&str> {
    let is_other = |schema: &&Schema| {
        let mut same = other.schemas.iter().filter(|other| other.name == schema.name);
        same.any(|same| (&same.tables, &same.constraints) != (&schema.tables, &schema.constraints))
    };
    one.schemas.iter().find(is_other).map(|schema| schema.name.as_str())
}

/// Copies and rows of each table.
fn sizes(schema: &Schema) -> Vec<(u64, u64)> {
    schema.tables.iter().map(|table| (table.copies, table.rows)).collect()
}

fn summary(schema: &Schema) -> String {
    let rows = counted(schema.all_rows() as u64, "row");
    format!("{} of `{}` with {rows} in all", schema.copies(), schema.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{experiment::Experiment, schema::Table};

    /// A plan with the key `rows`, and a table of so many rows in a schema with sizes of its own.
    fn plan(key: u64, rows: u64) -> Plan {
        let table = Table { copies: 2, rows, ..Table::default() };
        let schema = Schema { name: "v".to_owned(), tables: vec![table], ..Schema::default() };
        let experiment = Experiment { tables: 1, rows: key, ..Experiment::default() };
        Plan { experiment, schemas: vec![schema], ..Plan::default() }
    }

    #[test]
    fn tables_differ_by_the_experiment_or_by_their_schema() {
        let check = |one: &Plan, other: &Plan, expected: Option<[&str; 2]>| {
            let expected = expected.map(|both| both.map(str::to_owned));
            assert_eq!(unlike([one, other]), expected);
        };
        check(&plan(1000, 5), &plan(1000, 5), None);
        let expected = ["1 of 500 rows", "1 of 600 rows"];
        check(&plan(500, 5), &plan(600, 5), Some(expected));
        let expected = ["2 of `v` with 10 rows in all", "2 of `v` with 12 rows in all"];
        check(&plan(1000, 5), &plan(1000, 6), Some(expected));
        let none = Plan { schemas: Vec::new(), ..plan(1000, 5) };
        check(&plan(1000, 5), &none, None);
    }

    #[test]
    fn constraints_make_other_tables() {
        let (one, mut other) = (plan(1000, 5), plan(1000, 5));
        assert_eq!(remade([&one, &other]), None);
        let keys = vec!["ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES c (d)".to_owned()];
        other.schemas[0].constraints.insert("mysql".to_owned(), keys);
        assert_eq!(remade([&one, &other]), Some("v"));
    }
}
