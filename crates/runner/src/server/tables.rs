//! The tables of a plan, as they are loaded.

use super::Instance;
use crate::{Error, run::Run};
use model::{
    plan::{Phase, Plan},
    schema::{Schema, Table},
    script::Script,
};

/// Rows for each search of an index that warms up a server under emulation: a page has tens of
/// rows, and is met several times then, which InnoDB's adaptive hash index waits for.
const ROWS_PER_SEARCH: f64 = 5.0;

/// Operations of a script, after which a server that has already done so many searches executes as
/// many instructions as it will.
pub(crate) fn operations_to_warm(schema: &Schema, script: &Script, searched: f64) -> u64 {
    let searches = schema.all_rows() / ROWS_PER_SEARCH - searched;
    match script.lookups().searches {
        0.0 => 0,
        // A conversion to an integer saturates.
        of_one => (searches / of_one) as u64,
    }
}

/// The phase before another one that fills its tables, where the load leaves one of them empty.
pub(crate) fn filling<'a>(plan: &'a Plan, phase: &Phase) -> Option<&'a Phase> {
    let own = plan.schemas.iter().filter(|schema| schema.name == phase.script.schema);
    let has_empty = own.flat_map(|schema| &schema.tables).any(|table| table.rows == 0);
    filled_by(&plan.phases, phase).filter(|_| has_empty)
}

/// The phase before another one that writes to its tables until its roles end.
fn filled_by<'a>(phases: &'a [Phase], phase: &Phase) -> Option<&'a Phase> {
    let mut earlier = phases.iter().take_while(|one| one.name != phase.name);
    earlier.find(|one| {
        let script = &one.script;
        let is_executed = one.kind.has_statements() && script.schema == phase.script.schema;
        is_executed && script.ends_by_itself() && script.writes()
    })
}

/// Names of all tables of a schema, copies and all.
pub(crate) fn names(schema: &Schema) -> Vec<String> {
    schema.tables.iter().flat_map(Table::copy_names).collect()
}

/// The end of a message about tables that hold other rows than statements changed: a server reports
/// only what a statement itself changes.
pub(crate) const BY_TRIGGERS: &str = "; if triggers or foreign keys change rows too, add a \
                                      `[[deviation]]` of `effect` to the workload's file";

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{op, phase};
    use model::{
        plan::PhaseKind,
        script::{End, Statement},
        workload::Class,
    };

    #[test]
    fn tables_are_filled_by_what_writes_until_its_roles_end() {
        let named = |name: &str| Phase { name: name.to_owned(), ..phase(PhaseKind::Measure) };
        let mut phases = ["before", "fill", "look"].map(named);
        let check = |phases: &[Phase], expected: Option<&str>| {
            let found = filled_by(phases, &phases[2]).map(|one| one.name.as_str());
            assert_eq!(found, expected);
            assert_eq!(filled_by(phases, &phases[1]), None);
        };
        check(&phases, None);
        phases[1].script.roles[0].end = End::Rows(100);
        check(&phases, None);
        let insert = Statement { class: Class::Write, ..Statement::plain("INSERT") };
        phases[1].script.roles[0].ops = vec![op("insert", vec![insert])];
        check(&phases, Some("fill"));
        phases[1].script.schema = "another".to_owned();
        check(&phases, None);
    }
}
