//! The usual answer, which is all there after one read: a fraction of the instructions of the
//! general reader, to which every other answer is left.

use super::reply::changed;
use crate::wire::Answer;

/// Rows returned and changed, if `bytes` is the answer to one statement up to the server's
/// readiness, and nothing else. `None` leaves the same bytes to [`super::reply::Reply`], which also
/// knows errors.
#[inline(never)]
pub(super) fn read(bytes: &[u8]) -> Option<Answer> {
    let mut rest = bytes;
    let mut rows = 0;
    let mut tag: &[u8] = &[];
    loop {
        let &[kind, a, b, c, d] = rest.first_chunk()?;
        let (message, next) =
            rest.split_at_checked(1 + u32::from_be_bytes([a, b, c, d]) as usize)?;
        match kind {
            b'D' => rows += 1,
            // BindComplete, RowDescription, NoData.
            b'2' | b'T' | b'n' => {}
            // Of several statements, all count.
            b'C' if tag.is_empty() => tag = message.get(5..)?,
            b'Z' if next.is_empty() => {
                return Some(Answer { rows, changed: changed(tag) });
            }
            _ => return None,
        }
        rest = next;
    }
}
