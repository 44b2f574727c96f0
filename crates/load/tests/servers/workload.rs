//! Writers, deleters and readers over tables that are queues.

use model::{drive::Assignment, schema::Schema};
use serde_json::{Value, json};

/// Rows of an insert and of a delete.
pub(crate) const ROWS: u64 = 50;
/// Deletes from one look at the least key to the next.
pub(crate) const RESYNC: u64 = 7;
/// Tables, and clients of each role.
pub(crate) const TABLES: u64 = 2;

/// Statements as text, or prepared.
pub(crate) const MODES: [&str; 2] = ["text", "prepared"];

/// Tables without rows and with three secondary indexes.
pub(crate) fn schema() -> Schema {
    let columns = "cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, \
                   price INT NOT NULL, data VARCHAR(4000)";
    let indexes = [
        ("market", "productid, customerid, price"),
        ("register", "cashregisterid, customerid, price"),
        ("pdc", "price, dateandtime, customerid"),
    ];
    let adds = indexes.map(|(name, on)| format!("ADD INDEX {name} ({on})"));
    let creates =
        indexes.map(|(name, on)| format!("CREATE INDEX {{table}}_{name} ON {{table}} ({on})"));
    serde_json::from_value(json!({
        "name": "queue", "help": "",
        "tables": [{
            "name": "pi{n}", "copies": TABLES, "rows": 0, "columns": [], "finish": {},
            "create": {
                "mysql": format!("CREATE TABLE {{table}} (transactionid BIGINT NOT NULL \
                    AUTO_INCREMENT PRIMARY KEY, dateandtime DATETIME, {columns}) \
                    ENGINE = {{engine}}"),
                "postgres": format!("CREATE TABLE {{table}} (transactionid BIGSERIAL PRIMARY KEY, \
                    dateandtime TIMESTAMP WITHOUT TIME ZONE, {columns})"),
            },
            "indexes": {
                "innodb": [format!("ALTER TABLE {{table}} {}", adds.join(", "))],
                "mysql": ["not this one"],
                "postgres": creates,
            },
        }],
    }))
    .unwrap()
}

/// A role of one client per table that executes one operation.
pub(crate) fn role(name: &str, op: &str, end: Value) -> Value {
    json!({
        "name": name, "ops": op, "clients": TABLES, "arrival": "closed", "end": end, "leads": true,
    })
}

/// The same, in step with the role in another place.
pub(crate) fn paired(role: Value, with: usize, lead: u64) -> Value {
    let mut role = role;
    role["pairing"] = json!({"role": with, "lead": lead});
    role
}

/// Writers that write so many rows each, and deleters that follow them.
pub(crate) fn writers_and_deleters(rows: u64) -> Vec<Value> {
    vec![
        paired(role("writers", "insert", json!({"rows": rows})), 1, 8),
        paired(role("deleters", "delete", json!({"with": 0})), 0, 0),
    ]
}

pub(crate) fn assignment(roles: &[Value], mode: &str) -> Assignment {
    let mut roles = roles.to_vec();
    for role in &mut roles {
        role["ops"] = match role["ops"].as_str().unwrap() {
            "insert" => json!([insert(mode)]),
            "delete" => json!([delete(mode)]),
            "point" => json!([point(mode)]),
            _ => json!([least(mode)]),
        };
    }
    of_roles("queue", "rows", roles)
}

/// An assignment of these roles.
pub(crate) fn of_roles(workload: &str, counts: &str, roles: Vec<Value>) -> Assignment {
    let script = json!({
        "workload": workload, "source": "", "schema": "queue", "counts": counts, "roles": roles,
    });
    Assignment { script: serde_json::from_value(script).unwrap(), schema: schema(), mode: None }
}

fn op(name: &str, statements: &[Value]) -> Value {
    json!({"name": name, "weight": 1, "transaction": false, "draws": [], "statements": statements})
}

/// A statement with the keys of `with` in place of the usual ones.
pub(crate) fn statement(sql: &str, with: Value) -> Value {
    let mut statement = json!({
        "sql": sql, "sql_for": {}, "args": [], "rows_per_statement": null, "repeat": 1,
        "draws": [], "table": "connection", "class": "read", "effect": "other",
        "mode": "text", "capture": null,
        "expect": {"rows": null, "changed": null},
    });
    if let (Some(into), Value::Object(with)) = (statement.as_object_mut(), with) {
        into.extend(with);
    }
    statement
}

fn arg(value: Value) -> Value {
    json!({"value": value, "list": null})
}

fn uniform(high: i64) -> Value {
    arg(json!({"uniform": {"low": 0, "high": high}}))
}

fn captured(name: &str) -> Value {
    arg(json!({"captured": {"name": name, "plus": 0}}))
}

fn insert(mode: &str) -> Value {
    let filler = json!({"filler": {"low": 10, "high": 20, "random_percent": 50}});
    let rows = json!({"low": ROWS, "high": ROWS});
    let args = [arg(json!("now")), uniform(999), uniform(99999), uniform(9999), uniform(499)];
    let args = [&args[..], &[arg(filler)]].concat();
    let sql = "INSERT INTO {table} (dateandtime, cashregisterid, customerid, productid, price, \
               data) VALUES {rows}";
    let with = json!({
        "class": "write", "mode": mode, "args": args, "rows_per_statement": ROWS,
        "expect": {"rows": null, "changed": rows},
    });
    op("insert", &[statement(sql, with)])
}

/// The oldest rows, found by a kept value that moves on.
fn delete(mode: &str) -> Value {
    let oldest = "SELECT MIN(transactionid) FROM {table}";
    let oldest = statement(oldest, json!({"capture": "oldest", "every": RESYNC, "mode": mode}));
    let limit = arg(json!({"integer": {"value": ROWS}}));
    let rows = "transactionid >= ? ORDER BY transactionid LIMIT ?";
    let postgres = format!(
        "DELETE FROM {{table}} WHERE transactionid IN (SELECT transactionid FROM {{table}} \
         WHERE {rows})"
    );
    let with = json!({
        "class": "write", "mode": mode, "args": [captured("oldest"), limit],
        "sql_for": {"postgres": postgres},
        "advance": {"name": "oldest", "by": ROWS},
    });
    op("delete", &[oldest, statement(&format!("DELETE FROM {{table}} WHERE {rows}"), with)])
}

/// Ten keys between the least and the greatest.
fn point(mode: &str) -> Value {
    let newest = "SELECT MAX(transactionid) FROM {table}";
    let newest = statement(newest, json!({"capture": "newest", "every": 100}));
    let keys = json!({"value": {"between": {"low": "oldest", "high": "newest"}}, "list": 10});
    let sql = "SELECT transactionid, productid, data FROM {table} WHERE transactionid IN ({list})";
    let with = json!({
        "args": [keys], "mode": mode,
        "expect": {"rows": {"low": 0, "high": 10}, "changed": null},
    });
    op("point", &[newest, statement(sql, with)])
}

/// The least key of an empty table, after another value was kept in its place.
fn least(mode: &str) -> Value {
    let seven = statement("SELECT 7", json!({"capture": "least", "mode": mode}));
    let least = "SELECT MIN(transactionid) FROM {table}";
    let least = statement(least, json!({"capture": "least", "mode": mode}));
    let one = json!({"rows": {"low": 1, "high": 1}, "changed": null});
    let is_zero = "SELECT 1 FROM (SELECT 1 AS x) AS t WHERE ? = 0";
    let is_zero =
        statement(is_zero, json!({"args": [captured("least")], "mode": mode, "expect": one}));
    op("least", &[seven, least, is_zero])
}
