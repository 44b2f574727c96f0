//! Values for unit tests.

use model::{
    plan::{Phase, PhaseKind},
    script::{Arg, Op, Role, Script, Statement, Value},
    workload::Class,
};

/// A script of one role without operations.
pub(crate) fn script() -> Script {
    Script { workload: "w".into(), roles: vec![Role::default()], ..Script::default() }
}

/// An operation without transaction.
pub(crate) fn op(name: &str, statements: Vec<Statement>) -> Op {
    Op::plain(name, statements)
}

/// A phase of one client.
pub(crate) fn phase(kind: PhaseKind) -> Phase {
    Phase {
        name: "qr".into(),
        script: script(),
        clients: 1,
        seconds: 1.0,
        kind,
        ..Phase::default()
    }
}

/// A statement with a decimal as its only argument.
pub(crate) fn decimal() -> Statement {
    let value = Value::Decimal { sum: vec!["cents".to_owned()], digits: 2 };
    let args = vec![Arg { value, list: None }];
    Statement { args, class: Class::Read, ..Statement::plain("SELECT ?") }
}
