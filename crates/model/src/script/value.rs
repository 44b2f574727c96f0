//! Where values come from, in numbers.

use serde::{Deserialize, Serialize};
use values::generator::Generator;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// The integers from `first` on, one after the other within one list; a lone argument is
    /// `first`.
    Consecutive {
        /// First value.
        first: i64,
    },
    /// A counter of each connection: `first + stride * executions`, with its own offset per
    /// connection.
    Sequence {
        /// First value of connection 0.
        first: i64,
    },
    /// The sum of named integer draws as a decimal text: 12345 with two digits is `123.45`.
    Decimal {
        /// Names of the draws.
        sum: Vec<String>,
        /// Digits after the point, 1 to 9.
        digits: u32,
    },
    /// The driver's wall clock (UTC) when the statement is built: `YYYY-MM-DD HH:MM:SS`.
    Now,
    /// Uniform integer from one kept value up to, and without, another; the former where there is
    /// nothing between them.
    Between {
        /// Name of the kept value that is the least.
        low: String,
        /// Name of the kept value that is the bound.
        high: String,
    },
    /// A named draw of the operation or statement, plus a constant.
    Draw {
        /// Name of the draw.
        name: String,
        /// Added to it.
        plus: i64,
    },
    /// A value captured from an earlier statement's result, plus a constant.
    Captured {
        /// Name given by `capture`.
        name: String,
        /// Added to it.
        plus: i64,
    },
    /// Chance alone.
    #[serde(untagged)]
    Drawn(Generator),
}

impl<G: Into<Generator>> From<G> for Value {
    fn from(generator: G) -> Self {
        Self::Drawn(generator.into())
    }
}
