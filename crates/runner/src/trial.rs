//! One subject in one block: its server, its driver, its counters and its record.

use crate::{
    Driver, Error, Stop,
    calm::{self, Patience},
    driver::unexpected,
    foreground::{self, Foreground},
    header,
    run::Run,
    template, thaw,
};
use dbms::{Debt, Keeper, Launch, NotReady, Server, Size, product::Dbms};
use model::{
    drive::{Assignment, Command, Connection, Endpoint, Reply, Target},
    mark,
    reading::Reading,
    record::{Event, TrialHeader},
    workload::Workload,
};
use probe::Meter;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use store::TrialWriter;

/// How long a fresh server may take to become calm before slices are marked.
const CALM_CEILING: Duration = Duration::from_secs(45);

/// Minimum time for a server to become calm if pending work has used up the wait.
const CALM_AFTER_DEBTS: Duration = Duration::from_secs(2);

/// Lines of a server's log that the record of a broken slice quotes: enough for what Postgres says
/// of a backend's death and of the recovery after it.
pub(crate) const LOG_LINES: usize = 20;

/// A server, or an embedded engine, with a driver connected to it.
pub(crate) struct Stand {
    /// None for embedded engines.
    pub(crate) server: Option<Server>,
    pub(crate) driver: Driver,
    pub(crate) target: Target,
    pub(crate) data: PathBuf,
    pub(crate) connections: Vec<Connection>,
    pub(crate) server_version: String,
    /// Version of the build; empty for embedded engines.
    pub(crate) version: String,
    pub(crate) foreground: Foreground,
    pub(crate) debts: Vec<Debt>,
    pub(crate) product: &'static dyn Dbms,
    size: Size,
    pub(crate) stop: Stop,
    exe: PathBuf,
    keeper: Keeper,
}

/// A stand whose work is recorded.
pub(crate) struct Trial {
    pub(crate) stand: Stand,
    pub(crate) subject: usize,
    pub(crate) header: TrialHeader,
    pub(crate) writer: TrialWriter,
    pub(crate) meter: Option<Meter>,
    /// Tables and indexes as last looked at, bytes, where the server tells: before a phase, and
    /// after each slice that inserts or builds indexes.
    pub(crate) database_bytes: Option<f64>,
    /// Readings of single steps, for the slices of the current phase.
    pub(crate) stepped: Vec<Reading>,
    /// Which tables were counted last, and their rows; none if anything may have written since.
    pub(crate) rows: Option<(Vec<String>, u64)>,
    /// Marks that every slice of this trial carries.
    pub(crate) marks: Vec<String>,
    /// Why the rest of the phase goes on without this subject; the next phase tries to reach its
    /// server again.
    pub(crate) broken: Option<String>,
    /// Why the current phase goes on without it.
    pub(crate) unable: Option<String>,
    /// Schemas whose tables may lack indexes, with the index phase that failed: whatever else is
    /// to be done with these tables goes on without this subject.
    pub(crate) unindexed: BTreeMap<String, String>,
}

impl Stand {
    /// Starts the server of a subject on `data` and connects a driver with `clients` measured
    /// connections.
    pub(crate) fn start(
        run: &mut Run<'_>,
        subject: usize,
        data: &Path,
        clients: u32,
    ) -> Result<Self, Error> {
        let mut driver = Driver::spawn(&run.options.exe, run.stop)?;
        run.keeper.adopt(driver.pid())?;
        let plan = run.plan;
        let about = &plan.subjects[subject];
        let product = dbms::find(&about.build.server)?;
        let (server, target) = match &run.installed[subject] {
            None => (None, product.embedded_target(&about.build, &about.config, data)?),
            Some(installed) => {
                let launch = Launch {
                    installed,
                    config: &about.config,
                    build: &about.build,
                    data,
                    place: &run.place,
                    label: &about.label,
                };
                let mut ready = |target: &Target| answers(&mut driver, target);
                // Interrupted, nobody waits for it any longer.
                let server = dbms::start(&launch, &run.keeper, &mut ready)
                    .or_else(|error| run.stop.check().and(Err(error.into())))?;
                let target = server.target().clone();
                (Some(server), target)
            }
        };
        let installed = run.installed[subject].as_ref();
        let version = installed.map_or("", |installed| &installed.version);
        let mut stand = Self {
            server,
            driver,
            target,
            data: data.to_owned(),
            connections: Vec::new(),
            server_version: String::new(),
            version: version.to_owned(),
            foreground: Foreground::default(),
            debts: product.debts(&about.config),
            product,
            size: product.size(&about.config, version),
            stop: run.stop.clone(),
            exe: run.options.exe.clone(),
            keeper: run.keeper.clone(),
        };
        stand.connect(clients)?;
        Ok(stand)
    }

    /// Opens as many measured connections and finds the tasks that serve them.
    pub(crate) fn connect(&mut self, clients: u32) -> Result<(), Error> {
        let command = Command::Connect { target: self.target.clone(), clients };
        match self.driver.ask(&command)? {
            Reply::Connected { connections, server_version } => {
                self.connections = connections;
                self.server_version = server_version;
            }
            other => return Err(unexpected("connect", &other)),
        }
        self.foreground = match &self.server {
            Some(server) => foreground::find(&mut self.driver, &self.connections, server.pid())?,
            None => Foreground { tasks: Vec::new(), how: mark::EMBEDDED.to_owned() },
        };
        Ok(())
    }

    /// Starts another driver where it has ended.
    pub(crate) fn revive_driver(&mut self) -> Result<(), Error> {
        if !self.driver.is_alive() {
            self.driver = Driver::spawn(&self.exe, &self.stop)?;
            self.keeper.adopt(self.driver.pid())?;
        }
        Ok(())
    }

    /// Waits until background work is at its floor; `false` if the ceiling was hit.
    pub(crate) fn calm(&mut self, ceiling: Duration) -> Result<bool, Error> {
        match &self.server {
            None => Ok(true),
            Some(server) => {
                let tasks = &self.foreground.tasks;
                let waited = calm::until_calm(server.pid(), tasks, ceiling, &self.stop)?;
                Ok(waited == calm::Wait::Met)
            }
        }
    }

    /// Waits until the server has no pending background work and its background tasks are idle,
    /// both at once: a calm server may have new pending work. Returns what was left when the wait
    /// ended; nothing if all went well.
    pub(crate) fn drain(
        &mut self,
        ceiling: Duration,
        patience: Patience,
    ) -> Result<Vec<String>, Error> {
        let start = Instant::now();
        loop {
            let rest = ceiling.saturating_sub(start.elapsed());
            let limits = (rest, patience);
            let unpaid = calm::until_paid(&mut self.driver, &self.debts, limits, &self.stop)?;
            let rest = ceiling.saturating_sub(start.elapsed());
            let calm = self.calm(rest.max(CALM_AFTER_DEBTS))?;
            let mut left = calm::left(&mut self.driver, &self.debts)?;
            if calm && unpaid.is_empty() && !left.is_empty() && start.elapsed() < ceiling {
                continue;
            }
            if !calm {
                left.push("background work".to_owned());
            }
            return Ok(left);
        }
    }

    /// What the server owes now, one entry per debt that it knows.
    pub(crate) fn owed(&mut self) -> Result<Vec<String>, Error> {
        let mut owed = Vec::new();
        for debt in &self.debts {
            if let Some(amount) = calm::owed_amount(&mut self.driver, debt)? {
                owed.push(format!("{} {amount}", debt.name));
            }
        }
        let in_files = self.product.owed_in_files(&self.data).into_iter();
        owed.extend(in_files.map(|(name, amount)| format!("{name} {amount}")));
        Ok(owed)
    }

    pub(crate) fn freeze(&mut self) -> Result<(), Error> {
        self.server.as_mut().map_or(Ok(()), Server::freeze).map_err(Error::from)
    }

    pub(crate) fn thaw(&mut self) -> Result<(), Error> {
        self.server.as_mut().map_or(Ok(()), Server::thaw).map_err(Error::from)
    }

    /// Does `work` with the server thawed, and freezes it again however that ends.
    pub(crate) fn thawed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        thaw::between(self, (Self::thaw, Self::freeze), work)
    }

    /// Size of tables and indexes: that of their files, or as the server tells it.
    pub(crate) fn database_bytes(&mut self) -> Result<Option<f64>, Error> {
        let Size::Sql(sql) = self.size else {
            return Ok(self.size.of_files(&self.data).map(|bytes| bytes as f64));
        };
        let rows = self.driver.query(sql)?;
        let value = rows.first().and_then(|row| row.last().cloned()).flatten();
        Ok(value.and_then(|text| text.trim().parse::<f64>().ok()))
    }

    /// Replaces the compiled workload.
    pub(crate) fn compile(&mut self, assignment: &Assignment) -> Result<(), Error> {
        match self.driver.ask(&Command::Compile(Box::new(assignment.clone())))? {
            Reply::Done => Ok(()),
            other => Err(unexpected("compile", &other)),
        }
    }

    /// Whose counters are read.
    pub(crate) fn counted(&self) -> probe::Target {
        let mut target = probe::Target::new(&self.data);
        target.server_pids = self.server.iter().map(Server::pid).collect();
        target.foreground.clone_from(&self.foreground.tasks);
        target.client_pids = vec![self.driver.pid()];
        target
    }

    /// What the record says of an error: for a dead server or a lost connection, the last lines of
    /// the server's log with it.
    pub(crate) fn reason(&self, error: &Error) -> String {
        match &self.server {
            Some(server) if !server.is_alive() => {
                let log = server.log_tail(LOG_LINES);
                format!("the server ended during a slice ({error}); its log ends with:\n{log}")
            }
            Some(server) if matches!(error, Error::Sql { lost: true, .. }) => {
                let log = server.log_tail(LOG_LINES);
                format!("{error}; the server is still running, and its log ends with:\n{log}")
            }
            _ => error.to_string(),
        }
    }

    /// Ends driver and server; the server shuts down cleanly, so that its folder can serve as a
    /// template.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        self.thaw()?;
        let _ = self.driver.ask(&Command::Close);
        drop(self.driver);
        match self.server {
            Some(server) => Ok(server.stop()?),
            None => Ok(()),
        }
    }
}

/// Whether the server answers on its control connection.
fn answers(driver: &mut Driver, target: &Target) -> Result<(), NotReady> {
    let connect = Command::Connect { target: target.clone(), clients: 0 };
    match driver.ask(&connect) {
        Ok(Reply::Connected { .. }) => Ok(()),
        Ok(other) => Err(NotReady::Never(unexpected("connect", &other).to_string())),
        Err(error @ Error::Sql { .. }) => Err(NotReady::Yet(error.to_string())),
        Err(error) => Err(NotReady::Never(error.to_string())),
    }
}

impl Trial {
    /// Brings a subject up in a block, calm and frozen, with its record begun.
    pub(crate) fn begin(
        run: &mut Run<'_>,
        subject: usize,
        block: u32,
        data: &Path,
    ) -> Result<Self, Error> {
        let label = run.subject(subject).label.clone();
        run.step(&format!("block {block}: starting {label}"));
        let clients = run.plan.phases.first().map_or(1, |phase| phase.clients);
        let mut stand = Stand::start(run, subject, data, clients)?;
        let header = header::header(run, subject, block, &mut stand)?;
        let writer = run.writer.trial(&header, &run.environment)?;
        let mut trial = Self {
            stand,
            subject,
            header,
            writer,
            meter: None,
            database_bytes: None,
            stepped: Vec::new(),
            rows: None,
            marks: Vec::new(),
            broken: None,
            unable: None,
            unindexed: BTreeMap::new(),
        };
        if is_embedded(&trial.stand.target) {
            trial.marks.push(mark::EMBEDDED.to_owned());
        }
        if !trial.stand.calm(CALM_CEILING)? {
            trial.marks.push(format!("not calm {} s after its start", CALM_CEILING.as_secs()));
        }
        trial.event("started", "the server is up", None)?;
        trial.attach()?;
        Ok(trial)
    }

    /// Freezes the server and attaches counters to all its tasks.
    pub(crate) fn attach(&mut self) -> Result<(), Error> {
        self.stand.freeze()?;
        self.meter = None;
        self.meter = Some(Meter::open(&self.stand.counted())?);
        Ok(())
    }

    /// Does `work` with the server thawed, and freezes it again however that ends.
    pub(crate) fn thawed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        thaw::between(self, (|trial| trial.stand.thaw(), |trial| trial.stand.freeze()), work)
    }

    /// Why slices of the current phase, which has this workload, cannot be executed, if they
    /// cannot.
    pub(crate) fn obstacle(&self, workload: &Workload) -> Option<String> {
        let unindexed = || {
            let phase = self.unindexed.get(&workload.schema)?;
            Some(format!("the tables may lack indexes, because `{phase}` failed"))
        };
        self.broken.clone().or_else(unindexed).or_else(|| self.unable.clone())
    }

    /// Reads tables and indexes into the cache, then freezes again.
    pub(crate) fn warm(&mut self, run: &mut Run<'_>) -> Result<(), Error> {
        let warmed = self.stand.thawed(|stand| template::warm(run, stand));
        self.keep_apart(warmed).map(drop)
    }

    /// An error that is this subject's own breaks its part of the block; any other ends the run.
    pub(crate) fn keep_apart<T>(&mut self, result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Err(error) if error.is_of_one_subject() => {
                let reason = self.stand.reason(&error);
                self.event("error", &reason, None)?;
                self.broken = Some(reason);
                // It may have been on its way back; what cannot be frozen is gone.
                let _ = self.stand.freeze();
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Opens another number of connections, if it differs, and attaches the counters anew.
    pub(crate) fn set_clients(&mut self, clients: u32) -> Result<(), Error> {
        if self.stand.connections.len() == clients as usize {
            return Ok(());
        }
        self.meter = None;
        self.stand.thawed(|stand| stand.connect(clients))?;
        self.attach()
    }

    pub(crate) fn event(
        &mut self,
        kind: &str,
        message: &str,
        seconds: Option<f64>,
    ) -> Result<(), Error> {
        note(&mut self.writer, kind, message, seconds)
    }

    /// Ends the server and finishes the record. All slices are done then, so a server that cannot
    /// stop in peace is worth a warning and not the run.
    pub(crate) fn end(mut self, run: &mut Run<'_>) -> Result<(), Error> {
        if let Some(server) = &self.stand.server {
            let log = server.log_tail(usize::MAX);
            self.writer.file("server.log", log.as_bytes())?;
        }
        self.meter = None;
        let known = self.broken.is_some();
        if let Err(error) = self.stand.end() {
            run.stop.check()?;
            let message = error.to_string();
            if !known {
                run.warn(&format!("{}: {message}", self.header.subject));
            }
            note(&mut self.writer, "error", &message, None)?;
        }
        Ok(self.writer.finish()?)
    }
}

/// Appends an event of now.
fn note(
    writer: &mut TrialWriter,
    kind: &str,
    message: &str,
    seconds: Option<f64>,
) -> Result<(), Error> {
    let (kind, message) = (kind.to_owned(), message.to_owned());
    Ok(writer.event(&Event { wall_us: wall_us(), kind, message, seconds })?)
}

/// Microseconds since 1970.
pub(crate) fn wall_us() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |elapsed| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

/// The file of an embedded engine's database, for messages.
pub(crate) fn is_embedded(target: &Target) -> bool {
    matches!(target.endpoint, Endpoint::File(_) | Endpoint::Nowhere)
}
