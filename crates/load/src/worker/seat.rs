//! Where the connections of a stretch meet: who may go on, who has ended, who waits.
//!
//! A connection publishes how many operations have succeeded if another one is paired with it. One
//! that is too far ahead of its partner spins for a moment and then parks; the partner wakes it
//! with its next operation, or when it ends, however it ends. Connections that end with others are
//! stopped by the last of those.

use super::kept::Kept;
use crate::arrival::{Limit, Schedule};
use crate::clock::Clock;
use crate::program::{Cast, Part, PartEnd};
use model::drive::{Stretch, StretchEnd};
use std::hint::spin_loop;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
use std::thread::{self, Thread};

/// Looks at the partner before a connection parks: about a microsecond, as long as a wake-up takes.
const SPINS: u32 = 32;

/// All connections of a stretch, in order.
#[derive(Debug)]
pub(crate) struct Seats {
    seats: Box<[Seat]>,
    kept: Box<[Kept]>,
}

/// One connection: what it is to do, and what the others see of it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Seat {
    /// Which role.
    pub(crate) part: usize,
    /// Index among the connections of the role.
    pub(crate) index: u32,
    /// Connections of the role.
    pub(crate) clients: u32,
    /// When it ends by itself.
    pub(crate) limit: Limit,
    /// Whether it has a role, and so others to look at and a series per operation to write.
    pub(crate) guided: bool,
    /// Intended starts.
    pub(crate) schedule: Schedule,
    partner: Option<Seatmate>,
    /// Whether it ends when its partner has ended and both did the same number of operations; where
    /// the partner ends by time, it may be ahead by one more than the lead.
    follows: bool,
    /// Whether others stop it.
    stopped_by_others: bool,
    /// Those that wait for its progress.
    watchers: Vec<usize>,
    /// Those that end when it and perhaps others have ended.
    stops: Vec<usize>,
    // What the others see:
    completed: AtomicU64,
    ended: AtomicBool,
    /// CLOCK_MONOTONIC at which others stopped it, nanoseconds; `u64::MAX` until then.
    stopped: AtomicU64,
    /// Connections that must still end before this one is stopped.
    awaited: AtomicU32,
    parked: AtomicBool,
    thread: OnceLock<Thread>,
}

#[derive(Debug, Clone, Copy)]
struct Seatmate {
    seat: usize,
    lead: u64,
}

impl Seats {
    /// The seats of `connections` connections.
    pub(crate) fn new(cast: &Cast, stretch: &Stretch, connections: u32) -> Self {
        let places: Vec<(usize, u32)> = (0..connections).map(|index| cast.place(index)).collect();
        let mut seats: Vec<Seat> = places
            .iter()
            .filter_map(|(part, index)| {
                let all = places.iter().filter(|(other, _)| other == part).count();
                Some(Seat::new((*part, *index, all as u32), cast.parts.get(*part)?, stretch))
            })
            .collect();
        for seat in 0..seats.len() {
            connect(seat, &mut seats, cast);
        }
        let kept = cast.parts.iter().map(|part| part.program.kept).max().unwrap_or_default();
        let groups = places.iter().map(|(_, index)| index + 1).max().unwrap_or_default();
        Self { seats: seats.into(), kept: (0..groups).map(|_| Kept::new(kept)).collect() }
    }

    /// The seat of connection `index`.
    pub(crate) fn seat(&self, index: u32) -> Option<&Seat> {
        self.seats.get(index as usize)
    }

    /// A guide for connection `index`, which belongs to the calling thread.
    pub(crate) fn guide(&self, index: u32) -> Option<Guide<'_>> {
        let seat = self.seat(index)?;
        // Nobody else sets it.
        let _ = seat.thread.set(thread::current());
        Some(Guide { seats: &self.seats, seat, kept: self.kept.get(seat.index as usize)? })
    }
}

impl Seat {
    fn new((part, index, clients): (usize, u32, u32), of: &Part, stretch: &Stretch) -> Self {
        let own = match of.end {
            PartEnd::Operations(operations) => Some(StretchEnd::Operations(operations)),
            PartEnd::Seconds(seconds) => Some(StretchEnd::Seconds(seconds)),
            PartEnd::Stretch => Some(stretch.end),
            PartEnd::With(_) | PartEnd::Others => None,
        };
        // A stretch that is cut short cuts those that end by themselves; the others follow.
        let limit = match (own, stretch.end) {
            (None, _) => Limit::NONE,
            (Some(own), StretchEnd::Roles) => Limit::new(own),
            (Some(_), end) => Limit::new(end),
        };
        let arrival = of.arrival.unwrap_or(stretch.arrival);
        Self {
            part,
            index,
            clients,
            limit,
            guided: of.clients.is_some(),
            schedule: Schedule::new((arrival, stretch.seed), index, clients),
            partner: None,
            follows: false,
            stopped_by_others: false,
            watchers: Vec::new(),
            stops: Vec::new(),
            completed: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            stopped: AtomicU64::new(u64::MAX),
            awaited: AtomicU32::new(0),
            parked: AtomicBool::new(false),
            thread: OnceLock::new(),
        }
    }
}

/// Notes at one seat and at those that it looks at who waits for whom.
fn connect(seat: usize, seats: &mut [Seat], cast: &Cast) {
    let (own, index) = (seats[seat].part, seats[seat].index);
    let part = &cast.parts[own];
    let same = |part: usize| move |other: &Seat| other.part == part && other.index == index;
    if let Some(pair) = part.pair
        && let Some(mate) = seats.iter().position(same(pair.part))
    {
        seats[seat].partner = Some(Seatmate { seat: mate, lead: pair.lead });
        seats[mate].watchers.push(seat);
        seats[seat].follows = part.end == PartEnd::With(pair.part);
    }
    let awaited: Vec<usize> = match part.end {
        _ if seats[seat].follows => return,
        PartEnd::With(other) if cast.parts[other].clients == part.clients => {
            seats.iter().position(same(other)).into_iter().collect()
        }
        PartEnd::With(other) => all(seats, |seat| seat.part == other),
        PartEnd::Others => {
            all(seats, |seat| seat.part != own && cast.parts[seat.part].end != PartEnd::Others)
        }
        PartEnd::Stretch | PartEnd::Operations(_) | PartEnd::Seconds(_) => return,
    };
    seats[seat].stopped_by_others = true;
    seats[seat].awaited = AtomicU32::new(awaited.len() as u32);
    for other in awaited {
        seats[other].stops.push(seat);
    }
}

fn all(seats: &[Seat], wanted: impl Fn(&Seat) -> bool) -> Vec<usize> {
    (0..seats.len()).filter(|seat| wanted(&seats[*seat])).collect()
}

/// A connection's own view of the seats.
#[derive(Clone, Copy)]
pub(crate) struct Guide<'a> {
    seats: &'a [Seat],
    seat: &'a Seat,
    /// The values kept by it and its like in other roles.
    pub(crate) kept: &'a Kept,
}

impl Guide<'_> {
    /// Whether nothing may start any more at `time`, of which `limit` is the end by itself, after
    /// `completed` operations of its own. Both times in nanoseconds.
    pub(crate) fn is_over(&self, time: u64, limit: u64, completed: u64) -> bool {
        let seat = self.seat;
        match seat.partner.filter(|_| seat.follows).map(|mate| &self.seats[mate.seat]) {
            // The partner's last operation may be done before its end is seen: a known number of
            // them is never exceeded. Else, what it has done is final once it has ended.
            Some(mate) => {
                completed >= mate.limit.operations
                    || mate.ended.load(Acquire) && completed >= mate.completed.load(Acquire)
            }
            None => time >= limit.min(seat.stopped.load(Acquire)),
        }
    }

    /// Whether its end may come while it waits for an intended start.
    pub(crate) fn may_be_stopped(&self) -> bool {
        self.seat.follows || self.seat.stopped_by_others
    }

    /// Until when operations were due that never started, nanoseconds: when it was stopped.
    pub(crate) fn stopped_at(&self) -> Option<u64> {
        Some(self.seat.stopped.load(Acquire)).filter(|stopped| *stopped < u64::MAX)
    }

    /// Tells the others that so many operations have succeeded.
    pub(crate) fn publish(&self, completed: u64) {
        if self.seat.watchers.is_empty() {
            return;
        }
        self.seat.completed.store(completed, Release);
        // Before the look at who is parked: else both could miss each other.
        fence(SeqCst);
        for seat in self.seat.watchers.iter().filter_map(|seat| self.seats.get(*seat)) {
            if seat.parked.load(Relaxed) {
                wake(seat);
            }
        }
    }

    /// Waits until the partner has completed at least as many operations, less the lead, has ended,
    /// or this connection is stopped or `limit` has come. Returns whether that took time.
    pub(crate) fn go_together<K: Clock>(&self, clock: &mut K, own: u64, limit: u64) -> bool {
        let Some(Seatmate { seat, lead }) = self.seat.partner else { return false };
        let mate = &self.seats[seat];
        let may_go = || {
            mate.completed.load(Acquire).saturating_add(lead) >= own
                || mate.ended.load(Acquire)
                || self.stopped_at().is_some()
        };
        if may_go() {
            return false;
        }
        for _ in 0..SPINS {
            spin_loop();
            if may_go() {
                return true;
            }
        }
        self.park(clock, limit, may_go);
        true
    }

    /// Sleeps until `time`, or until this connection is over.
    pub(crate) fn sleep_until<K: Clock>(&self, clock: &mut K, time: u64, completed: u64) {
        self.park(clock, time, || self.is_over(0, u64::MAX, completed) || self.is_stopped());
    }

    fn is_stopped(&self) -> bool {
        self.stopped_at().is_some()
    }

    /// Parks until `done` or the clock shows `time`.
    fn park<K: Clock>(&self, clock: &mut K, time: u64, done: impl Fn() -> bool) {
        let parked = &self.seat.parked;
        parked.store(true, Relaxed);
        // Before the last look at what is waited for: who changes it later sees that we are parked.
        fence(SeqCst);
        while !done() && clock.now() < time {
            clock.park_until(time);
        }
        parked.store(false, Relaxed);
    }

    /// Tells the others that this connection has ended at `now`: those that end with it are
    /// stopped, those that wait for it go on.
    pub(crate) fn leave(&self, now: u64) {
        for seat in self.seat.stops.iter().filter_map(|seat| self.seats.get(*seat)) {
            if seat.awaited.fetch_sub(1, SeqCst) == 1 {
                seat.stopped.fetch_min(now, SeqCst);
                wake(seat);
            }
        }
        self.seat.ended.store(true, SeqCst);
        for seat in self.seat.watchers.iter().filter_map(|seat| self.seats.get(*seat)) {
            wake(seat);
        }
    }
}

fn wake(seat: &Seat) {
    if let Some(thread) = seat.thread.get() {
        thread.unpark();
    }
}

#[cfg(test)]
mod tests;
