mod retries;

use super::*;
use crate::program::Roles;
use crate::recorder::{Intervals, Recorder, Series};
use crate::testing::*;
use crate::transaction::{Declared, Member};
use crate::wire::Draft;
use crate::wire::pieces::{Pieces, TextBuffer};
use crate::wire::{self, Answer, Row, Session, Sql};
use crate::worker::Peers;
use model::drive::{Assignment, Stretch, StretchEnd, Target};
use model::script::{Advance, Draw as ModelDraw, Op as ModelOp, Pauses, Value};
use model::workload::{Mode, TableChoice};
use std::sync::Arc;
use values::generator::{Filler, Integer, Template, Timestamp, Uniform, Zipf};

mod kept;
mod rows;

/// A clock that only moves when it is read or slept on.
struct FakeClock {
    now: u64,
    /// What each reading takes, nanoseconds.
    step: u64,
}

impl Clock for FakeClock {
    fn now(&mut self) -> u64 {
        self.now += self.step;
        self.now
    }

    fn sleep_until(&mut self, deadline: u64) {
        self.now = self.now.max(deadline);
    }

    fn park_until(&mut self, deadline: u64) {
        self.sleep_until(deadline);
    }

    fn wall(&mut self) -> u64 {
        self.now / 1_000_000_000
    }
}

/// A client that notes what it is told, and fails as it is told.
#[derive(Default)]
struct Scripted {
    statements: Vec<Sql>,
    log: Vec<String>,
    /// Failures by the number of the execution, from 1.
    failures: Vec<(usize, FailureKind)>,
    /// Whether every execution fails.
    broken: bool,
    /// Whether statements are composed as texts.
    composes: bool,
    executions: usize,
    current: usize,
    given: Vec<String>,
    buffer: Vec<u8>,
}

impl Scripted {
    fn keep_text(&mut self) {
        if !self.buffer.is_empty() {
            self.given.push(String::from_utf8(std::mem::take(&mut self.buffer)).unwrap());
        }
    }
}

impl Client for Scripted {
    fn connect(_target: &Target) -> Result<Self, Failure> {
        Ok(Self::default())
    }

    fn session(_target: &Target) -> Result<Box<dyn Session>, Failure> {
        panic!("it has only a client")
    }

    fn server_id(&self) -> u64 {
        0
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.statements.clear();
        Ok(())
    }

    fn prepare(&mut self, sql: &Sql) -> Result<(), Failure> {
        self.statements.push(sql.clone());
        Ok(())
    }

    fn begin(&mut self, index: usize) {
        self.current = index;
        self.given.clear();
    }

    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool {
        let sql = &self.statements[self.current];
        if self.composes {
            let pieces = Pieces::new(&[], sql);
            let mut sheet = TextBuffer::default();
            sheet.fit(&pieces);
            sheet.write(&pieces, write);
            self.log.push(String::from_utf8(sheet.text().to_vec()).unwrap().replace('\'', ""));
        }
        self.composes
    }

    fn integer(&mut self, value: i64) {
        self.keep_text();
        self.given.push(value.to_string());
    }

    fn text(&mut self, template: &[u8]) -> &mut [u8] {
        self.keep_text();
        self.buffer = template.to_vec();
        &mut self.buffer
    }

    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.keep_text();
        self.given.push(String::from_utf8([head, tail].concat()).unwrap());
    }

    fn execute(&mut self) -> Result<Answer, Failure> {
        self.keep_text();
        self.executions += 1;
        if self.composes {
            return Ok(Answer { rows: 1, changed: 1 });
        }
        let sql = &self.statements[self.current];
        assert_eq!(sql.parameters.len(), self.given.len(), "every argument is given");
        let given = self.given.clone();
        self.log.push(sql.marked(|position| given[position].clone()));
        let scripted = self.failures.iter().find(|(at, _)| *at == self.executions);
        match scripted {
            Some((_, kind)) => Err(Failure::new(*kind, "E1", "scripted")),
            None if self.broken => Err(Failure::new(FailureKind::Statement, "E2", "broken")),
            None => Ok(Answer { rows: 1, changed: 1 }),
        }
    }

    fn fetch(&mut self, take: &mut dyn FnMut(&mut dyn Row)) -> Result<Answer, Failure> {
        take(&mut Sevens);
        self.execute()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.log.push("ROLLBACK".to_owned());
        Ok(())
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A row of 77.
struct Sevens;

impl Row for Sevens {
    fn next(&mut self) -> Option<wire::Value<'_>> {
        Some(wire::Value::Integer(77))
    }
}

/// Executes a stretch on one of two connections.
fn executed(
    assignment: &Assignment,
    stretch: &Stretch,
    client: &mut Scripted,
    clock: &mut FakeClock,
) -> Tally {
    let roles = Roles::compile(assignment, "null").unwrap();
    let program = &roles.parts[0].program;
    crate::worker::prepare(client, program).unwrap();
    let schedule = roles.parts[0].schedule(stretch.seed, Member { index: 0, clients: 1 });
    let random = Random::new(stretch.seed, 0);
    let counters = vec![0; program.sequences.len()];
    let peers = Peers::new(&roles, stretch, 2);
    let pairing = peers.pairing(0).unwrap();
    let latencies = Arc::clone(&pairing.peer.latencies);
    let series = Series::new(peers.timeline(), stretch.interval_ms);
    let mut tally = Tally::new(Recorder::new(latencies, Intervals::Common, series));
    let declared = Declared::new(program, pairing.kept, pairing.peer.member, counters);
    let timing = Timing { schedule, limit: Limit::new(stretch.end), start_ns: clock.now };
    Execution::new(program, pairing, declared, random).execute(client, clock, timing, &mut tally);
    tally
}

fn closed_log(assignment: &Assignment, operations: u64) -> Vec<String> {
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 0, step: 1000 };
    let tally = executed(assignment, &closed(operations), &mut client, &mut clock);
    assert_eq!(tally.succeeded, operations);
    client.log
}

#[test]
fn a_closed_stretch_executes_its_operations_and_counts_them() {
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 5_000_000, step: 1000 };
    let tally = executed(&point_query(), &closed(2500), &mut client, &mut clock);
    assert_eq!((tally.scheduled, tally.succeeded, tally.failed, tally.dropped), (2500, 2500, 0, 0));
    assert_eq!((tally.reads, tally.writes, tally.others), (2500, 0, 0));
    assert_eq!((tally.rows_read, tally.unexpected), (2500, 0));
    assert_eq!(client.log.len(), 2500);
    // The clock is read once at the start, and once per operation.
    assert_eq!(clock.now, 5_000_000 + 2501 * 1000);
    assert_eq!(tally.end_ns, clock.now);
    assert_eq!(tally.recorder.latencies.service[0].to_hdr().unwrap().len(), 2500);
    assert_eq!(tally.service_ns, 2500 * 1000);
    let operations: Vec<u64> =
        tally.recorder.series.intervals().iter().map(|interval| interval.operations).collect();
    assert_eq!(operations, [2500]);
}

#[test]
fn a_stretch_by_time_ends_with_the_operation_that_passes_it() {
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 0, step: 300_000_000 };
    let stretch = Stretch { end: StretchEnd::Seconds(1.0), ..closed(0) };
    let tally = executed(&point_query(), &stretch, &mut client, &mut clock);
    // Started at 300, 600 and 900 ms; at 1200 ms the time is over.
    assert_eq!((tally.scheduled, tally.succeeded, tally.dropped), (3, 3, 0));
}

#[test]
fn repeats_draws_and_tables_follow_the_workload() {
    let draw = |name: &str, low: &str, high: &str| ModelDraw {
        name: name.to_owned(),
        value: Value::from(Uniform { low: expression(low), high: expression(high) }),
    };
    let of =
        |name: &str, plus: &str| arg(Value::Draw { name: name.to_owned(), plus: expression(plus) });
    let mut range = statement("{table} {list} ? ?", vec![]);
    range.args = vec![
        list(Value::Consecutive { first: expression("7") }, "2"),
        of("x", "0"),
        of("x", "range"),
    ];
    range.draws = vec![draw("x", "5", "5")];
    range.repeat = expression("2");
    let mut same = statement("{table} ?", vec![of("y", "1")]);
    same.table = TableChoice::Same;
    let mut all = op("o", vec![range, same]);
    all.transaction = true;
    all.draws = vec![draw("y", "3", "3")];
    let log = closed_log(&assignment(vec![all], 1), 1);
    assert_eq!(log, ["BEGIN", "t1 7, 8 5 15", "t1 7, 8 5 15", "t1 4", "COMMIT"]);
}

#[test]
fn the_same_table_is_used_until_a_fresh_one_is_drawn() {
    let mut same = statement("{table}", vec![]);
    same.table = TableChoice::Same;
    let mut own = statement("own {table}", vec![]);
    own.table = TableChoice::Connection;
    let fresh = statement("{table}", vec![]);
    let log = closed_log(&assignment(vec![op("o", vec![fresh, same, own])], 8), 200);
    let mut seen = std::collections::BTreeSet::new();
    for statements in log.chunks(3) {
        assert_eq!(statements[0], statements[1]);
        assert_eq!(statements[2], "own t1");
        seen.insert(statements[0].clone());
    }
    assert_eq!(seen.len(), 8);
}

#[test]
fn operations_come_by_weight() {
    let named = |name: &str, weight| ModelOp { weight, ..op(name, vec![statement(name, vec![])]) };
    let log = closed_log(&assignment(vec![named("a", 1), named("b", 3)], 1), 10_000);
    let first = log.iter().filter(|sql| *sql == "a").count();
    assert!((2300..2700).contains(&first), "{first}");
}

#[test]
fn sequences_texts_and_captured_values_are_given() {
    let mut select = statement("MIN", vec![]);
    select.capture = Some("oldest".to_owned());
    let sequence = arg(Value::Sequence { first: expression("100") });
    let captured = arg(Value::Captured { name: "oldest".to_owned(), plus: expression("1") });
    let template = arg(Value::from(Template { template: "a-@".to_owned() }));
    let mut insert = statement("INSERT {rows}", vec![sequence, captured, template]);
    insert.rows_per_statement = Some(expression("2"));
    insert.mode = Mode::Text;
    let log = closed_log(&assignment(vec![op("o", vec![select, insert])], 1), 2);
    let shown: Vec<String> = log
        .iter()
        .map(|sql| sql.split("a-").map(|part| part.get(1..).unwrap_or("")).collect())
        .collect();
    // Connection 0 of 2: every other value.
    assert_eq!(
        shown,
        ["IN", "NSERT (100, 78, ), (102, 78, )", "IN", "NSERT (104, 78, ), (106, 78, )"]
    );
}

#[test]
fn a_shared_text_is_the_same_in_both_places() {
    let mut both = statement("? ?", vec![]);
    let of = || arg(Value::Draw { name: "c".to_owned(), plus: expression("0") });
    both.args = vec![of(), of()];
    let value = Value::from(Template { template: "########".to_owned() });
    both.draws = vec![ModelDraw { name: "c".to_owned(), value }];
    for sql in closed_log(&assignment(vec![op("o", vec![both])], 1), 10) {
        let (left, right) = sql.split_once(' ').unwrap();
        assert_eq!(left, right);
        assert!(left.bytes().all(|byte| byte.is_ascii_digit()), "{left}");
    }
}

#[test]
fn a_connection_on_which_nothing_works_gives_up() {
    let mut client = Scripted { broken: true, ..Scripted::default() };
    let mut clock = FakeClock { now: 0, step: 1000 };
    let tally = executed(&point_query(), &closed(1000), &mut client, &mut clock);
    let failed = u64::from(ERRORS_IN_A_ROW_MAX);
    assert_eq!((tally.scheduled, tally.failed, tally.dropped), (1000, failed, 1000 - failed));
    assert_eq!(tally.recorder.series.intervals()[0].errors, failed);
}

#[test]
fn a_lost_connection_ends_its_stretch() {
    let mut client = Scripted { failures: vec![(4, FailureKind::Lost)], ..Scripted::default() };
    let mut clock = FakeClock { now: 0, step: 1000 };
    let tally = executed(&point_query(), &closed(10), &mut client, &mut clock);
    assert_eq!((tally.succeeded, tally.failed, tally.dropped), (3, 1, 6));
    assert_eq!(tally.lost.unwrap().message(), "scripted");
}

#[test]
fn a_user_at_a_terminal_types_and_thinks() {
    let with_pauses = |keying_ms, think_ms| {
        let mut assignment = point_query();
        assignment.script.roles[0].ops[0].pauses = Pauses { keying_ms, think_ms };
        assignment
    };
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 0, step: 1_000_000 };
    let stretch = Stretch { end: StretchEnd::Seconds(1.0), ..closed(0) };
    let tally = executed(&with_pauses(99, 0), &stretch, &mut client, &mut clock);
    // 99 ms to type, and the two readings of the clock around an operation.
    assert_eq!((tally.scheduled, tally.succeeded, tally.dropped), (9, 9, 0));
    // The rest of the time goes by, or the rate would be too high.
    assert!((1_000_000_000..1_010_000_000).contains(&clock.now), "{}", clock.now);
    assert!(tally.recorder.latencies.service[0].to_hdr().unwrap().max() < 1_010_000);
    let mut clock = FakeClock { now: 0, step: 1000 };
    let stretch = Stretch { end: StretchEnd::Operations(5000), ..closed(0) };
    let tally = executed(&with_pauses(0, 12), &stretch, &mut client, &mut clock);
    assert_eq!((tally.succeeded, tally.dropped), (5000, 0));
    let mean = clock.now as f64 / 5000.0;
    assert!((mean / 12e6 - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn an_open_loop_keeps_its_schedule_when_it_can() {
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 0, step: 100_000 };
    let stretch = stretch(StretchEnd::Seconds(1.0));
    let tally = executed(&paced(point_query(), 1000.0), &stretch, &mut client, &mut clock);
    assert_eq!((tally.scheduled, tally.succeeded, tally.dropped), (1000, 1000, 0));
    assert_eq!(tally.late, 0);
    let response = tally.recorder.latencies.response[0].to_hdr().unwrap();
    assert_eq!(response.len(), 1000);
    assert!(response.max() < 300_000, "{}", response.max());
}

#[test]
fn an_overloaded_open_loop_drops_and_aborts_nothing() {
    let mut client = Scripted::default();
    // Each operation takes two milliseconds, and one is due each millisecond.
    let mut clock = FakeClock { now: 0, step: 2_000_000 };
    let stretch = stretch(StretchEnd::Seconds(1.0));
    let tally = executed(&paced(point_query(), 1000.0), &stretch, &mut client, &mut clock);
    assert_eq!(tally.scheduled, 1000);
    assert_eq!((tally.succeeded, tally.failed, tally.dropped), (499, 0, 501));
    assert!(tally.late > 490, "{}", tally.late);
    // The service time knows nothing of the wait; the response time does.
    assert!(tally.recorder.latencies.service[0].to_hdr().unwrap().max() < 2_010_000);
    assert!(tally.recorder.latencies.response[0].to_hdr().unwrap().max() > 490_000_000);
    assert!(tally.lag_ns_max > 490_000_000);
}

#[test]
fn an_open_loop_of_fixed_work_does_all_of_it() {
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 0, step: 2_000_000 };
    let stretch = stretch(StretchEnd::Operations(300));
    let tally = executed(&paced(point_query(), 1000.0), &stretch, &mut client, &mut clock);
    assert_eq!((tally.scheduled, tally.succeeded, tally.dropped), (300, 300, 0));
}

#[test]
fn the_seed_fixes_the_operations() {
    let log = |seed| {
        let mut client = Scripted::default();
        let mut clock = FakeClock { now: 0, step: 1000 };
        let stretch = Stretch { seed, ..closed(20) };
        executed(&point_query(), &stretch, &mut client, &mut clock);
        client.log
    };
    assert_eq!(log(5), log(5));
    assert_ne!(log(5), log(6));
}

#[test]
fn all_rows_of_a_statement_have_the_time_at_which_it_is_built() {
    let filler =
        Value::from(Filler { low: expression("3"), high: expression("3"), random_percent: 0 });
    let mut insert = statement("{rows}", vec![arg(Value::Now), arg(filler)]);
    insert.rows_per_statement = Some(expression("2"));
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 1_234_567_890_000_000_000, step: 600_000_000 };
    let inserts = assignment(vec![op("o", vec![insert])], 1);
    executed(&inserts, &closed(3), &mut client, &mut clock);
    let row =
        |time: &str| format!("(2009-02-13 23:31:{time}, aaa), (2009-02-13 23:31:{time}, aaa)");
    // The clock is at .6, 1.2 and 1.8 seconds.
    assert_eq!(client.log, [row("30"), row("31"), row("31")]);
}

#[test]
fn rows_and_lags_are_told_by_operation() {
    let named = |name: &str| op(name, vec![statement(name, vec![])]);
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 0, step: 2_000_000 };
    let stretch = stretch(StretchEnd::Operations(50));
    let both = paced(assignment(vec![named("a"), named("b")], 1), 1000.0);
    let tally = executed(&both, &stretch, &mut client, &mut clock);
    let [a, b] = &tally.recorder.details[..] else { panic!("two operations") };
    assert_eq!(a.rows_read + b.rows_read, 50);
    assert_eq!(a.rows_read, client.log.iter().filter(|sql| *sql == "a").count() as u64);
    assert_eq!(a.late + b.late, tally.late);
    assert_eq!(a.lag_ns_max.max(b.lag_ns_max), tally.lag_ns_max);
    assert!(tally.late > 40, "{}", tally.late);
}

#[test]
fn a_text_has_the_values_that_are_given_one_by_one() {
    let filler = |low, high| {
        Value::from(Filler { low: expression(low), high: expression(high), random_percent: 50 })
    };
    let values = [
        Value::Now,
        Value::from(Uniform { low: expression("0-5"), high: expression("999") }),
        Value::from(Uniform { low: expression("0"), high: expression("100000000") }),
        Value::from(Zipf { low: expression("1"), high: expression("99"), exponent: 0.8 }),
        Value::Sequence { first: expression("1") },
        Value::from(Template { template: "a-###-@@@@-###########-##########".to_owned() }),
        filler("10", "20"),
        filler("10", "200"),
        Value::from(Integer { value: -7 }),
        Value::from(Timestamp { low: Some(0), high: Some(4_102_444_799) }),
    ];
    let mut insert =
        statement("INSERT INTO {table} VALUES {rows}", values.into_iter().map(arg).collect());
    insert.rows_per_statement = Some(expression("20"));
    insert.mode = Mode::Text;
    let assignment = assignment(vec![op("insert", vec![insert])], 1);
    let log = |composes| {
        let mut client = Scripted { composes, ..Scripted::default() };
        let mut clock = FakeClock { now: 0, step: 700_000_000 };
        executed(&assignment, &closed(20), &mut client, &mut clock);
        client.log
    };
    assert_eq!(log(true).len(), 20);
    assert_eq!(log(true), log(false));
}
