//! The tables that a load creates: how many, and how many rows.

use crate::{
    error::{Error, Place},
    estimate::bytes_per_row,
    limits::{COUNT_MAX, ROWS_MAX},
    values::{check_value, found},
};
use model::{
    Parameters,
    expression::Expression,
    plan::Plan,
    schema::{ColumnValue, Schema, Table},
};

/// A table of a schema with its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<'a> {
    pub(crate) table: &'a Table,
    /// Number of its copies.
    pub(crate) copies: u64,
    /// Rows of each copy.
    pub(crate) rows: u64,
}

impl Counted<'_> {
    /// Rows of all copies.
    pub(crate) fn all_rows(self) -> f64 {
        self.copies as f64 * self.rows as f64
    }

    /// Bytes of all rows.
    pub(crate) fn bytes(self) -> f64 {
        self.all_rows() * bytes_per_row(self.table)
    }
}

/// The tables of a schema under the parameters of a load. Errors: a number that is none, or more
/// than anybody loads.
pub(crate) fn counted<'a>(
    schema: &'a Schema,
    parameters: &Parameters,
) -> Result<Vec<Counted<'a>>, Error> {
    let count = |table: &Table, key: &str, expression: &Expression, most: u64| {
        let value = expression
            .evaluate(parameters)
            .map_err(|source| Error::Expression { place: Place::default(), source })?;
        match u64::try_from(value) {
            Ok(count) if count <= most => Ok(count),
            _ => {
                let (name, found) = (&table.name, found(expression, value));
                let reason =
                    format!("`{key}` of the table `{name}` must be from 0 to {most}{found}");
                Err(Error::Invalid { place: Place::default(), reason })
            }
        }
    };
    let of_table = |table: &'a Table| {
        Ok(Counted {
            table,
            copies: count(table, "copies", &table.copies, COUNT_MAX)?,
            rows: count(table, "rows", &table.rows, ROWS_MAX)?,
        })
    };
    schema.tables.iter().map(of_table).collect()
}

/// The schemas of a plan with their tables, as the load creates them.
pub(crate) fn of_plan(plan: &Plan) -> Vec<(&Schema, Vec<Counted<'_>>)> {
    let tables = |schema| {
        // A plan is made of tables that have numbers.
        let parameters = parameters(plan, schema)?;
        Some((schema, counted(schema, parameters).unwrap_or_default()))
    };
    plan.schemas.iter().filter_map(tables).collect()
}

/// The parameters of a load: those of the first phase that uses the schema.
fn parameters<'a>(plan: &'a Plan, schema: &Schema) -> Option<&'a Parameters> {
    let uses = |workload: usize| plan.workloads[workload].schema == schema.name;
    plan.phases.iter().find(|phase| uses(phase.workload)).map(|phase| &phase.parameters)
}

/// Refuses tables that cannot be loaded.
pub(crate) fn check(plan: &Plan) -> Result<(), Error> {
    for schema in &plan.schemas {
        let Some(parameters) = parameters(plan, schema) else { continue };
        let place = || Place { file: format!("schema {}", schema.name), line: None };
        let tables = counted(schema, parameters).map_err(|error| error.at(place()))?;
        for counted in tables.iter().filter(|table| table.rows > 0) {
            for column in &counted.table.columns {
                if let ColumnValue::Drawn(value) = &column.value {
                    check_value(value, parameters).map_err(|error| error.at(place()))?;
                }
            }
        }
        let rows: f64 = tables.iter().map(|table| table.all_rows()).sum();
        if rows > ROWS_MAX as f64 {
            let reason = format!("all tables have {rows} rows; at most {ROWS_MAX} are possible");
            return Err(Error::Invalid { place: place(), reason });
        }
    }
    Ok(())
}
