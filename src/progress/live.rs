//! What the redrawn lines say: the time so far, the time that is left, and what is being done.

use std::time::{Duration, Instant};

/// As many slices count as much as the estimate of the plan.
const TRUST: f64 = 4.0;

/// Fewest characters of a bar.
const BAR: usize = 10;

/// A run at this moment.
#[derive(Debug, Clone)]
pub(super) struct Live {
    start: Instant,
    forecast: Option<Forecast>,
    doing: String,
    /// Operations per second in the last measured slice.
    rate: Option<f64>,
}

impl Default for Live {
    fn default() -> Self {
        Self { start: Instant::now(), forecast: None, doing: String::new(), rate: None }
    }
}

impl Live {
    /// Begins the forecast with the estimate of a plan.
    pub(super) fn expect_seconds(&mut self, estimate: f64) {
        self.forecast = Some(Forecast { estimate, ..Forecast::default() });
    }

    /// The run is to end after so many seconds.
    pub(super) fn within(&mut self, budget: f64) {
        if let Some(forecast) = &mut self.forecast {
            forecast.budget = Some(budget);
        }
    }

    /// The servers are up, so slices follow.
    pub(super) fn measuring(&mut self) {
        let now = self.elapsed().as_secs_f64();
        if let Some(forecast) = &mut self.forecast {
            forecast.begin.get_or_insert(now);
        }
    }

    /// A slice ended: the `done`th of `of`.
    pub(super) fn slice(&mut self, done: u64, of: u64, rate: Option<f64>) {
        let now = self.elapsed().as_secs_f64();
        if let Some(forecast) = &mut self.forecast {
            forecast.slice(now, done, of);
        }
        self.rate = rate.or(self.rate);
    }

    /// Names what is being done.
    pub(super) fn does(&mut self, text: &str) {
        text.clone_into(&mut self.doing);
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The first line: times, slices, rate and, where there is room, a bar.
    pub(super) fn clock(&self, columns: usize) -> String {
        self.clock_at(self.elapsed().as_secs_f64(), columns)
    }

    /// The second line.
    pub(super) fn doing(&self, columns: usize) -> String {
        cut(&self.doing, columns)
    }

    fn clock_at(&self, now: f64, columns: usize) -> String {
        let mut line = format!("{} elapsed", time(now));
        let mut add = |part: String| {
            if line.chars().count() + part.chars().count() < columns {
                line.push_str(&part);
            }
        };
        if let Some(forecast) = &self.forecast {
            let left = forecast.left(now);
            add(format!(", about {} left", time(left)));
            if forecast.of > 0 {
                let word = if columns < 60 { "" } else { " slices" };
                add(format!(", {}/{}{word}", forecast.done, forecast.of));
            }
            if let Some(rate) = self.rate {
                add(format!(", {rate:.0} ops/s"));
            }
            let room = columns.saturating_sub(line.chars().count() + 4).min(40);
            if room >= BAR {
                let share = now / (now + left).max(f64::MIN_POSITIVE);
                let full = ((share * room as f64) as usize).min(room);
                line.push_str(&format!(" [{}{}]", "#".repeat(full), "-".repeat(room - full)));
            }
        }
        cut(&line, columns)
    }
}

/// How much time is left: at first as estimated, then more and more by the pace of the slices.
/// All times are seconds since the start.
#[derive(Debug, Clone, Default)]
struct Forecast {
    estimate: f64,
    budget: Option<f64>,
    /// When the first servers were up.
    begin: Option<f64>,
    /// Slices that were done then: those of an earlier execution.
    before: u64,
    /// When the last slice ended.
    last: f64,
    done: u64,
    of: u64,
}

impl Forecast {
    fn slice(&mut self, now: f64, done: u64, of: u64) {
        if self.of == 0 {
            self.before = done.saturating_sub(1);
        }
        (self.last, self.done, self.of) = (now, done, of);
    }

    /// At most what is left of the budget: a run with one usually ends earlier than its plan.
    fn left(&self, now: f64) -> f64 {
        let budget = self.budget.map_or(f64::INFINITY, |budget| (budget - now).max(0.0));
        self.left_of_plan(now).min(budget)
    }

    fn left_of_plan(&self, now: f64) -> f64 {
        let Some(begin) = self.begin.filter(|_| self.of > 0) else {
            return (self.estimate - now).max(0.0);
        };
        let open = self.of.saturating_sub(self.done) as f64;
        let counted = self.done.saturating_sub(self.before) as f64;
        // Of the estimate, what is not spent yet when slices begin is theirs.
        let estimated = (self.estimate - begin).max(0.1 * self.estimate) / self.of as f64;
        let pace = (TRUST * estimated + (self.last - begin)) / (TRUST + counted);
        // The slice that runs takes its time at least, however long it takes.
        pace * (open - 1.0).max(0.0) + (pace * open.min(1.0) - (now - self.last)).max(0.0)
    }
}

/// `0:23`, `12:05`, `1:02:03`.
fn time(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// The text in less than `columns` characters: a full line would move the cursor on.
fn cut(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(1).max(1);
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room - 1).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(done: u64, of: u64) -> Live {
        let mut live = Live::default();
        live.expect_seconds(60.0);
        let forecast = Forecast { estimate: 60.0, begin: Some(20.0), ..Forecast::default() };
        let mut forecast = Forecast { last: 20.0, ..forecast };
        for slice in 1..=done {
            forecast.slice(20.0 + 2.0 * slice as f64, slice, of);
        }
        live.forecast = Some(forecast);
        live.rate = (done > 0).then_some(52_215.4);
        live
    }

    #[test]
    fn a_budget_ends_sooner_than_the_plan() {
        let mut live = live(10, 400);
        let left = |live: &Live| live.forecast.as_ref().unwrap().left(40.0);
        assert!(left(&live) > 300.0);
        live.within(100.0);
        assert_eq!(left(&live), 60.0);
    }

    #[test]
    fn the_clock_fits_its_terminal() {
        let check = |columns: usize, expected: &str| {
            let line = live(10, 40).clock_at(40.0, columns);
            assert_eq!(line, expected);
            assert!(line.chars().count() < columns);
        };
        check(10, "0:40 ela…");
        check(28, "0:40 elapsed, 10/40");
        check(30, "0:40 elapsed, about 0:51 left");
        check(40, "0:40 elapsed, about 0:51 left, 10/40");
        check(
            80,
            "0:40 elapsed, about 0:51 left, 10/40 slices, 52215 ops/s [########------------]",
        );
    }

    #[test]
    fn the_time_left_is_corrected_by_the_pace_of_slices() {
        let left = |done: u64, now: f64| live(done, 40).forecast.map(|f| f.left(now));
        // Nothing is measured yet: the estimate.
        assert_eq!(left(0, 21.0), Some(39.0));
        // Estimated are 1 s per slice; each takes 2 s.
        let close = |found: Option<f64>, expected: f64| {
            assert!(found.is_some_and(|found| (found - expected).abs() < 0.5), "{found:?}");
        };
        close(left(10, 40.0), 51.4);
        close(left(30, 80.0), 18.8);
        assert_eq!(left(40, 100.0), Some(0.0));
        // A slice that takes longer than all before does not eat the time of the others.
        close(left(30, 200.0), 17.0);
    }

    #[test]
    fn a_long_step_is_cut() {
        let mut live = Live::default();
        live.does("loading mysql-9.7.4 (load 1)");
        assert_eq!(live.doing(80), "loading mysql-9.7.4 (load 1)");
        assert_eq!(live.doing(12), "loading my…");
        assert_eq!([time(5.0), time(725.0), time(3723.0)], ["0:05", "12:05", "1:02:03"]);
    }
}
