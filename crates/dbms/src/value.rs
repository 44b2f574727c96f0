//! Values of settings, as configurations and servers write them.

/// Whether two ways of writing mean one value: `1G` and `1073741824`, `off` and `0`.
pub(crate) fn same_value(asked: &str, reported: &str) -> bool {
    let (asked, reported) = (asked.trim(), reported.trim());
    match (number(asked), number(reported)) {
        (Some(asked), Some(reported)) => (asked - reported).abs() <= 1e-9 * asked.abs(),
        _ => asked.eq_ignore_ascii_case(reported),
    }
}

/// A size such as `512M`, bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let is_size = text.starts_with(|first: char| first.is_ascii_digit());
    let bytes = number(text).filter(|bytes| is_size && *bytes < 2_f64.powi(53))?;
    Some(bytes as u64)
}

/// A value as a number: truth values, the levels of SQLite's `synchronous`, sizes.
fn number(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "on" | "true" | "yes" | "normal" => return Some(1.0),
        "off" | "false" | "no" => return Some(0.0),
        "full" => return Some(2.0),
        _ => {}
    }
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &lower[digits.len()..] {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0_f64.powi(2),
        "g" | "gb" => 1024.0_f64.powi(3),
        "t" | "tb" => 1024.0_f64.powi(4),
        _ => return None,
    };
    digits.trim().parse::<f64>().ok().map(|value| value * unit)
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
        check("1G", "134217728", false);
        check("on", "OFF", false);
        check("minimal", "replica", false);
    }
}
