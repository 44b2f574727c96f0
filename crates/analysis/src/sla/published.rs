//! The rule of published Insert Benchmark reports: the average of the whole phase.

use super::Rule;
use crate::{
    rounding::{rate, whole},
    service_level::{Outcome, PacedWork, ServiceLevel},
};
use model::mark::{Figure, Quantity, Rate, Why};

pub(super) const RULE: Rule = Rule { name: "published", judge };

/// Share of the target that the average must reach.
const SHARE: f64 = 0.95;

/// Rows per second that sustain a target in published reports [1/s]: 95 % of it, rounded.
pub(crate) fn least(target_per_second: f64) -> f64 {
    whole(SHARE * target_per_second)
}

/// Compares rounded numbers, as the reports do. Deletes, seconds and lags are not looked at.
fn judge(work: &PacedWork) -> ServiceLevel {
    let least = least(work.target_per_second);
    let value = rate(work.inserted_per_second);
    let usable = work.target_per_second > 0.0 && value.is_finite();
    let outcome = match usable {
        false => Outcome::Unknown,
        true if value >= least => Outcome::Sustained,
        true => Outcome::Missed,
    };
    let rate = Rate { reached: value, target: work.target_per_second, needed: least };
    let why = if usable { Why::Inserted(rate) } else { Why::NoRate };
    let figure = Figure { quantity: Quantity::Inserted, value, bound: least };
    ServiceLevel::new(RULE.name, outcome, vec![figure], why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_must_reach_the_rounded_bound() {
        let check = |target_per_second: f64, inserted_per_second: f64, expected: Outcome| {
            let work = PacedWork { target_per_second, inserted_per_second, ..Default::default() };
            let found = judge(&work);
            assert_eq!(found.outcome, expected, "{target_per_second} {inserted_per_second}");
        };
        check(1000.0, 950.0, Outcome::Sustained);
        check(1000.0, 949.0, Outcome::Missed);
        check(1000.0, 949.6, Outcome::Sustained);
        check(1000.0, 949.49, Outcome::Missed);
        // A half goes to the even neighbor, as printf does: 9.5 is 10, and 28.5 is 28.
        check(10.0, 9.4, Outcome::Missed);
        check(30.0, 28.0, Outcome::Sustained);
        check(30.0, 27.0, Outcome::Missed);
        check(12_000.0, 11_914.0, Outcome::Sustained);
        check(0.0, 10.0, Outcome::Unknown);
        check(100.0, f64::NAN, Outcome::Unknown);
    }

    #[test]
    fn the_words_name_value_target_and_bound() {
        let work = PacedWork {
            target_per_second: 4000.0,
            inserted_per_second: 2939.94,
            ..Default::default()
        };
        let found = judge(&work);
        assert_eq!(found.words(), "2940 of 4000 rows/s inserted, 3800 sustain it");
        assert_eq!((found.figures[0].value, found.figures[0].bound), (2940.0, 3800.0));
    }
}
