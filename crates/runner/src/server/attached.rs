//! Servers that are there already: a database of ours is made on them and dropped again, and
//! nothing else of them is touched.
//!
//! Each statement here travels on a driver of its own, so that a database is also dropped where the
//! run was interrupted or its driver has ended.

use super::{
    Instance,
    driver::{Driver, unexpected},
    foreground::{self, Foreground},
};
use crate::{
    Error, Stop,
    agent::{Agent, ROUND_TRIPS as AGENT_ROUND_TRIPS, Start},
    databases::Made,
    run::{Counts, Options, Run},
};
use dbms::{attach::Own, product::Dbms};
use model::{
    agent::{Listener, ListenerPlace},
    attach::Attach,
    drive::{Command, Endpoint, Reply, Target},
    plan::Plan,
    reading::Reading,
    record::AgentRecord,
};
use std::{
    net::{ToSocketAddrs, UdpSocket},
    time::{Duration, Instant},
};

/// Why no task of an attached server is known.
const NOT_LOOKED_FOR: &str = "dbdyno did not start the server, and has no agent on its host";

/// And why not by its agent.
const NOT_SEEN: &str = "the agent's user may not see the process of the server";

/// Number of round trips; their median is shown.
const ROUND_TRIPS: u32 = 100;
const NOTHING: &str = "SELECT 1";

/// How often, and how far apart, a database is dropped that somebody still holds.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(300);
/// No further attempt begins after this time: one on a network that is lost takes a minute.
const DROP_LIMIT: Duration = Duration::from_secs(20);

/// Whether a subject's server is there already.
pub(crate) fn is_attached(run: &Run<'_>, subject: usize) -> bool {
    run.subject(subject).build.attach.is_some()
}

/// Refuses what only a server of dbdyno's own can do.
pub(crate) fn check(plan: &Plan, options: &Options) -> Result<(), Error> {
    let attached = plan.subjects.iter().find(|subject| subject.build.attach.is_some());
    let Some(attached) = attached else { return Ok(()) };
    let refused = |what: &str| {
        Err(Error::Preflight(format!(
            "`{}` is there already and {what}, which is for servers that dbdyno starts",
            attached.label
        )))
    };
    if options.counts == Some(Counts::Emulated) {
        return refused("does not run under emulation: leave `--counts emulated` out");
    }
    if options.explain.is_some() {
        return refused("cannot be explained by function: leave `explain` out");
    }
    Ok(())
}

/// Refuses what looks at servers without measuring them.
pub(crate) fn check_look(plan: &Plan) -> Result<(), Error> {
    let attached = plan.subjects.iter().find(|subject| subject.build.attach.is_some());
    attached.map_or(Ok(()), |attached| {
        Err(Error::Preflight(format!(
            "`{}` is there already, and this command is for servers that dbdyno starts: use \
             `dbdyno run`",
            attached.label
        )))
    })
}

/// How to enter the database of ours.
pub(crate) fn target(attach: &Attach, product: &dyn Dbms) -> Result<Target, Error> {
    let control = dbms::attach::enter(attach, product.name())?;
    Ok(Target { database: attach.database.clone(), ..control })
}

/// The agent of a subject, if the experiment has one.
pub(crate) fn agent(
    run: &Run<'_>,
    subject: usize,
    attach: &Attach,
) -> Result<Option<Agent>, Error> {
    if attach.agent.is_empty() {
        return Ok(None);
    }
    let about = run.subject(subject);
    let product = dbms::find(&about.build.server)?;
    let at = match dbms::attach::enter(attach, product.name())?.endpoint {
        Endpoint::Socket(path) => ListenerPlace::Socket(path),
        Endpoint::Address { host, port } => {
            let known = (host.as_str(), port).to_socket_addrs().into_iter().flatten();
            ListenerPlace::Port { port, addresses: known.map(|one| one.ip()).collect() }
        }
        _ => return Ok(None),
    };
    let programs = Own::of(product.protocol())?.programs.iter();
    let programs = programs.map(|name| (*name).to_owned()).collect();
    let keeper = run.keeper.clone();
    let start = Start {
        label: about.label.clone(),
        words: attach.agent.clone(),
        listener: Listener { at, programs },
        adopt: Box::new(move |pid| Ok(keeper.adopt(pid)?)),
        stop: run.stop.clone(),
    };
    Ok(Some(run.agents.of(subject, start)))
}

/// The serving tasks of an attached server, on its host.
pub(super) fn foreground(instance: &mut Instance) -> Result<Foreground, Error> {
    let Some(agent) = &instance.agent else {
        return Ok(Foreground::missing(NOT_LOOKED_FOR.to_owned()));
    };
    let found = agent.find()?;
    let round_trip_us = agent.round_trip_us()?;
    let record = AgentRecord { pid: found.pid, program: found.program, round_trip_us };
    match instance.agent_found.insert(record).pid {
        Some(_) => foreground::find(&mut instance.driver, &instance.connections, agent),
        None => Ok(Foreground::missing(NOT_SEEN.to_owned())),
    }
}

/// Starts the agent of a subject, if it has one, and says what it finds and what it may not read.
fn introduce(run: &Run<'_>, subject: usize, attach: &Attach) -> Result<(), Error> {
    let Some(agent) = agent(run, subject, attach)? else { return Ok(()) };
    let found = agent.find()?;
    let round_trip = agent.round_trip_us()?.round();
    let label = &run.subject(subject).label;
    if let Some(pid) = found.pid {
        run.step(&format!(
            "{label}: the agent sees `{}` (process {pid}), round trip {round_trip} us (median of \
             {})",
            found.program, AGENT_ROUND_TRIPS
        ));
    }
    let lacks = agent.untold(found.lacks);
    lacks.iter().for_each(|lacks| run.warn(&format!("{label}: {lacks}")));
    Ok(())
}

/// Counters of the whole host that hold what a server does, if it is on this one.
const WHOLE_HOST: &[&str] = &["host_context_switches", "host_cpu_ns"];
/// The counter that tells other processes apart only where those of the server are known.
const OTHERS: &str = "others_cpu_ns";

/// Leaves out what would pass for an attached server's, and what cannot be told without it.
pub(crate) fn leave_out(instance: &Instance, readings: &mut Vec<Reading>) {
    if !instance.is_attached() || instance.is_seen() {
        return;
    }
    let here = instance.agent.is_some() || is_here(&instance.target.endpoint);
    readings.retain(|reading| {
        let counter = reading.counter.as_str();
        !(WHOLE_HOST.contains(&counter) || here && counter == OTHERS)
    });
}

/// Whether an address is one of this host's, to which alone one can bind.
fn is_here(endpoint: &Endpoint) -> bool {
    let Endpoint::Address { host, .. } = endpoint else { return true };
    let addresses = (host.as_str(), 0).to_socket_addrs().into_iter().flatten();
    addresses.into_iter().any(|address| UdpSocket::bind(address).is_ok())
}

/// Median time of a statement that does nothing, microseconds.
pub(crate) fn round_trip_us(driver: &mut Driver) -> Result<f64, Error> {
    let time = Command::Time { sql: NOTHING.to_owned(), times: ROUND_TRIPS };
    match driver.ask(&time)? {
        Reply::Timed(mut times) => {
            times.sort_by(f64::total_cmp);
            Ok(times.get(times.len() / 2).copied().unwrap_or_default())
        }
        other => Err(unexpected("time", &other)),
    }
}

/// Makes the database of a subject, empty. Refuses one that is there, and a user who may not do
/// what is to be done.
pub(crate) fn make(run: &Run<'_>, subject: usize, attach: &Attach) -> Result<(), Error> {
    // What an earlier load of this run left.
    unmake(run, subject);
    let about = run.subject(subject);
    let product = dbms::find(&about.build.server)?;
    let own = Own::of(product.protocol())?;
    let control = dbms::attach::enter(attach, product.name())?;
    let mut driver = Driver::spawn(&run.options.exe, run.stop)?;
    run.keeper.adopt(driver.pid())?;
    introduce(run, subject, attach)?;
    let (label, place, name) = (&about.label, attach.place(), attach.database.clone());
    let version = connect(&mut driver, &control)
        .map_err(|error| mistaken(attach, product).unwrap_or_else(|| error.at(&place)))?;
    let round_trip = round_trip_us(&mut driver)?;
    run.step(&format!(
        "{label}: attached to {} {version} at {place}, round trip {} us (median of {ROUND_TRIPS})",
        about.build.server,
        round_trip.round()
    ));
    let refused = |reason: String| Error::Preflight(format!("`{place}`: {reason}"));
    if !driver.query(own.read_only)?.is_empty() {
        let reason = "the server is read-only, as a replica is: name one that takes writes";
        return Err(refused(reason.to_owned()));
    }
    let rights = driver.query(own.rights)?;
    if let Some(lacks) = own.lacks(&rights, &name) {
        return Err(refused(lacks));
    }
    if !driver.query(&own.exists(&name))?.is_empty() {
        return Err(refused(format!(
            "the database `{name}` exists already and is not touched: name another one by \
             `database`, or drop it yourself if a run that was killed left it"
        )));
    }
    let created = driver.query(&own.create(&name)).map(drop);
    if may_be_made(&created) {
        run.databases.keep(subject, Made { control, own, name, version });
    }
    created
}

/// Whether there may be a database of ours: a server that refused made none, and one whose answer
/// was not waited for, because the run was interrupted, makes it nevertheless.
fn may_be_made(created: &Result<(), Error>) -> bool {
    !matches!(created, Err(Error::Sql { lost: false, .. }))
}

/// Drops the database of a subject, if this run made one. A server that cannot be reached now, as
/// where the network is cut, may be reached by [`unmake_all`].
pub(crate) fn unmake(run: &Run<'_>, subject: usize) {
    let Some(made) = run.databases.take(subject) else { return };
    if let Err(error) = dropped(run, subject, &made) {
        run.warn(&format!(
            "{}: the database `{}` could not be dropped ({error}): the end of the run tries again",
            run.subject(subject).label,
            made.name
        ));
        run.databases.keep(subject, made);
    }
}

/// Drops those of all subjects, however the run ends. Says where one is left.
pub(crate) fn unmake_all(run: &Run<'_>) {
    for subject in run.databases.subjects() {
        let Some(made) = run.databases.take(subject) else { continue };
        if let Err(error) = dropped(run, subject, &made) {
            run.warn(&format!(
                "{}: the database `{}` is left on the server, because it could not be dropped \
                 ({error}): drop it yourself",
                run.subject(subject).label,
                made.name
            ));
        }
    }
}

fn dropped(run: &Run<'_>, subject: usize, made: &Made) -> Result<(), Error> {
    run.step(&format!("{}: dropping the database `{}`", run.subject(subject).label, made.name));
    // The wish to stop is no wish to leave something behind.
    let stop = Stop::default();
    let statements = made.own.drop(&made.name, &made.version);
    let attempt = || -> Result<(), Error> {
        // What interrupts the run from its terminal ends a driver that is there.
        let mut driver = Driver::spawn(&run.options.exe, &stop)?;
        connect(&mut driver, &made.control)?;
        statements.iter().try_for_each(|sql| driver.query(sql).map(drop))
    };
    let start = Instant::now();
    let mut done = attempt();
    for _ in 1..ATTEMPTS {
        if done.is_ok() || start.elapsed() > DROP_LIMIT {
            break;
        }
        std::thread::sleep(PAUSE);
        done = attempt();
    }
    done
}

/// That a server greets as another product than the experiment says, which nobody could enter.
fn mistaken(attach: &Attach, product: &dyn Dbms) -> Option<Error> {
    let greets = dbms::attach::product_of(attach).ok()?;
    (greets != product.name()).then(|| {
        Error::Preflight(format!(
            "`{}` greets as `{greets}`, and `product` says `{}`: leave `product` out",
            attach.place(),
            product.name()
        ))
    })
}

/// Opens the control connection; the version that the server reports.
fn connect(driver: &mut Driver, control: &Target) -> Result<String, Error> {
    match driver.ask(&Command::Connect { target: control.clone(), clients: 0 })? {
        Reply::Connected { server_version, .. } => Ok(server_version),
        other => Err(unexpected("connect", &other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_whose_making_was_interrupted_is_dropped_and_that_of_others_is_not() {
        let refused = |lost| Err(Error::Sql { message: "x".to_owned(), lost });
        assert!(may_be_made(&Ok(())) && may_be_made(&Err(Error::Interrupted)));
        assert!(may_be_made(&refused(true)) && !may_be_made(&refused(false)));
    }

    #[test]
    fn an_address_of_this_host_is_known_from_others() {
        let at = |host: &str| Endpoint::Address { host: host.to_owned(), port: 5432 };
        assert!(is_here(&at("127.0.0.1")) && is_here(&at("localhost")));
        assert!(is_here(&Endpoint::Socket("/run/s".into())));
        // An address for documents, which no host has.
        assert!(!is_here(&at("192.0.2.1")) && !is_here(&at("no.such.invalid")));
    }
}
