//! Numbers as people read them.

/// A value with about three significant digits; counts above a hundred without decimals.
pub(crate) fn value(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".to_owned();
    }
    match size {
        0.0 => "0".to_owned(),
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 => format!("{value:.2}"),
        _ if size >= 0.0005 => format!("{value:.3}"),
        _ => format!("{value:.0e}"),
    }
}

/// A ratio with two decimals.
pub(crate) fn ratio(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_about_three_digits() {
        let check = |number: f64, expected: &str| assert_eq!(value(number), expected);
        check(0.0, "0");
        check(24_733.4, "24733");
        check(99.96, "100");
        check(99.94, "99.9");
        check(9.999, "10.0");
        check(3.825, "3.83");
        check(0.9999, "1.00");
        check(0.0184, "0.018");
        check(0.000_018, "2e-5");
        check(-12.34, "-12.3");
        check(f64::NAN, "-");
        assert_eq!((ratio(0.914), ratio(f64::INFINITY)), ("0.91".into(), "-".into()));
    }
}
