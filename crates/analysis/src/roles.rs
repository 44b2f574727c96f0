//! Workloads with roles: whose operations count, and how well a set rate was kept.

use crate::{
    service_level::{PacedWork, Second},
    sla::SECOND_SHARE,
};
use model::{
    drive::{OpReport, StretchReport},
    script::{Effect, Op, Role, Script, Statement},
};
use std::collections::BTreeMap;

/// What a phase's workload says of its operations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleFacts {
    /// Operations that the per-operation metrics divide by.
    pub lead: Vec<String>,
    /// Roles that do not lead, and may execute the same operations.
    pub beside: Vec<String>,
    /// Operations that insert.
    pub inserts: Vec<String>,
    /// Operations that delete.
    pub deletes: Vec<String>,
    /// Of the rows that an operation changes, the parts that it inserts and deletes; nothing where
    /// one of both is all.
    pub parts: BTreeMap<String, [f64; 2]>,
    /// Rows to insert per second; 0 where no rate is set.
    pub target_per_second: f64,
    /// Rows of one inserting statement.
    pub rows_per_statement: u64,
}

impl RoleFacts {
    /// The facts of a script; none if its roles have no names, as that of a workload without any.
    pub fn of(script: &Script) -> Option<Self> {
        if !script.has_named_roles() {
            return None;
        }
        let names = |does: fn(&Op) -> bool| -> Vec<String> {
            script.ops().filter(|op| does(op)).map(|op| op.name.clone()).collect()
        };
        let (leading, beside): (Vec<&Role>, Vec<&Role>) =
            script.roles.iter().partition(|role| role.leads);
        let leading = leading.into_iter().flat_map(|role| &role.ops);
        let rows = script.ops().find(|op| op.inserts()).map_or(1, rows_of);
        let target = script.roles.iter().filter_map(|role| {
            let per_second = role.arrival.per_second()?;
            Some(per_second * rows_of_role(role))
        });
        Some(Self {
            lead: leading.map(|op| op.name.clone()).collect(),
            beside: beside.into_iter().map(|role| role.name.clone()).collect(),
            inserts: names(Op::inserts),
            deletes: names(Op::deletes),
            parts: script.ops().filter_map(|op| Some((op.name.clone(), parts(op)?))).collect(),
            target_per_second: target.sum(),
            rows_per_statement: rows,
        })
    }

    /// The operations of a report that per-operation metrics divide by.
    pub(crate) fn leading<'a>(
        &'a self,
        work: &'a StretchReport,
    ) -> impl Iterator<Item = &'a OpReport> {
        let leads =
            |op: &&OpReport| self.lead.contains(&op.name) && !self.beside.contains(&op.role);
        work.ops.iter().filter(leads)
    }

    /// How well the set rate was kept; none where no rate is set.
    pub fn paced(&self, work: &StretchReport) -> Option<PacedWork> {
        let inserts = paced(these(work, &self.inserts));
        let seconds = seconds(work, &inserts);
        if self.target_per_second <= 0.0 || seconds <= 0.0 {
            return None;
        }
        let deletes = paced(these(work, &self.deletes));
        let rows = |ops: &[&OpReport], does: Does| self.rows(ops, does) / seconds;
        let lag = inserts.iter().chain(&deletes).map(|op| op.lag_us_max).max();
        Some(PacedWork {
            target_per_second: self.target_per_second,
            inserted_per_second: rows(&inserts, Does::Insert),
            deleted_per_second: (!deletes.is_empty()).then(|| rows(&deletes, Does::Delete)),
            lag_us_max: lag.map(|lag| lag as f64),
            rows_per_statement: self.rows_per_statement,
            seconds: self.by_second(&inserts, &deletes, seconds),
            seconds_on_target_share: None,
        })
    }

    /// What rows are divided by [s].
    pub(crate) fn seconds(&self, work: &StretchReport) -> f64 {
        seconds(work, &these(work, &self.inserts))
    }

    /// Rows inserted per second, and deleted where anything deletes.
    pub(crate) fn changed_per_second(&self, work: &StretchReport) -> [Option<f64>; 2] {
        let seconds = self.seconds(work);
        [(&self.inserts, Does::Insert), (&self.deletes, Does::Delete)].map(|(names, does)| {
            let ops = these(work, names);
            (!ops.is_empty() && seconds > 0.0).then(|| self.rows(&ops, does) / seconds)
        })
    }

    /// The part of the rows which an operation changes that it inserts, or deletes.
    fn part(&self, op: &OpReport, does: Does) -> f64 {
        self.parts.get(&op.name).map_or(1.0, |parts| parts[does as usize])
    }

    /// Rows that these operations inserted, or deleted.
    fn rows(&self, ops: &[&OpReport], does: Does) -> f64 {
        ops.iter().map(|op| op.rows_changed as f64 * self.part(op, does)).sum()
    }

    /// The whole seconds of a stretch; what began in the last, cut one is left out.
    fn by_second(&self, inserts: &[&OpReport], deletes: &[&OpReport], seconds: f64) -> Vec<Second> {
        let both = || inserts.iter().chain(deletes);
        let rows = |ops: &[&OpReport], does: Does, at: usize| {
            let changed = |op: &&OpReport| Some(op.series.get(at)?.rows as f64);
            let own = ops.iter().filter_map(|op| Some(changed(op)? * self.part(op, does)));
            own.sum::<f64>().round() as u64
        };
        let lag_us = |at: usize| {
            let own = both().filter_map(|op| op.series.get(at));
            own.map(|one| one.response_us_max.saturating_sub(one.service_us_max)).max()
        };
        let intervals = both().map(|op| op.series.len()).max().unwrap_or(0);
        // One that is hardly cut can be on target; a piece of a phase may end in the middle of one.
        let whole = intervals.min((seconds + 1.0 - SECOND_SHARE).max(0.0) as usize);
        let second = |at: usize| Second {
            inserted: rows(inserts, Does::Insert, at),
            deleted: (!deletes.is_empty()).then(|| rows(deletes, Does::Delete, at)),
            lag_us: lag_us(at).unwrap_or(0),
        };
        (0..whole).map(second).collect()
    }
}

/// What operations do to rows.
#[derive(Debug, Clone, Copy)]
enum Does {
    Insert,
    Delete,
}

/// Length of a stretch, or of the schedule of its paced operations, if that is longer: the last one
/// starts before its interval is over.
fn seconds(work: &StretchReport, paced: &[&OpReport]) -> f64 {
    let whole = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
    let scheduled = paced.iter().filter(|op| op.intended_per_second > 0.0);
    scheduled.map(|op| op.count as f64 / op.intended_per_second).fold(whole, f64::max)
}

fn these<'a>(work: &'a StretchReport, names: &[String]) -> Vec<&'a OpReport> {
    work.ops.iter().filter(|op| names.contains(&op.name)).collect()
}

/// Those that have a rate, where any has: what others do beside them keeps no rate.
fn paced(mut ops: Vec<&OpReport>) -> Vec<&OpReport> {
    let has_rate = |op: &&OpReport| op.intended_per_second > 0.0;
    if ops.iter().any(has_rate) {
        ops.retain(has_rate);
    }
    ops
}

/// Rows that a mean operation of a role inserts.
fn rows_of_role(role: &Role) -> f64 {
    let weighted = |rows: fn(&Op) -> f64| -> f64 {
        role.ops.iter().map(|op| f64::from(op.weight) * rows(op)).sum()
    };
    let all = weighted(|_| 1.0);
    if all > 0.0 { weighted(|op| op.rows_by(Effect::inserts) as f64) / all } else { 0.0 }
}

/// Rows of the largest inserting statement.
fn rows_of(op: &Op) -> u64 {
    let inserting = op.statements.iter().filter(|statement| statement.effect.inserts());
    inserting.map(Statement::rows_changed).max().unwrap_or(0)
}

/// Which parts of the rows that an operation changes it inserts and deletes; none where one of both
/// is all.
fn parts(op: &Op) -> Option<[f64; 2]> {
    let all = op.rows_by(|_| true);
    let own = [op.rows_by(Effect::inserts), op.rows_by(|effect| effect == Effect::Delete)];
    (!own.contains(&all)).then(|| own.map(|rows| rows as f64 / all as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        drive::OpInterval,
        script::{Bounds, Expect},
        workload::{Arrival, Counts, Spacing},
    };

    fn op(name: &str, rows: &[u64]) -> OpReport {
        let interval = |rows: &u64| OpInterval { completed: 1, rows: *rows, ..Default::default() };
        OpReport {
            name: name.to_owned(),
            rows_changed: rows.iter().sum(),
            series: rows.iter().map(interval).collect(),
            lag_us_max: 7,
            ..Default::default()
        }
    }

    fn facts() -> RoleFacts {
        RoleFacts {
            lead: vec!["query".to_owned()],
            beside: vec!["writer".to_owned()],
            inserts: vec!["insert".to_owned()],
            deletes: vec!["delete".to_owned()],
            parts: BTreeMap::new(),
            target_per_second: 100.0,
            rows_per_statement: 50,
        }
    }

    #[test]
    fn seconds_rates_and_lags_come_from_the_paced_operations() {
        let mut work = StretchReport { end_ns: 3_000_000_000, ..Default::default() };
        work.ops = vec![op("insert", &[100, 50, 150]), op("delete", &[100, 100, 100])];
        let paced = facts().paced(&work).unwrap();
        assert_eq!(paced.inserted_per_second, 100.0);
        assert_eq!(paced.deleted_per_second, Some(100.0));
        assert_eq!(paced.lag_us_max, Some(7.0));
        let inserted: Vec<u64> = paced.seconds.iter().map(|second| second.inserted).collect();
        assert_eq!(inserted, [100, 50, 150]);
        assert_eq!(paced.seconds[2].deleted, Some(100));
    }

    #[test]
    fn a_second_that_is_cut_is_not_judged() {
        let check = |milliseconds: u64, expected: usize| {
            let ops = vec![op("insert", &[100, 100, 60])];
            let end_ns = milliseconds * 1_000_000;
            let work = StretchReport { end_ns, ops, ..Default::default() };
            let seconds = facts().paced(&work).unwrap().seconds;
            assert_eq!(seconds.len(), expected, "{milliseconds} ms");
        };
        check(2_500, 2);
        check(2_900, 2);
        check(2_960, 3);
        check(3_000, 3);
        check(3_100, 3);
    }

    #[test]
    fn a_schedule_is_as_long_as_its_last_interval() {
        let mut work = StretchReport { end_ns: 1_500_000_000, ..Default::default() };
        let paced = OpReport { count: 4, intended_per_second: 2.0, ..op("insert", &[100, 100]) };
        work.ops = vec![paced];
        assert_eq!(facts().paced(&work).unwrap().inserted_per_second, 100.0);
        work.end_ns = 4_000_000_000;
        assert_eq!(facts().paced(&work).unwrap().inserted_per_second, 50.0);
    }

    #[test]
    fn rows_that_an_operation_inserts_and_deletes_are_told_apart() {
        let ten = Some(Bounds { low: 10, high: 10 });
        let statement = |effect: Effect| Statement {
            effect,
            expect: Expect { changed: ten, ..Expect::default() },
            ..Statement::plain("x")
        };
        let ops = [Effect::Delete, Effect::Insert(10)].map(statement).to_vec();
        let role = Role {
            name: "writer".to_owned(),
            arrival: Arrival::Open { per_second: 2.0, spacing: Spacing::Even },
            ops: vec![Op::plain("measure", ops)],
            ..Role::default()
        };
        let script = Script { roles: vec![role], ..Script::default() };
        let facts = RoleFacts::of(&script).unwrap();
        let done = OpReport { count: 2, intended_per_second: 2.0, ..op("measure", &[40]) };
        let work = StretchReport { end_ns: 1_000_000_000, ops: vec![done], ..Default::default() };
        let paced = facts.paced(&work).unwrap();
        assert_eq!(paced.target_per_second, 20.0);
        assert_eq!((paced.inserted_per_second, paced.deleted_per_second), (20.0, Some(20.0)));
        assert_eq!((paced.seconds[0].inserted, paced.seconds[0].deleted), (20, Some(20)));
        assert_eq!(facts.changed_per_second(&work), [Some(20.0); 2]);
    }

    #[test]
    fn what_inserts_without_a_rate_keeps_none() {
        let at_rate = OpReport { count: 2, intended_per_second: 2.0, ..op("insert", &[40]) };
        let ops = vec![at_rate, op("bulk", &[5000])];
        let work = StretchReport { end_ns: 1_000_000_000, ops, ..Default::default() };
        let inserts = ["insert", "bulk"].map(str::to_owned).to_vec();
        let paced = RoleFacts { inserts, ..facts() }.paced(&work).unwrap();
        assert_eq!((paced.inserted_per_second, paced.seconds[0].inserted), (40.0, 40));
    }

    #[test]
    fn a_closed_loop_has_no_target_to_keep() {
        let facts = RoleFacts { target_per_second: 0.0, ..facts() };
        let work = StretchReport { end_ns: 1, ops: vec![op("insert", &[1])], ..Default::default() };
        assert_eq!(facts.paced(&work), None);
    }

    #[test]
    fn the_target_is_that_of_all_roles_and_of_what_they_insert() {
        let op = |weight: u32, effect: Effect| {
            let statement = Statement { effect, ..Statement::plain("x") };
            Op { weight, ..Op::plain("o", vec![statement]) }
        };
        let role = |per_second: f64, ops: Vec<Op>| Role {
            name: "writer".to_owned(),
            arrival: Arrival::Open { per_second, spacing: Spacing::Even },
            ops,
            ..Role::default()
        };
        let check = |roles: Vec<Role>, expected: f64| {
            let script = Script {
                workload: "w".into(),
                schema: "s".into(),
                counts: Counts::Rows,
                roles,
                ..Script::default()
            };
            assert_eq!(RoleFacts::of(&script).unwrap().target_per_second, expected);
        };
        let insert = |rows| op(1, Effect::Insert(rows));
        check(vec![role(2.0, vec![insert(50)])], 100.0);
        check(vec![role(2.0, vec![insert(50)]), role(8.0, vec![insert(5)])], 140.0);
        check(vec![role(8.0, vec![insert(50), op(3, Effect::Read)])], 100.0);
        check(vec![role(8.0, vec![op(1, Effect::Read)])], 0.0);
        let one = Statement { effect: Effect::Insert(1), repeat: 9, ..Statement::plain("x") };
        let two = Statement { effect: Effect::Insert(2), ..Statement::plain("x") };
        check(vec![role(8.0, vec![Op::plain("o", vec![one, two])])], 88.0);
    }

    #[test]
    fn the_lead_is_what_the_workload_says() {
        let of = |role: &str, op: OpReport| OpReport { role: role.to_owned(), ..op };
        let work = StretchReport {
            ops: vec![
                of("writer", op("insert", &[1])),
                of("writer", op("query", &[3])),
                of("reader", op("query", &[2])),
            ],
            ..Default::default()
        };
        let facts = facts();
        let found: Vec<_> = facts.leading(&work).map(|op| (&*op.name, &*op.role)).collect();
        assert_eq!(found, [("query", "reader")]);
    }
}
