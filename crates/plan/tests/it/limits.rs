//! Numbers as people write them, what is beyond any use, and what is no file of ours.

use crate::{Host, catalog, draft, plan_of, shipped};
use plan::{Overrides, load_experiment};

fn experiment(head: &str, factors: &str) -> String {
    format!("question = \"Which?\"\n{head}\n[factors]\nbuild = [\"sqlite\"]\n{factors}\n")
}

fn message(text: &str) -> String {
    plan_of(text).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn counts_are_written_as_people_write_them() {
    let quick = "suite = \"quick\"";
    for rows in ["1_000_000", "\"1M\"", "1e6", "\"1e6\"", "\"1000k\"", "\"1_000_000\""] {
        let plan = plan_of(&experiment(&format!("{quick}\nrows = {rows}"), "")).unwrap();
        assert_eq!(plan.experiment.rows, 1_000_000, "{rows}");
    }
    for rows in ["1M", "1e6", "1_000_000", "1000k", "\"1M\""] {
        let plan = shipped("quickstart", &[&format!("rows={rows}")]).unwrap();
        assert_eq!(plan.experiment.rows, 1_000_000, "{rows}");
    }
    let levels = "clients = [\"1k\", 2e3, 3]\n[parameters]\nrange = \"10k\"";
    let head = format!("{quick}\nbaseline = {{ clients = \"1k\" }}");
    let plan = plan_of(&experiment(&head, levels)).unwrap();
    let clients = &plan.experiment.factors.iter().find(|one| one.name == "clients").unwrap().levels;
    assert_eq!(clients, &["1000", "2000", "3"]);
    assert_eq!(plan.experiment.baseline["clients"], "1000");
    assert!(plan.phases.iter().any(|phase| phase.parameters.get("range") == Some(&10_000)));
    let rate = "arrival = { per_second = \"10k\" }\nworkloads = [\"point-query\"]";
    let plan = plan_of(&experiment(rate, "")).unwrap();
    let rate = format!("{:?}", plan.phases[0].arrival);
    assert!(rate.contains("per_second: 10000.0"), "{rate}");
}

#[test]
fn what_is_no_count_is_named_with_its_key() {
    let quick = |line: &str| experiment(&format!("suite = \"quick\"\n{line}"), "");
    let check = |line: &str, expected: &str| {
        let got = message(&quick(line));
        assert!(got.contains(expected), "{line}:\n  got {got}");
        assert!(got.contains("mine.toml:3`: "), "{line}:\n  got {got}");
    };
    check("rows = \"1 M\"", "`rows` must be a whole number that is not negative");
    check("rows = \"1 M\"", "not `\"1 M\"`");
    check("rows = 1.5", "`rows` must be a whole number that is not negative");
    check("rows = 1000000000000000000", "`rows` must be a whole number from 1 to 1000000000000");
    check("rows = 99999999999999999999", "`rows` must be a whole number from 1 to 1000000000000,");
    check("rows = \"99999999999G\"", "`rows` must be a whole number from 1 to 1000000000000,");
    check("rows = 1e19", "`rows` must be a whole number from 1 to 1000000000000,");
    check("blocks = 5000000000", "`blocks` must be a whole number from 1 to 10000, not");
    check("blocks = 10000\nrounds = 10000", "slices, and at most 5000000 can be planned: lower");
    check("rows = 1e12\ntables = 10000", "`rows` in each of 10000 tables must be a whole number");
    check("seed = 99999999999999999999", "a whole number of at most 9223372036854775807, not");
    check("rows = nan", "not `nan`");
    check("rounds = []", "`rounds` must be a whole number that is not negative");
    check("question = 5", "this is not TOML: duplicate key `question`; remove one of them");
    check("preset = 5", "`preset` must be a text in quotes, not `5`");
    check("require = 5", "`require` must be a list in brackets, not `5`");
    check("slice_seconds = \"2\"", "`slice_seconds` must be a number, not `\"2\"`");
    check("slice_seconds = 0", "`slice_seconds` must be from 0.01 to 604800 seconds (a week)");
    check("slice_seconds = 1e9", "(a week), not `1000000000`");
    check("arrival = { per_second = true }", "`arrival.per_second` must be a number, such as");
    check("arrival = { spacing = \"odd\" }", "`arrival.spacing` must be `even` or `poisson`");
    check("arrival = { rate = 5 }", "unknown key `rate`; known: `per_second`, `spacing`");
    check("arrival = 5", "`arrival` must be \"closed\" or a table such as");
    check("parameters = { range = \"x\" }", "`parameters.range` must be a whole number");
    check("parameters = 5", "`parameters` must be a table, not `5`");
    check("servers = { a = { basedir = 5 } }", "`servers.a.basedir` must be a text in quotes");
    check("servers = { a = { version = 5 } }", "`servers.a.version` must be a text in quotes");
    check("servers = { a = {} }", "the key `server` is missing; add it");
    check("servers = { a = 5 }", "`servers.a` must be a table, not `5`");
    check("baseline = { build = [] }", "`baseline.build` must be a string or a number, not `[]`");
    let transports = "must be `socket`, `tcp`, `tls`, `tls1.2` or `tls1.3`, not `udp`";
    check("configs = { a = { transport = \"udp\" } }", transports);
    check("configs = { a = { settings = { x = [] } } }", "`configs.a.settings.x` must be a value");
}

#[test]
fn rates_and_lengths_beyond_any_host_are_refused() {
    let point = |line: &str| experiment(&format!("workloads = [\"point-query\"]\n{line}"), "");
    let check = |line: &str, expected: &str| {
        let got = message(&point(line));
        assert!(got.contains(expected), "{line}:\n  got {got}");
    };
    let rate = |rate: &str| format!("arrival = {{ per_second = {rate} }}");
    check(&rate("1e12"), "mine.toml:3`: the phase `point-query` asks for 1000000000000 operations");
    check(&rate("1e12"), "no host executes more than 10000000: lower `per_second`");
    check(&rate("-5"), "`per_second` is -5; it must be above 0");
    check(&rate("nan"), "`per_second` is NaN; it must be above 0");
    check(&rate("5e6"), "5000000 operations per second of 1 client; one client executes at most");
    check(&rate("5e6"), "use at least 5 clients");
    check(&rate("0.01"), "less than one in a slice of 2 s: raise the rate");
    assert_eq!(message(&point(&rate("1000"))), "");
    let many = experiment(
        "workloads = [\"point-query\"]\narrival = { per_second = 5e6 }",
        "clients = [8]",
    );
    assert_eq!(message(&many), "", "enough clients");
}

#[test]
fn levels_are_crossed_up_to_a_limit() {
    let levels = |count: usize| (0..count).map(|level| level.to_string()).collect::<Vec<_>>();
    let factor = |name: &str, count| format!("{name} = {:?}\n", levels(count));
    let planned = |first: String, second: String| {
        message(&experiment("workloads = [\"random-points\"]", &format!("{first}{second}")))
    };
    let refused = "more than 10000 variants, the most that can be planned: give them fewer levels";
    let got = planned(factor("environment", 101), factor("prefix", 100));
    assert!(got.contains(refused), "{got}");
    assert_eq!(planned(factor("environment", 5), factor("prefix", 4)), "");
    let numbers = |name: &str| format!("{name} = {:?}\n", (1..102).collect::<Vec<_>>());
    let got = planned(numbers("range"), numbers("clients"));
    assert!(got.contains("more than 10000 phases"), "{got}");
}

#[test]
fn only_regular_files_of_a_sane_size_are_read() {
    let check = |path: &str, expected: &str| {
        let error = load_experiment(path, &catalog(), &Overrides::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot read `{path}`: {expected}"));
    };
    check("/dev/zero", "it is not a regular file");
    check("/", "it is a folder; name a file in it");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    check(&path("none.toml"), "there is no such file");
    let large = fs_err::File::create(path("large.toml")).unwrap();
    large.set_len(2 << 30).unwrap();
    check(&path("large.toml"), "it is larger than 1048576 bytes, the most that is read");
    fs_err::write(path("bytes.toml"), [0xff, 0xfe]).unwrap();
    check(&path("bytes.toml"), "it is not UTF-8 text");
    let socket = std::os::unix::net::UnixListener::bind(path("socket.toml")).unwrap();
    check(&path("socket.toml"), "it is not a regular file");
    drop(socket);
}

#[test]
fn names_are_of_a_length_that_tables_hold() {
    let long = "n".repeat(70_000);
    let own = format!(
        "question = \"?\"\nsuite = \"quick\"\n[factors]\nbuild = [\"{long}\"]\n\
         [servers.{long}]\nserver = \"sqlite\"\n"
    );
    assert!(message(&own).contains("has 70000 bytes; use at most 128"));
    let folder = tempfile::tempdir().unwrap();
    let suite = |name: &str| {
        let text =
            format!("help = \"h\"\n[[phase]]\nworkload = \"point-query\"\nname = \"{name}\"\n");
        fs_err::write(folder.path().join("own.toml"), text).unwrap();
        let text = experiment("suite = \"./own.toml\"", "");
        let planned =
            draft(folder.path(), &text).and_then(|one| plan::plan(&one, &catalog(), &Host));
        planned.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(suite(&long).contains("has 70000 bytes; use at most 128"));
    assert!(suite("a\\u001b[31mb").contains("`a\\u{1b}[31mb`, has a control character"));
    assert_eq!(suite("short"), "");
}

#[test]
fn what_a_plan_shows_does_not_steer_a_terminal() {
    let text = experiment("suite = \"quick\"", "").replace("Which?", "a\\u001b[31m\\nb\\u202ec");
    let shown = plan::render(&plan_of(&text).unwrap());
    assert!(shown.starts_with("mine: a\\u{1b}[31m b\\u{202e}c\n"), "{shown}");
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn other_builds_need_no_other_baseline() {
    let plan = shipped("mysql-5.6-vs-9", &["factors.build=[\"postgres@18\", \"postgres@11\"]"]);
    assert_eq!(plan.unwrap().base, ["postgres-18.6"], "the first level serves");
    let folder = tempfile::tempdir().unwrap();
    let text = "extends = \"mysql-5.6-vs-9\"\n[factors]\nbuild = [\"sqlite\"]\n";
    let plan = plan::plan(&draft(folder.path(), text).unwrap(), &catalog(), &Host).unwrap();
    assert_eq!(plan.base, ["sqlite-3.50.4"], "neither in a file that extends another");
    let wrong = format!("baseline = {{ build = \"mysql@5\" }}\n{text}");
    let error = draft(folder.path(), &wrong).unwrap_err().to_string();
    assert!(error.contains("mine.toml:1`: the baseline's `mysql@5` is not a level"), "{error}");
}

#[test]
fn numbers_of_coded_transactions_are_refused_where_they_are_set() {
    let check = |set: &[&str], expected: &str| {
        let got = shipped("tpcc-postgres-11-vs-18", set).map(|_| String::new());
        let got = got.unwrap_or_else(|error| error.to_string());
        assert!(got.contains(expected) && got.is_empty() == expected.is_empty(), "{set:?}: {got}");
    };
    check(&["parameters.warehouses=64", "parameters.home=3"], "");
    check(&["parameters.warehouses=0"], "--set parameters.warehouses=0`: `warehouses` must be");
    check(&["parameters.warehouses=1e9"], "--set parameters.warehouses=1e9`: `warehouses` must be");
    check(&["parameters.home=4"], "--set parameters.home=4`: `home` must be from 1 to 3, not `4`");
    check(&["factors.home=[1,4]"], "`home` must be from 1 to 3, not `4`");
    check(&["parameters.home=3"], "64 clients have 8 of them; use at least 64 `warehouses`");
    check(&["factors.warehouses=[1,10]"], "set `parameters.warehouses`");
    let old = "factors.build=[\"postgres@9.6\", \"postgres@11\"]";
    let base = "baseline.build=\"postgres@11\"";
    check(&[old, base], "");
    let reason = "`postgres@9.6` has none; use `procedures = 0` for it";
    check(&[old, base, "parameters.procedures=1"], reason);
}

#[test]
fn an_operation_starts_after_pauses_or_at_a_rate() {
    let text = "question = \"Which?\"\nworkloads = [\"tpcc-terminals\"]\n";
    let build = "[factors]\nbuild = [\"sqlite\"]\n";
    let plan = plan_of(&format!("{text}{build}")).unwrap();
    let ops = &plan.phases[0].script.roles[0].ops;
    let known: Vec<_> = ops.iter().map(|op| (op.pauses.keying_ms, op.pauses.think_ms)).collect();
    let expected = [(18, 12), (3, 12), (2, 10), (2, 5), (2, 5)];
    assert_eq!(known, expected.map(|(keying, think)| (1000 * keying, 1000 * think)));
    let refused = plan_of(&format!("{text}arrival = {{ per_second = 5 }}\n{build}")).unwrap_err();
    let reason = "operations of `tpcc-terminals` have `keying_ms` or `think_ms`";
    assert!(refused.to_string().contains(&format!(":3`: {reason}")), "{refused}");
}

#[test]
fn a_schema_without_a_suite_gets_the_parameters_of_the_experiment() {
    let plan = plan_of(
        "question = \"Which?\"\nworkloads = [\"tpcc\"]\nparameters = { warehouses = 3 }\n\
         [factors]\nbuild = [\"sqlite\"]\n",
    )
    .unwrap();
    assert_eq!(plan.schemas[0].tables[0].rows, 3);
    assert_eq!(plan.phases[0].parameters["warehouses"], 3);
}
