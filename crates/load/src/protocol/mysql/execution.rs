//! Encoded commands: their layout, and where their arguments are.

use super::{COM_STMT_EXECUTE, packet::HEAD};
use crate::wire::{
    Failure, Parameter, Sql,
    encoder::{Encoder, Format, Message, Statement, push_arguments},
};

/// Longest body of a packet that needs no continuation, bytes.
const BODY_MAX: usize = 0xff_fffe;
/// Types of arguments: a 64-bit integer, a text in the connection's character set, plain bytes.
pub(super) const TYPE_LONGLONG: [u8; 2] = [8, 0];
pub(super) const TYPE_VAR_STRING: [u8; 2] = [253, 0];
pub(super) const TYPE_BLOB: [u8; 2] = [252, 0];

/// Arguments of the binary protocol.
pub(super) struct Binary;

impl Format for Binary {
    const INTEGER_HEAD: usize = 0;

    #[inline]
    fn integer(value: i64) -> [u8; 8] {
        value.to_le_bytes()
    }

    #[inline]
    fn text_head(length: usize) -> usize {
        match length {
            0..=250 => 1,
            251..=0xffff => 3,
            _ => 4,
        }
    }

    #[inline]
    fn push_length(bytes: &mut Vec<u8>, length: usize) {
        let [a, b, c, ..] = length.to_le_bytes();
        match Self::text_head(length) {
            1 => bytes.push(a),
            3 => bytes.extend_from_slice(&[0xfc, a, b]),
            _ => bytes.extend_from_slice(&[0xfd, a, b, c]),
        }
    }
}

/// Where the bitmap of NULLs begins: behind the packet's head, the command, the statement, the
/// cursor and the count.
pub(super) const NULLS: usize = HEAD + 10;

/// The head of an execution of `count` arguments, up to the types or the values. No cursor; one
/// execution; no argument is NULL. The last byte says whether types follow.
pub(super) fn head(out: &mut Vec<u8>, id: u32, count: usize, types_follow: u8) {
    out.extend_from_slice(&[0; HEAD]);
    out.push(COM_STMT_EXECUTE);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if count > 0 {
        out.resize(out.len() + count.div_ceil(8), 0);
        out.push(types_follow);
    }
}

/// Adds the executions of prepared statement number `id`: the first one with the types of its
/// arguments, and, where there are any, the one that takes its place.
pub(super) fn push(
    encoder: &mut Encoder<Binary>,
    id: u32,
    sql: &Sql,
) -> Result<Option<Statement>, Failure> {
    let count = sql.parameters.len();
    let start = encoder.arena.len();
    head(&mut encoder.arena, id, count, 0);
    let arguments = encoder.arena.len();
    let lengths = sql.parameters.iter().map(|parameter| match parameter {
        Parameter::Integer => 8,
        text => Binary::text_head(text.length_max()) + text.length_max(),
    });
    let length_max = arguments - start + lengths.sum::<usize>() + 2 * count;
    length_bytes(length_max - HEAD)?;
    if !sql.varies() {
        push_arguments::<Binary>(&mut encoder.arena, &sql.parameters);
    }
    finish(&mut encoder.arena[start..])?;
    let next = Message { start, arguments, end: encoder.arena.len() };
    if count == 0 {
        encoder.push(Statement::Whole(next), length_max);
        return Ok(None);
    }
    let start = encoder.arena.len();
    head(&mut encoder.arena, id, count, 1);
    for parameter in &sql.parameters {
        let code = match parameter {
            Parameter::Integer => TYPE_LONGLONG,
            Parameter::Bytes(_) => TYPE_BLOB,
            _ => TYPE_VAR_STRING,
        };
        encoder.arena.extend_from_slice(&code);
    }
    let end = encoder.arena.len();
    encoder.push(Statement::Appended(Message { start, arguments: end, end }), length_max);
    let form = if sql.varies() { Statement::Appended } else { Statement::Whole };
    Ok(Some(form(next)))
}

/// Writes the length of a packet into its head.
#[inline]
pub(super) fn finish(packet: &mut [u8]) -> Result<(), Failure> {
    let body = packet.len() - HEAD;
    packet[..3].copy_from_slice(&length_bytes(body)?);
    Ok(())
}

#[inline]
fn length_bytes(body: usize) -> Result<[u8; 3], Failure> {
    if body > BODY_MAX {
        let message = format!("a statement of {body} bytes is too long; {BODY_MAX} can be sent");
        return Err(Failure::own(message));
    }
    let [a, b, c, ..] = body.to_le_bytes();
    Ok([a, b, c])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::Mode;

    fn sql(parameters: Vec<Parameter>) -> Sql {
        let pieces = vec![String::new(); parameters.len() + 1];
        Sql { pieces, ..Sql::new(Mode::Prepared, "", parameters) }
    }

    #[test]
    fn the_first_execution_has_the_types_and_the_next_ones_have_not() {
        let mut encoder = Encoder::new();
        encoder.arena.push(0xee);
        let parameters = vec![Parameter::Integer, Parameter::Text(b"ab".to_vec())];
        let next = push(&mut encoder, 3, &sql(parameters)).unwrap();
        let give = |encoder: &mut Encoder<Binary>| {
            encoder.begin(0);
            encoder.integer(0);
            encoder.text(b"ab").copy_from_slice(b"ab");
        };
        give(&mut encoder);
        finish(&mut encoder.scratch).unwrap();
        let head = [COM_STMT_EXECUTE, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let values = [0, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b'];
        let first = [&[27, 0, 0, 0][..], &head, &[1, 8, 0, 253, 0], &values].concat();
        assert_eq!(encoder.scratch, first);
        let Some(Statement::Whole(message)) = next else { panic!("{next:?}") };
        encoder.statements[0] = Statement::Whole(message);
        let next = [&[23, 0, 0, 0][..], &head, &[0], &values].concat();
        assert_eq!(encoder.arena[message.start..message.end], next);
        assert_eq!(encoder.arena[message.arguments..message.end], values);
        give(&mut encoder);
        assert_eq!(encoder.arena[message.start..message.end], next);
    }

    #[test]
    fn a_statement_without_arguments_is_bound_from_the_start() {
        let mut encoder = Encoder::new();
        assert!(push(&mut encoder, 2, &sql(vec![])).unwrap().is_none());
        assert_eq!(encoder.arena, [10, 0, 0, 0, COM_STMT_EXECUTE, 2, 0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_statement_that_is_too_long_is_refused() {
        let long = vec![Parameter::Text(vec![b'x'; BODY_MAX])];
        let failure = push(&mut Encoder::new(), 2, &sql(long)).unwrap_err();
        assert!(failure.message().contains("too long"));
    }
}
