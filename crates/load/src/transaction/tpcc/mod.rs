//! Transactions like those of TPC-C, with their logic in the client or in stored procedures.
//!
//! Inputs are drawn before BEGIN and kept for every attempt ([`inputs`]). What a statement must do
//! is checked by each transaction: one that finds or changes other rows is counted as unexpected.

mod customer;
mod delivery;
mod inputs;
mod new_order;
mod order_status;
mod payment;
mod procedures;
mod stock_level;

use super::{Coded, Operation, Outcome, Setup, Statement, Transaction, Work};
use crate::clock::Clock;
use crate::wire::{Client, Failure, Parameter, Row, Value};
use customer::Found;
use inputs::{Counted, Inputs, Terminal};
use model::{
    Parameters,
    coded::{Server, TPCC, TPCC_OPERATIONS},
    drawn::Drawn,
    workload::Class,
};
use values::Random;

/// The transactions of one connection.
pub(crate) struct Tpcc {
    logic: Logic,
    terminal: Terminal,
    inputs: Inputs,
    counted: Counted,
    found: Found,
}

/// Where the transactions are written.
enum Logic {
    Client(Box<InClient>),
    Procedures(procedures::Statements),
}

/// The statements of all transactions.
struct InClient {
    new_order: new_order::Statements,
    payment: payment::Statements,
    order_status: order_status::Statements,
    delivery: delivery::Statements,
    stock_level: stock_level::Statements,
    begin_reading: Statement,
    begin_writing: Statement,
    commit: Statement,
}

const INTEGER: Parameter = Parameter::Integer;

/// The five transactions; their places here are the numbers of the operations.
const OPERATIONS: [Operation; 5] =
    [operation(0), operation(1), operation(2), operation(3), operation(4)];

const fn operation(number: usize) -> Operation {
    let operation = &TPCC_OPERATIONS[number];
    Operation { name: operation.name, weight: operation.weight }
}

impl Coded for Tpcc {
    const NAME: &'static str = "tpcc";
    const OPERATIONS: &'static [Operation] = &OPERATIONS;

    fn check(dialect: &str, parameters: &Parameters) -> Result<(), String> {
        let server = Server { product: dialect, version: "" };
        let checked = TPCC.check(parameters).and_then(|()| TPCC.check_server(parameters, server));
        checked.map_err(|misfit| misfit.reason)
    }

    fn new(setup: &mut Setup<'_>) -> Self {
        let logic = match setup.number(PROCEDURES, 0) {
            1 => Logic::Procedures(procedures::Statements::new(setup)),
            _ => Logic::Client(Box::new(InClient::new(setup))),
        };
        Self {
            logic,
            terminal: Terminal::new(setup),
            inputs: Inputs::default(),
            counted: Counted::default(),
            found: Found::default(),
        }
    }
}

/// The parameter that chooses stored procedures.
const PROCEDURES: &str = "procedures";

impl Transaction for Tpcc {
    fn draw(&mut self, op: usize, random: &mut Random) {
        let (terminal, inputs) = (&self.terminal, &mut self.inputs);
        let counted = &mut self.counted;
        match op {
            0 => inputs.new_order.draw(terminal, random, counted),
            1 => inputs.payment.draw(terminal, random, counted),
            2 => inputs.order_status.draw(terminal, random, counted),
            3 => {
                inputs.delivery.draw(terminal, random);
                (self.found.served, self.found.skipped) = (0, 0);
            }
            _ => inputs.stock_level.draw(terminal, random),
        }
    }

    fn attempt<C: Client, K: Clock>(
        &mut self,
        op: usize,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let (inputs, found) = (&self.inputs, &mut self.found);
        let outcome = match &self.logic {
            Logic::Client(client) => client.attempt(op, inputs, found, work)?,
            Logic::Procedures(procedures) => procedures.attempt(op, inputs, found, work)?,
        };
        self.counted.ended_orders += u64::from(op == 0);
        match (outcome, op, &self.logic) {
            (Outcome::RolledBack, ..) => self.counted.rolled_back += 1,
            // A procedure does not say what it skipped.
            (Outcome::Done, 3, Logic::Client(_)) => self.counted.delivered(found.skipped),
            (Outcome::Done, ..) => {}
        }
        Ok(outcome)
    }

    fn drawn(&self) -> Vec<Drawn> {
        self.counted.drawn(&self.terminal)
    }
}

impl InClient {
    fn new(setup: &mut Setup<'_>) -> Self {
        // Two transactions that read first and write then would refuse each other.
        let writing = if setup.dialect == "sqlite" { "BEGIN IMMEDIATE" } else { "BEGIN" };
        Self {
            begin_reading: setup.statement(Class::Other, "BEGIN", &[]),
            begin_writing: setup.statement(Class::Other, writing, &[]),
            commit: setup.statement(Class::Other, "COMMIT", &[]),
            new_order: new_order::Statements::new(setup),
            payment: payment::Statements::new(setup),
            order_status: order_status::Statements::new(setup),
            delivery: delivery::Statements::new(setup),
            stock_level: stock_level::Statements::new(setup),
        }
    }

    fn attempt<C: Client, K: Clock>(
        &self,
        op: usize,
        inputs: &Inputs,
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let begin = if matches!(op, 2 | 4) { self.begin_reading } else { self.begin_writing };
        if op == 3 {
            return self.delivery.attempt(&inputs.delivery, [begin, self.commit], found, work);
        }
        work.execute(begin, &[])?;
        let outcome = match op {
            0 => self.new_order.attempt(&inputs.new_order, found, work)?,
            1 => self.payment.attempt(&inputs.payment, found, work)?,
            2 => self.order_status.attempt(&inputs.order_status, found, work)?,
            _ => self.stock_level.attempt(&inputs.stock_level, work)?,
        };
        if outcome == Outcome::Done {
            work.execute(self.commit, &[])?;
        }
        Ok(outcome)
    }
}

/// What makes a reading statement hold its rows; a server with one writer has no word for it.
fn lock(setup: &Setup<'_>) -> &'static str {
    if setup.dialect == "sqlite" { "" } else { " FOR UPDATE" }
}

/// The next value of a row as an integer.
fn integer(row: &mut dyn Row) -> i64 {
    row.next().and_then(|value| value.integer()).unwrap_or_default()
}

/// The next value of a row, a number with a fraction.
fn real(row: &mut dyn Row) -> f64 {
    match row.next() {
        Some(Value::Real(value)) => value,
        Some(Value::Integer(value)) => value as f64,
        Some(Value::Unsigned(value)) => value as f64,
        Some(Value::Bytes(text)) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
        }
        Some(Value::Null) | None => 0.0,
    }
}

/// The next value of a row, an amount of money, in cents.
fn cents(row: &mut dyn Row) -> i64 {
    (real(row) * 100.0).round() as i64
}

/// Copies the next value of a row to the start of `text`, as much of it as there is room for, and
/// returns its length.
fn copy(row: &mut dyn Row, text: &mut [u8]) -> usize {
    let Some(Value::Bytes(bytes)) = row.next() else { return 0 };
    let length = bytes.len().min(text.len());
    text[..length].copy_from_slice(&bytes[..length]);
    length
}

/// Passes over some values of a row.
fn skip(row: &mut dyn Row, count: usize) {
    for _ in 0..count {
        row.next();
    }
}
