//! Operations before a count, until a server is warm.

use super::fitting;
use crate::Error;
use model::explanation::WarmUp;
use std::time::{Duration, Instant};

/// Operations of the first batch, unless they take longer than [`FIRST_SECONDS`].
const FIRST: u64 = 500;
const FIRST_SECONDS: f64 = 0.5;
/// Operations of a warm-up, at most.
const WARM_UP_MAX: u64 = 260_000;
/// Its time, at most: no batch is begun that would end later.
const WARM_UP_SECONDS: u64 = 120;
/// Rows of the tables for each operation of a warm-up, at most: a page has tens of rows, and is met
/// several times then. Before that, what builds up page by page may not have begun at all: two
/// batches are equal, and both cold. Operations that are so long that the first batch has fewer
/// than [`FIRST`] read many rows each.
const ROWS: u64 = 5;
/// Two batches differ by less when a server is warm.
const STEADY: f64 = 0.005;

/// What a warm-up found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Warmed {
    pub(super) warm_up: WarmUp,
    /// Seconds of an operation.
    pub(super) seconds: f64,
}

/// One batch: instructions of so many operations, with a seed for them.
pub(super) type Batch<'a> = dyn FnMut(u64) -> Result<u64, Error> + 'a;

/// Executes batches, each twice as long as the one before, until two are equal, on tables of so
/// many rows.
pub(super) fn warm_up(rows: u64, batch: &mut Batch<'_>) -> Result<Warmed, Error> {
    // The emulator translates what it meets for the first time: only the second one tells the time.
    batch(1)?;
    let start = Instant::now();
    batch(1)?;
    let first = fitting(FIRST_SECONDS, start.elapsed().as_secs_f64(), FIRST);
    let rows = if first < FIRST { 0 } else { rows };
    let mut warm_up = WarmUp { operations: 2, batches: Vec::new(), steady: false };
    let (start, mut next) = (Instant::now(), first);
    let is_warm =
        |warm_up: &WarmUp| is_steady(&warm_up.batches) && warm_up.operations >= rows / ROWS;
    let (end, mut last) = (Duration::from_secs(WARM_UP_SECONDS), Duration::ZERO);
    while !is_warm(&warm_up)
        && warm_up.operations + next <= WARM_UP_MAX
        && start.elapsed() + 2 * last <= end
    {
        let begun = Instant::now();
        let instructions = batch(next)?;
        last = begun.elapsed();
        warm_up.operations += next;
        warm_up.batches.push(instructions as f64 / next as f64);
        next *= 2;
    }
    warm_up.steady = is_warm(&warm_up);
    let of_last = (next / 2).max(1) as f64;
    Ok(Warmed { warm_up, seconds: last.as_secs_f64() / of_last })
}

/// Whether the last two batches are equal. Each is twice as long as the one before, so what changes
/// slowly is seen too.
fn is_steady(batches: &[f64]) -> bool {
    match batches {
        [.., before, last] => (last - before).abs() < STEADY * before,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_warm_when_two_batches_are_equal() {
        let check = |batches: &[f64], expected| assert_eq!(is_steady(batches), expected);
        check(&[], false);
        check(&[1000.0], false);
        check(&[43_187.0, 39_000.0], false);
        check(&[43_187.0, 35_100.0, 35_000.0], true);
        check(&[1000.0, 1004.9], true);
        check(&[1000.0, 1005.1], false);
    }

    #[test]
    fn long_operations_have_short_batches() {
        let check = |seconds: f64, expected: u64| {
            assert_eq!(fitting(FIRST_SECONDS, seconds, FIRST), expected);
        };
        check(0.0, 500);
        check(0.000_4, 500);
        check(0.01, 50);
        check(2.0, 1);
    }

    #[test]
    fn a_warm_up_meets_the_rows_of_the_tables() {
        let mut asked = Vec::new();
        let mut batch = |operations: u64| {
            asked.push(operations);
            Ok(100 * operations)
        };
        let found = warm_up(10_000, &mut batch).unwrap().warm_up;
        assert_eq!(asked, [1, 1, 500, 1000, 2000]);
        assert_eq!((found.operations, found.steady), (3502, true));
        // Never steady: it ends all the same.
        let mut cost = 1000;
        let mut batch = |operations: u64| {
            cost += 100;
            Ok(cost * operations)
        };
        let found = warm_up(0, &mut batch).unwrap().warm_up;
        assert!(!found.steady && found.operations <= WARM_UP_MAX, "{found:?}");
        assert_eq!(found.batches.len(), 9);
    }
}
