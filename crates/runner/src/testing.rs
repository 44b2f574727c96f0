//! Values for unit tests.

use model::{
    Levels, Parameters,
    plan::{Phase, PhaseKind},
    script::{Arg, Op, Role, Script, Statement, Value},
    workload::{Arrival, Class, Counts},
};

/// A script of one role without operations.
pub(crate) fn script() -> Script {
    Script {
        workload: "w".into(),
        source: String::new(),
        schema: String::new(),
        counts: Counts::Operations,
        roles: vec![Role::default()],
        deviations: Vec::new(),
        lua: None,
        coded: None,
    }
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

/// A statement with a decimal as its only argument.
pub(crate) fn decimal() -> Statement {
    let value = Value::Decimal { sum: vec!["cents".to_owned()], digits: 2 };
    let args = vec![Arg { value, list: None }];
    Statement { args, class: Class::Read, ..Statement::plain("SELECT ?") }
}
