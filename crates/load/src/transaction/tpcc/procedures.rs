//! The same transactions as stored procedures, one call each: what is left to the client is the
//! inputs. The procedures are in the schema.

use super::{
    Found, INTEGER,
    inputs::{Customer, Inputs, LINES_MAX, Line, NewOrder},
    integer,
};
use crate::clock::Clock;
use crate::keys::tpcc::NAME_MAX;
use crate::transaction::{Argument, Outcome, Setup, Statement, Work};
use crate::wire::{Client, Failure, Parameter};
use model::workload::Class;

/// Digits of an item, a warehouse and a quantity.
const DIGITS: [usize; 3] = [6, 6, 2];
/// Bytes of a line.
const LINE_BYTES: usize = DIGITS[0] + DIGITS[1] + DIGITS[2];

pub(super) struct Statements {
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
}

impl Statements {
    pub(super) fn new(setup: &mut Setup<'_>) -> Self {
        let integers = vec![INTEGER; 5];
        let (now, name) = ([Parameter::Time], [Parameter::Varying(NAME_MAX)]);
        let lines = [Parameter::Varying(LINES_MAX * LINE_BYTES)];
        // A function returns rows in Postgres, a procedure in MySQL.
        let reading = if setup.dialect == "postgres" { "SELECT * FROM" } else { "CALL" };
        let mut call = |class: Class, what: &str, types: &[Parameter]| {
            let verb = if class == Class::Read { reading } else { "CALL" };
            let marks = vec!["?"; types.len()].join(", ");
            setup.statement(class, &format!("{verb} tpcc_{what}({marks})"), types)
        };
        Self {
            new_order: call(Class::Write, "new_order", &[&integers[..], &now, &lines].concat()),
            payment: call(
                Class::Write,
                "payment",
                &[&integers[..], &name, &integers[..1], &now].concat(),
            ),
            order_status: call(Class::Read, "order_status", &[&integers[..3], &name].concat()),
            delivery: call(Class::Write, "delivery", &[&integers[..2], &now].concat()),
            stock_level: call(Class::Read, "stock_level", &integers[..3]),
        }
    }

    pub(super) fn attempt<C: Client, K: Clock>(
        &self,
        op: usize,
        inputs: &Inputs,
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        match op {
            0 => return self.new_order(&inputs.new_order, found, work),
            1 => {
                let input = &inputs.payment;
                let (by, of) = (input.district, input.of_customer);
                let (id, name) = asked(&input.customer);
                let [w, d, cw, cd, amount] =
                    [by.warehouse, by.number, of.warehouse, of.number, input.amount]
                        .map(Argument::from);
                let values = [w, d, cw, cd, id, name, amount, Argument::Now];
                work.execute(self.payment, &values)?;
            }
            2 => {
                let [w, d] =
                    of(inputs.order_status.district.warehouse, inputs.order_status.district.number);
                let (id, name) = asked(&inputs.order_status.customer);
                let answer = work.execute(self.order_status, &[w, d, id, name])?;
                work.expect(answer.rows > 0);
            }
            3 => {
                let [w, carrier] = of(inputs.delivery.warehouse, inputs.delivery.carrier);
                work.execute(self.delivery, &[w, carrier, Argument::Now])?;
            }
            _ => {
                let input = &inputs.stock_level;
                let [w, d] = of(input.district.warehouse, input.district.number);
                work.one(self.stock_level, &[w, d, input.threshold.into()], |row| {
                    integer(row);
                })?;
            }
        }
        Ok(Outcome::Done)
    }

    fn new_order<C: Client, K: Clock>(
        &self,
        input: &NewOrder,
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let length = write_lines(&mut found.made, input.lines());
        let [w, d] = of(input.district.warehouse, input.district.number);
        let [customer, count, local] =
            [input.customer, input.lines().len() as i64, i64::from(input.is_local)]
                .map(Argument::from);
        let lines = Argument::Text(&found.made[..length]);
        work.execute(self.new_order, &[w, d, customer, count, local, Argument::Now, lines])?;
        // The procedure has rolled back what has a line without an item.
        Ok(if input.rolls_back { Outcome::RolledBack } else { Outcome::Done })
    }
}

fn of(first: i64, second: i64) -> [Argument<'static>; 2] {
    [first.into(), second.into()]
}

/// Number and last name of a customer: 0, or no text, where it is asked for by the other.
fn asked(customer: &Customer) -> (Argument<'_>, Argument<'_>) {
    match customer {
        Customer::Id(id) => (Argument::Integer(*id), Argument::Text(&[])),
        Customer::Name { text, length } => (Argument::Integer(0), Argument::Text(&text[..*length])),
    }
}

/// Writes lines as text, each value with all its digits, and returns its length.
fn write_lines(text: &mut [u8], lines: &[Line]) -> usize {
    let mut at = 0;
    for line in lines {
        for (value, digits) in [line.item, line.supply, line.quantity].into_iter().zip(DIGITS) {
            let mut rest = value;
            for place in text[at..at + digits].iter_mut().rev() {
                *place = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            at += digits;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_travel_as_digits() {
        let mut text = [0; 64];
        let lines = [(3, 100_001, 10), (12, 7, 5)];
        let lines = lines.map(|(supply, item, quantity)| Line { supply, item, quantity });
        let length = write_lines(&mut text, &lines);
        assert_eq!(&text[..length], b"1000010000031000000700001205");
    }
}
