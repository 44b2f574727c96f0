//! The text around the arguments of a statement, packed so that a hundred rows stay in the cache.

use crate::decimal::{self, DIGITS_MAX};
use std::collections::HashMap;

/// A piece of at most this length is copied as one register, whatever its length.
const SHORT: usize = 16;

/// Pieces of a text, of which equal ones are stored once.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The texts, and as many more bytes as a copy of [`SHORT`] from the last one may reach.
    bytes: Box<[u8]>,
    /// Start and end of each.
    spans: Box<[(u32, u32)]>,
}

impl Pieces {
    /// The pieces, `head` in front of the first.
    pub(crate) fn new(head: &[u8], pieces: &[String]) -> Self {
        let mut bytes = head.to_vec();
        let mut known: HashMap<&str, (u32, u32)> = HashMap::new();
        let mut spans = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let first = spans.is_empty();
            let start = if first { 0 } else { bytes.len() as u32 };
            let span = match known.get(piece.as_str()) {
                Some(span) if !first => *span,
                _ => {
                    bytes.extend_from_slice(piece.as_bytes());
                    (start, bytes.len() as u32)
                }
            };
            if !first {
                known.insert(piece, span);
            }
            spans.push(span);
        }
        bytes.extend_from_slice(&[0; SHORT]);
        Self { bytes: bytes.into(), spans: spans.into() }
    }

    /// Piece number `index`; empty if there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let (start, end) = self.spans.get(index).copied().unwrap_or_default();
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Appends an integer as decimal text and piece number `index`.
    #[inline]
    pub(crate) fn append_number(&self, text: &mut Vec<u8>, value: i64, index: usize) {
        let mut digits = [0; DIGITS_MAX];
        let start = decimal::write(&mut digits, value);
        let mut shifted = [0; 2 * DIGITS_MAX];
        shifted[..DIGITS_MAX].copy_from_slice(&digits);
        append_short::<DIGITS_MAX>(text, &shifted[start..], DIGITS_MAX - start);
        self.append(text, index);
    }

    /// Appends piece number `index`.
    #[inline]
    pub(crate) fn append(&self, text: &mut Vec<u8>, index: usize) {
        let (start, end) = self.spans.get(index).copied().unwrap_or_default();
        let (start, length) = (start as usize, (end - start) as usize);
        if length <= SHORT {
            append_short::<SHORT>(text, self.bytes.get(start..).unwrap_or_default(), length);
        } else {
            text.extend_from_slice(self.get(index));
        }
    }

    /// Bytes of all of them one after the other.
    pub(crate) fn length(&self) -> usize {
        self.spans.iter().map(|(start, end)| (end - start) as usize).sum()
    }
}

/// Appends the first `length` of `bytes`, at most `N` of which there must be as many. They are
/// copied as if they were all wanted, in one or two registers: for so few, a call of `memcpy` costs
/// more than everything else.
#[inline]
fn append_short<const N: usize>(text: &mut Vec<u8>, bytes: &[u8], length: usize) {
    if let Some(all) = bytes.first_chunk::<N>() {
        let end = text.len() + length.min(N);
        text.extend_from_slice(all);
        text.truncate(end);
    }
}

/// Bytes that a text may need for a moment beyond its length.
pub(crate) const SLACK: usize = DIGITS_MAX + SHORT;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pieces_are_stored_once_and_the_head_is_part_of_the_first() {
        let texts = ["x", ", ", "), (", ", ", "x", ")"].map(str::to_owned);
        let pieces = Pieces::new(b"\0\0", &texts);
        let all: Vec<&[u8]> = (0..7).map(|index| pieces.get(index)).collect();
        assert_eq!(all, [&b"\0\0x"[..], b", ", b"), (", b", ", b"x", b")", b""]);
        assert_eq!(pieces.bytes.len(), 3 + 2 + 4 + 1 + 1 + SHORT);
        assert_eq!(pieces.length(), 3 + 2 + 4 + 2 + 1 + 1);
    }

    #[test]
    fn numbers_are_followed_by_pieces_of_any_length() {
        let texts = ["", "), (", "", " WHERE a longer text follows it", "0123456789abcdef", "."];
        let pieces = Pieces::new(&[], &texts.map(str::to_owned));
        for (index, value) in [(1, 0), (2, -7), (3, i64::MIN), (4, i64::MAX), (5, 123), (9, 1)] {
            let mut text = b"x".to_vec();
            pieces.append_number(&mut text, value, index);
            let piece = texts.get(index).unwrap_or(&"");
            assert_eq!(String::from_utf8(text).unwrap(), format!("x{value}{piece}"));
        }
    }
}
