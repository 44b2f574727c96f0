//! Phases on a subject, with the functions in which the task that serves its one connection spends
//! its instructions or its time; and those that a run has to explain after its last block.

mod attribution;
mod changes;
mod sides;

pub(crate) use changes::{emulator, explain_changes, is_measured};
pub(crate) use sides::{Agreed, Asked, Wanted, sides};

/// Operations whose instructions are counted, at most, where nobody says how many.
const OPERATIONS: u64 = 5_000;

/// How many operations take so many seconds together if one takes `each`: one at least, and `most`
/// at most.
fn fitting(together: f64, each: f64, most: u64) -> u64 {
    ((together / each.max(f64::MIN_POSITIVE)) as u64).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_operations_are_counted_less_often() {
        let check = |seconds: f64, expected: u64| {
            assert_eq!(fitting(sides::SECONDS, seconds, OPERATIONS), expected);
        };
        check(0.0, 5000);
        check(0.001, 5000);
        check(0.1, 300);
        check(100.0, 1);
    }
}
