//! One connection's thread: it lives from connect to close and executes what it is sent.
//!
//! Between stretches the thread is parked on its channel. Within a stretch, after the barrier, it
//! neither locks nor logs, and allocates only where an error is counted; its system calls are those
//! of the client, the sleep of an open loop, and the parking of a role that waits for another. Read
//! [`turn`] for the loop itself.

mod counters;
mod kept;
mod seat;
mod tally;
mod trace;
mod turn;

pub use counters::Counters;
pub(crate) use seat::Seats;
pub use tally::Tally;
pub use trace::trace;
pub use turn::{ERRORS_IN_A_ROW_MAX, LATE_NS, RETRIES_MAX};

use crate::client::{Client, Failure, FailureKind};
use crate::clock::{Clock, Monotonic};
use crate::keys::Random;
use crate::program::Program;
use crate::recorder::{OpenLoop, Recorder, Roles, Scope};
use model::drive::{Connection, Stretch, Target};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Barrier};
use turn::Turn;

/// What a worker thread is given when it starts.
pub struct Station {
    /// Where to connect.
    pub target: Target,
    /// Index of the connection.
    pub index: u32,
    /// How far the counters of earlier connections have come.
    pub counters: Counters,
    /// What to do.
    pub jobs: Receiver<Job>,
    /// What was done: one report when the connection is open, then one for each job.
    pub reports: Sender<Report>,
}

/// A command to a worker.
pub enum Job {
    /// Prepare a program's statements.
    Prepare(Arc<Program>),
    /// Execute the program.
    Run(Arc<Start>),
    /// Execute as many trivial statements.
    Burst(u32),
}

/// A stretch and the barrier at which it starts.
pub struct Start {
    /// What to execute.
    pub stretch: Stretch,
    /// Passed twice by all workers and the engine: when all are ready, and when `start_ns` is set.
    pub barrier: Barrier,
    /// CLOCK_MONOTONIC of the start, nanoseconds.
    pub start_ns: AtomicU64,
    /// What each connection is to do, and what they tell each other.
    pub(crate) seats: Seats,
}

/// What a worker answers.
pub enum Report {
    /// To its start.
    Connected(Result<Connection, Failure>),
    /// To [`Job::Prepare`] and [`Job::Burst`].
    Done(Result<(), Failure>),
    /// To [`Job::Run`].
    Ran(Box<Tally>),
}

/// Body of a worker thread: ends when the engine drops its end of the channel.
pub fn work<C: Client>(station: Station) {
    let client = C::connect(&station.target);
    let connected = client
        .as_ref()
        .map_err(Clone::clone)
        .map(|client| Connection { driver_task: task(), server_id: client.server_id() });
    // The engine's end is gone only when the whole engine is: then there is nobody to tell.
    let Ok(()) = station.reports.send(Report::Connected(connected)) else { return };
    let Ok(client) = client else { return };
    let counters = station.counters;
    let mut worker =
        Worker { client, lost: None, program: None, sequences: BTreeMap::new(), counters };
    while let Ok(job) = station.jobs.recv() {
        let report = match job {
            Job::Prepare(program) => Report::Done(worker.prepare(program)),
            Job::Burst(statements) => Report::Done(worker.burst(statements)),
            Job::Run(start) => match worker.run(&start, station.index) {
                Some(tally) => Report::Ran(Box::new(tally)),
                // The engine makes as many seats as there are workers.
                None => return,
            },
        };
        let Ok(()) = station.reports.send(report) else { return };
    }
}

/// State of a connection between stretches.
struct Worker<C> {
    client: C,
    /// Why the connection is lost, if it is.
    lost: Option<Failure>,
    program: Option<Arc<Program>>,
    /// Executions of counters by their identity, so that keys stay unique from stretch to stretch,
    /// and among how many connections they were executed.
    sequences: BTreeMap<String, (u64, u64)>,
    counters: Counters,
}

impl<C: Client> Worker<C> {
    fn prepare(&mut self, program: Arc<Program>) -> Result<(), Failure> {
        self.alive()?;
        self.program = None;
        let prepared = self.client.prepare(&program);
        self.note(&prepared);
        prepared?;
        self.program = Some(program);
        Ok(())
    }

    fn burst(&mut self, statements: u32) -> Result<(), Failure> {
        self.alive()?;
        let done = (0..statements).try_for_each(|_| self.client.trivial());
        self.note(&done);
        done
    }

    /// Executes the program between the barrier and the end. A worker without program or connection
    /// passes the barrier as well, because the others wait there for it. `None` if it has no seat.
    fn run(&mut self, start: &Start, index: u32) -> Option<Tally> {
        let guide = start.seats.guide(index);
        let program = self.program.clone();
        let ready = self.alive().and_then(|()| {
            program.as_ref().ok_or_else(|| {
                Failure::new(FailureKind::Statement, "program", "no workload is compiled")
            })
        });
        let random = Random::new(start.stretch.seed, u64::from(index));
        let executed = match (&program, start.seats.seat(index)) {
            (Some(program), Some(seat)) => self.executed(program, u64::from(seat.clients)),
            _ => Vec::new(),
        };
        let prepared = guide.zip(start.seats.seat(index)).map(|(guide, seat)| {
            let schedule = seat.schedule.clone();
            let scope = Scope {
                ops: program.as_ref().map_or(0, |program| program.ops.len()),
                arrival: if schedule.is_open() { OpenLoop::Yes } else { OpenLoop::No },
                roles: if seat.guided { Roles::Yes } else { Roles::No },
                interval_ms: start.stretch.interval_ms,
            };
            (guide, seat, schedule, Tally::new(Recorder::new(scope)))
        });
        start.barrier.wait();
        start.barrier.wait();
        let (guide, seat, schedule, mut tally) = prepared?;
        // However this ends, the others must not wait for it.
        let _leave = Leave(guide);
        let start_ns = start.start_ns.load(Ordering::Acquire);
        let program = match ready {
            Ok(program) => program,
            Err(failure) => {
                tally.give_up(schedule, seat.limit, &failure);
                return Some(tally);
            }
        };
        let mut turn = Turn::new(program, (guide, seat), random, executed);
        let clocked = (&mut self.client, &mut Monotonic);
        turn.execute(clocked, (schedule, seat.limit, start_ns), &mut tally);
        let clients = u64::from(seat.clients);
        for (sequence, executed) in program.sequences.iter().zip(turn.executed()) {
            let reached = executed.saturating_mul(clients).saturating_add(u64::from(seat.index));
            self.counters.note(&sequence.key, reached, clients);
            self.sequences.insert(sequence.key.clone(), (clients, *executed));
        }
        self.lost = tally.lost.clone();
        Some(tally)
    }

    /// Where the counters of a program stand: where this connection left them, or behind all that
    /// others reached.
    fn executed(&self, program: &Program, clients: u64) -> Vec<u64> {
        let of = |key: &String| self.counters.start(key, clients, self.sequences.get(key));
        program.sequences.iter().map(|sequence| of(&sequence.key)).collect()
    }

    fn alive(&self) -> Result<(), Failure> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, result: &Result<(), Failure>) {
        if let Err(failure) = result
            && failure.kind() == FailureKind::Lost
        {
            self.lost = Some(failure.clone());
        }
    }
}

/// Tells the other connections of a stretch that this one has ended, when it is dropped.
struct Leave<'a>(seat::Guide<'a>);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.leave(Monotonic.now());
    }
}

/// Kernel task of the calling thread.
#[allow(unsafe_code, reason = "gettid has no wrapper in std")]
fn task() -> u32 {
    // SAFETY: gettid has no arguments and cannot fail.
    (unsafe { libc::gettid() }) as u32
}

/// Time at which a stretch starts, for the engine: now.
pub fn set_start(start: &Start) {
    start.start_ns.store(Monotonic.now(), Ordering::Release);
}
