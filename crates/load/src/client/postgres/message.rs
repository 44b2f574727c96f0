//! Encoded messages: their layout, and where their arguments are.

use super::reply::Capture;
use crate::client::{Failure, FailureKind};
use crate::pieces::Pieces;
use crate::program::{Parameter, Sql, TIME_TEXT};
use model::workload::Mode;

/// Longest message, bytes; the server's own limit is a little higher.
const LENGTH_MAX: usize = 0x3fff_ff00;
const OID_INT8: u32 = 20;
const OID_VARCHAR: u32 = 1043;
/// The server takes what the place of the argument needs.
const OID_UNKNOWN: u32 = 0;
/// Format codes of values.
const TEXT: u16 = 0;
const BINARY: u16 = 1;

/// A statement ready to be sent.
#[derive(Debug)]
pub(super) enum Encoded {
    /// A prepared statement in the arena.
    Prepared(Place),
    /// One with an argument that is not always of the same length: its arguments are not in the
    /// arena, and each message is put together anew.
    Varying(Place),
    /// Pieces of a text around its arguments; the first has the message's head before it.
    Text {
        /// The pieces.
        pieces: Pieces,
        /// The captured value.
        capture: Capture,
    },
}

/// Where the messages of a prepared statement lie in the arena.
#[derive(Debug)]
pub(super) struct Place {
    /// First byte.
    pub(super) start: usize,
    /// Byte after the last.
    pub(super) end: usize,
    /// Length of the first argument, which its value follows.
    pub(super) arguments: usize,
    /// Bytes of the longest messages.
    length_max: usize,
    /// The captured value.
    pub(super) capture: Capture,
}

impl Encoded {
    /// The pieces of a text.
    pub(super) fn pieces(&self) -> Option<&Pieces> {
        if let Self::Text { pieces, .. } = self { Some(pieces) } else { None }
    }

    /// Bytes of the longest messages of a prepared statement that are put together outside the
    /// arena.
    pub(super) fn length_max(&self) -> usize {
        match self {
            Self::Prepared(place) | Self::Varying(place) => place.length_max,
            Self::Text { .. } => 0,
        }
    }
}

/// A statement sent as text, with the byte at its end.
pub(super) fn text(sql: &Sql) -> Encoded {
    let mut ended = sql.clone();
    if let Some(last) = ended.pieces.last_mut() {
        last.push('\0');
    }
    let pieces = Pieces::new(&[b'Q', 0, 0, 0, 0], &ended);
    let capture = if sql.capture { Capture::First(Mode::Text) } else { Capture::No };
    Encoded::Text { pieces, capture }
}

/// Parse of statement number `number`, and Sync.
pub(super) fn parse(number: usize, text: &str, sql: &Sql) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, b'P', |out| {
        name(out, number);
        out.extend_from_slice(text.as_bytes());
        out.push(0);
        out.extend_from_slice(&(sql.parameters.len() as u16).to_be_bytes());
        for parameter in &sql.parameters {
            let oid = match parameter {
                Parameter::Integer => OID_INT8,
                Parameter::Text(_) | Parameter::Varying(_) => OID_VARCHAR,
                Parameter::Time => OID_UNKNOWN,
            };
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
    message(&mut out, b'S', |_| {});
    out
}

/// Close of statement number `number`, and Sync.
pub(super) fn close(number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, b'C', |out| {
        out.push(b'S');
        name(out, number);
    });
    message(&mut out, b'S', |_| {});
    out
}

/// A text without arguments.
pub(super) fn query(sql: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, b'Q', |out| {
        out.extend_from_slice(sql);
        out.push(0);
    });
    out
}

/// Appends Bind, Describe, Execute and Sync of a prepared statement to the arena; without arguments
/// if they vary.
pub(super) fn execution(arena: &mut Vec<u8>, number: usize, sql: &Sql) -> Result<Place, Failure> {
    let start = arena.len();
    let mut arguments = 0;
    let varies = sql.varies();
    message(arena, b'B', |out| {
        // The unnamed portal.
        out.push(0);
        name(out, number);
        formats(out, &sql.parameters);
        out.extend_from_slice(&(sql.parameters.len() as u16).to_be_bytes());
        arguments = out.len();
        for parameter in sql.parameters.iter().filter(|_| !varies) {
            let value: &[u8] = match parameter {
                Parameter::Integer => &[0; 8],
                Parameter::Text(template) => template,
                Parameter::Time => TIME_TEXT,
                Parameter::Varying(_) => &[],
            };
            out.extend_from_slice(&(value.len() as u32).to_be_bytes());
            out.extend_from_slice(value);
        }
        out.extend_from_slice(&RESULTS);
    });
    message(arena, b'D', |out| out.extend_from_slice(b"P\0"));
    message(arena, b'E', |out| out.extend_from_slice(&[0; 5]));
    message(arena, b'S', |_| {});
    let end = arena.len();
    let values: usize = sql.parameters.iter().map(|one| one.length_max().max(8) + 4).sum();
    let length_max = end - start + if varies { values } else { 0 };
    length(length_max)?;
    let capture = if sql.capture { Capture::First(Mode::Prepared) } else { Capture::No };
    Ok(Place { start, end, arguments, length_max, capture })
}

/// Formats of the results, at the end of Bind: all in binary.
const RESULTS: [u8; 4] = [0, 1, 0, BINARY as u8];

/// Formats of the arguments: one for all, or one each where a time is among them, whose type is the
/// server's choice.
fn formats(out: &mut Vec<u8>, parameters: &[Parameter]) {
    let timed = parameters.contains(&Parameter::Time);
    let count = if timed { parameters.len() } else { parameters.len().min(1) };
    out.extend_from_slice(&(count as u16).to_be_bytes());
    for parameter in parameters.iter().take(count) {
        let format = if *parameter == Parameter::Time { TEXT } else { BINARY };
        out.extend_from_slice(&format.to_be_bytes());
    }
}

/// Completes messages whose arguments were appended one by one: what follows them, and the length
/// of Bind.
#[inline]
pub(super) fn complete(bytes: &mut Vec<u8>, tail: &[u8]) {
    // The byte of its kind is not part of it. The whole was checked when it was encoded.
    let bind = (bytes.len() + RESULTS.len() - 1) as u32;
    bytes[1..5].copy_from_slice(&bind.to_be_bytes());
    bytes.extend_from_slice(tail);
}

/// Writes the length of a message that is the whole of `bytes` into its head.
#[inline]
pub(super) fn finish(bytes: &mut [u8]) -> Result<(), Failure> {
    let length = length(bytes.len() - 1)?;
    bytes[1..5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn length(length: usize) -> Result<u32, Failure> {
    if length > LENGTH_MAX {
        let message =
            format!("a statement of {length} bytes is too long; {LENGTH_MAX} can be sent");
        return Err(Failure::new(FailureKind::Statement, "client", message));
    }
    Ok(length as u32)
}

/// Appends a message whose body `write` appends.
fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn name(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(format!("dbdyno{number}").as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::Sheet;

    #[test]
    fn an_execution_is_four_messages_with_the_arguments_in_their_places() {
        let sql = Sql {
            mode: Mode::Prepared,
            pieces: vec![String::new(); 3],
            parameters: vec![Parameter::Integer, Parameter::Text(b"ab".to_vec())],
            origin: None,
            capture: false,
            expected: (0, 0),
        };
        let mut arena = vec![0xee];
        let place = execution(&mut arena, 7, &sql).unwrap();
        let head = b"B\0\0\0\x29\0dbdyno7\0\0\x01\0\x01\0\x02";
        let values = b"\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\x02ab";
        let tail = b"\0\x01\0\x01D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(arena[place.start..place.end], [&head[..], values, tail].concat());
        assert_eq!(arena[place.arguments..place.arguments + values.len()], values[..]);
    }

    #[test]
    fn a_text_is_ended_and_measured() {
        let sql = Sql {
            mode: Mode::Text,
            pieces: vec!["SELECT ".to_owned(), String::new()],
            parameters: vec![Parameter::Integer],
            origin: None,
            capture: true,
            expected: (0, 0),
        };
        let Encoded::Text { pieces, capture, .. } = text(&sql) else { panic!("a text") };
        assert_eq!(capture, Capture::First(Mode::Text));
        let mut sheet = Sheet::default();
        sheet.fit([&pieces].into_iter());
        sheet.write(&pieces, |draft| draft.integer(-42));
        finish(sheet.text()).unwrap();
        assert_eq!(sheet.text(), b"Q\0\0\0\x0fSELECT -42\0");
    }
}
