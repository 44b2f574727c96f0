//! StockLevel (clause 2.8.2).

use super::{INTEGER, inputs::StockLevel, integer};
use crate::clock::Clock;
use crate::transaction::{Argument, Outcome, Setup, Statement, Work};
use crate::wire::{Client, Failure};
use model::workload::Class;

/// Orders that are looked at: the newest ones.
const ORDERS: i64 = 20;

pub(super) struct Statements {
    next_order: Statement,
    low: Statement,
}

impl Statements {
    pub(super) fn new(setup: &mut Setup<'_>) -> Self {
        let integers = vec![INTEGER; 6];
        Self {
            next_order: setup.statement(
                Class::Read,
                "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
                &integers[..2],
            ),
            low: setup.statement(
                Class::Read,
                "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? \
                 AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
                &integers,
            ),
        }
    }

    pub(super) fn attempt<C: Client, K: Clock>(
        &self,
        input: &StockLevel,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let (w, d) = (input.district.warehouse.into(), input.district.number.into());
        let mut next = 0;
        work.one(self.next_order, &[w, d], |row| next = integer(row))?;
        let (until, from): (Argument<'_>, Argument<'_>) = (next.into(), (next - ORDERS).into());
        work.one(self.low, &[w, d, until, from, w, input.threshold.into()], |row| {
            integer(row);
        })?;
        Ok(Outcome::Done)
    }
}
