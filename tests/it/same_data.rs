//! The same work leaves the same data: what servers of different products hold after it, compared
//! row by row.

use crate::{
    lab::Lab,
    running::{Running, Server},
};

/// The interleaved design's pieces with writes, and a last phase that only reads, during which the
/// tables can be looked at.
const SUITE: &str = r#"
help = "writes, then a look"
order = "fixed"
tables = "clients"
[parameters]
partitions = 0
partition_rows = 1
[[phase]]
name = "l.i0"
workload = "ibench-load"
parameters = { inserts = "rows", batch = 100 }
[[phase]]
name = "l.x"
kind = "index"
group = "load"
[[phase]]
name = "l.i1"
workload = "ibench-churn"
parameters = { inserts = 2000, batch = 50 }
[[phase]]
name = "qr100"
workload = "ibench-range"
parameters = { inserts_per_second = 100, query_seconds = 2 }
[[phase]]
name = "look"
workload = "look"
"#;

const LOOK: &str = r#"
help = "One row that is or is not there"
group = "point"
schema = "ibench"
counts = "operations"
[[op]]
name = "look"
table = "connection"
sql = "SELECT productid FROM {table} WHERE transactionid = ?"
args = [{ uniform = [1, 5000] }]
expect = { rows = [0, 1] }
"#;

/// Loaded, and inserted in `l.i1` and `qr100`, which delete as many.
const ROWS: [usize; 3] = [5000, 2000, 200];

/// The rows in the order in which they were inserted: all columns but the time, and the number,
/// which Postgres gives out in stretches for each connection.
const CONTENT: &str = "SELECT cashregisterid, customerid, productid, price, data FROM pi1 \
                       ORDER BY transactionid";

const SUMS: &str = "SELECT COUNT(*), COUNT(DISTINCT transactionid), SUM(cashregisterid), \
                    SUM(customerid), SUM(productid), SUM(price), SUM(LENGTH(data)) FROM pi1";

#[derive(Debug, PartialEq)]
struct Content {
    sums: Vec<Vec<Option<String>>>,
    rows: Vec<Vec<Option<String>>>,
}

/// What a server holds. It answers when its turn comes: until then it is frozen.
fn content(server: &Server) -> Content {
    let mut guest = server.enter();
    Content { sums: guest.rows(SUMS), rows: guest.rows(CONTENT) }
}

#[test]
fn all_servers_hold_the_same_rows_after_the_same_work() {
    let lab = Lab::with_small_logs();
    std::fs::create_dir_all(lab.path("catalog/workloads")).unwrap();
    lab.write("catalog/workloads/look.toml", LOOK);
    lab.write("writes.toml", SUITE);
    let experiment = format!(
        "question = \"is it the same work?\"\nsuite = \"./writes.toml\"\nrows = {}\nblocks = 1\n\
         rounds = 3\nslice_seconds = 2\ndesign = \"interleaved\"\n\
         baseline = {{ build = \"postgres@18\" }}\n\
         factors.build = [\"postgres@18\", \"mysql@9\", \"sqlite\"]\n",
        ROWS[0]
    );
    lab.write("same.toml", &experiment);
    let arguments =
        ["run", "same.toml", "--catalog", "catalog", "--counts", "none", "--progress", "plain"];
    let mut running = Running::start(&lab, lab.command(&arguments));
    running.wait_for(" look");
    let servers = running.all_servers(3);
    // All at once: each is answered in its own turn, and the last phase has several of them.
    let contents: Vec<Content> = std::thread::scope(|scope| {
        let asked: Vec<_> =
            servers.iter().map(|server| scope.spawn(move || content(server))).collect();
        asked.into_iter().map(|content| content.join().unwrap()).collect()
    });
    let (code, said) = running.end();
    assert!([Some(0), Some(1)].contains(&code), "{said}");
    // As many rows are deleted as inserted after the load, but for those before the first delete.
    let rows = contents[0].rows.len();
    assert!((ROWS[0]..ROWS.iter().sum()).contains(&rows), "{rows} rows");
    let first = &contents[0];
    for other in &contents[1..] {
        assert_eq!(other.sums, first.sums);
        let differs = other.rows.iter().zip(&first.rows).position(|(one, two)| one != two);
        let at = differs.map(|at| (at, &other.rows[at], &first.rows[at]));
        assert_eq!((other.rows.len(), at), (first.rows.len(), None));
    }
    for slice in lab.slices() {
        assert_ne!(slice["state"], "failed", "{slice}");
        assert_eq!(slice["work"]["failed"].as_u64().unwrap_or_default(), 0, "{slice}");
    }
}
