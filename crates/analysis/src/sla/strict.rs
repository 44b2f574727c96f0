//! Our own rule: the target holds in the seconds, for deletes too, and nothing waits for long.

use super::Rule;
use crate::service_level::{Figure, Outcome, PacedWork, ServiceLevel, Side};

pub(super) struct Strict;

/// Share of the target that averages and seconds must reach.
const SHARE: f64 = super::SECOND_SHARE;

/// Share of the seconds that must be on target.
const SECONDS: f64 = 0.95;

/// Largest lag of a statement behind its intended start [µs]: one second of work.
const LAG_US: f64 = 1e6;

impl Rule for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn help(&self) -> &'static str {
        "inserts and deletes are at 95 % of the target on average and in 95 % of the seconds, and \
         no statement starts more than a second late"
    }

    /// One figure out of bounds is a miss; without seconds or lags nothing can be called sustained.
    fn judge(&self, work: &PacedWork) -> ServiceLevel {
        if work.target_per_second <= 0.0 || !work.inserted_per_second.is_finite() {
            let words = "no target rate or no insert rate is known".to_owned();
            return self.level(Outcome::Unknown, Vec::new(), words);
        }
        let bound = SHARE * work.target_per_second;
        let rate = |name, value| Figure { name, value, unit: "1/s", bound, side: Side::Above };
        let lag = work.lag_us_max.or_else(|| {
            let lags = work.seconds.iter().map(|second| second.lag_us as f64);
            lags.reduce(f64::max)
        });
        let seconds = work.seconds_on_target(SHARE);
        let mut least = vec![rate("inserted rows per second", work.inserted_per_second)];
        least.extend(work.deleted_per_second.map(|value| rate("deleted rows per second", value)));
        let on_target = |value| Figure {
            name: "share of seconds on target",
            value,
            unit: "",
            bound: SECONDS,
            side: Side::Above,
        };
        least.extend(seconds.map(on_target));
        let most: Vec<Figure> = lag
            .map(|value| Figure {
                name: "largest lag",
                value,
                unit: "us",
                bound: LAG_US,
                side: Side::Below,
            })
            .into_iter()
            .collect();
        let missed = least.iter().filter(|figure| figure.value < figure.bound);
        let missed: Vec<&Figure> =
            missed.chain(most.iter().filter(|figure| figure.value > figure.bound)).collect();
        let (outcome, words) = match (missed.is_empty(), seconds, lag) {
            (false, ..) => (Outcome::Missed, sentence(&missed)),
            (true, None, _) => (Outcome::Unknown, "no series of seconds was recorded".to_owned()),
            (true, _, None) => (Outcome::Unknown, "no lag was recorded".to_owned()),
            (true, ..) => {
                let all: Vec<&Figure> = least.iter().chain(&most).collect();
                (Outcome::Sustained, sentence(&all))
            }
        };
        self.level(outcome, least.into_iter().chain(most).collect(), words)
    }
}

impl Strict {
    fn level(&self, outcome: Outcome, figures: Vec<Figure>, words: String) -> ServiceLevel {
        ServiceLevel { rule: self.name(), outcome, figures, words }
    }
}

fn sentence(figures: &[&Figure]) -> String {
    let part = |figure: &&Figure| match figure.unit {
        "us" => format!(
            "{} {:.2} s where {:.0} s is allowed",
            figure.name,
            figure.value / 1e6,
            figure.bound / 1e6
        ),
        "" => format!("{} {:.3} where {} is needed", figure.name, figure.value, figure.bound),
        _ => format!("{} {:.1} where {} is needed", figure.name, figure.value, figure.bound),
    };
    figures.iter().map(part).collect::<Vec<_>>().join(", ")
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
        let found = Strict.judge(work);
        assert_eq!((found.outcome, found.words.as_str()), (outcome, words));
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
        assert_eq!(Strict.judge(&work(5, 0)).outcome, Outcome::Sustained);
    }

    #[test]
    fn a_lag_or_slow_deletes_are_a_miss_even_if_the_average_of_inserts_is_not() {
        let late = PacedWork { lag_us_max: Some(2_345_000.0), ..work(0, 0) };
        check(&late, Outcome::Missed, "largest lag 2.35 s where 1 s is allowed");
        let slow = PacedWork { deleted_per_second: Some(12.3), ..work(0, 0) };
        check(&slow, Outcome::Missed, "deleted rows per second 12.3 where 950 is needed");
        let mut hidden = work(0, 0);
        hidden.seconds[7].lag_us = 1_500_000;
        assert_eq!(Strict.judge(&hidden).outcome, Outcome::Missed);
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
