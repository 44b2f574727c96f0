//! Payment (clause 2.5.2).

use super::{
    Found, INTEGER, copy,
    inputs::{Customer, Payment},
    integer, lock, skip,
};
use crate::clock::Clock;
use crate::keys::tpcc::NAME_MAX;
use crate::transaction::{Argument, Outcome, Setup, Statement, Work};
use crate::wire::{Client, Failure, Parameter};
use model::workload::Class;
use std::io::Write;

/// Longest name of a warehouse or a district.
const PLACE_MAX: usize = 10;
/// Longest text about a customer.
const DATA_MAX: usize = 500;

pub(super) struct Statements {
    pay_warehouse: Statement,
    warehouse: Statement,
    pay_district: Statement,
    district: Statement,
    by_name: Statement,
    customer: Statement,
    data: Statement,
    pay: Statement,
    pay_with_data: Statement,
    history: Statement,
}

impl Statements {
    pub(super) fn new(setup: &mut Setup<'_>) -> Self {
        let integers = vec![INTEGER; 6];
        let text = |length| [Parameter::Varying(length)];
        let names = [&integers[..2], &text(NAME_MAX)].concat();
        let data = [&integers[..2], &text(DATA_MAX), &integers[..3]].concat();
        let history = [
            &integers[..5],
            &[Parameter::Time, INTEGER, Parameter::Varying(2 * PLACE_MAX + BETWEEN.len())],
        ];
        let customer = format!(
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
             c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?{}",
            lock(setup)
        );
        let of_customer = "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
        let paid = "c_balance = c_balance - ? * 0.01, c_ytd_payment = c_ytd_payment + ? * 0.01, \
                    c_payment_cnt = c_payment_cnt + 1";
        let mut read = |sql: &str, types: &[Parameter]| setup.statement(Class::Read, sql, types);
        let warehouse = read(
            "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse \
             WHERE w_id = ?",
            &integers[..1],
        );
        let district = read(
            "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district \
             WHERE d_w_id = ? AND d_id = ?",
            &integers[..2],
        );
        let by_name = read(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
             ORDER BY c_first",
            &names,
        );
        let customer = read(&customer, &integers[..3]);
        let old = read(&format!("SELECT c_data FROM customer {of_customer}"), &integers[..3]);
        let mut write = |sql: &str, types: &[Parameter]| setup.statement(Class::Write, sql, types);
        Self {
            pay_warehouse: write(
                "UPDATE warehouse SET w_ytd = w_ytd + ? * 0.01 WHERE w_id = ?",
                &integers[..2],
            ),
            warehouse,
            pay_district: write(
                "UPDATE district SET d_ytd = d_ytd + ? * 0.01 WHERE d_w_id = ? AND d_id = ?",
                &integers[..3],
            ),
            district,
            by_name,
            customer,
            data: old,
            pay: write(&format!("UPDATE customer SET {paid} {of_customer}"), &integers[..5]),
            pay_with_data: write(
                &format!("UPDATE customer SET {paid}, c_data = ? {of_customer}"),
                &data,
            ),
            history: write(
                "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, \
                 h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ? * 0.01, ?)",
                &history.concat(),
            ),
        }
    }

    pub(super) fn attempt<C: Client, K: Clock>(
        &self,
        input: &Payment,
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let (w, d) = (input.district.warehouse.into(), input.district.number.into());
        let amount: Argument<'_> = input.amount.into();
        let (mut of_warehouse, mut of_district) = (Name::default(), Name::default());
        work.change(self.pay_warehouse, &[amount, w])?;
        work.one(self.warehouse, &[w], |row| of_warehouse = Name::behind_address(row))?;
        work.change(self.pay_district, &[amount, w, d])?;
        work.one(self.district, &[w, d], |row| of_district = Name::behind_address(row))?;
        let customer = self.pay(input, found, work)?;
        let mut text = [0; 2 * PLACE_MAX + BETWEEN.len()];
        let length = together(&mut text, [of_warehouse.name(), BETWEEN, of_district.name()]);
        let [cw, cd] = [input.of_customer.warehouse, input.of_customer.number].map(Argument::from);
        let text = Argument::Text(&text[..length]);
        let history = [cd, cw, customer.into(), d, w, Argument::Now, amount, text];
        work.change(self.history, &history)?;
        Ok(Outcome::Done)
    }

    /// Takes the amount off the customer's balance and says who that is.
    fn pay<C: Client, K: Clock>(
        &self,
        input: &Payment,
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<i64, Failure> {
        let [cw, cd] = [input.of_customer.warehouse, input.of_customer.number].map(Argument::from);
        let customer = match &input.customer {
            Customer::Id(id) => *id,
            Customer::Name { text, length } => {
                found.begin_name();
                let name = Argument::Text(&text[..*length]);
                let answer = work.fetch(self.by_name, &[cw, cd, name], |row| {
                    found.add(integer(row));
                })?;
                work.expect(answer.rows, 1..=u64::MAX);
                found.middle()
            }
        };
        let (id, amount): (Argument<'_>, Argument<'_>) = (customer.into(), input.amount.into());
        let mut has_bad_credit = false;
        work.one(self.customer, &[cw, cd, id], |row| {
            skip(row, 9);
            let mut credit = [0; 2];
            copy(row, &mut credit);
            has_bad_credit = &credit == b"BC";
        })?;
        if !has_bad_credit {
            work.change(self.pay, &[amount, amount, cw, cd, id])?;
            return Ok(customer);
        }
        let (old, mut length) = (&mut found.text[..DATA_MAX], 0);
        work.one(self.data, &[cw, cd, id], |row| length = copy(row, old))?;
        let made = made(&mut found.made, input, customer, &found.text[..length]);
        let data = Argument::Text(&found.made[..made]);
        work.change(self.pay_with_data, &[amount, amount, data, cw, cd, id])?;
        Ok(customer)
    }
}

/// Between the names of warehouse and district.
const BETWEEN: &[u8] = b"    ";

/// The name of a warehouse or a district.
#[derive(Default)]
struct Name {
    text: [u8; PLACE_MAX],
    length: usize,
}

impl Name {
    /// The name behind the five parts of an address.
    fn behind_address(row: &mut dyn crate::wire::Row) -> Self {
        let mut place = Self::default();
        skip(row, 5);
        place.length = copy(row, &mut place.text);
        place
    }

    fn name(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

/// Writes parts one behind the other and returns their length.
fn together(text: &mut [u8], parts: [&[u8]; 3]) -> usize {
    let mut length = 0;
    for part in parts {
        let end = (length + part.len()).min(text.len());
        text[length..end].copy_from_slice(&part[..end - length]);
        length = end;
    }
    length
}

/// The new text about a customer with bad credit: this payment, then as much of the old text as
/// there is room for. Returns its length.
fn made(text: &mut [u8; 512], input: &Payment, customer: i64, old: &[u8]) -> usize {
    let mut rest = &mut text[..DATA_MAX];
    let (of, by) = (input.of_customer, input.district);
    let amount = input.amount;
    // What does not fit is cut off.
    let _ = write!(
        rest,
        "{customer} {} {} {} {} {}.{:02}|",
        of.number,
        of.warehouse,
        by.number,
        by.warehouse,
        amount / 100,
        amount % 100
    );
    let length = old.len().min(rest.len());
    rest[..length].copy_from_slice(&old[..length]);
    let unused = rest.len() - length;
    DATA_MAX - unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::tpcc::inputs::District;

    #[test]
    fn a_payment_comes_before_what_was_known_of_a_customer() {
        let input = Payment {
            district: District { warehouse: 4, number: 3 },
            of_customer: District { warehouse: 2, number: 1 },
            amount: 12_305,
            ..Payment::default()
        };
        let mut text = [0; 512];
        let length = made(&mut text, &input, 77, b"old");
        assert_eq!(&text[..length], b"77 1 2 3 4 123.05|old");
        let length = made(&mut text, &input, 77, &[b'x'; 500]);
        assert_eq!((length, text[499], text[500]), (500, b'x', 0));
    }
}
