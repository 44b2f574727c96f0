//! Operations before a count, until a server is warm.

use crate::Error;
use model::explanation::WarmUp;
use std::time::{Duration, Instant};

/// Batches of fewer operations that take less time than [`FIRST_SECONDS`] tell nothing yet: the
/// emulator translates what it meets for the first time.
const FIRST: u64 = 500;
const FIRST_SECONDS: Duration = Duration::from_millis(500);
/// Operations of a warm-up, at most.
const WARM_UP_MAX: u64 = (1 << 18) - 1;
/// Two batches differ by less when a server is warm: instructions repeat, time does not.
pub(crate) const EXACT: f64 = 0.005;
pub(crate) const TIMED: f64 = 0.05;

/// How long a warm-up may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Then operations that are few because each is long are enough.
    pub(crate) few: Duration,
    /// No batch is begun that would end later.
    pub(crate) all: Duration,
}

/// What a warm-up found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Warmed {
    pub(crate) warm_up: WarmUp,
    /// Seconds of an operation.
    pub(crate) seconds: f64,
}

/// One batch: the cost of so many operations, with a seed for them.
pub(crate) type Batch<'a> = dyn FnMut(u64) -> Result<u64, Error> + 'a;

/// Executes batches, each up to twice as long as the one before, until two are equal and so many
/// operations are done: what builds up page by page may not have begun before, and two batches are
/// equal and both cold.
pub(crate) fn warm_up(
    enough: u64,
    limits: Limits,
    steady: f64,
    batch: &mut Batch<'_>,
) -> Result<Warmed, Error> {
    let mut warm_up = WarmUp { operations: 0, batches: Vec::new(), steady: false };
    let (start, mut next, mut last) = (Instant::now(), 1, Duration::ZERO);
    let mut seconds = 0.0;
    let is_warm = |warm_up: &WarmUp| {
        let is_enough = warm_up.operations >= enough || start.elapsed() >= limits.few;
        is_enough && is_steady(&warm_up.batches, steady)
    };
    while !is_warm(&warm_up)
        && warm_up.operations + next <= WARM_UP_MAX
        && start.elapsed() + 2 * last <= limits.all
    {
        let begun = Instant::now();
        let cost = batch(next)?;
        last = begun.elapsed();
        warm_up.operations += next;
        if next >= FIRST || last >= FIRST_SECONDS {
            warm_up.batches.push(cost as f64 / next as f64);
        }
        seconds = last.as_secs_f64() / next as f64;
        // No more than are missing, where some are.
        let missing = enough.saturating_sub(warm_up.operations);
        next = if missing > 0 { (2 * next).min(missing.max(next)) } else { 2 * next };
    }
    warm_up.steady = is_warm(&warm_up);
    Ok(Warmed { warm_up, seconds })
}

/// Executes as many operations as another server has, in two batches.
pub(crate) fn warm_up_by(
    operations: u64,
    steady: f64,
    batch: &mut Batch<'_>,
) -> Result<Warmed, Error> {
    let start = Instant::now();
    let mut batches = Vec::new();
    for part in [operations / 2, operations - operations / 2] {
        if part > 0 {
            batches.push(batch(part)? as f64 / part as f64);
        }
    }
    let seconds = start.elapsed().as_secs_f64() / operations.max(1) as f64;
    let steady = is_steady(&batches, steady);
    Ok(Warmed { warm_up: WarmUp { operations, batches, steady }, seconds })
}

/// Whether the last two batches are equal. Each is twice as long as the one before, so what changes
/// slowly is seen too.
fn is_steady(batches: &[f64], steady: f64) -> bool {
    match batches {
        [.., before, last] => (last - before).abs() < steady * before,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { few: Duration::MAX, all: Duration::MAX };

    #[test]
    fn a_server_is_warm_when_two_batches_are_equal() {
        let check = |batches: &[f64], expected| assert_eq!(is_steady(batches, EXACT), expected);
        check(&[], false);
        check(&[1000.0], false);
        check(&[43_187.0, 39_000.0], false);
        check(&[43_187.0, 35_100.0, 35_000.0], true);
        check(&[1000.0, 1004.9], true);
        check(&[1000.0, 1005.1], false);
    }

    #[test]
    fn a_server_does_exactly_what_another_one_did() {
        let mut done = Vec::new();
        let mut batch = |operations: u64| {
            done.push(operations);
            Ok(operations * 100)
        };
        let found = warm_up_by(73_727, EXACT, &mut batch).unwrap().warm_up;
        assert_eq!(found, WarmUp { operations: 73_727, batches: vec![100.0; 2], steady: true });
        assert_eq!(done, [36_863, 36_864]);
        let few = warm_up_by(1, EXACT, &mut |operations| Ok(operations)).unwrap().warm_up;
        assert_eq!(few, WarmUp { operations: 1, batches: vec![1.0], steady: false });
    }

    #[test]
    fn a_warm_up_meets_the_rows_of_the_tables() {
        let mut asked = Vec::new();
        let mut batch = |operations: u64| {
            asked.push(operations);
            Ok(100 * operations)
        };
        let found = warm_up(2_000, LIMITS, EXACT, &mut batch).unwrap().warm_up;
        assert_eq!(asked, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 977]);
        assert_eq!((found.operations, found.batches.len(), found.steady), (2000, 2, true));
        // Never steady: it ends all the same.
        let mut cost = 1000;
        let mut batch = |operations: u64| {
            cost += 100;
            Ok(cost * operations)
        };
        let found = warm_up(0, LIMITS, EXACT, &mut batch).unwrap().warm_up;
        assert!(!found.steady && found.operations <= WARM_UP_MAX, "{found:?}");
        assert_eq!(found.batches.len(), 9);
    }
}
