//! Statements of a client: messages that are encoded once and patched in place.

use super::{Draft, Parameter, Sql, pieces::Pieces, pieces::TextBuffer};
use std::marker::PhantomData;

/// How a protocol encodes arguments.
pub(crate) trait Format {
    /// Bytes in front of an integer that tell its length.
    const INTEGER_HEAD: usize;

    /// The eight bytes of an integer.
    fn integer(value: i64) -> [u8; 8];

    /// Bytes in front of a text of so many bytes that tell its length.
    fn text_head(length: usize) -> usize;

    /// Appends the length of a value.
    fn push_length(bytes: &mut Vec<u8>, length: usize);
}

/// A statement ready to be sent.
#[derive(Debug)]
pub(crate) enum Statement {
    /// A message that lies in the arena with its arguments.
    Whole(Message),
    /// One that is put together anew each time, because not all arguments have always the same
    /// length, or because it is sent only once.
    Appended(Message),
    /// Pieces of a text around its arguments; the first has the message's head before it.
    Text(Pieces),
}

/// Where a message lies in the arena.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    /// First byte.
    pub(crate) start: usize,
    /// Where the arguments begin, or are to be put in.
    pub(crate) arguments: usize,
    /// Byte after the last.
    pub(crate) end: usize,
}

/// The statements of a connection, and the one whose arguments are being given.
pub(crate) struct Encoder<F> {
    pub(crate) statements: Vec<Statement>,
    /// All messages, one behind the other.
    pub(crate) arena: Vec<u8>,
    /// A message under construction.
    pub(crate) scratch: Vec<u8>,
    /// A text under construction.
    pub(crate) text: TextBuffer,
    pub(crate) current: usize,
    /// Place of the next argument in the arena.
    cursor: usize,
    /// Whether arguments are appended to the scratch, and not put in their place in the arena.
    appends: bool,
    format: PhantomData<F>,
}

impl<F: Format> Encoder<F> {
    pub(crate) fn new() -> Self {
        Self {
            statements: Vec::new(),
            arena: Vec::new(),
            scratch: Vec::new(),
            text: TextBuffer::default(),
            current: 0,
            cursor: 0,
            appends: false,
            format: PhantomData,
        }
    }

    /// Forgets all statements.
    pub(crate) fn clear(&mut self) {
        self.statements.clear();
        self.arena.clear();
    }

    /// Adds a statement that is sent as text, with the head of its message.
    pub(crate) fn push_text(&mut self, head: &[u8], sql: &Sql) {
        let pieces = Pieces::new(head, sql);
        self.text.fit(&pieces);
        self.statements.push(Statement::Text(pieces));
    }

    /// Adds a statement whose message lies in the arena and has at most `length_max` bytes.
    pub(crate) fn push(&mut self, statement: Statement, length_max: usize) {
        self.scratch.clear();
        self.scratch.reserve(length_max);
        self.statements.push(statement);
    }

    #[inline]
    pub(crate) fn begin(&mut self, index: usize) {
        self.current = index;
        match &self.statements[index] {
            Statement::Whole(message) => {
                self.appends = false;
                self.cursor = message.arguments;
            }
            Statement::Appended(message) => {
                self.appends = true;
                self.scratch.clear();
                self.scratch.extend_from_slice(&self.arena[message.start..message.arguments]);
            }
            Statement::Text(_) => {}
        }
    }

    #[inline(always)]
    pub(crate) fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool {
        let Statement::Text(pieces) = &self.statements[self.current] else { return false };
        self.text.write(pieces, write);
        true
    }

    #[inline(always)]
    pub(crate) fn integer(&mut self, value: i64) {
        if self.appends {
            self.append_integer(value);
        } else {
            let start = self.cursor + F::INTEGER_HEAD;
            let end = start + 8;
            self.arena[start..end].copy_from_slice(&F::integer(value));
            self.cursor = end;
        }
    }

    #[inline]
    pub(crate) fn text(&mut self, template: &[u8]) -> &mut [u8] {
        if self.appends {
            let start = self.append_text(template, &[]);
            return &mut self.scratch[start..start + template.len()];
        }
        let start = self.cursor + F::text_head(template.len());
        self.cursor = start + template.len();
        &mut self.arena[start..self.cursor]
    }

    #[inline]
    pub(crate) fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.append_text(head, tail);
    }

    /// Appends an integer; apart, to keep the path of whole messages short.
    #[inline(never)]
    fn append_integer(&mut self, value: i64) {
        push_integer::<F>(&mut self.scratch, value);
    }

    /// Appends a text in two parts and returns where it starts.
    #[inline(never)]
    fn append_text(&mut self, head: &[u8], tail: &[u8]) -> usize {
        F::push_length(&mut self.scratch, head.len() + tail.len());
        let start = self.scratch.len();
        self.scratch.extend_from_slice(head);
        self.scratch.extend_from_slice(tail);
        start
    }
}

/// Appends arguments as they are before the first execution.
pub(crate) fn push_arguments<F: Format>(bytes: &mut Vec<u8>, parameters: &[Parameter]) {
    for parameter in parameters {
        if *parameter == Parameter::Integer {
            push_integer::<F>(bytes, 0);
        } else {
            let template = parameter.template();
            F::push_length(bytes, template.len());
            bytes.extend_from_slice(template);
        }
    }
}

#[inline]
fn push_integer<F: Format>(bytes: &mut Vec<u8>, value: i64) {
    if F::INTEGER_HEAD > 0 {
        F::push_length(bytes, 8);
    }
    bytes.extend_from_slice(&F::integer(value));
}
