//! User instructions and system calls per operation, exactly and of thousands of operations, where
//! the host has no hardware counters: a stretch under emulation.
//!
//! A server of the instrument's own is started under the emulator on a copy of the template, with a
//! driver under the emulator as well. Instructions are counted by thread: those of the tasks that
//! serve the connections, those of the server's other threads, and those of the driver. Work that
//! follows the clock is counted too often per operation, because operations take longer: it is
//! apart from the serving tasks' and never compared.

use super::{Amount, Found, Intruder, Sought, Warming};
use crate::{
    Error,
    host::files,
    instruments::{Artefact, Findings, Opened, work_done},
    ledger::Activity,
    run::{Counts, Run},
    server::{Foreground, Instance, OwnServer, Wrapper},
    warm_up::{EXACT, Limits, warm_up},
};
use emulator::{Calls, Chosen, Counters, Emulator, Snapshot, Thread};
use fs_err as fs;
use model::{
    drive::{StretchEnd, StretchReport},
    reading::{Reading, Scope},
};
use serde_json::json;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

/// The instrument.
pub(super) struct Emulation;

/// How many operations tell something: so many, unless they take longer.
struct Least {
    operations: f64,
    seconds: f64,
}

/// Fewer leave rare events to chance, such as page splits.
const WRITES: Least = Least { operations: 1_000.0, seconds: 8.0 };
/// What reads one after the other cost differs by the rows that they meet.
const READS: Least = Least { operations: 250.0, seconds: 3.0 };
/// More operations than this add nothing to the precision of the mean.
const OPERATIONS_MAX: f64 = 50_000.0;
/// An embedded engine does enough in this time.
const EMBEDDED_SECONDS: f64 = 0.25;
/// Shares of the seconds of a phase in which their number is found, where no rate is known: what is
/// executed for the first time is translated first. Together less than 1, so that no more is
/// executed than warms up the other servers.
const TRANSLATING: f64 = 0.25;
const TIMED: f64 = 0.5;
/// Emulated servers are 6 to 14 times as slow (Postgres 11 and 18, MySQL 5.6 and 9).
const SLOWER: f64 = 10.0;
/// A warm-up of what reads takes no longer than this, about.
const WARM_UP: Limits = Limits { few: Duration::from_secs(6), all: Duration::from_secs(10) };
/// After an answer the serving tasks go to sleep within this time.
const REST: Duration = Duration::from_millis(20);

/// Counter of the instructions of a scope.
pub(crate) const INSTRUCTIONS: &str = "emulated_user_instructions";
const OBSERVED: &str = "emulated_operations";
const SYSTEM_CALLS: &str = "emulated_system_calls";
const FSYNCS: &str = "emulated_fsyncs";
/// Counter of the instructions outside all rare events.
const USUAL: &str = "emulated_usual_user_instructions";

/// Folders of the server's and of the driver's counters.
const SERVER: &str = "server";
const DRIVER: &str = "driver";
/// What the driver's program is called.
const DRIVEN: &str = "dbdyno";

/// The system call by which servers receive requests that are not encrypted: `recvfrom` of x86-64.
const RECEIVE: u16 = 45;
/// Those that make files durable: `fsync` and `fdatasync` of x86-64.
const SYNC: [u16; 2] = [74, 75];

struct Open {
    /// None for embedded engines.
    server: Option<Counters>,
    driver: Counters,
    foreground: Foreground,
    driving: Vec<u32>,
    before: Both,
}

/// What server and driver have done.
#[derive(Default)]
struct Both {
    server: Snapshot,
    driver: Snapshot,
}

impl Intruder for Emulation {
    fn activity(&self) -> Activity {
        Activity::Emulation
    }

    fn doing(&self, phase: &str) -> String {
        format!("counting instructions of {phase} under emulation")
    }

    fn wanted(&self, run: &Run<'_>) -> bool {
        run.counts == Counts::Emulated
    }

    fn own_server(&self) -> OwnServer {
        COUNTED
    }

    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error> {
        Ok(Box::new(Open::on(instance)?))
    }

    /// What writes begins on equal tables everywhere: it is warmed up by as many operations as are
    /// observed.
    fn warm_up(&self, instance: &mut Instance, warming: &Warming<'_>) -> Result<u64, Error> {
        let Warming { phase, enough, operations, seed } = *warming;
        if phase.script.writes() {
            if operations > 0 {
                instance.driver.stretch(StretchEnd::Operations(operations), seed)?;
            }
            return Ok(0);
        }
        let mut open = Open::on(instance)?;
        let mut batch = |operations: u64| {
            open.begin()?;
            let seed = seed.wrapping_add(operations);
            instance.driver.stretch(StretchEnd::Operations(operations), seed)?;
            open.cost(operations)
        };
        Ok(warm_up(enough, WARM_UP, EXACT, &mut batch)?.warm_up.operations)
    }

    /// As many as the emulated server does in half of the time that a phase may take, because as
    /// many warm it up; but no fewer than tell something, where that takes seconds. Where the rate
    /// of the base is known, nothing is executed to find out: a server that has written, or read,
    /// more than the others before it is counted is another one. Where it is not known, what is
    /// executed is a part of the warm-up of what writes.
    fn operations(&self, instance: &mut Instance, sought: &Sought<'_>) -> Result<Amount, Error> {
        let Sought { phase, rate, seed } = *sought;
        let seconds = match instance.is_embedded() {
            true => EMBEDDED_SECONDS,
            false => phase.counting_seconds() / 2.0,
        };
        let least = if phase.script.writes() { &WRITES } else { &READS };
        if let Some(rate) = rate {
            let operations = fitting(rate / SLOWER * seconds, seconds, least);
            return Ok(Ok(Found { operations, executed: 0 }));
        }
        let connections = instance.connections.len().max(1) as f64;
        // None of those that warm it up or are observed.
        let mut tried = |share: f64, number: u64| {
            let end = StretchEnd::Seconds(seconds * share);
            instance.driver.stretch(end, seed ^ (number << 40))
        };
        let (cold, report) = (tried(TRANSLATING, 1)?, tried(TIMED, 2)?);
        let each = |report: &StretchReport| report.succeeded as f64 / connections;
        let took = report.end_ns.saturating_sub(report.start_ns) as f64 / 1e9;
        // One operation may take longer than all were to take.
        let done = each(&report) * seconds / took.max(TIMED * seconds);
        Ok(work_done(&report).map(|()| Found {
            operations: fitting(done, seconds, least),
            executed: (each(&cold) + each(&report)).ceil() as u64,
        }))
    }
}

/// How many operations are observed on a connection that does so many in these seconds: the least
/// that tells something, if that is affordable, and all that it does.
fn fitting(done: f64, seconds: f64, least: &Least) -> u64 {
    let affordable = done / seconds * least.seconds;
    done.max(least.operations.min(affordable)).clamp(1.0, OPERATIONS_MAX) as u64
}

/// Starts a server whose instructions are counted.
const COUNTED: OwnServer = |run, subject, label, wrapper| {
    let chosen = chosen(run, subject)?;
    prepared(run, subject, label, wrapper, &|emulator, folder, name| {
        // An embedded engine is a part of the driver.
        let is_engine = (name == DRIVEN) == run.installed[subject].is_none();
        let chosen = if is_engine { &chosen } else { &Chosen::default() };
        Ok(emulator.prepare_with_chosen(folder, name, chosen)?)
    })
};

/// The functions of a subject's program that are called for rare events.
fn chosen(run: &Run<'_>, subject: usize) -> Result<Chosen, Error> {
    let build = &run.plan.subjects[subject].build;
    let program = run.build(subject).map_or(&run.options.exe, |build| &build.binary);
    let rare = run.options.source.get(&build.server).map_or(&[][..], |source| &source.rare);
    let functions = rare.iter().map(|event| (event.name.as_str(), event.functions.as_slice()));
    Ok(Chosen::find(program, functions)?)
}

/// The same, with plugins that can record calls.
pub(crate) const WITH_CALLS: OwnServer = |run, subject, label, wrapper| {
    prepared(run, subject, label, wrapper, &|emulator, folder, name| {
        Ok(emulator.prepare_with_calls(folder, name)?.words)
    })
};

/// Writes what the emulator needs for a program of this name into a folder, and gives the words
/// before the program's own.
type Prepare<'a> = dyn Fn(&Emulator, &Path, &str) -> Result<Vec<String>, Error> + 'a;

/// Plugins and counters in a new folder, in which the server may write its own part.
fn prepared(
    run: &Run<'_>,
    subject: usize,
    label: &str,
    wrapper: &mut Wrapper,
    prepare: &Prepare<'_>,
) -> Result<(), Error> {
    let emulator = run.emulator.as_ref();
    let emulator = emulator.ok_or_else(|| Error::Driver("there is no emulator".to_owned()))?;
    let folder = run.place.folder_for_data("emulator")?.join(label);
    // What an earlier server wrote into its part may be links.
    files::remove_folder(&folder)?;
    let prepare = |part: &str, name: &str| -> Result<Vec<String>, Error> {
        let folder = folder.join(part);
        fs::create_dir_all(&folder)?;
        prepare(emulator, &folder, name)
    };
    wrapper.driver = prepare(DRIVER, DRIVEN)?;
    wrapper.prefix = prepare(SERVER, "server")?;
    let mut variables = run.plan.subjects[subject].build.environment.iter();
    let preloaded = variables.find(|(name, _)| name == "LD_PRELOAD");
    let preloaded = preloaded.map(|(_, libraries)| libraries.as_str());
    let link = run.place.sockets().join(format!("emulator-{label}"));
    let named = for_loader(&folder.join(SERVER), &link)?;
    wrapper.prefix.extend(emulator.preload(&named, preloaded)?);
    run.place.share_with_server(&folder, SERVER)?;
    wrapper.folder = Some(folder);
    Ok(())
}

/// A path of a folder as a loader understands it, who takes a blank or a colon for the end of what
/// it preloads: by a link where the folder's own has one.
fn for_loader(folder: &Path, link: &Path) -> Result<PathBuf, Error> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
    if !folder.as_os_str().as_encoded_bytes().iter().any(ends) {
        return Ok(folder.to_owned());
    }
    match fs::os::unix::fs::symlink(folder, link) {
        // An earlier server of this name has made it.
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(link.to_owned()),
    }
}

/// The task that serves the one connection of an instance under emulation, whose calls can be
/// recorded.
pub(crate) struct Serving {
    pub(crate) task: u32,
    pub(crate) calls: Calls,
    counters: Counters,
}

impl Serving {
    pub(crate) fn of(instance: &Instance) -> Result<Self, Error> {
        let missing = |what: &str| Error::Driver(what.to_owned());
        let folder = instance.of_instrument.as_deref();
        let folder = folder.ok_or_else(|| missing("no server is emulated"))?;
        let folder = folder.join(if instance.server.is_some() { SERVER } else { DRIVER });
        let (_, task) = instance.serving();
        let task = task.ok_or_else(|| missing(&instance.foreground.how))?;
        Ok(Self { task, calls: Calls::open(&folder)?, counters: Counters::open(&folder)? })
    }

    /// What the task has done.
    pub(crate) fn read(&self) -> Result<Thread, Error> {
        std::thread::sleep(REST);
        let mut threads = self.counters.read()?.threads.into_iter().rev();
        let own = threads.find(|thread| thread.task == self.task);
        own.ok_or_else(|| Error::Driver("the serving task is not counted".to_owned()))
    }
}

/// Fails where a stretch did not do what its workload says.
pub(crate) fn all_done(label: &str, work: &StretchReport) -> Result<(), Error> {
    work_done(work).map_err(|reason| Error::Driver(format!("`{label}`: {reason}")))
}

impl Open {
    fn on(instance: &Instance) -> Result<Self, Error> {
        let folder = instance.of_instrument.as_deref();
        let folder = folder.ok_or_else(|| Error::Driver("no server is emulated".to_owned()))?;
        let server = match instance.server {
            Some(_) => Some(Counters::open(&folder.join(SERVER))?),
            None => None,
        };
        Ok(Self {
            server,
            driver: Counters::open(&folder.join(DRIVER))?,
            foreground: instance.foreground.clone(),
            driving: instance.connections.iter().map(|one| one.driver_task).collect(),
            before: Both::default(),
        })
    }

    fn read(&self) -> Result<Both, Error> {
        // The last answer is sent before its task waits for the next request.
        std::thread::sleep(REST);
        let server =
            self.server.as_ref().map_or_else(|| Ok(Snapshot::default()), Counters::read)?;
        Ok(Both { server, driver: self.driver.read()? })
    }

    /// Instructions of so many operations, which is all that was done since the beginning.
    fn cost(&self, operations: u64) -> Result<u64, Error> {
        let now = self.read()?;
        if self.server.is_none() {
            let driver = now.driver.since(&self.before.driver);
            return Ok(instructions_of(&driver, &self.driving));
        }
        let server = now.server.since(&self.before.server);
        Ok(instructions_of(&server, &self.serving(&server, operations)))
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        self.before = self.read()?;
        Ok(())
    }

    fn end(&mut self, work: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        if let Err(reason) = work_done(work) {
            found.missing = Some(reason);
            return Ok(());
        }
        let now = self.read()?;
        let (server, driver) =
            (now.server.since(&self.before.server), now.driver.since(&self.before.driver));
        let operations = work.succeeded;
        let serving = self.serving(&server, operations);
        let serves = |thread: &&Thread| serving.contains(&thread.task);
        if server.threads.iter().any(|thread| serves(&thread)) {
            found.readings.extend(readings(Scope::Foreground, &server, operations, serves));
            let others = |thread: &&Thread| !serving.contains(&thread.task);
            found.readings.extend(readings(Scope::Background, &server, operations, others));
        } else if !serving.is_empty() {
            // There is room for so many threads only, those that have ended included.
            found.missing = Some("serving tasks are not among those that are counted".to_owned());
        } else if self.server.is_some() {
            found.missing = Some(format!("serving tasks are {}", self.foreground.how));
        }
        let drives = |thread: &&Thread| self.driving.contains(&thread.task);
        found.readings.extend(readings(Scope::Client, &driver, operations, drives));
        if self.server.is_some() {
            found.artefacts.push(table(&server, &serving, work)?);
        }
        Ok(())
    }
}

impl Open {
    /// The tasks that serve the connections. Where they did not stand out by their CPU time, as
    /// beside a busy background, those that received about every request.
    fn serving(&self, server: &Snapshot, operations: u64) -> Vec<u32> {
        let connections = self.driving.len();
        if !self.foreground.tasks.is_empty() || connections == 0 {
            return self.foreground.tasks.clone();
        }
        let requests = operations.div_ceil(2 * connections as u64);
        let receives = |thread: &&Thread| {
            thread.calls.iter().any(|(call, count)| *call == RECEIVE && *count >= requests)
        };
        let found: Vec<u32> =
            server.threads.iter().filter(receives).map(|thread| thread.task).collect();
        // More or fewer would be threads of a pool.
        if found.len() == connections { found } else { Vec::new() }
    }
}

/// All threads of the server that worked, with their instructions and system calls.
fn table(server: &Snapshot, serving: &[u32], work: &StretchReport) -> Result<Artefact, Error> {
    let threads = server.threads.iter().map(|thread| {
        json!({
            "name": thread.name,
            "task": thread.task,
            "serves": serving.contains(&thread.task),
            "user_instructions": thread.instructions,
            "system_calls": thread.calls,
        })
    });
    let threads: Vec<_> = threads.collect();
    let seconds = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
    let table = json!({ "operations": work.succeeded, "seconds": seconds, "threads": threads });
    let bytes = serde_json::to_vec_pretty(&table)
        .map_err(|error| Error::Driver(format!("counts have no JSON form: {error}")))?;
    Ok(Artefact { name: "emulated-threads.json".to_owned(), bytes })
}

/// Sums over the threads of a scope.
fn readings(
    scope: Scope,
    counts: &Snapshot,
    operations: u64,
    of_scope: impl Fn(&&Thread) -> bool,
) -> Vec<Reading> {
    let threads: Vec<&Thread> = counts.threads.iter().filter(of_scope).collect();
    let sum = |of: &dyn Fn(&Thread) -> u64| threads.iter().map(|thread| of(thread)).sum::<u64>();
    let instructions = sum(&|thread| thread.instructions);
    let calls = sum(&|thread| thread.calls.iter().map(|(_, calls)| calls).sum());
    let syncs = sum(&|thread| {
        let own = thread.calls.iter().filter(|(call, _)| SYNC.contains(call));
        own.map(|(_, calls)| calls).sum()
    });
    let mut found = vec![
        (INSTRUCTIONS.to_owned(), instructions),
        (SYSTEM_CALLS.to_owned(), calls),
        (FSYNCS.to_owned(), syncs),
        (OBSERVED.to_owned(), operations),
    ];
    let mut usual = instructions;
    for (index, event) in counts.chosen.iter().enumerate() {
        let within = sum(&|thread| thread.within[index].instructions);
        found.push((format!("emulated_{event}"), sum(&|thread| thread.within[index].calls)));
        found.push((format!("emulated_{event}_user_instructions"), within));
        // A thread may work while it is read, and its instructions are read first.
        usual = usual.saturating_sub(within);
    }
    if !counts.chosen.is_empty() {
        found.push((USUAL.to_owned(), usual));
    }
    let reading =
        |(counter, end): (String, u64)| Reading { scope, counter, start: 0.0, end: end as f64 };
    found.into_iter().map(reading).collect()
}

/// Instructions of these tasks since an earlier reading, for the null client.
pub(crate) fn instructions_of(counts: &Snapshot, tasks: &[u32]) -> u64 {
    let own = counts.threads.iter().filter(|thread| tasks.contains(&thread.task));
    own.map(|thread| thread.instructions).sum()
}

/// The emulated null client's driver: words before its command, and its counters.
pub(crate) fn driver_alone(run: &Run<'_>) -> Result<(Wrapper, Counters), Error> {
    let folder = run.place.folder_for_data("emulator")?.join("null-client");
    let mut wrapper = Wrapper::default();
    if let Some(emulator) = &run.emulator {
        fs::create_dir_all(&folder)?;
        wrapper.driver = emulator.prepare(&folder, "dbdyno")?.0;
    }
    Ok((wrapper, Counters::open(&folder)?))
}

#[cfg(test)]
mod tests;
