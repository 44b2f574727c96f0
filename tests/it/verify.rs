//! `dbdyno verify`: all published rows do what they say, and what does not is told.

use crate::lab::{Lab, text};

/// Every line of the table must end in as many `ok` as there are subjects.
fn check_published(factors: &[&str], subjects: usize) {
    let lab = Lab::with_small_logs();
    let mut arguments = vec!["verify", "--operations", "4"];
    for factor in factors {
        arguments.extend(["--set", factor]);
    }
    let out = lab.succeed(&arguments);
    let good =
        |line: &&str| line.split_whitespace().filter(|word| *word == "ok").count() == subjects;
    assert_eq!(out.lines().filter(good).count(), 48, "47 rows and the settings\n{out}");
    assert!(out.contains("0 failures, 0 documented deviations"), "{out}");
}

#[test]
fn every_published_row_does_what_it_says_on_sqlite() {
    check_published(&[], 1);
    check_published(&["factors.config=[\"rollback\",\"wal\"]"], 2);
}

#[test]
fn every_published_row_does_what_it_says_on_postgres() {
    check_published(&["factors.build=[\"postgres@18\",\"postgres@11\"]"], 2);
}

#[test]
fn every_published_row_does_what_it_says_on_mysql() {
    check_published(&["factors.build=[\"mysql@5.6.24\",\"mysql@9\"]"], 2);
}

#[test]
fn every_published_row_does_what_it_says_on_innodb_and_myrocks_of_mariadb() {
    let factors =
        ["factors.build=[\"mariadb@10.11.19\"]", "factors.config=[\"innodb\",\"myrocks\"]"];
    check_published(&factors, 2);
}

/// The queries of the Insert Benchmark use the index that is meant for each, and its deletes the
/// primary key.
fn check_insert_benchmark(builds: &str, subjects: usize) {
    for (suite, phases) in [("insert-benchmark", 9), ("insert-benchmark-2021", 14)] {
        let lab = Lab::with_small_logs();
        let head = format!("question = \"Which indexes?\"\nsuite = \"{suite}\"\nblocks = 1\n");
        lab.write("ibench.toml", &format!("{head}design = \"classic\"\n[factors]\n{builds}\n"));
        let rows = ["--rows", "20000", "--details"];
        let out = lab.succeed(&[&["verify", "ibench.toml"], &rows[..]].concat());
        let subjects = model::number::counted(subjects, "subject");
        let told = format!("{phases} phases on {subjects} with ");
        assert!(out.contains(&told) && out.contains(" in all tables: 0 "), "{out}");
        for index in ["pi1_marketsegment", "pi1_registersegment", "pi1_pdc"] {
            assert!(out.contains(index), "{suite}: {index}\n{out}");
        }
    }
}

#[test]
fn the_insert_benchmark_uses_its_indexes_on_sqlite_and_postgres() {
    check_insert_benchmark("build = [\"sqlite\", \"postgres@11\", \"postgres@18\"]", 3);
}

#[test]
fn the_insert_benchmark_uses_its_indexes_on_mysql() {
    check_insert_benchmark("build = [\"mysql@5.6.24\", \"mysql@9\"]", 2);
}

#[test]
fn the_insert_benchmark_uses_its_indexes_on_innodb_and_myrocks_of_mariadb() {
    let factors = "build = [\"mariadb@10.11.19\"]\nconfig = [\"innodb\", \"myrocks\"]";
    check_insert_benchmark(factors, 2);
}

/// All servers answer queries of time series alike, and take their rows.
#[test]
fn time_series_are_the_same_on_all_servers() {
    let check = |suite: &str, parameters: &str, phases: usize| {
        let lab = Lab::with_small_logs();
        let text = format!(
            "question = \"Do they answer alike?\"\nsuite = \"{suite}\"\nblocks = 1\n\
             parameters = {{ {parameters} }}\n[factors]\n\
             build = [\"postgres@18\", \"mysql@9\", \"mariadb@11.8\", \"sqlite\"]\n"
        );
        lab.write("series.toml", &text);
        let few = ["--operations", "2", "--rows", "100"];
        let out = lab.succeed(&[&["verify", "series.toml"], &few[..]].concat());
        assert!(out.contains(&format!("\n{phases} phases on 4 subjects with ")), "{out}");
        assert!(out.contains(" in all tables: 0 failures, 0 documented deviations"), "{out}");
    };
    check("tsbs", "hosts = 8, hours = 12, window_hours = 12", 15);
    check("tsbs-load", "hosts = 8, inserts = 360, rows_per_table = 20, rows_per_statement = 10", 2);
    check("tsbm", "devices = 10", 3);
}

const STOCK: &str = "
question = \"Do the workloads of stock sysbench do what they say?\"
workloads = [\"oltp_point_select\", \"oltp_read_only\", \"oltp_read_write\", \"oltp_update_index\",
  \"oltp_update_non_index\", \"oltp_write_only\", \"oltp_delete\", \"oltp_insert\"]
blocks = 1
rows = 100_000
";

/// Verifies the eight workloads; those with a factor of their own once for each of its levels.
fn check_stock(lines: &str, (phases, subjects): (usize, usize)) {
    let lab = Lab::with_small_logs();
    lab.write("stock.toml", &format!("{STOCK}{lines}\n"));
    let out = lab.succeed(&["verify", "stock.toml", "--operations", "4"]);
    assert!(out.contains(&format!("{phases} phases on {subjects} subjects")), "{out}");
    assert!(out.contains("0 failures, 0 documented deviations"), "{out}");
}

#[test]
fn the_workloads_of_stock_sysbench_do_what_they_say() {
    let builds = |list: &str| format!("[factors]\nbuild = [{list}]");
    check_stock(&builds("\"sqlite\", \"postgres@18\", \"postgres@11\""), (8, 3));
    check_stock(&builds("\"mysql@5.6.24\", \"mysql@9\""), (8, 2));
    let engines = "config = [\"innodb\", \"myrocks\"]";
    check_stock(&format!("{}\n{engines}", builds("\"mariadb@10.11.19\"")), (8, 2));
}

#[test]
fn the_options_of_stock_sysbench_do_what_they_say() {
    let knobs = "parameters = { delete_inserts = 3, range_size = 10 }\nmode = \"text\"";
    let builds = "build = [\"sqlite\", \"postgres@18\", \"mysql@9\"]";
    // Three of the eight have transactions that can be skipped.
    check_stock(&format!("{knobs}\n[factors]\n{builds}\nskip_trx = [0, 1]"), (11, 3));
}

/// Keys of a workload's statement, and parts of what must be said about them.
struct Case {
    name: &'static str,
    lines: &'static str,
    more: &'static str,
    code: i32,
    parts: &'static [&'static str],
}

const POINT: &str =
    "sql = \"SELECT c FROM {table} WHERE id = ?\"\nargs = [{ uniform = [1, \"rows\"] }]";

const CASES: &[Case] = &[
    Case {
        name: "rows",
        lines: "expect = { rows = 2 }",
        more: "",
        code: 2,
        parts: &["ROWS", "FAILED own on sqlite", "returned 1 row instead of 2"],
    },
    Case {
        name: "plan",
        lines: "index = \"k_{n}\"",
        more: "",
        code: 2,
        parts: &["PLAN", "uses the index `primary`; the workload says `k_1`"],
    },
    Case {
        name: "keys",
        lines: "expect = { keys = 5 }",
        more: "",
        code: 2,
        parts: &["KEYS", "neither a list nor two ends of a range"],
    },
    Case {
        name: "documented",
        lines: "index = \"k_{n}\"",
        more: "[[deviation]]\nserver = \"sqlite\"\ncheck = \"plan\"\nreason = \"it knows better\"",
        code: 0,
        parts: &["plan deviates", "(it knows better)", "0 failures, 1 documented deviation."],
    },
    Case {
        name: "documented for another server",
        lines: "index = \"k_{n}\"",
        more: "[[deviation]]\nserver = \"mysql\"\ncheck = \"plan\"\nreason = \"it knows better\"",
        code: 2,
        parts: &["PLAN"],
    },
];

#[test]
fn what_is_not_as_the_file_says_is_told_and_fails() {
    for case in CASES {
        let lab = Lab::with_small_logs();
        let op = format!("[[op]]\nname = \"a\"\n{POINT}\n{}\n{}", case.lines, case.more);
        lab.write("own.toml", &format!("help = \"h\"\nschema = \"sbtest\"\n{op}\n"));
        let head = "question = \"?\"\nworkloads = [\"./own.toml\"]\n";
        lab.write("mine.toml", &format!("{head}factors.build = [\"sqlite\"]\n"));
        let output = lab.run(&["verify", "mine.toml", "--rows", "1000"]);
        let out = text(&output.stdout);
        assert_eq!(output.status.code(), Some(case.code), "{}: {out}", case.name);
        for part in case.parts {
            assert!(out.contains(part), "{}: `{part}` is not in\n{out}", case.name);
        }
    }
}

#[test]
fn a_statement_that_writes_more_on_one_server_is_told() {
    let lab = Lab::with_small_logs();
    lab.write(
        "own.toml",
        "help = \"h\"\nschema = \"sbtest\"\n[[op]]\nname = \"a\"\n\
         sql = \"DELETE FROM {table} WHERE id = ?\"\n\
         sql_for.mysql = \"DELETE FROM {table} WHERE id > ? LIMIT 2\"\n\
         args = [{ uniform = [1, \"rows / 2\"] }]\n",
    );
    let head = "question = \"?\"\nworkloads = [\"./own.toml\"]\n";
    lab.write("mine.toml", &format!("{head}factors.build = [\"sqlite\", \"mysql@9\"]\n"));
    let (out, _) = lab.ends(2, &["verify", "mine.toml", "--rows", "1000"]);
    assert!(out.contains("changed 20 rows where `sqlite-bundled` changed 10"), "{out}");
}

#[test]
fn a_list_that_is_not_as_long_as_it_says_is_told() {
    let lab = Lab::with_small_logs();
    lab.write(
        "own.toml",
        "help = \"h\"\nschema = \"sbtest\"\n[[op]]\nname = \"a\"\nindex = \"primary\"\n\
         sql = \"SELECT c FROM {table} WHERE id IN ({list})\"\n\
         args = [{ uniform = [1, \"rows\"], list = 10 }]\n\
         expect = { rows = [1, 100], keys = 100 }\n",
    );
    let head = "question = \"?\"\nworkloads = [\"./own.toml\"]\n";
    lab.write("mine.toml", &format!("{head}factors.build = [\"sqlite\"]\n"));
    let (out, _) = lab.ends(2, &["verify", "mine.toml"]);
    assert!(out.contains("asks for 10 keys instead of 100"));
}
