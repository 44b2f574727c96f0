//! Row accounting: what the load engine counted must be what the tables hold.

use crate::{Error, run::Run, server::tables, trial::Trial};
use model::{
    drive::{OpReport, StretchReport},
    number::counted,
    plan::Phase,
    script::{Effect, Op, Role, Script, Statement},
    workload::Class,
};

/// Names of all tables of a phase's schema.
pub(crate) fn tables_of(run: &Run<'_>, phase: &Phase) -> Result<Vec<String>, Error> {
    Ok(tables::names(run.schema_of(phase)?))
}

/// Rows of all tables of a phase's schema, counted by the server itself.
pub(crate) fn count(run: &Run<'_>, trial: &mut Trial, phase: &Phase) -> Result<u64, Error> {
    let mut rows = 0;
    for name in tables_of(run, phase)? {
        let counted = trial.instance.driver.query(&format!("SELECT COUNT(*) FROM {name}"))?;
        let first = counted.into_iter().flatten().flatten().next();
        rows += first.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(rows)
}

/// Rows that the tables must hold after `work`, if they held `before`; none where the rows that
/// operations change do not tell it.
pub(crate) fn expected(before: u64, script: &Script, work: &StretchReport) -> Option<i128> {
    let is_done = |op: &&Op| work.ops.iter().any(|done| done.name == op.name);
    if !script.ops().filter(is_done).all(is_countable) {
        return None;
    }
    let changed = |does: fn(&Op) -> bool| -> i128 {
        let does = |done: &&OpReport| script.ops().any(|op| op.name == done.name && does(op));
        work.ops.iter().filter(does).map(|op| i128::from(op.rows_changed)).sum()
    };
    Some(i128::from(before) + changed(Op::inserts) - changed(Op::deletes))
}

/// Whether all rows that an operation changes are added, or all are taken away, or as many of each,
/// or none is either.
fn is_countable(op: &Op) -> bool {
    let has = |does: fn(&Statement) -> bool| op.statements.iter().any(does);
    let is_unknown = has(|one| match one.effect {
        Effect::Merge(_) => true,
        Effect::Other => one.class == Class::Write,
        Effect::Read | Effect::Insert(_) | Effect::Update | Effect::Delete => false,
    });
    // What may find fewer rows does not always take away as many as are put in.
    let may_miss = has(|one| {
        let changed = one.expect.changed;
        one.effect == Effect::Delete && changed.is_none_or(|rows| rows.low < rows.high)
    });
    let updates = has(|one| one.effect == Effect::Update);
    let added = op.rows_by(Effect::inserts);
    let taken = op.rows_by(|effect| effect == Effect::Delete);
    !is_unknown
        && match (added, taken) {
            (0, 0) => true,
            (0, _) | (_, 0) => !updates,
            (added, taken) => !may_miss && added == taken,
        }
}

/// One sentence where the tables hold another number of rows than the engine's counts say.
pub(crate) fn mismatch(expected: i128, found: u64) -> Option<String> {
    (expected != i128::from(found)).then(|| {
        format!(
            "the tables hold {}, but by the rows that the server reported as inserted and \
             deleted they should hold {expected}{}",
            counted(found, "row"),
            tables::BY_TRIGGERS
        )
    })
}

/// What the tables held before a stretch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// Rows of all tables together.
    pub(crate) rows: u64,
    /// Number of the tables, which are of one size.
    pub(crate) tables: u64,
}

/// Operations of a kind from which on it is no chance that none of them finds anything.
const MANY: u64 = 100;

/// One sentence where operations found other rows than they should have: none at all, or fewer
/// than there were at the old end of a queue.
pub(crate) fn missed(held: Held, script: &Script, work: &StretchReport) -> Option<String> {
    work.ops.iter().find_map(|done| {
        let role = script.roles.iter().find(|role| role.name == done.role)?;
        let op = role.ops.iter().find(|op| op.name == done.name)?;
        nothing_found(held, role, op, done).or_else(|| too_few_deleted(held, role, op, done))
    })
}

fn nothing_found(held: Held, role: &Role, op: &Op, done: &OpReport) -> Option<String> {
    let reads = |statement: &&Statement| statement.class == Class::Read;
    let (now_and_then, always): (Vec<&Statement>, Vec<&Statement>) =
        op.statements.iter().filter(reads).partition(|statement| statement.every.is_some());
    let may_find = always.iter().filter_map(|one| one.expect.rows).any(|rows| rows.high > 0);
    // What is looked up now and then is a row each time, and once more for each connection.
    let periods = now_and_then.iter().filter_map(|statement| statement.every);
    let looked_up: u64 =
        periods.map(|period| u64::from(role.clients) + done.count / period.max(1)).sum();
    let nothing = held.rows > 0 && done.count >= MANY && done.rows_read <= looked_up;
    (may_find && nothing).then(|| {
        format!(
            "none of {} operations `{}` found a row, and the tables held {}",
            done.count, op.name, held.rows
        )
    })
}

/// A delete that moves on by as many rows as it deletes takes the oldest ones, wherever ids were
/// left out; it misses some only where its table is nearly empty.
fn too_few_deleted(held: Held, role: &Role, op: &Op, done: &OpReport) -> Option<String> {
    let advancing = op.statements.iter().filter(|statement| statement.advance.is_some());
    let each = advancing.filter_map(|one| one.expect.changed).map(|changed| changed.high).next();
    let each = each.filter(|_| op.deletes())?;
    let ahead = role.pairing?.lead + 2;
    let least = held.rows / held.tables.max(1);
    let wanted = done.count.saturating_mul(each);
    let short = done.rows_changed < wanted && least > each.saturating_mul(ahead);
    short.then(|| {
        format!(
            "{} `{}` deleted {} instead of {wanted}, and the tables held {}",
            counted(done.count, "operation"),
            op.name,
            counted(done.rows_changed, "row"),
            held.rows
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{op, script};
    use model::script::{Advance, Bounds, Expect, Pairing};

    fn queue() -> Script {
        let bounds = |high| Some(Bounds { low: 0, high });
        let mut least = Statement::plain("SELECT MIN(id) FROM t");
        (least.class, least.every) = (Class::Read, Some(100));
        least.expect.rows = bounds(1);
        let mut delete = Statement::plain("DELETE FROM t WHERE id >= ? ORDER BY id LIMIT ?");
        (delete.class, delete.effect) = (Class::Write, Effect::Delete);
        delete.advance = Some(Advance { name: "least".into(), by: 50 });
        delete.expect.changed = bounds(50);
        let mut query = Statement::plain("SELECT * FROM t WHERE id IN (?)");
        query.class = Class::Read;
        query.expect.rows = bounds(10);
        let ops = vec![op("delete", vec![least.clone(), delete]), op("point", vec![least, query])];
        let pairing = Some(Pairing { role: 1, lead: 8 });
        Script { roles: vec![Role { ops, pairing, ..Role::default() }], ..script() }
    }

    #[test]
    fn what_operations_find_is_held_against_what_the_tables_held() {
        let queue = queue();
        let check = |(name, count): (&str, u64), rows: u64, (read, changed): (u64, u64)| {
            let op = OpReport {
                name: name.to_owned(),
                count,
                rows_read: read,
                rows_changed: changed,
                ..OpReport::default()
            };
            let work = StretchReport { ops: vec![op], ..StretchReport::default() };
            missed(Held { rows, tables: 2 }, &queue, &work).unwrap_or_default()
        };
        // 100 deletes of 50 rows; two tables that together hold many times as many as a batch.
        assert_eq!(check(("delete", 100), 10_000, (1, 5000)), "");
        assert_eq!(
            check(("delete", 100), 10_000, (1, 4999)),
            "100 operations `delete` deleted 4999 rows instead of 5000, and the tables held 10000"
        );
        // Deletes may be eight statements ahead, and the table of a thousand rows was empty then.
        assert_eq!(check(("delete", 100), 1000, (1, 4999)), "");
        assert_eq!(check(("point", 1000), 10_000, (9990, 0)), "");
        assert_eq!(
            check(("point", 1000), 10_000, (10, 0)),
            "none of 1000 operations `point` found a row, and the tables held 10000"
        );
        assert_eq!(check(("point", 1000), 0, (10, 0)), "");
        assert_eq!(check(("point", 99), 10_000, (1, 0)), "");
    }

    #[test]
    fn rows_are_expected_where_what_operations_change_tells_them() {
        let check = |effects: &[Effect], low: u64, rows: Option<i128>| {
            let statement = |effect: &Effect| Statement {
                class: Class::Write,
                effect: *effect,
                expect: Expect { changed: Some(Bounds { low, high: 1 }), ..Expect::default() },
                ..Statement::plain("x")
            };
            let statements = effects.iter().map(statement).collect();
            let role = Role { ops: vec![op("o", statements)], ..Role::default() };
            let script = Script { roles: vec![role], ..script() };
            let done = OpReport { name: "o".to_owned(), rows_changed: 7, ..OpReport::default() };
            let work = StretchReport { ops: vec![done], ..StretchReport::default() };
            assert_eq!(expected(100, &script, &work), rows, "{effects:?}");
        };
        let insert = Effect::Insert(1);
        check(&[insert, insert], 0, Some(107));
        check(&[Effect::Delete], 0, Some(93));
        check(&[Effect::Update], 0, Some(100));
        check(&[insert, Effect::Update], 1, None);
        check(&[insert, Effect::Delete], 1, Some(100));
        check(&[insert, Effect::Delete, Effect::Update], 1, Some(100));
        check(&[insert, Effect::Delete], 0, None);
        check(&[Effect::Insert(2), Effect::Delete], 1, None);
        check(&[Effect::Merge(1)], 1, None);
        check(&[Effect::Other], 1, None);
    }

    #[test]
    fn a_lost_row_is_told() {
        assert_eq!(mismatch(100, 100), None);
        let told = mismatch(101, 100).unwrap();
        assert!(told.contains("100 rows") && told.contains("101"), "{told}");
        assert!(mismatch(-1, 0).is_some());
    }
}
