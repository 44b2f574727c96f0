//! Values that a connection keeps, and statements that are executed now and then.

use super::*;

fn number(name: &str) -> model::script::Arg {
    arg(Value::Captured { name: name.to_owned(), plus: expression("0") })
}

fn advance(name: &str, by: &str) -> Option<Advance> {
    Some(Advance { name: name.to_owned(), by: expression(by) })
}

#[test]
fn a_statement_of_every_third_time_is_executed_first_and_then_in_every_third_operation() {
    let mut oldest = statement("MIN", vec![]);
    oldest.capture = Some("oldest".to_owned());
    oldest.every = Some(expression("3"));
    let mut delete = statement("DELETE ?", vec![number("oldest")]);
    delete.advance = advance("oldest", "range");
    let both = assignment(vec![op("o", vec![oldest, delete])], 1);
    let rounds = ["MIN", "DELETE 77", "DELETE 87", "DELETE 97"];
    assert_eq!(closed_log(&both, 7), [&rounds[..], &rounds, &rounds[..2]].concat());
    // A restart is the same operation: what was its turn is its turn again.
    let failures = vec![(2, FailureKind::Retry)];
    let mut client = Scripted { failures, ..Scripted::default() };
    let mut clock = FakeClock { now: 0, step: 1000 };
    executed(&both, &closed(4), &mut client, &mut clock);
    let expected = ["MIN", "DELETE 77", "MIN", "DELETE 77", "DELETE 87", "DELETE 97"];
    assert_eq!(client.log, [&expected[..], &rounds[..2]].concat());
}

#[test]
fn the_time_of_what_is_looked_up_now_and_then_is_not_the_operations() {
    let mut greatest = statement("MAX", vec![]);
    greatest.capture = Some("greatest".to_owned());
    greatest.every = Some(expression("3"));
    greatest.untimed = true;
    let query = statement("SELECT ?", vec![number("greatest")]);
    let both = assignment(vec![op("o", vec![greatest, query])], 1);
    let mut client = Scripted::default();
    let mut clock = FakeClock { now: 0, step: 1000 };
    let tally = executed(&both, &closed(4), &mut client, &mut clock);
    assert_eq!(client.log, ["MAX", "SELECT 77", "SELECT 77", "SELECT 77", "MAX", "SELECT 77"]);
    // Each reading of the clock takes 1 us, which two of around MAX add to its operation; what is
    // between them is not counted.
    let times = tally.recorder.latencies.service[0].to_hdr().unwrap();
    assert_eq!([times.count_between(900, 1100), times.count_between(1900, 2100)], [2, 2]);
    assert_eq!(times.max() / 1000, 2);
}

#[test]
fn a_value_between_two_kept_ones_is_below_the_bound() {
    let mut low = statement("LOW", vec![]);
    low.capture = Some("low".to_owned());
    let mut high = statement("HIGH", vec![]);
    high.capture = Some("high".to_owned());
    let between = Value::Between { low: "low".to_owned(), high: "high".to_owned() };
    let mut point = statement("{list}", vec![list(between, "2")]);
    point.advance = advance("high", "0 - 4");
    let mut empty = point.clone();
    empty.advance = advance("high", "14");
    // Bounds of 77 and 77, then of 77 and 73, then of 77 and 87.
    let ops = vec![low, high, point.clone(), empty, point];
    let log = closed_log(&assignment(vec![op("o", ops)], 1), 200);
    let mut seen = std::collections::BTreeSet::new();
    for statements in log.chunks(5) {
        assert_eq!(statements[2..4], ["77, 77", "77, 77"]);
        seen.extend(statements[4].split(", ").map(|text| text.parse::<i64>().unwrap()));
    }
    assert_eq!(seen, (77..87).collect());
}
