//! A client without a server: every statement succeeds at once and does what is expected of it.
//!
//! What an operation costs with it is the engine's own cost.

use super::{Answer, Client, Draft, Failure};
use crate::pieces::{Pieces, Sheet};
use crate::program::{Parameter, Program, Sql, TIME_TEXT};
use model::{drive::Target, workload::Mode};
use std::hint::black_box;

/// The null client.
#[derive(Debug, Default)]
pub struct Null {
    answers: Vec<Answer>,
    /// The pieces of the statements that are sent as text.
    pieces: Vec<Option<Pieces>>,
    sheet: Sheet,
    text: Vec<u8>,
    current: usize,
}

impl Client for Null {
    fn connect(_target: &Target) -> Result<Self, Failure> {
        Ok(Self::default())
    }

    fn server_id(&self) -> u64 {
        0
    }

    fn prepare(&mut self, program: &Program) -> Result<(), Failure> {
        let answer = |(rows, changed)| Answer { rows, changed, captured: Some(1) };
        self.answers = program.sql.iter().map(|sql| answer(sql.expected)).collect();
        let text = |sql: &Sql| (sql.mode == Mode::Text).then(|| Pieces::new(&[], sql));
        self.pieces = program.sql.iter().map(text).collect();
        self.sheet.fit(self.pieces.iter().flatten());
        let texts = program.sql.iter().flat_map(|sql| &sql.parameters);
        let longest = texts.map(|parameter| match parameter {
            Parameter::Integer | Parameter::Varying(_) => 0,
            Parameter::Text(template) => template.len(),
            Parameter::Time => TIME_TEXT.len(),
        });
        self.text = vec![0; longest.max().unwrap_or_default()];
        Ok(())
    }

    #[inline]
    fn begin(&mut self, index: usize) {
        self.current = index;
    }

    #[inline(always)]
    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool {
        let Some(pieces) = &self.pieces[self.current] else { return false };
        self.sheet.write(pieces, write);
        black_box(self.sheet.text());
        true
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        black_box(value);
    }

    #[inline]
    fn text(&mut self, template: &[u8]) -> &mut [u8] {
        &mut self.text[..template.len()]
    }

    #[inline]
    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        black_box((head, tail));
    }

    #[inline]
    fn execute(&mut self) -> Result<Answer, Failure> {
        Ok(black_box(self.answers[self.current]))
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
