//! Where the connections of a stretch meet: who may go on, who has ended, who waits.
//!
//! A connection publishes how many operations have succeeded if another one is paired with it. One
//! that is too far ahead of its partner spins for a moment and then parks; the partner wakes it
//! with its next operation, or when it ends, however it ends. Connections that end with others are
//! stopped by the last of those.

use crate::arrival::{Limit, Schedule};
use crate::clock::Clock;
use crate::program::{Part, Roles};
use crate::recorder::{Intervals, Latencies, OWN_MAX, OpTimeline, Timeline};
use crate::transaction::{Kept, Member};
use model::drive::{Stretch, StretchEnd};
use model::script::End;
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

/// Looks at the partner before a connection parks: about a microsecond, as long as a wake-up takes.
const SPINS: u32 = 32;

/// Tells the arrival times of roles apart: those of one rate would else start their operations at
/// the same moments.
const OF_ROLE: u64 = 0x726f_6c65_0000_0001;

/// All connections of a stretch, in order.
#[derive(Debug)]
pub(crate) struct Peers {
    peers: Box<[Peer]>,
    kept: Box<[Kept]>,
    timeline: Timeline,
    /// Of each role the intervals of its operations.
    by_operation: Box<[Arc<[OpTimeline]>]>,
}

/// One connection: what it is to do, and what the others see of it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Peer {
    /// Which role.
    pub(crate) part: usize,
    /// Which connection of the role.
    pub(crate) member: Member,
    /// When it ends by itself.
    pub(crate) limit: Limit,
    /// Whether it has a role, and so others to look at and a series per operation to write.
    pub(crate) paired: bool,
    /// Intended starts.
    pub(crate) schedule: Schedule,
    /// Where it records its latencies, perhaps with others of its role.
    pub(crate) latencies: Arc<Latencies>,
    partner: Option<Partner>,
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

/// Where connections record latencies: by role, and by the first of its connections that does.
type Shared = BTreeMap<(usize, u32), Arc<Latencies>>;

#[derive(Debug, Clone, Copy)]
struct Partner {
    peer: usize,
    lead: u64,
}

impl Peers {
    /// The peers of `connections` connections.
    pub(crate) fn new(roles: &Roles, stretch: &Stretch, connections: u32) -> Self {
        let places: Vec<(usize, u32)> = (0..connections).map(|index| roles.place(index)).collect();
        let mut shared = Shared::new();
        let mut peers: Vec<Peer> = places
            .iter()
            .filter_map(|(part, index)| {
                let all = places.iter().filter(|(other, _)| other == part).count();
                let member = Member { index: *index, clients: all as u32 };
                Some(Peer::new(*part, member, roles.parts.get(*part)?, stretch, &mut shared))
            })
            .collect();
        for peer in 0..peers.len() {
            connect(peer, &mut peers, roles);
        }
        let kept = roles.parts.iter().map(|part| part.program.kept).max().unwrap_or_default();
        let groups = places.iter().map(|(_, index)| index + 1).max().unwrap_or_default();
        let kept = (0..groups).map(|_| Kept::new(kept)).collect();
        let by_operation = roles.parts.iter().map(|part| {
            let ops = if part.program.role.is_empty() { 0 } else { part.program.ops.len() };
            (0..ops).map(|_| OpTimeline::default()).collect::<Arc<[OpTimeline]>>()
        });
        let by_operation = by_operation.collect();
        Self { peers: peers.into(), kept, timeline: Timeline::default(), by_operation }
    }

    /// The intervals of all connections.
    pub(crate) fn timeline(&self) -> Timeline {
        self.timeline.clone()
    }

    /// Whose intervals the connections of a part have: those of its operations, if it is a role.
    pub(crate) fn intervals(&self, part: usize) -> Intervals {
        match self.by_operation.get(part) {
            Some(all) if !all.is_empty() => Intervals::ByOperation(Arc::clone(all)),
            _ => Intervals::Common,
        }
    }

    /// The peer of connection `index`.
    pub(crate) fn peer(&self, index: u32) -> Option<&Peer> {
        self.peers.get(index as usize)
    }

    /// What all connections of a role recorded.
    pub(crate) fn latencies(&self, part: usize) -> Latencies {
        let of_the_part = || self.peers.iter().filter(move |peer| peer.part == part);
        let first = of_the_part().next().map(|peer| &peer.latencies);
        let (service, response) =
            first.map_or((0, 0), |one| (one.service.len(), one.response.len()));
        let mut all = Latencies::new(service, response);
        // The others share those of these.
        let with_own = of_the_part().filter(|peer| peer.member.index < OWN_MAX);
        with_own.for_each(|peer| all.merge(&peer.latencies));
        all
    }

    /// The view of connection `number`, which belongs to the calling thread.
    pub(crate) fn pairing(&self, number: u32) -> Option<Pairing<'_>> {
        let peer = self.peer(number)?;
        // Nobody else sets it.
        let _ = peer.thread.set(thread::current());
        let kept = self.kept.get(peer.member.index as usize)?;
        Some(Pairing { peers: &self.peers, number, peer, kept })
    }
}

impl Peer {
    fn new(part: usize, member: Member, of: &Part, stretch: &Stretch, shared: &mut Shared) -> Self {
        let own = match of.end {
            End::Operations(operations) | End::Rows(operations) => {
                Some(StretchEnd::Operations(operations))
            }
            End::Seconds(seconds) => Some(StretchEnd::Seconds(seconds as f64)),
            End::Stretch => Some(stretch.end),
            End::With(_) | End::Others => None,
        };
        // A stretch that is cut short cuts those that end by themselves; the others follow.
        let limit = match (own, stretch.end) {
            (None, _) => Limit::NONE,
            (Some(own), StretchEnd::Roles) => Limit::new(own),
            (Some(_), end) => Limit::new(end),
        };
        let seed = stretch.seed.wrapping_add(OF_ROLE.wrapping_mul(part as u64));
        let schedule = of.schedule(seed, member);
        let ops = of.program.ops.len();
        let intended = if schedule.is_open() { ops } else { 0 };
        let latencies = shared.entry((part, member.index % OWN_MAX));
        let latencies = latencies.or_insert_with(|| Arc::new(Latencies::new(ops, intended)));
        Self {
            part,
            member,
            limit,
            paired: !of.program.role.is_empty(),
            latencies: Arc::clone(latencies),
            schedule,
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

/// Notes at one peer and at those that it looks at who waits for whom.
fn connect(peer: usize, peers: &mut [Peer], roles: &Roles) {
    let (own, index) = (peers[peer].part, peers[peer].member.index);
    let part = &roles.parts[own];
    let same = |part: usize| move |other: &Peer| other.part == part && other.member.index == index;
    if let Some(pairing) = part.pairing
        && let Some(partner) = peers.iter().position(same(pairing.role))
    {
        peers[peer].partner = Some(Partner { peer: partner, lead: pairing.lead });
        peers[partner].watchers.push(peer);
        peers[peer].follows = part.end == End::With(pairing.role);
    }
    let awaited: Vec<usize> = match part.end {
        _ if peers[peer].follows => return,
        End::With(other) if roles.parts[other].clients == part.clients => {
            peers.iter().position(same(other)).into_iter().collect()
        }
        End::With(other) => all(peers, |peer| peer.part == other),
        // Those that end with one that waits as well would wait for each other.
        End::Others => {
            all(peers, |peer| peer.part != own && last_end(peer.part, roles) != End::Others)
        }
        End::Stretch | End::Operations(_) | End::Rows(_) | End::Seconds(_) => return,
    };
    peers[peer].stopped_by_others = true;
    peers[peer].awaited = AtomicU32::new(awaited.len() as u32);
    for other in awaited {
        peers[other].stops.push(peer);
    }
}

/// The end of a role, or of the last one that it ends with. The compiler has refused circles.
fn last_end(part: usize, roles: &Roles) -> End {
    match roles.parts[part].end {
        End::With(other) => last_end(other, roles),
        end => end,
    }
}

fn all(peers: &[Peer], wanted: impl Fn(&Peer) -> bool) -> Vec<usize> {
    (0..peers.len()).filter(|peer| wanted(&peers[*peer])).collect()
}

/// A connection's own view of its peers.
#[derive(Clone, Copy)]
pub(crate) struct Pairing<'a> {
    peers: &'a [Peer],
    /// Index of the connection among all.
    pub(crate) number: u32,
    /// The connection itself.
    pub(crate) peer: &'a Peer,
    /// The values kept by it and its like in other roles.
    pub(crate) kept: &'a Kept,
}

impl Pairing<'_> {
    /// Whether nothing may start any more at `time`, of which `limit` is the end by itself, after
    /// `completed` operations of its own. Both times in nanoseconds.
    pub(crate) fn is_over(&self, time: u64, limit: u64, completed: u64) -> bool {
        let peer = self.peer;
        match peer.partner.filter(|_| peer.follows).map(|partner| &self.peers[partner.peer]) {
            // The partner's last operation may be done before its end is seen: a known number of
            // them is never exceeded. Else, what it has done is final once it has ended.
            Some(partner) => {
                completed >= partner.limit.operations
                    || partner.ended.load(Acquire) && completed >= partner.completed.load(Acquire)
            }
            None => time >= limit.min(peer.stopped.load(Acquire)),
        }
    }

    /// Whether its end may come while it waits for an intended start.
    pub(crate) fn may_be_stopped(&self) -> bool {
        self.peer.follows || self.peer.stopped_by_others
    }

    /// Until when operations were due that never started, nanoseconds: when it was stopped.
    pub(crate) fn stopped_at(&self) -> Option<u64> {
        Some(self.peer.stopped.load(Acquire)).filter(|stopped| *stopped < u64::MAX)
    }

    /// Tells the others that so many operations have succeeded.
    pub(crate) fn publish(&self, completed: u64) {
        if self.peer.watchers.is_empty() {
            return;
        }
        self.peer.completed.store(completed, Release);
        // Before the look at who is parked: else both could miss each other.
        fence(SeqCst);
        for peer in self.peer.watchers.iter().filter_map(|peer| self.peers.get(*peer)) {
            if peer.parked.load(Relaxed) {
                wake(peer);
            }
        }
    }

    /// Waits until the partner has completed at least as many operations, less the lead, has ended,
    /// or this connection is stopped or `limit` has come. Returns whether that took time.
    pub(crate) fn go_together<K: Clock>(&self, clock: &mut K, own: u64, limit: u64) -> bool {
        let Some(Partner { peer, lead }) = self.peer.partner else { return false };
        let partner = &self.peers[peer];
        let may_go = || {
            partner.completed.load(Acquire).saturating_add(lead) >= own
                || partner.ended.load(Acquire)
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
        let parked = &self.peer.parked;
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
        for peer in self.peer.stops.iter().filter_map(|peer| self.peers.get(*peer)) {
            if peer.awaited.fetch_sub(1, SeqCst) == 1 {
                peer.stopped.fetch_min(now, SeqCst);
                wake(peer);
            }
        }
        self.peer.ended.store(true, SeqCst);
        for peer in self.peer.watchers.iter().filter_map(|peer| self.peers.get(*peer)) {
            wake(peer);
        }
    }
}

fn wake(peer: &Peer) {
    if let Some(thread) = peer.thread.get() {
        thread.unpark();
    }
}

#[cfg(test)]
mod tests;
