//! The answer to messages, read just far enough: which messages, how many rows, and the rows where
//! somebody takes them.

use crate::wire::{Answer, Failure, FailureKind, Row, Value, rows::TakeRows};

/// Errors after which the same operation may well succeed: deadlock, serialization failure, and a
/// key that a concurrent transaction inserted.
const RETRIED: [&str; 3] = ["40P01", "40001", "23505"];

/// Most columns of a result.
pub(super) const COLUMNS_MAX: usize = 1664;

/// Who takes the rows of an answer.
pub(super) struct Taker<'r> {
    pub(super) rows: &'r mut dyn TakeRows,
    /// Room for the types of the columns.
    pub(super) types: &'r mut Vec<u32>,
    /// Whether values come in binary, as those of prepared statements do.
    pub(super) binary: bool,
}

/// Reader of one answer, up to the server's readiness, which may arrive in any pieces.
pub(super) struct Reply<'r> {
    taker: Option<Taker<'r>>,
    /// Bytes of the message in hand that are still to come and need no look.
    skip: usize,
    done: bool,
    /// Whether the server waits for rows.
    wants_rows: bool,
    failure: Option<Failure>,
    answer: Answer,
}

impl<'r> Reply<'r> {
    #[inline]
    pub(super) fn new(taker: Option<Taker<'r>>) -> Self {
        let answer = Answer::default();
        Self { taker, skip: 0, done: false, wants_rows: false, failure: None, answer }
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
        while !self.is_done() {
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

    /// Whether nothing more will come, or nothing until the server gets rows.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.done | self.wants_rows
    }

    /// Whether the server waits for rows. What it answers to them is read on.
    pub(super) fn wants_rows(&mut self) -> bool {
        std::mem::take(&mut self.wants_rows)
    }

    /// The answer.
    ///
    /// # Errors
    /// What the server told.
    #[inline]
    pub(super) fn into_answer(self) -> Result<Answer, Failure> {
        match self.failure {
            None if self.wants_rows => Err(unexpected(b'G')),
            None => Ok(self.answer),
            Some(failure) => Err(failure),
        }
    }

    /// The server's error, if the connection broke after it.
    pub(super) fn farewell(&mut self) -> Option<Failure> {
        self.failure.take().map(Failure::and_lost)
    }

    /// Whether a message may be skipped without having been seen whole.
    fn may_be_cut(&self, kind: u8) -> bool {
        match kind {
            b'D' | b'T' => self.taker.is_none(),
            b'N' | b'S' | b'A' => true,
            _ => false,
        }
    }

    #[inline]
    fn message(&mut self, kind: u8, body: &[u8]) -> Result<(), Failure> {
        match kind {
            b'D' => {
                self.answer.rows += 1;
                if let Some(taker) = &mut self.taker {
                    taker.row(body)?;
                }
            }
            // ParseComplete, BindComplete, CloseComplete, NoData, EmptyQueryResponse,
            // PortalSuspended, ParameterDescription, NoticeResponse, ParameterStatus,
            // NotificationResponse.
            b'1' | b'2' | b'3' | b'n' | b'I' | b's' | b't' | b'N' | b'S' | b'A' => {}
            b'T' => {
                if let Some(taker) = &mut self.taker {
                    taker.columns(body).ok_or_else(|| nonsense("a short row description"))?;
                }
            }
            b'C' => {
                self.answer.changed = self.answer.changed.saturating_add(changed(body));
            }
            b'Z' => self.done = true,
            b'E' => {
                self.failure.get_or_insert_with(|| server_error(body));
            }
            b'G' => self.wants_rows = true,
            kind => return Err(unexpected(kind)),
        }
        Ok(())
    }
}

impl Taker<'_> {
    /// Takes over the names and types of a result's columns.
    fn columns(&mut self, body: &[u8]) -> Option<()> {
        self.rows.begin();
        self.types.clear();
        let mut rest = body.get(2..)?;
        while !rest.is_empty() {
            let name = rest.iter().position(|byte| *byte == 0)?;
            self.rows.column(&rest[..name]);
            // Table (4 bytes), column of the table (2), type; its length, modifier and format.
            let (about, behind) = rest.get(name + 1..)?.split_at_checked(18)?;
            self.types.push(u32::from_be_bytes(about[6..10].try_into().ok()?));
            rest = behind;
        }
        Some(())
    }

    #[inline]
    fn row(&mut self, body: &[u8]) -> Result<(), Failure> {
        let types = self.types.iter();
        let values = body.get(2..).unwrap_or_default();
        let taken = self.rows.row(&mut DataRow { types, values, binary: self.binary });
        taken.ok_or_else(|| nonsense("a short row"))
    }
}

/// The values of a row, each behind its length.
pub(super) struct DataRow<'a> {
    pub(super) types: std::slice::Iter<'a, u32>,
    pub(super) values: &'a [u8],
    pub(super) binary: bool,
}

impl Row for DataRow<'_> {
    fn next(&mut self) -> Option<Value<'_>> {
        let (length, rest) = self.values.split_first_chunk()?;
        self.values = rest;
        let oid = self.types.next().copied().unwrap_or_default();
        // A negative length is NULL.
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            return Some(Value::Null);
        };
        let (value, rest) = self.values.split_at_checked(length)?;
        self.values = rest;
        Some(match (oid, value) {
            // int2, int4, int8, float4, float8.
            (21, &[a, b]) if self.binary => Value::Integer(i16::from_be_bytes([a, b]).into()),
            (23, &[a, b, c, d]) if self.binary => {
                Value::Integer(i32::from_be_bytes([a, b, c, d]).into())
            }
            (20, value) if self.binary => {
                Value::Integer(i64::from_be_bytes(value.try_into().ok()?))
            }
            (700, &[a, b, c, d]) if self.binary => {
                Value::Real(f32::from_be_bytes([a, b, c, d]).into())
            }
            (701, value) if self.binary => Value::Real(f64::from_be_bytes(value.try_into().ok()?)),
            // numeric.
            (1700, value) if self.binary => Value::Real(numeric(value)?),
            _ => Value::Bytes(value),
        })
    }
}

/// A number of the binary format: digits to the base 10,000, whose first has a weight. Exact for
/// sums of money.
fn numeric(bytes: &[u8]) -> Option<f64> {
    let (head, digits) = bytes.split_at_checked(8)?;
    let word = |at: usize| Some(u16::from_be_bytes([*head.get(at)?, *head.get(at + 1)?]));
    let (weight, sign) = (word(2)? as i16, word(4)?);
    let mut whole = 0.0;
    for pair in digits.chunks_exact(2) {
        whole = whole * 1e4 + f64::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    let behind = (digits.len() / 2) as i32 - 1 - i32::from(weight);
    let value = match behind {
        0.. => whole / 1e4_f64.powi(behind),
        _ => whole * 1e4_f64.powi(-behind),
    };
    match sign {
        0x0000 => Some(value),
        0x4000 => Some(-value),
        _ => Some(f64::NAN),
    }
}

/// Rows changed, from the tag of a completed command: `UPDATE 1`, `INSERT 0 1`, but not `SELECT 1`.
#[inline]
pub(super) fn changed(tag: &[u8]) -> u64 {
    match tag.first() {
        // INSERT, UPDATE, DELETE, MERGE; all others change no rows or do not count them.
        Some(b'I' | b'U' | b'D' | b'M') => {}
        Some(b'C') if tag.starts_with(b"COPY ") => {}
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
pub(super) fn server_error(body: &[u8]) -> Failure {
    let mut code = String::new();
    let mut message = String::new();
    let mut fatal = false;
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { break };
        let text = String::from_utf8_lossy(text);
        match kind {
            b'C' => code = text.into_owned(),
            b'M' => message = text.into_owned(),
            // The severity, and the one that is never translated; the server closes the connection
            // after these.
            b'S' | b'V' => fatal |= text == "FATAL" || text == "PANIC",
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
fn unexpected(kind: u8) -> Failure {
    let kind = char::from(kind).escape_default();
    nonsense(&format!("a message of kind `{kind}`, such as COPY would send"))
}

#[cold]
pub(super) fn nonsense(what: &str) -> Failure {
    Failure::lost(format!("the server sent a malformed answer: {what}"))
}

#[cfg(test)]
mod tests;
