//! Workloads for unit tests, written as short as the tests want to read them.

use model::Parameters;
use model::drive::{Assignment, Stretch, StretchEnd};
use model::expression::Expression;
use model::schema::{Schema, Table};
use model::script::{Arg, Bounds, Effect, End, Expect, Op, Role, Script, Statement, Value};
use model::workload::{Arrival, Class, Mode, Spacing};
use std::fmt::Debug;
use values::generator::Uniform;

/// The value of an integer expression over 1000 rows and a range of 10.
pub(crate) fn expression<N: TryFrom<i64, Error: Debug>>(text: &str) -> N {
    let parameters = [("rows", 1000), ("range", 10)];
    let parameters: Parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
    N::try_from(Expression::new(text).evaluate(&parameters).unwrap()).unwrap()
}

/// A uniform argument over all rows.
pub(crate) fn row() -> Arg {
    uniform("1", "rows")
}

/// A uniform argument.
pub(crate) fn uniform(low: &str, high: &str) -> Arg {
    arg(Value::from(Uniform { low: expression(low), high: expression(high) }))
}

/// A lone argument.
pub(crate) fn arg(value: Value) -> Arg {
    Arg { value, list: None }
}

/// An in-list.
pub(crate) fn list(value: Value, count: &str) -> Arg {
    Arg { value, list: Some(expression(count)) }
}

/// A prepared reading statement that is expected to return one row.
pub(crate) fn statement(sql: &str, args: Vec<Arg>) -> Statement {
    let one = Bounds { low: 1, high: 1 };
    Statement {
        args,
        class: Class::Read,
        mode: Mode::Prepared,
        effect: Effect::Read,
        expect: Expect { rows: Some(one), ..Expect::default() },
        ..Statement::plain(sql)
    }
}

/// An operation without transaction.
pub(crate) fn op(name: &str, statements: Vec<Statement>) -> Op {
    Op::plain(name, statements)
}

/// A workload named `w` over `tables` copies of a table `t{n}` of 1000 rows.
pub(crate) fn assignment(ops: Vec<Op>, tables: u64) -> Assignment {
    let table = Table { name: "t{n}".to_owned(), copies: tables, rows: 1000, ..Table::default() };
    Assignment {
        script: Script {
            workload: "w".to_owned(),
            schema: "s".to_owned(),
            roles: vec![Role { ops, ..Role::default() }],
            ..Script::default()
        },
        schema: Schema { name: "s".to_owned(), tables: vec![table], ..Schema::default() },
        mode: None,
    }
}

/// A role of one client that executes these operations in a closed loop.
pub(crate) fn closed_role(name: &str, ops: &[Op], end: End) -> Role {
    Role { name: name.to_owned(), end, ops: ops.to_vec(), ..Role::default() }
}

/// A point query on one table.
pub(crate) fn point_query() -> Assignment {
    assignment(
        vec![op("point", vec![statement("SELECT c FROM {table} WHERE id=?", vec![row()])])],
        1,
    )
}

/// A stretch of so many operations on each connection.
pub(crate) fn closed(operations: u64) -> Stretch {
    stretch(StretchEnd::Operations(operations))
}

/// A stretch with this end.
pub(crate) fn stretch(end: StretchEnd) -> Stretch {
    Stretch { end, seed: 1, interval_ms: 1000 }
}

/// Evenly spaced operations.
pub(crate) fn open(per_second: f64) -> Arrival {
    Arrival::Open { per_second, spacing: Spacing::Even }
}

/// A workload whose only role starts so many operations per second.
pub(crate) fn paced(assignment: Assignment, per_second: f64) -> Assignment {
    let mut paced = assignment;
    paced.script.roles[0].arrival = open(per_second);
    paced
}
