use super::*;
use crate::testing::*;
use ::values::generator::{Filler, Integer, Template, Text, Uniform};
use model::workload::Mode;
use model::{
    drive::Assignment,
    script::{Arg, Draw as ModelDraw, End, Op as ModelOp, Pairing, Role, Value},
};

/// The program of a workload, or of its first role.
fn compiled(assignment: &Assignment, dialect: &str) -> Result<Program, crate::Error> {
    let mut roles = Roles::compile(assignment, dialect)?;
    Ok(roles.parts.remove(0).program.as_ref().clone())
}

/// Compiles one statement for a dialect and shows what is sent: arguments as `<i>` or `<text>`.
fn sent(statement: model::script::Statement, dialect: &str) -> Result<Vec<String>, String> {
    let assignment = assignment(vec![op("o", vec![statement])], 2);
    let program = compiled(&assignment, dialect).map_err(|error| error.to_string())?;
    let shown = program.sql.iter().map(|sql| {
        let marks: Vec<String> = sql
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Integer => "<i>".to_owned(),
                Parameter::Text(text) => format!("<{}>", String::from_utf8_lossy(text)),
                Parameter::Time => "<time>".to_owned(),
                Parameter::Varying(length) => format!("<{length} at most>"),
                Parameter::Bytes(bytes) => format!("<{} bytes>", bytes.len()),
            })
            .collect();
        sql.marked(|position| marks[position].clone())
    });
    Ok(shown.collect())
}

fn check(statement: model::script::Statement, expected: &[&str]) {
    assert_eq!(sent(statement, "mysql").unwrap(), expected);
}

fn refused(assignment: &Assignment, expected: &str) {
    match compiled(assignment, "mysql") {
        Ok(_) => panic!("compiled, expected: {expected}"),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}

/// The one-statement workload must be refused for this reason.
fn refused_statement(statement: model::script::Statement, reason: &str) {
    let expected = format!("workload `w`, op `o`, statement 1: {reason}");
    refused(&assignment(vec![op("o", vec![statement])], 2), &expected);
}

fn text(value: &str) -> Arg {
    arg(Value::from(Text { value: value.to_owned() }))
}

fn template(template: &str) -> Arg {
    arg(Value::from(Template { template: template.to_owned() }))
}

fn integer(value: &str) -> Arg {
    arg(Value::from(Integer { value: expression(value) }))
}

fn ids() -> Value {
    Value::from(Uniform { low: expression("1"), high: expression("rows") })
}

#[test]
fn statements_have_one_text_per_copy_of_the_table() {
    let point = statement("SELECT c FROM {table} WHERE id=?", vec![row()]);
    check(point, &["SELECT c FROM t1 WHERE id=<i>", "SELECT c FROM t2 WHERE id=<i>"]);
    check(statement("SELECT k_{n}", vec![]), &["SELECT k_1", "SELECT k_2"]);
    check(statement("SELECT 1", vec![]), &["SELECT 1"]);
}

#[test]
fn lists_and_rows_are_spelled_out() {
    let args = vec![template("##"), list(ids(), "range / 5")];
    let update = statement("UPDATE t SET c=? WHERE id IN ({list})", args);
    check(update, &["UPDATE t SET c=<##> WHERE id IN (<i>, <i>)"]);
    let mut insert = statement("INSERT INTO t VALUES {rows}", vec![row(), text("x")]);
    insert.rows_per_statement = Some(2);
    check(insert, &["INSERT INTO t VALUES (<i>, <x>), (<i>, <x>)"]);
}

#[test]
fn text_statements_carry_their_constants() {
    let args = vec![integer("rows / 2"), text("it's"), template("#-#"), row()];
    let mut insert = statement("INSERT INTO t VALUES (?, ?, ?, ?)", args);
    insert.mode = Mode::Text;
    check(insert, &["INSERT INTO t VALUES (500, 'it''s', <#-#>, <i>)"]);
    let hot = list(Value::Consecutive { first: expression("5") }, "3");
    let mut select = statement("SELECT c FROM t WHERE id IN ({list})", vec![hot]);
    select.mode = Mode::Text;
    check(select.clone(), &["SELECT c FROM t WHERE id IN (5, 6, 7)"]);
    // A constant is the same at every place of its list.
    select.args = vec![list(Value::from(Integer { value: 5 }), "3")];
    check(select, &["SELECT c FROM t WHERE id IN (5, 5, 5)"]);
    let mut less =
        statement("UPDATE t SET k=k-?, m=m-? WHERE id=?", vec![integer("0 - 5"), row(), row()]);
    less.mode = Mode::Text;
    check(less, &["UPDATE t SET k=k- -5, m=m- <i> WHERE id=<i>"]);
}

#[test]
fn a_dialect_may_have_its_own_sql() {
    let mut insert = statement("INSERT INTO t VALUES (?)", vec![row()]);
    insert.sql_for.insert("mysql".to_owned(), "INSERT INTO t VALUES (0, ?)".to_owned());
    assert_eq!(sent(insert.clone(), "mysql").unwrap(), ["INSERT INTO t VALUES (0, <i>)"]);
    assert_eq!(sent(insert.clone(), "postgres").unwrap(), ["INSERT INTO t VALUES (<i>)"]);
    insert.sql.clear();
    let message = sent(insert, "postgres").unwrap_err();
    assert!(message.ends_with("it has no SQL for `postgres`; add `sql` or `sql_for`"), "{message}");
}

#[test]
fn transactions_share_their_brackets() {
    let one = || statement("SELECT 1", vec![]);
    let transaction = |name| ModelOp { transaction: true, ..op(name, vec![one()]) };
    let both = assignment(vec![transaction("a"), transaction("b")], 1);
    let program = compiled(&both, "mysql").unwrap();
    let texts: Vec<&str> = program.sql.iter().map(|sql| sql.pieces[0].as_str()).collect();
    assert_eq!(texts, ["SELECT 1", "BEGIN", "COMMIT", "SELECT 1"]);
    let order: Vec<u32> = program.statements.iter().map(|statement| statement.sql).collect();
    assert_eq!(order, [1, 0, 2, 1, 3, 2]);
}

#[test]
fn a_statement_repeated_zero_times_is_left_out() {
    let mut none = statement("SELECT 0", vec![]);
    none.repeat = expression("0");
    let mut same = statement("SELECT 1 FROM {table}", vec![]);
    same.table = TableChoice::Same;
    let left = assignment(vec![op("o", vec![none.clone(), same])], 2);
    let program = compiled(&left, "mysql").unwrap();
    assert_eq!(program.statements.len(), 1);
    assert_eq!(program.statements[0].table, TableChoice::Fresh);
    let empty = assignment(vec![op("o", vec![none])], 2);
    refused(&empty, "workload `w`, op `o`: it has no statement to execute");
}

#[test]
fn statements_in_turn_are_repeated_together_on_one_table() {
    let mut delete = statement("DELETE {table}", vec![]);
    delete.draws = vec![ModelDraw { name: "id".to_owned(), value: row().value }];
    delete.repeat = expression("range / 5");
    let id = Value::Draw { name: "id".to_owned(), plus: expression("0") };
    let mut insert = statement("INSERT {table} ?", vec![arg(id)]);
    (insert.in_turn, insert.repeat) = (true, delete.repeat);
    insert.table = TableChoice::Same;
    let after = statement("SELECT", vec![]);
    let all = vec![delete.clone(), insert.clone(), after];
    let program = compiled(&assignment(vec![op("o", all)], 2), "mysql").unwrap();
    let shown = |one: &Statement| (one.sql, one.repeat, one.table, one.draws.start..one.draws.end);
    let (fresh, same) = (TableChoice::Fresh, TableChoice::Same);
    let expected = [
        (0, 1, fresh, 0..1),
        (2, 1, same, 1..1),
        (0, 1, same, 0..1),
        (2, 1, same, 1..1),
        (4, 1, fresh, 1..1),
    ];
    assert_eq!(program.statements.iter().map(shown).collect::<Vec<_>>(), expected);
    delete.repeat = expression("0");
    insert.repeat = expression("0");
    let none = assignment(vec![op("o", vec![delete.clone(), insert.clone()])], 2);
    refused(&none, "workload `w`, op `o`: it has no statement to execute");
    (delete.repeat, insert.repeat) = (expression("1001"), expression("1001"));
    let often = assignment(vec![op("o", vec![delete, insert])], 2);
    let reason = "`repeat` is 1001; statements in turn are repeated 1000 times at most";
    refused(&often, &format!("workload `w`, op `o`: {reason}"));
}

#[test]
fn a_transaction_that_the_workload_begins_itself_is_rolled_back_too() {
    let check = |first: &str, expected: bool| {
        let both = vec![model::script::Statement::plain(first), statement("SELECT 1", vec![])];
        let program = compiled(&assignment(vec![op("o", both)], 1), "mysql").unwrap();
        assert_eq!(program.statements.len(), 2, "{first}");
        assert_eq!(program.ops[0].transaction, expected, "{first}");
    };
    check("BEGIN", true);
    check(" start transaction read only", true);
    check("SELECT 2", false);
    check("BEGINNING", false);
}

#[test]
fn a_transaction_has_two_statements_more() {
    let one = op("o", vec![statement("SELECT 1", vec![])]);
    let check = |transaction: bool, expected: usize| {
        let all = assignment(vec![ModelOp { transaction, ..one.clone() }], 1);
        let program = compiled(&all, "mysql").unwrap();
        assert_eq!(program.statements.len(), expected, "{transaction}");
        assert_eq!(program.ops[0].transaction, transaction);
    };
    check(true, 3);
    check(false, 1);
}

#[test]
fn a_phase_may_say_how_all_statements_travel() {
    let drawn = ModelDraw { name: "cents".to_owned(), value: uniform("1", "9").value };
    let mut decimal = statement(
        "SELECT ?",
        vec![arg(Value::Decimal { sum: vec!["cents".to_owned()], digits: 2 })],
    );
    (decimal.draws, decimal.mode) = (vec![drawn], Mode::Text);
    let mut text = statement("SELECT 1", vec![]);
    text.mode_for = [("mysql".to_owned(), Mode::Text)].into();
    let prepared = statement("SELECT 2", vec![]);
    let mut one = op("o", vec![decimal, text, prepared]);
    one.transaction = true;
    let check = |mode: Option<Mode>, expected: [Mode; 5]| {
        let all = Assignment { mode, ..assignment(vec![one.clone()], 1) };
        let program = compiled(&all, "mysql").unwrap();
        let modes = program.statements.iter().map(|one| program.sql[one.sql as usize].mode);
        assert_eq!(modes.collect::<Vec<_>>(), expected, "{mode:?}");
    };
    let (p, t) = (Mode::Prepared, Mode::Text);
    check(None, [p, t, t, p, p]);
    check(Some(t), [t; 5]);
    check(Some(p), [p, t, p, p, p]);
}

#[test]
fn errors_name_statement_counts_and_remedy() {
    let three = statement("SELECT ?, ?, ?", vec![row(), row()]);
    refused_statement(
        three,
        "its SQL has 3 placeholders (`?`, `{list}`), but `args` has 2 entries",
    );
    let list_at_mark = statement("SELECT ?", vec![list(ids(), "2")]);
    refused_statement(list_at_mark, "argument 1 stands at a `?` of the SQL, but needs a `{list}`");
    let draw = Value::Draw { name: "x".to_owned(), plus: expression("0") };
    refused_statement(
        statement("SELECT ?", vec![arg(draw)]),
        "argument 1: there is no draw `x`; declare it with `draw`",
    );
    let captured = Value::Captured { name: "y".to_owned(), plus: expression("0") };
    refused_statement(
        statement("SELECT ?", vec![arg(captured)]),
        "argument 1: there is no captured value `y`; declare it with `capture`",
    );
    let mut rows = statement("INSERT INTO t VALUES (?)", vec![row()]);
    rows.rows_per_statement = Some(expression("2"));
    refused_statement(rows, "it has several rows, but its SQL has no `{rows}`");
    let mut same = statement("SELECT 1", vec![]);
    same.table = TableChoice::Same;
    refused_statement(
        same,
        "it uses the table of the previous statement, but is the first of its operation",
    );
    let mut long = statement("INSERT INTO t VALUES {rows}", vec![row(), row()]);
    long.rows_per_statement = Some(35_000);
    refused_statement(
        long.clone(),
        "it has 70000 arguments, but a prepared statement has at most 65535; send it as text \
         (`mode = \"text\"`)",
    );
    long.mode = Mode::Text;
    assert_eq!(sent(long, "mysql").unwrap()[0].matches("<i>").count(), 70_000);
    let mut quoted = statement("SELECT ?", vec![template("'#")]);
    quoted.mode = Mode::Text;
    refused_statement(
        quoted,
        "argument 1: a template with a quote or backslash cannot be sent in text mode; \
         prepare the statement",
    );
    refused_statement(
        statement("SELECT {tabel}", vec![]),
        "in `SELECT {tabel}`, `{tabel}` is none of `{table}`, `{n}`, `{list}`, `{rows}`",
    );
}

#[test]
fn errors_of_the_whole_workload_are_told() {
    refused(&assignment(vec![], 1), "workload `w`: it has no operation; add an `[[op]]`");
    let mut bare = point_query();
    bare.schema.tables.clear();
    refused(&bare, "workload `w`: its schema `s` has no table");
    let mut none = point_query();
    none.schema.tables[0].copies = 0;
    refused(&none, "workload `w`: table `t{n}` of schema `s` has 0 copies; it needs at least one");
}

/// A role that executes `read`, `write` or both.
fn role(name: &str, ops: &str, end: End) -> Role {
    let mut write = statement("INSERT INTO {table} VALUES {rows}", vec![row()]);
    write.rows_per_statement = Some(30);
    write.class = Class::Write;
    let both = [op("read", vec![statement("SELECT 1", vec![])]), op("write", vec![write])];
    let own: Vec<ModelOp> = both.into_iter().filter(|op| ops.contains(&op.name)).collect();
    closed_role(name, &own, end)
}

fn with_roles(roles: Vec<Role>) -> Assignment {
    let mut all = assignment(Vec::new(), 1);
    all.script.roles = roles;
    all
}

#[test]
fn every_role_is_a_program_of_its_operations() {
    let writers =
        Role { clients: 10, arrival: open(20.0), ..role("writers", "write", End::Rows(1000)) };
    let readers = role("readers", "read write", End::With(0));
    let roles = Roles::compile(&with_roles(vec![writers, readers]), "mysql").unwrap();
    assert_eq!(roles.connections(), Some(11));
    // 1000 rows in statements of 30.
    assert_eq!(roles.parts[0].end, End::Operations(34));
    assert_eq!(roles.parts[1].end, End::With(0));
    assert_eq!(roles.parts[0].arrival, open(20.0));
    let ops: Vec<Vec<&str>> = roles
        .parts
        .iter()
        .map(|part| part.program.ops.iter().map(|op| op.name.as_str()).collect())
        .collect();
    assert_eq!(ops, [vec!["write"], vec!["read", "write"]]);
    let places = [(0, 0), (9, 0), (10, 1)];
    for (index, part) in places {
        assert_eq!(roles.place(index).0, part, "connection {index}");
    }
    assert_eq!((roles.place(9).1, roles.place(10).1), (9, 0));
}

#[test]
fn roles_that_execute_one_operation_share_its_counters() {
    let counting =
        |name: &str| op(name, vec![statement("SELECT ?", vec![arg(Value::Sequence { first: 7 })])]);
    let role = |name: &str, clients, ops: &[ModelOp]| Role {
        clients,
        ..closed_role(name, ops, End::Operations(1))
    };
    let all = vec![
        role("a", 2, &[counting("own"), counting("shared")]),
        role("b", 3, &[counting("shared")]),
    ];
    let roles = Roles::compile(&with_roles(all), "null").unwrap();
    let counters = |part: usize| &roles.parts[part].program.sequences;
    let shared = [&counters(0)[1], &counters(1)[0]];
    assert_eq!(shared[0].key, shared[1].key);
    assert_ne!(shared[0].key, counters(0)[0].key);
    let places = |sequence: &Sequence, clients| -> Vec<(u32, u32)> {
        let members = (0..clients).map(|index| sequence.among(Member { index, clients }));
        members.map(|member| (member.index, member.clients)).collect()
    };
    assert_eq!(places(shared[0], 2), [(0, 5), (1, 5)]);
    assert_eq!(places(shared[1], 3), [(2, 5), (3, 5), (4, 5)]);
    assert_eq!(places(&counters(0)[0], 2), [(0, 2), (1, 2)]);
}

#[test]
fn a_mode_of_its_own_counts_in_one_dialect() {
    let mut select = statement("SELECT ?", vec![uniform("1", "9")]);
    select.mode_for = [("mysql".to_owned(), Mode::Text)].into();
    let assignment = assignment(vec![op("o", vec![select])], 1);
    let mode = |dialect| Roles::compile(&assignment, dialect).unwrap().parts[0].program.sql[0].mode;
    assert_eq!(["mysql", "postgres"].map(mode), [Mode::Text, Mode::Prepared]);
    let only = |dialect| {
        Roles::compile(&assignment, dialect).unwrap().parts[0].program.statements[0].only.is_some()
    };
    assert_eq!(["mysql", "postgres"].map(only), [false, true], "texts are made in another way");
}

#[test]
fn the_null_client_executes_what_another_dialect_sends_as_text() {
    let drawn = ModelDraw { name: "cents".to_owned(), value: uniform("1", "9").value };
    let decimal = arg(Value::Decimal { sum: vec!["cents".to_owned()], digits: 2 });
    let mut select = statement("SELECT ?", vec![decimal]);
    select.draws = vec![drawn];
    select.mode_for = [("mysql".to_owned(), Mode::Text)].into();
    let assignment = assignment(vec![op("o", vec![select])], 1);
    for dialect in ["mysql", "null"] {
        assert!(Roles::compile(&assignment, dialect).is_ok(), "{dialect}");
    }
    let refused = Roles::compile(&assignment, "postgres").unwrap_err().to_string();
    assert!(refused.contains("a decimal has no type of its own"), "{refused}");
}

#[test]
fn roles_that_cannot_be_executed_are_refused() {
    let check = |roles: Vec<Role>, expected: &str| {
        refused(&with_roles(roles), &format!("workload `w`{expected}"));
    };
    let one = End::Operations(1);
    check(vec![closed_role("a", &[], one)], ": it has no operation; add an `[[op]]`");
    check(
        vec![role("a", "read", End::With(2)), role("c", "write", one)],
        ", role `a`: it ends with a role that does not exist",
    );
    check(
        vec![role("a", "read", End::With(1)), role("b", "read", End::With(0))],
        ", role `a`: it ends when others end, and they never do; end one of them after \
         operations, rows or seconds",
    );
    check(
        vec![role("a", "read", End::Others), role("b", "read", End::Others)],
        ", role `a`: it ends when others end, and they never do; end one of them after \
         operations, rows or seconds",
    );
    check(
        vec![role("a", "read", End::Rows(9))],
        ", role `a`: it ends after a number of rows, but its operations write none; end it after \
         operations or seconds",
    );
    let pairing = Some(Pairing { role: 1, lead: 0 });
    let many = Role { clients: 3, ..role("b", "write", one) };
    check(
        vec![Role { pairing, ..role("a", "read", one) }, many],
        ", role `a`: it is paired with role `b`, which has 3 clients and not 1; a pair needs \
         equally many",
    );
}

#[test]
fn times_and_fillers_are_arguments_of_their_own_kind() {
    let filler = |high: &str, random_percent| {
        arg(Value::from(Filler { low: expression("10"), high: expression(high), random_percent }))
    };
    let mut insert = statement("INSERT INTO t VALUES {rows}", vec![]);
    insert.args = vec![arg(Value::Now), row(), filler("20", 50)];
    insert.rows_per_statement = Some(2);
    for mode in [Mode::Prepared, Mode::Text] {
        insert.mode = mode;
        let row = "(<time>, <i>, <20 at most>)";
        check(insert.clone(), &[&format!("INSERT INTO t VALUES {row}, {row}")]);
    }
    let mut drawn = statement("SELECT 1", vec![]);
    drawn.draws = vec![ModelDraw { name: "t".to_owned(), value: Value::Now }];
    refused_statement(
        drawn,
        "draw `t`: a time, a filler or a decimal is made where it is used; write it there",
    );
}

#[test]
fn draws_are_found_where_they_are_declared() {
    let draw = |name: &str, value| ModelDraw { name: name.to_owned(), value };
    let of =
        |name: &str, plus: &str| arg(Value::Draw { name: name.to_owned(), plus: expression(plus) });
    let mut range = statement("SELECT ? ? ? ?", vec![]);
    range.draws = vec![draw("x", ids())];
    range.args = vec![of("x", "0"), of("x", "range - 1"), of("y", "1"), of("z", "0")];
    let mut shared = op("o", vec![range]);
    shared.draws =
        vec![draw("y", ids()), draw("z", Value::from(Template { template: "##".to_owned() }))];
    let program = compiled(&assignment(vec![shared.clone()], 1), "mysql").unwrap();
    let sources: Vec<Source> = program.slots.iter().map(|slot| slot.source).collect();
    let register = |index, plus| Source::Register { index, plus };
    let text = Source::TextRegister { index: 0, template: 0 };
    assert_eq!(sources, [register(1, 0), register(1, 9), register(0, 1), text]);
    shared.statements[0].args[3] = of("z", "1");
    refused(
        &assignment(vec![shared], 1),
        "workload `w`, op `o`, statement 1: argument 4: draw `z` is text, so 1 cannot be added to \
            it",
    );
}
