//! Values for unit tests.

pub(crate) use crate::verify::bracket;
use model::{
    Levels, Parameters,
    plan::{Phase, PhaseKind},
    workload::{
        Arg, Arrival, Class, Counts, Generator, Pair, Role, RoleArrival, RoleEnd, Statement,
        Workload,
    },
};

/// A workload without operations and roles.
pub(crate) fn workload() -> Workload {
    Workload {
        name: "w".into(),
        help: String::new(),
        group: String::new(),
        schema: String::new(),
        counts: Counts::Operations,
        parameters: Parameters::new(),
        ops: Vec::new(),
        roles: Vec::new(),
        lead: String::new(),
        deviations: Vec::new(),
        arrival: Arrival::Closed,
        source: String::new(),
    }
}

/// A phase of one client.
pub(crate) fn phase(kind: PhaseKind) -> Phase {
    Phase {
        name: "qr".into(),
        workload: 0,
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

/// A role of operations of its own name, in step with `other`.
pub(crate) fn pair(name: &str, other: &str, lead: u32) -> Role {
    Role {
        name: name.to_owned(),
        ops: vec![name.to_owned()],
        clients: 1.into(),
        arrival: RoleArrival::Closed,
        end: RoleEnd::Operations(1.into()),
        pair: Some(Pair { role: other.to_owned(), lead }),
    }
}

/// A statement with a decimal as its only argument.
pub(crate) fn decimal() -> Statement {
    let value = Generator::Decimal { sum: vec!["cents".to_owned()], digits: 2 };
    let args = vec![Arg { value, list: None }];
    Statement { args, class: Class::Read, ..bracket("SELECT ?") }
}
