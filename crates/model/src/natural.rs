//! The order of names with numbers in them: `5.6.51`, `5.7.44`, `8.0.9`, `8.0.43`, `10.1`.

use std::cmp::Ordering;

/// Compares two names: runs of digits as numbers of any length, everything else byte by byte.
/// Names that differ in leading zeros only are ordered byte by byte, so equal means identical.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while !left.is_empty() && !right.is_empty() {
        let (first, second) = (part(left), part(right));
        let order = match (is_number(first), is_number(second)) {
            (true, true) => by_number(first, second),
            _ => first.cmp(second),
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (&left[first.len()..], &right[second.len()..]);
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// The digits that a text begins with, or the text up to its first digit.
fn part(text: &str) -> &str {
    let number = is_number(text);
    let end = text.find(|c: char| c.is_ascii_digit() != number).unwrap_or(text.len());
    &text[..end]
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn by_number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_sort_as_numbers() {
        let check = |expected: &[&str]| {
            let mut sorted = expected.to_vec();
            sorted.reverse();
            sorted.sort_by(|a, b| compare(a, b));
            assert_eq!(sorted, expected);
        };
        check(&["5.6.51", "5.7.44", "8.0.9", "8.0.43", "10.1"]);
        check(&["mysql-5.6.51", "mysql-8.0", "mysql-8.0.9", "mysql-8.0.43", "mysql-10.1"]);
        check(&["x.my5651_rel", "x.my8043_rel", "x.my8406_rel", "x.my8406v2_rel", "x.my9400_rel"]);
        check(&["pg9", "pg10", "pg100"]);
        check(&["", "a", "a1", "a2", "a10", "ab"]);
        // Leading zeros change no number, and no two names are equal.
        check(&["v007", "v07", "v7", "v8"]);
        check(&["9", "99999999999999999999999999999", "100000000000000000000000000000"]);
        check(&["1ä", "1ö", "2ä"]);
    }

    #[test]
    fn the_order_is_total() {
        let names = ["", "0", "00", "a", "a0", "a00", "a00b", "a0b", "1.0", "1.00", "1.", "b1"];
        for a in names {
            for b in names {
                assert_eq!(compare(a, b), compare(b, a).reverse(), "{a} {b}");
                assert_eq!(compare(a, b) == Ordering::Equal, a == b);
                for c in names {
                    if compare(a, b).is_le() && compare(b, c).is_le() {
                        assert!(compare(a, c).is_le(), "{a} {b} {c}");
                    }
                }
            }
        }
    }
}
