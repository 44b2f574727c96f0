//! What a start does: making a data folder, starting a server, waiting until it answers.

use crate::{
    Error, Keeper, Rendered, Result, Server, access, async_io, factor, find, folder, integrity,
    keeper::{Spawn, Spawned},
    memory_limit,
    process::{self, ended_within, open},
    product::Dbms,
    server::{last_words, log_text, tail},
    setup::{Launch, Setup, Step},
};
use fs_err as fs;
use model::{
    drive::{Endpoint, Target},
    secret::Secret,
    subject::Setting,
};
use rustix::process::Signal;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// A crashed server recovers before it answers.
const READY_LIMIT: Duration = Duration::from_secs(600);
/// A server whose port another one has ends within this time, even if it recovers first. After it,
/// the socket is taken for that of a process which a prefix has put elsewhere.
const PORT_LIMIT: Duration = Duration::from_secs(60);
const STEP_LIMIT: Duration = Duration::from_secs(600);
const PROC: &str = "/proc";
/// Longest path in the address of a UNIX socket.
const SOCKET_BYTES_MAX: usize = 107;

/// Starts of a server whose port somebody took after it was chosen.
const STARTS: u32 = 3;

/// Why a server is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReady {
    /// It may answer later.
    Yet(String),
    /// Nobody will wait for it any longer.
    Never(String),
}

/// Writes the configuration file, and returns its text as records may have it.
fn configure(product: &dyn Dbms, setup: &Setup<'_>) -> Result<Rendered> {
    let rendered = product.render(setup)?;
    setup.write(&setup.config_file, &rendered.text)?;
    Ok(Rendered { text: setup.hide(&rendered.text), ..rendered })
}

/// Makes the data folder, with an empty database that the target of [`start`] names. Refuses a
/// folder that is not empty; its parent must exist.
pub fn initialise(launch: &Launch<'_>, keeper: &Keeper) -> Result<()> {
    let product = find(&launch.installed.server)?;
    let data = launch.data;
    if data.exists() && fs::read_dir(data)?.next().is_some() {
        return Err(Error::DataNotEmpty { path: data.to_owned() });
    }
    folder::create_private_folder(data)?;
    let setup = Setup::of(*launch)?;
    configure(product, &setup)?;
    let log = setup.log("initialise")?;
    fs::write(&log, "")?;
    let steps = product.initialise(&setup)?;
    // From now on root writes nothing into it.
    folder::give(data, launch.place.user())?;
    check_access(&setup)?;
    // They hold the password.
    let inputs: Vec<PathBuf> = steps.iter().flat_map(|step| step.files.clone()).collect();
    let done = execute(steps, &setup, &log, keeper);
    inputs.iter().try_for_each(fs::remove_file)?;
    done
}

fn execute(steps: Vec<Step>, setup: &Setup<'_>, log: &Path, keeper: &Keeper) -> Result<()> {
    for step in steps {
        let words = [setup.launch.build.prefix.clone(), step.words].concat();
        let spawn = setup.spawn(words, step.input, log);
        if let Err(reason) = to_end(keeper, spawn)? {
            return Err(known(setup, log, &reason).unwrap_or_else(|| {
                let (server, log) =
                    (setup.launch.installed.server.clone(), setup.hide(&last_words(log)));
                Error::Initialise { server, reason, log }
            }));
        }
    }
    Ok(())
}

fn to_end(keeper: &Keeper, spawn: Spawn) -> Result<std::result::Result<(), String>> {
    let Spawned { pid, memory, .. } = keeper.spawn(spawn)?;
    // A process that has ended and is forgotten by the system has no descriptor any more.
    let in_time = open(pid).map_or(true, |process| ended_within(&process, STEP_LIMIT));
    if !in_time {
        process::send(pid, Signal::KILL);
    }
    let ending = keeper.ending(pid)?;
    let kills = memory.as_deref().map_or(0, memory_limit::kills);
    keeper.forget(pid)?;
    Ok(match (in_time, ending.code) {
        _ if kills > 0 => Err("it reached the limit of its memory: raise `memory`".to_owned()),
        (false, _) => Err(format!("not done within {} seconds", STEP_LIMIT.as_secs())),
        (true, Some(0)) => Ok(()),
        (true, _) => Err(ending.to_string()),
    })
}

/// Starts a server and returns when `ready` says that it answers. `ready` is asked again and again,
/// unless it says [`NotReady::Never`]; what it says last is part of the error of a server that
/// never answers.
pub fn start(
    launch: &Launch<'_>,
    keeper: &Keeper,
    ready: &mut dyn FnMut(&Target) -> std::result::Result<(), NotReady>,
) -> Result<Server> {
    let mut tries = 1;
    loop {
        match start_once(launch, keeper, ready) {
            // A port of its own is chosen anew.
            Err(Error::PortInUse { .. }) if tries < STARTS => tries += 1,
            started => return started,
        }
    }
}

fn start_once(
    launch: &Launch<'_>,
    keeper: &Keeper,
    ready: &mut dyn FnMut(&Target) -> std::result::Result<(), NotReady>,
) -> Result<Server> {
    let product = find(&launch.installed.server)?;
    let setup = Setup::of(*launch)?;
    check_access(&setup)?;
    let endpoint = product.endpoint(&setup);
    check_length(&endpoint)?;
    integrity::check(launch.installed)?;
    let rendered = configure(product, &setup)?;
    let log = setup.log("server")?;
    fs::write(&log, "")?;
    let words = [
        launch.build.prefix.clone(),
        launch.installed.program().command(),
        product.arguments(&setup),
    ]
    .concat();
    if launch.build.memory.is_some() {
        // Whoever reads a page first has it on his account: copying was dbdyno's.
        folder::forget_cached(launch.data)?;
    }
    let spawned = keeper.spawn(setup.spawn(words, None, &log))?;
    let (pid, limiting) = (spawned.pid, spawned.memory.clone());
    let target = Target { password: setup.password.clone(), ..product.target(endpoint) };
    let failed = |reason: String| {
        if let Some(error) = out_of_memory(launch, limiting.as_deref()) {
            return error;
        }
        known(&setup, &log, &reason).unwrap_or_else(|| {
            let log = setup.hide(&last_words(&log));
            Error::Start { server: product.name().to_owned(), reason, log }
        })
    };
    let Ok(mut server) = Server::started(product, target, spawned, keeper, &log) else {
        let ending = keeper.ending(pid)?;
        keeper.forget(pid)?;
        return Err(failed(ending.to_string()));
    };
    server.secrets = setup.secrets().map(|secret| Secret::new(secret.to_owned())).collect();
    if let Err(reason) = wait_until_ready(&server, ready) {
        let ended = if server.is_alive() { None } else { Some(keeper.ending(pid)?) };
        return Err(failed(ended.map_or(reason, |ending| ending.to_string())));
    }
    server.encrypt(&setup, ready)?;
    server.prepare_sessions(launch.config, ready)?;
    let preloads = factor::not_loaded(&launch.build.environment, pid);
    preloads.map_or(Ok(()), |reason| Err(failed(reason)))?;
    integrity::check_mapped(launch.installed, pid)?;
    keeper.note(pid)?;
    server.rendered = rendered;
    let said = log_text(&log)?;
    async_io::refused(product.name(), &said, Path::new(PROC)).map_or(Ok(()), Err)?;
    let ignored = product.ignored(&setup, &said);
    let mut needed = launch.config.settings.iter().filter(|setting| !setting.optional);
    if let Some(setting) = needed.find(|setting| ignored.contains(&setting.name)) {
        return Err(Error::UnknownSetting {
            build: format!("{} {}", product.name(), launch.installed.version),
            reason: "it would ignore a setting".to_owned(),
            config: launch.config.name.clone(),
            name: setting.name.clone(),
        });
    }
    server.rendered.ignored.extend(ignored);
    Ok(server)
}

/// The error of a server that reached the limit of its memory while it started.
fn out_of_memory(launch: &Launch<'_>, group: Option<&Path>) -> Option<Error> {
    let bytes = launch.build.memory?;
    let is_killed = memory_limit::kills(group?) > 0;
    is_killed.then(|| Error::OutOfMemory { subject: launch.label.to_owned(), mib: bytes >> 20 })
}

/// The error of a server whose log names what is missing: room for its asynchronous I/O, its port,
/// a setting that it does not know, or a value that it refuses.
fn known(setup: &Setup<'_>, log: &Path, reason: &str) -> Option<Error> {
    let installed = setup.launch.installed;
    let text = tail(log, usize::MAX);
    if let Some(error) = async_io::refused(&installed.server, &text, Path::new(PROC)) {
        return Some(error);
    }
    if let Some(port) = setup.port.filter(|_| is_port_taken(&text)) {
        return Some(Error::PortInUse { port });
    }
    let build = format!("{} {}", installed.server, installed.version);
    let (config, reason) = (setup.launch.config.name.clone(), reason.to_owned());
    if let Some(name) = find(&installed.server).ok()?.unknown_setting(&text) {
        return Some(Error::UnknownSetting { build, reason, config, name });
    }
    let (name, line) = refused(&text, &setup.launch.config.settings)?;
    let said = setup.hide(line.trim());
    Some(Error::RefusedSetting { build, reason, config, name, said })
}

/// Whether a server found its port in use: it quotes the system.
fn is_port_taken(log: &str) -> bool {
    log.contains("Address already in use")
}

/// The first of the settings that the log complains of, with the line. A name is written with
/// hyphens or underscores, and one that is also a word only in quotes; warnings and notes do not
/// end a server.
fn refused<'a>(log: &'a str, settings: &[Setting]) -> Option<(String, &'a str)> {
    let is_harmless = |line: &&str| {
        let levels = ["[Warning]", "[Note]", "[System]", "HINT:", "DETAIL:", "CONTEXT:"];
        !levels.iter().any(|level| line.contains(level))
    };
    log.lines().filter(is_harmless).find_map(|line| {
        let plain = line.to_lowercase().replace('-', "_");
        let is_gap = |c: char| !(c.is_alphanumeric() || c == '_');
        let names = |one: &&Setting| {
            let name = one.name.to_lowercase().replace('-', "_");
            let is_quoted = || ['"', '\''].iter().any(|q| plain.contains(&format!("{q}{name}{q}")));
            if name.contains('_') {
                plain.split(is_gap).any(|word| word == name)
            } else {
                is_quoted()
            }
        };
        Some((settings.iter().find(names)?.name.clone(), line))
    })
}

fn wait_until_ready(
    server: &Server,
    ready: &mut dyn FnMut(&Target) -> std::result::Result<(), NotReady>,
) -> std::result::Result<(), String> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(5);
    let mut last = String::new();
    while start.elapsed() < READY_LIMIT {
        match ready(server.target()) {
            Ok(()) if server.listens() || start.elapsed() > PORT_LIMIT => return Ok(()),
            Ok(()) => "another server listens on its port".clone_into(&mut last),
            Err(NotReady::Yet(reason)) => last = reason,
            Err(NotReady::Never(reason)) => return Err(reason),
        }
        if !server.is_alive() {
            break;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
    Err(format!("no answer within {} seconds: {last}", READY_LIMIT.as_secs()))
}

fn check_access(setup: &Setup<'_>) -> Result<()> {
    let user = setup.launch.place.user();
    access::check(&setup.launch.installed.binary, user)?;
    access::check(setup.launch.data, user)?;
    access::check(&setup.sockets, user)
}

fn check_length(endpoint: &Endpoint) -> Result<()> {
    match endpoint {
        Endpoint::Socket(path) if path.as_os_str().len() > SOCKET_BYTES_MAX => {
            Err(Error::SocketPath { path: path.clone() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_a_server_refuses_is_found_in_its_log() {
        let named = ["shared_buffers", "innodb_flush_method", "fsync", "io_method"];
        let setting = |name: &&str| Setting { name: (*name).to_owned(), ..Setting::default() };
        let settings: Vec<Setting> = named.iter().map(setting).collect();
        let check = |log: &str, expected: Option<&str>| {
            let found = refused(log, &settings);
            assert_eq!(found.as_ref().map(|(name, _)| name.as_str()), expected, "{log}");
        };
        check("LOG:  invalid value for parameter \"shared_buffers\": \"1X\"", Some(named[0]));
        check(
            "[ERROR] mysqld: Error while setting value 'x' to 'innodb-flush-method'.",
            Some(named[1]),
        );
        check("FATAL: parameter \"fsync\" requires a Boolean value", Some("fsync"));
        check("PANIC:  could not fsync file \"base/1\"", None);
        check("[Warning] option 'innodb_flush_method': adjusted", None);
        check("HINT:  Available values for io_method: sync, worker", None);
        check("[ERROR] Aborting", None);
    }

    #[test]
    fn a_port_that_is_taken_is_found_in_the_log() {
        let check = |log: &str, expected: bool| assert_eq!(is_port_taken(log), expected, "{log}");
        check("LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use", true);
        check("[ERROR] Can't start server: Bind on TCP/IP port: Address already in use", true);
        check("[ERROR] Can't start server: Bind on TCP/IP port: Permission denied", false);
    }
}
