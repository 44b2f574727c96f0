//! NewOrder (clause 2.4.2).

use super::{
    Found, INTEGER, cents, copy,
    inputs::{Line, NewOrder},
    integer, lock, real, skip,
};
use crate::clock::Clock;
use crate::transaction::{Argument, Outcome, Setup, Statement, Work};
use crate::wire::{Client, Failure, Parameter};
use model::workload::Class;
use std::hint::black_box;

/// Length of the text about a district that a stock has.
const DISTRICT_INFO: usize = 24;

pub(super) struct Statements {
    customer: Statement,
    district: Statement,
    next_order: Statement,
    order: Statement,
    queue: Statement,
    item: Statement,
    stock: Statement,
    take: Statement,
    line: Statement,
}

impl Statements {
    pub(super) fn new(setup: &mut Setup<'_>) -> Self {
        let lock = lock(setup);
        let integers = vec![INTEGER; 10];
        let order = [&integers[..4], &[Parameter::Time], &integers[..2]].concat();
        let line = [&integers[..8], &[Parameter::Varying(DISTRICT_INFO)]].concat();
        let districts: Vec<String> = (1..=10).map(|number| format!("s_dist_{number:02}")).collect();
        let stock = format!(
            "SELECT s_quantity, s_data, {} FROM stock WHERE s_i_id = ? AND s_w_id = ?{lock}",
            districts.join(", ")
        );
        let district =
            format!("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ?{lock}");
        Self {
            customer: setup.statement(
                Class::Read,
                "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
                 WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
                &integers[..3],
            ),
            district: setup.statement(Class::Read, &district, &integers[..2]),
            next_order: setup.statement(
                Class::Write,
                "UPDATE district SET d_next_o_id = ? + 1 WHERE d_w_id = ? AND d_id = ?",
                &integers[..3],
            ),
            order: setup.statement(
                Class::Write,
                "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, \
                 o_all_local) VALUES (?, ?, ?, ?, ?, ?, ?)",
                &order,
            ),
            queue: setup.statement(
                Class::Write,
                "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
                &integers[..3],
            ),
            item: setup.statement(
                Class::Read,
                "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
                &integers[..1],
            ),
            stock: setup.statement(Class::Read, &stock, &integers[..2]),
            take: setup.statement(
                Class::Write,
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, \
                 s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
                 WHERE s_i_id = ? AND s_w_id = ?",
                &integers[..5],
            ),
            line: setup.statement(
                Class::Write,
                "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
                 ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ? * 0.01, ?)",
                &line,
            ),
        }
    }

    pub(super) fn attempt<C: Client, K: Clock>(
        &self,
        input: &NewOrder,
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let (w, d) = (input.district.warehouse.into(), input.district.number.into());
        let customer: Argument<'_> = input.customer.into();
        let (mut discount, mut tax, mut order) = (0.0, 0.0, 0);
        work.one(self.customer, &[w, d, customer], |row| {
            discount = real(row);
            skip(row, 2);
            tax = real(row);
        })?;
        work.one(self.district, &[w, d], |row| {
            order = integer(row);
            tax += real(row);
        })?;
        work.change(self.next_order, &[order.into(), w, d])?;
        let order = order.into();
        let (count, is_local) = (input.lines().len() as i64, i64::from(input.is_local));
        let values = [order, d, w, customer, Argument::Now, count.into(), is_local.into()];
        work.change(self.order, &values)?;
        work.change(self.queue, &[order, d, w])?;
        let mut total = 0;
        for (number, line) in (1..).zip(input.lines()) {
            let key = [order, d, w, Argument::Integer(number)];
            match self.line(input, (line, key), found, work)? {
                Some(amount) => total += amount,
                None => return work.roll_back(),
            }
        }
        // What the terminal shows.
        black_box(total as f64 / 100.0 * (1.0 - discount) * (1.0 + tax));
        Ok(Outcome::Done)
    }

    /// One line with its key; its amount in cents, or none if there is no such item.
    fn line<C: Client, K: Clock>(
        &self,
        input: &NewOrder,
        (line, key): (&Line, [Argument<'_>; 4]),
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Option<i64>, Failure> {
        let mut price = None;
        let item: Argument<'_> = line.item.into();
        work.fetch(self.item, &[item], |row| price = Some(cents(row)))?;
        let Some(price) = price else { return Ok(None) };
        let (mut quantity, mut length) = (0, 0);
        let info = &mut found.text[..DISTRICT_INFO];
        let before = input.district.number as usize;
        let supply: Argument<'_> = line.supply.into();
        work.one(self.stock, &[item, supply], |row| {
            quantity = integer(row);
            skip(row, before);
            length = copy(row, info);
        })?;
        let rest = left(quantity, line.quantity);
        let remote = i64::from(line.supply != input.district.warehouse);
        let (taken, amount) = (line.quantity.into(), price * line.quantity);
        work.change(self.take, &[rest.into(), taken, remote.into(), item, supply])?;
        let [order, d, w, number] = key;
        let info = Argument::Text(&found.text[..length]);
        let values = [order, d, w, number, item, supply, taken, amount.into(), info];
        work.change(self.line, &values)?;
        Ok(Some(amount))
    }
}

/// What is left of a stock, which is filled up before it becomes small.
fn left(quantity: i64, taken: i64) -> i64 {
    if quantity >= taken + 10 { quantity - taken } else { quantity - taken + 91 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_stock_is_filled_up() {
        assert_eq!([left(20, 10), left(19, 10), left(11, 1)], [10, 100, 10]);
    }
}
