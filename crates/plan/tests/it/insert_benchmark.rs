//! The shipped Insert Benchmark is the published one.

use crate::{catalog, shipped};
use model::{
    plan::{PhaseKind, Plan},
    script::{End, Pairing, Script, Value},
    workload::{Arrival, Mode, Spacing},
};
use plan::{Overrides, load_experiment, render};
use values::generator::{Filler, Uniform};

fn tiny() -> Plan {
    shipped("insert-benchmark", &[]).unwrap()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.phases.iter().map(|phase| phase.name.as_str()).collect()
}

/// The amounts of one phase: rows of an insert, operations of a delete, rate of the inserts.
fn amounts(plan: &Plan, phase: &str) -> (Option<u64>, Option<u64>, Option<f64>) {
    let phase = plan.phases.iter().find(|other| other.name == phase).unwrap();
    let role = |name: &str| phase.script.roles.iter().find(|role| role.name == name);
    let rows = role("insert").map(|role| match role.end {
        End::Rows(rows) => rows,
        other => panic!("{other:?}"),
    });
    let deletes = role("delete").map(|role| match role.end {
        End::Operations(operations) => operations,
        other => panic!("{other:?}"),
    });
    let rate = role("insert").and_then(|role| {
        if let Arrival::Open { spacing, .. } = role.arrival {
            assert_eq!(spacing, Spacing::Even);
        }
        role.arrival.per_second()
    });
    (rows, deletes, rate)
}

#[test]
fn the_steps_have_their_published_names_and_order() {
    let expected = [
        "l.i0", "l.x.rows", "l.x", "l.i1", "l.i2", "settle", "qr100", "qp100", "qr500", "qp500",
        "qr1000", "qp1000",
    ];
    assert_eq!(names(&tiny()), expected);
    let early = shipped("insert-benchmark", &["suite=insert-benchmark-2021"]).unwrap();
    let rates = [100, 200, 400, 600, 800, 1000];
    let queries = rates.iter().flat_map(|rate| [1, 2].map(|turn| format!("q{rate}.{turn}")));
    let expected =
        ["l.i0", "l.x.rows", "l.x", "l.i1"].map(str::to_owned).into_iter().chain(queries);
    let mut steps = names(&early);
    steps.retain(|name| !name.starts_with("settle"));
    assert_eq!(steps, expected.collect::<Vec<_>>());
    let index = &tiny().phases[2];
    assert_eq!((index.kind, index.group.as_str()), (PhaseKind::Index, "load"));
}

#[test]
fn the_published_amounts_are_those_of_the_presets() {
    let plan = |set: &str| shipped("insert-benchmark", &[&format!("preset={set}")]).unwrap();
    let check = |plan: &Plan, phase: &str, expected| {
        assert_eq!(amounts(plan, phase), expected, "{phase}");
    };
    let small = plan("cached-small");
    check(&small, "l.i0", (Some(30_000_000), None, None));
    check(&small, "l.i1", (Some(40_000_000), Some(800_000), None));
    check(&small, "l.i2", (Some(10_000_000), Some(2_000_000), None));
    check(&small, "qr100", (Some(180_000), Some(3_600), Some(2.0)));
    check(&small, "qp1000", (Some(1_800_000), Some(36_000), Some(20.0)));
    assert_eq!(small.phases[6].seconds, 1800.0);
    let large = plan("cached-large");
    assert_eq!((large.experiment.tables, large.experiment.rows), (20, 10_000_000));
    assert_eq!(large.phases[0].clients, 20);
    check(&large, "l.i1", (Some(16_000_000), Some(320_000), None));
    // Rates are of each client; those of a role are over all its connections.
    check(&large, "qr500", (Some(900_000), Some(18_000), Some(200.0)));
    assert_eq!(large.phases[8].seconds, 1800.0);
    let io = plan("io-bound");
    check(&io, "l.i1", (Some(4_000_000), Some(80_000), None));
    let early = shipped("insert-benchmark", &["suite=insert-benchmark-2021", "preset=500m"]);
    check(&early.unwrap(), "l.i1", (Some(10_000_000), None, None));
}

#[test]
fn every_server_of_the_wide_example_does_the_same() {
    let plan = shipped("insert-benchmark-all", &[]).unwrap();
    assert_eq!(amounts(&plan, "l.i0").0, Some(2_000_000));
    assert_eq!(amounts(&plan, "l.i1").0, Some(400_000));
    assert_eq!(amounts(&plan, "l.i2").0, Some(100_000));
    assert_eq!(amounts(&plan, "qp500").0, Some(30_000));
    let engine = |label: &str| {
        let subject = plan.subjects.iter().find(|subject| subject.label == label).unwrap();
        subject.config.engine.clone()
    };
    assert_eq!(engine("mariadb-10.11.19").as_deref(), Some("innodb"));
    assert_eq!(engine("mariadb-10.11.19-myrocks").as_deref(), Some("rocksdb"));
    assert_eq!(engine("postgres-18.6"), None);
    assert_eq!(plan.base, ["mysql-5.6.24"]);
}

#[test]
fn the_wait_follows_the_published_rule() {
    let settle = |set: &[&str]| {
        let plan = shipped("insert-benchmark", set).unwrap();
        let phase = plan.phases.into_iter().find(|phase| phase.kind == PhaseKind::Settle);
        let settle = phase.unwrap().settle.unwrap();
        (settle.floor_seconds, settle.ceiling_seconds)
    };
    assert_eq!(settle(&[]), (5.0, 60.0));
    assert_eq!(settle(&["preset=cached-small"]), (90.0, 360.0));
    assert_eq!(settle(&["preset=cached-large"]), (260.0, 1040.0));
    assert_eq!(settle(&["preset=io-bound"]), (860.0, 3440.0));
    assert_eq!(settle(&["preset=io-bound", "rows=5000000000"]), (1200.0, 4800.0));
    assert_eq!(settle(&["parameters.settle_seconds=30"]), (30.0, 60.0));
}

/// A workload of the catalog with its own defaults.
fn script(name: &str) -> Script {
    catalog().workload(name).unwrap().defaults().unwrap()
}

/// The first op of that name.
fn generators(script: &Script, op: &str) -> Vec<Value> {
    let op = script.ops().find(|other| other.name == op).unwrap();
    op.statements.iter().flat_map(|one| &one.args).map(|arg| arg.value.clone()).collect()
}

#[test]
fn rows_deletes_and_queries_are_the_published_ones() {
    let churn = script("ibench-churn");
    let uniform = |high: i64| Value::from(Uniform { low: 0, high });
    let filler = Value::from(Filler { low: 10, high: 20, random_percent: 50 });
    let row = [Value::Now, uniform(999), uniform(99_999), uniform(9_999), uniform(499), filler];
    assert_eq!(generators(&churn, "insert"), row);
    let delete = churn.ops().find(|op| op.name == "delete").unwrap();
    let [min, delete] = delete.statements.as_slice() else { panic!("{delete:?}") };
    assert_eq!(min.capture.as_deref(), Some("min_id"));
    assert_eq!(min.every, Some(1001));
    let advance = delete.advance.as_ref().unwrap();
    let batch = catalog().workload("ibench-churn").unwrap().parameters["batch"];
    assert_eq!((advance.name.as_str(), advance.by), ("min_id", batch));
    assert!(delete.sql_for["mysql"].ends_with("ORDER BY transactionid ASC LIMIT ?"));
    let names = |script: &Script| -> Vec<(String, bool)> {
        script.roles.iter().map(|role| (role.name.clone(), role.leads)).collect()
    };
    let led = |name: &str, leads| (name.to_owned(), leads);
    assert_eq!(names(&churn), [led("insert", true), led("delete", false)]);
    let pairs: Vec<_> = churn.roles.iter().map(|role| role.pairing.unwrap()).collect();
    assert_eq!(pairs, [Pairing { role: 1, lead: 8 }, Pairing { role: 0, lead: 8 }]);
    let point = script("ibench-point");
    let between = Value::Between { low: "min_id".to_owned(), high: "max_id".to_owned() };
    assert_eq!(generators(&point, "point"), [between]);
    assert_eq!(names(&point)[2], led("query", true));
    assert_eq!(names(&point).iter().filter(|(_, leads)| *leads).count(), 1);
    let range = script("ibench-range");
    for (op, index) in
        [("market", "marketsegment"), ("register", "registersegment"), ("pdc", "pdc")]
    {
        let op = range.ops().find(|other| other.name == op).unwrap();
        let forced = format!("FORCE INDEX ({{table}}_{index})");
        assert!(op.statements[0].sql_for["mysql"].contains(&forced), "{op:?}");
    }
}

#[test]
fn queries_of_2021_are_text_and_their_prices_are_those_of_rows() {
    let early = script("ibench-2021-range");
    let price = Value::Decimal { sum: vec!["customer".into(), "cents".into()], digits: 2 };
    assert_eq!(generators(&early, "insert")[4], price);
    for op in ["market", "pdc"] {
        assert_eq!(generators(&early, op), std::slice::from_ref(&price), "{op}");
    }
    for op in early.ops() {
        for server in ["mysql", "postgres", "sqlite"] {
            assert_eq!(op.statements[0].mode_on(server), Mode::Text, "{} on {server}", op.name);
        }
    }
}

#[test]
fn indexes_are_built_as_each_engine_can() {
    for name in ["ibench", "ibench-2021"] {
        let schema = catalog().schema(name).unwrap();
        let count = |engine: &str| schema.tables[0].indexes[engine].len();
        assert_eq!(["mysql", "rocksdb", "postgres", "sqlite"].map(count), [1, 3, 3, 3], "{name}");
        let all = &schema.tables[0].indexes["mysql"][0];
        assert_eq!(all.matches("ADD INDEX").count(), 3);
        assert!(!schema.tables[0].create["mysql"].contains("{partitions}"), "{name}");
    }
}

#[test]
fn tables_have_the_partitions_that_are_asked_for() {
    let set = ["parameters.partitions=8", "preset=cached-small"];
    let plan = shipped("insert-benchmark", &set).unwrap();
    let create = &plan.schemas[0].tables[0].create;
    // A part has an eighth of 30 M + 50 M + 100 + 2 * 1600 * 1800 rows.
    let first = "(PARTITION p0 VALUES LESS THAN (10720012), ";
    assert!(create["mysql"].contains(first), "{}", create["mysql"]);
    assert!(create["mysql"].ends_with("PARTITION p7 VALUES LESS THAN MAXVALUE)"));
    assert_eq!(create["postgres"].matches("PARTITION OF {table}").count(), 8);
    assert!(!create.contains_key("sqlite"), "it has none");
}

#[test]
fn the_first_try_takes_five_minutes_and_the_published_sizes_hours() {
    let estimate = |set: &[&str]| shipped("insert-benchmark", set).unwrap().estimate;
    let tiny = estimate(&[]);
    assert!((200.0..300.0).contains(&tiny.seconds), "{tiny:?}");
    let small = estimate(&["preset=cached-small"]);
    // Six phases of 1800 seconds are three hours for each of two servers.
    assert!((6.5..12.0).contains(&(small.seconds / 3600.0)), "{small:?}");
    let io = estimate(&["preset=io-bound"]);
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    assert!((80.0..250.0).contains(&gib(io.disk_bytes)), "{io:?}");
    let one =
        shipped("insert-benchmark", &["factors.build=[\"mysql@9\"]", "baseline.build=mysql@9"]);
    let half = one.unwrap().estimate.seconds / tiny.seconds;
    assert!((0.45..0.55).contains(&half), "{half}");
}

#[test]
fn the_plan_is_shown_as_it_will_happen() {
    let shown = render(&tiny());
    let shown: Vec<&str> = shown.lines().filter(|line| !line.starts_with("plan ")).collect();
    let expected = include_str!("golden/insert-benchmark.txt");
    assert_eq!(shown, expected.lines().collect::<Vec<_>>(), "\n{}", shown.join("\n"));
}

#[test]
fn postgres_alone_vacuums_before_each_query_step_of_2021_but_the_first() {
    let plan = shipped("insert-benchmark", &["suite=insert-benchmark-2021"]).unwrap();
    let is_settle = |phase: &model::plan::Phase| {
        let servers = phase.settle.as_ref().map(|settle| settle.servers.as_slice());
        servers.is_some_and(|servers| servers == ["postgres"])
    };
    for (before, phase) in plan.phases.iter().zip(&plan.phases[1..]) {
        let vacuumed = phase.name.starts_with('q') && phase.name != "q100.1";
        assert_eq!(is_settle(before), vacuumed, "{} before {}", before.name, phase.name);
    }
    assert!(
        render(&plan).contains("until calm, 30 min at most, only postgres"),
        "{}",
        render(&plan)
    );
}

#[test]
fn data_that_no_cache_holds_are_warned_of() {
    let warnings = |set: &[&str]| {
        let shown = render(&shipped("insert-benchmark", set).unwrap());
        shown.lines().filter(|line| line.starts_with("warning: rows and indexes take")).count()
    };
    assert_eq!(warnings(&[]), 0);
    assert_eq!(warnings(&["preset=cached-small"]), 2, "one for each subject");
}

#[test]
fn interleaved_warm_ups_are_left_out_and_said_to_be() {
    let shown = render(&shipped("insert-benchmark", &["design=interleaved"]).unwrap());
    let line = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("l.x.rows").contains("skipped, because"), "{shown}");
    assert!(line("settle").contains("until calm, 5 s at least, 60 s at most"), "{shown}");
}

#[test]
fn interleaved_phases_are_cut_into_as_many_pieces_as_rounds() {
    let plan = shipped("insert-benchmark", &["design=interleaved", "rounds=5"]).unwrap();
    let orders = &plan.blocks[0].orders;
    let rounds = |name: &str| {
        let phase = plan.phases.iter().position(|phase| phase.name == name).unwrap();
        orders[phase].len()
    };
    assert_eq!(["l.i0", "l.x", "l.i1", "qp1000"].map(rounds), [5, 1, 5, 5]);
    let with = |rows| shipped("insert-benchmark", &["design=interleaved", "rounds=5", rows]);
    // Batches of 100 rows: five pieces would insert more than was asked for.
    let error = with("rows=200").unwrap_err().to_string();
    let expected = "phase `l.i0` ends after 2 operations, but each of 5 rounds needs one";
    assert!(error.contains(expected), "{error}");
    assert!(with("rows=500").is_ok());
}

#[test]
fn the_factors_must_suit_phases_that_build_on_each_other() {
    let check = |set: &[&str], expected: &str| {
        let error = shipped("insert-benchmark", set).unwrap_err().to_string();
        assert!(error.contains(expected), "{set:?}:\n  got {error}");
    };
    check(
        &["factors.clients=[1,2]"],
        "`--set factors.clients=[1,2]`: the phases of this suite build on each other",
    );
    check(&["factors.batch=[5,50]"], "the phases of this suite build on each other");
    check(&["tables=4"], "`--set tables=4`: the suite has `clients` tables; leave `tables` out");
    check(
        &["preset=tny"],
        "`--set preset=tny`: unknown preset of the suite `tny`; did you mean `tiny`?",
    );
    check(
        &["parameters.inserts_per_secnd=5"],
        "unknown parameter `inserts_per_secnd`; did you mean `inserts_per_second`?",
    );
    check(
        &["parameters.inserted=0"],
        "`end.rows` of the role `insert` must be from 1 to 1000000000000; `inserts` is 0",
    );
    check(&["parameters.partitions=-1"], "-1 partitions; 0 to 8192 are possible");
    check(&["parameters.settle_seconds=90"], "the phase `settle` waits 90 to 60 seconds");
    check(
        &["arrival={ per_second = 5 }", "suite=insert-benchmark-2021"],
        "several roles, each with an `arrival` of its own",
    );
}

/// A row of tables that only a phase of the suite fills.
const LOOK: &str = r#"
help = "One row"
schema = "ibench"
counts = "operations"
[[op]]
name = "look"
table = "connection"
sql = "SELECT productid FROM {table} WHERE transactionid = ?"
args = [{ uniform = [1, 100] }]
"#;

const FILL_AND_LOOK: &str = r#"
help = "h"
order = "fixed"
[[phase]]
name = "fill"
workload = "ibench-load"
[[phase]]
workload = "./look.toml"
"#;

#[test]
fn what_fills_empty_tables_is_executed_before_what_looks_at_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let text = "question = \"Which?\"\nsuite = \"./own.toml\"\nfactors.build = [\"sqlite\"]\n";
    fs_err::write(&path, text).unwrap();
    fs_err::write(folder.path().join("look.toml"), LOOK).unwrap();
    let message = |suite: &str, design: &str, only: &[&str]| {
        fs_err::write(folder.path().join("own.toml"), suite).unwrap();
        let set = vec![format!("design={design}")];
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        let overrides = Overrides { set, only, ..Overrides::default() };
        let drafted = load_experiment(path.to_str().unwrap(), &catalog(), &overrides);
        drafted.map_or_else(|error| error.to_string(), |_| String::new())
    };
    let filled: [&[&str]; 3] = [&[], &["fill"], &["fill", "look"]];
    for only in filled {
        assert_eq!(message(FILL_AND_LOOK, "interleaved", only), "");
    }
    let left = message(FILL_AND_LOOK, "classic", &["look"]);
    let expected = "`--only look`: `look` would find empty tables, because `fill`, which fills \
                    them, is not executed before it; leave `--only` out";
    assert_eq!(left, expected);
    let warm_up = FILL_AND_LOOK.replace("\"fill\"", "\"fill\"\nkind = \"warmup\"");
    assert_eq!(message(&warm_up, "classic", &[]), "");
    let skipped = message(&warm_up, "interleaved", &[]);
    assert!(skipped.ends_with("the interleaved design skips warm-ups: give `fill` no `kind`"));
    let sorted = message(&FILL_AND_LOOK.replace("order = \"fixed\"\n", ""), "interleaved", &[]);
    assert!(sorted.contains("what only reads runs first"), "{sorted}");
}
