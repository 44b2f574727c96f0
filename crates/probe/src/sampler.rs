//! The series: the cheap counters once per interval, from a thread of its own.

use crate::{
    Error, Meter, Target,
    background::{Background, Stopped},
    meter::is_gauge,
};
use model::reading::{Reading, SeriesRow};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// Records the counters of a target until it is stopped or dropped.
pub struct Sampler {
    rows: Arc<Mutex<Vec<SeriesRow>>>,
    thread: Background<()>,
}

impl Sampler {
    /// Starts with a first reading now and goes on once per `interval`.
    ///
    /// # Errors
    /// If the probes cannot be opened or the thread cannot be started.
    pub fn start(target: &Target, interval: Duration) -> Result<Self, Error> {
        let meter = Meter::open_for_series(target)?;
        let rows = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&rows);
        let work = move |stopped: &Stopped| record(meter, interval, stopped, &shared);
        let thread = Background::start("series", work).map_err(Error::Thread)?;
        Ok(Self { rows, thread })
    }

    /// The rows since the last time.
    pub fn take(&self) -> Vec<SeriesRow> {
        std::mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the recording and returns the rows since the last [`Sampler::take`].
    pub fn stop(mut self) -> Vec<SeriesRow> {
        // After a panic of the thread the rows until then are good.
        self.thread.end();
        self.take()
    }
}

fn record(mut meter: Meter, interval: Duration, stopped: &Stopped, rows: &Mutex<Vec<SeriesRow>>) {
    let mut due = Instant::now();
    loop {
        // A server that ends takes its counters with it; the recording goes on without them.
        if let Ok(snapshot) = meter.snapshot() {
            let time_us = wall_us();
            let new = snapshot.values().iter().map(|value| SeriesRow {
                time_us,
                scope: value.scope,
                counter: value.counter.to_owned(),
                value: value.value,
            });
            rows.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
        }
        // Due times are kept apart from reading times, so that the series does not drift; those
        // missed are skipped.
        due = (due + interval).max(Instant::now());
        let wait = due.saturating_duration_since(Instant::now());
        if stopped.within(wait) {
            return;
        }
    }
}

fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Raises the gauges of a window to their highest level in the series between two wall clock times,
/// microseconds since 1970.
pub fn raise_peaks(readings: &mut [Reading], rows: &[SeriesRow], from_us: u64, to_us: u64) {
    for reading in readings.iter_mut().filter(|reading| is_gauge(&reading.counter)) {
        let inside = rows.iter().filter(|row| (from_us..=to_us).contains(&row.time_us));
        let own = inside.filter(|row| row.scope == reading.scope && row.counter == reading.counter);
        reading.end = own.map(|row| row.value).fold(reading.end, f64::max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;
    use model::reading::Scope;
    use std::thread;

    #[test]
    fn the_series_follows_the_counters_and_ends_when_told() {
        let fake = FakeProc::new();
        fake.write("stat", "ctxt 1\n");
        let sampler = Sampler::start(&fake.target(), Duration::from_millis(5)).unwrap();
        let wait_for = |expected: f64| {
            let mut rows: Vec<SeriesRow> = Vec::new();
            while rows.last().is_none_or(|row| row.value != expected) {
                thread::sleep(Duration::from_millis(2));
                rows.extend(sampler.take());
            }
            rows
        };
        let rows = wait_for(1.0);
        assert_eq!((rows[0].scope, &*rows[0].counter), (Scope::Host, "host_context_switches"));
        // Written beside and renamed, so that no reader sees half a file.
        fake.write("next", "ctxt 2\n");
        fs_err::rename(fake.root().join("next"), fake.root().join("stat")).unwrap();
        let rows = wait_for(2.0);
        assert!(rows.is_sorted_by_key(|row| row.time_us));
        sampler.stop();
    }

    #[test]
    fn peaks_come_from_the_series_inside_the_window() {
        let row = |time_us, counter: &str, value| SeriesRow {
            time_us,
            scope: Scope::Server,
            counter: counter.into(),
            value,
        };
        let rows = [
            row(10, "rss_kib", 900.0),
            row(20, "rss_kib", 500.0),
            row(25, "cpu_ns", 999.0),
            row(40, "rss_kib", 800.0),
        ];
        let reading = |counter: &str, end| Reading {
            scope: Scope::Server,
            counter: counter.into(),
            start: 100.0,
            end,
        };
        let mut readings = [reading("rss_kib", 300.0), reading("cpu_ns", 300.0)];
        raise_peaks(&mut readings, &rows, 15, 30);
        assert_eq!((readings[0].end, readings[1].end), (500.0, 300.0));
    }
}
