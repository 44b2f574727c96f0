//! Writes before the first block: tables that were just loaded have full pages, and the first
//! changes of each page cost several times what later ones do.

use crate::{Error, intruders::emulation::all_done, run::Run, server::Instance};
use model::{
    drive::{Assignment, StretchEnd},
    script::{Script, Statement},
    workload::{Class, TableChoice},
};

/// Operations of a stretch, at most. A driver that has not answered for 24 hours is ended, and rows
/// of a large table may take longer.
const PIECE: u64 = 1_000_000;

/// Lets one connection execute the tests of the plan that change rows in place, as often for each
/// row as the experiment says. Gives the number of operations.
pub(super) fn age(run: &mut Run<'_>, instance: &mut Instance) -> Result<u64, Error> {
    let plan = run.plan;
    if plan.experiment.age <= 0.0 {
        return Ok(0);
    }
    let mut done: Vec<&str> = Vec::new();
    let mut all = 0;
    for phase in plan.phases.iter().filter(|phase| phase.is_aged()) {
        // Numbers of clients, or modes, of one workload write the same.
        if done.contains(&phase.script.workload.as_str()) {
            continue;
        }
        done.push(&phase.script.workload);
        let schema = run.schema_of(phase)?.clone();
        let operations = (schema.all_rows() * plan.experiment.age).ceil() as u64;
        run.now(&format!("aging: {operations} operations of {}", phase.name));
        if all == 0 {
            instance.connect(1)?;
        }
        let script = writing(&phase.script);
        instance.compile(&Assignment { script, schema, mode: phase.mode })?;
        for piece in pieces(operations) {
            let seed = plan.experiment.seed.wrapping_add(all);
            let report = instance.driver.stretch(StretchEnd::Operations(piece), seed)?;
            all_done(&phase.name, &report)?;
            all += piece;
        }
    }
    Ok(all)
}

/// The operations of a script that write, and those whose captured values they may use, for one
/// connection that executes them on all tables.
fn writing(script: &Script) -> Script {
    let mut script = script.alone();
    for role in &mut script.roles {
        let needed = |one: &Statement| one.class == Class::Write || one.capture.is_some();
        role.ops.retain(|op| op.statements.iter().any(needed));
        for op in &mut role.ops {
            // The table of the connection is always the first one.
            let own = |one: &&mut Statement| one.table == TableChoice::Connection;
            let mut own = op.statements.iter_mut().filter(own);
            if let Some(first) = own.next() {
                first.table = TableChoice::Fresh;
            }
            own.for_each(|other| other.table = TableChoice::Same);
        }
    }
    script
}

/// So many operations as stretches, each of which is answered in time.
fn pieces(operations: u64) -> impl Iterator<Item = u64> {
    let rest = operations % PIECE;
    (0..operations / PIECE).map(|_| PIECE).chain((rest > 0).then_some(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{op, script};
    use model::script::Role;

    #[test]
    fn all_tables_are_aged_by_what_writes() {
        let on = |table, class| Statement { table, class, ..Statement::plain("SQL") };
        let (own, same) = (TableChoice::Connection, TableChoice::Same);
        let statements = [on(own, Class::Write), on(same, Class::Read), on(own, Class::Write)];
        let ops = vec![op("query", vec![on(own, Class::Read)]), op("measure", statements.into())];
        let role = Role { ops, ..Role::default() };
        let found = writing(&Script { roles: vec![role], ..script() });
        let [only] = found.roles[0].ops.as_slice() else { panic!("{found:?}") };
        let tables: Vec<TableChoice> = only.statements.iter().map(|one| one.table).collect();
        assert_eq!((only.name.as_str(), tables), ("measure", vec![TableChoice::Fresh, same, same]));
    }

    #[test]
    fn what_captures_values_for_others_stays_with_them() {
        let capture = Some("greatest".to_owned());
        let look = Statement { class: Class::Read, capture, ..Statement::plain("SQL") };
        let read = Statement { class: Class::Read, ..Statement::plain("SQL") };
        let touch = Statement { class: Class::Write, ..Statement::plain("SQL") };
        let ops = [("look", look), ("read", read), ("touch", touch)];
        let ops = ops.map(|(name, statement)| vec![op(name, vec![statement])]);
        let roles = ops.map(|ops| Role { ops, ..Role::default() }).into();
        let found = writing(&Script { roles, ..script() });
        let names: Vec<&str> = found.ops().map(|op| op.name.as_str()).collect();
        assert_eq!(names, ["look", "touch"]);
    }

    #[test]
    fn no_stretch_of_a_large_table_is_long() {
        let check = |operations, expected: &[u64]| {
            assert_eq!(pieces(operations).collect::<Vec<_>>(), expected);
        };
        check(0, &[]);
        check(7, &[7]);
        check(2 * PIECE, &[PIECE, PIECE]);
        check(PIECE + 1, &[PIECE, 1]);
    }
}
