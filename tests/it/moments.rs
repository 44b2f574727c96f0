//! Columns of random moments hold the same on servers of three products.

use crate::{
    lab::Lab,
    running::{Running, send},
};

const SCHEMA: &str = r#"
help = "Moments"
[[table]]
name = "moments"
rows = "rows"
[table.create]
mysql = """CREATE TABLE {table} (id INT PRIMARY KEY, then_at DATETIME, lately DATETIME,
           loaded DATETIME) ENGINE={engine}"""
postgres = """CREATE TABLE {table} (id INT PRIMARY KEY, then_at TIMESTAMP, lately TIMESTAMP,
              loaded TIMESTAMP)"""
sqlite = "CREATE TABLE {table} (id INTEGER PRIMARY KEY, then_at TEXT, lately TEXT, loaded TEXT)"
[table.column]
id = "row_number"
then_at = { timestamp = ["1999-12-31 23:00:00", "2000-03-01"] }
lately = { timestamp = ["2026-01-01", "now"] }
loaded = { now = true }
"#;

const WORKLOAD: &str = r#"
help = "One moment"
schema = "moments"
[[op]]
name = "look"
sql = "SELECT then_at FROM {table} WHERE id = ?"
args = [{ uniform = [1, "rows"] }]
expect = { rows = 1 }
"#;

const EXPERIMENT: &str = r#"
question = "When?"
workloads = ["moments"]
rows = 3000
blocks = 1
rounds = 1000
slice_seconds = 0.3
baseline = { build = "postgres@18" }
factors.build = ["postgres@18", "mysql@9", "mariadb@10.11.19", "sqlite"]
"#;

#[test]
fn random_moments_are_the_same_on_every_product() {
    let lab = Lab::with_small_logs();
    for folder in ["catalog/workloads", "catalog/schemas"] {
        std::fs::create_dir_all(lab.path(folder)).unwrap();
    }
    lab.write("catalog/schemas/moments.toml", SCHEMA);
    lab.write("catalog/workloads/moments.toml", WORKLOAD);
    lab.write("when.toml", EXPERIMENT);
    let words =
        ["run", "when.toml", "--catalog", "catalog", "--counts", "none", "--progress", "plain"];
    let mut running = Running::start(&lab, lab.command(&words));
    running.wait_for(" moments");
    let servers = running.all_servers(4);
    // All at once: each is answered in its own turn.
    let tables: Vec<_> = std::thread::scope(|scope| {
        let sql = "SELECT id, then_at, lately, loaded FROM moments ORDER BY id";
        let asked: Vec<_> =
            servers.iter().map(|server| scope.spawn(move || server.enter().rows(sql))).collect();
        asked.into_iter().map(|rows| rows.join().unwrap()).collect()
    });
    send("-INT", &running.pid().to_string());
    let (code, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(!said.contains("failed:"), "{said}");
    let first = &tables[0];
    assert_eq!(first.len(), 3000);
    for other in &tables[1..] {
        let differs = other.iter().zip(first).find(|(one, two)| one != two);
        assert_eq!((other.len(), differs), (first.len(), None));
    }
    let column = |at: usize| {
        let mut all: Vec<&str> = first.iter().map(|row| row[at].as_deref().unwrap()).collect();
        all.sort_unstable();
        all
    };
    let (then, lately, loaded) = (column(1), column(2), column(3));
    assert!(*then[0] >= *"1999-12-31 23:00:00" && *then[2999] <= *"2000-03-01 00:00:00");
    // The 29th of February of 2000 is one of 61 days.
    let leap = then.iter().filter(|moment| moment.starts_with("2000-02-29 ")).count();
    assert!((10..100).contains(&leap), "{leap} of 3000");
    assert!(*lately[0] >= *"2026-01-01 00:00:00" && lately[2999] <= loaded[0]);
    assert_eq!(loaded[0], loaded[2999], "the time of the load is one moment");
    let mut distinct = then.clone();
    distinct.dedup();
    assert!(distinct.len() > 2900, "{} of 3000", distinct.len());
}
