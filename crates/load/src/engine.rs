//! The measured connections of a driver: one thread each, from connect to close.

use crate::Error;
use crate::program::Roles;
use crate::protocol;
use crate::recorder::Tally;
use crate::scripts::{Counted, Scripts};
use crate::transaction::{self, Coded};
use crate::wire::Failure;
use crate::worker::{
    Bodies, Body, CodedBodies, CodedBody, Counters, Job, Peers, Report, Start, WorkerSetup,
    set_start,
};
use model::Parameters;
use model::drive::{
    Assignment, Connection, Stretch, StretchEnd, StretchReport, Target, Trace, TracedStatement,
};
use model::workload::Mode;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

/// Stack of a worker thread, bytes; hundreds of them must fit in a small machine.
const STACK_BYTES: usize = 512 * 1024;

/// Open connections with their threads. Dropping it closes them.
pub struct Engine {
    dialect: String,
    workers: Vec<Worker>,
    connections: Vec<Connection>,
    roles: Option<Roles>,
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
        let work = bodies(&target.protocol)?.work;
        let dialect = target.protocol.clone();
        let mut engine =
            Self { dialect, workers: Vec::new(), connections: Vec::new(), roles: None };
        for index in 0..clients {
            let (jobs, worker_jobs) = channel();
            let (worker_reports, reports) = channel();
            let setup = WorkerSetup {
                target: target.clone(),
                index,
                counters: counters.clone(),
                jobs: worker_jobs,
                reports: worker_reports,
            };
            let thread = thread::Builder::new()
                .name(format!("client {index}"))
                .stack_size(STACK_BYTES)
                .spawn(move || work(setup))
                .map_err(|source| Error::Thread { index, source })?;
            engine.workers.push(Worker { jobs: Some(jobs), reports, thread: Some(thread) });
            match engine.workers.last().map(Worker::report) {
                Some(Ok(Report::Connected(Ok(connection)))) => engine.connections.push(connection),
                Some(Ok(Report::Connected(Err(failure)))) => {
                    let context = format!("connection {index} cannot be opened");
                    return Err(Error::server(context)(failure));
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
        self.roles = None;
        let roles = roles_of(assignment, &self.dialect)?;
        if let Some(needed) = roles.connections()
            && needed != self.workers.len()
        {
            return Err(Error::Workload {
                workload: roles.name,
                place: String::new(),
                reason: format!(
                    "its roles have {needed} clients, but {} connections are open; connect with \
                     as many as it needs",
                    self.workers.len()
                ),
            });
        }
        let body = match &assignment.script.coded {
            Some(coded) => coded_bodies(&coded.name, assignment)?.body(&self.dialect)?,
            None => bodies(&self.dialect)?.declared,
        };
        self.prepare(roles, body)
    }

    /// The same of a workload whose transactions are written in Rust.
    ///
    /// # Errors
    /// The server's answer to its statements.
    pub fn compile_coded<T: Coded>(&mut self, mode: Mode) -> Result<(), Error> {
        self.roles = None;
        let program = transaction::program::<T>(&self.dialect, mode, &Parameters::new(), None);
        let body = protocol::find::<CodedBody<T>>(&self.dialect).map_err(Error::Protocol)?;
        self.prepare(Roles::of(program), body)
    }

    /// The same of a workload that is a user's own script.
    ///
    /// # Errors
    /// What is wrong with the script, or what it met when its threads started.
    pub fn compile_script(
        &mut self,
        assignment: &Assignment,
        target: &Target,
        scripts: &dyn Scripts,
    ) -> Result<(), Error> {
        self.roles = None;
        let Some(lua) = &assignment.script.lua else { return self.compile(assignment) };
        let roles = Roles::of_script(assignment);
        let what = || format!("the script `{}` cannot be started", lua.path);
        let clients = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        let threads = scripts.open(target, lua, clients).map_err(Error::server(what()))?;
        for (index, worker) in (0..).zip(&self.workers) {
            let part = roles.parts.first().ok_or(Error::Worker { index })?;
            worker.send(Job::Script(Arc::clone(&part.program), Arc::clone(&threads), index));
        }
        self.done(&what())?;
        self.roles = Some(roles);
        Ok(())
    }

    fn prepare(&mut self, roles: Roles, body: fn() -> Body) -> Result<(), Error> {
        for (index, worker) in (0..).zip(&self.workers) {
            let (part, _) = roles.place(index);
            let part = roles.parts.get(part).ok_or(Error::Worker { index })?;
            worker.send(Job::Prepare(Arc::clone(&part.program), body()));
        }
        let what = format!("workload `{}` cannot be prepared", roles.name);
        self.done(&what)?;
        self.roles = Some(roles);
        Ok(())
    }

    /// Executes the compiled workload on all connections from a common start.
    ///
    /// # Errors
    /// No workload is compiled, it has no roles that could end, all connections are lost, or a
    /// worker ended. Errors of single operations are counts of the report.
    pub fn run(&mut self, stretch: &Stretch) -> Result<StretchReport, Error> {
        let Some(roles) = &self.roles else { return Err(Error::NoWorkload) };
        let own_ends = || roles.parts.iter().any(|part| part.end.is_own());
        if stretch.end == StretchEnd::Roles && !own_ends() {
            return Err(Error::NoRoles { workload: roles.name.clone() });
        }
        let connections = self.workers.len();
        let start = Arc::new(Start {
            stretch: stretch.clone(),
            barrier: Barrier::new(connections + 1),
            start_ns: AtomicU64::new(0),
            peers: Peers::new(roles, stretch, connections as u32),
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
            return Err(Error::server("every connection is lost")(failure.clone()));
        }
        crate::merge::report(roles, &start, &tallies)
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
                Err(Error::server(format!("the burst on connection {connection} failed"))(failure))
            }
            _ => Err(Error::Worker { index: connection }),
        }
    }

    /// Has the server publish at once what it counted of each connection, where it can.
    ///
    /// # Errors
    /// The server's answer.
    pub fn publish(&mut self) -> Result<(), Error> {
        self.workers.iter().for_each(|worker| worker.send(Job::Publish));
        self.done("the server did not publish its statistics")
    }

    /// Waits for all workers; the first failure counts, but every answer is taken.
    fn done(&self, what: &str) -> Result<(), Error> {
        let mut result = Ok(());
        for (index, worker) in (0..).zip(&self.workers) {
            let failure = match worker.report() {
                Ok(Report::Done(Ok(()))) => continue,
                Ok(Report::Done(Err(failure))) => Error::server(what)(failure),
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
    // One connection plays all roles, which then need not wait for each other.
    let script = trace.assignment.script.alone();
    let assignment = Assignment { script, ..trace.assignment.clone() };
    let roles = roles_of(&assignment, &target.protocol)?;
    let stretch = Stretch {
        end: StretchEnd::Operations(trace.operations),
        seed: trace.seed,
        interval_ms: 1000,
    };
    let trace = match &assignment.script.coded {
        Some(coded) => coded_bodies(&coded.name, &assignment)?.trace(&target.protocol)?,
        None => bodies(&target.protocol)?.trace,
    };
    trace(target, &roles, &stretch)
        .map_err(Error::server(format!("workload `{}` cannot be prepared", roles.name)))
}

/// Executes a few events of a script on a connection of their own. Its statements are not told.
///
/// # Errors
/// What the script or the server said, to an event as well.
pub fn try_script(target: &Target, trace: &Trace, scripts: &dyn Scripts) -> Result<(), Error> {
    let Some(lua) = &trace.assignment.script.lua else { return Ok(()) };
    let attempted = || -> Result<(), Failure> {
        let dialog = protocol::dialog(target)?;
        let mut events = scripts.open(target, lua, 1)?.start(0, dialog)?;
        events.begin(trace.seed);
        (0..trace.operations).try_for_each(|_| events.attempt(&mut Counted::default()))
    };
    attempted().map_err(Error::server(format!("the script `{}` failed", lua.path)))
}

fn bodies(protocol: &str) -> Result<Bodies, Error> {
    protocol::find::<Bodies>(protocol).map_err(Error::Protocol)
}

/// What there is of the worker for coded transactions.
fn coded_bodies(name: &str, assignment: &Assignment) -> Result<CodedBodies, Error> {
    transaction::find::<CodedBodies>(name).map_err(|reason| Error::Workload {
        workload: assignment.script.workload.clone(),
        place: String::new(),
        reason,
    })
}

/// What [`Engine::compile`] would refuse of a workload before it asks a server.
///
/// # Errors
/// What is wrong with the workload.
pub fn check(assignment: &Assignment, dialect: &str) -> Result<(), Error> {
    roles_of(assignment, dialect).map(drop)
}

/// The roles of a workload, declared or coded.
fn roles_of(assignment: &Assignment, dialect: &str) -> Result<Roles, Error> {
    if assignment.script.lua.is_some() {
        return Ok(Roles::of_script(assignment));
    }
    match &assignment.script.coded {
        Some(coded) => (coded_bodies(&coded.name, assignment)?.roles)(assignment, dialect),
        None => Roles::compile(assignment, dialect),
    }
}

fn all_lost(tallies: &[Box<Tally>]) -> Option<&Failure> {
    let untouched = tallies.iter().all(|tally| tally.lost.is_some() && tally.statements() == 0);
    tallies.first().filter(|_| untouched).and_then(|tally| tally.lost.as_ref())
}

#[cfg(test)]
mod tests;
