//! A server for all tests of a product.

use dbms::{Keeper, Launch, NotReady, Places, RunPlace, Server};
use load::{protocol, wire::Session};
use model::{
    drive::Target,
    subject::{Build, Config, Setting},
};
use std::process::Command;

/// A running server; its folders are removed at the end.
pub(crate) struct Bench {
    place: RunPlace,
    keeper: Keeper,
    server: Option<Server>,
    pub(crate) tested: TestServer,
}

/// What a test may use.
pub(crate) struct TestServer {
    pub(crate) target: Target,
}

impl TestServer {
    /// The last value of the first row of a statement's answer, or empty.
    pub(crate) fn value(&self, sql: &str) -> String {
        let mut session = protocol::open(&self.target).unwrap();
        value(session.as_mut(), sql)
    }

    /// The same, a number.
    pub(crate) fn number(&self, sql: &str) -> u64 {
        let value = self.value(sql);
        value.parse().unwrap_or_else(|_| panic!("`{sql}`: `{value}`"))
    }

    pub(crate) fn is_mysql(&self) -> bool {
        self.target.protocol == "mysql"
    }
}

/// The last value of the first row of a statement's answer, or empty.
pub(crate) fn value(session: &mut dyn Session, sql: &str) -> String {
    let answer = session.query(sql).unwrap_or_else(|error| panic!("`{sql}`: {error}"));
    answer.rows.into_iter().next().and_then(|mut row| row.pop()).flatten().unwrap_or_default()
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.place.data());
    }
}

impl Bench {
    /// Installs, initializes and starts `server@version`.
    pub(crate) fn new(name: &str) -> Self {
        let places = Places::of_this_host(dbms::SERVER_USER).unwrap();
        let place = places.new_run(&format!("test-roles-{}", std::process::id())).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("keep");
        let keeper = Keeper::start_by(command, &place).unwrap();
        let (server, version) = name.split_once('@').unwrap();
        let build = Build::of(server, version);
        let resolved = dbms::resolve(&build, &places).unwrap();
        let installed =
            dbms::install(&resolved, &places, &mut |text| println!("  {text}")).unwrap();
        let config = config(server);
        let data = place.folder_for_data("data").unwrap().join(server);
        let launch = Launch {
            installed: &installed,
            config: &config,
            build: &build,
            data: &data,
            place: &place,
            label: server,
        };
        dbms::initialise(&launch, &keeper).unwrap();
        let mut answers = |target: &Target| {
            let opened = protocol::open(target).map(drop);
            opened.map_err(|error| NotReady::Yet(error.to_string()))
        };
        let server = dbms::start(&launch, &keeper, &mut answers).unwrap();
        let tested = TestServer { target: server.target().clone() };
        Self { place, keeper, server: Some(server), tested }
    }

    /// Stops the server.
    pub(crate) fn end(mut self) {
        self.server.take().unwrap().stop().unwrap();
        self.keeper.clone().end().unwrap();
    }
}

fn config(server: &str) -> Config {
    let settings: &[(&str, &str)] = match server {
        "postgres" => &[("shared_buffers", "64MB"), ("synchronous_commit", "off")],
        _ => &[("innodb_buffer_pool_size", "64M"), ("innodb_flush_log_at_trx_commit", "0")],
    };
    let setting = |(name, value): &(&str, &str)| Setting::of(*name, *value);
    Config {
        name: "test".to_owned(),
        engine: Some("InnoDB".to_owned()).filter(|_| server == "mysql"),
        settings: settings.iter().map(setting).collect(),
        ..Config::default()
    }
}
