//! Plans for unit tests.

use super::Step;
use crate::{
    Levels, Parameters,
    experiment::{Design, Experiment},
    plan::{Block, Estimate, Phase, PhaseKind, Plan},
    record::SliceState,
    script::{Op, Role, Script, Statement},
    workload::{Arrival, Class, Counts},
};

fn statement(class: Class) -> Statement {
    Statement { class, ..Statement::plain("SELECT 1") }
}

/// A phase of one statement.
pub(super) fn phase(name: &str, kind: PhaseKind, class: Class) -> Phase {
    let op = Op::plain("o", vec![statement(class)]);
    let script = Script {
        workload: name.to_owned(),
        source: String::new(),
        schema: String::new(),
        counts: Counts::Operations,
        roles: vec![Role { ops: vec![op], ..Role::default() }],
        deviations: Vec::new(),
        lua: None,
        coded: None,
    };
    Phase {
        name: name.to_owned(),
        script,
        group: String::new(),
        range: None,
        clients: 1,
        parameters: Parameters::new(),
        arrival: Arrival::Closed,
        mode: None,
        seconds: 1.0,
        kind,
        levels: Levels::new(),
        settle: None,
    }
}

/// A plan of one block of two subjects, of which the second one starts first, and two rounds.
pub(super) fn plan(phases: Vec<Phase>) -> Plan {
    let orders = vec![vec![vec![0, 1], vec![1, 0]]; phases.len()];
    let block = Block { index: 0, load: 0, start_order: vec![1, 0], orders, seed: 7 };
    let experiment = Experiment {
        name: String::new(),
        question: String::new(),
        suite: String::new(),
        design: Design::Interleaved,
        blocks: 1,
        looks: Vec::new(),
        decide: Default::default(),
        explain: false,
        loads: 1,
        rounds: 2,
        seed: 42,
        baseline: Levels::new(),
        factors: Vec::new(),
        tables: 1,
        rows: 1,
        age: 0.0,
        slice_seconds: 1.0,
        read_seconds: 1.0,
        write_seconds: 1.0,
        warmup_seconds: 0.1,
        at_once: 1,
        placement: Default::default(),
        require: Vec::new(),
        accept: Vec::new(),
        combine: Default::default(),
        series: String::new(),
        note: String::new(),
        text: String::new(),
    };
    Plan {
        format: 0,
        hash: String::new(),
        experiment,
        subjects: Vec::new(),
        base: Vec::new(),
        schemas: Vec::new(),
        phases,
        blocks: vec![block],
        estimate: Estimate::default(),
    }
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
