//! The answer to PostgreSQL messages, read just far enough: which messages, how many rows.

use crate::client::{Answer, Failure, FailureKind};
use model::workload::Mode;

/// Errors after which the same operation may well succeed: deadlock, serialization failure, and a
/// key that a concurrent transaction inserted.
const RETRIED: [&str; 3] = ["40P01", "40001", "23505"];

/// How the captured value of a statement is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capture {
    /// No value is wanted.
    No,
    /// First column of the first row; prepared statements answer in binary, texts in text.
    First(Mode),
}

/// Reader of one answer, up to the server's readiness, which may arrive in any pieces.
#[derive(Debug)]
pub(super) struct Reply {
    capture: Capture,
    /// Type of the first column, where a value is captured.
    column: u32,
    /// Bytes of the message in hand that are still to come and need no look.
    skip: usize,
    done: bool,
    failure: Option<Failure>,
    answer: Answer,
}

impl Reply {
    #[inline]
    pub(super) fn new(capture: Capture) -> Self {
        let answer = Answer::default();
        Self { capture, column: 0, skip: 0, done: false, failure: None, answer }
    }

    /// Reads from `bytes` and returns how many it has understood. After [`Reply::is_done`] there
    /// are no more; before, the rest is to be given again with more bytes behind it.
    ///
    /// # Errors
    /// Bytes that make no sense. The server's own errors come with [`Reply::into_answer`], because
    /// the server says that it is ready only after them.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        let mut at = skipped;
        while !self.done {
            let rest = bytes.get(at..).unwrap_or_default();
            let [kind, a, b, c, d, body @ ..] = rest else { break };
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
            let Some(length) = length.checked_sub(4) else {
                return Err(nonsense("a message without length"));
            };
            if let Some(body) = body.get(..length) {
                self.message(*kind, body)?;
                at += 5 + length;
            } else if self.may_be_cut(*kind) {
                self.answer.rows += u64::from(*kind == b'D');
                self.skip = length - body.len();
                at = bytes.len();
            } else {
                break;
            }
        }
        Ok(at)
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// The answer.
    ///
    /// # Errors
    /// What the server told.
    #[inline]
    pub(super) fn into_answer(self) -> Result<Answer, Failure> {
        match self.failure {
            None => Ok(self.answer),
            Some(failure) => Err(failure),
        }
    }

    /// The server's error, if the connection broke after it.
    pub(super) fn farewell(self) -> Option<Failure> {
        let failure = self.failure?;
        Some(Failure::new(FailureKind::Lost, failure.code(), failure.message()))
    }

    /// Whether a message may be skipped without having been seen whole.
    fn may_be_cut(&self, kind: u8) -> bool {
        match kind {
            b'D' => self.capture == Capture::No || self.answer.rows > 0,
            b'T' => self.capture == Capture::No,
            b'N' | b'S' | b'A' => true,
            _ => false,
        }
    }

    #[inline]
    fn message(&mut self, kind: u8, body: &[u8]) -> Result<(), Failure> {
        match kind {
            b'D' => {
                if self.capture != Capture::No && self.answer.rows == 0 {
                    self.answer.captured = self.captured(body);
                }
                self.answer.rows += 1;
            }
            // ParseComplete, BindComplete, CloseComplete, NoData, EmptyQueryResponse,
            // PortalSuspended, ParameterDescription, NoticeResponse, ParameterStatus,
            // NotificationResponse.
            b'1' | b'2' | b'3' | b'n' | b'I' | b's' | b't' | b'N' | b'S' | b'A' => {}
            b'T' => {
                if self.capture != Capture::No {
                    self.column = first_type(body).unwrap_or_default();
                }
            }
            b'C' => {
                self.answer.changed = self.answer.changed.saturating_add(changed(body));
            }
            b'Z' => self.done = true,
            b'E' => self.failure = Some(server_error(body)),
            kind => {
                return Err(nonsense(&format!(
                    "a message of kind `{}`, such as COPY would send",
                    char::from(kind).escape_default()
                )));
            }
        }
        Ok(())
    }

    /// The first column of a row as an integer, if it is one; NULL is 0.
    fn captured(&self, row: &[u8]) -> Option<i64> {
        let &[_, _, a, b, c, d, ref rest @ ..] = row else { return None };
        // A negative length is NULL.
        let Ok(length) = usize::try_from(i32::from_be_bytes([a, b, c, d])) else { return Some(0) };
        let value = rest.get(..length)?;
        let binary = self.capture == Capture::First(Mode::Prepared);
        match (value, self.column) {
            // int2, int4, int8.
            (&[a, b], 21) if binary => Some(i16::from_be_bytes([a, b]).into()),
            (&[a, b, c, d], 23) if binary => Some(i32::from_be_bytes([a, b, c, d]).into()),
            (value, 20) if binary => value.try_into().ok().map(i64::from_be_bytes),
            (value, _) => std::str::from_utf8(value).ok()?.parse().ok(),
        }
    }
}

/// Type of the first column of a row description.
fn first_type(body: &[u8]) -> Option<u32> {
    let columns = body.get(2..)?;
    let name = columns.iter().position(|byte| *byte == 0)?;
    // Table (4 bytes), column of the table (2), type.
    let oid = columns.get(name + 7..name + 11)?;
    oid.try_into().ok().map(u32::from_be_bytes)
}

/// Rows changed, from the tag of a completed command: `UPDATE 1`, `INSERT 0 1`, but not `SELECT 1`.
#[inline]
pub(super) fn changed(tag: &[u8]) -> u64 {
    match tag.first() {
        // INSERT, UPDATE, DELETE, MERGE; all others change no rows or do not count them.
        Some(b'I' | b'U' | b'D' | b'M') => {}
        _ => return 0,
    }
    let mut number = 0_u64;
    for byte in tag {
        match byte {
            b'0'..=b'9' => {
                number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            }
            b' ' => number = 0,
            _ => {}
        }
    }
    number
}

/// The failure that an error message tells.
#[cold]
fn server_error(body: &[u8]) -> Failure {
    let mut code = String::new();
    let mut message = String::new();
    let mut fatal = false;
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { break };
        let text = String::from_utf8_lossy(text);
        match kind {
            b'C' => code = text.into_owned(),
            b'M' => message = text.into_owned(),
            // The severity that is never translated; the server closes the connection after these.
            b'V' => fatal = text == "FATAL" || text == "PANIC",
            _ => {}
        }
    }
    let kind = match (fatal, RETRIED.contains(&code.as_str())) {
        (true, _) => FailureKind::Lost,
        (false, true) => FailureKind::Retry,
        (false, false) => FailureKind::Statement,
    };
    Failure::new(kind, code, message)
}

#[cold]
fn nonsense(what: &str) -> Failure {
    Failure::lost(format!("the server sent a malformed answer: {what}"))
}

#[cfg(test)]
mod tests;
