//! The measured connection: packets that are encoded once and patched in place.
//!
//! A prepared statement travels as sysbench over libmariadb sends it: the types of the arguments
//! with the first execution only, 64-bit integers and VAR_STRINGs, no cursor. Statements that a
//! server does not prepare (BEGIN, error 1295) are sent as text, as sysbench does too.

use super::{
    COM_QUERY, Connection, UNSUPPORTED_PREPARE,
    execution::{self, Binary},
    reply::{Reply, RowFormat},
    row::{Column, Described},
    whole,
};
use crate::wire::{
    Answer, Client, Dialog, Draft, Failure, Row, Session, Sql,
    encoder::{Encoder, Statement},
    rows::Each,
};
use model::{drive::Target, workload::Mode};

/// Head of the packet of a text.
const TEXT_HEAD: [u8; 5] = [0, 0, 0, 0, COM_QUERY];

/// A measured MySQL connection.
pub(in crate::protocol) struct Mysql {
    connection: Connection,
    encoder: Encoder<Binary>,
    /// Of each statement that was not executed yet: what takes its place then.
    next: Vec<Option<Statement>>,
    /// Columns of each statement's result; `None` of those that are sent as text.
    columns: Vec<Option<Vec<Column>>>,
    /// Numbers of the prepared statements, to be closed with them.
    prepared: Vec<u32>,
}

impl Client for Mysql {
    fn connect(target: &Target) -> Result<Self, Failure> {
        Ok(Self {
            connection: Connection::open(target)?,
            encoder: Encoder::new(),
            next: Vec::new(),
            columns: Vec::new(),
            prepared: Vec::new(),
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
        u64::from(self.connection.id)
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.encoder.clear();
        self.next.clear();
        self.columns.clear();
        std::mem::take(&mut self.prepared).into_iter().try_for_each(|id| self.connection.close(id))
    }

    fn prepare(&mut self, sql: &Sql) -> Result<(), Failure> {
        let (mut next, mut columns) = (None, None);
        match self.prepared(sql)? {
            Some(prepared) => {
                next = execution::push(&mut self.encoder, prepared.id, sql)?;
                columns = Some(prepared.columns);
            }
            None => self.encoder.push_text(&TEXT_HEAD, sql),
        }
        self.next.push(next);
        self.columns.push(columns);
        Ok(())
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
        self.connection.packets.channel.receive()?;
        let unread = self.connection.packets.channel.unread();
        if let Some(answer) = whole::read(unread, self.connection.definitions) {
            self.connection.packets.channel.clear();
            return Ok(answer);
        }
        self.connection.answer()
    }

    fn fetch(&mut self, take: &mut dyn FnMut(&mut dyn Row)) -> Result<Answer, Failure> {
        self.send()?;
        let texts = self.connection.definition_texts;
        let format = match &mut self.columns[self.encoder.current] {
            Some(columns) => RowFormat::Binary(Described { columns, texts }),
            None => RowFormat::Text,
        };
        let mut take = Each(take);
        let definitions = self.connection.definitions;
        self.connection.read(&mut Reply::new(definitions, format, Some(&mut take)))
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.connection.execute("ROLLBACK").map(drop)
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        self.connection.execute("DO 1").map(drop)
    }
}

impl Mysql {
    #[inline]
    fn send(&mut self) -> Result<(), Failure> {
        let encoder = &mut self.encoder;
        match &encoder.statements[encoder.current] {
            Statement::Whole(message) => {
                self.connection.packets.channel.send(&encoder.arena[message.start..message.end])
            }
            Statement::Appended(_) => self.send_appended(),
            Statement::Text(_) => {
                let packet = encoder.text.text();
                execution::finish(packet)?;
                self.connection.packets.channel.send(packet)
            }
        }
    }

    /// Sends what was put together; from then on the server knows the types of its arguments.
    #[inline(never)]
    fn send_appended(&mut self) -> Result<(), Failure> {
        execution::finish(&mut self.encoder.scratch)?;
        self.connection.packets.channel.send(&self.encoder.scratch)?;
        let current = self.encoder.current;
        if let Some(next) = self.next[current].take() {
            self.encoder.statements[current] = next;
        }
        Ok(())
    }

    /// Prepares one statement; `None` if it is to be sent as text, also because the server will not
    /// prepare it.
    fn prepared(&mut self, sql: &Sql) -> Result<Option<super::Prepared>, Failure> {
        if sql.mode == Mode::Text {
            return Ok(None);
        }
        let text = sql.marked(|_| "?".to_owned());
        let given = sql.parameters.len();
        let prepared = match self.connection.prepare(&text) {
            Ok(prepared) => prepared,
            Err(failure) if failure.code() == UNSUPPORTED_PREPARE && given == 0 => {
                return Ok(None);
            }
            Err(failure) => return Err(failure.in_statement(&text)),
        };
        self.prepared.push(prepared.id);
        if usize::from(prepared.parameters) == given {
            return Ok(Some(prepared));
        }
        let wanted = prepared.parameters;
        Err(Failure::own(format!("`{text}` has {wanted} arguments, but gets {given}")))
    }
}
