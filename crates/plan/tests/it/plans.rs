use crate::{Host, catalog, draft, plan_of, shipped};
use model::{
    experiment::Placement,
    plan::{PhaseKind, Plan},
};
use plan::{Overrides, load_experiment, render};

const TWO_BUILDS: &str = r#"
question = "Which?"
workloads = ["update-index", "point-query", "read-only"]
blocks = 3
[factors]
build = ["mysql@5.6", "mysql@9"]
"#;

fn phases(plan: &Plan) -> Vec<&str> {
    plan.phases.iter().map(|phase| phase.name.as_str()).collect()
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.subjects.iter().map(|subject| subject.label.as_str()).collect()
}

#[test]
fn labels_have_exact_versions_and_the_first_build_is_the_base() {
    let plan = plan_of(TWO_BUILDS).unwrap();
    assert_eq!(labels(&plan), ["mysql-5.6.24", "mysql-9.7.4"]);
    assert_eq!(plan.base, ["mysql-5.6.24"]);
    assert_eq!(plan.subjects[1].levels["build"], "mysql-9.7.4");
    assert_eq!(plan.experiment.factors[0].levels, ["mysql-5.6.24", "mysql-9.7.4"]);
    assert_eq!(plan.subjects[1].config.name, "base");
}

#[test]
fn reading_workloads_come_first() {
    assert_eq!(phases(&plan_of(TWO_BUILDS).unwrap()), ["point-query", "read-only", "update-index"]);
}

#[test]
fn the_same_experiment_gives_the_same_plan_and_another_seed_another_one() {
    let plan = |set: &[&str]| shipped("mysql-5.6-vs-9", set).unwrap();
    assert_eq!(plan(&[]), plan(&[]));
    assert_eq!(plan(&[]).hash.len(), 64);
    assert_ne!(plan(&[]).hash, plan(&["seed=7"]).hash);
    let orders = |plan: &Plan| plan.blocks.iter().map(|b| b.orders.clone()).collect::<Vec<_>>();
    assert_ne!(orders(&plan(&["blocks=9"])), orders(&plan(&["blocks=9", "seed=7"])));
}

#[test]
fn more_blocks_leave_the_first_ones_as_they_were() {
    let few = shipped("mysql-5.6-vs-9", &["blocks=2"]).unwrap();
    let many = shipped("mysql-5.6-vs-9", &["blocks=8"]).unwrap();
    assert_eq!(few.blocks[..], many.blocks[..2]);
}

#[test]
fn two_factors_make_subjects_of_all_their_levels() {
    let text = r#"
question = "Which?"
suite = "quick"
baseline = { build = "mysql@5.6" }
[factors]
build = ["mysql@5.6", "mysql@9"]
config = ["base", "durable"]
"#;
    let plan = plan_of(text).unwrap();
    let expected =
        ["mysql-5.6.24.base", "mysql-5.6.24.durable", "mysql-9.7.4.base", "mysql-9.7.4.durable"];
    assert_eq!(labels(&plan), expected);
    assert_eq!(plan.base, expected[..2]);
    assert_eq!(plan.experiment.baseline["build"], "mysql-5.6.24");
}

#[test]
fn a_build_against_itself_is_every_base_twice_with_copies_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
question = "Which?"
suite = "quick"
baseline = { build = "mysql@5.6" }
[factors]
build = ["mysql@9", "mysql@5.6"]
cpu_set = ["0", "1"]
"#;
    let draft = draft(folder.path(), text).unwrap();
    let plan = plan::plan_against_itself(&draft, &catalog(), &Host).unwrap();
    let twice =
        ["mysql-5.6.24.0", "mysql-5.6.24.0.again", "mysql-5.6.24.1", "mysql-5.6.24.1.again"];
    assert_eq!(labels(&plan), twice);
    assert_eq!(plan.base, ["mysql-5.6.24.0", "mysql-5.6.24.1"]);
    assert!(plan.subjects.iter().all(|one| one.build.version == "5.6"));
    assert_eq!(plan.experiment.name, "mine-against-itself");
    assert!(plan.blocks.iter().all(|block| block.start_order.len() == 4));
    assert_ne!(plan.hash, plan::plan(&draft, &catalog(), &Host).unwrap().hash);
}

#[test]
fn factors_without_restart_multiply_the_phases() {
    let text = r#"
question = "Which?"
workloads = ["point-query", "read-only"]
[factors]
build = ["sqlite"]
clients = [1, 4]
range = [10, 100]
"#;
    let plan = plan_of(text).unwrap();
    let expected = [
        "point-query.clients1",
        "point-query.clients4",
        "read-only.clients1.range10",
        "read-only.clients4.range10",
        "read-only.clients1.range100",
        "read-only.clients4.range100",
    ];
    assert_eq!(phases(&plan), expected);
    assert_eq!(plan.phases[5].parameters["range"], 100);
    assert_eq!((plan.phases[5].range, plan.phases[5].clients), (Some(100), 4));
    assert_eq!(plan.phases[5].levels["clients"], "4");
    assert_eq!(plan.phases[0].levels.get("range"), None, "point-query has no range");
}

#[test]
fn a_factor_replaces_the_ranges_of_a_suite() {
    let text = r#"
question = "Which?"
suite = "sysbench"
[factors]
build = ["sqlite"]
range = [20, 50]
"#;
    let plan = plan_of(text).unwrap();
    let names = phases(&plan);
    let random: Vec<_> = names.iter().filter(|name| name.starts_with("random")).collect();
    assert_eq!(random, [&"random-points.range20", &"random-points.range50"]);
}

#[test]
fn a_range_of_the_experiment_is_that_of_names_and_labels() {
    let of = |parameters: &str| {
        let text = format!(
            "question = \"Which?\"\nsuite = \"sysbench\"\n{parameters}\n\
             factors.build = [\"sqlite\"]\n"
        );
        plan_of(&text).unwrap()
    };
    let plan = of("parameters = { range = 7 }");
    let names = phases(&plan);
    assert_eq!(names.iter().filter(|name| name.starts_with("read-only")).count(), 6, "{names:?}");
    assert!(!names.iter().any(|name| name.contains(".range")), "{names:?}");
    let range = |plan: &Plan, name: &str| {
        plan.phases.iter().find(|phase| phase.name == name).unwrap().range
    };
    assert_eq!(range(&plan, "read-only"), Some(7));
    // A workload without a range keeps the published one.
    assert_eq!(range(&plan, "point-query"), range(&of(""), "point-query"));
}

#[test]
fn plans_are_the_same_however_their_numbers_are_written() {
    let of = |rows: &str| {
        let text = format!(
            "question = \"Which?\"\nworkloads = [\"point-query\"]\nrows = {rows}\n\
             factors.build = [\"sqlite\"]\n"
        );
        plan_of(&text).unwrap().hash
    };
    assert_eq!(of("1000000"), of("\"1M\""));
    assert_eq!(of("1000000"), of("1e6"));
    assert_ne!(of("1000000"), of("1000001"));
}

#[test]
fn a_suite_keeps_its_order_and_its_rules() {
    let set = ["suite=sysbench", "factors.clients=[1,40]", "tables=8", "rounds=2", "rows=1000000"];
    let plan = shipped("mysql-5.6-vs-9", &set).unwrap();
    let warm = &plan.phases[0];
    assert_eq!(
        (warm.name.as_str(), warm.kind, warm.clients),
        ("point-query.warm", PhaseKind::Warmup, 8)
    );
    assert_eq!(warm.parameters["clients"], 8);
    assert_eq!(plan.phases[1].kind, PhaseKind::Settle);
    assert_eq!(plan.phases[2].name, "scan.warmpre.clients1");
    let settles = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Settle);
    assert_eq!(settles.map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["settle", "settle2"]);
    assert_eq!(plan.blocks[0].orders[0].len(), 1, "a warm-up is done once");
    assert_eq!(plan.blocks[0].orders[4].len(), 2, "a measured phase has its rounds");
}

#[test]
fn the_classic_design_has_published_lengths_and_one_round() {
    let lengths = ["read_seconds=600", "write_seconds=900"];
    let set = [&["design=classic", "suite=sysbench", "rows=1000000"][..], &lengths].concat();
    let plan = shipped("mysql-5.6-vs-9", &set).unwrap();
    let seconds =
        |name: &str| plan.phases.iter().find(|phase| phase.name == name).map(|phase| phase.seconds);
    assert_eq!(seconds("point-query"), Some(600.0));
    assert_eq!(seconds("update-one"), Some(900.0));
    assert_eq!(seconds("write-only"), Some(600.0));
    assert_eq!(seconds("scan.warm"), Some(60.0));
    assert_eq!(seconds("settle"), Some(61.0));
    assert_eq!(plan.experiment.rounds, 1);
    let classic = "question = \"q\"\nsuite = \"quick\"\ndesign = \"classic\"\n\
                   factors.build = [\"sqlite\"]\n";
    let classic = plan_of(classic).unwrap().experiment;
    assert_eq!((classic.warmup_seconds, classic.placement), (5.0, Placement::Free));
    let block = &plan.blocks[0];
    assert!(block.orders.iter().all(|rounds| *rounds == [block.start_order.clone()]));
}

#[test]
fn factors_that_act_on_a_start_are_crossed_with_builds() {
    let text = r#"
question = "Which?"
workloads = ["point-query"]
baseline = { transport = "socket" }
[factors]
build = ["mysql@9", "postgres@18"]
transport = ["socket", "tcp"]
cpu_set = ["0", "1"]
prefix = ["nice"]
"#;
    let plan = plan_of(text).unwrap();
    let of = |build: &str| {
        ["socket.0", "socket.1", "tcp.0", "tcp.1"].map(|level| format!("{build}.{level}"))
    };
    let expected = [of("mysql-9.7.4"), of("postgres-18.6")].concat();
    assert_eq!(labels(&plan), expected);
    let base: Vec<&String> = expected.iter().filter(|label| label.contains("socket")).collect();
    assert_eq!(plan.base.iter().collect::<Vec<_>>(), base);
    let levels = &plan.subjects[3].levels;
    let levels: Vec<&str> = levels.values().map(String::as_str).collect();
    assert_eq!(levels, ["mysql-9.7.4", "1", "nice", "tcp"]);
    assert!(render(&plan).contains("\n  all: prefix = nice\n"), "no label tells it");
    assert!(plan.phases.iter().all(|phase| phase.levels.is_empty()), "no phase is multiplied");
    let first = text.replace("baseline = { transport = \"socket\" }", "");
    let base = plan_of(&first.replace(", \"postgres@18\"", "")).unwrap().base;
    assert_eq!(base, ["mysql-9.7.4.socket.0", "mysql-9.7.4.socket.1"]);
}

#[test]
fn servers_of_the_users_own_keep_their_name_and_folder() {
    let text = r#"
question = "Which?"
suite = "quick"
baseline = { build = "mysql@9" }
[factors]
build = ["mysql@9", "patched", "tcmalloc"]
config = ["mine"]
[servers.patched]
server = "mysql"
basedir = "builds/patched"
prefix = ["taskset", "-c", "0"]
[servers.tcmalloc]
server = "mysql"
version = "9"
environment = { LD_PRELOAD = "/usr/lib/libtcmalloc_minimal.so.4" }
[configs.mine]
extends = "base"
transport = "tcp"
settings = { innodb_buffer_pool_size = "2G", innodb_flush_neighbors = 0 }
"#;
    let plan = plan_of(text).unwrap();
    assert_eq!(labels(&plan), ["mysql-9.7.4", "patched", "tcmalloc"]);
    let build = &plan.subjects[1].build;
    assert!(build.basedir.as_ref().unwrap().ends_with("builds/patched"));
    assert!(build.basedir.as_ref().unwrap().is_absolute(), "it starts at the file's folder");
    assert_eq!(build.prefix, ["taskset", "-c", "0"]);
    assert_eq!(plan.subjects[2].build.environment[0].0, "LD_PRELOAD");
    let settings = &plan.subjects[0].config.settings;
    let pool = settings.iter().find(|setting| setting.name == "innodb_buffer_pool_size").unwrap();
    assert_eq!(pool.value, "2G");
    assert_eq!(settings.last().unwrap().name, "innodb_flush_neighbors");
}

#[test]
fn an_experiment_extends_another_and_the_command_line_extends_both() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = "extends = \"quickstart\"\nquestion = \"Mine?\"\nworkloads = [\"scan\"]\nrows = 5\n";
    fs_err::write(&file, text).unwrap();
    let overrides =
        Overrides { set: vec!["rows = 7".to_owned()], only: Vec::new(), ..Overrides::default() };
    let draft = load_experiment(file.to_str().unwrap(), &catalog(), &overrides).unwrap();
    let experiment = &draft.experiment;
    assert_eq!((experiment.name.as_str(), experiment.question.as_str()), ("mine", "Mine?"));
    assert_eq!((experiment.rows, experiment.blocks), (7, 5));
    assert!(experiment.text.contains("rows = 7") && experiment.text.contains("wal"));
    assert!(!experiment.text.contains("extends"));
    assert_eq!(phases(&plan::plan(&draft, &catalog(), &Host).unwrap()), ["scan"]);
}

#[test]
fn only_some_workloads_keep_their_warm_ups_and_debts() {
    let only = |names: &[&str]| {
        let only = names.iter().map(|name| (*name).to_owned()).collect();
        let overrides =
            Overrides { set: vec!["suite=sysbench".to_owned()], only, ..Overrides::default() };
        let draft = load_experiment("quickstart", &catalog(), &overrides).unwrap();
        let plan = plan::plan(&draft, &catalog(), &Host).unwrap();
        for phase in &plan.phases {
            let stem = phase.name.split('.').next().unwrap();
            let workload = phase.script.workload.as_str();
            assert!(phase.kind == PhaseKind::Settle || workload == stem, "{stem} is {workload}");
        }
        assert_eq!(plan.schemas.len(), 1, "only what is used is in the plan");
        let workloads = plan.phases.iter().map(|phase| phase.script.workload.as_str());
        let workloads: std::collections::BTreeSet<&str> = workloads.collect();
        assert!(workloads.len() <= names.len(), "{workloads:?}");
        plan.phases.into_iter().map(|phase| phase.name).collect::<Vec<_>>()
    };
    assert_eq!(only(&["hot-points"]), ["hot-points"]);
    assert_eq!(only(&["points-covered-si"]), ["points-covered-si.warm", "points-covered-si"]);
    assert_eq!(only(&["update-one", "hot-points"]), ["update-one", "settle", "hot-points"]);
    assert_eq!(only(&["random-points.range10"]), ["random-points.range10"]);
    assert_eq!(only(&["point-query.pre"]), ["point-query.warm", "point-query.pre"]);
}

#[test]
fn an_open_loop_is_said_once_for_all() {
    let set = ["arrival={ per_second = 1000, spacing = \"poisson\" }"];
    let plan = shipped("quickstart", &set).unwrap();
    let open = model::workload::Arrival::Open {
        per_second: 1000.0,
        spacing: model::workload::Spacing::Poisson,
    };
    assert!(plan.phases.iter().all(|phase| phase.arrival == open));
}

#[test]
fn the_mode_of_a_phase_is_the_factors_or_the_experiments_or_the_suites() {
    use model::workload::Mode::{Prepared, Text};
    let modes = |set: &[&str]| {
        let plan = shipped("quickstart", set).unwrap();
        let modes = plan.phases.iter().map(|phase| (phase.name.clone(), phase.mode));
        modes.collect::<Vec<_>>()
    };
    assert!(modes(&[]).iter().all(|(_, mode)| mode.is_none()), "statements say it themselves");
    assert!(modes(&["mode=text"]).iter().all(|(_, mode)| *mode == Some(Text)));
    let both = modes(&["factors.mode=[\"prepared\", \"text\"]"]);
    let named = |name: &str, mode| (name.to_owned(), Some(mode));
    let expected = [named("point-query.prepared", Prepared), named("point-query.text", Text)];
    assert_eq!(both[..2], expected);
    let warm = modes(&["suite=sysbench", "mode=prepared"]);
    assert_eq!((warm[0].1, warm[1].1), (Some(Prepared), None), "a settle phase executes nothing");
    let warm = modes(&["suite=sysbench", "factors.mode=[\"text\"]"]);
    assert_eq!((&*warm[0].0, warm[0].1), ("point-query.warm", None), "levels are of rows");
    let plan = shipped("quickstart", &["mode=text"]).unwrap();
    let json = serde_json::to_value(&plan.phases[0]).unwrap();
    assert_eq!(json["mode"], "text", "the record has it");
    let shown = render(&plan);
    assert!(shown.lines().any(|line| line.ends_with("1 x 0.2 s  all as text")), "{shown}");
}

#[test]
fn stock_workloads_have_the_options_of_stock_sysbench() {
    let text = r#"
question = "Which?"
workloads = ["oltp_read_write"]
parameters = { delete_inserts = 2, range_size = 10 }
[factors]
build = ["sqlite"]
skip_trx = [0, 1]
"#;
    let plan = plan_of(text).unwrap();
    assert_eq!(phases(&plan), ["oltp_read_write.skip_trx0", "oltp_read_write.skip_trx1"]);
    let op = |phase: usize| &plan.phases[phase].script.roles[0].ops[0];
    assert_eq!([0, 1].map(|phase| op(phase).transaction), [true, false]);
    let op = op(0);
    let [.., delete, insert] = op.statements.as_slice() else { panic!("{op:?}") };
    for one in [delete, insert] {
        assert_eq!(one.repeat, 2, "{}", one.sql);
    }
    assert!(insert.in_turn && !delete.in_turn);
    let wrong = plan_of(&text.replace("[0, 1]", "[2]")).unwrap_err().to_string();
    assert!(wrong.contains("`transaction` must be from 0 to 1; `1 - skip_trx` is -1"), "{wrong}");
}

#[test]
fn a_row_that_is_replaced_without_a_transaction_may_be_missed_by_other_clients() {
    let text = r#"
question = "Which?"
workloads = ["oltp_read_write"]
[factors]
build = ["sqlite"]
clients = [1]
skip_trx = [0, 1]
"#;
    let least = |text: &str| {
        let plan = plan_of(text).unwrap();
        [0, 1].map(|phase: usize| {
            let op = &plan.phases[phase].script.roles[0].ops[0];
            op.statements[0].expect.rows.unwrap().low
        })
    };
    assert_eq!(least(text), [1, 1]);
    assert_eq!(least(&text.replace("[1]", "[8]")), [1, 0]);
}

#[test]
fn the_published_oltp_tests_are_settings_of_the_stock_workloads() {
    let plan = shipped("quickstart", &["suite=oltp"]).unwrap();
    let statements = |name: &str| {
        let phase = plan.phases.iter().find(|phase| phase.name == name).unwrap();
        let op = &phase.script.roles[0].ops[0];
        let brackets = if op.transaction { 2 } else { 0 };
        op.statements.iter().map(|one| one.repeat).sum::<u64>() + brackets
    };
    let names = ["point-select", "simple-ranges", "sum-ranges", "order-ranges", "distinct-ranges"];
    for name in names.into_iter().chain(["update-nokey"]) {
        assert_eq!(statements(name), 1, "{name}");
    }
    assert_eq!((statements("oltp-ro"), statements("oltp-rw")), (16, 20));
}

#[test]
fn the_plan_reads_well() {
    let text = render(&shipped("quickstart", &[]).unwrap());
    let expected = [
        "quickstart: Is SQLite faster with the write-ahead log than with the rollback journal?",
        "data: sbtest, 1 table of 100,000 rows, 1 load per subject",
        "  A  sqlite-3.50.4.rollback  config rollback, base of the comparison",
        "  B  sqlite-3.50.4.wal       config wal",
        "    1  point-query       point          1 client  1 x 0.2 s",
        "5 blocks, 10 trials, 40 slices; letters are subjects, a group is a round",
    ];
    for line in expected {
        assert!(text.lines().any(|shown| shown == line), "no line `{line}` in\n{text}");
    }
}

#[test]
fn a_note_is_a_text_whatever_it_looks_like() {
    let check = |given: &str, expected: &str| {
        let overrides = Overrides { set: vec![format!("note={given}")], ..Overrides::default() };
        let draft = load_experiment("quickstart", &catalog(), &overrides).unwrap();
        assert_eq!(draft.experiment.note, expected);
    };
    // One short name of a commit in thirty has digits alone.
    check("1234567", "1234567");
    check("12e4567", "12e4567");
    check("2026-11-29", "2026-11-29");
    check("[wip] faster", "[wip] faster");
    check("\"1a2b3c\"", "1a2b3c");
}

#[test]
fn a_variable_of_the_environment_has_the_value_that_is_written() {
    let text = "question = \"Which?\"\nsuite = \"quick\"\nfactors.build = [\"mine\"]\n\
                [servers.mine]\nserver = \"mysql\"\nversion = \"9\"\n\
                environment = { A = true, B = 5, C = \"on\" }\n";
    let plan = plan_of(text).unwrap();
    let found = &plan.subjects[0].build.environment;
    let found: Vec<_> = found.iter().map(|(name, value)| [name.as_str(), value.as_str()]).collect();
    assert_eq!(found, [["A", "true"], ["B", "5"], ["C", "on"]]);
}
