//! `dbdyno up`: one server with a named configuration, until Ctrl-C.

use super::Verb;
use crate::{
    args::{CatalogArgs, ConcurrencyArgs, HostArgs},
    count, credentials,
    exit::Code,
    shell, signals, talk,
};
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use dbms::{Keeper, Launch, NotReady, RunPlace};
use model::{
    drive::{self, Endpoint, Target},
    subject::{Build, Config, Setting, Transport},
};
use runner::{Driver, Stop};
use std::{
    path::Path,
    time::{Duration, SystemTime},
};

pub(super) const VERB: Verb = Verb {
    name: "up",
    about: "Starts an empty server and prints how to connect",
    details: "Ctrl-C stops the server and removes its data.",
    examples: &[
        ("dbdyno up mysql@9", "The newest MySQL 9 on a private socket"),
        ("dbdyno up postgres@18 --port 5433", "PostgreSQL 18 on 127.0.0.1:5433"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Build to start, such as mysql@9.7.4; a version prefix means the newest match
    #[arg(value_name = "SERVER@VERSION")]
    build: String,
    /// Server configuration (see `dbdyno list configs`)
    #[arg(long, value_name = "NAME", default_value = "base")]
    config: String,
    /// Listen on this TCP port of 127.0.0.1 instead of a socket in a private folder
    #[arg(long, value_name = "PORT", value_parser = port, allow_negative_numbers = true)]
    port: Option<u16>,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    concurrency: ConcurrencyArgs,
}

fn port(text: &str) -> Result<u16, String> {
    count::whole(text, 1..=u16::MAX.into())
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    credentials::check()?;
    let build = Build::named(&arguments.build);
    let server = build.server.as_str();
    dbms::find(server)?;
    if dbms::is_embedded(server) {
        anyhow::bail!("`{server}` is embedded in the driver process: there is no server to start");
    }
    let mut config = arguments.catalog.open()?.config(server, &arguments.config)?;
    if let Some(port) = arguments.port {
        listen_at(&mut config, port);
    }
    dbms::check_settings(server, &config)?;
    let places = arguments.host.places()?;
    let resolved = dbms::resolve(&build, &places)?;
    let installed = dbms::install(&resolved, &places, &mut |text| talk::say(text))?;
    let name = format!("up {}", arguments.build);
    let stop = Stop::default();
    signals::connect(&stop).context("cannot listen for Ctrl-C")?;
    let _announcement = arguments.concurrency.announce((&name, false), &stop)?;
    let exe = std::env::current_exe().context("cannot find the path of this program")?;
    let place = places.new_run(&folder_of(SystemTime::now(), std::process::id()))?;
    let keeper = match Keeper::start(&exe, &place) {
        Ok(keeper) => keeper,
        Err(error) => {
            // The first error is the one to be told.
            let _ = place.remove();
            return Err(error.into());
        }
    };
    let data = place.data().join("up");
    let launch = Launch {
        installed: &installed,
        config: &config,
        build: &build,
        data: &data,
        place: &place,
        label: &arguments.build,
    };
    let served = serve(&launch, &keeper, &exe, &stop);
    let ended = keeper.end();
    let removed = place.remove();
    served?;
    ended?;
    removed?;
    Ok(Code::Done)
}

/// A name for the folder of a server that starts now. In containers, each process may have the
/// number of one that was killed and has left its data.
fn folder_of(now: SystemTime, pid: u32) -> String {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("up-{pid}-{}", since.as_micros())
}

/// A server from its first moment to Ctrl-C.
fn serve(launch: &Launch<'_>, keeper: &Keeper, exe: &Path, stop: &Stop) -> anyhow::Result<()> {
    talk::say(&format!("initializing {}", launch.label));
    stop.unless_raised(dbms::initialise(launch, keeper))?;
    talk::say(&format!("starting {}", launch.label));
    let mut driver = Driver::spawn(exe, stop)?;
    keeper.adopt(driver.pid())?;
    let mut ready = |target: &Target| {
        let connect = drive::Command::Connect { target: target.clone(), clients: 0 };
        driver.ask(&connect).map(drop).map_err(|error| match error {
            runner::Error::Sql { message, .. } => NotReady::Yet(message),
            other => NotReady::Never(other.to_string()),
        })
    };
    let started = dbms::start(launch, keeper, &mut ready);
    drop(driver);
    let server = stop.unless_raised(started)?;
    talk::data(&how_to_connect(server.target(), launch.place)?)?;
    talk::say("Ctrl-C stops the server and removes its data");
    while server.is_alive() && !stop.is_raised() {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(server.stop()?)
}

/// Makes a configuration listen at a port and not at a socket. One that encrypts goes on to.
fn listen_at(config: &mut Config, port: u16) {
    if config.transport == Transport::Socket {
        config.transport = Transport::Tcp;
    }
    config.settings.retain(|setting| !dbms::names_port(setting));
    config
        .settings
        .push(Setting { reason: "`--port`".to_owned(), ..Setting::of("port", port.to_string()) });
}

/// The command line of the server's own client. Over TCP, the password is in a file of the run that
/// the caller alone can read.
fn how_to_connect(target: &Target, place: &RunPlace) -> anyhow::Result<String> {
    let Endpoint::Port(port) = &target.endpoint else { return Ok(client_line(target, None)) };
    let (user, password) = (&target.user, target.password.reveal());
    let text = match target.protocol.as_str() {
        "postgres" => format!("127.0.0.1:{port}:*:{user}:{password}\n"),
        _ => format!("[client]\npassword = {password}\n"),
    };
    let file = place.write_private("client", &text)?;
    Ok(client_line(target, Some(&file)))
}

fn client_line(target: &Target, passwords: Option<&Path>) -> String {
    let shown = |path: &Path| shell::quoted(&path.display().to_string());
    let at = match &target.endpoint {
        Endpoint::Socket(path) if target.protocol == "postgres" => {
            format!("-h {}", shown(path.parent().unwrap_or(path)))
        }
        Endpoint::Socket(path) => format!("--socket={}", shown(path)),
        Endpoint::Port(port) if target.protocol == "postgres" => format!("-h 127.0.0.1 -p {port}"),
        Endpoint::Port(port) => format!("-h 127.0.0.1 -P {port}"),
        // What `up` starts is on this host.
        Endpoint::Address { host, .. } => host.clone(),
        Endpoint::File(path) => path.display().to_string(),
        Endpoint::Nowhere => String::new(),
    };
    let (user, database) = (&target.user, &target.database);
    match target.protocol.as_str() {
        "postgres" => {
            let file = passwords.map(|file| format!("PGPASSFILE={} ", shown(file)));
            format!("{}psql {at} -U {user} {database}", file.unwrap_or_default())
        }
        _ => {
            let file = passwords.map(|file| format!("--defaults-file={}", shown(file)));
            let defaults = file.unwrap_or_else(|| "--no-defaults".to_owned());
            format!("mysql {defaults} {at} -u {user} {database}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_process_of_the_same_number_has_another_folder() {
        let first = SystemTime::UNIX_EPOCH + Duration::from_micros(7);
        assert_eq!(folder_of(first, 1), "up-1-7");
        assert_ne!(folder_of(first + Duration::from_micros(1), 1), "up-1-7");
    }

    #[test]
    fn a_port_replaces_a_socket_and_not_encryption() {
        let check = |transport: Transport, expected: Transport| {
            let mut config = Config { transport, ..Config::default() };
            listen_at(&mut config, 5433);
            assert_eq!(config.transport, expected);
            assert_eq!(config.settings[0].value, "5433");
        };
        check(Transport::Socket, Transport::Tcp);
        check(Transport::Tls12, Transport::Tls12);
    }

    #[test]
    fn the_line_fits_the_servers_own_client() {
        let target = |protocol: &str, endpoint| Target {
            user: "u".to_owned(),
            database: "d".to_owned(),
            ..Target::of(protocol, endpoint)
        };
        let postgres = target("postgres", Endpoint::Socket("/s/.s.PGSQL.5432".into()));
        assert_eq!(client_line(&postgres, None), "psql -h /s -U u d");
        let mysql = target("mysql", Endpoint::Socket("/s/mysql".into()));
        assert_eq!(client_line(&mysql, None), "mysql --no-defaults --socket=/s/mysql -u u d");
        let elsewhere = target("mysql", Endpoint::Socket("/a b/s".into()));
        let expected = "mysql --no-defaults --socket='/a b/s' -u u d";
        assert_eq!(client_line(&elsewhere, None), expected);
        let mysql = target("mysql", Endpoint::Port(3307));
        let file = Some(Path::new("/r/client"));
        let expected = "mysql --defaults-file=/r/client -h 127.0.0.1 -P 3307 -u u d";
        assert_eq!(client_line(&mysql, file), expected);
        let postgres = target("postgres", Endpoint::Port(5433));
        let expected = "PGPASSFILE=/r/client psql -h 127.0.0.1 -p 5433 -U u d";
        assert_eq!(client_line(&postgres, file), expected);
    }
}
