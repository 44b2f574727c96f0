//! The colours of published response time tables: shares in gray, the largest times in red and
//! green.

use crate::rounding::whole;

/// The class of a share's cell, in percent as it is printed: none for an empty cell (a share of
/// `0.000`) or for `nonzero`, else 0 (white) to 20 (the darkest gray).
pub fn share_class(printed: &str) -> Option<u8> {
    let share: f64 = printed.trim().parse().ok()?;
    (share > 0.0 && share <= 100.0).then(|| whole(share / 5.0) as u8)
}

/// The background of a class of [`share_class`].
pub fn share_colour(class: u8) -> String {
    let part = 254 - 2 * class.min(20);
    format!("#{part:02x}{part:02x}{part:02x}")
}

/// Where a largest response time stands among those of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// In the top quarter of the range: class `cmaxr`, red.
    Slowest,
    /// In the bottom quarter: class `cminr`, green; not used where all values are close together.
    Fastest,
    /// Between them.
    Between,
}

/// The extremes of a column of largest response times [s]. Red is tested first.
pub fn extremes(seconds: &[f64]) -> Vec<Extreme> {
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = seconds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let quarter = whole((greatest - least) / 4.0 * 1e3) / 1e3;
    let (red, green) = (whole(1e3 * (greatest - quarter)), whole(1e3 * (least + quarter)));
    let close = least >= 0.8 * greatest;
    let extreme = |seconds: &f64| match whole(1e3 * seconds) {
        thousandths if thousandths >= red => Extreme::Slowest,
        thousandths if thousandths <= green && !close => Extreme::Fastest,
        _ => Extreme::Between,
    };
    seconds.iter().map(extreme).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Extreme::{Between, Fastest, Slowest};

    #[test]
    fn shares_have_the_published_classes() {
        let check = |printed: &str, expected: Option<u8>| {
            assert_eq!(share_class(printed), expected, "{printed}");
        };
        check("0.000", None);
        check("nonzero", None);
        check("", None);
        check("0.106", Some(0));
        check("2.445", Some(0));
        check("2.565", Some(1));
        check("97.277", Some(19));
        check("99.213", Some(20));
        assert_eq!((share_colour(0), share_colour(20)), ("#fefefe".into(), "#d6d6d6".into()));
    }

    #[test]
    fn the_largest_times_have_the_published_classes() {
        // The inserts of l.i0 in the report of May 2024 on MariaDB against MySQL.
        let published = [0.179, 15.355, 16.336, 0.180, 33.471, 0.171];
        let expected = [Fastest, Between, Between, Fastest, Slowest, Fastest];
        assert_eq!(extremes(&published), expected);
        assert_eq!(extremes(&[0.9, 1.0]), [Between, Slowest]);
        assert_eq!(extremes(&[]), []);
    }
}
