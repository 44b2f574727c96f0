//! The rows of an answer, as they come by.

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer of any width.
    Integer(i64),
    /// An integer above all of those.
    Unsigned(u64),
    /// A number with a fraction.
    Real(f64),
    /// A text, or any other value in the bytes of its protocol.
    Bytes(&'a [u8]),
}

/// Below this, a number with a fraction is the very integer that the server had.
const WHOLE_MAX: f64 = (1_u64 << 53) as f64;

impl Value<'_> {
    /// The value as an integer, also where it is written as a text or has a fraction of 0; `None`
    /// for NULL and for what is no integer.
    #[inline]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            Self::Real(value) if value.fract() == 0.0 && value.abs() < WHOLE_MAX => {
                Some(*value as i64)
            }
            Self::Null | Self::Unsigned(_) | Self::Real(_) => None,
        }
    }

    /// The value as a text; `None` is NULL. Numbers with a fraction have as few digits as tell them
    /// apart, and an exponent where they would have many zeros.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Integer(value) => Some(value.to_string()),
            Self::Unsigned(value) => Some(value.to_string()),
            Self::Real(value) => {
                let text = format!("{value:?}");
                Some(text.strip_suffix(".0").unwrap_or(&text).to_owned())
            }
            Self::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        }
    }
}

/// One row, value by value.
pub trait Row {
    /// The next value; `None` behind the last one, or if the bytes of the row make no sense.
    fn next(&mut self) -> Option<Value<'_>>;
}

/// Takes the rows of an answer over as they arrive.
pub(crate) trait TakeRows {
    /// A result begins whose columns follow.
    fn begin(&mut self) {}

    /// The name of the next column.
    fn column(&mut self, _name: &[u8]) {}

    /// The next row; `None` if its bytes make no sense.
    fn row(&mut self, row: &mut dyn Row) -> Option<()>;
}

/// Hands each row to a function.
pub(crate) struct Each<'a>(pub(crate) &'a mut dyn FnMut(&mut dyn Row));

impl TakeRows for Each<'_> {
    #[inline]
    fn row(&mut self, row: &mut dyn Row) -> Option<()> {
        (self.0)(row);
        Some(())
    }
}

/// The answer to one statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Column names; empty if the statement returned no result set.
    pub columns: Vec<String>,
    /// Values as text; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Rows that the statement changed.
    pub changed: u64,
}

/// Collects the rows of an answer; of several results the first with columns.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) rows: Rows,
    /// Whether the result at hand is the one that is kept.
    keeps: bool,
}

impl TakeRows for Collected {
    fn begin(&mut self) {
        self.keeps = self.rows.columns.is_empty();
    }

    fn column(&mut self, name: &[u8]) {
        if self.keeps {
            self.rows.columns.push(String::from_utf8_lossy(name).into_owned());
        }
    }

    fn row(&mut self, row: &mut dyn Row) -> Option<()> {
        if self.keeps {
            let values = self.rows.columns.iter().map(|_| Some(row.next()?.text()));
            let values = values.collect::<Option<_>>()?;
            self.rows.rows.push(values);
        }
        Some(())
    }
}
