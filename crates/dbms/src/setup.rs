//! A start as data: what it depends on, and its paths.

use crate::{
    Error, Installed, Result, RunPlace, certificate::Certificate, folder, keeper::Spawn,
    own_settings::names_port,
};
use model::{
    drive::Tls,
    secret::{self, Secret},
    subject::{Build, Config, Transport},
};
use std::{
    net::TcpListener,
    path::{Path, PathBuf},
};

/// Where the environment of a server lets programs be found.
pub(crate) const PATH: &str = "/usr/bin:/bin";

/// Everything that a start depends on.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The build.
    pub installed: &'a Installed,
    /// Its settings, engine and transport.
    pub config: &'a Config,
    /// Prefix and environment.
    pub build: &'a Build,
    /// Data folder of this server alone.
    pub data: &'a Path,
    /// The run's place: sockets, logs, user.
    pub place: &'a RunPlace,
    /// Unique among the servers of the run; names socket folder and log.
    pub label: &'a str,
}

/// A configuration as given to the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// Text of the configuration file.
    pub text: String,
    /// Optional settings that this server does not know and ignored.
    pub ignored: Vec<String>,
}

/// A launch with its paths, as products see it.
#[derive(Debug)]
pub struct Setup<'a> {
    /// What was asked for.
    pub launch: Launch<'a>,
    /// Private folder for the socket.
    pub sockets: PathBuf,
    /// Private folder for temporary files.
    pub temporary: PathBuf,
    /// Folder of files that the server reads and cannot change.
    pub inputs: PathBuf,
    /// Configuration file, one of them.
    pub config_file: PathBuf,
    /// Port on 127.0.0.1, unless the transport is a socket.
    pub port: Option<u16>,
    /// What encrypts connections, if anything does.
    pub(crate) certificate: Option<Certificate>,
    /// What the port asks for.
    pub password: Secret,
}

/// A command that helps to make a data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Standard input.
    pub input: Option<PathBuf>,
    /// Files that are removed after it.
    pub files: Vec<PathBuf>,
}

impl<'a> Setup<'a> {
    pub(crate) fn of(launch: Launch<'a>) -> Result<Self> {
        let inputs = launch.place.config_of(launch.label)?;
        // A socket lies in a private folder; a port is open to everybody on this host.
        let (port, password) = match launch.config.transport {
            Transport::Socket => (None, Secret::default()),
            _ => (Some(free_port(launch.config)?), launch.place.password()?),
        };
        let certificate = match launch.config.transport.is_encrypted() {
            true => Some(Certificate::new(&inputs, launch.place.user())?),
            false => None,
        };
        Ok(Self {
            launch,
            sockets: launch.place.sockets_of(launch.label)?,
            temporary: launch.place.temporary_of(launch.label)?,
            config_file: inputs.join("server.conf"),
            inputs,
            port,
            certificate,
            password,
        })
    }

    pub(crate) fn log(&self, kind: &str) -> Result<PathBuf> {
        let folder = self.launch.place.logs_of(self.launch.label)?;
        Ok(folder.join(format!("{kind}.log")))
    }

    pub(crate) fn spawn(&self, words: Vec<String>, input: Option<PathBuf>, log: &Path) -> Spawn {
        let launch = &self.launch;
        // A fixed environment: its size alone can move results.
        let mut environment: Vec<(String, String)> =
            [("HOME", "/nonexistent"), ("LC_ALL", "C"), ("PATH", PATH), ("TZ", "UTC")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec();
        environment.extend(launch.installed.environment.iter().cloned());
        environment.extend(launch.build.environment.iter().cloned());
        let user = launch.place.user();
        let memory = launch.build.memory;
        let mut values = launch.config.settings.iter().map(|setting| &setting.value);
        let names_shared = values.any(|value| value.contains("/dev/shm/"));
        Spawn { words, environment, user, input, log: log.to_owned(), memory, names_shared }
    }

    /// How clients encrypt their connections.
    pub(crate) fn tls(&self) -> Option<Tls> {
        let certificate = self.certificate.as_ref()?.pem.clone();
        let versions = self.launch.config.transport.tls_versions();
        let versions = versions.iter().map(|version| (*version).to_owned()).collect();
        Some(Tls { versions, certificate, foreign: None })
    }

    /// Writes a file that the server may read.
    pub(crate) fn write(&self, file: &Path, text: &str) -> Result<()> {
        folder::write_for_group(file, text, self.launch.place.user().map(|user| user.gid))
    }

    /// A text for records and messages.
    pub(crate) fn hide(&self, text: &str) -> String {
        secret::hide(text, self.secrets())
    }

    /// What no text shows.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let (config, build) = (self.launch.config, self.launch.build);
        let given = config.secrets().into_iter().chain(build.secrets());
        given.chain([self.password.reveal()])
    }
}

/// The port on 127.0.0.1 that a configuration names, or any that is free.
fn free_port(config: &Config) -> Result<u16> {
    let named = config.settings.iter().find(|setting| names_port(setting));
    let wanted: u16 = match named {
        None => 0,
        Some(setting) => {
            let number = setting.value.trim().parse().ok().filter(|port| *port > 0);
            number.ok_or_else(|| Error::NoPort { value: setting.value.clone() })?
        }
    };
    match TcpListener::bind(("127.0.0.1", wanted)) {
        Ok(listener) => Ok(listener.local_addr()?.port()),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Err(Error::PortInUse { port: wanted })
        }
        Err(error) => {
            let text = format!("cannot use port `{wanted}` of 127.0.0.1: {error}");
            Err(std::io::Error::new(error.kind(), text).into())
        }
    }
}
