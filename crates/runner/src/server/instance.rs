//! A server, or an embedded engine, with the driver that is connected to it.

use super::{
    attached,
    calm::{self, Patience},
    data,
    driver::{Driver, OwnServer, Wrapper, unexpected},
    foreground::{self, Foreground, TasksHere},
    placement::{self, Placed},
    thaw,
};
use crate::{Error, Stop, agent::Agent, run::Run};
use dbms::{Debt, Keeper, Launch, NotReady, Server, Size, factor::Up, product::Dbms};
use model::{
    Levels,
    drive::{Assignment, Command, Connection, Encryption, Endpoint, Reply, Target},
    experiment::Factor,
    mark,
    record::AgentRecord,
    subject::{Build, Config, Subject},
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Minimum time for a server to become calm if pending work has used up the wait.
const CALM_AFTER_DEBTS: Duration = Duration::from_secs(2);

/// Lines of a server's log that the record of a broken slice quotes: enough for what Postgres says
/// of a backend's death and of the recovery after it.
const LOG_LINES: usize = 20;

/// A server, or an embedded engine, with a driver connected to it.
pub(crate) struct Instance {
    /// None for embedded engines.
    pub(crate) server: Option<Server>,
    pub(crate) driver: Driver,
    pub(crate) target: Target,
    pub(crate) data: PathBuf,
    pub(crate) connections: Vec<Connection>,
    /// What it was started with.
    pub(crate) config: Config,
    pub(crate) server_version: String,
    /// How its connections are encrypted.
    pub(crate) encryption: Option<Encryption>,
    /// Version of the build; empty for embedded engines.
    pub(crate) version: String,
    /// Median time of a statement that does nothing, microseconds, of an attached server.
    pub(crate) round_trip_us: Option<f64>,
    /// Reads the counters of an attached server on its host.
    pub(super) agent: Option<Agent>,
    /// What it found.
    pub(crate) agent_found: Option<AgentRecord>,
    pub(crate) foreground: Foreground,
    pub(crate) debts: Vec<Debt>,
    pub(crate) product: &'static dyn Dbms,
    size: Size,
    pub(crate) stop: Stop,
    exe: PathBuf,
    placement: placement::Rule,
    pub(crate) placed: Placed,
    /// How the driver is started.
    wrapper: Wrapper,
    /// Where an instrument keeps its files, whose server this is.
    pub(crate) of_instrument: Option<PathBuf>,
    keeper: Keeper,
}

/// What tells the servers of a subject apart.
struct Named {
    label: String,
    build: Build,
    config: Config,
    wrapper: Wrapper,
}

/// A driver that waits for its server. The kernel ends a driver with the thread that started it, so
/// that this thread has to outlive it; the server may be started by any.
pub(crate) struct Waiting {
    pub(crate) subject: usize,
    named: Named,
    driver: Driver,
}

impl Waiting {
    /// The driver of a subject's own server.
    pub(crate) fn spawn(run: &Run<'_>, subject: usize) -> Result<Self, Error> {
        let about = &run.plan.subjects[subject];
        let (label, build) = (about.label.clone(), about.build.clone());
        let (config, wrapper) = (about.config.clone(), Wrapper::default());
        Self::spawn_as(run, subject, Named { label, build, config, wrapper })
    }

    /// The driver of another server of the subject, in a wrapper. `name` tells it from the
    /// subject's own.
    pub(crate) fn spawn_beside(
        run: &Run<'_>,
        subject: usize,
        name: &str,
        complete: OwnServer,
    ) -> Result<Self, Error> {
        let about = &run.plan.subjects[subject];
        let (mut build, mut config) = (about.build.clone(), about.config.clone());
        // What the wrapper needs is not the server's, and a port is the subject's own.
        build.memory = None;
        config.settings.retain(|setting| !dbms::names_port(setting));
        let product = dbms::find(&build.server)?;
        let label = format!("{}.{}", data::folder_name(run, subject), name.replace(' ', "-"));
        let settings = product.settings_under_emulation(&config);
        let mut wrapper = Wrapper { settings, ..Wrapper::default() };
        complete(run, subject, &label, &mut wrapper)?;
        // What the subject's own prefix starts would leave the wrapper.
        if run.installed[subject].is_some() {
            build.prefix.append(&mut wrapper.prefix);
        }
        wrapper.settings.drain(..).for_each(|setting| config.set(setting));
        Self::spawn_as(run, subject, Named { label, build, config, wrapper })
    }

    fn spawn_as(run: &Run<'_>, subject: usize, mut named: Named) -> Result<Self, Error> {
        // An embedded engine works in the driver.
        if run.installed[subject].is_none() {
            let wrapper = &mut named.wrapper;
            wrapper.driver.splice(..0, named.build.prefix.iter().cloned());
            wrapper.environment.clone_from(&named.build.environment);
            let library = run.library(subject);
            library.map_or(Ok(()), dbms::check_unchanged)?;
            named.build.basedir = library.map(|library| library.binary.clone());
        }
        run.extensions[subject].iter().for_each(|setting| named.config.set(setting.clone()));
        let driver = Driver::spawn_as(&run.options.exe, &named.wrapper, run.stop)?;
        run.keeper.adopt(driver.pid())?;
        Ok(Self { subject, named, driver })
    }
}

impl Instance {
    /// Starts the server of a subject on `data` and connects a driver with `clients` measured
    /// connections.
    pub(crate) fn start(
        run: &Run<'_>,
        subject: usize,
        data: &Path,
        clients: u32,
    ) -> Result<Self, Error> {
        Self::start_with(run, Waiting::spawn(run, subject)?, data, clients)
    }

    /// The same for a driver that is there already.
    pub(crate) fn start_with(
        run: &Run<'_>,
        waiting: Waiting,
        data: &Path,
        clients: u32,
    ) -> Result<Self, Error> {
        let subject = waiting.subject;
        let mut instance = Self::launch(run, waiting, data)?;
        instance.connect(clients)?;
        instance.check_factors(run, subject)?;
        Ok(instance)
    }

    /// Starts a server whose driver is there, and does not connect to it.
    pub(crate) fn launch(run: &Run<'_>, waiting: Waiting, data: &Path) -> Result<Self, Error> {
        let Waiting { subject, named, mut driver } = waiting;
        let about = &run.plan.subjects[subject];
        let product = dbms::find(&about.build.server)?;
        let installed = run.installed[subject].as_ref();
        let Named { label, build, config, wrapper } = named;
        let mut agent = None;
        let (server, target) = match (installed, &build.attach) {
            (None, Some(attach)) => {
                agent = attached::agent(run, subject, attach)?;
                (None, attached::target(attach, product)?)
            }
            (None, None) => {
                let mut target = product.embedded_target(&build, &config, data)?;
                target.extension = run.plan.extension(product.protocol());
                (None, target)
            }
            (Some(installed), _) => {
                let (config, place) = (&config, &run.place);
                let launch =
                    Launch { installed, config, build: &build, data, place, label: &label };
                let mut ready = |target: &Target| answers(&mut driver, target);
                let server =
                    run.stop.unless_raised(dbms::start(&launch, &run.keeper, &mut ready))?;
                let target = server.target().clone();
                (Some(server), target)
            }
        };
        let version = installed.map_or("", |installed| &installed.version);
        Ok(Self {
            server,
            driver,
            target,
            data: data.to_owned(),
            connections: Vec::new(),
            config,
            server_version: String::new(),
            encryption: None,
            version: version.to_owned(),
            round_trip_us: None,
            agent,
            agent_found: None,
            foreground: Foreground::default(),
            debts: product.debts(&about.config),
            product,
            size: product.size(&about.config, version),
            stop: run.stop.clone(),
            exe: run.options.exe.clone(),
            placement: match wrapper.folder {
                None => placement::Rule::Asked(run.plan.experiment.placement),
                Some(_) => placement::Rule::Behind(subject),
            },
            placed: Placed::Free,
            of_instrument: wrapper.folder.clone(),
            wrapper,
            keeper: run.keeper.clone(),
        })
    }

    /// Opens as many measured connections and finds the tasks that serve them.
    pub(crate) fn connect(&mut self, clients: u32) -> Result<(), Error> {
        let command = Command::Connect { target: self.target.clone(), clients };
        match self.driver.ask(&command)? {
            Reply::Connected { connections, server_version, encryption } => {
                self.connections = connections;
                self.server_version = server_version;
                self.encryption = encryption;
            }
            other => return Err(unexpected("connect", &other)),
        }
        self.foreground = match &self.server {
            Some(server) => {
                let found = foreground::find(
                    &mut self.driver,
                    &self.connections,
                    &TasksHere(server.pid()),
                )?;
                let (at, on) = (self.placement, &self.connections);
                self.placed = placement::place(at, on, &found, server.pid());
                found
            }
            None if self.is_embedded() => {
                Foreground { tasks: Vec::new(), how: mark::EMBEDDED.to_owned() }
            }
            None => {
                self.round_trip_us = Some(attached::round_trip_us(&mut self.driver)?);
                attached::foreground(self)?
            }
        };
        Ok(())
    }

    /// Starts another driver where it has ended.
    pub(crate) fn revive_driver(&mut self) -> Result<(), Error> {
        if !self.driver.is_alive() {
            self.driver = Driver::spawn_as(&self.exe, &self.wrapper, &self.stop)?;
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
        if patience == Patience::OfStatements {
            return Ok(Vec::new());
        }
        let start = Instant::now();
        loop {
            let rest = ceiling.saturating_sub(start.elapsed());
            let (driver, debts) = (&mut self.driver, &self.debts);
            let unpaid = calm::until_paid(driver, debts, rest, patience, &self.stop)?;
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
        thaw::between(self, Self::thaw, Self::freeze, work)
    }

    /// Size of tables and indexes: that of their files, or as the server tells it.
    pub(crate) fn database_bytes(&mut self) -> Result<Option<f64>, Error> {
        let Size::Sql(sql) = self.size else {
            // The folder of an attached server is empty, so that nothing is known of its files.
            return Ok(self.size.of_files(&self.data).map(|bytes| bytes as f64));
        };
        let rows = self.driver.query(sql)?;
        let value = rows.first().and_then(|row| row.last().cloned()).flatten();
        Ok(value.and_then(|text| text.trim().parse::<f64>().ok()))
    }

    /// Names and values that a query tells.
    pub(crate) fn pairs(&mut self, sql: &str) -> Result<Levels, Error> {
        let pair = |mut row: Vec<Option<String>>| {
            let value = row.pop().flatten().unwrap_or_default();
            let name = row.into_iter().next().flatten();
            name.map(|name| (name, value))
        };
        Ok(self.driver.query(sql)?.into_iter().filter_map(pair).collect())
    }

    /// The version by which settings have their values: an embedded engine tells its own.
    pub(crate) fn version_of_settings(&self) -> &str {
        if self.is_embedded() { &self.server_version } else { &self.version }
    }

    /// The settings as far as the server tells them in the way in which configurations write them.
    pub(crate) fn readback(&mut self) -> Result<Levels, Error> {
        let mut found = self.pairs(self.product.readback_sql())?;
        for (name, sql) in self.product.settings_by_name(&self.config) {
            let told = self.driver.query(&sql)?.into_iter().flatten().flatten().next();
            found.extend(told.map(|value| (name, value)));
        }
        Ok(found)
    }

    /// Fails where a factor has not had its effect on this start. Configurations that are compared
    /// are read back too.
    fn check_factors(&mut self, run: &Run<'_>, subject: usize) -> Result<(), Error> {
        // Nothing acts on a start that was not ours.
        if self.is_attached() {
            return Ok(());
        }
        let factors = &run.plan.experiment.factors;
        let compared = |factor: &Factor| factor.name == "config" && factor.levels.len() > 1;
        let settings = match factors.iter().any(compared) {
            true => Some(self.readback()?),
            false => None,
        };
        let installed = run.installed[subject].as_ref();
        let about = run.subject(subject).clone();
        let memory = about.build.memory.filter(|_| self.of_instrument.is_none());
        let build = Build { memory, ..about.build };
        let subject = Subject { config: self.config.clone(), build, ..about };
        let up = Up {
            subject: &subject,
            pid: self.server.as_ref().map_or(self.driver.pid(), Server::pid),
            target: &self.target,
            encryption: self.encryption.as_ref(),
            program: installed.map_or(&run.options.exe, |installed| &installed.binary),
            version: self.version_of_settings(),
            settings: settings.as_ref(),
        };
        Ok(dbms::factor::check(&up)?)
    }

    /// Replaces the compiled workload.
    pub(crate) fn compile(&mut self, assignment: &Assignment) -> Result<(), Error> {
        match self.driver.ask(&Command::Compile(Box::new(assignment.clone())))? {
            Reply::Done => Ok(()),
            other => Err(unexpected("compile", &other)),
        }
    }

    /// The process and the task that serve the first connection, as far as the task is known.
    pub(crate) fn serving(&self) -> (u32, Option<u32>) {
        match &self.server {
            Some(server) => (server.pid(), self.foreground.tasks.first().copied()),
            // An embedded engine works in the driver.
            None => (self.driver.pid(), self.connections.first().map(|one| one.driver_task)),
        }
    }

    /// Whether the engine works in the driver.
    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self.target.endpoint, Endpoint::File(_) | Endpoint::Nowhere)
    }

    /// Whether the server is there already: nothing of it is dbdyno's but a database.
    pub(crate) fn is_attached(&self) -> bool {
        self.server.is_none() && !self.is_embedded()
    }

    /// What the record says of an error: for a dead server or a lost connection, the last lines of
    /// the server's log with it.
    pub(crate) fn reason(&self, error: &Error) -> String {
        match &self.server {
            Some(server) if server.memory_kills() > 0 => {
                let log = server.log_tail(LOG_LINES);
                format!(
                    "the kernel killed a process of the server because it had reached the limit of \
                     its memory, `memory` ({error}); its log ends with:\n{log}"
                )
            }
            Some(server) if !server.is_alive() => {
                let log = server.log_tail(LOG_LINES);
                format!("the server ended ({error}); its log ends with:\n{log}")
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
        if let Some(agent) = &self.agent {
            // The next subject may be the same server, whose tasks carry one set of counters only.
            // An agent that has ended has none.
            let _ = agent.close();
        }
        self.thaw()?;
        let _ = self.driver.ask(&Command::Close);
        drop(self.driver);
        match self.server {
            // A signal ends the wait for it too, and it is killed.
            Some(server) => self.stop.unless_raised(server.stop()),
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

/// An empty data folder, made by the server's own means.
pub(crate) fn initialise(run: &Run<'_>, subject: usize, folder: &Path) -> Result<(), Error> {
    data::make_parent(run, folder)?;
    let Subject { label, build, config, .. } = &run.plan.subjects[subject];
    match &run.installed[subject] {
        None => {
            dbms::create_private_folder(folder)?;
            build.attach.as_ref().map_or(Ok(()), |attach| attached::make(run, subject, attach))
        }
        Some(installed) => {
            let (data, place) = (folder, &run.place);
            let launch = Launch { installed, config, build, data, place, label };
            run.stop.unless_raised(dbms::initialise(&launch, &run.keeper))
        }
    }
}
