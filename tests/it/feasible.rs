//! What a run would refuse, a plan refuses: for the dialect of each server, and without starting
//! any.

use crate::lab::{Lab, text};

const TABLE: &str = r#"
help = "One table"
[[table]]
name = "own"
rows = "rows"
[table.column]
id = "row_number"
[table.create]
sqlite = "CREATE TABLE {table} (id INTEGER PRIMARY KEY)"
"#;
const OF_POSTGRES: &str = "postgres = \"CREATE TABLE {table} (id INT PRIMARY KEY)\"\n";

const POINT: &str = r#"
help = "One row"
schema = "own"
[[op]]
name = "look"
args = [{ uniform = [1, "rows"] }]
sql = "SELECT id FROM {table} WHERE id = ?"
"#;

/// What stands in the files, and what is said of it for each list of servers; nothing where the
/// plan is possible.
struct Case {
    name: &'static str,
    schema: String,
    workload: String,
    sqlite: &'static [&'static str],
    both: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    let complete = format!("{TABLE}{OF_POSTGRES}");
    let two = "SELECT id FROM own WHERE id = ? AND id < ?";
    vec![
        Case {
            name: "possible on both",
            schema: complete.clone(),
            workload: POINT.to_owned(),
            sqlite: &[],
            both: &[],
        },
        Case {
            name: "a table that one server does not have",
            schema: TABLE.to_owned(),
            workload: POINT.to_owned(),
            sqlite: &[],
            both: &["`own`", "postgres"],
        },
        Case {
            name: "too few arguments on one server",
            schema: complete.clone(),
            workload: format!("{POINT}sql_for.postgres = \"{two}\"\n"),
            sqlite: &["2 placeholders", "1 argument"],
            both: &["2 placeholders", "1 argument"],
        },
        Case {
            name: "too few arguments on every server",
            schema: complete.clone(),
            workload: POINT.replace("SELECT id FROM {table} WHERE id = ?", two),
            sqlite: &["2 placeholders", "1 argument"],
            both: &["2 placeholders", "1 argument"],
        },
        Case {
            name: "signs that are not placeholders",
            schema: complete,
            workload: POINT.replace("id = ?", "id = ? /* ? */ AND '?' = '?' -- ?"),
            sqlite: &[],
            both: &[],
        },
    ]
}

fn check(lab: &Lab, verb: &[&str], parts: &[&str], name: &str) {
    let output = lab.run(verb);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let code = if parts.is_empty() { 0 } else { 2 };
    assert_eq!(output.status.code(), Some(code), "{name} {verb:?}\n{out}\n{err}");
    for part in parts {
        assert!(err.contains("error: ") && err.contains(part), "{name} {verb:?}: {part}\n{err}");
    }
}

#[test]
fn a_plan_refuses_what_no_run_can_do() {
    for case in cases() {
        let lab = Lab::new();
        for folder in ["catalog/workloads", "catalog/schemas"] {
            std::fs::create_dir_all(lab.path(folder)).unwrap();
        }
        lab.write("catalog/schemas/own.toml", &case.schema);
        lab.write("catalog/workloads/own.toml", &case.workload);
        let experiment = |builds: &str| {
            format!(
                "question = \"?\"\nworkloads = [\"own\"]\nrows = 1000\nblocks = 1\nrounds = 1\n\
                 slice_seconds = 0.1\nwarmup_seconds = 0.05\nbaseline = {{ build = \"sqlite\" }}\n\
                 factors.build = [{builds}]\n"
            )
        };
        lab.write("one.toml", &experiment("\"sqlite\""));
        lab.write("both.toml", &experiment("\"sqlite\", \"postgres@18\""));
        let catalog = ["--catalog", "catalog"];
        check(&lab, &[&["plan", "both.toml"], &catalog[..]].concat(), case.both, case.name);
        check(&lab, &[&["plan", "one.toml"], &catalog[..]].concat(), case.sqlite, case.name);
        let run = ["run", "one.toml", "--counts", "none", "--progress", "none"];
        check(&lab, &[&run, &catalog[..]].concat(), case.sqlite, case.name);
    }
}

#[test]
fn a_plan_says_what_a_run_takes_that_counts_otherwise() {
    let lab = Lab::new();
    let plan = |more: &[&str]| -> serde_json::Value {
        let words = [&["plan", "quickstart", "--format", "json"], more].concat();
        serde_json::from_str(&lab.succeed(&words)).unwrap()
    };
    let seconds = |plan: &serde_json::Value| plan["estimate"]["seconds"].as_f64().unwrap();
    let usual = plan(&[]);
    for other in ["none", "hardware"] {
        let found = plan(&["--counts", other]);
        assert!(seconds(&found) < seconds(&usual), "{other}");
        assert_eq!(found["hash"], usual["hash"], "it is the same plan");
    }
    assert_eq!(plan(&["--counts", "emulated"]), usual);
}
