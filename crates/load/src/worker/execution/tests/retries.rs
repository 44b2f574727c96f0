//! Operations that are attempted again.

use super::*;

#[test]
fn a_deadlock_restarts_the_whole_operation() {
    let mut transaction = op("o", vec![statement("A", vec![]), statement("B", vec![])]);
    transaction.transaction = true;
    let mut client = Scripted { failures: vec![(3, FailureKind::Retry)], ..Scripted::default() };
    let mut clock = FakeClock { now: 0, step: 1000 };
    let tally = executed(&assignment(vec![transaction], 1), &closed(1), &mut client, &mut clock);
    let expected = ["BEGIN", "A", "B", "ROLLBACK", "BEGIN", "A", "B", "COMMIT"];
    assert_eq!(client.log, expected);
    assert_eq!((tally.scheduled, tally.succeeded, tally.failed), (1, 1, 0));
    assert_eq!(tally.unfinished, 0);
    assert_eq!((tally.retries, tally.reads, tally.others), (1, 3, 3));
    assert_eq!((tally.errors[0].code.as_str(), tally.errors[0].count), ("E1", 1));
    // Its latency runs on: two readings of the clock, one at the error and one at the end.
    assert_eq!(tally.recorder.latencies.service[0].to_hdr().unwrap().max(), 2000);
}

#[test]
fn retries_have_an_end() {
    let failures = (1..=RETRIES_MAX as usize + 1).map(|at| (at, FailureKind::Retry)).collect();
    let mut client = Scripted { failures, ..Scripted::default() };
    let mut clock = FakeClock { now: 0, step: 1000 };
    let tally = executed(&point_query(), &closed(2), &mut client, &mut clock);
    assert_eq!((tally.succeeded, tally.failed, tally.unfinished), (1, 1, 1));
    assert_eq!(tally.retries, u64::from(RETRIES_MAX));
    assert_eq!(tally.errors[0].count, u64::from(RETRIES_MAX) + 1);
}

#[test]
fn nothing_is_attempted_again_after_the_end() {
    let mut transaction = op("o", vec![statement("A", vec![])]);
    transaction.transaction = true;
    let mut client = Scripted { failures: vec![(8, FailureKind::Retry)], ..Scripted::default() };
    let mut clock = FakeClock { now: 0, step: 300_000_000 };
    let stretch = Stretch { end: StretchEnd::Seconds(1.0), ..closed(0) };
    let tally = executed(&assignment(vec![transaction], 1), &stretch, &mut client, &mut clock);
    // The third operation is refused at 1200 ms.
    let expected = ["BEGIN", "A", "COMMIT", "BEGIN", "A", "COMMIT", "BEGIN", "A", "ROLLBACK"];
    assert_eq!(client.log, expected);
    assert_eq!((tally.scheduled, tally.succeeded, tally.failed, tally.dropped), (2, 2, 0, 0));
    assert_eq!((tally.retries, tally.errors[0].count), (0, 1));
    // It was begun nevertheless.
    assert_eq!(tally.unfinished, 1);
}

#[test]
fn rows_that_were_rolled_back_are_not_those_of_the_operation() {
    let changed = |kind, transaction| {
        let statements = || vec![statement("A", vec![]), statement("B", vec![])];
        let named = |name: &str| ModelOp { transaction, ..op(name, statements()) };
        let failures = vec![(4, kind)];
        let mut client = Scripted { failures, ..Scripted::default() };
        let mut clock = FakeClock { now: 0, step: 1000 };
        let both = assignment(vec![named("a"), named("b")], 1);
        let tally = executed(&both, &closed(2), &mut client, &mut clock);
        assert_eq!(tally.retries + tally.failed, 1);
        let unfinished = tally.recorder.details.iter().map(|one| one.unfinished).sum::<u64>();
        assert_eq!((tally.unfinished, unfinished), (tally.failed, tally.failed));
        let sum = tally.recorder.details.iter().map(|one| one.rows_changed).sum::<u64>();
        assert_eq!(tally.rows_changed, sum);
        sum
    };
    // Every statement changes a row, BEGIN and COMMIT too: four by each of two operations.
    assert_eq!(changed(FailureKind::Retry, true), 8);
    // Two by each, and the one that a refused attempt had changed.
    assert_eq!(changed(FailureKind::Retry, false), 5);
    // The same of an operation that is given up: only the other one has changed anything.
    assert_eq!(changed(FailureKind::Statement, true), 4);
    assert_eq!(changed(FailureKind::Statement, false), 3);
}

#[test]
fn rows_that_were_rolled_back_are_not_those_of_the_only_operation() {
    let changed = |kind| {
        let statements = vec![statement("A", vec![]), statement("B", vec![])];
        let only = ModelOp { transaction: true, ..op("o", statements) };
        // The last but one statement of the second execution.
        let mut client = Scripted { failures: vec![(7, kind)], ..Scripted::default() };
        let mut clock = FakeClock { now: 0, step: 1000 };
        executed(&assignment(vec![only], 1), &closed(2), &mut client, &mut clock).rows_changed
    };
    assert_eq!([FailureKind::Retry, FailureKind::Statement].map(changed), [8, 4]);
}
