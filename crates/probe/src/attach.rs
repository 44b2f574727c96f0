//! Attaching counters to tasks.
//!
//! Each event is opened on its own: a group cannot be inherited on older kernels. Every event is
//! inherited, so that tasks born later count for the task that started them. One task carries one
//! set only, of at most [`HARDWARE_EVENTS_MAX`] hardware events: with more, some processors in
//! virtual machines count wrongly and do not say so.

use crate::{Permission, permission::Check};
use model::mark;
use perf_event::{
    Builder, Counter,
    events::{Hardware, Software, Tracepoint},
};
use std::{io, time::Duration};

/// Hardware events on one task, at most.
pub(crate) const HARDWARE_EVENTS_MAX: usize = 4;

/// What the hardware or the kernel counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Instructions,
    Cycles,
    TaskClock,
    ContextSwitches,
    PageFaults,
    /// An event of the kernel, by its number.
    Traced(u64),
}

/// In which mode of the processor it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    User,
    Kernel,
    Both,
}

/// One event of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    source: Source,
    mode: Mode,
}

impl Event {
    /// An event of the kernel, by its number.
    pub(crate) const fn traced(name: &'static str, number: u64) -> Self {
        event(name, Source::Traced(number), Mode::Both)
    }

    /// Whether this process may count it, tried on the calling thread.
    pub(crate) fn opens(self) -> bool {
        on_this_thread(self.source, self.mode).is_ok()
    }
}

const fn event(name: &'static str, source: Source, mode: Mode) -> Event {
    Event { name, source, mode }
}

/// The hardware events, the most telling first: where fewer count at a time, the last ones are left
/// out.
const HARDWARE: [Event; HARDWARE_EVENTS_MAX] = [
    event("user_instructions", Source::Instructions, Mode::User),
    event("user_cycles", Source::Cycles, Mode::User),
    event("kernel_instructions", Source::Instructions, Mode::Kernel),
    event("kernel_cycles", Source::Cycles, Mode::Kernel),
];

/// Kept by the kernel, so they take no hardware counter.
const SOFTWARE: [Event; 3] = [
    event("task_clock_ns", Source::TaskClock, Mode::Both),
    event("context_switches", Source::ContextSwitches, Mode::Both),
    event("page_faults", Source::PageFaults, Mode::Both),
];

/// In user mode the clock alone is whole: switches happen in the kernel, and so do many page
/// faults.
const SOFTWARE_USER_ONLY: [Event; 1] = [event("task_clock_ns", Source::TaskClock, Mode::User)];

/// Part of the time that an event may not have counted; beyond it, its count is an estimate.
const UNCOUNTED_MAX: f64 = 0.001;

/// Events that go onto every task together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) events: Vec<Event>,
    /// What this set lacks, one phrase each.
    pub(crate) marks: Vec<String>,
}

/// The sets to try in order, the most telling first: a host may permit less for a certain task than
/// for us.
pub(crate) fn sets(check: Check) -> Vec<Set> {
    let Check { permission, slots } = check;
    let join = |hardware: &[Event], software: &[Event]| [hardware, software].concat();
    let few = || match slots {
        HARDWARE_EVENTS_MAX => None,
        slots => Some(format!("hardware counters at a time: {slots}")),
    };
    let mut sets = Vec::new();
    if permission == Permission::Full {
        let events = join(&HARDWARE[..slots], &SOFTWARE);
        sets.push(Set { events, marks: few().into_iter().collect() });
    }
    if permission != Permission::None {
        let user: Vec<Event> = HARDWARE.into_iter().filter(|e| e.mode == Mode::User).collect();
        let events = join(&user[..slots.min(user.len())], &SOFTWARE_USER_ONLY);
        let marks = ["user mode only".into()].into_iter().chain(few()).collect();
        sets.push(Set { events, marks });
    }
    for software in [&SOFTWARE[..], &SOFTWARE_USER_ONLY] {
        let marks = vec![mark::NO_HARDWARE.into()];
        sets.push(Set { events: software.to_vec(), marks });
    }
    sets
}

/// Whether an event counted all the time, and did not have to share the hardware with others.
pub(crate) fn counted_whole(enabled: Duration, running: Duration) -> bool {
    enabled.saturating_sub(running).as_secs_f64() <= UNCOUNTED_MAX * enabled.as_secs_f64()
}

/// Attaches an event to a task of any process and starts it.
pub(crate) fn attach(event: Event, task: u32) -> io::Result<Counter> {
    let pid = i32::try_from(task).map_err(io::Error::other)?;
    builder(event).observe_pid(pid).inherit(true).enabled(true).build()
}

/// Opens an event on the calling thread alone, stopped.
pub(crate) fn on_this_thread(source: Source, mode: Mode) -> io::Result<Counter> {
    builder(event("", source, mode)).observe_self().build()
}

/// Whether perf does not permit, or does not have, an event. Filters of system calls answer that
/// there is no perf; processors without an event, or with too few counters, answer in several ways.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const REFUSALS: [Errno; 9] = [
        Errno::ACCESS,
        Errno::PERM,
        Errno::NOENT,
        Errno::OPNOTSUPP,
        Errno::NOSYS,
        Errno::NODEV,
        Errno::INVAL,
        Errno::BUSY,
        Errno::NOSPC,
    ];
    // An older kernel does not know a field of the request: that error has no number any more.
    let is_known = |code: i32| REFUSALS.iter().any(|refusal| refusal.raw_os_error() == code);
    error.raw_os_error().map_or(error.kind() == io::ErrorKind::Unsupported, is_known)
}

/// Whether the task of an attempt had ended.
pub(crate) fn has_ended(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn builder(event: Event) -> Builder<'static> {
    let mut builder = match event.source {
        Source::Instructions => Builder::new(Hardware::INSTRUCTIONS),
        Source::Cycles => Builder::new(Hardware::CPU_CYCLES),
        Source::TaskClock => Builder::new(Software::TASK_CLOCK),
        Source::ContextSwitches => Builder::new(Software::CONTEXT_SWITCHES),
        Source::PageFaults => Builder::new(Software::PAGE_FAULTS),
        Source::Traced(number) => Builder::new(Tracepoint::with_id(number)),
    };
    builder.any_cpu().exclude_hv(true);
    builder.exclude_user(event.mode == Mode::Kernel).exclude_kernel(event.mode == Mode::User);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 7] = [
        "user_instructions",
        "user_cycles",
        "kernel_instructions",
        "kernel_cycles",
        "task_clock_ns",
        "context_switches",
        "page_faults",
    ];

    /// Checks the first set and its marks.
    fn check(permission: Permission, slots: usize, names: &[&str], marks: &[&str]) {
        let first = &sets(Check { permission, slots })[0];
        let found: Vec<_> = first.events.iter().map(|e| e.name).collect();
        assert_eq!(found, names, "{permission:?} {slots}");
        assert_eq!(first.marks, marks, "{permission:?} {slots}");
    }

    #[test]
    fn the_set_shrinks_with_the_permission_and_the_counters() {
        check(Permission::Full, 4, &ALL, &[]);
        let [user, cycles, _, _, clock, switches, faults] = ALL;
        let few = "hardware counters at a time: 1";
        check(Permission::Full, 1, &[user, clock, switches, faults], &[few]);
        check(Permission::UserOnly, 4, &[user, cycles, clock], &["user mode only"]);
        check(Permission::UserOnly, 1, &[user, clock], &["user mode only", few]);
        check(Permission::None, 0, &ALL[4..], &[mark::NO_HARDWARE]);
    }

    #[test]
    fn less_is_tried_after_more_and_the_clock_comes_last() {
        let sets = sets(Check { permission: Permission::Full, slots: 4 });
        let sizes: Vec<_> = sets.iter().map(|set| set.events.len()).collect();
        assert_eq!(sizes, [7, 3, 3, 1]);
        assert_eq!(sets[3].marks, [mark::NO_HARDWARE]);
    }

    #[test]
    fn a_counter_that_waited_for_the_hardware_is_marked() {
        let ms = Duration::from_millis;
        for (enabled, running, expected) in [
            (ms(1000), ms(1000), true),
            (ms(0), ms(0), true),
            (ms(1000), ms(720), false),
            (ms(1000), ms(0), false),
        ] {
            assert_eq!(counted_whole(enabled, running), expected, "{enabled:?} {running:?}");
        }
    }

    #[test]
    fn a_host_that_has_less_is_told_from_a_host_that_is_broken() {
        use rustix::io::Errno;
        for (errno, expected) in [
            (Errno::ACCESS, true),
            (Errno::NOENT, true),
            (Errno::OPNOTSUPP, true),
            (Errno::NODEV, true),
            (Errno::BUSY, true),
            (Errno::MFILE, false),
            (Errno::NOMEM, false),
            (Errno::SRCH, false),
        ] {
            assert_eq!(is_refusal(&io::Error::from(errno)), expected, "{errno}");
        }
        assert!(is_refusal(&io::Error::from(io::ErrorKind::Unsupported)));
        assert!(!is_refusal(&io::Error::other("x")));
    }
}
