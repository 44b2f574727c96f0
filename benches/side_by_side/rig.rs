//! A started server with a driver, and sysbench pointed at the same socket.

use anyhow::{Context, ensure};
use dbms::{Installed, Keeper, Launch, Places, RunPlace, Server};
use model::{
    Parameters,
    drive::{
        Assignment, Command, Endpoint, LoadIndexes, LoadJob, LoadReport, Reply, Stretch,
        StretchEnd, StretchReport, Target,
    },
    schema::Schema,
    subject::{Build, Config, Setting},
};
use plan::Catalog;
use runner::{Driver, Stop};
use std::path::{Path, PathBuf};

/// Rows of the table on both sides.
pub(crate) const ROWS: i64 = 1_000_000;

pub(crate) struct Rig {
    place: RunPlace,
    keeper: Keeper,
    server: Server,
    pub(crate) driver: Driver,
    pub(crate) target: Target,
    pub(crate) catalog: Catalog,
    pub(crate) schema: Schema,
}

impl Rig {
    pub(crate) fn start(name: &str) -> anyhow::Result<Self> {
        let (server, version) = name.split_once('@').unwrap_or((name, ""));
        let catalog = Catalog::embedded()?;
        let config = steady(catalog.config(server, "base")?);
        let build = Build::of(server, version);
        let places = Places::of_this_host(dbms::SERVER_USER)?;
        let resolved = dbms::resolve(&build, &places)?;
        let installed: Installed = dbms::install(&resolved, &places, &mut |_| ())?;
        let place = places.new_run(&format!("bench-{}", std::process::id()))?;
        let exe = PathBuf::from(env!("CARGO_BIN_EXE_dbdyno"));
        let keeper = Keeper::start(&exe, &place)?;
        let data = place.data().join("bench");
        let launch = Launch {
            installed: &installed,
            config: &config,
            build: &build,
            data: &data,
            place: &place,
            label: name,
        };
        dbms::initialise(&launch, &keeper)?;
        let mut driver = Driver::spawn(&exe, &Stop::default())?;
        let mut ready = |target: &Target| {
            let connect = Command::Connect { target: target.clone(), clients: 0 };
            driver.ask(&connect).map(drop).map_err(|error| dbms::NotReady::Yet(error.to_string()))
        };
        let server = dbms::start(&launch, &keeper, &mut ready)?;
        let target = server.target().clone();
        let schema = catalog.schema_with("sbtest", &parameters())?;
        Ok(Self { place, keeper, server, driver, target, catalog, schema })
    }

    pub(crate) fn server_pid(&self) -> u32 {
        self.server.pid()
    }

    /// sysbench with the connection's options and one table of [`ROWS`] rows.
    pub(crate) fn sysbench(&self, words: &[&str]) -> anyhow::Result<String> {
        text(self.sysbench_command(words)?)
    }

    /// The command alone, to be executed by [`text`].
    pub(crate) fn sysbench_command(&self, words: &[&str]) -> anyhow::Result<std::process::Command> {
        let socket = self.socket()?;
        let mut command = std::process::Command::new("sysbench");
        let (user, database) = (&self.target.user, &self.target.database);
        if self.target.protocol == "postgres" {
            let folder = socket.parent().context("the socket has no folder")?;
            command.args(["--db-driver=pgsql", &format!("--pgsql-host={}", folder.display())]);
            command.args([format!("--pgsql-user={user}"), format!("--pgsql-db={database}")]);
        } else {
            command.args(["--db-driver=mysql", &format!("--mysql-socket={}", socket.display())]);
            command.args([format!("--mysql-user={user}"), format!("--mysql-db={database}")]);
        }
        command.args(["--tables=1", &format!("--table-size={ROWS}"), "--rand-type=uniform"]);
        command.args(words);
        Ok(command)
    }

    pub(crate) fn load(&mut self) -> anyhow::Result<LoadReport> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let job = LoadJob {
            schema: self.schema.clone(),
            engine: "InnoDB".to_owned(),
            threads: u32::try_from(cpus)?,
            seed: 42,
            indexes: LoadIndexes::Created,
            now_seconds: 0,
        };
        match self.driver.ask(&Command::Load(job))? {
            Reply::Loaded(report) => Ok(report),
            other => anyhow::bail!("unexpected reply {other:?}"),
        }
    }

    /// What a point-select of sysbench is here.
    pub(crate) fn point_query(&self) -> anyhow::Result<Assignment> {
        Ok(Assignment {
            script: self.catalog.workload("point-query")?.resolve(&parameters())?,
            schema: self.schema.clone(),
            mode: None,
        })
    }

    /// Connects the driver once, for a workload.
    pub(crate) fn compile(&mut self, assignment: Assignment) -> anyhow::Result<()> {
        self.compile_for(assignment, 1)
    }

    /// The same so many times.
    pub(crate) fn compile_for(
        &mut self,
        assignment: Assignment,
        clients: u32,
    ) -> anyhow::Result<()> {
        self.driver.ask(&Command::Connect { target: self.target.clone(), clients })?;
        self.driver.ask(&Command::Compile(Box::new(assignment)))?;
        Ok(())
    }

    /// A stretch of the compiled workload, one operation after the other.
    pub(crate) fn run(&mut self, end: StretchEnd, seed: u64) -> anyhow::Result<StretchReport> {
        let stretch = Stretch { end, seed, interval_ms: 1000 };
        match self.driver.ask(&Command::Run(stretch))? {
            Reply::Ran(report) => Ok(*report),
            other => anyhow::bail!("unexpected reply {other:?}"),
        }
    }

    /// Ends the measured connection.
    pub(crate) fn disconnect(&mut self) -> anyhow::Result<()> {
        self.driver.ask(&Command::Connect { target: self.target.clone(), clients: 0 })?;
        Ok(())
    }

    /// Where the server listens.
    pub(crate) fn socket(&self) -> anyhow::Result<&Path> {
        match &self.target.endpoint {
            Endpoint::Socket(socket) => Ok(socket),
            _ => anyhow::bail!("the bench's server has no socket"),
        }
    }

    /// What every run does after a load. A table of Postgres has no statistics before, and who
    /// reads a row first pays for the note that all may see it.
    pub(crate) fn settle(&mut self) -> anyhow::Result<()> {
        if self.target.protocol == "postgres" {
            self.driver.query("VACUUM (ANALYZE) sbtest1")?;
        }
        Ok(())
    }

    /// Bytes of the table and of its secondary index.
    pub(crate) fn sizes(&mut self) -> anyhow::Result<(u64, u64)> {
        let sql: &[&str] = if self.target.protocol == "postgres" {
            &["SELECT pg_relation_size('sbtest1') + pg_relation_size('sbtest1_pkey'), \
               pg_relation_size('k_1')"]
        } else {
            &[
                "ANALYZE TABLE sbtest1",
                "SELECT data_length, index_length FROM information_schema.tables \
                 WHERE table_name = 'sbtest1' AND table_schema = DATABASE()",
            ]
        };
        if self.target.protocol == "mysql" {
            let _ = self.driver.query("SET SESSION information_schema_stats_expiry = 0");
        }
        let mut rows = Vec::new();
        for statement in sql {
            rows = self.driver.query(statement)?;
        }
        let row = rows.into_iter().next().context("no size")?;
        let number = |text: &Option<String>| -> anyhow::Result<u64> {
            Ok(text.as_deref().context("no size")?.parse()?)
        };
        Ok((number(&row[0])?, number(&row[1])?))
    }

    pub(crate) fn end(self) -> anyhow::Result<()> {
        drop(self.driver);
        self.server.stop()?;
        self.keeper.end()?;
        Ok(self.place.remove()?)
    }
}

/// What sysbench prints.
pub(crate) fn text(mut command: std::process::Command) -> anyhow::Result<String> {
    let output = command.output().context("cannot start sysbench: install it first")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "sysbench failed:\n{text}");
    Ok(text)
}

/// Connections get threads of their own, and nothing but our connections is born: see `point.rs`.
fn steady(mut config: Config) -> Config {
    let mut set = |name: &str, value: &str| {
        config.settings.retain(|setting| setting.name != name);
        config.settings.push(Setting {
            reason: "only the measured connections' tasks are born, and all that are asked for"
                .to_owned(),
            optional: true,
            ..Setting::of(name, value)
        });
    };
    set("thread_cache_size", "0");
    set("max_connections", "1100");
    set("autovacuum", "off");
    config
}

/// What every workload here is executed with.
pub(crate) fn parameters() -> Parameters {
    [("rows", ROWS), ("tables", 1), ("clients", 1), ("range", 100)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}
