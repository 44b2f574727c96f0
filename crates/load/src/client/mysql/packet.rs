//! Encoded commands: their layout, and where their arguments are.

use super::COM_QUERY;
use super::reply::{Capture, integer};
use crate::client::{Failure, FailureKind};
use crate::pieces::Pieces;
use crate::program::{Parameter, Sql, TIME_TEXT};

/// Longest body of a packet that needs no continuation, bytes.
const BODY_MAX: usize = 0xff_fffe;
const COM_STMT_EXECUTE: u8 = 0x17;
const TYPE_LONGLONG: [u8; 2] = [8, 0];
const TYPE_VAR_STRING: [u8; 2] = [253, 0];

/// A statement ready to be sent.
#[derive(Debug)]
pub(super) enum Encoded {
    /// A prepared statement in the arena.
    Prepared(Prepared),
    /// One with an argument that is not always of the same length: its arguments are not in the
    /// arena, and each packet is put together anew.
    Varying(Prepared),
    /// Pieces of a text around its arguments; the first has the packet's head before it.
    Text {
        /// The pieces.
        pieces: Pieces,
        /// The captured value.
        capture: Capture,
    },
}

impl Encoded {
    /// A statement sent as text.
    pub(super) fn text(sql: &Sql) -> Self {
        let pieces = Pieces::new(&[0, 0, 0, 0, COM_QUERY], sql);
        Self::Text { pieces, capture: if sql.capture { Capture::Text } else { Capture::No } }
    }

    /// The pieces of a text.
    pub(super) fn pieces(&self) -> Option<&Pieces> {
        if let Self::Text { pieces, .. } = self { Some(pieces) } else { None }
    }

    /// Bytes of the longest packet of a prepared statement that is put together outside the arena.
    pub(super) fn length_max(&self) -> usize {
        match self {
            Self::Prepared(prepared) | Self::Varying(prepared) => prepared.length_max,
            Self::Text { .. } => 0,
        }
    }
}

/// A prepared statement whose packet lies in the arena as it is sent from the second time on.
#[derive(Debug)]
pub(super) struct Prepared {
    /// First byte in the arena.
    pub(super) start: usize,
    /// Byte after the last.
    pub(super) end: usize,
    /// The first argument.
    pub(super) arguments: usize,
    /// Bytes of the longest packet.
    length_max: usize,
    /// Types of the arguments, sent once.
    types: Vec<u8>,
    /// Whether the types have been sent.
    pub(super) bound: bool,
    /// The captured value.
    pub(super) capture: Capture,
}

impl Prepared {
    /// Appends the packet of statement number `id` to the arena.
    pub(super) fn encode(
        arena: &mut Vec<u8>,
        id: u32,
        (sql, capture): (&Sql, Capture),
    ) -> Result<Self, Failure> {
        let start = arena.len();
        arena.extend_from_slice(&[0, 0, 0, 0, COM_STMT_EXECUTE]);
        arena.extend_from_slice(&id.to_le_bytes());
        // No cursor; one execution.
        arena.extend_from_slice(&[0, 1, 0, 0, 0]);
        let count = sql.parameters.len();
        if count > 0 {
            // No argument is NULL; the types are those of the execution before.
            arena.resize(arena.len() + count.div_ceil(8) + 1, 0);
        }
        let arguments = arena.len();
        let mut types = Vec::with_capacity(2 * count);
        for parameter in &sql.parameters {
            types.extend_from_slice(match parameter {
                Parameter::Integer => &TYPE_LONGLONG,
                _ => &TYPE_VAR_STRING,
            });
            match parameter {
                Parameter::Integer => arena.extend_from_slice(&[0; 8]),
                Parameter::Text(template) => push_text(arena, template),
                Parameter::Time => push_text(arena, TIME_TEXT),
                Parameter::Varying(length) => {
                    push_length(arena, *length);
                    arena.resize(arena.len() + length, 0);
                }
            }
        }
        let length_max = arena.len() - start + types.len();
        length_bytes(length_max - 4)?;
        if sql.varies() {
            arena.truncate(arguments);
        }
        let body = arena.len() - start - 4;
        arena[start..start + 3].copy_from_slice(&length_bytes(body)?);
        let bound = count == 0;
        let end = arena.len();
        Ok(Self { start, end, arguments, length_max, types, bound, capture })
    }

    /// Begins a packet whose arguments are appended one by one.
    #[inline]
    pub(super) fn begin(&self, arena: &[u8], packet: &mut Vec<u8>) {
        packet.clear();
        packet.extend_from_slice(&arena[self.start..self.arguments]);
        if !self.bound {
            if let Some(new_types) = packet.last_mut() {
                *new_types = 1;
            }
            packet.extend_from_slice(&self.types);
        }
    }

    /// Writes the packet of the first execution, with the types, to `packet`.
    #[cold]
    pub(super) fn first(&self, arena: &[u8], packet: &mut Vec<u8>) {
        packet.clear();
        packet.extend_from_slice(&arena[self.start..self.arguments]);
        if let Some(new_types) = packet.last_mut() {
            *new_types = 1;
        }
        packet.extend_from_slice(&self.types);
        packet.extend_from_slice(&arena[self.arguments..self.end]);
        // The length was checked with the types when the statement was encoded.
        let body = (packet.len() - 4) as u32;
        packet[..3].copy_from_slice(&body.to_le_bytes()[..3]);
    }
}

/// A command with its packet head.
pub(super) fn command(code: u8, body: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut packet = vec![0, 0, 0, 0, code];
    packet.extend_from_slice(body);
    finish(&mut packet)?;
    Ok(packet)
}

/// Writes the length of a packet into its head.
#[inline]
pub(super) fn finish(packet: &mut [u8]) -> Result<(), Failure> {
    let body = packet.len() - 4;
    packet[..3].copy_from_slice(&length_bytes(body)?);
    Ok(())
}

#[inline]
fn length_bytes(body: usize) -> Result<[u8; 3], Failure> {
    if body > BODY_MAX {
        let message = format!("a statement of {body} bytes is too long; {BODY_MAX} can be sent");
        return Err(Failure::new(FailureKind::Statement, "client", message));
    }
    let [a, b, c, ..] = body.to_le_bytes();
    Ok([a, b, c])
}

/// Bytes before a text of so many bytes that tell its length.
#[inline]
pub(super) fn prefix_length(length: usize) -> usize {
    match length {
        0..=250 => 1,
        251..=0xffff => 3,
        _ => 4,
    }
}

/// Appends a text with its length.
fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    push_length(bytes, text.len());
    bytes.extend_from_slice(text);
}

/// Appends the length of a text.
#[inline]
pub(super) fn push_length(bytes: &mut Vec<u8>, length: usize) {
    let [a, b, c, ..] = length.to_le_bytes();
    match prefix_length(length) {
        1 => bytes.push(a),
        3 => bytes.extend_from_slice(&[0xfc, a, b]),
        _ => bytes.extend_from_slice(&[0xfd, a, b, c]),
    }
}

/// How the first of `columns` is read, from its definition, which has so many `texts` at its head;
/// not at all if that makes no sense.
pub(super) fn capture(columns: usize, definition: &[u8], texts: usize) -> Capture {
    let parsed = || {
        let mut rest = definition;
        for _ in 0..texts {
            let (length, behind) = integer(rest)?;
            rest = behind.get(usize::try_from(length).ok()?..)?;
        }
        // Length of what follows, character set, width; then the type and the flags.
        let &[kind, flags, ..] = rest.get(7..)? else { return None };
        Some(Capture::Binary { columns, kind, unsigned: flags & 0x20 != 0 })
    };
    parsed().unwrap_or(Capture::No)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::Mode;

    fn sql(parameters: Vec<Parameter>) -> Sql {
        let pieces = vec![String::new(); parameters.len() + 1];
        Sql {
            mode: Mode::Prepared,
            pieces,
            parameters,
            origin: None,
            capture: false,
            expected: (0, 0),
        }
    }

    #[test]
    fn the_first_execution_has_the_types_and_the_next_ones_have_not() {
        let mut arena = vec![0xee];
        let parameters = vec![Parameter::Integer, Parameter::Text(b"ab".to_vec())];
        let prepared = Prepared::encode(&mut arena, 3, (&sql(parameters), Capture::No)).unwrap();
        let head = [COM_STMT_EXECUTE, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let values = [0, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b'];
        let next = [&[23, 0, 0, 0][..], &head, &[0], &values].concat();
        assert_eq!(arena[prepared.start..prepared.end], next);
        assert_eq!(arena[prepared.arguments..], values);
        let mut packet = Vec::new();
        prepared.first(&arena, &mut packet);
        let first = [&[27, 0, 0, 0][..], &head, &[1, 8, 0, 253, 0], &values].concat();
        assert_eq!(packet, first);
    }

    #[test]
    fn a_statement_without_arguments_is_bound_from_the_start() {
        let mut arena = Vec::new();
        let prepared = Prepared::encode(&mut arena, 2, (&sql(vec![]), Capture::No)).unwrap();
        assert!(prepared.bound);
        assert_eq!(arena, [10, 0, 0, 0, COM_STMT_EXECUTE, 2, 0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_statement_that_is_too_long_is_refused() {
        let long = vec![Parameter::Text(vec![b'x'; BODY_MAX])];
        let failure = Prepared::encode(&mut Vec::new(), 2, (&sql(long), Capture::No)).unwrap_err();
        assert!(failure.message().contains("too long"));
    }

    #[test]
    fn the_type_of_a_captured_column_is_found() {
        let integer = b"\x03def\0\0\0\x01n\0\x0c\x3f\0\x15\0\0\0\x03\x20\0\0\0\0";
        let expected = Capture::Binary { columns: 2, kind: 3, unsigned: true };
        assert_eq!(capture(2, integer, 6), expected);
        assert_eq!(capture(2, &integer[..9], 6), Capture::No);
        let extended = b"\x03def\0\0\0\x01n\0\0\x0c\x3f\0\x15\0\0\0\x03\x20\0\0\0\0";
        assert_eq!(capture(2, extended, 7), expected);
    }
}
