//! Numbers as text: strict reading, and the notations of C and awk.

use model::number::counted;

/// What stands in tables where a variant has no value: nothing is shifted.
pub(crate) const MISSING: &str = "NA";

/// A finite number in plain or exponent notation; `.5` is one, `inf`, `nan` and `0x1` are not.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let first = digits.bytes().next()?;
    if !(first.is_ascii_digit() || first == b'.') || text.len() > 40 {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The same from 0 on: no quantity that archives hold is below.
pub(crate) fn quantity(text: &str) -> Option<f64> {
    parse(text).filter(|value| *value >= 0.0)
}

/// The number that a text begins with, and the rest: `907.76user` is 907.76 and `user`.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((parse(&text[..end])?, &text[end..]))
}

/// Why a row with another number of columns than its header is not imported.
pub(crate) fn wrong_columns(has: usize, needs: usize) -> String {
    format!("the row has {} instead of {needs}; it is left out", counted(has, "column"))
}

/// The start of a text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARS: usize = 48;
    let start: String = text.chars().take(CHARS).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

/// `%.6g` of C: six significant digits, no trailing zeros.
pub(crate) fn general(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { format!("{value}") };
    }
    // The exponent after rounding decides, as in C.
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Whether two printed numbers can be roundings of one value.
pub(crate) fn agree(a: &str, b: &str) -> bool {
    let (Some(x), Some(y)) = (parse(a), parse(b)) else { return a == b };
    let (coarse, fine) = (half_step(a), half_step(b));
    // Equally many digits: only the same number is a rounding of the same value.
    let tolerance = if coarse == fine { 0.0 } else { (coarse + fine) * 1.000_001 };
    (x - y).abs() <= tolerance
}

/// Whether one of two printed numbers is the other one in thousands or millions.
pub(crate) fn agree_in_scale(a: &str, b: &str) -> bool {
    let (Some(x), Some(y)) = (parse(a), parse(b)) else { return false };
    let scaled = |(small, small_text): (f64, &str), (large, large_text): (f64, &str)| {
        [1e3, 1e6].into_iter().any(|factor| {
            let tolerance = (half_step(small_text) * factor + half_step(large_text)) * 1.000_001;
            (small * factor - large).abs() <= tolerance
        })
    };
    scaled((x, a), (y, b)) || scaled((y, b), (x, a))
}

/// Half of the last digit of a printed number.
pub(crate) fn half_step(text: &str) -> f64 {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len());
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
    0.5 * 10_f64.powi(exponent.saturating_sub(decimals))
}

/// Connections of a folder `dop8`.
pub(crate) fn dop(folder: &str) -> Option<u32> {
    positive(folder.strip_prefix("dop")?)
}

/// A number from 1 on in digits.
pub(crate) fn positive(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_strictly() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(parse(text), expected, "{text}");
        check("0.000510", Some(0.00051));
        check(".124", Some(0.124));
        check("-3", Some(-3.0));
        check("1e3", Some(1000.0));
        for wrong in ["", "-", ".", "inf", "-inf", "nan", "0x10", "1,5", "1 ", "12a", "１"] {
            check(wrong, None);
        }
        check(&"9".repeat(400), None);
        check("1e999", None);
    }

    #[test]
    fn general_is_that_of_c() {
        // Expected values: printf("%.6g") of glibc 2.36.
        let check = |value: f64, expected: &str| assert_eq!(general(value), expected);
        check(6.370, "6.37");
        check(0.0, "0");
        check(0.001, "0.001");
        check(1_234_567.0, "1.23457e+06");
        check(999_999.5, "1e+06");
        check(0.000_012_345_678, "1.23457e-05");
        check(100_000.0, "100000");
        check(123_456.7, "123457");
        check(-0.97, "-0.97");
    }

    #[test]
    fn thousands_and_millions_of_one_value_agree() {
        let check = |a: &str, b: &str, expected: bool| {
            assert_eq!(
                (agree_in_scale(a, b), agree_in_scale(b, a)),
                (expected, expected),
                "{a} {b}"
            );
        };
        check("3.875", "3875218", true);
        check("0.451", "451", true);
        check("3.875", "3874218", false);
        check("451", "451", false);
        check("x", "1", false);
    }

    #[test]
    fn roundings_of_one_value_agree() {
        let check = |a: &str, b: &str, expected: bool| assert_eq!(agree(a, b), expected, "{a} {b}");
        check("7968.15", "7968", true);
        check("0.000", "0", true);
        check("6.370", "6.37", true);
        check("7968.15", "7969", false);
        check("1.23457e+06", "1234567", true);
        check("0.5", "1", true);
        check("0.000510", "0.000511", false);
        // Exponents beyond all numbers.
        check("1.5e-2147483648", "0", true);
        check("1.5e-2147483648", "7", false);
    }
}
