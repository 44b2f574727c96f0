//! The measured connections of a driver: one thread each, from connect to close.

use crate::Error;
use crate::client::{self, Failure, FailureKind, Protocol};
use crate::program::Cast;
use crate::worker::{Counters, Job, Report, Seats, Start, Station, Tally, set_start};
use model::drive::{
    Assignment, Connection, Stretch, StretchEnd, StretchReport, Target, Trace, TracedStatement,
};
use model::workload::Arrival;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

/// Stack of a worker thread, bytes; hundreds of them must fit in a small machine.
const STACK_BYTES: usize = 512 * 1024;

/// Open connections with their threads. Dropping it closes them.
pub struct Engine {
    protocol: &'static Protocol,
    workers: Vec<Worker>,
    connections: Vec<Connection>,
    cast: Option<Cast>,
}

/// The engine's end of a worker thread. The fields are dropped in order: the thread ends when its
/// jobs do.
struct Worker {
    jobs: Option<Sender<Job>>,
    reports: Receiver<Report>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Opens `clients` connections, one after the other, so that the server's new tasks can be told
    /// apart by their order.
    ///
    /// # Errors
    /// An unknown protocol, or the first connection that failed.
    pub fn connect(target: &Target, clients: u32) -> Result<Self, Error> {
        Self::connect_again(target, clients, &Counters::default())
    }

    /// The same, where `counters` tell how far earlier connections have come.
    ///
    /// # Errors
    /// As those of [`Engine::connect`].
    pub fn connect_again(
        target: &Target,
        clients: u32,
        counters: &Counters,
    ) -> Result<Self, Error> {
        let protocol = protocol_of(target)?;
        let mut engine =
            Self { protocol, workers: Vec::new(), connections: Vec::new(), cast: None };
        for index in 0..clients {
            let (jobs, worker_jobs) = channel();
            let (worker_reports, reports) = channel();
            let station = Station {
                target: target.clone(),
                index,
                counters: counters.clone(),
                jobs: worker_jobs,
                reports: worker_reports,
            };
            let thread = thread::Builder::new()
                .name(format!("client {index}"))
                .stack_size(STACK_BYTES)
                .spawn(move || (protocol.work)(station))
                .map_err(|source| Error::Thread { index, source })?;
            engine.workers.push(Worker { jobs: Some(jobs), reports, thread: Some(thread) });
            match engine.workers.last().map(Worker::report) {
                Some(Ok(Report::Connected(Ok(connection)))) => engine.connections.push(connection),
                Some(Ok(Report::Connected(Err(failure)))) => {
                    return Err(failed(format!("connection {index} cannot be opened"), &failure));
                }
                _ => return Err(Error::Worker { index }),
            }
        }
        Ok(engine)
    }

    /// The connections in order.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Compiles a workload and prepares its statements on all connections, in place of the one
    /// before; on each those of its role, in the order of the roles.
    ///
    /// # Errors
    /// What is wrong with the workload, or the server's answer to its statements.
    pub fn compile(&mut self, assignment: &Assignment) -> Result<(), Error> {
        self.cast = None;
        let cast = Cast::compile(assignment, self.protocol.name)?;
        if let Some(needed) = cast.connections()
            && needed != self.workers.len()
        {
            return Err(Error::Workload {
                workload: cast.name,
                place: String::new(),
                reason: format!(
                    "its roles have {needed} clients, but {} connections are open; connect with \
                     as many as it needs",
                    self.workers.len()
                ),
            });
        }
        for (index, worker) in (0..).zip(&self.workers) {
            let (part, _) = cast.place(index);
            let part = cast.parts.get(part).ok_or(Error::Worker { index })?;
            worker.send(Job::Prepare(Arc::clone(&part.program)));
        }
        let what = format!("workload `{}` cannot be prepared", cast.name);
        self.done(&what)?;
        self.cast = Some(cast);
        Ok(())
    }

    /// Executes the compiled workload on all connections from a common start.
    ///
    /// # Errors
    /// No workload is compiled, it has no roles that could end, all connections are lost, or a
    /// worker ended. Errors of single operations are counts of the report.
    pub fn run(&mut self, stretch: &Stretch) -> Result<StretchReport, Error> {
        let Some(cast) = &self.cast else { return Err(Error::NoWorkload) };
        if stretch.end == StretchEnd::Roles && !cast.has_roles() {
            return Err(Error::NoRoles { workload: cast.name.clone() });
        }
        let connections = self.workers.len();
        let start = Arc::new(Start {
            stretch: stretch.clone(),
            barrier: Barrier::new(connections + 1),
            start_ns: AtomicU64::new(0),
            seats: Seats::new(cast, stretch, connections as u32),
        });
        // A worker that is gone would leave its place at the barrier empty for ever.
        for (index, worker) in (0..).zip(&self.workers) {
            if worker.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(Error::Worker { index });
            }
        }
        for worker in &self.workers {
            worker.send(Job::Run(Arc::clone(&start)));
        }
        start.barrier.wait();
        set_start(&start);
        start.barrier.wait();
        let mut tallies = Vec::with_capacity(self.workers.len());
        for (index, worker) in (0..).zip(&self.workers) {
            let Ok(Report::Ran(tally)) = worker.report() else {
                return Err(Error::Worker { index });
            };
            tallies.push(tally);
        }
        if let Some(failure) = all_lost(&tallies) {
            return Err(failed("every connection is lost".to_owned(), failure));
        }
        crate::merge::report(cast, &start, &tallies)
    }

    /// Executes as many trivial statements on one connection.
    ///
    /// # Errors
    /// There is no such connection, or the server's answer.
    pub fn burst(&mut self, connection: u32, statements: u32) -> Result<(), Error> {
        let count = self.workers.len();
        let worker = self
            .workers
            .get(connection as usize)
            .ok_or(Error::NoConnection { index: connection, count })?;
        worker.send(Job::Burst(statements));
        match worker.report() {
            Ok(Report::Done(Ok(()))) => Ok(()),
            Ok(Report::Done(Err(failure))) => {
                Err(failed(format!("the burst on connection {connection} failed"), &failure))
            }
            _ => Err(Error::Worker { index: connection }),
        }
    }

    /// Waits for all workers; the first failure counts, but every answer is taken.
    fn done(&self, what: &str) -> Result<(), Error> {
        let mut result = Ok(());
        for (index, worker) in (0..).zip(&self.workers) {
            let failure = match worker.report() {
                Ok(Report::Done(Ok(()))) => continue,
                Ok(Report::Done(Err(failure))) => failed(what.to_owned(), &failure),
                _ => Error::Worker { index },
            };
            result = result.and(Err(failure));
        }
        result
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.jobs = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // A worker that panicked has told so by its missing report.
                let _ = thread.join();
            }
        }
    }
}

impl Worker {
    /// Sends a job; a worker that is not there to take it will be missed at its report.
    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }

    fn report(&self) -> Result<Report, std::sync::mpsc::RecvError> {
        self.reports.recv()
    }
}

/// Executes a few operations on a connection of their own and tells each statement.
///
/// # Errors
/// What is wrong with the workload, or the server's answer to the connection or to its statements'
/// preparation. Its answers to executions are part of the result.
pub fn trace(target: &Target, trace: &Trace) -> Result<Vec<TracedStatement>, Error> {
    let protocol = protocol_of(target)?;
    // One connection plays all roles, which then need not wait for each other.
    let mut assignment = trace.assignment.clone();
    assignment.workload.roles.clear();
    let cast = Cast::compile(&assignment, protocol.name)?;
    let stretch = Stretch {
        end: StretchEnd::Operations(trace.operations),
        arrival: Arrival::Closed,
        seed: trace.seed,
        interval_ms: 1000,
    };
    (protocol.trace)(target, &cast, &stretch)
        .map_err(|failure| failed(format!("workload `{}` cannot be prepared", cast.name), &failure))
}

fn protocol_of(target: &Target) -> Result<&'static Protocol, Error> {
    client::find(&target.protocol).ok_or_else(|| {
        let known: Vec<&str> = client::PROTOCOLS.iter().map(|known| known.name).collect();
        Error::Protocol { name: target.protocol.clone(), known: known.join("`, `") }
    })
}

fn all_lost(tallies: &[Box<Tally>]) -> Option<&Failure> {
    let untouched = tallies.iter().all(|tally| tally.lost.is_some() && tally.statements() == 0);
    tallies.first().filter(|_| untouched).and_then(|tally| tally.lost.as_ref())
}

fn failed(context: String, failure: &Failure) -> Error {
    Error::Client {
        context,
        code: failure.code().to_owned(),
        message: failure.message().to_owned(),
        lost: failure.kind() == FailureKind::Lost,
    }
}

#[cfg(test)]
mod tests;
