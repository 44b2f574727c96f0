//! Generators of values, in numbers.

use serde::{Deserialize, Serialize};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// Uniform integer in `[low, high]`.
    Uniform {
        /// Least value.
        low: i64,
        /// Greatest value, inclusive.
        high: i64,
    },
    /// Zipfian integer in `[low, high]`, `low` the most frequent (Hörmann and Derflinger 1996).
    Zipf {
        /// Least and most frequent value.
        low: i64,
        /// Greatest value, inclusive.
        high: i64,
        /// Exponent, above 0; sysbench uses 0.8.
        exponent: f64,
    },
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
    /// Text in which each `#` becomes a random digit and each `@` a random lower-case letter.
    Template {
        /// The template, ASCII.
        template: String,
    },
    /// A fixed integer.
    Integer {
        /// The value.
        value: i64,
    },
    /// A fixed text.
    Text {
        /// The value.
        value: String,
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
    /// A moment between two, both included, as `YYYY-MM-DD HH:MM:SS`, UTC: of loaded columns.
    Timestamp {
        /// Earliest, seconds since 1970.
        low: u64,
        /// Latest; the time of the load if absent.
        high: Option<u64>,
    },
    /// Text of a uniform random length in `[low, high]`: `a`s, then
    /// `length * 3 / 4 * random_percent / 100` random characters of the base64 alphabet, which a
    /// compressor cannot shorten.
    Filler {
        /// Least length, characters.
        low: i64,
        /// Greatest length, inclusive.
        high: i64,
        /// Share of random characters, percent of three quarters of the length.
        random_percent: u32,
    },
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
}
