//! Plans for unit tests.

use super::Step;
use crate::{
    experiment::Experiment,
    plan::{Block, Phase, PhaseKind, Plan},
    record::SliceState,
    script::{Op, Role, Script, Statement},
    workload::Class,
};

fn statement(class: Class) -> Statement {
    Statement { class, ..Statement::plain("SELECT 1") }
}

/// A phase of one statement.
pub(super) fn phase(name: &str, kind: PhaseKind, class: Class) -> Phase {
    let op = Op::plain("o", vec![statement(class)]);
    let script = Script {
        workload: name.to_owned(),
        roles: vec![Role { ops: vec![op], ..Role::default() }],
        ..Script::default()
    };
    Phase { name: name.to_owned(), script, clients: 1, seconds: 1.0, kind, ..Phase::default() }
}

/// A plan of one block of two subjects, of which the second one starts first, and two rounds.
pub(super) fn plan(phases: Vec<Phase>) -> Plan {
    let orders = vec![vec![vec![0, 1], vec![1, 0]]; phases.len()];
    let block = Block { index: 0, load: 0, start_order: vec![1, 0], orders, seed: 7 };
    let experiment = Experiment {
        blocks: 1,
        loads: 1,
        rounds: 2,
        seed: 42,
        tables: 1,
        rows: 1,
        slice_seconds: 1.0,
        read_seconds: 1.0,
        write_seconds: 1.0,
        warmup_seconds: 0.1,
        at_once: 1,
        ..Experiment::default()
    };
    Plan { experiment, phases, blocks: vec![block], ..Plan::default() }
}

/// A step in two words.
pub(super) fn told(step: &Step) -> String {
    let word = match step {
        Step::Start(_) => "start",
        Step::Ready => return "ready".to_owned(),
        Step::Warm(_) => "warm",
        Step::Prepare(_) => "prepare",
        Step::Intrusive(_) => "observe",
        Step::Discard(_) => "discard",
        Step::Slice(slice) if slice.state == SliceState::Discarded => "discard",
        Step::Slice(_) => "slice",
        Step::Settle { .. } => "settle",
        Step::End(_) => "end",
    };
    format!("{word} {}", step.subject().unwrap_or_default())
}
