//! Loads into SQLite, and what the loaded rows must be whatever loads them.

use super::{fill, index, plan, referring, rows::TableRows};
use crate::{
    Error, protocol,
    wire::{Failure, RowSink, RowSource, Session, Split},
};
use model::{
    drive::{Endpoint, IndexJob, LoadIndexes, LoadJob, Target},
    schema::{Column, ColumnValue, Schema, Table},
};
use std::{collections::BTreeMap, path::Path};
use values::generator::{Generator, Integer, Template, Uniform};

fn drawn(name: &str, generator: Generator) -> Column {
    Column { name: name.to_owned(), value: ColumnValue::Drawn(generator) }
}

fn template(groups: usize) -> Generator {
    Generator::from(Template { template: vec!["###########"; groups].join("-") })
}

/// The classic table in two copies.
fn job(rows: u32, threads: u32) -> LoadJob {
    let create = "CREATE TABLE {table} (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, \
                  c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL) /* {engine} */";
    let statement = |key: &str, sql: &str| (key.to_owned(), vec![sql.to_owned()]);
    let table = Table {
        name: "sbtest{n}".to_owned(),
        copies: 2,
        rows: rows.into(),
        create: BTreeMap::from([("sqlite".to_owned(), create.to_owned())]),
        columns: vec![
            Column { name: "id".to_owned(), value: ColumnValue::RowNumber },
            drawn("k", Generator::from(Uniform { low: 1, high: rows.into() })),
            drawn("c", template(10)),
            drawn("pad", template(5)),
        ],
        indexes: [
            statement("sqlite", "CREATE INDEX k_{n} ON {table} (k)"),
            statement("mysql", "never for this dialect"),
        ]
        .into(),
        finish: [
            statement("any", "CREATE TABLE size_{n} AS SELECT {rows} AS n"),
            statement("sqlite", "INSERT INTO size_{n} SELECT count(*) FROM {table}"),
        ]
        .into(),
        ..Table::default()
    };
    let schema = Schema {
        name: "classic".to_owned(),
        tables: vec![table],
        constraints: [statement("sqlite", "CREATE TABLE last AS SELECT n FROM size_2")].into(),
        ..Schema::default()
    };
    LoadJob {
        schema,
        engine: "none".to_owned(),
        threads,
        seed: 7,
        indexes: LoadIndexes::Created,
        now_seconds: 0,
    }
}

fn target(path: &Path) -> Target {
    Target {
        initial_sql: vec!["PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF".to_owned()],
        ..Target::of("sqlite", Endpoint::File(path.to_owned()))
    }
}

fn one(session: &mut dyn Session, sql: &str) -> String {
    let answer = session.query(sql).unwrap();
    answer.rows[0][0].clone().unwrap()
}

#[test]
fn a_load_makes_tables_rows_indexes_and_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let target = target(&folder.path().join("a.db"));
    let report = fill(&target, &job(3000, 4)).unwrap();
    assert_eq!((report.rows, report.threads, report.method.as_str()), (6000, 1, "INSERT"));
    assert!(report.rows_seconds > 0.0 && report.index_seconds > 0.0, "{report:?}");

    let mut session = protocol::open(&target).unwrap();
    let mut check = |sql: &str, expected: &str| assert_eq!(one(session.as_mut(), sql), expected);
    check("SELECT count(*) FROM sbtest1", "3000");
    check("SELECT count(*) FROM sbtest2 WHERE id BETWEEN 1 AND 3000", "3000");
    check("SELECT group_concat(n) FROM size_2", "3000,3000");
    check("SELECT group_concat(n) FROM last", "3000,3000");
    check("SELECT count(*) FROM sqlite_master WHERE name IN ('k_1', 'k_2')", "2");
    check("SELECT count(*) FROM sbtest1 WHERE length(c) = 119 AND length(pad) = 59", "3000");
    check("SELECT count(*) FROM sbtest1 WHERE k < 1 OR k > 3000", "0");
    check("SELECT count(*) FROM sbtest1 JOIN sbtest2 USING (id) WHERE sbtest1.c = sbtest2.c", "0");
    check("SELECT typeof(k) || typeof(c) FROM sbtest1", "integertext");
}

#[test]
fn indexes_are_created_by_the_load_or_as_a_phase() {
    let folder = tempfile::tempdir().unwrap();
    let target = target(&folder.path().join("a.db"));
    let job = LoadJob { indexes: LoadIndexes::LeftOut, ..job(0, 2) };
    let report = fill(&target, &job).unwrap();
    assert_eq!((report.rows, report.threads), (0, 1));
    let mut session = protocol::open(&target).unwrap();
    let indexes = "SELECT count(*) FROM sqlite_master WHERE name IN ('k_1', 'k_2')";
    assert_eq!(one(session.as_mut(), "SELECT count(*) FROM sbtest2"), "0");
    assert_eq!(one(session.as_mut(), indexes), "0");
    let LoadJob { schema, engine, .. } = job;
    let phase = IndexJob { schema, engine };
    let times = index(&target, &phase).unwrap();
    let statements: Vec<&str> = times.iter().map(|time| time.sql.as_str()).collect();
    let expected = ["CREATE INDEX k_1 ON sbtest1 (k)", "CREATE INDEX k_2 ON sbtest2 (k)"];
    assert_eq!(statements, expected);
    assert!(times.iter().all(|time| time.seconds > 0.0), "{times:?}");
    assert_eq!(one(session.as_mut(), indexes), "2");
    let refused = index(&target, &phase).unwrap_err().to_string();
    // Both tables are refused at the same time: either may be told of.
    let either = ["k_1", "k_2"].map(|name| format!("failed: index {name} already exists"));
    assert!(either.iter().any(|words| refused.contains(words)), "{refused}");
}

#[test]
fn indexes_are_those_of_the_engine_else_of_the_dialect_else_of_any() {
    let mut job = job(1, 1);
    let key = |key: &str, sql: &str| (key.to_owned(), vec![sql.to_owned()]);
    job.schema.tables[0].indexes =
        [key("rocksdb", "R {n}"), key("mysql", "M {table}"), key("any", "A {rows}")].into();
    let check = |dialect: &str, engine: &str, expected: &str| {
        let job = IndexJob { schema: job.schema.clone(), engine: engine.to_owned() };
        let plans = plan::indexes(dialect, &job);
        assert_eq!(plans[0][1].statements, [expected], "{dialect} {engine}");
    };
    check("mysql", "RocksDB", "R 2");
    check("mysql", "InnoDB", "M sbtest2");
    check("mysql", "", "M sbtest2");
    check("postgres", "", "A 1");
}

#[test]
fn tables_are_those_of_the_engine_or_there_is_no_load() {
    let mut job = job(10, 1);
    let check = |dialect: &str, job: &LoadJob| {
        super::check(dialect, job).map_err(|error| error.to_string())
    };
    assert_eq!(check("sqlite", &job), Ok(()));
    let create = &mut job.schema.tables[0].create;
    create.insert("sqlite".to_owned(), "CREATE TABLE {table} (id INTEGER)".to_owned());
    let refused = check("sqlite", &job).unwrap_err();
    assert!(refused.contains("write `{engine}` in its `create` for `sqlite`"), "{refused}");
    job.engine.clear();
    assert_eq!(check("sqlite", &job), Ok(()));
}

#[test]
fn constraints_are_those_of_the_engine_or_there_is_no_load() {
    let mut job = job(10, 1);
    job.schema.constraints = [("innodb".to_owned(), vec!["K".to_owned()])].into();
    let mut of = |dialect: &str, engine: &str| {
        job.engine = engine.to_owned();
        plan::constraints(dialect, &job).map_err(|error| error.to_string())
    };
    assert_eq!(of("mysql", "InnoDB"), Ok(vec!["K".to_owned()]));
    assert_eq!(of("null", ""), Ok(Vec::new()));
    for (dialect, engine, name) in [("mysql", "RocksDB", "RocksDB"), ("sqlite", "", "sqlite")] {
        let refused = of(dialect, engine).unwrap_err();
        assert!(refused.contains(&format!("no constraints for `{name}`")), "{refused}");
    }
}

#[test]
fn a_failed_load_names_the_table_and_the_reason() {
    let check = |change: fn(&mut Table), expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job(10, 1);
        change(&mut job.schema.tables[0]);
        let error = fill(&target(&folder.path().join("a.db")), &job).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.lost());
    };
    check(|table| table.create.clear(), "has no `create` for `sqlite`; add one");
    check(|table| table.name = "t".to_owned(), "cannot create `t`: table t already exists");
    check(|table| table.columns[1].name = "z".to_owned(), "into `sbtest1`: table sbtest1 has no");
    check(
        |table| table.columns[0] = drawn("id", Generator::from(Integer { value: 1 })),
        "into `sbtest1`: UNIQUE constraint failed",
    );
}

#[test]
fn a_row_that_refers_to_one_that_is_not_there_yet_has_a_remedy() {
    let told = |message: &str| referring(Failure::own(message)).message().to_owned();
    let postgres = "insert or update on table \"o\" violates foreign key constraint \"f\"";
    let remedy = "; write foreign keys between tables into `[constraints]`, which are added when \
                  all rows are there";
    assert_eq!(told(postgres), format!("{postgres}{remedy}"));
    assert_eq!(told("disk full"), "disk full");
}

/// Rows as one line each.
#[derive(Default)]
struct Lines(Vec<String>, String);

impl RowSink for Lines {
    fn integer(&mut self, value: i64) {
        self.1 += &format!("{value} ");
    }

    fn text(&mut self, value: &[u8]) {
        self.1 += &format!("{} ", String::from_utf8_lossy(value));
    }

    fn vector(&mut self, value: &[f32]) {
        let values: Vec<String> = value.iter().map(f32::to_string).collect();
        self.1 += &format!("{} ", values.join(","));
    }

    fn null(&mut self) {
        self.1 += "NULL ";
    }

    fn end_row(&mut self) {
        self.0.push(std::mem::take(&mut self.1));
    }
}

fn lines(tables: &[plan::TablePlan], ranges: &[(usize, u64, u64)]) -> Vec<String> {
    let mut lines = Lines::default();
    for &(table, start, end) in ranges {
        let mut rows = TableRows::new(&tables[table].values, tables[table].seed, start, end);
        while rows.next_row(&mut lines) {}
    }
    lines.0
}

#[test]
fn the_rows_are_the_same_however_they_are_divided() {
    let tables = plan::tables("sqlite", &job(1000, 1)).unwrap();
    let whole = lines(&tables, &[(0, 1, 1001)]);
    assert_eq!(whole.len(), 1000);
    assert_eq!(lines(&tables, &[(0, 1, 400), (0, 400, 401), (0, 401, 1001)]), whole);
    assert_ne!(lines(&tables, &[(1, 1, 1001)]), whole, "tables must differ");
    let other = plan::tables("sqlite", &LoadJob { seed: 8, ..job(1000, 1) }).unwrap();
    assert_ne!(lines(&other, &[(0, 1, 1001)]), whole, "seeds must differ");
}

#[test]
fn lanes_cover_every_row_once() {
    let check = |rows: u32, split: Split, threads: u32, lanes_per_table: usize| {
        let tables = plan::tables("sqlite", &job(rows, 1)).unwrap();
        let lanes = plan::lanes(&tables, split, threads);
        assert_eq!(lanes.len(), 2 * lanes_per_table, "{rows} rows, {split:?}");
        let mut next = [1, 1];
        for lane in &lanes {
            for (start, end) in lane.transactions() {
                assert_eq!(start, next[lane.table]);
                assert!(start < end);
                next[lane.table] = end;
            }
        }
        assert_eq!(next, [u64::from(rows) + 1; 2], "{rows} rows, {split:?}");
    };
    check(0, Split::Ranges, 4, 1);
    check(1, Split::Ranges, 4, 1);
    check(999_999, Split::Ranges, 4, 1);
    check(1_000_001, Split::Ranges, 2, 2);
    check(10_000_000, Split::Ranges, 4, 4);
    check(10_000_000, Split::Tables, 4, 1);
    check(600_000, Split::Nothing, 4, 1);
}

#[test]
fn drawn_values_are_uniform_over_the_rows() {
    let tables = plan::tables("sqlite", &job(100, 1)).unwrap();
    let mut tenths = [0_u32; 10];
    let mut first_digits = [0_u32; 10];
    let mut last_digits = [0_u32; 10];
    // Rows far beyond the table's own, so that 100 values of `k` are each drawn 1000 times.
    for line in lines(&tables, &[(0, 1, 100_001)]) {
        let words: Vec<&str> = line.split(' ').collect();
        let k: usize = words[1].parse().unwrap();
        tenths[(k - 1) / 10] += 1;
        first_digits[usize::from(words[2].as_bytes()[0] - b'0')] += 1;
        last_digits[usize::from(words[3].as_bytes()[58] - b'0')] += 1;
    }
    for counts in [tenths, first_digits, last_digits] {
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        // 99.9 % quantile of chi-square with 9 degrees of freedom.
        assert!(chi < 27.88, "{counts:?}");
    }
}

#[test]
fn nothing_is_created_for_the_null_protocol() {
    let report = fill(&Target::null(), &job(5000, 2)).unwrap();
    assert_eq!((report.rows, report.threads), (10_000, 2));
}

#[test]
fn an_unknown_protocol_is_refused_with_the_known_ones() {
    let target = Target { protocol: "oracle".to_owned(), ..target(Path::new("x")) };
    let Err(error) = protocol::open(&target) else { panic!("must be refused") };
    let known = "(known: `mysql`, `postgres`, `sqlite`, `null`)";
    assert!(error.message().contains(known), "{error}");
    let error: Error = Error::server("cannot open a session")(error);
    assert!(error.to_string().starts_with("cannot open a session: there is no protocol `oracle`"));
}

/// Rows of a coded table of two warehouses, from some ranges of its units.
fn coded(name: &str, ranges: &[(u64, u64)]) -> Vec<Vec<String>> {
    let table = super::coded::find(name).unwrap();
    let mut lines = Lines::default();
    // One for all ranges, as those of a lane have.
    let mut maker = super::coded::Maker {
        shared_seed: 7,
        seed: 8,
        random: values::Random::new(0, 0),
        now: b"now".to_vec(),
        text: Vec::new(),
        permutation: (0, Vec::new()),
        first_rows: 3,
        walks: Default::default(),
        parameters: Default::default(),
        vectors: Default::default(),
    };
    for &(start, end) in ranges {
        let mut rows = super::coded::CodedRows::new(table, &mut maker, start, end);
        while rows.next_row(&mut lines) {}
    }
    let values = |line: String| line.split_whitespace().map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = lines.0.into_iter().map(values).collect();
    // A time has a blank inside.
    let words = table.columns.len() + usize::from(name == "tsbs.cpu");
    assert!(rows.iter().all(|row| row.len() == words), "{name}");
    rows
}

#[test]
fn coded_rows_are_the_same_however_they_are_divided() {
    let tpcc = ["tpcc.orders", "tpcc.order_line", "tpcc.customer", "tpcc.stock"];
    for name in tpcc.into_iter().chain(["tsbs.cpu", "vectors.items"]) {
        let whole = coded(name, &[(1, 7001)]);
        assert_eq!(whole, coded(name, &[(1, 2501), (2501, 2502), (2502, 7001)]), "{name}");
    }
}

#[test]
fn orders_agree_with_their_lines_and_each_customer_of_a_district_has_one() {
    // The last district of the first warehouse, and the first one of the second.
    let units = (27_001, 33_001);
    let (orders, lines) = (coded("tpcc.orders", &[units]), coded("tpcc.order_line", &[units]));
    assert_eq!(orders[0][..3], ["1", "10", "1"]);
    assert_eq!(orders[3000][..3], ["1", "1", "2"]);
    let mut counts = std::collections::BTreeMap::<&[String], u64>::new();
    for line in &lines {
        *counts.entry(&line[..3]).or_default() += 1;
        assert_eq!(line[6] == "NULL", line[0].parse::<u64>().unwrap() > 2100, "{line:?}");
    }
    for order in &orders {
        assert_eq!(order[6], counts[&order[..3]].to_string(), "{order:?}");
        assert_eq!(order[5] == "NULL", order[0].parse::<u64>().unwrap() > 2100, "{order:?}");
    }
    for district in orders.chunks(3000) {
        let mut customers: Vec<u64> =
            district.iter().map(|order| order[3].parse().unwrap()).collect();
        assert_ne!(customers[..3], [1, 2, 3]);
        customers.sort_unstable();
        assert!(customers.into_iter().eq(1..=3000));
    }
}
