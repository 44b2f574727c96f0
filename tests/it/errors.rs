//! Bad input: one clear sentence and exit code 2, as tables.

use crate::lab::{Lab, known, text, value};
use std::{os::unix::process::CommandExt, process::Command};

/// Lines of an experiment, and parts of the sentence that refuses it.
struct Case {
    name: &'static str,
    lines: &'static [&'static str],
    parts: &'static [&'static str],
}

pub(crate) const QUESTION: &str = "question = \"?\"";
pub(crate) const SUITE: &str = "suite = \"quick\"";
const SQLITE: &str = "factors.build = [\"sqlite\"]";

const CASES: &[Case] = &[
    Case {
        name: "unknown key",
        lines: &[QUESTION, SUITE, "row = 1000", SQLITE],
        parts: &["bad.toml:3", "`row`", "`rows`"],
    },
    Case {
        name: "unknown server",
        lines: &[QUESTION, SUITE, "factors.build = [\"mysqll@9\"]"],
        parts: &["`mysqll`", "`mysql`"],
    },
    Case {
        name: "unknown workload",
        lines: &[QUESTION, "workloads = [\"point-qery\"]", SQLITE],
        parts: &["`point-qery`", "`point-query`"],
    },
    Case {
        name: "version that does not exist",
        lines: &[QUESTION, SUITE, "factors.build = [\"postgres@8.1\"]"],
        parts: &["8.1", "postgres", "`basedir`"],
    },
    Case {
        name: "a base folder that is none",
        lines: &[
            QUESTION,
            SUITE,
            "factors.build = [\"mine\"]",
            "servers.mine = { server = \"mysql\", basedir = \"/nowhere/at/all\" }",
        ],
        parts: &["/nowhere/at/all"],
    },
    Case { name: "not TOML", lines: &["<html>no</html>"], parts: &["bad.toml:1"] },
    Case {
        name: "no space",
        lines: &[QUESTION, SUITE, "rows = 900_000_000_000", SQLITE],
        parts: &["no space", "MiB"],
    },
    Case {
        name: "a data folder of the user's own",
        lines: &[
            QUESTION,
            SUITE,
            "factors = { build = [\"postgres@18\"], config = [\"mine\"] }",
            "configs.mine = { extends = \"base\", settings = { data_directory = \"/srv/pg\" } }",
        ],
        parts: &["`mine`", "`data_directory`", "leave it out"],
    },
    Case {
        name: "a port without TCP",
        lines: &[
            QUESTION,
            SUITE,
            "factors = { build = [\"mysql@9\"], config = [\"mine\"] }",
            "configs.mine = { extends = \"base\", settings = { port = 3306 } }",
        ],
        parts: &["`mine`", "`port`", "`transport = \"tcp\"`"],
    },
    Case {
        name: "a setting that the embedded engine does not know",
        lines: &[
            QUESTION,
            SUITE,
            "rows = 100",
            "factors = { build = [\"sqlite\"], config = [\"mine\"] }",
            "configs.mine = { extends = \"base\", settings = { cashe_size = 5 } }",
        ],
        parts: &["`cashe_size`", "does not know"],
    },
    Case {
        name: "an unknown demand",
        lines: &[QUESTION, SUITE, "require = [\"speed\"]", SQLITE],
        parts: &["`speed`", "`perf`"],
    },
];

/// The sentence that a command must fail with, with exit code 2 and no panic.
pub(crate) fn refusal(command: &mut Command, name: &str) -> String {
    let output = command.output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{name}: {err}");
    let errors: Vec<&str> = err.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{name}: {err}");
    assert!(!err.contains("panicked"), "{name}: {err}");
    errors[0].to_owned()
}

#[test]
fn bad_input_gives_one_clear_sentence_and_exit_code_2() {
    for case in CASES {
        let lab = Lab::with_small_logs();
        lab.write("bad.toml", &case.lines.join("\n"));
        let err = refusal(&mut lab.command(&["run", "bad.toml"]), case.name);
        for part in case.parts {
            assert!(err.contains(part), "{}: `{part}` is not in: {err}", case.name);
        }
    }
}

#[test]
fn what_only_this_host_refuses_is_a_warning_of_a_plan() {
    let lab = Lab::with_small_logs();
    let lines = [QUESTION, SUITE, "rows = 900_000_000_000", SQLITE];
    lab.write("large.toml", &lines.join("\n"));
    let (out, err) = lab.ends(0, &["plan", "large.toml"]);
    assert!(err.contains("warning: `run` on this host refuses this: no space"), "{err}");
    assert!(out.contains("900,000,000,000 rows"), "{out}");
    // What is wrong in the file is wrong on every host.
    lab.write("wrong.toml", &[QUESTION, SUITE, "rows = 0", SQLITE].join("\n"));
    refusal(&mut lab.command(&["plan", "wrong.toml"]), "no rows");
}

#[test]
fn messages_about_very_long_names_stay_readable() {
    let long = "x".repeat(10_000);
    let lab = Lab::with_small_logs();
    let file = |name: &str, lines: &str| {
        lab.write(name, &format!("{QUESTION}\n{SUITE}\n{}", lines.replace("LONG", &long)));
    };
    file("parameter.toml", "factors.build = [\"sqlite\"]\nparameters.LONG = 5\n");
    file("factor.toml", "factors = { build = [\"sqlite\"], LONG = [1, 2] }\n");
    file("build.toml", "factors.build = [\"LONG\"]\n");
    let set = format!("{long}=1");
    for arguments in [
        &["plan", "parameter.toml"][..],
        &["run", "parameter.toml"],
        &["plan", "factor.toml"],
        &["plan", "build.toml"],
        &["plan", &long],
        &["plan", "--set", &set],
        &["show", "workload", &long],
        &["list", &long],
        &[&long],
        &["install", &long],
        &["import", &long],
    ] {
        let output = lab.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let command = arguments[0].get(..9).unwrap_or(arguments[0]);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{command}: {err}");
        assert!(err.starts_with("error: ") && err.len() < 1500, "{command}: {err}");
        assert!(err.contains('…'), "what is cut ends with an ellipsis: {command}: {err}");
    }
}

#[test]
fn arguments_that_name_nothing_are_named() {
    let cases: &[(&[&str], &str)] = &[
        (&["run", "nowhere.toml"], "nowhere.toml"),
        (&["plan", "quickstrat"], "`quickstart`"),
        (&["show", "workload", "point-qery"], "`point-query`"),
        (&["install", "mysqll@9"], "`mysqll`"),
        (&["install", "postgres-18"], "did you mean `postgres@18`?"),
        (&["plan", "--set", "factors.build=[\"mysql:9\"]"], "did you mean `mysql@9`?"),
        (&["show", "config", "base"], "known: `mariadb/base`, `mysql/base`, `postgres/base`"),
        (&["run", "oltp_point_select"], "`workloads = [\"oltp_point_select\"]`"),
        (&["plan", "oltp"], "`suite = \"oltp\"`"),
        (&["doctor", "--noise", "--results", "nix"], "there is no folder `nix`"),
        (&["doctor", "--set", "rows=1"], "required arguments were not provided"),
        (&["submit", "--folder", "fan"], "required arguments were not provided"),
        (&["up", "sqlite"], "embedded"),
        (&["up", "postgres@8.1"], "8.1"),
        (&["up", "postgers"], "unknown server `postgers`"),
        (&["verify", "--operations", "0"], "'--operations <COUNT>': it must be at least 1"),
        (&["run", "--results", "/proc/x"], "`/proc/x` cannot take results: no folder can be"),
        (&["up", "mysql@9", "--port", "0"], "0"),
        (&["compare"], "dbdyno-results"),
        (&["import", "nope"], "cannot read `nope`: there is no such file or folder"),
        (&["import", "/dev/zero"], "`/dev/zero` is no file, and no folder with files"),
        (&["run", "--resume"], "no unfinished run"),
        (&["run", "--set", "rows=many"], "rows"),
        (&["run", "--only", "point-qery"], "`point-qery`"),
    ];
    for (arguments, part) in cases {
        let lab = Lab::with_small_logs();
        let err = refusal(&mut lab.command(arguments), &format!("{arguments:?}"));
        assert!(err.contains(part), "{arguments:?}: `{part}` is not in: {err}");
    }
}

#[test]
fn a_results_folder_that_is_a_file_is_named() {
    let lab = Lab::with_small_logs();
    let file = lab.write("taken", "a file");
    let file = file.to_string_lossy();
    let err = refusal(&mut lab.command(&["run", "--results", &file]), "results");
    assert!(err.contains("taken` is not a folder; name a folder"), "{err}");
    let err = refusal(&mut lab.command(&["compare", "--results", &file]), "results");
    assert!(err.contains("taken` holds no results"), "{err}");
}

#[test]
fn a_results_folder_that_holds_something_else_is_named() {
    let lab = Lab::with_small_logs();
    lab.write("letter", "dear reader");
    let folder = lab.path(".");
    let err = refusal(&mut lab.command(&["run", "--results", &folder.to_string_lossy()]), "used");
    assert!(err.contains("is not empty") && err.contains("`--results`"), "{err}");
    assert!(!lab.path("runs").exists(), "nothing may be added to it");
}

#[test]
fn a_port_in_use_is_named() {
    let lab = Lab::with_small_logs();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let lines = [
        QUESTION,
        SUITE,
        "factors = { build = [\"postgres@18\"], config = [\"mine\"] }",
        &format!(
            "configs.mine = {{ extends = \"base\", transport = \"tcp\", settings.port = {port} }}"
        ),
    ];
    lab.write("bad.toml", &lines.join("\n"));
    for arguments in [&["up", "postgres@18", "--port", &port][..], &["run", "bad.toml"]] {
        let err = refusal(&mut lab.command(arguments), "port");
        assert!(err.contains(&format!("port `{port}`")) && err.contains("in use"), "{err}");
    }
}

#[test]
fn a_password_in_the_environment_is_refused_with_a_safer_way() {
    let lab = Lab::with_small_logs();
    let submit = ["submit", "quickstart", "--folder", "fan"];
    for arguments in [&["run"][..], &["verify"], &["up", "mysql@9"], &submit] {
        let err = refusal(lab.command(arguments).env("MYSQL_PWD", "hush-hush"), "password");
        assert!(err.contains("`MYSQL_PWD`") && err.contains("`--defaults-file`"), "{err}");
        assert!(!err.contains("hush"), "{err}");
    }
    assert!(!lab.path("dbdyno-results").exists());
    // Nobody enters a server by it here.
    let mut list = lab.command(&["list", "suites"]);
    assert!(list.env("MYSQL_PWD", "hush-hush").output().unwrap().status.success());
}

/// A command as a user without rights and with a cache of its own; `None` where that is impossible.
pub(crate) fn as_nobody(lab: &Lab, arguments: &[&str]) -> Option<Command> {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return None;
    }
    let cache = lab.path("cache");
    std::fs::create_dir(&cache).unwrap();
    for folder in [lab.path("."), cache.clone()] {
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = lab.command(arguments);
    command.uid(NOBODY).gid(NOBODY).env("XDG_CACHE_HOME", &cache).env("HOME", &cache);
    Some(command)
}

#[test]
fn a_registry_that_cannot_be_reached_is_said_with_the_remedy() {
    // Nothing listens at port 9: each client is led there in its own way.
    let proxy = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9 -Dhttp.proxyHost=127.0.0.1 \
                 -Dhttp.proxyPort=9 -Daether.connector.http.retryHandler.count=0";
    let nowhere = "http://127.0.0.1:9/";
    let cases = [
        ("mysql@5.6.24", [("npm_config_registry", nowhere), ("npm_config_fetch_retries", "0")]),
        ("postgres@18.6", [("MAVEN_OPTS", proxy), ("MAVEN_ARGS", "")]),
        ("mariadb@10.11.19", [("http_proxy", nowhere), ("https_proxy", nowhere)]),
    ];
    for (build, environment) in cases {
        let lab = Lab::with_small_logs();
        let Some(mut command) = as_nobody(&lab, &["install", build]) else { return };
        let err = refusal(command.envs(environment), build);
        let server = build.split('@').next().unwrap();
        assert!(err.contains(server) && err.contains("`basedir`"), "{build}: {err}");
    }
}

#[test]
fn perf_that_is_demanded_and_not_permitted_ends_the_run_before_it_starts() {
    let lab = Lab::with_small_logs();
    let lines = [QUESTION, SUITE, "require = [\"perf\"]", SQLITE];
    lab.write("bad.toml", &lines.join("\n"));
    if probe::permission() != probe::Permission::Full {
        let err = refusal(&mut lab.command(&["run", "bad.toml"]), "perf");
        assert!(err.contains("requires `perf`") && err.contains("perf_event_paranoid"), "{err}");
        return;
    }
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim().parse::<i32>().unwrap() < 2 {
        println!("skipped: this host permits perf to everybody");
        return;
    }
    let Some(mut command) = as_nobody(&lab, &["run", "bad.toml"]) else { return };
    let err = refusal(&mut command, "perf");
    assert!(err.contains("requires `perf`") && err.contains("perf_event_paranoid"), "{err}");
}

/// A workload file of the user's own, and parts of the sentence that refuses it.
struct Workload {
    name: &'static str,
    schema: &'static str,
    op: &'static str,
    parts: &'static [&'static str],
}

const WORKLOADS: &[Workload] = &[
    Workload {
        name: "too many arguments",
        schema: "sbtest",
        op: "sql = \"SELECT c FROM {table} WHERE id = ?\"\nargs = [{ integer = 1 }, \
             { integer = 2 }]",
        parts: &["own.toml:5", "1 placeholder ", "2 arguments"],
    },
    Workload {
        name: "unknown distribution",
        schema: "sbtest",
        op: "sql = \"SELECT c FROM {table} WHERE id = ?\"\nargs = [{ gauss = [1, 2] }]",
        parts: &["own.toml:6", "unknown key `gauss`", "`uniform`"],
    },
    Workload {
        name: "unknown schema",
        schema: "sbtets",
        op: "sql = \"SELECT 1\"",
        parts: &["own.toml:2", "unknown schema `sbtets`", "`sbtest`"],
    },
    Workload {
        name: "unknown check of a deviation",
        schema: "sbtest",
        op: "sql = \"SELECT 1\"\n[[deviation]]\nserver = \"mysql\"\ncheck = \"plans\"\n\
             reason = \"\"",
        parts: &[
            "own.toml:8",
            "`deviation.check` must be `rows`, `plan`, `keys`, `modes` or `effect`, not `plans`",
        ],
    },
];

#[test]
fn workload_files_that_are_wrong_are_refused_with_file_and_line() {
    for case in WORKLOADS {
        let lab = Lab::with_small_logs();
        let head = format!("help = \"h\"\nschema = \"{}\"\n", case.schema);
        lab.write("own.toml", &format!("{head}[[op]]\nname = \"a\"\n{}\n", case.op));
        lab.write("bad.toml", &[QUESTION, "workloads = [\"./own.toml\"]", SQLITE].join("\n"));
        for verb in ["run", "plan", "verify"] {
            let err = refusal(&mut lab.command(&[verb, "bad.toml"]), case.name);
            for part in case.parts {
                assert!(err.contains(part), "{} {verb}: `{part}` is not in: {err}", case.name);
            }
        }
    }
}

const ONE_SERVER_ONLY: &str = "help = \"h\"
schema = \"sbtest\"
[[op]]
name = \"a\"
sql = \"SELECT c FROM {table} WHERE id = ?\"
sql_for.postgres = \"SELECT missing FROM {table} WHERE id = ?\"
args = [{ uniform = [1, \"rows\"] }]
";

const DESIGNS: [&str; 2] = [
    "slice_seconds = 0.2\nrounds = 3",
    "design = \"classic\"\nread_seconds = 0.2\nwarmup_seconds = 0.1",
];

/// Runs a workload of the user's own that `refuses` refuses, beside one that all servers execute.
/// What is said of the failure of its first slice.
fn run_refused(workload: &str, lines: &[&str], refuses: &str) -> String {
    let lab = Lab::with_small_logs();
    lab.write("own.toml", workload);
    let head =
        [QUESTION, "workloads = [\"./own.toml\", \"point-query\"]", "rows = 2000\nblocks = 1"];
    lab.write("bad.toml", &[&head[..], lines].concat().join("\n"));
    let (out, err) = lab.ends(2, &["run", "bad.toml", "--counts", "none"]);
    assert!(!err.contains("panicked"), "{err}");
    assert!(out.contains("failed"), "the failure stands in the table\n{out}");
    let comparison = lab.comparison();
    for variant in ["sqlite", refuses] {
        let rate = known(&comparison, "point-query", variant, "ops_per_second");
        assert!(rate.is_none_or(|rate| rate > 0.0), "the other phase still ran\n{out}");
    }
    assert_eq!(value(&comparison, "own", refuses, "ops_per_second"), None, "{out}");
    let told: Vec<&str> = err.lines().filter(|line| line.contains("failed: ")).collect();
    assert!(!told.is_empty() && told.iter().all(|line| line.contains(refuses)), "{err}");
    told[0].to_owned()
}

/// A workload that `refuses` refuses when its statements are prepared: what is said before
/// anything is loaded.
fn refused_before_the_load(workload: &str, lines: &[&str], refuses: &str) -> String {
    let lab = Lab::with_small_logs();
    lab.write("own.toml", workload);
    let head =
        [QUESTION, "workloads = [\"./own.toml\", \"point-query\"]", "rows = 2000\nblocks = 1"];
    lab.write("bad.toml", &[&head[..], lines].concat().join("\n"));
    let err = lab.refuses(&["run", "bad.toml", "--counts", "none", "--progress", "plain"]);
    assert!(!err.contains("panicked") && !err.contains("loading"), "{err}");
    let told = err.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(told.contains(refuses), "{err}");
    told.to_owned()
}

const TWO_SERVERS: &str = "factors.build = [\"sqlite\", \"postgres@18\"]";

#[test]
fn a_statement_that_one_server_refuses_is_refused_before_the_load() {
    for design in DESIGNS {
        for base in ["sqlite", "postgres@18"] {
            let baseline = format!("baseline.build = \"{base}\"");
            let lines = [design, &baseline, TWO_SERVERS];
            let told = refused_before_the_load(ONE_SERVER_ONLY, &lines, "postgres-18");
            assert!(told.contains("own.toml:5") && told.contains("missing"), "{told}");
        }
    }
}

#[test]
fn a_text_that_one_server_refuses_fails_its_own_slices_only() {
    let workload = ONE_SERVER_ONLY.replace("sql =", "mode = \"text\"\nsql =");
    for design in DESIGNS {
        let lines = [design, "baseline.build = \"sqlite\"", TWO_SERVERS];
        let told = run_refused(&workload, &lines, "postgres-18");
        assert!(told.contains("missing") && told.contains("own.toml:6`"), "{told}");
    }
}

#[test]
fn a_table_that_does_not_exist_is_named_with_its_line() {
    let workload = ONE_SERVER_ONLY.replace("{table}", "nowhere");
    for design in DESIGNS {
        let told = refused_before_the_load(&workload, &[design, SQLITE], "sqlite");
        assert!(told.contains("own.toml:5") && told.contains("no such table: nowhere"), "{told}");
    }
    let lab = Lab::with_small_logs();
    lab.write("own.toml", &workload);
    lab.write("bad.toml", &[QUESTION, "workloads = [\"./own.toml\"]", SQLITE].join("\n"));
    let (out, _) = lab.ends(2, &["verify", "bad.toml", "--rows", "1000"]);
    assert!(out.contains("own.toml:5`: no such table: nowhere"), "{out}");
}

#[test]
fn a_refused_statement_is_named_with_its_line() {
    let lab = Lab::with_small_logs();
    lab.write("own.toml", &ONE_SERVER_ONLY.replace("SELECT c", "SELECT absent"));
    lab.write("bad.toml", &[QUESTION, "workloads = [\"./own.toml\"]", SQLITE].join("\n"));
    let (out, _) = lab.ends(2, &["verify", "bad.toml", "--rows", "1000"]);
    assert!(out.contains("own.toml:5`: no such column: absent"), "{out}");
    // A run refuses it before it loads anything.
    let err = lab.refuses(&["run", "bad.toml", "--set", "rows=1000"]);
    assert!(err.contains("own.toml:5`: no such column: absent"), "{err}");
    assert!(!err.contains("loading"), "{err}");
}
