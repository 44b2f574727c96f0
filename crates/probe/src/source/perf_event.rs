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

/// Counters through perf.
pub(super) struct PerfEvent;

const COUNTERS: &[crate::Counter] = &[
    counter::total("user_instructions", "instructions", "instructions executed in user mode"),
    counter::total("kernel_instructions", "instructions", "instructions executed in the kernel"),
    counter::total("user_cycles", "cycles", "processor cycles in user mode"),
    counter::total("kernel_cycles", "cycles", "processor cycles in the kernel"),
    counter::total("task_clock_ns", "ns", "time on a CPU, tasks that ended included"),
    counter::total("context_switches", "switches", "context switches"),
    counter::total("page_faults", "faults", "page faults, minor and major"),
];

impl Probe for PerfEvent {
    fn name(&self) -> &'static str {
        "perf_event"
    }

    fn help(&self) -> &'static str {
        "instructions, cycles, switches and page faults of each task, through perf"
    }

    fn counters(&self) -> &'static [crate::Counter] {
        COUNTERS
    }

    fn open(&self, target: &Target, purpose: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
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
}

struct Attached {
    counter: Counter,
    task: u32,
    part: Part,
    /// Index in the set of events.
    event: usize,
    /// Time that it was to count, and that it did count, at the last reading.
    times: [Duration; 2],
}

fn attach_all(events: &[Event], members: &[Member]) -> Result<Vec<Attached>, Error> {
    let mut attached = Vec::with_capacity(events.len() * members.len());
    for member in members {
        for (index, event) in events.iter().enumerate() {
            match attach::attach(*event, member.tid) {
                Ok(counter) => {
                    let times = [Duration::ZERO; 2];
                    let (task, part) = (member.tid, member.part);
                    attached.push(Attached { counter, task, part, event: index, times });
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
        for Attached { counter, task, part, event, times } in &mut self.attached {
            let name = self.events[*event].name;
            let data =
                counter.read_full().map_err(|reason| Error::Read { counter: name, reason })?;
            sums[*event].add(*part, data.count() as f64);
            if *part == Part::Foreground {
                values.push_task(*task, name, data.count() as f64);
            }
            let now = [data.time_enabled(), data.time_running()].map(Option::unwrap_or_default);
            let [enabled, running] = [0, 1].map(|i| now[i].saturating_sub(times[i]));
            self.whole &= counted_whole(enabled, running);
            *times = now;
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
