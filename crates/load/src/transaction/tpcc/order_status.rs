//! OrderStatus (clause 2.6.2).

use super::{
    Found, INTEGER,
    inputs::{Customer, LINES_MAX, OrderStatus},
    integer,
};
use crate::clock::Clock;
use crate::keys::tpcc::{LINES, NAME_MAX};
use crate::transaction::{Argument, Outcome, Setup, Statement, Work};
use crate::wire::{Client, Failure, Parameter};
use model::workload::Class;

pub(super) struct Statements {
    by_id: Statement,
    by_name: Statement,
    order: Statement,
    lines: Statement,
}

impl Statements {
    pub(super) fn new(setup: &mut Setup<'_>) -> Self {
        let integers = vec![INTEGER; 3];
        let names = [&integers[..2], &[Parameter::Varying(NAME_MAX)]].concat();
        let columns = "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer";
        let mut read = |sql: &str, types: &[Parameter]| setup.statement(Class::Read, sql, types);
        Self {
            by_id: read(
                &format!("{columns} WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"),
                &integers,
            ),
            by_name: read(
                &format!(
                    "{columns} WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first"
                ),
                &names,
            ),
            order: read(
                "SELECT o_id, o_carrier_id, o_entry_d FROM orders \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
                &integers,
            ),
            lines: read(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
                 FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                &integers,
            ),
        }
    }

    pub(super) fn attempt<C: Client, K: Clock>(
        &self,
        input: &OrderStatus,
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let (w, d) = (input.district.warehouse.into(), input.district.number.into());
        let (statement, asked) = match &input.customer {
            Customer::Id(id) => (self.by_id, Argument::Integer(*id)),
            Customer::Name { text, length } => (self.by_name, Argument::Text(&text[..*length])),
        };
        found.begin_name();
        let answer = work.fetch(statement, &[w, d, asked], |row| found.add(integer(row)))?;
        work.expect(answer.rows > 0);
        let mut order = 0;
        work.one(self.order, &[w, d, found.middle().into()], |row| order = integer(row))?;
        let answer = work.execute(self.lines, &[w, d, order.into()])?;
        work.expect((LINES.0..=LINES_MAX as u64).contains(&answer.rows));
        Ok(Outcome::Done)
    }
}
