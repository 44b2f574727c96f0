//! One connection's thread: it lives from connect to close and executes what it is sent.
//!
//! Between stretches the thread is parked on its channel. Within a stretch, after the barrier, it
//! neither locks nor logs, and allocates only where an error is counted; its system calls are those
//! of the client, the sleep of an open loop, and the parking of a role that waits for another. Read
//! [`turn`] for the loop itself.

mod counters;
mod execution;
mod peers;
mod trace;

pub use counters::Counters;
pub use execution::{ERRORS_IN_A_ROW_MAX, LATE_NS, RETRIES_MAX};
pub(crate) use peers::Peers;

use crate::Error;
use crate::clock::{Clock, Monotonic};
use crate::program::{Program, Roles};
use crate::protocol::{self, PerClient};
use crate::recorder::{Recorder, Series, Tally};
use crate::scripts::{Events, Threads};
use crate::transaction::{self, Coded, Declared, Member, PerCoded, Scripted, Setup, Transaction};
use crate::wire::{Client, Failure, FailureKind, Sql};
use execution::{Execution, Timing};
use model::drive::{Assignment, Connection, Stretch, Target, TracedStatement};
use model::workload::Mode;
use peers::Pairing;
use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Barrier};
use values::Random;

/// What a worker thread is given when it starts.
pub struct WorkerSetup {
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
    /// Prepare a program's statements; with what executes it, which [`Bodies`] or [`CodedBody`]
    /// has for each type of client.
    Prepare(Arc<Program>, Body),
    /// Start a thread of a script, with this index, as the program.
    Script(Arc<Program>, Arc<dyn Threads>, u32),
    /// Execute the program.
    Run(Arc<Start>),
    /// Execute as many trivial statements.
    Burst(u32),
    /// Have the server publish what it counted of the connection.
    Publish,
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
    pub(crate) peers: Peers,
}

/// What a worker answers.
pub enum Report {
    /// To its start.
    Connected(Result<Connection, Failure>),
    /// To [`Job::Prepare`], [`Job::Burst`] and [`Job::Publish`].
    Done(Result<(), Failure>),
    /// To [`Job::Run`].
    Ran(Box<Tally>),
}

/// Executes a program between the barrier and the end of a stretch: a [`Run`] of a type of client.
pub type Body = Box<dyn Any + Send>;

type Run<C> = fn(&mut Worker<C>, &Program, Pairing<'_>, &Start) -> Tally;

/// What there is of this module for each type of client.
pub struct Bodies {
    /// Body of a worker thread.
    pub work: fn(WorkerSetup),
    /// What executes declared transactions.
    pub declared: fn() -> Body,
    /// Executes a program on a connection of its own and tells each statement.
    pub trace: TraceRun,
}

impl PerClient for Bodies {
    type Value = Self;

    fn of<C: Client + 'static>() -> Self {
        let declared: fn() -> Body = || Box::new(run_declared::<C> as Run<C>);
        Self { work: work::<C>, declared, trace: trace::declared::<C> }
    }
}

/// What executes coded transactions.
pub struct CodedBody<T>(PhantomData<T>);

impl<T: Coded> PerClient for CodedBody<T> {
    type Value = fn() -> Body;

    fn of<C: Client + 'static>() -> Self::Value {
        || Box::new(run_coded::<C, T> as Run<C>)
    }
}

/// Executes the only role of some roles on a connection of its own and tells each statement.
pub type TraceRun = fn(&Target, &Roles, &Stretch) -> Result<Vec<TracedStatement>, Failure>;

struct CodedTrace<T>(PhantomData<T>);

impl<T: Coded> PerClient for CodedTrace<T> {
    type Value = TraceRun;

    fn of<C: Client + 'static>() -> Self::Value {
        trace::coded::<C, T>
    }
}

type OfProtocol<V> = fn(&str) -> Result<V, Failure>;

/// What there is of this module for each kind of coded transactions.
pub(crate) struct CodedBodies {
    /// The roles of a workload of them.
    pub(crate) roles: fn(&Assignment, &str) -> Result<Roles, Error>,
    body: OfProtocol<fn() -> Body>,
    trace: OfProtocol<TraceRun>,
}

impl PerCoded for CodedBodies {
    type Value = Self;

    fn of<T: Coded>() -> Self {
        let (body, trace) = (protocol::find::<CodedBody<T>>, protocol::find::<CodedTrace<T>>);
        Self { roles: transaction::roles::<T>, body, trace }
    }
}

impl CodedBodies {
    /// What executes them on a protocol.
    pub(crate) fn body(&self, protocol: &str) -> Result<fn() -> Body, Error> {
        (self.body)(protocol).map_err(Error::Protocol)
    }

    /// What traces them on a protocol.
    pub(crate) fn trace(&self, protocol: &str) -> Result<TraceRun, Error> {
        (self.trace)(protocol).map_err(Error::Protocol)
    }
}

/// Body of a worker thread: ends when the engine drops its end of the channel.
fn work<C: Client + 'static>(setup: WorkerSetup) {
    let client = C::connect(&setup.target);
    let connected = client
        .as_ref()
        .map_err(Clone::clone)
        .map(|client| Connection { driver_task: task(), server_id: client.server_id() });
    // The engine's end is gone only when the whole engine is: then there is nobody to tell.
    let Ok(()) = setup.reports.send(Report::Connected(connected)) else { return };
    let Ok(client) = client else { return };
    let mut worker = Worker {
        client,
        dialect: setup.target.protocol,
        lost: None,
        program: None,
        events: None,
        sequences: BTreeMap::new(),
        counters: setup.counters,
    };
    while let Ok(job) = setup.jobs.recv() {
        let report = match job {
            Job::Prepare(program, body) => Report::Done(worker.prepare(program, body)),
            Job::Script(program, threads, index) => {
                Report::Done(worker.start(program, threads.as_ref(), index))
            }
            Job::Burst(statements) => Report::Done(worker.burst(statements)),
            Job::Publish => Report::Done(worker.publish()),
            Job::Run(start) => match worker.run(&start, setup.index) {
                Some(tally) => Report::Ran(Box::new(tally)),
                // The engine has as many peers as there are workers.
                None => return,
            },
        };
        let Ok(()) = setup.reports.send(report) else { return };
    }
}

/// State of a connection between stretches.
struct Worker<C> {
    client: C,
    /// Dialect of the server's SQL.
    dialect: String,
    /// Why the connection is lost, if it is.
    lost: Option<Failure>,
    program: Option<(Arc<Program>, Run<C>)>,
    /// The thread of a script, where the program is one.
    events: Option<Box<dyn Events>>,
    /// Executions of counters by their identity, so that keys stay unique from stretch to stretch,
    /// and among how many connections they were executed.
    sequences: BTreeMap<String, (u64, u64)>,
    counters: Counters,
}

impl<C: Client + 'static> Worker<C> {
    fn prepare(&mut self, program: Arc<Program>, body: Body) -> Result<(), Failure> {
        self.alive()?;
        self.forget_program();
        let run = body.downcast::<Run<C>>();
        let run = run.map_err(|_| Failure::own("the workload is compiled for another protocol"))?;
        let prepared = prepare(&mut self.client, &program);
        self.note(&prepared);
        prepared?;
        self.program = Some((program, *run));
        Ok(())
    }

    /// Starts a thread of a script on this connection.
    fn start(
        &mut self,
        program: Arc<Program>,
        threads: &dyn Threads,
        index: u32,
    ) -> Result<(), Failure> {
        self.alive()?;
        self.forget_program();
        let started = self
            .client
            .forget()
            .and_then(|()| self.client.lend())
            .and_then(|dialog| threads.start(index, dialog));
        let told = started.as_ref().map(drop).map_err(Clone::clone);
        self.note(&told);
        self.events = Some(started?);
        self.program = Some((program, run_script::<C>));
        Ok(())
    }

    fn forget_program(&mut self) {
        (self.program, self.events) = (None, None);
    }

    fn burst(&mut self, statements: u32) -> Result<(), Failure> {
        self.alive()?;
        let done = (0..statements).try_for_each(|_| self.client.trivial());
        self.note(&done);
        done
    }

    fn publish(&mut self) -> Result<(), Failure> {
        self.alive()?;
        let done = self.client.publish();
        self.note(&done);
        done
    }

    /// Executes the program between the barrier and the end. A worker without program or connection
    /// passes the barrier as well, because the others wait there for it. `None` if it is not among
    /// the peers.
    fn run(&mut self, start: &Start, index: u32) -> Option<Tally> {
        let pairing = start.peers.pairing(index)?;
        let ready = self.alive().and_then(|()| {
            self.program.clone().ok_or_else(|| {
                Failure::new(FailureKind::Statement, "program", "no workload is compiled")
            })
        });
        match ready {
            Ok((program, run)) => Some(run(self, &program, pairing, start)),
            Err(failure) => {
                let mut tally = tally(pairing, start);
                start.pass();
                let _leave = Leave(pairing);
                tally.give_up(pairing.peer.schedule.clone(), pairing.peer.limit, &failure);
                Some(tally)
            }
        }
    }

    /// Executes transactions, which have all the memory that they need.
    fn execute<T: Transaction>(
        &mut self,
        program: &Program,
        pairing: Pairing<'_>,
        start: &Start,
        transaction: T,
    ) -> (Tally, T) {
        let mut tally = tally(pairing, start);
        let random = Random::new(start.stretch.seed, u64::from(pairing.number));
        let mut execution = Execution::new(program, pairing, transaction, random);
        let start_ns = start.pass();
        // However this ends, the others must not wait for it.
        let _leave = Leave(pairing);
        let (schedule, limit) = (pairing.peer.schedule.clone(), pairing.peer.limit);
        let timing = Timing { schedule, limit, start_ns };
        execution.execute(&mut self.client, &mut Monotonic, timing, &mut tally);
        self.lost = tally.lost.clone();
        (tally, execution.into_transaction())
    }

    /// Where the counters of a program stand: where this connection left them, or behind all that
    /// others reached.
    fn executed(&self, program: &Program, member: Member) -> Vec<u64> {
        let started = program.sequences.iter().map(|sequence| {
            let clients = u64::from(sequence.among(member).clients);
            self.counters.start(&sequence.key, clients, self.sequences.get(&sequence.key))
        });
        started.collect()
    }

    fn alive(&self) -> Result<(), Failure> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, result: &Result<(), Failure>) {
        if let Err(failure) = result
            && failure.is_lost()
        {
            self.lost = Some(failure.clone());
        }
    }
}

impl Start {
    /// Passes the barrier; when the stretch starts, nanoseconds.
    fn pass(&self) -> u64 {
        self.barrier.wait();
        self.barrier.wait();
        self.start_ns.load(Ordering::Acquire)
    }
}

fn run_declared<C: Client + 'static>(
    worker: &mut Worker<C>,
    program: &Program,
    pairing: Pairing<'_>,
    start: &Start,
) -> Tally {
    let member = pairing.peer.member;
    let executed = worker.executed(program, member);
    let declared = Declared::new(program, pairing.kept, member, executed);
    let (tally, declared) = worker.execute(program, pairing, start, declared);
    for (sequence, executed) in program.sequences.iter().zip(declared.executed()) {
        let Member { index, clients } = sequence.among(member);
        let clients = u64::from(clients);
        let reached = executed.saturating_mul(clients).saturating_add(u64::from(index));
        worker.counters.note(&sequence.key, reached, clients);
        worker.sequences.insert(sequence.key.clone(), (clients, *executed));
    }
    tally
}

fn run_coded<C: Client + 'static, T: Coded>(
    worker: &mut Worker<C>,
    program: &Program,
    pairing: Pairing<'_>,
    start: &Start,
) -> Tally {
    let dialect = worker.dialect.clone();
    let mut transaction = coded::<T>(&dialect, program, pairing);
    transaction.get_ready();
    let (mut tally, transaction) = worker.execute(program, pairing, start, transaction);
    tally.drawn = transaction.drawn();
    tally.neighbors = transaction.neighbors();
    tally
}

fn run_script<C: Client + 'static>(
    worker: &mut Worker<C>,
    program: &Program,
    pairing: Pairing<'_>,
    start: &Start,
) -> Tally {
    let Some(mut events) = worker.events.take() else { return tally(pairing, start) };
    events.begin(start.stretch.seed);
    let (tally, Scripted(events)) = worker.execute(program, pairing, start, Scripted(events));
    worker.events = Some(events);
    tally
}

/// The coded transactions of a connection.
fn coded<T: Coded>(dialect: &str, program: &Program, pairing: Pairing<'_>) -> T {
    let mode = program.sql.first().map_or(Mode::Prepared, |sql| sql.mode);
    T::new(&mut Setup::new(dialect, mode, pairing.peer.member, program))
}

/// A tally of the operations of a connection.
fn tally(pairing: Pairing<'_>, start: &Start) -> Tally {
    let intervals = start.peers.intervals(pairing.peer.part);
    let latencies = Arc::clone(&pairing.peer.latencies);
    let series = Series::new(start.peers.timeline(), start.stretch.interval_ms);
    Tally::new(Recorder::new(latencies, intervals, series))
}

/// Prepares the statements of a program in place of those of the one before.
fn prepare<C: Client>(client: &mut C, program: &Program) -> Result<(), Failure> {
    client.forget()?;
    for setting in &program.session {
        client.prepare(&Sql::new(Mode::Text, setting, Vec::new()))?;
        client.begin(0);
        // Nothing is given to a text without arguments.
        client.compose(|_| ());
        client.execute().map_err(|failure| failure.in_statement(setting))?;
        client.forget()?;
    }
    program
        .sql
        .iter()
        .try_for_each(|sql| client.prepare(sql).map_err(|failure| program.located(sql, failure)))
}

/// Tells the other connections of a stretch that this one has ended, when it is dropped.
struct Leave<'a>(Pairing<'a>);

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
