//! A server that is there already: started by the test, with a certificate of its own.

use dbms::{Installed, Keeper, Launch, NotReady, Places, RunPlace, Server};
use model::{
    drive::{Command, Endpoint, Reply, Target},
    subject::{Build, Config, Setting, Transport},
};
use runner::{Driver, Stop};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// The server, and what it was started from.
pub(crate) struct Away {
    place: RunPlace,
    keeper: Keeper,
    installed: Installed,
    build: Build,
    config: Config,
    data: PathBuf,
    pub(crate) server: Option<Server>,
}

fn exe() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_dbdyno"))
}

fn ask(driver: &mut Driver, target: &Target) -> Result<(), NotReady> {
    match driver.ask(&Command::Connect { target: target.clone(), clients: 0 }) {
        Ok(Reply::Connected { .. }) => Ok(()),
        Ok(other) => Err(NotReady::Never(format!("{other:?}"))),
        Err(error) => Err(NotReady::Yet(error.to_string())),
    }
}

impl Away {
    /// Starts a build with settings of the form `name=value`, on a port with TLS.
    pub(crate) fn start(name: &str, settings: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let places = Places::of_this_host(dbms::SERVER_USER).unwrap();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = places.new_run(&format!("away-{}-{number}", std::process::id())).unwrap();
        let keeper = Keeper::start(exe(), &place).unwrap();
        let build = Build::named(name);
        let resolved = dbms::resolve(&build, &places).unwrap();
        let installed = dbms::install(&resolved, &places, &mut |_| ()).unwrap();
        let config = Config {
            name: "away".to_owned(),
            transport: Transport::Tls,
            settings: settings.iter().map(|text| setting(text)).collect(),
            ..Config::default()
        };
        let data = place.folder_for_data("data").unwrap().join("away");
        let mut away = Self { place, keeper, installed, build, config, data, server: None };
        dbms::initialise(&away.launch(), &away.keeper).unwrap();
        away.start_again();
        away
    }

    fn launch(&self) -> Launch<'_> {
        let Self { installed, config, build, data, place, .. } = self;
        Launch { installed, config, build, data, place, label: "away" }
    }

    /// Starts it on the data that it left.
    pub(crate) fn start_again(&mut self) {
        let mut driver = Driver::spawn(exe(), &Stop::default()).unwrap();
        let ready = &mut |target: &Target| ask(&mut driver, target);
        self.server = Some(dbms::start(&self.launch(), &self.keeper, ready).unwrap());
    }

    /// How its owner enters it.
    fn owner(&self) -> &Target {
        self.server.as_ref().unwrap().target()
    }

    pub(crate) fn port(&self) -> u16 {
        let Endpoint::Port(port) = self.owner().endpoint else { panic!("no port") };
        port
    }

    /// The certificate that its clients must trust.
    pub(crate) fn certificate(&self) -> &str {
        &self.owner().tls.as_ref().unwrap().certificate
    }

    /// Executes statements of its owner.
    pub(crate) fn execute(&self, statements: &[&str]) {
        let mut driver = Driver::spawn(exe(), &Stop::default()).unwrap();
        ask(&mut driver, self.owner()).unwrap();
        statements.iter().for_each(|sql| drop(driver.query(sql).unwrap()));
    }

    /// The first value of a question of its owner.
    pub(crate) fn value(&self, sql: &str) -> Option<String> {
        first_value(self.owner(), sql).unwrap()
    }

    /// The same in another database.
    pub(crate) fn value_in(&self, database: &str, sql: &str) -> Result<Option<String>, String> {
        first_value(&Target { database: database.to_owned(), ..self.owner().clone() }, sql)
    }

    /// Connections to a database.
    pub(crate) fn connections(&self, database: &str) -> u64 {
        let sql = match self.owner().protocol.as_str() {
            "postgres" => "SELECT COUNT(*) FROM pg_stat_activity WHERE datname",
            _ => "SELECT COUNT(*) FROM information_schema.processlist WHERE db",
        };
        self.value(&format!("{sql} = '{database}'")).unwrap().parse().unwrap()
    }

    /// Databases whose name begins as those of dbdyno do.
    pub(crate) fn databases(&self) -> Option<String> {
        self.value(match self.owner().protocol.as_str() {
            "postgres" => "SELECT datname FROM pg_database WHERE datname LIKE 'dbdyno\\__%'",
            _ => {
                "SELECT schema_name FROM information_schema.schemata \
                 WHERE schema_name LIKE 'dbdyno\\__%'"
            }
        })
    }
}

fn first_value(target: &Target, sql: &str) -> Result<Option<String>, String> {
    let mut driver = Driver::spawn(exe(), &Stop::default()).unwrap();
    ask(&mut driver, target).map_err(|error| format!("{error:?}"))?;
    let rows = driver.query(sql).map_err(|error| error.to_string())?;
    Ok(rows.into_iter().flatten().flatten().next())
}

fn setting(text: &str) -> Setting {
    let (name, value) = text.split_once('=').unwrap();
    Setting::of(name, value)
}

impl Drop for Away {
    fn drop(&mut self) {
        drop(self.server.take());
        let _ = self.keeper.clone().end();
        let _ = self.place.remove();
    }
}
