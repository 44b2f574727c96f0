//! Levels that are written as a ladder: `1..1024*2` is 1, 2, 4 and so on up to 1024, and
//! `10..50+10` is 10, 20, 30, 40, 50.

use model::number::whole;

/// Levels of one ladder, at most: more than any plan can measure.
pub(crate) const LEVELS_MAX: usize = 100;

/// The levels of a ladder: from its first number on, each by the factor or the step larger than the
/// one before, up to its last number. None if the text is none, or if it would not end.
pub(crate) fn levels(text: &str) -> Option<Vec<i64>> {
    let (first, rest) = text.split_once("..")?;
    let grows = rest.find(['*', '+'])?;
    let (last, how) = rest.split_at(grows);
    let number = |text: &str| whole(text.trim());
    let (first, last, by) = (number(first)?, number(last)?, number(&how[1..])?);
    let next = |level: i64| match how.starts_with('*') {
        true => level.checked_mul(by),
        false => level.checked_add(by),
    };
    if first > last || next(first).is_none_or(|second| second <= first) {
        return None;
    }
    let all = std::iter::successors(Some(first), |level| next(*level).filter(|next| *next <= last));
    let levels: Vec<i64> = all.take(LEVELS_MAX + 1).collect();
    (levels.len() <= LEVELS_MAX).then_some(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_ends_at_or_below_its_last_number() {
        let check = |text: &str, expected: &[i64]| {
            assert_eq!(levels(text).as_deref(), Some(expected), "{text}");
        };
        check("1..16*2", &[1, 2, 4, 8, 16]);
        check("1..1k * 10", &[1, 10, 100, 1000]);
        check("10..45+10", &[10, 20, 30, 40]);
        check("7..7*2", &[7]);
        let none = ["1..8", "8..1*2", "1..8*1", "1..8+0", "0..8*2", "1..8*x", "-8..-1*2", "1*2"];
        for text in none.iter().chain(&["1..101+1", "1..9223372036854775807+1", ""]) {
            assert_eq!(levels(text), None, "{text}");
        }
    }
}
