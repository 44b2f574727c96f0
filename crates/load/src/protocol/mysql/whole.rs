//! The usual answer, which is all there after one read: a tenth of the instructions of the general
//! reader, to which every other answer is left.

use super::reply::{Definitions, MORE_RESULTS};
use crate::wire::Answer;

/// Number of rows of a result set, or of changed rows of an OK, if `bytes` is such an answer and
/// nothing else. `None` leaves the same bytes to [`super::reply::Reply`], which also knows errors.
#[inline(never)]
pub(super) fn read(bytes: &[u8], definitions: Definitions) -> Option<Answer> {
    let (length, first) = packet(bytes)?;
    if first == 0x00 {
        return ok(bytes, length);
    }
    if first >= 0xfb {
        return None;
    }
    let (sent, mut rest) = match (length, definitions) {
        (1, Definitions::Always) => (first, bytes.get(5..)?),
        // MariaDB says in a second byte whether the definitions follow.
        (2, Definitions::PerhapsCached) => match bytes.get(5..)? {
            [0, rest @ ..] => (0, rest),
            [_, rest @ ..] => (first, rest),
            [] => return None,
        },
        _ => return None,
    };
    // The definitions and the packet that ends them.
    let mut left = u32::from(sent) + 1;
    while left > 0 {
        let (length, first) = packet(rest)?;
        if first == 0xff {
            return None;
        }
        rest = rest.get(4 + length..)?;
        left -= 1;
    }
    let mut rows = 0;
    loop {
        let (length, first) = packet(rest)?;
        if first >= 0xfe {
            // The end of the rows, and the status in its fourth byte.
            let &[_, _, _, _, 0xfe, _, _, status, _] = rest else { return None };
            let more = length != 5 || u16::from(status) & MORE_RESULTS != 0;
            return (!more).then_some(Answer { rows, changed: 0 });
        }
        rest = rest.get(4 + length..)?;
        rows += 1;
    }
}

/// An OK whose changed rows and last key have one byte each, as the lone packet of `bytes`.
fn ok(bytes: &[u8], length: usize) -> Option<Answer> {
    let &[_, _, _, _, _, changed @ (..=0xfa), (..=0xfa), status, ..] = bytes else { return None };
    let more = length < 7 || 4 + length != bytes.len() || u16::from(status) & MORE_RESULTS != 0;
    (!more).then_some(Answer { rows: 0, changed: u64::from(changed) })
}

/// Length of the body and first byte of the packet that `bytes` begins with.
#[inline(always)]
fn packet(bytes: &[u8]) -> Option<(usize, u8)> {
    let &[a, b, c, d, first] = bytes.first_chunk()?;
    Some(((u32::from_le_bytes([a, b, c, d]) & 0xff_ffff) as usize, first))
}
