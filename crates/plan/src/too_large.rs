//! What is said of a number that is larger than its key takes.

use crate::limits::{COUNT_MAX, ROWS_MAX};

/// How what is expected begins where a number is too large.
pub(crate) const TOO_LARGE: &str = "a whole number of at most ";

/// The largest number that this key of an experiment takes, if it is a count.
pub(crate) fn most(key: &str) -> Option<u64> {
    match key {
        "at_once" | "blocks" | "loads" | "rounds" | "tables" => Some(COUNT_MAX),
        "rows" => Some(ROWS_MAX),
        _ => None,
    }
}
