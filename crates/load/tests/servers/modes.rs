//! BEGIN, COMMIT and prepared statements, as the server itself counts them.

use crate::bench::Ground;
use crate::workload::{parameters, schema, statement};
use load::engine::Engine;
use model::drive::{Assignment, Stretch, StretchEnd, StretchReport};
use model::workload::{Arrival, Mode};
use serde_json::json;

const OPERATIONS: u64 = 10;

/// Two statements, in a transaction unless `skip` is 1.
fn assignment(mode: Mode, skip: i64) -> Assignment {
    let statements = ["SELECT 1", "SELECT 2"].map(|sql| statement(sql, json!({"table": "fresh"})));
    let op = json!({
        "name": "two", "weight": 1, "transaction": "1 - skip", "draws": [],
        "statements": statements,
    });
    let workload = json!({
        "name": "two", "help": "", "group": "read", "schema": "queue", "counts": "statements",
        "parameters": {}, "source": "", "lead": "", "roles": [], "ops": [op],
    });
    let mut parameters = parameters();
    parameters.insert("skip".to_owned(), skip);
    Assignment {
        workload: serde_json::from_value(workload).unwrap(),
        schema: schema(),
        parameters,
        mode: Some(mode),
    }
}

/// What the server has counted since its start.
fn counted(ground: &Ground) -> [u64; 3] {
    // The tables of the performance schema leave out what is counted per kind of statement.
    ["Com_begin", "Com_commit", "Com_stmt_execute"]
        .map(|name| ground.number(&format!("SHOW GLOBAL STATUS LIKE '{name}'")))
}

fn executed(ground: &Ground, mode: Mode, skip: i64) -> StretchReport {
    let mut engine = Engine::connect(&ground.target, 1).unwrap();
    engine.compile(&assignment(mode, skip)).unwrap();
    let end = StretchEnd::Operations(OPERATIONS);
    engine.run(&Stretch { end, arrival: Arrival::Closed, seed: 1, interval_ms: 1000 }).unwrap()
}

pub(crate) fn sent(ground: &Ground) {
    let cases = [
        // BEGIN is none of the statements that MySQL prepares.
        (Mode::Prepared, 0, [10, 10, 30]),
        (Mode::Text, 0, [10, 10, 0]),
        (Mode::Prepared, 1, [0, 0, 20]),
        (Mode::Text, 1, [0, 0, 0]),
    ];
    for (mode, skip, expected) in cases {
        let before = ground.is_mysql().then(|| counted(ground));
        let report = executed(ground, mode, skip);
        assert_eq!((report.succeeded, report.failed), (OPERATIONS, 0), "{:?}", report.errors);
        let others = if skip == 0 { 2 * OPERATIONS } else { 0 };
        assert_eq!((report.reads, report.others), (2 * OPERATIONS, others), "{mode:?} {skip}");
        // Postgres counts neither.
        if let Some(before) = before {
            let after = counted(ground);
            let grown = [0, 1, 2].map(|place| after[place] - before[place]);
            assert_eq!(grown, expected, "{mode:?}, skip {skip}");
        }
    }
}
