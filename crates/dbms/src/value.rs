//! Values of settings, as configurations and servers write them.

use model::size;

/// Whether two ways of writing mean one value: `1G` and `1073741824`, `off` and `0`.
pub(crate) fn same_value(asked: &str, reported: &str) -> bool {
    let (asked, reported) = (asked.trim(), reported.trim());
    match (number(asked), number(reported)) {
        (Some(asked), Some(reported)) if is_close(asked, reported) => true,
        _ => asked.eq_ignore_ascii_case(reported) || is_in_own_unit(asked, reported),
    }
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs()
}

/// What Postgres takes a number without a unit for, by setting: KiB, pages or MiB,
const SIZES: [f64; 3] = [1024.0, 8192.0, 1_048_576.0];
/// and milliseconds, seconds or minutes, in milliseconds.
const TIMES: [f64; 3] = [1.0, 1000.0, 60_000.0];

/// Whether a number without a unit is what is reported with one: `131072` pages are `1GB`.
fn is_in_own_unit(asked: &str, reported: &str) -> bool {
    let Ok(asked) = asked.parse::<f64>() else { return false };
    let is = |units: [f64; 3], found: f64| units.iter().any(|unit| is_close(asked * unit, found));
    let has_unit = reported.ends_with(|last: char| last.is_ascii_alphabetic());
    let size = number(reported).filter(|_| has_unit);
    size.is_some_and(|bytes| is(SIZES, bytes)) || time_ms(reported).is_some_and(|ms| is(TIMES, ms))
}

/// A time such as `5min`, milliseconds.
fn time_ms(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1.0,
        "s" => 1000.0,
        "min" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => return None,
    };
    digits.trim().parse::<f64>().ok().map(|value| value * unit)
}

/// A size such as `512M`, bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let is_size = text.starts_with(|first: char| first.is_ascii_digit());
    let bytes = size::bytes(text, 1.0).filter(|bytes| is_size && *bytes < 2_f64.powi(53))?;
    Some(bytes as u64)
}

/// A value as a number: truth values, the levels of SQLite's `synchronous`, sizes.
fn number(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "on" | "true" | "yes" | "normal" => Some(1.0),
        "off" | "false" | "no" => Some(0.0),
        "full" => Some(2.0),
        other => size::bytes(other, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::same_value;

    #[test]
    fn ways_of_writing_one_value_are_the_same() {
        let check = |asked: &str, reported: &str, expected: bool| {
            assert_eq!(same_value(asked, reported), expected, "{asked} {reported}");
        };
        check("1G", "1073741824", true);
        check("1GB", "1024MB", true);
        check("off", "OFF", true);
        check("OFF", "0", true);
        check("30min", "30min", true);
        check("O_DIRECT", "o_direct", true);
        check("FULL", "2", true);
        check("-1048576", "-1048576", true);
        check("131072", "1GB", true);
        check("4096", "4MB", true);
        check("300", "5min", true);
        check("131072", "2GB", false);
        check("300", "6min", false);
        check("131072", "1073741824", false);
        check("1G", "134217728", false);
        check("on", "OFF", false);
        check("minimal", "replica", false);
    }
}
