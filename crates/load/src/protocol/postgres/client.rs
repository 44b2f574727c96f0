//! The measured connection: messages that are encoded once and patched in place.
//!
//! A prepared statement travels as libpq sends it for sysbench: Bind, Describe of the portal,
//! Execute and Sync in one write, results in binary. The arguments are binary as well, which libpq
//! leaves to its caller: only so have they a fixed place, and reading them costs the server less
//! than parsing text.

use super::{
    Connection,
    message::{self, Binary},
    reply::{COLUMNS_MAX, Reply, Taker},
    whole,
};
use crate::wire::{
    Answer, Client, Dialog, Draft, Failure, Row, Session, Sql,
    encoder::{Encoder, Statement},
    rows::Each,
};
use model::{drive::Target, workload::Mode};

/// A measured PostgreSQL connection.
pub(in crate::protocol) struct Postgres {
    connection: Connection,
    encoder: Encoder<Binary>,
    /// How many statements are prepared, and so what they are called.
    prepared: usize,
    /// Types of the columns of the rows at hand.
    types: Vec<u32>,
}

impl Client for Postgres {
    fn connect(target: &Target) -> Result<Self, Failure> {
        Ok(Self {
            connection: Connection::open(target)?,
            encoder: Encoder::new(),
            prepared: 0,
            types: Vec::with_capacity(COLUMNS_MAX),
        })
    }

    fn session(target: &Target) -> Result<Box<dyn Session>, Failure> {
        super::session::open(target)
    }

    fn dialog(target: &Target) -> Result<Box<dyn Dialog>, Failure> {
        super::dialog::open(target)
    }

    fn lend(&self) -> Result<Box<dyn Dialog>, Failure> {
        Ok(super::dialog::on(self.connection.twin()?))
    }

    fn server_id(&self) -> u64 {
        u64::from(self.connection.backend)
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.encoder.clear();
        (0..std::mem::take(&mut self.prepared)).try_for_each(|number| {
            self.connection.channel.send(&message::close(number))?;
            self.connection.answer().map(drop)
        })
    }

    fn prepare(&mut self, sql: &Sql) -> Result<(), Failure> {
        if sql.mode == Mode::Text {
            message::push_text(&mut self.encoder, sql);
            return Ok(());
        }
        let text = sql.marked(|position| format!("${}", position + 1));
        let number = self.prepared;
        self.connection.channel.send(&message::parse(number, &text, sql))?;
        self.connection.answer().map_err(|failure| failure.in_statement(&text))?;
        self.prepared += 1;
        message::push(&mut self.encoder, number, sql)
    }

    #[inline]
    fn begin(&mut self, index: usize) {
        self.encoder.begin(index);
    }

    #[inline(always)]
    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool {
        self.encoder.compose(write)
    }

    #[inline(always)]
    fn integer(&mut self, value: i64) {
        self.encoder.integer(value);
    }

    #[inline]
    fn text(&mut self, template: &[u8]) -> &mut [u8] {
        self.encoder.text(template)
    }

    #[inline]
    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.encoder.varying(head, tail);
    }

    #[inline]
    fn execute(&mut self) -> Result<Answer, Failure> {
        self.send()?;
        self.connection.channel.receive()?;
        if let Some(answer) = whole::read(self.connection.channel.unread()) {
            self.connection.channel.clear();
            return Ok(answer);
        }
        self.connection.answer()
    }

    fn fetch(&mut self, take: &mut dyn FnMut(&mut dyn Row)) -> Result<Answer, Failure> {
        self.send()?;
        let statement = &self.encoder.statements[self.encoder.current];
        let binary = !matches!(statement, Statement::Text(_));
        let mut rows = Each(take);
        let taker = Taker { rows: &mut rows, types: &mut self.types, binary };
        let mut reply = Reply::new(Some(taker));
        self.connection.read(&mut reply)?;
        reply.into_answer()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.connection.execute("ROLLBACK").map(drop)
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        self.connection.execute("SELECT 1").map(drop)
    }

    /// Else a session publishes once a second at most; before 15 it cannot be asked.
    fn publish(&mut self) -> Result<(), Failure> {
        match major(&self.connection.server_version) {
            Some(15..) => self.connection.execute("SELECT pg_stat_force_next_flush()").map(drop),
            _ => Ok(()),
        }
    }
}

impl Postgres {
    #[inline]
    fn send(&mut self) -> Result<(), Failure> {
        let encoder = &mut self.encoder;
        let channel = &mut self.connection.channel;
        let sent = match &encoder.statements[encoder.current] {
            Statement::Whole(place) => channel.send(&encoder.arena[place.start..place.end]),
            Statement::Appended(place) => {
                let tail = &encoder.arena[place.arguments..place.end];
                message::complete(&mut encoder.scratch, tail);
                channel.send(&encoder.scratch)
            }
            Statement::Text(_) => {
                let message = encoder.text.text();
                message::finish(message)?;
                channel.send(message)
            }
        };
        sent.map_err(|failure| self.connection.farewell(failure))
    }
}

/// The first number of a version, such as `18.1`, `19devel` or `19beta1`.
fn major(version: &str) -> Option<u32> {
    version.split(|next: char| !next.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_not_released_has_its_number_too() {
        let check = |version: &str, expected| assert_eq!(major(version), expected, "{version}");
        check("18.1", Some(18));
        check("15.4 (Debian 15.4-1)", Some(15));
        check("9.6.24", Some(9));
        check("19devel", Some(19));
        check("19beta1", Some(19));
        check("devel", None);
        check("", None);
    }
}
