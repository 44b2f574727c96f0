//! Our own rule: the target holds in the seconds, for deletes too, and nothing waits for long.

use super::Rule;
use crate::service_level::{Outcome, PacedWork, ServiceLevel};
use model::mark::{Figure, Quantity, Why};

pub(super) const RULE: Rule = Rule { name: "strict", judge };

/// Share of the target that averages and seconds must reach.
const SHARE: f64 = super::SECOND_SHARE;

/// Share of the seconds that must be on target.
const SECONDS: f64 = 0.95;

/// Largest lag of a statement behind its intended start [µs]: one second of work.
const LAG_US: f64 = 1e6;

/// One figure out of bounds is a miss; without seconds or lags nothing can be called sustained.
fn judge(work: &PacedWork) -> ServiceLevel {
    if work.target_per_second <= 0.0 || !work.inserted_per_second.is_finite() {
        return ServiceLevel::new(RULE.name, Outcome::Unknown, Vec::new(), Why::NoRate);
    }
    let bound = SHARE * work.target_per_second;
    let lag = work.lag_us_max.or_else(|| {
        let lags = work.seconds.iter().map(|second| second.lag_us as f64);
        lags.reduce(f64::max)
    });
    let seconds = work.seconds_on_target(SHARE);
    let known = [
        (Quantity::Inserted, Some(work.inserted_per_second), bound),
        (Quantity::Deleted, work.deleted_per_second, bound),
        (Quantity::SecondsOnTarget, seconds, SECONDS),
        (Quantity::Lag, lag, LAG_US),
    ];
    let figure = |(quantity, value, bound): (Quantity, Option<f64>, f64)| {
        Some(Figure { quantity, value: value?, bound })
    };
    let figures: Vec<Figure> = known.into_iter().filter_map(figure).collect();
    let out = |figure: &&Figure| match figure.quantity {
        Quantity::Lag => figure.value > figure.bound,
        _ => figure.value < figure.bound,
    };
    let missed: Vec<Figure> = figures.iter().filter(out).copied().collect();
    let (outcome, why) = match (missed.is_empty(), seconds, lag) {
        (false, ..) => (Outcome::Missed, Why::Figures(missed)),
        (true, None, _) => (Outcome::Unknown, Why::NoSeconds),
        (true, _, None) => (Outcome::Unknown, Why::NoLag),
        (true, ..) => (Outcome::Sustained, Why::Figures(figures.clone())),
    };
    ServiceLevel::new(RULE.name, outcome, figures, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_level::Second;

    /// A hundred seconds of 1000 rows each, of which the first `bad` have `rows`.
    fn work(bad: usize, rows: u64) -> PacedWork {
        let good = Second { inserted: 1000, deleted: Some(1000), lag_us: 900 };
        let mut seconds = vec![good; 100];
        for second in &mut seconds[..bad] {
            second.deleted = Some(rows);
        }
        PacedWork {
            target_per_second: 1000.0,
            inserted_per_second: 1000.0,
            deleted_per_second: Some(1000.0),
            lag_us_max: None,
            rows_per_statement: 50,
            seconds,
            seconds_on_target_share: None,
        }
    }

    fn check(work: &PacedWork, outcome: Outcome, words: &str) {
        let found = judge(work);
        assert_eq!((found.outcome, found.words().as_str()), (outcome, words));
    }

    #[test]
    fn seconds_count_deletes_and_forgive_one_statement() {
        let good = "inserted rows per second 1000.0 where 950 is needed, \
                    deleted rows per second 1000.0 where 950 is needed, \
                    share of seconds on target 1.000 where 0.95 is needed, \
                    largest lag 0.00 s where 1 s is allowed";
        check(&work(0, 0), Outcome::Sustained, good);
        check(&work(6, 900), Outcome::Sustained, good);
        let bad = "share of seconds on target 0.940 where 0.95 is needed";
        check(&work(6, 899), Outcome::Missed, bad);
        assert_eq!(work(5, 0).seconds_on_target(0.95), Some(0.95));
        assert_eq!(judge(&work(5, 0)).outcome, Outcome::Sustained);
    }

    #[test]
    fn a_lag_or_slow_deletes_are_a_miss_even_if_the_average_of_inserts_is_not() {
        let late = PacedWork { lag_us_max: Some(2_345_000.0), ..work(0, 0) };
        check(&late, Outcome::Missed, "largest lag 2.35 s where 1 s is allowed");
        let slow = PacedWork { deleted_per_second: Some(12.3), ..work(0, 0) };
        check(&slow, Outcome::Missed, "deleted rows per second 12.3 where 950 is needed");
        let mut hidden = work(0, 0);
        hidden.seconds[7].lag_us = 1_500_000;
        assert_eq!(judge(&hidden).outcome, Outcome::Missed);
    }

    #[test]
    fn what_is_not_recorded_is_not_called_sustained() {
        let averages = PacedWork { seconds: Vec::new(), lag_us_max: Some(1.0), ..work(0, 0) };
        check(&averages, Outcome::Unknown, "no series of seconds was recorded");
        let nothing = PacedWork { seconds: Vec::new(), ..work(0, 0) };
        check(&nothing, Outcome::Unknown, "no series of seconds was recorded");
        let slow = PacedWork { inserted_per_second: 100.0, ..nothing };
        check(&slow, Outcome::Missed, "inserted rows per second 100.0 where 950 is needed");
        let load = PacedWork { target_per_second: 0.0, ..work(0, 0) };
        check(&load, Outcome::Unknown, "no target rate or no insert rate is known");
    }
}
