//! What beside the servers disturbs a slice, told by its counters alone and never by its result.

use crate::{
    mark,
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
};

/// What disturbs a slice: a counter, and how much of it in a window.
struct Limit {
    scope: Scope,
    counter: &'static str,
    /// Share of the window or, of a counter of the host, of the CPU time that was not of others, if
    /// that is more: what a second of others takes from a hundred CPUs is little.
    share: f64,
    /// The kernel counts in ticks of 10 ms: less than a few of them mean nothing [ns].
    least_ns: f64,
    /// Whether the servers cannot be the cause themselves.
    applies: fn(&SliceRecord) -> bool,
    what: &'static str,
}

/// CPU time of other processes.
const OTHERS: &str = "others_cpu_ns";

/// A server waits for its only client alone, if they share a processor.
fn has_its_own_processor(slice: &SliceRecord) -> bool {
    slice.clients == 1 && !slice.marks.iter().any(|mark| mark == mark::PAIRED)
}

const LIMITS: [Limit; 3] = [
    Limit {
        scope: Scope::Host,
        counter: "steal_ns",
        share: 0.01,
        least_ns: 30e6,
        applies: |_| true,
        what: "the hypervisor gave CPU time to other guests",
    },
    Limit {
        scope: Scope::Host,
        counter: OTHERS,
        share: 0.05,
        least_ns: 40e6,
        applies: |_| true,
        what: "other processes used the CPUs",
    },
    Limit {
        scope: Scope::Foreground,
        counter: "runqueue_wait_ns",
        share: 0.1,
        least_ns: 0.0,
        applies: has_its_own_processor,
        what: "the server waited for a CPU",
    },
];

/// What disturbed a measured slice so much that its rates and times do not count, if anything did.
pub fn disturbance(slice: &SliceRecord) -> Option<&'static str> {
    if slice.state != SliceState::Measured {
        return None;
    }
    let window = window_ns(slice)?;
    let delta = |scope: Scope, counter: &str| {
        let own = |one: &&Reading| one.scope == scope && one.counter == counter;
        slice.readings.iter().find(own).map_or(0.0, Reading::delta)
    };
    let own_ns = delta(Scope::Host, "host_cpu_ns") - delta(Scope::Host, OTHERS);
    let exceeds = |limit: &&Limit| {
        let used = delta(limit.scope, limit.counter);
        let whole = if limit.scope == Scope::Host { window.max(own_ns) } else { window };
        (limit.applies)(slice) && used > limit.least_ns.max(limit.share * whole)
    };
    LIMITS.iter().find(exceeds).map(|limit| limit.what)
}

/// Counter of the host: the time over which its other counters were read [ns].
pub const WINDOW: &str = "window_ns";

/// The time over which the counters of the host were read [ns]: in short slices it is much longer
/// than the work, which is what is known of older records. None if nothing was done.
pub fn window_ns(slice: &SliceRecord) -> Option<f64> {
    let work = slice.work.as_ref()?;
    let own = |one: &&Reading| one.scope == Scope::Host && one.counter == WINDOW;
    let read = slice.readings.iter().find(own).map(Reading::delta);
    Some(read.unwrap_or(work.end_ns.saturating_sub(work.start_ns) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::StretchReport;

    /// A slice of a second of one client, in which a counter grew by so many seconds.
    fn slice(scope: Scope, counter: &str, seconds: f64) -> SliceRecord {
        let (counter, end) = (counter.to_owned(), seconds * 1e9);
        SliceRecord {
            clients: 1,
            work: Some(StretchReport { end_ns: 1_000_000_000, ..StretchReport::default() }),
            readings: vec![Reading { scope, counter, start: 0.0, end }],
            ..SliceRecord::default()
        }
    }

    #[test]
    fn others_and_the_hypervisor_disturb_by_more_than_a_tick_of_the_kernels_clock() {
        let check = |counter: &str, seconds: f64, expected: bool| {
            let found = disturbance(&slice(Scope::Host, counter, seconds));
            assert_eq!(found.is_some(), expected, "{counter} {seconds}");
        };
        check("steal_ns", 0.02, false);
        check("steal_ns", 0.05, true);
        check("others_cpu_ns", 0.045, false);
        check("others_cpu_ns", 0.06, true);
        check("cpu_ns", 0.9, false);
    }

    #[test]
    fn the_share_is_that_of_the_time_over_which_was_counted() {
        let mut slice = slice(Scope::Host, "others_cpu_ns", 0.06);
        assert!(disturbance(&slice).is_some());
        let counter = WINDOW.to_owned();
        slice.readings.push(Reading { scope: Scope::Host, counter, start: 0.0, end: 2e9 });
        assert_eq!(disturbance(&slice), None);
    }

    #[test]
    fn where_many_cpus_are_used_others_disturb_by_a_share_of_these() {
        let check = |counter: &str, seconds: f64, host: f64, expected: bool| {
            let mut slice = slice(Scope::Host, counter, seconds);
            let counter = "host_cpu_ns".to_owned();
            slice.readings.push(Reading { scope: Scope::Host, counter, start: 0.0, end: host });
            assert_eq!(disturbance(&slice).is_some(), expected, "{seconds} {host}");
        };
        check("others_cpu_ns", 0.06, 1e9, true);
        check("others_cpu_ns", 0.06, 90e9, false);
        check("others_cpu_ns", 5.0, 90e9, true);
        check("steal_ns", 0.5, 90e9, false);
        check("steal_ns", 1.0, 90e9, true);
    }

    #[test]
    fn a_wait_for_the_processor_disturbs_only_a_server_that_has_one_of_its_own() {
        let waits = slice(Scope::Foreground, "runqueue_wait_ns", 0.2);
        assert!(disturbance(&waits).is_some());
        let paired = SliceRecord { marks: vec![mark::PAIRED.to_owned()], ..waits.clone() };
        assert_eq!(disturbance(&paired), None);
        assert_eq!(disturbance(&SliceRecord { clients: 8, ..waits }), None);
    }

    #[test]
    fn what_does_not_count_anyway_is_not_disturbed() {
        let lost = slice(Scope::Host, "steal_ns", 0.5);
        for state in [SliceState::Discarded, SliceState::Failed] {
            assert_eq!(disturbance(&SliceRecord { state, ..lost.clone() }), None);
        }
        assert_eq!(disturbance(&SliceRecord { work: None, ..lost }), None);
    }
}
