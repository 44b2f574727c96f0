use super::*;
use crate::Levels;
use crate::subject::{Build, Config};
use crate::workload::{NONE, Spacing};
use values::generator::Uniform;

fn script(end: End) -> Script {
    Script {
        workload: "w".to_owned(),
        roles: vec![Role { end, clients: 3, ..Role::default() }],
        ..Script::default()
    }
}

#[test]
fn what_adds_and_removes_as_many_rows_changes_in_place() {
    let op = |effects: &[(Class, Effect)]| {
        let statement = |(class, effect): &(Class, Effect)| Statement {
            class: *class,
            effect: *effect,
            ..Statement::plain("x")
        };
        Op { transaction: true, ..Op::plain("", effects.iter().map(statement).collect()) }
    };
    let check = |ops: &[Op], expected: bool| {
        let mut script = script(End::Rows(1));
        script.roles[0].ops = ops.to_vec();
        assert_eq!(script.changes_in_place(), expected, "{ops:?}");
    };
    let read = (Class::Read, Effect::Read);
    let update = (Class::Write, Effect::Update);
    let delete = (Class::Write, Effect::Delete);
    let insert = (Class::Write, Effect::Insert(1));
    check(&[op(&[read])], false);
    check(&[op(&[read, update])], true);
    check(&[op(&[update]), op(&[read])], true);
    check(&[op(&[delete, insert])], true);
    let mut counting = op(&[delete, insert]);
    counting.statements[1].args = vec![Arg { value: Value::Sequence { first: 1 }, list: None }];
    check(&[counting], false);
    check(&[op(&[update, delete])], false);
    check(&[op(&[update]), op(&[insert])], false);
    check(&[op(&[update, (Class::Write, Effect::Other)])], false);
    check(&[op(&[update, (Class::Other, Effect::Other)])], true);
}

#[test]
fn a_known_deviation_is_that_of_a_server_an_engine_and_a_check() {
    let mut subject = Subject {
        label: "a".to_owned(),
        build: Build::named("mysql@9"),
        config: Config::default(),
        levels: Levels::new(),
    };
    let known = Deviation {
        server: "mysql".to_owned(),
        engine: Some("RocksDB".to_owned()),
        check: Check::Effect,
        reason: "a trigger".to_owned(),
    };
    let script = Script { deviations: vec![known], ..script(End::Stretch) };
    assert_eq!(script.deviation(&subject, Check::Effect), None);
    subject.config.engine = Some("rocksdb".to_owned());
    assert_eq!(script.deviation(&subject, Check::Effect), script.deviations.first());
    assert_eq!(script.deviation(&subject, Check::Rows), None);
}

#[test]
fn pieces_add_up_to_the_whole() {
    let whole = script(End::Rows(206));
    let mut sum = 0;
    for index in 0..10 {
        let End::Rows(part) = whole.piece(index, 10).roles[0].end else { panic!("another end") };
        assert!((20..=21).contains(&part), "{part}");
        sum += part;
    }
    assert_eq!(sum, 206);
}

#[test]
fn pieces_of_rows_are_whole_operations() {
    let check = |rows: u64, expected: &[u64]| {
        let rows_per_statement = Some(100);
        let insert = Statement { class: Class::Write, rows_per_statement, ..Statement::plain("x") };
        let mut whole = script(End::Rows(rows));
        whole.roles[0].ops = vec![Op::plain("o", vec![insert])];
        let of = expected.len() as u64;
        let ends: Vec<End> = (0..of).map(|index| whole.piece(index, of).roles[0].end).collect();
        let expected: Vec<End> = expected.iter().map(|rows| End::Rows(*rows)).collect();
        assert_eq!(ends, expected);
    };
    check(1000, &[100, 100, 100, 200, 100, 100, 100, 200]);
    check(950, &[500, 500]);
    check(100, &[100, 100, 100]);
}

#[test]
fn a_role_that_ends_after_rows_counts_those_that_its_statements_take_away() {
    let check = |effect: Effect, high: Option<u64>, operations: u64| {
        let mut statement = Statement { class: Class::Write, effect, ..Statement::plain("x") };
        statement.expect.changed = high.map(|high| Bounds { low: 0, high });
        let mut script = script(End::Rows(1000));
        script.roles[0].ops = vec![Op::plain("o", vec![statement])];
        assert_eq!(script.roles[0].operations(), Some(operations), "{effect:?} {high:?}");
    };
    check(Effect::Delete, Some(10), 100);
    check(Effect::Update, Some(10), 100);
    check(Effect::Other, Some(10), 100);
    check(Effect::Delete, None, 1000);
    check(Effect::Insert(50), None, 20);
    // One server counts a row that is there already twice.
    check(Effect::Merge(2), Some(2), 1000);
}

#[test]
fn what_a_procedure_changes_is_what_is_expected_of_it() {
    let mut call = Statement { class: Class::Write, ..Statement::plain("CALL p()") };
    assert_eq!(call.rows_changed(), 0);
    call.expect.changed = Some(Bounds { low: 0, high: 3 });
    assert_eq!(call.rows_changed(), 3);
    call.class = Class::Other;
    assert_eq!(call.rows_changed(), 0);
}

#[test]
fn a_role_that_follows_another_still_does() {
    assert_eq!(script(End::With(1)).piece(1, 4).roles[0].end, End::With(1));
}

#[test]
fn what_is_not_timed_waits_for_nobody() {
    let mut script = script(End::Stretch);
    let role = &mut script.roles[0];
    let pauses = Pauses { keying_ms: 2000, think_ms: 5000 };
    role.ops = vec![Op { pauses, ..Op::plain("o", Vec::new()) }];
    role.arrival = Arrival::Open { per_second: 1.0, spacing: Spacing::Even };
    let pauses = |script: Script| script.roles[0].ops[0].has_pauses();
    assert!(pauses(script.clone()));
    assert_eq!(script.without_waits().roles[0].arrival, Arrival::Closed);
    assert_eq!(script.of_one_client().roles[0].arrival, Arrival::Closed);
    let all = [script.without_waits(), script.of_one_client(), script.alone()];
    assert_eq!(all.map(pauses), [false; 3]);
}

#[test]
fn connections_are_in_the_order_of_the_roles() {
    let mut script = script(End::Others);
    script.roles.push(Role { clients: 2, ..Role::default() });
    assert_eq!(script.role_of_connections(), [0, 0, 0, 1, 1]);
    assert_eq!(script.connections(), 5);
}

#[test]
fn a_mean_operation_searches_for_each_key_of_a_list_and_once_for_a_range() {
    let statement = |repeat: u64, list: Option<u32>, keys: Option<i64>| Statement {
        repeat,
        args: vec![Arg { value: Value::from(Uniform { low: 1, high: 9 }), list }],
        expect: Expect { keys, ..Expect::default() },
        ..Statement::plain("x")
    };
    let op = |weight: u32, statements: Vec<Statement>| Op { weight, ..Op::plain("", statements) };
    let mut script = script(End::Rows(1));
    let scan = Statement { index: vec![NONE.to_owned()], ..statement(1, None, None) };
    script.roles[0].ops = vec![op(1, vec![scan])];
    assert_eq!(script.lookups(), Lookups::default());
    script.roles[0].ops =
        vec![op(1, vec![statement(10, None, None), statement(1, None, Some(90))])];
    assert_eq!(script.lookups(), Lookups { searches: 11.0, keys: 100.0 });
    script.roles[0].ops.push(op(3, vec![statement(2, Some(50), Some(50))]));
    // A quarter of the one, three quarters of the other.
    assert_eq!(script.lookups(), Lookups { searches: 2.75 + 75.0, keys: 25.0 + 75.0 });
}

#[test]
fn schedules_and_pauses_bound_the_rate_of_the_slowest_connection() {
    let op = |weight, keying_ms, think_ms| {
        let pauses = Pauses { keying_ms, think_ms };
        Op { weight, pauses, ..Op::plain("o", Vec::new()) }
    };
    // A mean of four seconds.
    let ops = vec![op(1, 2000, 5000), op(3, 0, 3000)];
    let users = Role { clients: 8, ops, ..Role::default() };
    let arrival = Arrival::Open { per_second: 5.0, spacing: Spacing::Even };
    let open = Role { arrival, clients: 50, ops: vec![op(1, 0, 0)], ..Role::default() };
    let follower = Role { end: End::With(0), ..open.clone() };
    let closed = Role { ops: vec![op(1, 0, 0)], ..Role::default() };
    let check = |roles: &[&Role], expected: Option<f64>| {
        let roles = roles.iter().map(|role| (*role).clone()).collect();
        let script = Script { roles, ..script(End::Stretch) };
        assert_eq!(script.most_per_connection(), expected);
    };
    check(&[&users], Some(0.25));
    check(&[&users, &open, &closed], Some(0.1));
    check(&[&users, &follower], Some(0.25));
    check(&[&closed], None);
}
