//! Whole numbers as people write them: `1000`, `1_000`, `10k`, `1.5M`, `1e6`.

/// A number of things, in the singular or with an `s`: `1 phase`, `2 phases`.
pub fn counted(count: impl TryInto<u64>, thing: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A number of what people count from 1, of an index from 0: `block 1` is the first.
pub fn ordinal(index: u32) -> u64 {
    u64::from(index) + 1
}

/// The whole number that `text` means, or none where it means none or one beyond 64 bits. `k`, `M`
/// and `G` are powers of 1000.
pub fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (text, suffix) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 3),
        (at, 'M') => (&text[..at], 6),
        (at, 'G') => (&text[..at], 9),
        _ => (text, 0),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, small(exponent.trim_start_matches('+'))?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat().chars().filter(|c| *c != '_').collect();
    if whole.is_empty() || whole.starts_with('_') || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let fraction = fraction.bytes().filter(u8::is_ascii_digit).count();
    let shift = exponent + suffix - i32::try_from(fraction).ok()?;
    let number: i128 = digits.parse().ok()?;
    let scale = 10_i128.checked_pow(shift.unsigned_abs())?;
    let number = match shift {
        0.. => number.checked_mul(scale)?,
        _ if number % scale == 0 => number / scale,
        _ => return None,
    };
    i64::try_from(if negative { -number } else { number }).ok()
}

/// Whether `text` is a positive number of digits alone that is beyond 64 bits.
pub fn is_beyond(text: &str) -> bool {
    let digits: String = text.trim().chars().filter(|c| *c != '_').collect();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && whole(text).is_none() && digits.parse::<i64>().is_err()
}

/// An exponent of one or two digits: anything larger is beyond 64 bits.
fn small(text: &str) -> Option<i32> {
    let digits = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!(counted(0_u32, "row"), "0 rows");
        assert_eq!(counted(1_usize, "row"), "1 row");
        assert_eq!(counted(2_u64, "row"), "2 rows");
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let check = |text: &str, expected: Option<i64>| assert_eq!(whole(text), expected, "{text}");
        check("0", Some(0));
        check("1_000_000", Some(1_000_000));
        check("10k", Some(10_000));
        check("10K", Some(10_000));
        check("1M", Some(1_000_000));
        check("1.5M", Some(1_500_000));
        check("2G", Some(2_000_000_000));
        check("1e6", Some(1_000_000));
        check("2.5e+3", Some(2_500));
        check("-3", Some(-3));
        check(" 7 ", Some(7));
        check("9223372036854775807", Some(i64::MAX));
        for wrong in
            ["", "-", "k", "1.5", "1m", "many", "1 M", "0x10", "1e", "1e999", "9e18k", "_1"]
        {
            check(wrong, None);
        }
        check("9223372036854775808", None);
        assert!(is_beyond("9223372036854775808") && is_beyond(&"9_".repeat(100)));
        assert!(!["7", "_7", "", "many", "1.5"].into_iter().any(is_beyond));
        check(&"9".repeat(100), None);
    }
}
