//! Every mistake has one clear sentence that names the place, the thing and the remedy.

use crate::{Host, catalog, draft};
use model::margins::Quantity;
use plan::{Overrides, load_experiment};

/// An experiment that is right.
const GOOD: &str = "question = \"Which?\"\nsuite = \"quick\"\n[factors]\nbuild = [\"sqlite\"]\n";

/// The message about an experiment, drafted and planned in a folder of its own.
fn message(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let planned = draft(folder.path(), text)
        .and_then(|draft| plan::plan(&draft, &catalog(), &Host).map(|_| String::new()));
    let message = planned.unwrap_or_else(|error| error.to_string());
    message.replace(folder.path().to_str().unwrap(), "DIR")
}

fn check(name: &str, text: &str, expected: &str) {
    let got = message(text);
    assert!(got.contains(expected), "{name}:\n  got      {got}\n  expected {expected}");
    assert!(!got.contains('\n') && !got.ends_with('.'), "{name}: {got}");
}

#[test]
fn a_right_experiment_has_no_message() {
    assert_eq!(message(GOOD), "");
}

#[test]
fn what_is_another_file_or_another_form_is_named_with_the_right_one() {
    let workload = "schema = \"sbtest\"\n[[operation]]\nsql = \"SELECT 1\"\n";
    check(
        "a workload",
        workload,
        "`DIR/mine.toml`: this is a workload, not an experiment; name it in `workloads` of an \
         experiment",
    );
    check(
        "a baseline as text",
        &format!("baseline = \"sqlite\"\n{GOOD}"),
        "write `baseline = { build = \"sqlite\" }`",
    );
    check(
        "a path as a build",
        &GOOD.replace("sqlite", "/opt/mine"),
        "`[servers.NAME]` with `server` and `basedir = \"/opt/mine\"`",
    );
    for line in ["blocks = 4", "rows = 1000", "design = \"classic\""] {
        let key = line.split(' ').next().unwrap_or_default();
        let expected = format!("mine.toml:5`: `{key}` is a key of the experiment and no factor");
        check("a key below a table", &format!("{GOOD}{line}\n"), &expected);
    }
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("own.toml"), workload).unwrap();
    let own = GOOD.replace("suite = \"quick\"", "workloads = [\"own\"]");
    let error = draft(folder.path(), &own).unwrap_err().to_string();
    assert!(error.contains("unknown workload `own`; did you mean the file `own.toml`?"), "{error}");
}

#[test]
fn decisions_of_the_command_line_take_the_place_of_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs_err::write(&path, format!("decide = {{ instructions = \"0.5%\" }}\n{GOOD}")).unwrap();
    let check = |set: &str, expected: &[Quantity]| {
        let overrides = Overrides { set: vec![set.to_owned()], ..Overrides::default() };
        let draft = load_experiment(path.to_str().unwrap(), &catalog(), &overrides).unwrap();
        let asked: Vec<Quantity> = draft.experiment.decide.asked.keys().copied().collect();
        assert_eq!(asked, expected, "{set}");
    };
    check("decide={ time = \"5%\" }", &[Quantity::Time]);
    check("decide.time=5%", &[Quantity::Time, Quantity::Instructions]);
    check("blocks=5", &[Quantity::Instructions]);
}

#[test]
fn what_has_to_be_decided_is_a_share_above_the_floor() {
    let with = |decide: &str| format!("decide = {decide}\n{GOOD}");
    assert_eq!(message(&with("{ time = \"10 %\", cpu = \"0.6%\" }")), "");
    check(
        "no percent sign",
        &with("{ time = 5 }"),
        "mine.toml:1`: `decide.time` must be a text with a percent sign, such as \"5%\", not `5`",
    );
    check(
        "another word",
        &with("{ latency = \"5%\" }"),
        "must be `time`, `cpu` or `instructions`, not `latency`",
    );
    check(
        "below what a link changes",
        &with("{ instructions = \"0.1%\" }"),
        "mine.toml:1`: `instructions` must be above 0.1 %, which loading the data again or linking \
         the same code may change, and at most 100 %, not 0.1 %",
    );
    check("not finite", &with("{ cpu = \"NaN%\" }"), "must be a text with a percent sign");
}

#[test]
fn mistakes_in_the_text_are_named_with_their_line() {
    let with = |text: &str| format!("{text}\n{GOOD}");
    check(
        "not TOML",
        "question = \"Which?\"\nsuite = quick\n",
        "`DIR/mine.toml:2`: this is not TOML",
    );
    check(
        "no bracket",
        &format!("workloads = [\"scan\"\n{GOOD}"),
        "; a bracket or quote may be missing on this line or above it",
    );
    check("no TOML at all", "<html>", "`DIR/mine.toml:1`: this is not TOML");
    check("empty", "", "`DIR/mine.toml`: the experiment has no `question`");
    check("unknown key", &with("row = 5"), "mine.toml:1`: unknown key `row`; did you mean `rows`?");
    check(
        "a factor as key",
        &with("clients = 4"),
        "unknown key `clients`; did you mean `factors.clients`?",
    );
    check("of sysbench", &with("threads = 4"), "`threads`; did you mean `factors.clients`?");
    check("of sysbench", &with("time = 60"), "`time`; did you mean `slice_seconds`, or with");
    check("a parameter as key", &with("range = 4"), "did you mean `parameters.range`?");
    check(
        "wrong type",
        &with("blocks = \"many\""),
        "mine.toml:1`: `blocks` must be a whole number that is not negative, such as 1000, \
         \"10k\" or \
         \"1M\", not `\"many\"`",
    );
    check("negative", &with("blocks = -1"), "mine.toml:1`: `blocks` must be a whole number that");
    check(
        "wrong word",
        &with("design = \"interleave\""),
        "`design` must be `interleaved` or `classic`, not `interleave`; did you mean \
         `interleaved`?",
    );
    check(
        "key twice",
        &with("rows = 1\nrows = 2"),
        "mine.toml:2`: this is not TOML: duplicate key",
    );
}

#[test]
fn values_out_of_bounds_are_named() {
    let with = |text: &str| format!("{text}\n{GOOD}");
    check(
        "no blocks",
        &with("blocks = 0"),
        "mine.toml:1`: `blocks` must be a whole number from 1 to 10000, not `0`",
    );
    check("no rows", &with("rows = 0"), "`rows` must be a whole number from 1 to");
    check("endless", &with("slice_seconds = inf"), "`slice_seconds` must be from 0.01 to 604800");
    check("nan", &with("slice_seconds = nan"), "seconds (a week), not `NaN`");
    check(
        "loads",
        &with("blocks = 2\nloads = 3"),
        "`loads` is 3 and `blocks` is 2; each load needs at least one block",
    );
    check(
        "require",
        &with("require = [\"prf\"]"),
        "unknown requirement `prf`; did you mean `perf`?",
    );
    check(
        "arrival",
        &with("arrival = { per_second = 0 }"),
        "`per_second` is 0; it must be above 0",
    );
    check("arrival word", &with("arrival = \"open\""), "\"closed\" or a table");
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    let build = |level: &str| GOOD.replace("\"sqlite\"", level);
    let suite = |line: &str| GOOD.replace("suite = \"quick\"", line);
    let factor = |line: &str| format!("{GOOD}{line}\n");
    check(
        "server",
        &build("\"mysq@9\""),
        "mine.toml:4`: unknown server `mysq`; did you mean `mysql`?",
    );
    check(
        "version",
        &build("\"mysql@4\""),
        "mine.toml:4`: mysql has no version `4`; the nearest version is `5.5.9`, others are \
         `5.6.24`, `9.7.4`",
    );
    check(
        "build of one's own",
        &build("\"patched\""),
        "mine.toml:4`: unknown server `patched`; known: `mariadb`, `mysql`, `postgres`, `sqlite`; \
         a build of your own is described in `[servers.NAME]`",
    );
    check(
        "suite",
        &suite("suite = \"sysbnch\""),
        "mine.toml:2`: unknown suite `sysbnch`; did you mean `sysbench`?",
    );
    let workload = suite("workloads = [\"scan\", \"point-qery\"]");
    check(
        "workload",
        &workload,
        "mine.toml:2`: unknown workload `point-qery`; did you mean `point-query`?",
    );
    let missing = suite("workloads = [\"./mine-too.toml\"]");
    check(
        "file",
        &missing,
        "`DIR/mine.toml:2`: cannot read `DIR/mine-too.toml`: there is no such file; relative \
         paths start at the folder of the file, `DIR`",
    );
    check(
        "config",
        &factor("config = [\"wall\"]"),
        "mine.toml:5`: unknown config `wall` of `sqlite`; did you mean `wal`?",
    );
    check(
        "factor",
        &factor("client = [1]"),
        "mine.toml:5`: unknown factor `client`; did you mean `clients`?",
    );
    let parameter = factor("[parameters]\nrnge = 5");
    check("parameter", &parameter, "mine.toml:6`: unknown parameter `rnge`; did you mean `range`?");
    let extends = format!("extends = \"quickstat\"\n{GOOD}");
    check(
        "extends",
        &extends,
        "mine.toml:1`: unknown experiment `quickstat`; did you mean `quickstart`?",
    );
}

#[test]
fn factors_and_baseline_fit_each_other() {
    let factor = |line: &str| format!("{GOOD}{line}\n");
    check(
        "empty factor",
        &factor("clients = []"),
        "mine.toml:5`: the factor `clients` has no levels",
    );
    check(
        "clients",
        &factor("clients = [\"many\"]"),
        "mine.toml:5`: `clients` must be a whole number of at least 1 and at most 65536, or a \
         ladder of at most 100 of them such as `1..64*2`, not \
         `many`",
    );
    check("mode", &factor("mode = [\"txt\"]"), "`mode` must be `prepared` or `text`, not `txt`");
    let both = format!("mode = \"text\"\n{}", factor("mode = [\"prepared\"]"));
    check("two modes", &both, "mine.toml:6`: the experiment has `mode` and the factor `mode`");
    check(
        "no clients",
        &factor("clients = [0]"),
        "`clients` must be a whole number of at least 1 and at most 65536, or a ladder of at \
         most 100 of them such as `1..64*2`, not `0`",
    );
    let twice = GOOD.replace("suite = \"quick\"", "workloads = [\"scan\", \"scan\"]");
    check("workload twice", &twice, "the workload `scan` is listed twice; remove one");
    let version = format!("{GOOD}\n[servers.\"sqlite@3.46.0\"]\nserver = \"sqlite\"\n");
    check("a server named like a version", &version, "`sqlite@3.46.0` reads as a version of a");
    let unnamed = GOOD.replace("suite = \"quick\"", "workloads = [\"scan\", \"\"]");
    check("workload without a name", &unnamed, "a workload has no name; `dbdyno list workloads`");
    let clients = factor("clients = [1, 1]");
    check("level twice", &clients, "`clients` has the level `1` twice; write it once");
    let build = GOOD.replace("\"sqlite\"", "\"sqlite\", \"sqlite\"");
    check(
        "build twice",
        &build,
        "twice; a second copy of a build needs a name in `[servers.NAME]`",
    );
    check("rows", &factor("rows = [1, 2]"), "`rows` cannot be a factor");
    let baseline = format!("baseline = {{ build = \"mysql@5.6\" }}\n{GOOD}");
    check(
        "baseline",
        &baseline,
        "mine.toml:1`: the baseline's `mysql@5.6` is not a level of the factor `build`",
    );
    let baseline = format!("baseline = {{ biuld = \"sqlite\" }}\n{GOOD}");
    check("baseline factor", &baseline, "unknown factor `biuld`");
    let twice = GOOD.replace("\"sqlite\"", "\"mysql@9\", \"mysql@9.7\"");
    check("same version", &twice, "mine.toml:4`: `mysql@9` and `mysql@9.7` both are mysql-9.7.4");
    check("no build", "question = \"?\"\nsuite = \"quick\"\n", "no server to measure; add `build");
    check(
        "nothing to measure",
        "question = \"?\"\n[factors]\nbuild = [\"sqlite\"]",
        "nothing to measure",
    );
    let both = GOOD.replace("suite", "workloads = [\"scan\"]\nsuite");
    check("suite and workloads", &both, "`suite` or `workloads`, not both");
    check("clients as parameter", &factor("[parameters]\nclients = 4"), "write `factors.clients`");
    let range = factor("[parameters]\nrange = -200");
    check(
        "empty range",
        &range,
        "range-covered-pk.toml:15`: `expect`: from `1` to `range + 1` is from 1 to -199",
    );
}

#[test]
fn levels_that_act_on_a_start_are_checked_where_they_stand() {
    let with = |levels: &str| format!("{GOOD}transport = {levels}\n");
    check("level", &with("[\"tcp\", \"impossible\"]"), "`impossible` is no level");
    check(
        "labels",
        &with("[\"tcp\", \"tcp'\"]"),
        "two levels are called `sqlite-3.50.4.tcp` in tables",
    );
    // `x` with the configuration `a.base` and `x.a` with `base`.
    let dotted = GOOD.replace("\"sqlite\"", "\"x\", \"x.a\"") + "config = [\"base\", \"a.base\"]\n";
    let dotted = ["x", "x.a"].iter().fold(dotted, |text, name| {
        format!("{text}[servers.\"{name}\"]\nserver = \"sqlite\"\nversion = \"3.50\"\n")
    });
    check(
        "joined by dots",
        &format!("{dotted}[configs.\"a.base\"]\n"),
        "two variants are called `x.a.base`",
    );
    let beside = GOOD.replace("[factors]", "transport = \"tcp\"\n[factors]");
    check("beside", &beside, "did you mean `factors.transport`?");
}

#[test]
fn servers_and_configs_of_the_users_own_are_checked() {
    let with = |text: &str| format!("{GOOD}{text}\n").replace("\"sqlite\"", "\"mine\"");
    let attach = with("[servers.mine]\nserver = \"mysql\"\nattach = { socket = \"y\" }");
    check("attach", &attach, "mine.toml:7`: `mine` is there already and cannot be frozen");
    check(
        "server",
        &with("[servers.mine]\nserver = \"oracle\""),
        "mine.toml:6`: unknown server `oracle`",
    );
    check(
        "no server",
        &with("[servers.mine]\nbasedir = \"x\""),
        "the key `server` is missing; add it",
    );
    check(
        "basedir",
        &with("[servers.mine]\nserver = \"mysql\"\nbasedir = \"missing\""),
        "mine.toml:7`: `basedir`: `missing` does not exist",
    );
    check(
        "prefix",
        &with("[servers.mine]\nserver = \"mysql\"\nprefix = [\"missing\", \"-x\"]"),
        "mine.toml:7`: no `missing`",
    );
    let name = with("[servers.\"../mine\"]\nserver = \"mysql\"");
    check("name", &name, "`../mine` cannot name a server");
    let config = |text: &str| format!("{GOOD}config = [\"a\"]\n{text}\n");
    let circle = config("[configs.a]\nextends = \"b\"\n[configs.b]\nextends = \"a\"");
    check("circle", &circle, "`extends` goes in a circle: a -> b -> a; remove one of them");
    check(
        "unknown base",
        &config("[configs.a]\nextends = \"bse\""),
        "unknown config `bse` of `sqlite`; did you mean `base`?",
    );
    let lines = config("[configs.a]\nextends = \"base\"\nsettings = { x = \"1\\ny=2\" }");
    check("two lines", &lines, "a setting's value is one line");
    // Written as it is, it would be another setting with a comment behind it.
    let named = config("[configs.a]\nextends = \"base\"\nsettings = { \"y = 2 #\" = 1 }");
    check("odd name", &named, "`y = 2 #` cannot name a setting");
}

#[test]
fn the_folder_where_relative_paths_start_is_named_in_full() {
    // A file beside this crate's manifest, which is where the test runs.
    let text = GOOD.replace("suite = \"quick\"", "workloads = [\"./missing.toml\"]");
    let file = tempfile::Builder::new().suffix(".toml").tempfile_in(".").unwrap();
    fs_err::write(file.path(), text).unwrap();
    let name = file.path().file_name().unwrap().to_str().unwrap();
    let here = std::env::current_dir().unwrap();
    let error = load_experiment(name, &catalog(), &Overrides::default()).unwrap_err().to_string();
    let expected = format!("start at the folder of the file, `{}`", here.display());
    assert!(error.ends_with(&expected), "{error}");
}

#[test]
fn extending_in_a_circle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("a.toml"), "extends = \"./b.toml\"").unwrap();
    fs_err::write(folder.path().join("b.toml"), "extends = \"./mine.toml\"").unwrap();
    let error = draft(folder.path(), "extends = \"./a.toml\"").unwrap_err().to_string();
    assert!(error.contains("`extends` goes in a circle: mine -> a -> b -> mine"), "{error}");
    // Each round through another path.
    fs_err::create_dir(folder.path().join("below")).unwrap();
    fs_err::write(folder.path().join("a.toml"), "extends = \"below/../mine.toml\"").unwrap();
    let error = draft(folder.path(), "extends = \"./a.toml\"").unwrap_err().to_string();
    assert!(error.contains("`extends` goes in a circle: mine -> a -> mine"), "{error}");
}

#[test]
fn the_command_line_is_checked_like_the_file() {
    let check = |set: &[&str], only: &[&str], expected: &str| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let overrides = Overrides { set: texts(set), only: texts(only), ..Overrides::default() };
        let error = load_experiment("quickstart", &catalog(), &overrides).unwrap_err().to_string();
        assert!(error.contains(expected), "{set:?} {only:?}:\n  got {error}");
    };
    check(&["blocks"], &[], "`--set blocks`: it is not KEY=VALUE");
    check(&["block=2"], &[], "`--set block=2`: unknown key `block`; did you mean `blocks`?");
    check(
        &["blocks=many"],
        &[],
        "`--set blocks=many`: `blocks` must be a whole number that is not negative",
    );
    check(&["blocks=0"], &[], "`--set blocks=0`: `blocks` must be a whole number from 1");
    check(&["clients=4"], &[], "did you mean `factors.clients`?");
    check(&["suite=quik"], &[], "`--set suite=quik`: unknown suite `quik`; did you mean `quick`?");
    check(&["factors.build=[]"], &[], "`--set factors.build=[]`: the factor `build` has no levels");
    check(&["extends=x"], &[], "`extends` belongs in a file");
    for unquoted in ["factors.build=[mysql@9,sqlite]", "baseline={build=sqlite}"] {
        let expected = format!("`--set {unquoted}`: texts in a list or a table have double quotes");
        check(&[unquoted], &[], &expected);
    }
    let twice = "decide={ time = \"5%\", time = \"10%\" }";
    check(&[twice], &[], "time = \"10%\" }`: a key stands in it twice; keep one");
    check(
        &[],
        &["point-qery"],
        "`--only point-qery`: unknown workload `point-qery`; did you mean `point-query`?",
    );
    let unknown = load_experiment("quickstat", &catalog(), &Overrides::default()).unwrap_err();
    assert_eq!(unknown.to_string(), "unknown experiment `quickstat`; did you mean `quickstart`?");
}

#[test]
fn garbage_never_panics() {
    let texts = [
        "\u{0}",
        "[[[[",
        "a.b.c = {",
        "factors = 5",
        "= = =",
        "\u{feff}x",
        "[factors]\nbuild = [[1]]",
    ];
    for text in texts {
        assert_ne!(message(text), "", "{text:?}");
        for cut in (0..GOOD.len()).step_by(7) {
            message(&format!("{}{text}{}", &GOOD[..cut], &GOOD[cut..]));
        }
    }
}
