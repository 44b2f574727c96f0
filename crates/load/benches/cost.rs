//! What an operation costs the client, ours or sysbench, counted from outside by `perf stat`.
//!
//! Each figure is the difference between two executions, one of N and one of 3 N operations, over
//! the difference of the operations: connecting, preparing and reporting cancel out. Where the host
//! does not count instructions, those in user mode are counted by `valgrind --tool=callgrind` and
//! marked; it replaces the clock in the process's address space by a system call.
//!
//! ```text
//! cargo bench -p dbdyno-load --bench cost                    the null client, and a bare ping-pong
//! cargo bench -p dbdyno-load --bench cost -- value GENERATOR
//! cargo bench -p dbdyno-load --bench cost -- mysql SOCKET USER DATABASE [CLIENTS [WORKLOAD]]
//! cargo bench -p dbdyno-load --bench cost -- postgres SOCKET USER DATABASE [CLIENTS [WORKLOAD]]
//! cargo bench -p dbdyno-load --bench cost -- sysbench-mysql SOCKET USER DATABASE [CLIENTS]
//! cargo bench -p dbdyno-load --bench cost -- sysbench-pgsql FOLDER USER DATABASE [CLIENTS]
//! ```
//!
//! Workloads: `point` (one row by its key, the default), `insert100` and `insert100-prepared` (a
//! statement of a hundred rows of six columns, as text and prepared; also shown per row). The
//! servers need a table `sbtest1` as sysbench makes it, of at least [`ROWS`] rows, for the first;
//! for the others a table `pi1` is made anew. sysbench executes its `oltp_point_select`. `value` is
//! the null client's point query with that generator as its argument, written as records have it,
//! such as `'{"zipf":{"low":1,"high":100000,"exponent":0.8}}'`; the difference to that of
//! `'{"uniform":{"low":1,"high":100000}}'`, which the first form has, is the generator's.

#![allow(clippy::print_stdout, reason = "printing figures is what this program is for")]

use load::{engine::Engine, protocol};
use model::drive::{Assignment, Endpoint, Stretch, StretchEnd, Target};
use std::io::{Error, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, exit};

const ROWS: i64 = 100_000;
/// Bytes of a point query and its answer on a MySQL connection, for the ping-pong.
const REQUEST_BYTES: usize = 24;
const ANSWER_BYTES: usize = 197;
/// Operations of the shorter execution, on all connections together.
const OPERATIONS: u64 = 100_000;
/// callgrind executes that much fewer.
const SLOWNESS: u64 = 5;
/// The same of inserts, and their rows.
const INSERTS: u64 = 2_000;
const INSERTED: u64 = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["child", "ping-pong", operations] => ping_pong(operations),
        ["child", operations, rest @ ..] => stretch(operations, rest),
        [] => all(&[
            &["ping-pong"],
            &["null", "", "", "", "1"],
            &["null", "", "", "", "1", "insert100"],
        ]),
        ["value", value] => all(&[&["null", "", "", "", "1", "value", value]]),
        ["mysql" | "postgres", _, _, _, rest @ ..] if rest.len() <= 2 => all(&[&words]),
        ["sysbench-mysql" | "sysbench-pgsql", _, _, _, rest @ ..] if rest.len() <= 1 => {
            all(&[&words])
        }
        _ => Err(Error::other(format!("`{}` is not understood", words.join(" ")))),
    };
    if let Err(error) = result {
        println!("{error}");
        exit(1);
    }
}

fn all(cases: &[&[&str]]) -> Result<(), Error> {
    println!("{:<44} {:>12} {:>12} {:>12}", "per operation", "instr. user", "kernel", "cpu ns");
    for case in cases {
        let inserts = case.get(5).is_some_and(|workload| workload.starts_with("insert"));
        let operations = if inserts { INSERTS } else { OPERATIONS };
        let (once, thrice) = (by_perf(case, operations)?, by_perf(case, 3 * operations)?);
        let share = |event: usize| {
            let (once, thrice) = (once[event]?, thrice[event]?);
            Some((thrice - once) / (2 * operations) as f64)
        };
        let shown =
            |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.1}"));
        let user = match share(0) {
            Some(user) => format!("{user:.1}"),
            None => by_callgrind(case, operations / SLOWNESS)?,
        };
        let (kernel, ns) = (shown(share(1)), share(2));
        println!("{:<44} {user:>12} {kernel:>12} {:>12}", case.join(" "), shown(ns));
        if let (true, Some(ns)) = (inserts, ns) {
            let us = ns / 1000.0 / INSERTED as f64;
            println!("{:<44} {:>12} {:>12} {us:>9.3} us", "  per row", "", "");
        }
    }
    Ok(())
}

/// The program and the words of one execution.
fn execution(case: &[&str], operations: u64) -> Result<(PathBuf, Vec<String>), Error> {
    let own = std::env::current_exe()?;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let operations = operations.to_string();
    Ok(match case {
        ["ping-pong"] => (own, words(&["child", "ping-pong", &operations])),
        [sysbench, socket, user, database, rest @ ..] if sysbench.starts_with("sysbench-") => {
            let driver = sysbench.trim_start_matches("sysbench-");
            let place = if driver == "mysql" { "socket" } else { "host" };
            let said = [
                format!("--db-driver={driver}"),
                format!("--{driver}-{place}={socket}"),
                format!("--{driver}-user={user}"),
                format!("--{driver}-db={database}"),
                format!("--threads={}", rest.first().unwrap_or(&"1")),
                format!("--events={operations}"),
                format!("--table-size={ROWS}"),
            ];
            let fixed = ["--time=0", "--rand-type=uniform", "oltp_point_select", "run"];
            ("sysbench".into(), said.into_iter().chain(words(&fixed)).collect())
        }
        case => (own, words(&[&["child", &operations], case].concat())),
    })
}

/// Instructions in user mode and in the kernel, and nanoseconds of CPU time of one execution;
/// `None` for what this machine does not count.
fn by_perf(case: &[&str], operations: u64) -> Result<[Option<f64>; 3], Error> {
    let (program, words) = execution(case, operations)?;
    let mut perf = Command::new("perf");
    perf.args(["stat", "-x,", "-e", "instructions:u,instructions:k,task-clock"]);
    if case == ["ping-pong"] {
        // The other end of the ping-pong is a child process, and not counted.
        perf.arg("--no-inherit");
    }
    let text = said(perf.arg(program).args(words))?;
    let value = |event: &str, unit: f64| {
        let line = text.lines().find(|line| line.contains(event))?;
        line.split(',').next()?.parse::<f64>().ok().map(|value| value * unit)
    };
    Ok([value("instructions:u", 1.0), value("instructions:k", 1.0), value("task-clock", 1e6)])
}

/// Instructions in user mode per operation by callgrind, marked; nothing for two processes.
fn by_callgrind(case: &[&str], operations: u64) -> Result<String, Error> {
    if case == ["ping-pong"] {
        return Ok("-".to_owned());
    }
    let count = |operations: u64| {
        let (program, words) = execution(case, operations)?;
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        let text = said(valgrind.arg(program).args(words))?;
        let line = text.lines().find(|line| line.contains("Collected :"));
        let number = line.and_then(|line| line.split_whitespace().last()?.parse::<f64>().ok());
        number.ok_or_else(|| Error::other("callgrind printed no count"))
    };
    let (once, thrice) = (count(operations)?, count(3 * operations)?);
    Ok(format!("{:.1} cg", (thrice - once) / (2 * operations) as f64))
}

/// What a command said on standard error.
fn said(command: &mut Command) -> Result<String, Error> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| Error::other(format!("`{program}`: {error}")))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stdout);
        return Err(Error::other(format!("`{program}` failed: {printed}{text}")));
    }
    Ok(text)
}

/// Bare write and read of a point query's bytes, answered by another process.
fn ping_pong(operations: &str) -> Result<(), Error> {
    let operations: u64 = operations.parse().map_err(Error::other)?;
    let (mut near, far) = UnixStream::pair()?;
    let mut other = Command::new("/proc/self/exe");
    // The far end becomes the standard input of another process, which answers on it.
    let descriptor: std::os::fd::OwnedFd = far.into();
    if std::env::var_os("DBDYNO_BENCH_FAR").is_some() {
        return answer();
    }
    let mut child = other
        .args(["child", "ping-pong", "0"])
        .env("DBDYNO_BENCH_FAR", "1")
        .stdin(descriptor)
        .spawn()?;
    drop(other);
    let (request, mut answer) = ([1; REQUEST_BYTES], [0; 16_384]);
    for _ in 0..operations {
        near.write_all(&request)?;
        if near.read(&mut answer)? != ANSWER_BYTES {
            return Err(Error::other("a short answer"));
        }
    }
    drop(near);
    child.wait().map(|_| ())
}

fn answer() -> Result<(), Error> {
    use std::os::fd::AsFd;
    let mut far = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut request = [0; 16_384];
    while far.read(&mut request)? > 0 {
        far.write_all(&[2; ANSWER_BYTES])?;
    }
    Ok(())
}

/// A stretch of point queries.
fn stretch(operations: &str, words: &[&str]) -> Result<(), Error> {
    let [protocol, socket, user, database, rest @ ..] = words else {
        return Err(Error::other("protocol, socket, user and database are needed"));
    };
    let clients: u32 = rest.first().unwrap_or(&"1").parse().map_err(Error::other)?;
    let operations: u64 = operations.parse().map_err(Error::other)?;
    let endpoint = match *protocol {
        "null" => Endpoint::Nowhere,
        _ => Endpoint::Socket((*socket).into()),
    };
    let target = Target {
        user: (*user).to_owned(),
        database: (*database).to_owned(),
        ..Target::of(protocol, endpoint)
    };
    let mut engine = Engine::connect(&target, clients).map_err(Error::other)?;
    let uniform = format!(r#"{{"uniform": {{"low": 1, "high": {ROWS}}}}}"#);
    let workload = match rest.get(1..).unwrap_or_default() {
        [] | ["point"] => point_query(&uniform)?,
        ["value", value] => point_query(value)?,
        ["insert100"] => insert(&target, "text")?,
        ["insert100-prepared"] => insert(&target, "prepared")?,
        [other, ..] => return Err(Error::other(format!("there is no workload `{other}`"))),
    };
    engine.compile(&workload).map_err(Error::other)?;
    let report = engine
        .run(&Stretch {
            end: StretchEnd::Operations(operations / u64::from(clients)),
            seed: 1,
            interval_ms: 1000,
        })
        .map_err(Error::other)?;
    if report.unexpected > 0 || report.failed > 0 {
        return Err(Error::other(format!("not every query did its work: {report:?}")));
    }
    Ok(())
}

/// One primary-key lookup per operation, whose argument is drawn as `value` says.
fn point_query(value: &str) -> Result<Assignment, Error> {
    let text = r#"{
      "script": {"workload": "point-query", "source": "", "schema": "sbtest",
        "counts": "operations", "roles": [{"name": "", "clients": 1, "arrival": "closed",
          "end": "stretch", "leads": true, "ops": [{"name": "point_select", "weight": 1,
            "transaction": false, "draws": [], "statements": [
              {"sql": "SELECT c FROM {table} WHERE id=?", "sql_for": {},
               "args": [{"value": VALUE, "list": null}],
               "rows_per_statement": null, "repeat": 1, "draws": [], "table": "fresh",
               "class": "read", "effect": "read", "mode": "prepared", "capture": null,
               "expect": {"rows": {"low": 1, "high": 1}, "changed": null}}]}]}]},
      "schema": {"name": "sbtest", "help": "", "tables": [{"name": "sbtest{n}", "copies": 1,
        "rows": ROWS, "create": {}, "columns": [], "indexes": {}, "finish": {}}]}
    }"#;
    let text = text.replace("ROWS", &ROWS.to_string()).replace("VALUE", value);
    serde_json::from_str(&text).map_err(Error::other)
}

/// A hundred rows per statement into an empty table without secondary indexes.
fn insert(target: &Target, mode: &str) -> Result<Assignment, Error> {
    let mut control = protocol::open(target).map_err(Error::other)?;
    let (key, time) = match target.protocol.as_str() {
        "postgres" => ("BIGSERIAL", "TIMESTAMP"),
        _ => ("BIGINT AUTO_INCREMENT", "DATETIME"),
    };
    let create = format!(
        "CREATE TABLE pi1 (transactionid {key} PRIMARY KEY, dateandtime {time}, cashregisterid INT \
         NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, data \
         VARCHAR(4000))"
    );
    for sql in ["DROP TABLE IF EXISTS pi1", &create] {
        control.query(sql).map_err(Error::other)?;
    }
    let text = r#"{
      "script": {"workload": "insert100", "source": "", "schema": "ibench",
        "counts": "operations", "roles": [{"name": "", "clients": 1, "arrival": "closed",
          "end": "stretch", "leads": true, "ops": [{"name": "insert", "weight": 1,
            "transaction": false, "draws": [], "statements": [
              {"sql": "INSERT INTO {table} (COLUMNS) VALUES {rows}", "sql_for": {}, "args": [
                 {"value": "now", "list": null},
                 {"value": {"uniform": {"low": 0, "high": 999}}, "list": null},
                 {"value": {"uniform": {"low": 0, "high": 99999}}, "list": null},
                 {"value": {"uniform": {"low": 0, "high": 9999}}, "list": null},
                 {"value": {"uniform": {"low": 0, "high": 499}}, "list": null},
                 {"value": {"filler": {"low": 10, "high": 20, "random_percent": 50}},
                  "list": null}],
               "rows_per_statement": INSERTED, "repeat": 1, "draws": [], "table": "connection",
               "class": "write", "effect": {"insert": INSERTED}, "mode": "MODE", "capture": null,
               "expect": {"rows": null, "changed": {"low": INSERTED, "high": INSERTED}}}]}]}]},
      "schema": {"name": "ibench", "help": "", "tables": [{"name": "pi{n}", "copies": 1,
        "rows": 0, "create": {}, "columns": [], "indexes": {}, "finish": {}}]}
    }"#;
    let text = text.replace("INSERTED", &INSERTED.to_string()).replace("MODE", mode);
    let columns = "dateandtime, cashregisterid, customerid, productid, price, data";
    let text = text.replace("COLUMNS", columns);
    serde_json::from_str(&text).map_err(Error::other)
}
