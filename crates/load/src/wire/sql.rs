//! What goes to a server, whatever its protocol.

use crate::decimal::DIGITS_MAX;
use model::{drive::Origin, workload::Mode};

/// One text for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// Prepared statement, or text with literals.
    pub mode: Mode,
    /// The text around the arguments: one piece more than there are parameters.
    pub pieces: Vec<String>,
    /// The arguments in order.
    pub parameters: Vec<Parameter>,
    /// Which statement of the workload it is; none for BEGIN and COMMIT. For traces only.
    pub origin: Option<Origin>,
    /// The smallest expected numbers of rows returned and changed: the answer of the null client.
    pub expected: (u64, u64),
}

impl Sql {
    /// A statement with `?` for each of its arguments.
    pub fn new(mode: Mode, text: &str, parameters: Vec<Parameter>) -> Self {
        let pieces = text.split('?').map(str::to_owned).collect();
        Self { mode, pieces, parameters, origin: None, expected: (0, 0) }
    }

    /// Whether an argument is not always of the same length.
    pub fn varies(&self) -> bool {
        self.parameters.iter().any(|parameter| matches!(parameter, Parameter::Varying(_)))
    }

    /// The text with `mark(position)` in place of each argument, positions from 0.
    pub fn marked(&self, mark: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for (position, piece) in self.pieces.iter().enumerate() {
            if position > 0 {
                text.push_str(&mark(position - 1));
            }
            text.push_str(piece);
        }
        text
    }
}

/// The type of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// 64-bit integer.
    Integer,
    /// Text as long as this template. In text mode it has no quote and no backslash.
    Text(Vec<u8>),
    /// Text as long as [`TIME_TEXT`], which the server takes as what its place needs: a time or a
    /// text.
    Time,
    /// Text of at most so many bytes, without quote and backslash.
    Varying(usize),
    /// As many plain bytes, in the form of what their place needs; in prepared mode only. They
    /// begin as zeros.
    Bytes(Vec<u8>),
}

impl Parameter {
    /// Bytes of its longest value as text, without quotes.
    pub fn length_max(&self) -> usize {
        match self {
            Self::Integer => DIGITS_MAX,
            Self::Varying(length) => *length,
            Self::Text(_) | Self::Time | Self::Bytes(_) => self.template().len(),
        }
    }

    /// The text that an argument of fixed length begins as.
    pub(crate) fn template(&self) -> &[u8] {
        match self {
            Self::Text(template) | Self::Bytes(template) => template,
            Self::Time => TIME_TEXT,
            Self::Integer | Self::Varying(_) => &[],
        }
    }
}

/// The text of a time, UTC.
pub const TIME_TEXT: &[u8; 19] = b"2000-01-01 00:00:00";
