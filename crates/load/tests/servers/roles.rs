//! What each test does and what must come of it.

use crate::bench::{TestServer, value};
use crate::workload::{
    MODES, RESYNC, ROWS, TABLES, assignment, paired, role, schema, writers_and_deleters,
};
use load::{engine::Engine, fill, protocol};
use model::drive::{IndexJob, LoadIndexes, LoadJob, OpReport, Stretch, StretchEnd, StretchReport};
use serde_json::{Value, json};
use std::{sync::mpsc::channel, thread, time::Duration};

/// Makes the tables anew, without rows and indexes.
fn make_tables(tested: &TestServer) {
    for table in 1..=TABLES {
        tested.value(&format!("DROP TABLE IF EXISTS pi{table}"));
    }
    let job = LoadJob {
        schema: schema(),
        engine: "InnoDB".to_owned(),
        threads: 2,
        seed: 1,
        indexes: LoadIndexes::LeftOut,
        now_seconds: 0,
    };
    assert_eq!(fill::fill(&tested.target, &job).unwrap().rows, 0);
}

fn engine(tested: &TestServer, roles: &[Value], mode: &str) -> Engine {
    let assignment = assignment(roles, mode);
    let clients = assignment.script.connections();
    let mut engine = Engine::connect(&tested.target, clients).unwrap();
    engine.compile(&assignment).unwrap();
    engine
}

fn stretch() -> Stretch {
    Stretch { end: StretchEnd::Roles, seed: 1, interval_ms: 1000 }
}

/// Executes roles to their end; nothing may fail.
fn play(tested: &TestServer, roles: &[Value], mode: &str) -> StretchReport {
    let report = engine(tested, roles, mode).run(&stretch()).unwrap();
    assert_eq!((report.failed, report.dropped), (0, 0), "{:?}", report.errors);
    assert_eq!(report.unexpected, 0, "{report:?}");
    report
}

fn op<'a>(report: &'a StretchReport, role: &str) -> &'a OpReport {
    report.ops.iter().find(|op| op.role == role).unwrap()
}

pub(crate) fn empty_table(tested: &TestServer) {
    make_tables(tested);
    for mode in MODES {
        let report = play(tested, &[role("one", "least", json!({"operations": 3}))], mode);
        // Nothing is older than the first row: nothing is deleted, and nothing fails.
        assert_eq!(report.succeeded, 3 * TABLES);
        let report = play(tested, &[role("one", "delete", json!({"operations": 3}))], mode);
        assert_eq!((report.rows_changed, report.rows_read), (0, TABLES));
    }
}

pub(crate) fn load_and_index(tested: &TestServer) {
    for mode in MODES {
        make_tables(tested);
        let report = play(tested, &[role("writers", "insert", json!({"rows": 2010}))], mode);
        // 41 statements of 50 rows.
        assert_eq!(op(&report, "writers").rows_changed, TABLES * 2050);
        assert_eq!(op(&report, "writers").count, TABLES * 41);
        let count = |sql: &str| tested.number(&format!("SELECT COUNT(*) FROM pi2 WHERE {sql}"));
        assert_eq!(count("LENGTH(data) BETWEEN 10 AND 20 AND data LIKE 'aaaaaaa%'"), 2050);
        let utc = if tested.is_mysql() { "UTC_TIMESTAMP()" } else { "timezone('utc', now())" };
        let near = format!("BETWEEN {utc} - INTERVAL '1' HOUR AND {utc} + INTERVAL '1' MINUTE");
        assert_eq!(count(&format!("dateandtime {near}")), 2050);
        let distinct = tested.number("SELECT COUNT(DISTINCT data) FROM pi2");
        assert!(distinct > 2000, "{distinct}");
        let group = if tested.is_mysql() { "DIV" } else { "/" };
        let times = tested.number(&format!(
            "SELECT MAX(times) FROM (SELECT COUNT(DISTINCT dateandtime) AS times FROM pi2 \
             GROUP BY (transactionid - 1) {group} {ROWS}) AS statements"
        ));
        assert_eq!(times, 1, "all rows of a statement have one time");
    }
    let engine = if tested.is_mysql() { "InnoDB" } else { "" }.to_owned();
    let job = IndexJob { schema: schema(), engine };
    let times = fill::index(&tested.target, &job).unwrap();
    let each = if tested.is_mysql() { 1 } else { 3 };
    assert_eq!(times.len() as u64, each * TABLES, "{times:?}");
    assert!(times.iter().all(|time| time.seconds > 0.0), "{times:?}");
    assert!(times[0].sql.contains("pi1") && times[times.len() - 1].sql.contains("pi2"));
}

pub(crate) fn queue(tested: &TestServer) {
    for mode in MODES {
        make_tables(tested);
        play(tested, &[role("writers", "insert", json!({"rows": 1000}))], mode);
        let mut roles = writers_and_deleters(5000);
        roles.push(role("readers", "point", json!("others")));
        let report = play(tested, &roles, mode);
        let (insert, delete) = (op(&report, "writers"), op(&report, "deleters"));
        assert_eq!((insert.count, insert.rows_changed), (200, 10_000));
        assert_eq!((delete.count, delete.rows_changed), (200, 10_000));
        // 100 deletes of each connection, with a look at the least key in every seventh.
        assert_eq!(delete.rows_read, TABLES * 100_u64.div_ceil(RESYNC));
        let readers = op(&report, "readers");
        assert!(readers.count > 0 && readers.rows_read > readers.count, "{readers:?}");
        for table in 1..=TABLES {
            let is = |what: &str, expected: u64| {
                let found = tested.number(&format!("SELECT {what} FROM pi{table}"));
                assert_eq!(found, expected, "{what} of pi{table}, {mode}");
            };
            is("COUNT(*)", 1000);
            is("MIN(transactionid)", 5001);
            is("MAX(transactionid)", 6000);
        }
    }
}

pub(crate) fn rate(tested: &TestServer) {
    make_tables(tested);
    play(tested, &[role("writers", "insert", json!({"rows": 1000}))], "text");
    let open = json!({"open": {"per_second": 40.0, "spacing": "even"}});
    let mut roles = writers_and_deleters(3 * 20 * ROWS);
    roles[0]["arrival"] = open.clone();
    roles[1]["arrival"] = open;
    let report = play(tested, &roles, "text");
    for role in ["writers", "deleters"] {
        let op = op(&report, role);
        assert_eq!(op.intended_per_second, 40.0);
        let intended: Vec<u64> = op.series.iter().map(|second| second.intended).collect();
        // Three seconds of 20 statements on each of two connections.
        assert_eq!(intended[..3], [40, 40, 40], "{role}");
        assert_eq!((op.count, op.rows_changed), (120, 120 * ROWS), "{role}");
        println!(
            "  {role}: {} late, lag at most {} us, p99 of the response {} us",
            op.late, op.lag_us_max, op.response_us.p99
        );
    }
    assert_eq!(tested.number("SELECT COUNT(*) FROM pi1"), 1000);
}

pub(crate) fn killed(tested: &TestServer) {
    make_tables(tested);
    play(tested, &[role("writers", "insert", json!({"rows": 1000}))], "text");
    let mut roles = writers_and_deleters(200 * ROWS);
    roles[0]["arrival"] = json!({"open": {"per_second": 200.0, "spacing": "even"}});
    roles.push(paired(role("readers", "point", json!({"with": 0})), 0, 8));
    let mut engine = engine(tested, &roles, "text");
    let victim = engine.connections()[TABLES as usize].server_id;
    let target = tested.target.clone();
    let is_mysql = tested.is_mysql();
    let (ready, opened) = channel();
    let killer = thread::spawn(move || {
        let mut session = protocol::open(&target).unwrap();
        ready.send(()).unwrap();
        // In the midst of the work: each connection has two seconds of it.
        let newest = "SELECT MAX(transactionid) FROM pi1";
        while value(session.as_mut(), newest).parse::<u64>().unwrap() < 1000 + 10 * ROWS {
            thread::sleep(Duration::from_millis(5));
        }
        let sql = match is_mysql {
            true => format!("KILL {victim}"),
            false => format!("SELECT pg_terminate_backend({victim})"),
        };
        session.query(&sql).unwrap();
    });
    opened.recv().unwrap();
    let report = engine.run(&stretch()).unwrap();
    killer.join().unwrap();
    let (insert, delete) = (op(&report, "writers"), op(&report, "deleters"));
    assert_eq!(insert.count, 400, "the writers go on without their pair");
    assert!((200..400).contains(&delete.count), "{}", delete.count);
    assert_eq!((report.failed, report.dropped), (1, 0), "{:?}", report.errors);
    assert_eq!(report.scheduled, report.succeeded + report.failed);
    assert_eq!(report.errors.len(), 1, "{:?}", report.errors);
    println!("  {}: {}", report.errors[0].code, report.errors[0].message);
    // The table of the pair that was not touched is as it was, the other one has grown.
    assert_eq!(tested.number("SELECT COUNT(*) FROM pi2"), 1000);
    // The delete that was killed may have been done all the same, without an answer.
    let left = tested.number("SELECT COUNT(*) FROM pi1");
    let undone = 1000 + (400 - delete.count) * ROWS;
    assert!(left == undone || left == undone - ROWS, "{left} rows, {undone} expected");
}
