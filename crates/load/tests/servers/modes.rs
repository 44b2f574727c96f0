//! BEGIN, COMMIT and prepared statements, as the server itself counts them.

use crate::bench::TestServer;
use crate::orders;
use crate::workload::{of_roles, statement};
use load::engine::Engine;
use model::drive::{Assignment, Stretch, StretchEnd, StretchReport};
use model::workload::Mode;
use serde_json::json;

const OPERATIONS: u64 = 10;

/// Two statements, in a transaction or not.
fn assignment(mode: Mode, transaction: bool) -> Assignment {
    let statements = ["SELECT 1", "SELECT 2"].map(|sql| statement(sql, json!({"table": "fresh"})));
    let op = json!({
        "name": "two", "weight": 1, "transaction": transaction, "draws": [],
        "statements": statements,
    });
    let role = json!({
        "name": "", "clients": 1, "arrival": "closed", "end": "stretch", "leads": true, "ops": [op],
    });
    Assignment { mode: Some(mode), ..of_roles("two", "statements", vec![role]) }
}

/// What the server has counted since its start.
fn counted(tested: &TestServer) -> [u64; 3] {
    // The tables of the performance schema leave out what is counted per kind of statement.
    ["Com_begin", "Com_commit", "Com_stmt_execute"]
        .map(|name| tested.number(&format!("SHOW GLOBAL STATUS LIKE '{name}'")))
}

fn executed(tested: &TestServer, mode: Mode, transaction: bool) -> StretchReport {
    let mut engine = Engine::connect(&tested.target, 1).unwrap();
    engine.compile(&assignment(mode, transaction)).unwrap();
    let end = StretchEnd::Operations(OPERATIONS);
    engine.run(&Stretch { end, seed: 1, interval_ms: 1000 }).unwrap()
}

pub(crate) fn sent(tested: &TestServer) {
    let cases = [
        // BEGIN is none of the statements that MySQL prepares.
        (Mode::Prepared, true, [10, 10, 30]),
        (Mode::Text, true, [10, 10, 0]),
        (Mode::Prepared, false, [0, 0, 20]),
        (Mode::Text, false, [0, 0, 0]),
    ];
    for (mode, transaction, expected) in cases {
        let before = tested.is_mysql().then(|| counted(tested));
        let report = executed(tested, mode, transaction);
        assert_eq!((report.succeeded, report.failed), (OPERATIONS, 0), "{:?}", report.errors);
        let others = if transaction { 2 * OPERATIONS } else { 0 };
        assert_eq!(
            (report.reads, report.others),
            (2 * OPERATIONS, others),
            "{mode:?} {transaction}"
        );
        // Postgres counts neither.
        if let Some(before) = before {
            let after = counted(tested);
            let grown = [0, 1, 2].map(|place| after[place] - before[place]);
            assert_eq!(grown, expected, "{mode:?}, {transaction}");
        }
    }
}

pub(crate) fn coded(tested: &TestServer) {
    for mode in [Mode::Prepared, Mode::Text] {
        orders::check(&tested.target, mode);
    }
}
