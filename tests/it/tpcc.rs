//! Transactions like those of TPC-C, end to end: loaded, executed, audited.

use crate::lab::{Lab, known, value};

/// An experiment of a few slices.
fn experiment(factors: &str) -> String {
    format!(
        "question = \"are the transactions right?\"\nsuite = \"tpcc\"\nblocks = 1\nrounds = 2\n\
         slice_seconds = 0.5\nwarmup_seconds = 0.1\nparameters = {{ warehouses = 2, home = 2 }}\n\
         [factors]\n{factors}"
    )
}

/// Statements of a transaction, and their standard deviation over the mix.
const MEAN: f64 = 28.6;
const DEVIATION: f64 = 22.4;
/// Standard deviations that chance is allowed, beyond which are 2e-9 of all means: a busy host does
/// few transactions.
const CHANCE: f64 = 6.0;

/// Transactions of a variant in the measured slices of the first phase.
fn transactions(lab: &Lab, variant: &str) -> f64 {
    let slices = lab.slices();
    let is_own = |slice: &&serde_json::Value| {
        slice["state"] == "measured"
            && slice["phase"] == slices[0]["phase"]
            && slice["subject"].as_str().unwrap().starts_with(variant)
    };
    slices.iter().filter(is_own).filter_map(|slice| slice["work"]["succeeded"].as_f64()).sum()
}

/// Runs transactions and checks what can be checked without a clock.
fn check(builds: &str, levels: &str, variants: &[&str]) -> Lab {
    let lab = Lab::with_small_logs();
    let text = experiment(&format!("build = [{builds}]\n{levels}\n"));
    // No delivery leaves its warehouse, and one is loaded in half the time of two.
    let text = match levels.starts_with("delivery") {
        true => text.replace("warehouses = 2", "warehouses = 1"),
        false => text,
    };
    lab.write("small.toml", &text);
    lab.succeed(&["run", "small.toml", "--counts", "none", "--progress", "none"]);
    let audited = lab.of_records("events.jsonl");
    let audited: Vec<&str> = audited.iter().flat_map(|text| text.lines()).collect();
    let audited: Vec<&str> =
        audited.into_iter().filter(|line| line.contains("\"audited\"")).collect();
    let phases = levels.split(',').count();
    assert_eq!(audited.len(), phases * variants.len(), "{audited:?}");
    assert!(audited.iter().all(|line| line.contains("4 conditions hold")), "{audited:?}");
    for slice in lab.slices().iter().filter(|slice| slice["state"] == "measured") {
        let work = &slice["work"];
        assert_eq!((&work["failed"], &work["unexpected"]), (&0.into(), &0.into()), "{work}");
    }
    let comparison = lab.comparison();
    for variant in variants {
        let metric = |name: &str| known(&comparison, "tpcc", variant, name);
        // 27 in the mean, and BEGIN and COMMIT; attempts that are repeated come on top.
        let Some(statements) = metric("statements_per_op") else { continue };
        let by_chance = CHANCE * DEVIATION / transactions(&lab, variant).sqrt();
        let allowed = MEAN - by_chance..MEAN + by_chance + 3.0;
        assert!(allowed.contains(&statements), "{variant}: {statements}, not in {allowed:?}");
        assert!(metric("new_orders_per_minute").is_none_or(|rate| rate > 0.0), "{variant}");
    }
    lab
}

#[test]
fn sqlite_keeps_its_tables_consistent_and_clients_are_compared_with_one() {
    let lab = check("\"sqlite\"", "clients = [1, 4]", &["sqlite"]);
    let across = lab.succeed(&["compare", "--across", "clients", "--format", "json"]);
    let across: serde_json::Value = serde_json::from_str(&across).unwrap();
    let rows = across["comparisons"].as_array().unwrap();
    let rate = rows.iter().find(|row| row["metric"] == "ops_per_second").unwrap();
    assert_eq!(rate["phase"], "tpcc");
    let apart = lab.comparison();
    for (clients, [name, value]) in [(1, ["base", "base_value"]), (4, ["variant", "value"])] {
        assert_eq!(rate[name], format!("sqlite-bundled.clients{clients}"));
        let is_own = |row: &&serde_json::Value| {
            row["phase"] == format!("tpcc.clients{clients}") && row["metric"] == rate["metric"]
        };
        let own = apart["bases"].as_array().unwrap().iter().find(is_own).unwrap();
        assert_eq!(rate[value], own["value"]);
    }
    let quotient = rate["value"].as_f64().unwrap() / rate["base_value"].as_f64().unwrap();
    assert!((rate["ratio"].as_f64().unwrap() / quotient - 1.0).abs() < 1e-6, "{rate}");
}

#[test]
fn postgres_11_and_18_keep_their_tables_consistent() {
    check("\"postgres@11\", \"postgres@18\"", "clients = [1, 16]", &["postgres-11", "postgres-18"]);
}

#[test]
fn mysql_5_6_and_9_keep_their_tables_consistent() {
    check("\"mysql@5.6.24\", \"mysql@9\"", "clients = [1, 16]", &["mysql-5.6.24", "mysql-9"]);
}

#[test]
fn mariadb_keeps_its_tables_consistent() {
    check("\"mariadb@11.8\"", "clients = [1, 16]", &["mariadb-11.8"]);
}

#[test]
fn deliveries_in_several_transactions_keep_the_tables_consistent() {
    let builds = "\"sqlite\", \"postgres@18\"";
    check(builds, "delivery_districts = [1, 4]", &["sqlite", "postgres-18"]);
}

#[test]
fn foreign_keys_are_there_and_the_transactions_meet_them() {
    let lab = Lab::with_small_logs();
    std::fs::create_dir_all(lab.path("catalog/schemas")).unwrap();
    let keys = "[[check]]\nname = \"ten foreign keys\"\nsql = \"SELECT 10 - COUNT(*) FROM \
                information_schema.table_constraints WHERE constraint_type = 'FOREIGN KEY'\"\n";
    let schema = include_str!("../../catalog/schemas/tpcc.toml");
    lab.write("catalog/schemas/tpcc.toml", &format!("{schema}\n{keys}"));
    let text = experiment("build = [\"mysql@9\", \"postgres@18\"]\nclients = [8]\n");
    let text =
        text.replace("warehouses = 2, home = 2", "warehouses = 1, home = 2, foreign_keys = 1");
    lab.write("keys.toml", &text);
    let run = ["run", "keys.toml", "--catalog", "catalog", "--counts", "none"];
    lab.succeed(&run);
    let events = lab.of_records("events.jsonl").concat();
    assert_eq!(events.matches("5 conditions hold").count(), 2, "{events}");
    let said = lab.refuses(&[&run[..], &["--set", "factors.build=[\"sqlite\"]"]].concat());
    assert!(said.contains("no constraints for `sqlite`"), "{said}");
}

#[test]
fn injected_violations_leave_no_number() {
    let lab = Lab::with_small_logs();
    let schema = include_str!("../../catalog/schemas/tpcc.toml");
    let faults = [
        "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1",
        // Of no customer: later orders have numbers below its own.
        "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES (9999999, 2, 1, 0, '2020-01-01 00:00:00', 0, 1)",
        "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 3 AND no_o_id = 2999",
        "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 4 AND ol_o_id = 1",
    ];
    let faults = faults.map(|sql| format!("\"{sql}\"")).join(", ");
    // The tables are loaded when the last of them is finished.
    let finish = "sqlite = [\"ANALYZE {table}\"]";
    let at = schema.rfind(finish).unwrap();
    let faulty = format!("{}sqlite = [{faults}]{}", &schema[..at], &schema[at + finish.len()..]);
    let workload = include_str!("../../catalog/workloads/tpcc.toml");
    let workload = workload.replace("SUM(d_next_o_id)", "2 * SUM(d_next_o_id)");
    for folder in ["catalog/schemas", "catalog/workloads"] {
        std::fs::create_dir_all(lab.path(folder)).unwrap();
    }
    lab.write("catalog/schemas/tpcc.toml", &faulty);
    lab.write("catalog/workloads/tpcc.toml", &workload);
    let mut text = experiment("build = [\"sqlite\"]\n");
    text = text.replace("warehouses = 2", "warehouses = 1");
    lab.write("small.toml", &text);
    let output = lab.run(&["run", "small.toml", "--catalog", "catalog", "--counts", "none"]);
    assert!(!output.status.success());
    let slices = lab.slices();
    let failed = slices.iter().find(|slice| slice["state"] == "failed").unwrap();
    let reason = failed["reason"].as_str().unwrap();
    for word in ["condition 1", "condition 2", "condition 3", "condition 4", "committed"] {
        assert!(reason.contains(word), "{word}: {reason}");
    }
    let comparison = lab.comparison();
    assert_eq!(value(&comparison, "tpcc", "sqlite", "ops_per_second"), None);
}
