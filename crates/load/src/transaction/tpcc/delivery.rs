//! Delivery (clause 2.7.4): the oldest order of each district of a warehouse, in one transaction or
//! in several.

use super::{Found, INTEGER, cents, inputs::Delivery, integer, lock};
use crate::clock::Clock;
use crate::keys::tpcc::{DISTRICTS, LINES};
use crate::transaction::{Argument, Outcome, Setup, Statement, Work};
use crate::wire::{Client, Failure, Parameter};
use model::{coded::DELIVERY_DISTRICTS, workload::Class};

pub(super) struct Statements {
    /// Districts of a transaction.
    together: u64,
    oldest: Statement,
    remove: Statement,
    customer: Statement,
    carrier: Statement,
    lines: Statement,
    amount: Statement,
    pay: Statement,
}

impl Statements {
    pub(super) fn new(setup: &mut Setup<'_>) -> Self {
        let integers = vec![INTEGER; 4];
        let together = setup.number(DELIVERY_DISTRICTS, DISTRICTS as i64).max(1) as u64;
        let oldest = format!(
            "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ? \
             ORDER BY no_o_id LIMIT 1{}",
            lock(setup)
        );
        let delivered = [&[Parameter::Time][..], &integers[..3]].concat();
        let of_order = "WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
        let of_lines = "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
        let mut statement =
            |class: Class, sql: &str, types: &[Parameter]| setup.statement(class, sql, types);
        Self {
            together,
            oldest: statement(Class::Read, &oldest, &integers[..2]),
            remove: statement(
                Class::Write,
                "DELETE FROM new_orders WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
                &integers[..3],
            ),
            customer: statement(
                Class::Read,
                &format!("SELECT o_c_id FROM orders {of_order}"),
                &integers[..3],
            ),
            carrier: statement(
                Class::Write,
                &format!("UPDATE orders SET o_carrier_id = ? {of_order}"),
                &integers,
            ),
            lines: statement(
                Class::Write,
                &format!("UPDATE order_line SET ol_delivery_d = ? {of_lines}"),
                &delivered,
            ),
            amount: statement(
                Class::Read,
                &format!("SELECT SUM(ol_amount) FROM order_line {of_lines}"),
                &integers[..3],
            ),
            pay: statement(
                Class::Write,
                "UPDATE customer SET c_balance = c_balance + ? * 0.01, \
                 c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                &integers,
            ),
        }
    }

    /// Goes on behind the districts that an attempt before has committed.
    pub(super) fn attempt<C: Client, K: Clock>(
        &self,
        input: &Delivery,
        [begin, commit]: [Statement; 2],
        found: &mut Found,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let (w, carrier) = (input.warehouse.into(), input.carrier.into());
        while found.served < DISTRICTS {
            let (end, mut skipped) = ((found.served + self.together).min(DISTRICTS), 0);
            work.execute(begin, &[])?;
            for district in (found.served as i64 + 1..=end as i64).map(Argument::from) {
                match self.oldest([w, district], work)? {
                    Some(order) => self.deliver([w, district, order.into()], carrier, work)?,
                    None => skipped += 1,
                }
            }
            work.execute(commit, &[])?;
            found.served = end;
            found.skipped += skipped;
        }
        Ok(Outcome::Done)
    }

    /// Takes the oldest order of a district out of the queue; none if the queue is empty.
    fn oldest<C: Client, K: Clock>(
        &self,
        [w, d]: [Argument<'_>; 2],
        work: &mut Work<'_, C, K>,
    ) -> Result<Option<i64>, Failure> {
        loop {
            let mut oldest = None;
            work.fetch(self.oldest, &[w, d], |row| oldest = Some(integer(row)))?;
            let Some(order) = oldest else { return Ok(None) };
            // Another client may have taken it where the look-up did not wait for that one.
            let removed = work.execute(self.remove, &[w, d, order.into()])?;
            if removed.changed > 0 {
                return Ok(Some(order));
            }
        }
    }

    /// Delivers the order with this key.
    fn deliver<C: Client, K: Clock>(
        &self,
        [w, d, order]: [Argument<'_>; 3],
        carrier: Argument<'_>,
        work: &mut Work<'_, C, K>,
    ) -> Result<(), Failure> {
        let (mut customer, mut amount) = (0, 0);
        work.one(self.customer, &[w, d, order], |row| customer = integer(row))?;
        work.change(self.carrier, &[carrier, w, d, order])?;
        let changed = work.execute(self.lines, &[Argument::Now, w, d, order])?.changed;
        work.expect(changed, LINES.0..=LINES.1);
        work.one(self.amount, &[w, d, order], |row| amount = cents(row))?;
        work.change(self.pay, &[amount.into(), w, d, customer.into()])
    }
}
