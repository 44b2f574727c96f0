//! Workloads for unit tests, written as short as the tests want to read them.

use model::Parameters;
use model::drive::{Assignment, Stretch, StretchEnd};
use model::expression::{Condition, Expression};
use model::schema::{Schema, Table};
use model::workload::{
    Arg, Arrival, Bounds, Class, Counts, Expect, Generator, Mode, Op, Role, RoleArrival, RoleEnd,
    Spacing, Statement, TableChoice, Workload,
};
use std::collections::BTreeMap;

/// An integer expression.
pub(crate) fn expression(text: &str) -> Expression {
    Expression::new(text)
}

/// A uniform argument over all rows.
pub(crate) fn row() -> Arg {
    uniform("1", "rows")
}

/// A uniform argument.
pub(crate) fn uniform(low: &str, high: &str) -> Arg {
    arg(Generator::Uniform { low: expression(low), high: expression(high) })
}

/// A lone argument.
pub(crate) fn arg(value: Generator) -> Arg {
    Arg { value, list: None }
}

/// An in-list.
pub(crate) fn list(value: Generator, count: &str) -> Arg {
    Arg { value, list: Some(expression(count)) }
}

/// A prepared reading statement that is expected to return one row.
pub(crate) fn statement(sql: &str, args: Vec<Arg>) -> Statement {
    let one = || expression("1");
    Statement {
        sql: sql.to_owned(),
        sql_for: BTreeMap::new(),
        args,
        rows_per_statement: None,
        repeat: one(),
        in_turn: false,
        draws: Vec::new(),
        row_draws: Vec::new(),
        table: TableChoice::Fresh,
        class: Class::Read,
        mode: Mode::Prepared,
        mode_for: BTreeMap::new(),
        expect: Expect {
            rows: Some(Bounds { low: one(), high: one() }),
            changed: None,
            keys: None,
        },
        capture: None,
        index: Vec::new(),
        every: None,
        untimed: false,
        advance: None,
        line: None,
    }
}

/// An operation without transaction.
pub(crate) fn op(name: &str, statements: Vec<Statement>) -> Op {
    let (name, transaction) = (name.to_owned(), Condition::Fixed(false));
    Op { name, weight: 1, transaction, draws: Vec::new(), statements }
}

/// A workload named `w` over `tables` copies of a table `t{n}` of 1000 rows.
pub(crate) fn assignment(ops: Vec<Op>, tables: i64) -> Assignment {
    let parameters = [("rows", 1000), ("tables", tables), ("range", 10)];
    let table = Table {
        name: "t{n}".to_owned(),
        copies: expression("tables"),
        rows: expression("rows"),
        create: BTreeMap::new(),
        columns: Vec::new(),
        indexes: BTreeMap::new(),
        finish: BTreeMap::new(),
        warm: BTreeMap::new(),
    };
    Assignment {
        workload: Workload {
            name: "w".to_owned(),
            help: String::new(),
            group: "point".to_owned(),
            schema: "s".to_owned(),
            counts: Counts::Operations,
            parameters: Parameters::new(),
            ops,
            roles: Vec::new(),
            deviations: Vec::new(),
            arrival: Arrival::Closed,
            lead: String::new(),
            source: String::new(),
        },
        schema: Schema { name: "s".to_owned(), help: String::new(), tables: vec![table] },
        parameters: parameters.map(|(name, value)| (name.to_owned(), value)).into(),
        mode: None,
    }
}

/// A role of one client that executes the operation `point` in a closed loop.
pub(crate) fn closed_role(name: &str, end: RoleEnd) -> Role {
    Role {
        name: name.to_owned(),
        ops: vec!["point".to_owned()],
        clients: expression("1"),
        arrival: RoleArrival::Closed,
        end,
        pair: None,
    }
}

/// A point query on one table.
pub(crate) fn point_query() -> Assignment {
    assignment(
        vec![op("point", vec![statement("SELECT c FROM {table} WHERE id=?", vec![row()])])],
        1,
    )
}

/// A closed stretch of so many operations on each connection.
pub(crate) fn closed(operations: u64) -> Stretch {
    Stretch {
        end: StretchEnd::Operations(operations),
        arrival: Arrival::Closed,
        seed: 1,
        interval_ms: 1000,
    }
}

/// An open stretch with evenly spaced operations.
pub(crate) fn open(end: StretchEnd, per_second: f64) -> Stretch {
    let arrival = Arrival::Open { per_second, spacing: Spacing::Even };
    Stretch { end, arrival, seed: 1, interval_ms: 1000 }
}
