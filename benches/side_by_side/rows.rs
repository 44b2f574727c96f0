//! Rows of the Insert Benchmark's first load: CPU time of the client per row, beside a client in
//! Python that draws the same columns and sends the same statements, one hundred rows each.
//!
//! Both are measured from outside, by what the kernel says that their tasks used, user and kernel
//! together, from the first row to the last. Python needs its modules `MySQLdb` and `psycopg2`.

use crate::rig::Rig;
use anyhow::{Context, ensure};
use model::{
    Parameters,
    drive::{Assignment, Command, LoadIndexes, LoadJob, StretchEnd},
};
use std::{
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdout, Stdio},
    time::Instant,
};

const ROUNDS: u64 = 3;
const ROWS: i64 = 400_000;
const PYTHON: &str = include_str!("rows.py");

/// What rows cost their client [us of CPU time each], and how many there were in a second.
struct Cost {
    us_per_row: f64,
    rows_per_second: f64,
}

impl Cost {
    /// That of work during which the tasks of a process used CPU time.
    fn of(pid: u32, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Self> {
        let cpu_ns = || probe::task_cpu(&[pid]).iter().map(|task| task.cpu_ns).sum::<u64>();
        let (start, before) = (Instant::now(), cpu_ns());
        work()?;
        let us = cpu_ns().saturating_sub(before) as f64 / 1e3;
        let rows = ROWS as f64;
        Ok(Self { us_per_row: us / rows, rows_per_second: rows / start.elapsed().as_secs_f64() })
    }
}

pub(crate) fn compare(rig: &mut Rig, build: &str) -> anyhow::Result<()> {
    create(rig)?;
    for round in 1..=ROUNDS {
        let theirs = with_python(rig)?;
        rig.driver.query("TRUNCATE TABLE pi1")?;
        let ours = with_driver(rig, round)?;
        rig.driver.query("TRUNCATE TABLE pi1")?;
        println!(
            "{build} rows round {round}: client CPU per row dbdyno {:.2} us, Python {:.2} us, \
             ratio {:.3}; rows per second {:.0} and {:.0}",
            ours.us_per_row,
            theirs.us_per_row,
            ours.us_per_row / theirs.us_per_row,
            ours.rows_per_second,
            theirs.rows_per_second,
        );
    }
    Ok(())
}

fn parameters() -> Parameters {
    let values = [("rows", ROWS), ("tables", 1), ("clients", 1), ("inserts", ROWS), ("batch", 100)];
    values.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The empty table of the first client.
fn create(rig: &mut Rig) -> anyhow::Result<()> {
    let job = LoadJob {
        schema: rig.catalog.schema_with("ibench", &parameters())?,
        engine: "InnoDB".to_owned(),
        threads: 1,
        seed: 0,
        indexes: LoadIndexes::LeftOut,
        now_seconds: 0,
    };
    rig.driver.ask(&Command::Load(job))?;
    Ok(())
}

fn with_driver(rig: &mut Rig, seed: u64) -> anyhow::Result<Cost> {
    let assignment = Assignment {
        script: rig.catalog.workload("ibench-load")?.resolve(&parameters())?,
        schema: rig.catalog.schema_with("ibench", &parameters())?,
        mode: None,
    };
    rig.compile(assignment)?;
    let cost = Cost::of(rig.driver.pid(), || {
        let report = rig.run(StretchEnd::Roles, seed)?;
        ensure!(report.failed == 0, "{} statements failed", report.failed);
        Ok(())
    })?;
    rig.disconnect()?;
    Ok(cost)
}

/// The Python client, which says when it is ready and when it is done, and goes on when told to.
struct Python {
    child: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl Python {
    fn start(rig: &Rig) -> anyhow::Result<Self> {
        let target = &rig.target;
        let mut command = std::process::Command::new("/usr/bin/python3");
        command.args(["-c", PYTHON, &target.protocol]).arg(rig.socket()?);
        command.args([&target.user, &target.database, &ROWS.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start Python: install it first")?;
        let out = child.stdout.take().context("no output")?;
        Ok(Self { child, says: BufReader::new(out).lines() })
    }

    fn wait_for(&mut self, word: &str) -> anyhow::Result<()> {
        let said = self.says.next().transpose()?;
        ensure!(said.as_deref() == Some(word), "Python said {said:?} instead of `{word}`");
        Ok(())
    }

    fn go_on(&mut self) -> anyhow::Result<()> {
        Ok(self.child.stdin.as_mut().context("no input")?.write_all(b"go on\n")?)
    }
}

fn with_python(rig: &Rig) -> anyhow::Result<Cost> {
    let mut python = Python::start(rig)?;
    python.wait_for("ready")?;
    let cost = Cost::of(python.child.id(), || {
        python.go_on()?;
        python.wait_for("done")
    })?;
    python.go_on()?;
    ensure!(python.child.wait()?.success(), "Python failed");
    Ok(cost)
}
