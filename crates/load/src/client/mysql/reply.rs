//! The answer to a MySQL command, read just far enough: what kind of packet, how many rows.

use crate::client::{Answer, Failure, FailureKind};

/// The server has more results for the same command.
pub(super) const MORE_RESULTS: u16 = 0x0008;
/// Errors after which the same operation may well succeed: deadlock, lock wait timeout, and a
/// record changed since it was read.
const RETRIED: [u16; 3] = [1213, 1205, 1020];
/// A packet of this length is continued by the next one.
const CONTINUED: usize = 0xff_ffff;
/// MariaDB's "error" that is a progress report.
const PROGRESS: u16 = 0xffff;
/// End-of-result packets are shorter than this; a row that begins with the same byte is longer.
const EOF_BELOW: usize = 9;

/// How the captured value of a statement is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capture {
    /// No value is wanted.
    No,
    /// Text protocol.
    Text,
    /// Binary protocol; the type of the first of so many columns, and whether it is unsigned.
    Binary { columns: usize, kind: u8, unsigned: bool },
}

/// What the connection agreed on that answers depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Definitions {
    /// Column definitions are always sent.
    Always,
    /// MariaDB: the byte after the column count says whether they are.
    PerhapsCached,
}

/// Reader of one answer, which may arrive in any pieces.
#[derive(Debug)]
pub(super) struct Reply {
    phase: Phase,
    definitions: Definitions,
    capture: Capture,
    /// Bytes of the packet in hand that are still to come and need no look.
    skip: usize,
    /// Whether the packet in hand is continued by the next one.
    continued: bool,
    answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// OK, an error, or the number of columns.
    First,
    /// So many column definitions, then an end packet.
    Columns(u64),
    /// Rows until an end packet or an error.
    Rows,
    /// Nothing more will come.
    Done,
}

impl Reply {
    #[inline]
    pub(super) fn new(definitions: Definitions, capture: Capture) -> Self {
        Self {
            phase: Phase::First,
            definitions,
            capture,
            skip: 0,
            continued: false,
            answer: Answer::default(),
        }
    }

    /// Reads from `bytes` and returns how many it has understood. After [`Reply::is_done`] there
    /// are no more; before, the rest is to be given again with more bytes behind it.
    ///
    /// # Errors
    /// The server's error, with which the answer ends as well, or bytes that make no sense.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<usize, (usize, Failure)> {
        let mut at = self.skip.min(bytes.len());
        self.skip -= at;
        while self.phase != Phase::Done {
            let Some((head, rest)) = bytes.get(at..).and_then(<[u8]>::split_first_chunk) else {
                break;
            };
            // Three bytes of length, one of sequence.
            let length = (u32::from_le_bytes(*head) & 0xff_ffff) as usize;
            match rest.get(..length) {
                Some(body) if length < CONTINUED && !self.continued => {
                    self.packet((body, length)).map_err(|failure| (at + 4 + length, failure))?;
                    at += 4 + length;
                }
                _ => match self.unusual(rest, length)? {
                    None => break,
                    Some(used) => at += 4 + used,
                },
            }
        }
        Ok(at)
    }

    /// Reads a packet that is not all there, or is one of several that belong together. Returns how
    /// much of its body is understood; `None` if more of it must be seen.
    #[cold]
    fn unusual(&mut self, rest: &[u8], length: usize) -> Result<Option<usize>, (usize, Failure)> {
        let seen = rest.get(..length).unwrap_or(rest);
        let whole = seen.len() == length;
        if !self.continued {
            if !whole && !self.may_be_cut(seen) {
                return Ok(None);
            }
            self.packet((seen, length)).map_err(|failure| (0, failure))?;
        }
        self.continued = length == CONTINUED;
        self.skip = length - seen.len();
        Ok(Some(seen.len()))
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    pub(super) fn answer(&self) -> Answer {
        self.answer
    }

    /// Whether what is seen of a packet is enough: rows and column definitions whose first byte
    /// tells.
    fn may_be_cut(&self, seen: &[u8]) -> bool {
        let Some(first) = seen.first() else { return false };
        match self.phase {
            Phase::Columns(left) => left > 0 && *first != 0xff,
            Phase::Rows => {
                let wanted = self.capture != Capture::No && self.answer.rows == 0;
                !wanted && *first < 0xfe
            }
            Phase::First | Phase::Done => false,
        }
    }

    #[inline]
    fn packet(&mut self, (body, length): (&[u8], usize)) -> Result<(), Failure> {
        match (self.phase, body.first()) {
            (Phase::Rows, Some(0xfe)) if length < EOF_BELOW => self.end_of_rows(body),
            (_, Some(0xff)) => server_error(body),
            (Phase::Rows, Some(_)) => {
                if self.capture != Capture::No && self.answer.rows == 0 {
                    self.answer.captured = captured(self.capture, body);
                }
                self.answer.rows += 1;
                Ok(())
            }
            (Phase::First, Some(0x00)) => self.ok(body),
            (Phase::First, Some(_)) => self.columns(body),
            (Phase::Columns(0), Some(_)) => {
                self.phase = Phase::Rows;
                Ok(())
            }
            (Phase::Columns(left), Some(_)) => {
                self.phase = Phase::Columns(left - 1);
                Ok(())
            }
            (_, None) => Err(nonsense("an empty packet")),
            (Phase::Done, _) => Ok(()),
        }
    }

    fn end_of_rows(&mut self, body: &[u8]) -> Result<(), Failure> {
        let Some(&[a, b]) = body.get(3..5) else { return Err(nonsense("a short end of rows")) };
        self.next_result(u16::from_le_bytes([a, b]));
        Ok(())
    }

    fn ok(&mut self, body: &[u8]) -> Result<(), Failure> {
        let parsed = || {
            let (changed, rest) = integer(body.get(1..)?)?;
            let (_, rest) = integer(rest)?;
            let &[a, b] = rest.get(..2)? else { return None };
            Some((changed, u16::from_le_bytes([a, b])))
        };
        let (changed, status) = parsed().ok_or_else(|| nonsense("a short OK"))?;
        self.answer.changed = self.answer.changed.saturating_add(changed);
        self.next_result(status);
        Ok(())
    }

    fn columns(&mut self, body: &[u8]) -> Result<(), Failure> {
        if body.first() == Some(&0xfb) {
            return Err(nonsense("a request for a local file"));
        }
        let (count, rest) = integer(body).ok_or_else(|| nonsense("no number of columns"))?;
        let cached = self.definitions == Definitions::PerhapsCached && rest.first() == Some(&0);
        self.phase = Phase::Columns(if cached { 0 } else { count });
        Ok(())
    }

    fn next_result(&mut self, status: u16) {
        self.phase = if status & MORE_RESULTS == 0 { Phase::Done } else { Phase::First };
    }
}

/// The failure that an error packet tells, or nothing if it is a progress report.
#[cold]
pub(super) fn server_error(body: &[u8]) -> Result<(), Failure> {
    let Some(&[_, a, b]) = body.get(..3) else { return Err(nonsense("a short error")) };
    let code = u16::from_le_bytes([a, b]);
    if code == PROGRESS {
        return Ok(());
    }
    let message = body.get(3..).unwrap_or_default();
    // The marker `#` and the five characters of the SQLSTATE come first.
    let message = if message.first() == Some(&b'#') { message.get(6..) } else { Some(message) };
    let message = String::from_utf8_lossy(message.unwrap_or_default()).into_owned();
    let kind = if RETRIED.contains(&code) { FailureKind::Retry } else { FailureKind::Statement };
    Err(Failure::new(kind, code.to_string(), message))
}

#[cold]
pub(super) fn nonsense(what: &str) -> Failure {
    Failure::lost(format!("the server sent a malformed answer: {what}"))
}

/// A length-encoded integer and what follows it.
pub(super) fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let width = match first {
        0..=0xfa => return Some((u64::from(*first), rest)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let mut value = [0; 8];
    value[..width].copy_from_slice(rest.get(..width)?);
    Some((u64::from_le_bytes(value), &rest[width..]))
}

/// The first column of a row as an integer, if it is one; NULL is 0.
fn captured(capture: Capture, row: &[u8]) -> Option<i64> {
    let text = |bytes: &[u8]| {
        // NULL.
        if bytes.first() == Some(&0xfb) {
            return Some(0);
        }
        let (length, rest) = integer(bytes)?;
        std::str::from_utf8(rest.get(..usize::try_from(length).ok()?)?).ok()?.parse().ok()
    };
    match capture {
        Capture::No => None,
        Capture::Text => text(row),
        Capture::Binary { columns, kind, unsigned } => {
            let nulls = row.get(1..1 + (columns + 9) / 8)?;
            let value = row.get(1 + nulls.len()..)?;
            // The first two bits of the bitmap are reserved.
            if nulls.first()? & 0b100 != 0 {
                return Some(0);
            }
            let width = match kind {
                1 => 1,
                2 | 13 => 2,
                3 | 9 => 4,
                8 => 8,
                _ => return text(value),
            };
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(value.get(..width)?);
            let free = 64 - 8 * width as u32;
            let shifted = i64::from_le_bytes(bytes) << free;
            Some(if unsigned { (shifted as u64 >> free) as i64 } else { shifted >> free })
        }
    }
}

#[cfg(test)]
mod tests;
