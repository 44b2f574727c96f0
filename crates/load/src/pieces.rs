//! The text around the arguments of a statement, packed so that a hundred rows stay in the cache.

use std::collections::HashMap;

/// Pieces of a text, of which equal ones are stored once.
#[derive(Debug)]
pub(crate) struct Pieces {
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
        Self { bytes: bytes.into(), spans: spans.into() }
    }

    /// Piece number `index`; empty if there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let (start, end) = self.spans.get(index).copied().unwrap_or_default();
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Bytes of all of them one after the other.
    pub(crate) fn length(&self) -> usize {
        self.spans.iter().map(|(start, end)| (end - start) as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pieces_are_stored_once_and_the_head_is_part_of_the_first() {
        let texts = ["x", ", ", "), (", ", ", "x", ")"].map(str::to_owned);
        let pieces = Pieces::new(b"\0\0", &texts);
        let all: Vec<&[u8]> = (0..7).map(|index| pieces.get(index)).collect();
        assert_eq!(all, [&b"\0\0x"[..], b", ", b"), (", b", ", b"x", b")", b""]);
        assert_eq!(pieces.bytes.len(), 3 + 2 + 4 + 1 + 1);
        assert_eq!(pieces.length(), 3 + 2 + 4 + 2 + 1 + 1);
    }
}
