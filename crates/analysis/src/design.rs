//! What a comparison needs to know of a plan.

use crate::{Error, Result, roles::RoleFacts, written::Written};
use model::{
    escape::terminal,
    experiment::Design as Kind,
    margins::Margins,
    plan::{Phase, PhaseKind, Plan},
    quoted,
    script::{Script, Statement},
    workload::{Arrival, Class, Counts, NONE},
};
use std::collections::BTreeMap;

/// Who is compared with whom, and what an operation is in each phase.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Design {
    /// Experiment name.
    pub experiment: String,
    /// The question: the title of pages.
    pub question: String,
    /// Name of the suite that scripts see.
    pub suite: String,
    /// Labels of the subjects in the plan's order, each with the label of its base; `None` for a
    /// base.
    pub subjects: Vec<(String, Option<String>)>,
    /// Numbers of blocks after which the run is judged and may end; empty where their number is
    /// fixed.
    pub looks: Vec<u32>,
    /// Which changes matter, and which have to be decided.
    pub margins: Margins,
    /// Facts of the phases by name.
    pub phases: BTreeMap<String, PhaseFacts>,
    /// The host of each block by run, where blocks of several hosts are compared as one.
    pub hosts: BTreeMap<String, BTreeMap<u32, String>>,
}

/// What the slices of a phase do not say themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseFacts {
    /// What per-operation metrics divide by.
    pub counts: Counts,
    /// Rows that one operation examines where it returns none: the rows of a table; 0 where it
    /// searches an index, or may change rows.
    pub scanned_rows: f64,
    /// Whether the workload has statements that are meant to change rows.
    pub writes: bool,
    /// Whether all its statements are meant to change rows, and some may find none to change, by
    /// what they are expected to do: a table that drains.
    pub drains: bool,
    /// Closed or open loop.
    pub arrival: Arrival,
    /// Who does what, for workloads with roles.
    pub roles: Option<RoleFacts>,
    /// Connections of the roles that lead, for workloads with roles; 0 where these work at a set
    /// rate.
    pub lead_clients: Option<u32>,
    /// Whether the rounds of a block are pieces of one work, and not repetitions of it: those of
    /// roles that say themselves when they end, in the interleaved design.
    pub has_pieces: bool,
    /// Planned length of a slice on the base [s]; 0 where it depends on the server, or on the waits
    /// of few operations.
    pub slice_seconds: f64,
    /// The operation whose committed executions are counted apart.
    pub committed: Option<String>,
    /// The rows that it writes, where it writes any and their size is known.
    pub written: Option<Written>,
    /// Whether it is a user's own script: how many statements its events have is found out then.
    pub is_script: bool,
}

impl Design {
    /// The design of a plan: each subject against the base with equal levels of the other factors.
    pub fn of(plan: &Plan) -> Self {
        let label = |subject: &model::subject::Subject| subject.label.clone();
        let subjects =
            plan.subjects.iter().map(|s| (label(s), plan.base_of(s).map(str::to_owned))).collect();
        let facts = |phase: &Phase| {
            let script = &phase.script;
            let is_index = phase.kind == PhaseKind::Index;
            let scans = !(is_index || script.writes() || searches(script));
            let rows = plan.table_rows(phase).filter(|_| scans);
            let counts = match phase.kind {
                // The published figure of an index phase: rows of the tables per second.
                PhaseKind::Index => Counts::Rows,
                _ => script.counts,
            };
            let roles = match phase.kind {
                PhaseKind::Index => None,
                _ => RoleFacts::of(script),
            };
            let has_pieces = plan.experiment.design == Kind::Interleaved
                && phase.kind == PhaseKind::Measure
                && script.ends_by_itself();
            let slices = if has_pieces { plan.experiment.rounds.max(1) } else { 1 };
            let is_rare = plan.experiment.design == Kind::Interleaved && is_rare(phase);
            let slice_seconds = match phase.kind {
                PhaseKind::Measure if !is_rare => phase.seconds / f64::from(slices),
                _ => 0.0,
            };
            PhaseFacts {
                counts,
                scanned_rows: rows.map_or(0.0, |rows| rows as f64),
                // A script may read only, and then none of its statements counts as effective.
                writes: script.writes() && script.lua.is_none(),
                drains: drains(script),
                arrival: phase.arrival,
                roles,
                lead_clients: lead_clients(phase),
                has_pieces,
                slice_seconds,
                is_script: script.lua.is_some(),
                written: match phase.kind {
                    PhaseKind::Index => None,
                    _ => Written::of(plan, script),
                },
                committed: script.coded.as_ref().and_then(|coded| coded.committed_op()),
            }
        };
        Self {
            experiment: plan.experiment.name.clone(),
            question: plan.experiment.question.clone(),
            suite: plan.experiment.suite.clone(),
            subjects,
            looks: plan.experiment.looks.clone(),
            margins: plan.experiment.decide.clone(),
            phases: plan.phases.iter().map(|phase| (phase.name.clone(), facts(phase))).collect(),
            hosts: BTreeMap::new(),
        }
    }

    /// The same with one base for all. Fails if no subject has this label.
    pub fn against(mut self, base: &str) -> Result<Self> {
        if !self.subjects.iter().any(|(label, _)| label == base) {
            let known = quoted(self.subjects.iter().map(|(label, _)| terminal(label)));
            return Err(Error::UnknownBase { base: base.to_owned(), known });
        }
        for (label, own) in &mut self.subjects {
            *own = (label != base).then(|| base.to_owned());
        }
        Ok(self)
    }

    /// The same with each subject against the one before it among those of one base.
    #[must_use]
    pub fn consecutive(mut self) -> Self {
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        for (label, base) in &mut self.subjects {
            let chain = base.take().unwrap_or_else(|| label.clone());
            *base = last.insert(chain, label.clone());
        }
        self
    }

    /// The budget permits so many blocks, whatever they say: a look there may spend what is left of
    /// the error rate. Earlier looks have spent no more than their share of so many
    /// blocks.
    pub fn end_after(&mut self, blocks: u32) {
        if self.looks.last().is_some_and(|last| blocks < *last) {
            self.looks.retain(|look| *look < blocks);
            self.looks.push(blocks);
        }
    }

    /// Labels of the bases, in the plan's order.
    pub fn bases(&self) -> Vec<&str> {
        let bases = self.subjects.iter().filter(|(_, base)| base.is_none());
        bases.map(|(label, _)| label.as_str()).collect()
    }

    /// Facts of a phase; an unknown phase counts operations in a closed loop.
    pub fn facts(&self, phase: &str) -> PhaseFacts {
        self.phases.get(phase).cloned().unwrap_or_default()
    }
}

/// Connections whose operations follow each other, if they are not those of the phase; none of
/// them where a rate says when operations start.
fn lead_clients(phase: &Phase) -> Option<u32> {
    let leading = || phase.script.roles.iter().filter(|role| role.leads);
    let clients = || leading().map(|role| role.clients).sum::<u32>();
    match leading().all(|role| role.arrival == Arrival::Closed) {
        true => phase.script.has_named_roles().then(clients),
        false => Some(0),
    }
}

/// Whether a workload searches an index: then it examines the rows that it returns.
fn searches(script: &Script) -> bool {
    script.statements().any(|statement| statement.index.iter().any(|index| index != NONE))
}

/// Operations of a connection, at least, whose waits together are about as long as planned.
const MANY_WAITS: f64 = 10.0;

/// Whether a rate or pauses permit a connection only a few operations in a slice: it has one at
/// least, and the slice ends with the last one of all connections.
fn is_rare(phase: &Phase) -> bool {
    let most = phase.script.most_per_connection();
    most.is_some_and(|per_second| per_second * phase.seconds < MANY_WAITS)
}

/// Whether a workload does nothing but change rows, one statement at a time, and may find none.
fn drains(script: &Script) -> bool {
    let idle =
        |statement: &Statement| statement.expect.changed.is_some_and(|changed| changed.low == 0);
    !script.has_named_roles()
        && script.ops().all(|op| !op.transaction)
        && script.statements().all(|statement| statement.class == Class::Write)
        && script.statements().any(idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        experiment::Experiment,
        schema::{Schema, Table},
        script::{End, Op, Role},
        subject::{Build, Config, Subject},
        workload::Spacing,
    };

    fn subject(levels: &[(&str, &str)]) -> Subject {
        let label: Vec<&str> = levels.iter().map(|(_, level)| *level).collect();
        Subject {
            label: label.join("."),
            build: Build::of("postgres", ""),
            config: Config::default(),
            levels: levels.iter().map(|(n, l)| ((*n).into(), (*l).into())).collect(),
        }
    }

    fn plan(subjects: Vec<Subject>, base: &[&str], baseline: &[&str]) -> Plan {
        Plan {
            format: model::plan::PLAN_FORMAT,
            experiment: Experiment {
                name: "e".into(),
                suite: "quick".into(),
                question: "q".into(),
                blocks: 1,
                loads: 1,
                rounds: 1,
                seed: 1,
                baseline: baseline.iter().map(|name| ((*name).into(), String::new())).collect(),
                tables: 1,
                rows: 1,
                slice_seconds: 1.0,
                read_seconds: 1.0,
                write_seconds: 1.0,
                at_once: 1,
                ..Experiment::default()
            },
            subjects,
            base: base.iter().map(|label| (*label).into()).collect(),
            ..Plan::default()
        }
    }

    #[test]
    fn only_interleaved_work_that_ends_itself_has_pieces() {
        let check = |design: Kind, kind: PhaseKind, end: End, expected: bool| {
            let mut plan = plan(Vec::new(), &[], &[]);
            plan.experiment.design = design;
            let script = Script {
                workload: "churn".into(),
                counts: Counts::Rows,
                roles: vec![Role { name: "insert".into(), end, ..Role::default() }],
                ..Script::default()
            };
            plan.phases =
                vec![Phase { name: "l.i1".into(), script, clients: 1, kind, ..Phase::default() }];
            assert_eq!(Design::of(&plan).facts("l.i1").has_pieces, expected, "{kind:?}");
        };
        let rows = End::Rows(10);
        check(Kind::Interleaved, PhaseKind::Measure, rows, true);
        check(Kind::Classic, PhaseKind::Measure, rows, false);
        check(Kind::Interleaved, PhaseKind::Index, rows, false);
        check(Kind::Interleaved, PhaseKind::Measure, End::Stretch, false);
    }

    #[test]
    fn clients_that_lead_are_those_of_their_roles() {
        let check = |name: &str, arrival: Arrival, expected: Option<u32>| {
            let role = |leads, clients| Role {
                name: name.into(),
                clients,
                arrival,
                leads,
                ..Role::default()
            };
            let script = Script { roles: vec![role(true, 8), role(false, 1)], ..Script::default() };
            let phase = Phase { script, clients: 1, ..Phase::default() };
            assert_eq!(lead_clients(&phase), expected, "{name} {arrival:?}");
        };
        check("reader", Arrival::Closed, Some(8));
        check("", Arrival::Closed, None);
        check("", Arrival::Open { per_second: 1.0, spacing: Spacing::Even }, Some(0));
    }

    #[test]
    fn a_slice_of_few_operations_that_wait_has_no_planned_length() {
        let check = |design: Kind, arrival: Arrival, expected: f64| {
            let mut plan = plan(Vec::new(), &[], &[]);
            plan.experiment.design = design;
            let role = Role { clients: 20, arrival, ..Role::default() };
            let script = Script { roles: vec![role], ..Script::default() };
            let phase = Phase { name: "p".into(), script, seconds: 2.0, ..Phase::default() };
            plan.phases = vec![phase];
            let found = Design::of(&plan).facts("p").slice_seconds;
            assert_eq!(found, expected, "{design:?} {arrival:?}");
        };
        let at = |per_second| Arrival::Open { per_second, spacing: Spacing::Even };
        // Each of 20 connections executes one: 20 s, and not 2 s.
        check(Kind::Interleaved, at(1.0), 0.0);
        check(Kind::Classic, at(1.0), 2.0);
        check(Kind::Interleaved, at(1000.0), 2.0);
        check(Kind::Interleaved, Arrival::Closed, 2.0);
    }

    #[test]
    fn a_search_does_not_examine_all_rows() {
        let check = |index: &[&str], expected: bool| {
            let mut statement = Statement::plain("SELECT 1");
            statement.index = index.iter().map(|name| (*name).to_owned()).collect();
            let ops = vec![Op::plain("o", vec![statement])];
            let script = Script {
                workload: "w".into(),
                counts: Counts::Rows,
                roles: vec![Role { ops, ..Role::default() }],
                ..Script::default()
            };
            assert_eq!(searches(&script), expected, "{index:?}");
        };
        check(&[], false);
        check(&[NONE], false);
        check(&["primary"], true);
    }

    #[test]
    fn what_changes_no_row_has_not_examined_all() {
        let check = |kind: PhaseKind, class: Class, expected: f64| {
            let mut plan = plan(Vec::new(), &[], &[]);
            plan.experiment.rows = 10;
            let statement = Statement { class, ..Statement::plain("x") };
            let role = Role { ops: vec![Op::plain("o", vec![statement])], ..Role::default() };
            let script = Script { roles: vec![role], ..Script::default() };
            plan.phases = vec![Phase { name: "p".into(), script, kind, ..Phase::default() }];
            assert_eq!(Design::of(&plan).facts("p").scanned_rows, expected, "{kind:?} {class:?}");
        };
        check(PhaseKind::Measure, Class::Read, 10.0);
        check(PhaseKind::Measure, Class::Write, 0.0);
        check(PhaseKind::Index, Class::Read, 0.0);
    }

    #[test]
    fn a_scan_examines_the_rows_of_its_own_table() {
        let check = |tables: &[u64], expected: f64| {
            let mut plan = plan(Vec::new(), &[], &[]);
            plan.experiment.rows = 1000;
            let table = |rows: &u64| Table { rows: *rows, copies: 1, ..Table::default() };
            let tables = tables.iter().map(table).collect();
            plan.schemas = vec![Schema { name: "s".into(), tables, ..Schema::default() }];
            let script = Script { schema: "s".into(), ..Script::default() };
            plan.phases = vec![Phase { name: "scan".into(), script, ..Phase::default() }];
            assert_eq!(Design::of(&plan).facts("scan").scanned_rows, expected);
        };
        check(&[70], 70.0);
        check(&[70, 70], 70.0);
        check(&[70, 900], 0.0);
        // A phase fills it.
        check(&[0], 1000.0);
        check(&[], 1000.0);
    }

    #[test]
    fn neighbors_of_one_base_follow_each_other() {
        let of = |label: &str, base: Option<&str>| (label.to_owned(), base.map(str::to_owned));
        let design = Design {
            subjects: vec![
                of("5.6.a", Some("5.7.a")),
                of("5.6.b", None),
                of("5.7.a", None),
                of("5.7.b", Some("5.6.b")),
                of("8.0.a", Some("5.7.a")),
                of("8.0.b", Some("5.6.b")),
            ],
            ..Design::default()
        };
        let bases = design.consecutive().subjects.into_iter().map(|(_, base)| base);
        let wanted = [None, None, Some("5.6.a"), Some("5.6.b"), Some("5.7.a"), Some("5.7.b")];
        assert_eq!(bases.collect::<Vec<_>>(), wanted.map(|base| base.map(str::to_owned)));
    }

    #[test]
    fn a_base_has_equal_levels_of_the_other_factors() {
        let subjects = ["17", "18"].iter().flat_map(|build| {
            ["a", "b"].map(|config| subject(&[("build", build), ("config", config)]))
        });
        let check = |base: &[&str], baseline: &[&str], expected: [Option<&str>; 4]| {
            let design = Design::of(&plan(subjects.clone().collect(), base, baseline));
            let found = design.subjects.iter().map(|(_, base)| base.as_deref());
            assert_eq!(found.collect::<Vec<_>>(), expected);
        };
        let by_build = [None, None, Some("17.a"), Some("17.b")];
        check(&["17.a", "17.b"], &["build"], by_build);
        let by_config = [None, Some("17.a"), None, Some("18.a")];
        check(&["17.a", "18.a"], &["config"], by_config);
        let by_both = [None, Some("17.a"), Some("17.a"), Some("17.a")];
        check(&["17.a"], &["build", "config"], by_both);
        // A plan without a base compares nothing.
        check(&[], &[], [None; 4]);
    }
}
