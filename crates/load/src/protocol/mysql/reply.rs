//! The answer to a command, read just far enough: what kind of packet, how many rows, and the rows
//! where somebody takes them.

use super::{packet::CONTINUED, row};
use crate::wire::{Answer, Failure, FailureKind, rows::TakeRows};

/// The server has more results for the same command.
pub(super) const MORE_RESULTS: u16 = 0x0008;
/// Errors after which the same operation may well succeed: deadlock, lock wait timeout, and a
/// record changed since it was read.
const RETRIED: [u16; 3] = [1213, 1205, 1020];
/// Errors after which nothing follows: too many connections, shutdown in progress, killed, host
/// blocked, nothing was asked for too long.
const FAREWELLS: [u16; 7] = [1040, 1053, 1129, 1130, 1927, 3169, 4031];
/// MariaDB's "error" that is a progress report.
const PROGRESS: u16 = 0xffff;
/// First byte of a packet that asks for the content of a local file.
pub(super) const LOCAL_FILE: u8 = 0xfb;
/// End-of-result packets are shorter than this; a row that begins with the same byte is longer.
pub(super) const EOF_BELOW: usize = 9;

/// How the values of a row are written.
pub(super) enum RowFormat<'r> {
    /// As texts.
    Text,
    /// By the types of the columns.
    Binary(row::Described<'r>),
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
pub(super) struct Reply<'r> {
    phase: Phase,
    definitions: Definitions,
    format: RowFormat<'r>,
    take: Option<&'r mut dyn TakeRows>,
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
    /// The server waits for the content of a file.
    File,
}

impl<'r> Reply<'r> {
    #[inline]
    pub(super) fn new(
        definitions: Definitions,
        format: RowFormat<'r>,
        take: Option<&'r mut dyn TakeRows>,
    ) -> Self {
        Self {
            phase: Phase::First,
            definitions,
            format,
            take,
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
                    self.packet(body, length).map_err(|failure| (at + 4 + length, failure))?;
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
            if length == CONTINUED && self.take.is_some() {
                return Err((0, long_row()));
            }
            if !whole && !self.may_be_cut(seen) {
                return Ok(None);
            }
            self.packet(seen, length).map_err(|failure| (0, failure))?;
        }
        self.continued = length == CONTINUED;
        self.skip = length - seen.len();
        Ok(Some(seen.len()))
    }

    /// Whether nothing more will come, or nothing until the server gets a file.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::File)
    }

    /// Whether the server waits for the content of a file.
    pub(super) fn wants_file(&self) -> bool {
        self.phase == Phase::File
    }

    pub(super) fn answer(&self) -> Result<Answer, Failure> {
        if self.wants_file() {
            return Err(nonsense("a request for a local file"));
        }
        Ok(self.answer)
    }

    /// Whether what is seen of a packet is enough: rows and column definitions whose first byte
    /// tells.
    fn may_be_cut(&self, seen: &[u8]) -> bool {
        let Some(first) = seen.first() else { return false };
        match self.phase {
            _ if self.take.is_some() => false,
            Phase::Columns(left) => left > 0 && *first != 0xff,
            Phase::Rows => *first < 0xfe,
            Phase::First | Phase::Done | Phase::File => false,
        }
    }

    #[inline]
    fn packet(&mut self, body: &[u8], length: usize) -> Result<(), Failure> {
        match (self.phase, body.first()) {
            (Phase::Rows, Some(0xfe)) if length < EOF_BELOW => self.end_of_rows(body),
            (_, Some(0xff)) => server_error(body),
            (Phase::Rows, Some(_)) => {
                self.answer.rows += 1;
                self.row(body)
            }
            (Phase::First, Some(0x00)) => self.ok(body),
            (Phase::First, Some(_)) => self.columns(body),
            (Phase::Columns(0), Some(_)) => {
                self.phase = Phase::Rows;
                Ok(())
            }
            (Phase::Columns(left), Some(_)) => {
                self.phase = Phase::Columns(left - 1);
                self.column(body)
            }
            (_, None) => Err(nonsense("an empty packet")),
            (Phase::Done | Phase::File, _) => Ok(()),
        }
    }

    #[inline]
    fn row(&mut self, body: &[u8]) -> Result<(), Failure> {
        let Some(take) = &mut self.take else { return Ok(()) };
        let taken = match &self.format {
            RowFormat::Text => take.row(&mut row::TextRow(body)),
            RowFormat::Binary(told) => take.row(&mut row::BinaryRow::new(told.columns, body)),
        };
        taken.ok_or_else(|| nonsense("a short row"))
    }

    fn column(&mut self, body: &[u8]) -> Result<(), Failure> {
        let Some(take) = &mut self.take else { return Ok(()) };
        // Catalog, schema, table, original table; then the name that the statement gave.
        let name = text(body, 4).ok_or_else(|| nonsense("a short column definition"))?;
        take.column(name);
        if let RowFormat::Binary(told) = &mut self.format {
            told.add(body);
        }
        Ok(())
    }

    fn end_of_rows(&mut self, body: &[u8]) -> Result<(), Failure> {
        let Some(&[a, b]) = body.get(3..5) else { return Err(nonsense("a short end of rows")) };
        self.next_result(u16::from_le_bytes([a, b]));
        Ok(())
    }

    fn ok(&mut self, body: &[u8]) -> Result<(), Failure> {
        let (changed, status) = ok(body).ok_or_else(|| nonsense("a short OK"))?;
        self.answer.changed = self.answer.changed.saturating_add(changed);
        self.next_result(status);
        Ok(())
    }

    fn columns(&mut self, body: &[u8]) -> Result<(), Failure> {
        if body.first() == Some(&LOCAL_FILE) {
            self.phase = Phase::File;
            return Ok(());
        }
        let (count, rest) = integer(body).ok_or_else(|| nonsense("no number of columns"))?;
        let cached = self.definitions == Definitions::PerhapsCached && rest.first() == Some(&0);
        self.phase = Phase::Columns(if cached { 0 } else { count });
        if let (RowFormat::Binary(told), false) = (&mut self.format, cached) {
            told.begin();
        }
        if let Some(take) = &mut self.take {
            take.begin();
        }
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
    let message = String::from_utf8_lossy(message.unwrap_or_default());
    let kind = match code {
        _ if RETRIED.contains(&code) => FailureKind::Retry,
        _ if FAREWELLS.contains(&code) => FailureKind::Lost,
        _ => FailureKind::Statement,
    };
    Err(Failure::new(kind, code.to_string(), message.trim_end()))
}

/// A row that takes more than a packet is not put together.
#[cold]
pub(super) fn long_row() -> Failure {
    Failure::lost("the answer has a row of 16 MiB or more, which cannot be read: select less of it")
}

#[cold]
pub(super) fn nonsense(what: &str) -> Failure {
    Failure::lost(format!("the server sent a malformed answer: {what}"))
}

/// Rows changed and status flags of an OK packet.
pub(super) fn ok(body: &[u8]) -> Option<(u64, u16)> {
    let (changed, rest) = integer(body.get(1..)?)?;
    let (_, rest) = integer(rest)?;
    Some((changed, u16::from_le_bytes(*rest.first_chunk()?)))
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

/// The text behind so many others.
pub(super) fn text(bytes: &[u8], behind: usize) -> Option<&[u8]> {
    let mut rest = bytes;
    for _ in 0..behind {
        (_, rest) = next_text(rest)?;
    }
    Some(next_text(rest)?.0)
}

/// A length-encoded text and what follows it.
pub(super) fn next_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = integer(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests;
