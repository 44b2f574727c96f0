//! The tables of a plan, as they are loaded.

use super::Instance;
use crate::{Error, run::Run};
use model::{
    schema::{Schema, Table},
    script::Script,
};

/// Rows for each search of an index that warms up a server under emulation: a page has tens of
/// rows, and is met several times then, which InnoDB's adaptive hash index waits for.
const ROWS_PER_SEARCH: f64 = 5.0;

/// Operations of a script, after which a server that has already done so many searches executes as
/// many instructions as it will.
pub(crate) fn operations_to_warm(schema: &Schema, script: &Script, searched: f64) -> u64 {
    let searches = rows(schema) / ROWS_PER_SEARCH - searched;
    match script.lookups().searches {
        0.0 => 0,
        // A conversion to an integer saturates.
        of_one => (searches / of_one) as u64,
    }
}

/// Rows of all tables as they are loaded.
pub(crate) fn rows(schema: &Schema) -> f64 {
    schema.tables.iter().map(Table::all_rows).sum()
}

/// Names of all tables of a schema, copies and all.
pub(crate) fn names(schema: &Schema) -> Vec<String> {
    schema.tables.iter().flat_map(Table::copy_names).collect()
}

/// Reads every table and index into the cache.
pub(crate) fn warm(run: &Run<'_>, instance: &mut Instance) -> Result<(), Error> {
    let protocol = instance.target.protocol.clone();
    for (table, n, name) in copies(run) {
        for dialect in ["any", &protocol] {
            for sql in table.warm.get(dialect).into_iter().flatten() {
                instance
                    .driver
                    .query(&sql.replace("{table}", &name).replace("{n}", &n.to_string()))?;
            }
        }
    }
    Ok(())
}

/// Names of all loaded tables.
pub(crate) fn all(run: &Run<'_>) -> Vec<String> {
    copies(run).into_iter().map(|(_, _, name)| name).collect()
}

/// The tables of a query for those of the database in use, which MySQL and Postgres answer alike.
const LISTED: &str = "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE \
                      TABLE' AND table_schema = ";

/// Names of all loaded tables, where scripts made some: those of the database then.
pub(crate) fn found(run: &Run<'_>, instance: &mut Instance) -> Result<Vec<String>, Error> {
    if run.plan.schemas.iter().all(|schema| schema.lua.is_none()) {
        return Ok(all(run));
    }
    let schema =
        if instance.target.protocol == "mysql" { "DATABASE()" } else { "CURRENT_SCHEMA()" };
    let rows = instance.driver.query(&format!("{LISTED}{schema} ORDER BY 1"))?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

/// Every numbered copy of every table of the plan, with its number and name.
fn copies<'a>(run: &Run<'a>) -> Vec<(&'a Table, u64, String)> {
    let mut found: Vec<(&Table, u64, String)> = Vec::new();
    for table in run.plan.schemas.iter().flat_map(|schema| &schema.tables) {
        for (n, name) in (1..).zip(table.copy_names()) {
            if found.iter().all(|(_, _, known)| *known != name) {
                found.push((table, n, name));
            }
        }
    }
    found
}
