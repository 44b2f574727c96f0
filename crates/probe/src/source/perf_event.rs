//! Hardware and software counters of the kernel, per task.

use super::{Probe, Purpose, Reader};
use crate::{
    Error, Target, Values,
    attach::{self, Event, counted_whole},
    limit, metric,
    part::{Member, Part, Parts, Sums, members},
    permission,
};
use model::metric::Metric;
use perf_event::Counter;
use std::io;

/// Counters through perf.
pub(super) struct PerfEvent;

const METRICS: &[Metric] = &[
    metric::cost("user_instructions", "instructions", "instructions executed in user mode"),
    metric::cost("kernel_instructions", "instructions", "instructions executed in the kernel"),
    metric::cost("user_cycles", "cycles", "processor cycles in user mode"),
    metric::cost("kernel_cycles", "cycles", "processor cycles in the kernel"),
    metric::cost("task_clock_ns", "ns", "time on a CPU, tasks that ended included"),
    metric::cost("context_switches", "switches", "times that a task left its CPU"),
    metric::cost("page_faults", "faults", "page faults, minor and major"),
];

impl Probe for PerfEvent {
    fn name(&self) -> &'static str {
        "perf_event"
    }

    fn help(&self) -> &'static str {
        "instructions, cycles, switches and page faults of each task, through perf"
    }

    fn metrics(&self) -> &'static [Metric] {
        METRICS
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
                    let reader = Open { events: set.events, attached, parts, marks: set.marks };
                    return Ok(Some(Box::new(reader)));
                }
                // All counters of this try are closed here: two sets are never on one task.
                Err(Error::Attach { reason, .. }) if is_refusal(&reason) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Absent("perf not permitted: CPU from /proc".into()))
    }
}

/// Whether perf does not permit, or does not have, an event. Filters of system calls answer that
/// there is no perf.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
    matches!(error.kind(), PermissionDenied | NotFound | Unsupported)
}

struct Attached {
    counter: Counter,
    part: Part,
    /// Index in the set of events.
    event: usize,
}

fn attach_all(events: &[Event], members: &[Member]) -> Result<Vec<Attached>, Error> {
    let mut attached = Vec::with_capacity(events.len() * members.len());
    for member in members {
        for (index, event) in events.iter().enumerate() {
            match attach::attach(*event, member.tid) {
                Ok(counter) => attached.push(Attached { counter, part: member.part, event: index }),
                // The task ended meanwhile.
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) =>
                {
                    break;
                }
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
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let mut sums = vec![Sums::default(); self.events.len()];
        let mut whole = true;
        for Attached { counter, part, event } in &mut self.attached {
            let name = self.events[*event].name;
            let data =
                counter.read_full().map_err(|reason| Error::Read { counter: name, reason })?;
            sums[*event].add(*part, data.count() as f64);
            whole &= counted_whole(data.time_enabled(), data.time_running());
        }
        if !whole && !self.marks.iter().any(|mark| mark == ESTIMATED) {
            self.marks.push(ESTIMATED.into());
        }
        for (event, sum) in self.events.iter().zip(&sums) {
            sum.emit(event.name, self.parts, values);
        }
        Ok(())
    }

    fn marks(&self) -> Vec<String> {
        self.marks.clone()
    }
}

/// Mark of counts that shared the hardware with others.
const ESTIMATED: &str = "counters shared with other users of perf";
