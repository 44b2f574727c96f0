//! Rows as lines of text: values between tabs, a newline at the end. COPY and LOAD DATA both read
//! this format without being told of it.

use super::{RowSink, RowSource, vector};
use crate::decimal::decimal;

/// Rows are made and sent in chunks of about this size: small enough to stay in the CPU's cache,
/// large enough that a system call for each does not count.
const CHUNK_BYTES: usize = 128 << 10;

/// Collects rows in a buffer that begins with room for a head.
pub(crate) struct Lines {
    bytes: Vec<u8>,
    head: usize,
}

impl Lines {
    /// An empty buffer with `head` bytes before the rows.
    pub(crate) fn with_head(head: usize) -> Self {
        Self { bytes: Vec::with_capacity(CHUNK_BYTES + (16 << 10)), head }
    }

    /// The head's room and as many rows as make a chunk; `None` if no rows are left.
    pub(crate) fn next_chunk(&mut self, rows: &mut dyn RowSource) -> Option<&mut [u8]> {
        self.bytes.clear();
        self.bytes.resize(self.head, 0);
        while self.bytes.len() < CHUNK_BYTES && rows.next_row(self) {}
        (self.bytes.len() > self.head).then_some(&mut self.bytes)
    }
}

impl RowSink for Lines {
    fn integer(&mut self, value: i64) {
        decimal(&mut self.bytes, value);
        self.bytes.push(b'\t');
    }

    fn text(&mut self, value: &[u8]) {
        if value.iter().any(|byte| escape(*byte).is_some()) {
            for byte in value {
                match escape(*byte) {
                    Some(letter) => self.bytes.extend_from_slice(&[b'\\', letter]),
                    None => self.bytes.push(*byte),
                }
            }
        } else {
            self.bytes.extend_from_slice(value);
        }
        self.bytes.push(b'\t');
    }

    fn vector(&mut self, value: &[f32]) {
        vector::text(value, &mut self.bytes);
        self.bytes.push(b'\t');
    }

    fn null(&mut self) {
        self.bytes.extend_from_slice(b"\\N\t");
    }

    fn end_row(&mut self) {
        match self.bytes.last_mut() {
            Some(last) if *last == b'\t' => *last = b'\n',
            _ => self.bytes.push(b'\n'),
        }
    }
}

/// The letter that stands for a byte after a backslash.
fn escape(byte: u8) -> Option<u8> {
    match byte {
        b'\\' => Some(b'\\'),
        b'\t' => Some(b't'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(build: impl Fn(&mut Lines), expected: &str) {
        let mut rows = Lines::with_head(0);
        build(&mut rows);
        rows.end_row();
        assert_eq!(String::from_utf8_lossy(&rows.bytes), expected);
    }

    #[test]
    fn values_stand_between_tabs() {
        check(
            |rows| {
                rows.integer(i64::MIN);
                rows.text(b"a b");
                rows.integer(0);
            },
            "-9223372036854775808\ta b\t0\n",
        );
        check(|_| {}, "\n");
        check(
            |rows| {
                rows.null();
                rows.integer(1);
            },
            "\\N\t1\n",
        );
    }

    #[test]
    fn characters_of_the_format_are_escaped() {
        check(|rows| rows.text(b"a\\b\tc\nd\re"), "a\\\\b\\tc\\nd\\re\n");
        check(|rows| rows.text("ä€".as_bytes()), "ä€\n");
    }

    struct Numbers(std::ops::Range<i64>);

    impl RowSource for Numbers {
        fn next_row(&mut self, sink: &mut dyn RowSink) -> bool {
            let next = self.0.next();
            if let Some(number) = next {
                sink.integer(number);
                sink.end_row();
            }
            next.is_some()
        }
    }

    #[test]
    fn chunks_hold_whole_rows_after_their_head() {
        let mut numbers = Numbers(0..100_000);
        let mut rows = Lines::with_head(3);
        let mut text = Vec::new();
        while let Some(chunk) = rows.next_chunk(&mut numbers) {
            assert_eq!(chunk[..3], [0; 3]);
            assert!(chunk.len() < CHUNK_BYTES + 100 && chunk.ends_with(b"\n"));
            text.extend_from_slice(&chunk[3..]);
        }
        let lines: Vec<i64> =
            String::from_utf8(text).unwrap().lines().map(|line| line.parse().unwrap()).collect();
        assert!(lines.into_iter().eq(0..100_000));
    }
}
