//! No server: every statement succeeds at once and does what is expected of it.
//!
//! What an operation costs with the client is the engine's own cost.

use crate::wire::{
    Answer, Client, Destination, Draft, Failure, LoadMethod, Row, RowSink, RowSource, Rows,
    Session, Split, Sql, Value,
    pieces::{Pieces, TextBuffer},
};
use model::{drive::Target, workload::Mode};
use std::hint::black_box;

/// The null client.
#[derive(Debug, Default)]
pub struct Null {
    answers: Vec<Answer>,
    /// The pieces of the statements that are sent as text.
    pieces: Vec<Option<Pieces>>,
    text: TextBuffer,
    template: Vec<u8>,
    current: usize,
}

impl Client for Null {
    fn connect(_target: &Target) -> Result<Self, Failure> {
        Ok(Self::default())
    }

    fn session(_target: &Target) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(NullSession))
    }

    fn server_id(&self) -> u64 {
        0
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.answers.clear();
        self.pieces.clear();
        Ok(())
    }

    fn prepare(&mut self, sql: &Sql) -> Result<(), Failure> {
        let (rows, changed) = sql.expected;
        self.answers.push(Answer { rows, changed });
        let pieces = (sql.mode == Mode::Text).then(|| Pieces::new(&[], sql));
        pieces.iter().for_each(|pieces| self.text.fit(pieces));
        self.pieces.push(pieces);
        let longest = sql.parameters.iter().map(|parameter| parameter.template().len()).max();
        let length = self.template.len().max(longest.unwrap_or_default());
        self.template.resize(length, 0);
        Ok(())
    }

    #[inline]
    fn begin(&mut self, index: usize) {
        self.current = index;
    }

    #[inline(always)]
    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool {
        let Some(pieces) = &self.pieces[self.current] else { return false };
        self.text.write(pieces, write);
        black_box(self.text.text());
        true
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        black_box(value);
    }

    #[inline]
    fn text(&mut self, template: &[u8]) -> &mut [u8] {
        &mut self.template[..template.len()]
    }

    #[inline]
    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        black_box((head, tail));
    }

    #[inline]
    fn execute(&mut self) -> Result<Answer, Failure> {
        Ok(black_box(self.answers[self.current]))
    }

    fn fetch(&mut self, take: &mut dyn FnMut(&mut dyn Row)) -> Result<Answer, Failure> {
        take(&mut Ones);
        self.execute()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A row of ones.
struct Ones;

impl Row for Ones {
    fn next(&mut self) -> Option<Value<'_>> {
        Some(Value::Integer(1))
    }
}

/// The session beside the null client.
struct NullSession;

impl Session for NullSession {
    fn query(&mut self, _: &str) -> Result<Rows, Failure> {
        Ok(Rows::default())
    }

    fn server_version(&self) -> &str {
        "null"
    }

    fn load_method(&mut self, _: &str) -> Result<LoadMethod, Failure> {
        Ok(LoadMethod { name: "nothing", split: Split::Ranges })
    }

    fn load(&mut self, _: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, Failure> {
        let mut count = Count(0);
        while rows.next_row(&mut count) {}
        Ok(count.0)
    }
}

/// Counts rows.
struct Count(u64);

impl RowSink for Count {
    fn integer(&mut self, _: i64) {}

    fn text(&mut self, _: &[u8]) {}

    fn vector(&mut self, _: &[f32]) {}

    fn null(&mut self) {}

    fn end_row(&mut self) {
        self.0 += 1;
    }
}
