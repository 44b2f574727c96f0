//! How the published scripts round: what they print is computed from what they printed before.

/// To a whole number, halves to the even neighbor, as printf does.
pub(crate) fn whole(value: f64) -> f64 {
    value.round_ties_even()
}

/// A rate as the tables show it: cut to one decimal, then rounded to a whole number.
pub(crate) fn rate(per_second: f64) -> f64 {
    whole(tenths(per_second))
}

/// Cut to one decimal.
pub(crate) fn tenths(value: f64) -> f64 {
    // 0.3 is a little less than three tenths of one: the nearest multiple counts if it is as near
    // as numbers can be.
    let scaled = value * 10.0;
    let nearest = scaled.round();
    let cut =
        if (scaled - nearest).abs() <= nearest.abs() * 1e-12 { nearest } else { scaled.trunc() };
    cut / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_cut_and_then_rounded() {
        let check = |value: f64, expected: f64| assert_eq!(rate(value), expected, "{value}");
        check(139_860.139, 139_860.0);
        check(949.49, 949.0);
        check(949.59, 950.0);
        check(0.5, 0.0);
        check(1.59, 2.0);
        check(2.55, 2.0);
        assert_eq!((tenths(0.3), tenths(0.29), tenths(1.1)), (0.3, 0.2, 1.1));
    }
}
