//! Counters that run on without work, and tasks that served nothing.

use super::*;

#[test]
fn counters_that_run_on_without_work_are_found() {
    // Seconds: opening, idle, closing, and work.
    let check = |[opened, idle, closing, work]: [f64; 4], clients: u32, expected: bool| {
        let [opened, idle, closing, work] =
            [opened, idle, closing, work].map(Duration::from_secs_f64);
        let answered = opened + idle + work;
        let window = Window { opened, answered, closed: answered + closing };
        assert_eq!(window.ran_on(work, clients), expected, "{window:?} {work:?}");
    };
    check([0.0, 0.05, 0.0, 0.1], 1, false);
    check([0.0, 0.9, 0.0, 0.1], 1, false);
    check([0.0, 1.01, 0.0, 2.0], 1, true);
    check([0.0, 1.4, 0.0, 6.0], 1, false);
    check([0.0, 3.2, 0.0, 7.3], 1, true);
    check([0.0, 20.0, 0.0, 30.0], 1, true);
    check([0.0, 0.0, 12.0, 7.3], 1, true);
    // A thousand connections on a busy host.
    check([0.7, 1.5, 0.7, 1.0], 1, true);
    check([0.7, 1.5, 0.7, 1.0], 1024, false);
    check([0.7, 1.5, 2.2, 1.0], 1024, true);
    check([0.7, 3.5, 0.7, 1.0], 1024, true);
}

#[test]
fn tasks_that_used_no_time_served_nothing() {
    let check = |counter: &str, cpu_ns: f64, done: u64, expected: bool| {
        let counter = counter.to_owned();
        let reading = Reading { scope: Scope::Foreground, counter, start: 7.0, end: 7.0 + cpu_ns };
        // A transaction of many statements is one operation.
        let work = StretchReport { succeeded: 1, reads: done, ..StretchReport::default() };
        let found = |kind| mistaken(kind, std::slice::from_ref(&reading), &work).is_some();
        assert_eq!(found(PhaseKind::Measure), expected, "{cpu_ns} {done}");
        assert!(!found(PhaseKind::Index), "{cpu_ns} {done}");
    };
    check("cpu_ns", 20_000.0, 10_000, true);
    // A background task that had 3 % of what the statements took.
    check("cpu_ns", 6e6, 10_000, true);
    check("task_clock_ns", 0.0, 100, true);
    check("cpu_ns", 0.0, 99, false);
    check("cpu_ns", 9e7, 10_000, false);
    let work = StretchReport { reads: 10_000, ..StretchReport::default() };
    assert_eq!(mistaken(PhaseKind::Measure, &[], &work), None, "the serving tasks are not known");
}
