//! Hardware and software counters of the kernel, per task.

use super::{Probe, Purpose, Reader};
use crate::{
    Error, Target, Values,
    attach::{self, Event, counted_whole},
    counter, limit,
    part::{Member, Part, Parts, Sums, members},
    permission,
};
use perf_event::Counter;
use std::time::Duration;

const COUNTERS: &[crate::Counter] = &[
    counter::total("user_instructions", "instructions", "instructions executed in user mode"),
    counter::total("kernel_instructions", "instructions", "instructions executed in the kernel"),
    counter::total("user_cycles", "cycles", "processor cycles in user mode"),
    counter::total("kernel_cycles", "cycles", "processor cycles in the kernel"),
    counter::total("task_clock_ns", "ns", "time on a CPU, tasks that ended included"),
    counter::total("context_switches", "switches", "context switches"),
    counter::total("page_faults", "faults", "page faults, minor and major"),
];

/// Counters through perf.
pub(super) const PROBE: Probe = Probe { name: "perf_event", counters: COUNTERS, open };

fn open(target: &Target, purpose: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    // A second set on the same tasks would spoil the first one, so a series goes without.
    if purpose == Purpose::Series {
        return Ok(None);
    }
    let members = members(target);
    if members.is_empty() {
        return Ok(None);
    }
    for set in attach::sets(permission::check()) {
        limit::make_room((set.events.len() * members.len()) as u64)?;
        match attach_all(&set.events, &members) {
            Ok(attached) => {
                let parts = Parts::of(target);
                let (events, marks) = (set.events, set.marks);
                let reader = Open { events, attached, parts, marks, whole: true };
                return Ok(Some(Box::new(reader)));
            }
            // All counters of this try are closed here: two sets are never on one task.
            Err(Error::Attach { reason, .. }) if attach::is_refusal(&reason) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Absent("perf not permitted: CPU from /proc".into()))
}

struct Attached {
    counter: Counter,
    task: u32,
    part: Part,
    /// Index in the set of events.
    event: usize,
    count: Count,
}

/// What a counter has counted up to its last reading.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// As the kernel tells it.
    told: u64,
    /// The same with an estimate of what it missed while others had the hardware.
    whole: f64,
    /// Time that it was to count, and that it did count.
    times: [Duration; 2],
}

impl Count {
    /// Goes on to a reading; whether it counted all the time since the last one.
    fn goes_on(&mut self, told: u64, times: [Duration; 2]) -> bool {
        let [enabled, running] = [0, 1].map(|i| times[i].saturating_sub(self.times[i]));
        let is_whole = counted_whole(enabled, running);
        let moved = told.saturating_sub(self.told) as f64;
        self.whole += match is_whole || running.is_zero() {
            true => moved,
            false => moved * enabled.as_secs_f64() / running.as_secs_f64(),
        };
        (self.told, self.times) = (told, times);
        is_whole
    }
}

fn attach_all(events: &[Event], members: &[Member]) -> Result<Vec<Attached>, Error> {
    let mut attached = Vec::with_capacity(events.len() * members.len());
    for member in members {
        for (index, event) in events.iter().enumerate() {
            match attach::attach(*event, member.tid) {
                Ok(counter) => {
                    let (task, part, count) = (member.tid, member.part, Count::default());
                    attached.push(Attached { counter, task, part, event: index, count });
                }
                // The task ended meanwhile.
                Err(error) if attach::has_ended(&error) => break,
                Err(reason) => {
                    return Err(Error::Attach { counter: event.name, task: member.tid, reason });
                }
            }
        }
    }
    Ok(attached)
}

struct Open {
    events: Vec<Event>,
    attached: Vec<Attached>,
    parts: Parts,
    marks: Vec<String>,
    /// Whether all events counted all the time since the reading before the last.
    whole: bool,
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let mut sums = vec![Sums::default(); self.events.len()];
        self.whole = true;
        for Attached { counter, task, part, event, count } in &mut self.attached {
            let name = self.events[*event].name;
            let data =
                counter.read_full().map_err(|reason| Error::Read { counter: name, reason })?;
            let times = [data.time_enabled(), data.time_running()].map(Option::unwrap_or_default);
            self.whole &= count.goes_on(data.count(), times);
            sums[*event].add(*part, count.whole);
            if *part == Part::Foreground {
                values.push_task(*task, name, count.whole);
            }
        }
        for (event, sum) in self.events.iter().zip(&sums) {
            sum.emit(event.name, self.parts, values);
        }
        Ok(())
    }

    fn marks(&self) -> Vec<String> {
        let estimated = (!self.whole).then(|| ESTIMATED.to_owned());
        self.marks.iter().cloned().chain(estimated).collect()
    }
}

/// Mark of counts that shared the hardware with others.
const ESTIMATED: &str = "counters shared with other users of perf";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_counter_missed_is_estimated_from_what_it_counted() {
        let ms = Duration::from_millis;
        let mut count = Count::default();
        let mut check = |told: u64, times: [u64; 2], expected: (bool, f64)| {
            let is_whole = count.goes_on(told, times.map(ms));
            assert_eq!((is_whole, count.whole), expected, "{told} {times:?}");
        };
        check(0, [0, 0], (true, 0.0));
        check(1000, [100, 100], (true, 1000.0));
        // Another user of perf had the hardware for three quarters of the time.
        check(1500, [300, 150], (false, 3000.0));
        check(1600, [310, 160], (true, 3100.0));
        check(1600, [410, 160], (false, 3100.0));
    }
}
