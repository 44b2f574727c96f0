//! The text around the arguments of a statement, packed so that a hundred rows stay in the cache.

use super::{Parameter, Sql};
use crate::decimal::DIGITS_MAX;
use std::collections::HashMap;
use values::generator::BRIEF;

/// A piece of at most this length is copied as one register, whatever its length.
pub(crate) const SHORT: usize = 16;
/// Bytes that a text may need for a moment beyond its length.
const SLACK: usize = 2 * BRIEF + SHORT + DIGITS_MAX;

/// Pieces of a text, of which equal ones are stored once. The quotes around texts belong to them.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The texts, and as many more bytes as a copy of [`SHORT`] from the last one may reach.
    bytes: Box<[u8]>,
    /// Start and length of each.
    spans: Box<[(u32, u32)]>,
    /// Bytes of all of them with the longest arguments.
    length_max: usize,
}

impl Pieces {
    /// The pieces of a statement, `head` in front of the first.
    pub(crate) fn new(head: &[u8], sql: &Sql) -> Self {
        let pieces = quoted(sql);
        let mut bytes = head.to_vec();
        let mut known: HashMap<&str, (u32, u32)> = HashMap::new();
        let mut spans = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let first = spans.is_empty();
            let start = if first { 0 } else { bytes.len() };
            let span = match known.get(piece.as_str()) {
                Some(span) if !first => *span,
                _ => {
                    bytes.extend_from_slice(piece.as_bytes());
                    (start as u32, (bytes.len() - start) as u32)
                }
            };
            if !first {
                known.insert(piece, span);
            }
            spans.push(span);
        }
        bytes.extend_from_slice(&[0; SHORT]);
        let arguments: usize = sql.parameters.iter().map(Parameter::length_max).sum();
        let length: usize = spans.iter().map(|(_, length)| *length as usize).sum();
        Self { bytes: bytes.into(), spans: spans.into(), length_max: length + arguments }
    }

    /// Start and length of piece number `index` within [`Pieces::bytes`].
    #[inline]
    fn span(&self, index: usize) -> (usize, usize) {
        let (start, length) = self.spans[index];
        (start as usize, length as usize)
    }
}

/// The pieces of a statement with the quotes of its texts.
fn quoted(sql: &Sql) -> Vec<String> {
    let mut pieces = sql.pieces.clone();
    for (place, parameter) in sql.parameters.iter().enumerate() {
        if !matches!(parameter, Parameter::Integer) {
            if let Some(before) = pieces.get_mut(place) {
                before.push('\'');
            }
            if let Some(behind) = pieces.get_mut(place + 1) {
                behind.insert(0, '\'');
            }
        }
    }
    pieces
}

/// Where the texts of a connection are put together, one after the other.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    bytes: Vec<u8>,
    length: usize,
}

impl TextBuffer {
    /// Makes room for the texts of these pieces; the only thing that allocates.
    pub(crate) fn fit(&mut self, pieces: &Pieces) {
        let room = pieces.length_max + SLACK;
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
    }

    /// Writes a text around the arguments that `write` gives.
    #[inline(always)]
    pub(crate) fn write(&mut self, pieces: &Pieces, write: impl FnOnce(&mut Draft<'_>)) {
        let mut draft = Draft { bytes: &mut self.bytes, end: 0, pieces, next: 0 };
        draft.piece();
        write(&mut draft);
        self.length = draft.end;
    }

    /// The text.
    #[inline]
    pub(crate) fn text(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

/// A text under construction: the arguments are given from left to right, and each is followed by
/// its piece.
///
/// What is short is copied as if it were longer, in one or two registers, and overwritten by what
/// follows: for so few bytes, a call of `memcpy` or a branch on the length costs more than
/// everything else.
pub struct Draft<'a> {
    bytes: &'a mut [u8],
    end: usize,
    pieces: &'a Pieces,
    next: usize,
}

impl Draft<'_> {
    /// Gives the next argument, an integer.
    #[inline(always)]
    pub(crate) fn integer(&mut self, value: i64) {
        let (text, length) = match u32::try_from(value) {
            Ok(value @ ..100_000_000) => crate::decimal::small(value),
            _ => return self.any_integer(value),
        };
        self.bytes[self.end..][..8].copy_from_slice(&text);
        self.end += length;
        self.piece();
    }

    #[inline(never)]
    fn any_integer(&mut self, value: i64) {
        let mut digits = [0; DIGITS_MAX];
        let start = crate::decimal::write(&mut digits, value);
        let length = DIGITS_MAX - start;
        self.bytes[self.end..][..length].copy_from_slice(&digits[start..]);
        self.end += length;
        self.piece();
    }

    /// Gives the next argument, a text.
    #[inline]
    pub(crate) fn text(&mut self, text: &[u8]) {
        self.filled(text, |_| ());
    }

    /// Gives the next argument, a template that is filled in its place.
    #[inline]
    pub(crate) fn filled(&mut self, template: &[u8], fill: impl FnOnce(&mut [u8])) {
        let place = &mut self.bytes[self.end..][..template.len()];
        place.copy_from_slice(template);
        fill(place);
        self.end += template.len();
        self.piece();
    }

    /// Gives the next argument, the first `length` bytes of a brief text.
    #[inline]
    pub(crate) fn brief(&mut self, text: &[u8; BRIEF], length: usize) {
        self.bytes[self.end..][..BRIEF].copy_from_slice(text);
        self.end += length.min(BRIEF);
        self.piece();
    }

    /// Gives the next argument, a text of two brief parts.
    #[inline]
    pub(crate) fn two_brief(&mut self, parts: [(&[u8; BRIEF], usize); 2]) {
        for (text, length) in parts {
            self.bytes[self.end..][..BRIEF].copy_from_slice(text);
            self.end += length.min(BRIEF);
        }
        self.piece();
    }

    /// Gives the next argument, a text in two parts.
    #[inline(never)]
    pub(crate) fn varying(&mut self, head: &[u8], tail: &[u8]) {
        for part in [head, tail] {
            self.bytes[self.end..][..part.len()].copy_from_slice(part);
            self.end += part.len();
        }
        self.piece();
    }

    /// Appends the next piece.
    #[inline(always)]
    fn piece(&mut self) {
        let (start, length) = self.pieces.span(self.next);
        self.next += 1;
        let from = &self.pieces.bytes[start..];
        if let (true, Some(from)) = (length <= SHORT, from.first_chunk::<SHORT>()) {
            self.bytes[self.end..][..SHORT].copy_from_slice(from);
        } else {
            self.bytes[self.end..][..length].copy_from_slice(&from[..length]);
        }
        self.end += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::Mode;

    fn pieces(head: &[u8], texts: &[&str], parameters: Vec<Parameter>) -> Pieces {
        let pieces = texts.iter().map(|text| (*text).to_owned()).collect();
        let sql = Sql { pieces, ..Sql::new(Mode::Text, "", parameters) };
        Pieces::new(head, &sql)
    }

    fn written(pieces: &Pieces, write: impl FnOnce(&mut Draft<'_>)) -> String {
        let mut text = TextBuffer::default();
        text.fit(pieces);
        text.write(pieces, write);
        String::from_utf8(text.text().to_vec()).unwrap()
    }

    #[test]
    fn equal_pieces_are_stored_once_and_the_head_is_part_of_the_first() {
        let pieces =
            pieces(b"\0\0", &["x", ", ", "), (", ", ", "x", ")"], vec![Parameter::Integer; 5]);
        let text = written(&pieces, |draft| (1..6).for_each(|value| draft.integer(value)));
        assert_eq!(text, "\0\0x1, 2), (3, 4x5)");
        assert_eq!(pieces.bytes.len(), 3 + 2 + 4 + 1 + 1 + SHORT);
        assert_eq!(pieces.length_max, 3 + 2 + 4 + 2 + 1 + 1 + 5 * DIGITS_MAX);
    }

    #[test]
    fn numbers_are_followed_by_pieces_of_any_length() {
        let texts = ["", "), (", "", " WHERE a longer text follows it", "0123456789abcdef", "."];
        let pieces = pieces(&[], &texts, vec![Parameter::Integer; 5]);
        let values = [0, -7, i64::MIN, i64::MAX, 99_999_999];
        let text = written(&pieces, |draft| values.iter().for_each(|value| draft.integer(*value)));
        let expected: String =
            values.iter().zip(&texts[1..]).map(|(v, t)| format!("{v}{t}")).collect();
        assert_eq!(text, expected);
    }

    #[test]
    fn texts_are_quoted_and_the_longest_ones_fit() {
        let long = [b'x'; 119];
        let parameters = vec![
            Parameter::Time,
            Parameter::Varying(2 * BRIEF),
            Parameter::Text(long.to_vec()),
            Parameter::Integer,
            Parameter::Varying(3),
        ];
        let pieces = pieces(&[], &["(", ", ", ", ", ", ", ", ", ")"], parameters);
        let brief = [b'y'; BRIEF];
        let text = written(&pieces, |draft| {
            draft.brief(&brief, 19);
            draft.two_brief([(&brief, BRIEF), (&brief, BRIEF)]);
            draft.filled(&long, |text| text[0] = b'z');
            draft.integer(i64::MIN);
            draft.varying(b"a", b"bc");
        });
        let (nineteen, all, long) = ("y".repeat(19), "y".repeat(64), "x".repeat(118));
        let integer = i64::MIN;
        assert_eq!(text, format!("('{nineteen}', '{all}', 'z{long}', {integer}, 'abc')"));
    }
}
