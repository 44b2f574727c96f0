//! Numbers as people read them: the one place that rounds what is shown. A value half between two
//! goes to the even one, as `printf` has it; the script of the HTML report does the same.

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

/// Two decimals would hide more than half of a ratio below this, or all of it.
const SMALL_RATIO: f64 = 0.00995;

/// A ratio with two decimals; large ones have fewer, and those of less than a hundredth a digit.
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio {
        _ if !ratio.is_finite() => "-".to_owned(),
        _ if 0.0 < ratio && ratio < SMALL_RATIO => value(ratio),
        _ if ratio >= 99.95 => format!("{ratio:.0}"),
        _ if ratio >= 9.995 => format!("{ratio:.1}"),
        _ => format!("{ratio:.2}"),
    }
}

/// A ratio of a change that is decided: two decimals may hide that there is one.
pub(crate) fn change(ratio: f64) -> String {
    match self::ratio(ratio) {
        hidden if hidden == "1.00" => format!("{ratio:.3}"),
        shown => shown,
    }
}

/// A share as percent with three decimals, as published tables have it: nothing for none, and
/// `nonzero` for less than can be shown.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent <= 0.0 || !percent.is_finite() => String::new(),
        percent if percent < 0.0005 => "nonzero".to_owned(),
        percent => format!("{percent:.3}"),
    }
}

/// A value for the mark of an axis: `95k`, `1.5M`, `0.25`.
pub(crate) fn short(value: f64) -> String {
    let (scaled, ending) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        0.0 => 0,
        size if size >= 99.5 => 0,
        size if size >= 9.95 => 1,
        size if size >= 0.995 => 2,
        size if size >= 0.001 => 4,
        _ => return format!("{value:.0e}"),
    };
    let text = format!("{scaled:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0') } else { &text };
    format!("{}{ending}", text.trim_end_matches('.'))
}

/// A number for embedded data, with six significant digits if `shown` makes the same text of them
/// as of the number itself (18705.486 is 18705, and 18705.5 is not), else with all; `null` in JSON
/// if it is not finite.
pub(crate) fn embedded(number: f64, shown: fn(f64) -> String) -> Option<f64> {
    if !number.is_finite() {
        return None;
    }
    let six: f64 = format!("{number:.5e}").parse().ok()?;
    Some(if shown(six) == shown(number) { six } else { number })
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
        let check = |number: f64, expected: &str| assert_eq!(short(number), expected);
        check(0.0, "0");
        check(0.25, "0.25");
        check(1000.0, "1000");
        check(50_000.0, "50k");
        check(1_500_000.0, "1.5M");
        check(93_697.0, "93.7k");
        assert_eq!([change(1.003), change(0.997), change(0.62)], ["1.003", "0.997", "0.62"]);
        assert_eq!(embedded(1_234.567_89, value), Some(1234.57));
        assert_eq!(embedded(f64::NAN, value), None);
        assert_eq!([0.0, 1e-9, 0.5, 1.0].map(percent), ["", "nonzero", "50.000", "100.000"]);
        assert_eq!((ratio(0.914), ratio(f64::INFINITY)), ("0.91".into(), "-".into()));
    }

    #[test]
    fn a_ratio_of_a_thousandth_is_not_zero() {
        let check = |number: f64, expected: &str| assert_eq!(ratio(number), expected);
        check(0.0024, "0.002");
        check(0.0001, "1e-4");
        check(0.00994, "0.010");
        check(0.00996, "0.01");
        check(0.0, "0.00");
        // The script of the HTML report shows the same.
        let script = include_str!("assets/script.js");
        assert!(script.contains(&format!("ratio > 0 && ratio < {SMALL_RATIO}")));
    }

    #[test]
    fn what_is_embedded_is_shown_as_the_value_itself() {
        assert_eq!((value(18_704.486), value(18_705.486)), ("18704".into(), "18705".into()));
        assert_eq!(embedded(18_704.486, value), Some(18_704.5));
        // Six digits would be 18705.5, which is shown as 18706.
        assert_eq!(embedded(18_705.486, value), Some(18_705.486));
        for step in 0..20_000 {
            let number = f64::from(step) * 1.234_567 + 0.000_499_6;
            assert_eq!(embedded(number, value).map(value), Some(value(number)), "{number}");
        }
    }
}
