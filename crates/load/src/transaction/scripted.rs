//! Events of a user's own script.

use super::{Outcome, Transaction, Work};
use crate::{
    clock::Clock,
    scripts::{Counted, Events},
    wire::{Client, Failure},
};
use values::Random;

/// The events of one connection, which work on it by a dialog of their own.
pub(crate) struct Scripted(pub(crate) Box<dyn Events>);

impl Transaction for Scripted {
    fn draw(&mut self, _op: usize, _random: &mut Random) {}

    fn attempt<C: Client, K: Clock>(
        &mut self,
        _op: usize,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let mut counted = Counted::default();
        let ended = self.0.attempt(&mut counted);
        let tally = &mut *work.tally;
        tally.reads += counted.reads;
        tally.writes += counted.writes;
        tally.others += counted.others;
        tally.rows_read += counted.rows_read;
        tally.rows_changed += counted.rows_changed;
        ended.map(|()| Outcome::Done)
    }
}
