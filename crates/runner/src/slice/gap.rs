//! What a server does between a window and its drain, and belongs to neither: it answers the
//! queries for its own counters.

use model::reading::{Reading, Scope};

/// Readings over a window and its drain, without what the server did between them. `window` ends
/// before that and `gap` after it; all have one start. What the device did in the meantime was left
/// to it by the window.
pub(super) fn left_out(window: &[Reading], gap: &[Reading], whole: Vec<Reading>) -> Vec<Reading> {
    let without = |mut reading: Reading| {
        let is_total = reading.scope == Scope::Server && !probe::is_gauge(&reading.counter);
        let ends = end_of(window, &reading).zip(end_of(gap, &reading));
        if let Some((before, after)) = ends.filter(|_| is_total) {
            reading.end -= (after - before).max(0.0);
        }
        reading
    };
    whole.into_iter().map(without).collect()
}

fn end_of(readings: &[Reading], of: &Reading) -> Option<f64> {
    let same = |one: &&Reading| one.scope == of.scope && one.counter == of.counter;
    readings.iter().find(same).map(|one| one.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_did_between_its_window_and_its_drain_is_in_neither() {
        let check = |scope: Scope, counter: &str, ends: [f64; 3], expected: f64| {
            let [window, gap, whole] = ends.map(|end| {
                let counter = counter.to_owned();
                vec![Reading { scope, counter, start: 10.0, end }]
            });
            assert_eq!(left_out(&window, &gap, whole)[0].end, expected, "{scope:?} {counter}");
        };
        check(Scope::Server, "cpu_ns", [50.0, 57.0, 90.0], 83.0);
        // A task that was counted has ended.
        check(Scope::Server, "cpu_ns", [50.0, 48.0, 90.0], 90.0);
        check(Scope::Server, "vsz_kib", [50.0, 57.0, 90.0], 90.0);
        check(Scope::Device, "device_write_kib", [50.0, 57.0, 90.0], 90.0);
        let whole = vec![Reading {
            scope: Scope::Server,
            counter: "cpu_ns".to_owned(),
            start: 10.0,
            end: 90.0,
        }];
        assert_eq!(left_out(&[], &[], whole.clone()), whole);
    }
}
