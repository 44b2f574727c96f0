//! Encoded messages: their layout, and where their arguments are.

use super::reply;
use crate::wire::{
    Failure, Parameter, Sql,
    encoder::{Encoder, Format, Message, Statement, push_arguments},
};

/// Longest message, bytes; the server's own limit is a little higher.
const LENGTH_MAX: usize = 0x3fff_ff00;
const OID_INT8: u32 = 20;
const OID_VARCHAR: u32 = 1043;
/// The server takes what the place of the argument needs.
const OID_UNKNOWN: u32 = 0;
/// Format codes of values.
const TEXT: u16 = 0;
const BINARY: u16 = 1;

/// Arguments in binary, each behind its length.
pub(super) struct Binary;

impl Format for Binary {
    const INTEGER_HEAD: usize = 4;

    #[inline]
    fn integer(value: i64) -> [u8; 8] {
        value.to_be_bytes()
    }

    #[inline]
    fn text_head(_: usize) -> usize {
        4
    }

    #[inline]
    fn push_length(bytes: &mut Vec<u8>, length: usize) {
        bytes.extend_from_slice(&(length as u32).to_be_bytes());
    }
}

/// Adds a statement that is sent as text, with the byte at its end.
pub(super) fn push_text(encoder: &mut Encoder<Binary>, sql: &Sql) {
    let mut ended = sql.clone();
    if let Some(last) = ended.pieces.last_mut() {
        last.push('\0');
    }
    encoder.push_text(&[b'Q', 0, 0, 0, 0], &ended);
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
                Parameter::Time | Parameter::Bytes(_) => OID_UNKNOWN,
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
pub(super) fn query(sql: &str) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, b'Q', |out| {
        out.extend_from_slice(sql.as_bytes());
        out.push(0);
    });
    out
}

/// Adds Bind, Describe, Execute and Sync of prepared statement number `number`; without arguments
/// if they vary.
pub(super) fn push(encoder: &mut Encoder<Binary>, number: usize, sql: &Sql) -> Result<(), Failure> {
    let arena = &mut encoder.arena;
    let start = arena.len();
    let mut arguments = 0;
    message(arena, b'B', |out| {
        // The unnamed portal.
        out.push(0);
        name(out, number);
        formats(out, &sql.parameters);
        out.extend_from_slice(&(sql.parameters.len() as u16).to_be_bytes());
        arguments = out.len();
        if !sql.varies() {
            push_arguments::<Binary>(out, &sql.parameters);
        }
        out.extend_from_slice(&RESULTS);
    });
    message(arena, b'D', |out| out.extend_from_slice(b"P\0"));
    message(arena, b'E', |out| out.extend_from_slice(&[0; 5]));
    message(arena, b'S', |_| {});
    let place = Message { start, arguments, end: arena.len() };
    let values: usize = sql.parameters.iter().map(|one| one.length_max().max(8) + 4).sum();
    let length_max = place.end - start + values;
    length(length_max)?;
    let form = if sql.varies() { Statement::Appended } else { Statement::Whole };
    encoder.push(form(place), length_max);
    Ok(())
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
        return Err(Failure::own(message));
    }
    Ok(length as u32)
}

/// Bytes in front of the body: kind and length.
pub(super) const HEAD: usize = 5;

/// Kind and body of the message that `bytes` begin with, if it is all there.
pub(super) fn first(bytes: &[u8]) -> Result<Option<(u8, &[u8])>, Failure> {
    let Some((&[kind, a, b, c, d], rest)) = bytes.split_first_chunk::<HEAD>() else {
        return Ok(None);
    };
    let length = (u32::from_be_bytes([a, b, c, d]) as usize).checked_sub(4);
    let length = length.ok_or_else(|| reply::nonsense("a message without length"))?;
    Ok(rest.get(..length).map(|body| (kind, body)))
}

/// Appends a message whose body `write` appends.
pub(super) fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

pub(super) fn name(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(format!("dbdyno{number}").as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::Mode;

    #[test]
    fn an_execution_is_four_messages_with_the_arguments_in_their_places() {
        let parameters = vec![Parameter::Integer, Parameter::Text(b"ab".to_vec())];
        let sql = Sql::new(Mode::Prepared, "? ?", parameters);
        let mut encoder = Encoder::new();
        encoder.arena.push(0xee);
        push(&mut encoder, 7, &sql).unwrap();
        let Statement::Whole(place) = &encoder.statements[0] else { panic!("a whole message") };
        let head = b"B\0\0\0\x29\0dbdyno7\0\0\x01\0\x01\0\x02";
        let values = b"\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\x02ab";
        let tail = b"\0\x01\0\x01D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        let arena = &encoder.arena;
        assert_eq!(arena[place.start..place.end], [&head[..], values, tail].concat());
        assert_eq!(arena[place.arguments..place.arguments + values.len()], values[..]);
    }

    #[test]
    fn arguments_that_vary_are_put_together_to_the_same_messages() {
        let text = |parameter| Sql::new(Mode::Prepared, "? ?", vec![Parameter::Integer, parameter]);
        let mut encoder = Encoder::new();
        push(&mut encoder, 7, &text(Parameter::Text(b"ab".to_vec()))).unwrap();
        push(&mut encoder, 7, &text(Parameter::Varying(9))).unwrap();
        let (Statement::Whole(whole), Statement::Appended(place)) =
            (&encoder.statements[0], &encoder.statements[1])
        else {
            panic!("{:?}", encoder.statements)
        };
        let (whole, place) = (*whole, *place);
        encoder.begin(1);
        encoder.integer(0);
        encoder.varying(b"a", b"b");
        complete(&mut encoder.scratch, &encoder.arena[place.arguments..place.end]);
        assert_eq!(encoder.scratch, encoder.arena[whole.start..whole.end]);
    }

    #[test]
    fn a_text_is_ended_and_measured() {
        let mut encoder = Encoder::new();
        push_text(&mut encoder, &Sql::new(Mode::Text, "SELECT ?", vec![Parameter::Integer]));
        encoder.begin(0);
        assert!(encoder.compose(|draft| draft.integer(-42)));
        finish(encoder.text.text()).unwrap();
        assert_eq!(encoder.text.text(), b"Q\0\0\0\x0fSELECT -42\0");
    }
}
