//! Mistakes in workloads of the user's own, as those of experiments in `errors`.

use crate::{Host, catalog, draft};

/// An experiment that is right.
const EXPERIMENT: &str =
    "question = \"Which?\"\nsuite = \"quick\"\n[factors]\nbuild = [\"sqlite\"]\n";

/// The message about an experiment with one workload of the user's own.
fn check_workload(name: &str, text: &str, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let head = "help = \"h\"\nschema = \"sbtest\"\n";
    fs_err::write(folder.path().join("own.toml"), format!("{head}{text}")).unwrap();
    let experiment = EXPERIMENT.replace("suite = \"quick\"", "workloads = [\"./own.toml\"]");
    let planned = draft(folder.path(), &experiment)
        .and_then(|draft| plan::plan(&draft, &catalog(), &Host).map(|_| String::new()));
    let got = planned.unwrap_or_else(|error| error.to_string());
    assert!(got.contains(expected), "{name}:\n  got      {got}\n  expected {expected}");
}

fn op(text: &str) -> String {
    format!("[[op]]\nname = \"a\"\n{text}")
}

#[test]
fn a_key_that_a_file_lacks_is_missing_in_all_of_it() {
    let check = |text: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("own.toml"), text).unwrap();
        let experiment = EXPERIMENT.replace("suite = \"quick\"", "workloads = [\"./own.toml\"]");
        let error = draft(folder.path(), &experiment).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    };
    let schema = "own.toml:1`: the key `schema` is missing; add `schema = \"…\"` to the file";
    check("help = \"h\"\n[[op]]\nname = \"a\"\n", schema);
    let help = "own.toml:1`: the key `help` is missing; add `help = \"…\"` to the file";
    check("[[op]]\nname = \"a\"\n", help);
    let name = "own.toml:3`: the key `name` is missing; add it to `op`";
    check("help = \"h\"\nschema = \"sbtest\"\n[[op]]\nsql = \"a\"\n", name);
}

#[test]
fn operations_and_roles_of_the_users_own_are_checked() {
    check_workload("no op", "", "`: the key `op` is missing; add a table `[[op]]` to the file");
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
fn a_statement_that_executes_nothing_is_refused() {
    for nothing in ["-- SELECT 1", ";", "/* SELECT 1 */ ;"] {
        let expected = "own.toml:5`: there is nothing to execute in it";
        check_workload(nothing, &op(&format!("sql = \"{nothing}\"")), expected);
    }
    check_workload(
        "nothing on a server",
        &op("sql = \"SELECT 1\"\nsql_for.postgres = \"\""),
        "own.toml:6`: there is nothing to execute in it",
    );
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
    let same = op("[[op.statement]]\nsql = \"SELECT 1\"\ntable = \"same\"");
    check_workload("no table before", &same, "own.toml:7`: no statement is before this one");
}

#[test]
fn draws_of_the_users_own_are_checked() {
    let draws =
        |text: &str| op(&format!("{text}\nsql = \"SELECT ?\"\nargs = [{{ draw = \"a\" }}]"));
    let one = draws("draw.a = { integer = 1 }");
    check_workload("one", &one, "");
    let sum = draws("draw.b = { integer = 1 }\ndraw.a = { draw = \"b\", plus = 1 }");
    check_workload("of one before", &sum, "");
    let later = draws("draw.a = { draw = \"b\" }\ndraw.b = { integer = 1 }");
    check_workload("of a later one", &later, "own.toml:5`: unknown draw `b`; there is none");
    let where_used = "own.toml:5`: a time, a filler or a decimal is made where it is used";
    for varying in ["now = true", "filler = [1, 2]", "timestamp = [\"2026-01-01\", \"now\"]"] {
        check_workload(varying, &draws(&format!("draw.a = {{ {varying} }}")), where_used);
    }
    let rows = |value: &str| {
        let sql = "sql = \"INSERT INTO {table} (k) VALUES {rows}\"\nrows_per_statement = 2";
        op(&format!("{sql}\nrow_draw.a = {{ {value} }}\nargs = [{{ draw = \"a\" }}]"))
    };
    check_workload("row", &rows("uniform = [1, 2]"), "");
    check_workload("row of another", &rows("draw = \"b\""), "own.toml:7`: unknown draw `b`");
    let kept = "own.toml:3`: unknown captured value `b`; there is none";
    check_workload("row of a kept value", &rows("captured = \"b\""), kept);
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
fn workloads_with_coded_transactions_are_checked() {
    const GOOD: &str = "help = \"h\"\nschema = \"tpcc\"\ncoded = \"tpcc\"\n[parameters]\n\
                        warehouses = 1\nhome = 1\nprocedures = 0\n\
                        delivery_districts = 10\n[[op]]\nname = \"new-order\"\n\
                        class = \"write\"\ncommitted = \"SELECT 1\"\n";
    let check = |from: &str, to: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        assert!(GOOD.contains(from), "{from}");
        fs_err::write(folder.path().join("own.toml"), GOOD.replace(from, to)).unwrap();
        let experiment = EXPERIMENT.replace("suite = \"quick\"", "workloads = [\"./own.toml\"]");
        let planned = draft(folder.path(), &experiment)
            .and_then(|draft| plan::plan(&draft, &catalog(), &Host).map(|_| String::new()));
        let got = planned.unwrap_or_else(|error| error.to_string());
        assert!(got.contains(expected) && got.is_empty() == expected.is_empty(), "{to}: {got}");
    };
    check("home = 1", "home = 2", "");
    check("coded = \"tpcc\"", "coded = \"tpc\"", "own.toml:3`: unknown coded transactions `tpc`");
    let schema = "own.toml:2`: the coded transactions `tpcc` need the tables of the schema `tpcc`";
    check("schema = \"tpcc\"", "schema = \"sbtest\"", schema);
    check("home = 1\n", "", "need the parameter `home`; add it");
    check("home = 1", "home = 4", "own.toml:6`: `home` must be from 1 to 3, not `4`");
    check("home = 1", "home = 1\nhoem = 1", "own.toml:7`: unknown parameter `hoem`");
    check("\"write\"", "\"read\"", "own.toml:11`: the operation `new-order` has the class `write`");
    check("committed = \"SELECT 1\"\n", "", "the operation `new-order` needs `committed`");
    check("new-order", "payment", "own.toml:12`: `committed` belongs to the operation `new-order`");
    check("new-order", "new-odrer", "own.toml:10`: unknown operation `new-odrer`");
    // The tables are loaded with the schema's own default.
    check("warehouses = 1", "warehouses = 2", "`warehouses` is 2 and the tables are loaded with 1");
}

#[test]
fn an_index_by_its_number_is_refused() {
    let expected = "own.toml:6`: an index has a name, such as `\"primary\"`, and no number";
    check_workload("number", &op("sql = \"a\"\nindex = 5"), expected);
}

/// A schema of the user's own that is right.
const SCHEMA: &str = "help = \"h\"\n[parameters]\nsize = 5\n[[table]]\nname = \"t\"\nrows = 1\n\
                      [table.create]\nany = \"CREATE TABLE {table} (id INTEGER)\"\n\
                      [table.column]\nid = \"row_number\"\n[table.index]\nrocksdb = []\n\
                      [table.finish]\nmysql = []\n[table.warm]\nany = []\n";

/// The message about it with `from` replaced.
fn check_schema(from: &str, to: &str, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.toml");
    assert!(SCHEMA.contains(from), "{from}");
    fs_err::write(&path, SCHEMA.replace(from, to)).unwrap();
    let read = catalog().schema(path.to_str().unwrap());
    let got = read.map_or_else(|error| error.to_string(), |_| String::new());
    assert!(got.contains(expected) && got.is_empty() == expected.is_empty(), "{to}: {got}");
}

#[test]
fn a_parameter_of_a_schema_is_none_that_every_phase_has() {
    check_schema("size = 5", "lists = 5", "");
    check_schema("size = 5", "rows = 5", "own.toml:3`: every phase has a parameter `rows`");
}

#[test]
fn statements_of_a_schema_that_no_server_executes_are_refused() {
    let near = "unknown dialect `postgress`; did you mean `postgres`?";
    check_schema("mysql = []", "postgres = []", "");
    check_schema("mysql = []", "postgress = []", &format!("own.toml:14`: {near}"));
    check_schema("mysql = []", "mariadb = []", "unknown dialect `mariadb`; known: `mysql`,");
    check_schema("any = []", "postgress = []", &format!("own.toml:16`: {near}"));
    check_schema("rocksdb", "innodb", "");
    check_schema("rocksdb", "RocksDB", "own.toml:12`: no server would use `RocksDB`: write `any`");
    check_schema("rocksdb", "mariadb", "own.toml:12`: no server would use `mariadb`");
}
