//! Every mistake has one clear sentence that names the place, the thing and the remedy.

use crate::{Host, catalog, draft};
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
    check("a baseline as text", &format!("baseline = \"sqlite\"\n{GOOD}"), "write `baseline = {");
    check(
        "a path as a build",
        &GOOD.replace("sqlite", "/opt/mine"),
        "`[servers.NAME]` with `server` and `basedir = \"/opt/mine\"`",
    );
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("own.toml"), workload).unwrap();
    let own = GOOD.replace("suite = \"quick\"", "workloads = [\"own\"]");
    let error = draft(folder.path(), &own).unwrap_err().to_string();
    assert!(error.contains("unknown workload `own`; did you mean the file `own.toml`?"), "{error}");
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
    check("no TOML at all", "<html>", "`DIR/mine.toml:1`: this is not TOML");
    check("empty", "", "`DIR/mine.toml`: the experiment has no `question`");
    check("unknown key", &with("row = 5"), "mine.toml:1`: unknown key `row`; did you mean `rows`?");
    check(
        "a factor as key",
        &with("clients = 4"),
        "unknown key `clients`; did you mean `factors.clients`?",
    );
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
         `5.6.24`, `9.7.4`; `dbdyno list builds` lists all",
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
        "mine.toml:5`: unknown config `wall`; did you mean `wal`?",
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
        "mine.toml:5`: `clients` must be a whole number of at least 1 and at most 65536, not \
         `many`",
    );
    check("mode", &factor("mode = [\"txt\"]"), "`mode` must be `prepared` or `text`, not `txt`");
    let both = format!("mode = \"text\"\n{}", factor("mode = [\"prepared\"]"));
    check("two modes", &both, "mine.toml:6`: the experiment has `mode` and the factor `mode`");
    check(
        "no clients",
        &factor("clients = [0]"),
        "`clients` must be a whole number of at least 1 and at most 65536, not `0`",
    );
    check("level twice", &factor("clients = [1, 1]"), "has the level `1` twice");
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
    let beside = GOOD.replace("[factors]", "transport = \"tcp\"\n[factors]");
    check("beside", &beside, "did you mean `factors.transport`?");
}

#[test]
fn servers_and_configs_of_the_users_own_are_checked() {
    let with = |text: &str| format!("{GOOD}{text}\n").replace("\"sqlite\"", "\"mine\"");
    let attach = with("[servers.mine]\nserver = \"mysql\"\nattach = { socket = \"y\" }");
    check("attach", &attach, "mine.toml:7`: unknown key `attach`");
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
    let name = with("[servers.\"../mine\"]\nserver = \"mysql\"");
    check("name", &name, "`../mine` cannot name a server");
    let config = |text: &str| format!("{GOOD}config = [\"a\"]\n{text}\n");
    let circle = config("[configs.a]\nextends = \"b\"\n[configs.b]\nextends = \"a\"");
    check("circle", &circle, "`extends` goes in a circle: a -> b -> a; remove one of them");
    check(
        "unknown base",
        &config("[configs.a]\nextends = \"bse\""),
        "unknown config `bse`; did you mean `base`?",
    );
    let lines = config("[configs.a]\nextends = \"base\"\nsettings = { x = \"1\\ny=2\" }");
    check("two lines", &lines, "a setting's name and value are one line each");
}

/// The message about an experiment with one workload of the user's own.
fn check_workload(name: &str, text: &str, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let head = "help = \"h\"\nschema = \"sbtest\"\n";
    fs_err::write(folder.path().join("own.toml"), format!("{head}{text}")).unwrap();
    let experiment = GOOD.replace("suite = \"quick\"", "workloads = [\"./own.toml\"]");
    let planned = draft(folder.path(), &experiment)
        .and_then(|draft| plan::plan(&draft, &catalog(), &Host).map(|_| String::new()));
    let got = planned.unwrap_or_else(|error| error.to_string());
    assert!(got.contains(expected), "{name}:\n  got      {got}\n  expected {expected}");
}

fn op(text: &str) -> String {
    format!("[[op]]\nname = \"a\"\n{text}")
}

#[test]
fn operations_and_roles_of_the_users_own_are_checked() {
    check_workload("no op", "", "the key `op` is missing");
    check_workload(
        "no sql",
        &op(""),
        "own.toml:3`: an operation needs `sql` or `[[op.statement]]`",
    );
    check_workload(
        "sql and statement",
        &op("sql = \"a\"\n[[op.statement]]\nsql = \"b\""),
        "not both",
    );
    check_workload(
        "unknown key",
        &op("sgl = \"a\""),
        "own.toml:5`: unknown key `sgl`; did you mean `sql`?",
    );
    check_workload(
        "two names",
        &format!("{0}\n{0}", op("sql = \"a\"")),
        "own.toml:7`: two operations are named `a`",
    );
    check_workload(
        "mark",
        &op("sql = \"SELECT 1 FROM {tabel}\""),
        "unknown mark `tabel`; did you mean `table`?",
    );
    check_workload(
        "rows",
        &op("sql = \"INSERT INTO t VALUES {rows}\""),
        "`{rows}` needs `rows_per_statement`",
    );
    check_workload(
        "dialect",
        &op("sql = \"SELECT 1\"\nsql_for.mysq = \"SELECT 2\""),
        "unknown dialect in `sql_for` `mysq`; did you mean `mysql`?",
    );
    check_workload(
        "dialect of a mode",
        &op("sql = \"SELECT 1\"\nmode_for.postgre = \"text\""),
        "unknown dialect in `mode_for` `postgre`; did you mean `postgres`?",
    );
    check_workload(
        "untimed",
        &op("sql = \"SELECT 1\"\ntimed = false"),
        "own.toml:6`: only statements with `every` can be left out of the service time",
    );
    check_workload(
        "reserved",
        &format!("[parameters]\nrows = 1\n{}", op("sql = \"a\"")),
        "own.toml:4`: every phase has a parameter `rows`",
    );
    check_workload(
        "weight",
        &op("weight = 0\nsql = \"a\""),
        "own.toml:5`: a weight must be at \
        least 1",
    );
    let role = |ops: &str| format!("{}\n[[role]]\nname = \"r\"\nops = [{ops}]", op("sql = \"a\""));
    check_workload("role", &role("\"b\""), "own.toml:8`: unknown operation `b`; there is only `a`");
    let roles = format!("{}\n[[role]]\nname = \"s\"\nops = [\"a\"]", role("\"a\""));
    check_workload("several roles", &roles, "");
    let two = roles.replace("\"s\"", "\"r\"");
    check_workload("role twice", &two, "own.toml:10`: two roles are named `r`; rename one");
    let end = format!("{}\nend = {{ with = \"q\" }}", role("\"a\""));
    check_workload("end", &end, "own.toml:9`: unknown role `q`; there is only `r`");
}

#[test]
fn transactions_and_turns_of_the_users_own_are_checked() {
    let transaction = |text: &str| op(&format!("transaction = {text}\nsql = \"SELECT 1\""));
    check_workload("true", &transaction("true"), "");
    check_workload("expression", &transaction("\"2 - clients\""), "");
    let not_it = "own.toml:5`: `op.transaction` must be true, false, or an expression in quotes";
    check_workload("a number", &transaction("1"), not_it);
    check_workload("unknown", &transaction("\"skip\""), "own.toml:5`: `skip` names `skip`");
    check_workload(
        "too much",
        &transaction("\"clients + 1\""),
        "own.toml:5`: `transaction` must be from 0 to 1; `clients + 1` is 2",
    );
    let second = |keys: &str| {
        let first = "[[op.statement]]\ndraw.a = { integer = 1 }\nsql = \"SELECT 1\"";
        op(&format!("{first}\n[[op.statement]]\nsql = \"SELECT ?\"\n{keys}"))
    };
    let draws = "args = [{ draw = \"a\" }]";
    check_workload("in turn", &second(&format!("{draws}\nin_turn = true")), "");
    check_workload("of another", &second(draws), "own.toml:10`: unknown draw `a`; there is none");
    let twice = second(&format!("{draws}\nin_turn = true\nrepeat = 2"));
    let its = "own.toml:12`: with `in_turn`, the previous statement sets `repeat`";
    check_workload("repeat", &twice, its);
    let first = op("[[op.statement]]\nin_turn = true\nsql = \"SELECT 1\"");
    check_workload("first", &first, "own.toml:6`: `in_turn` needs a statement before it");
}

#[test]
fn arguments_of_the_users_own_are_checked() {
    let select = |args: &str| op(&format!("sql = \"SELECT ? FROM {{table}}\"\nargs = [{args}]"));
    check_workload(
        "too few arguments",
        &select(""),
        "own.toml:5`: the SQL has 1 placeholder (`?` on every server), and `args` has 0 arguments",
    );
    check_workload(
        "unknown argument",
        &select("{ unifrom = [1, 2] }"),
        "own.toml:6`: unknown key `unifrom`; did you mean `uniform`?",
    );
    check_workload("no argument", &select("{}"), "own.toml:6`: a value needs one of `uniform`");
    check_workload(
        "two kinds",
        &select("{ integer = 1, text = \"a\" }"),
        "`integer` or `text`, not both",
    );
    check_workload(
        "unknown name",
        &select("{ integer = \"row\" }"),
        "own.toml:6`: `row` names `row`, which is not a parameter",
    );
    check_workload("no expression", &select("{ integer = \"1 +\" }"), "is not an expression");
    check_workload(
        "unknown draw",
        &select("{ draw = \"x\" }"),
        "own.toml:6`: unknown draw `x`; there is none",
    );
    check_workload(
        "list",
        &select("{ integer = 1, list = 2 }"),
        "`{list}` in the SQL and `list` in `args` go together",
    );
    check_workload(
        "upside down",
        &select("{ uniform = [2, 1] }"),
        "own.toml:6`: `uniform`: from `2` to `1` holds nothing",
    );
    check_workload(
        "plus",
        &select("{ integer = 1, plus = 1 }"),
        "`plus` belongs to `draw` or `captured` only",
    );
}

#[test]
fn extending_in_a_circle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("a.toml"), "extends = \"./b.toml\"").unwrap();
    fs_err::write(folder.path().join("b.toml"), "extends = \"./mine.toml\"").unwrap();
    let error = draft(folder.path(), "extends = \"./a.toml\"").unwrap_err().to_string();
    assert!(error.contains("`extends` goes in a circle: mine -> a -> b -> mine"), "{error}");
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
