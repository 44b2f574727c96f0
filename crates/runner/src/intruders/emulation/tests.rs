use super::*;
use emulator::Within;

fn thread(task: u32, instructions: u64, calls: &[(u16, u64)]) -> Thread {
    let calls = calls.to_vec();
    let name = "t".into();
    let within = Default::default();
    Thread { task, process: 5, name, ended: false, instructions, unplaced: 0, calls, within }
}

#[test]
fn what_is_preloaded_has_a_path_without_blanks() {
    let lab = tempfile::tempdir().unwrap();
    let (plain, odd) = (lab.path().join("home"), lab.path().join("J\u{f6}rg M"));
    let link = lab.path().join("link");
    for folder in [&plain, &odd] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("x"), "").unwrap();
    }
    assert_eq!(for_loader(&plain, &link).unwrap(), plain);
    assert!(!link.exists());
    for _ in 0..2 {
        assert_eq!(for_loader(&odd, &link).unwrap(), link);
        assert!(link.join("x").exists());
    }
}

#[test]
fn serving_tasks_are_counted_apart_from_others() {
    let threads = vec![
        thread(5, 70, &[(1, 2), (7, 1), (74, 4), (75, 5)]),
        thread(6, 900, &[]),
        thread(7, 30, &[]),
    ];
    let mut counts = Snapshot { threads, ..Snapshot::default() };
    let ends = |counts: &Snapshot, tasks: &[u32]| {
        let serves = |thread: &&Thread| tasks.contains(&thread.task);
        let found = readings(Scope::Foreground, counts, 10, serves);
        found.iter().map(|reading| reading.end).collect::<Vec<_>>()
    };
    assert_eq!(ends(&counts, &[5, 7]), [100.0, 12.0, 9.0, 10.0]);
    assert_eq!(ends(&counts, &[6]), [900.0, 0.0, 0.0, 10.0]);
    assert_eq!(instructions_of(&counts, &[5, 6]), 970);
    counts.chosen = vec!["page_splits".to_owned(), "page_merges".to_owned()];
    counts.threads[0].within[0] = Within { calls: 2, instructions: 50 };
    assert_eq!(ends(&counts, &[5, 7]), [100.0, 12.0, 9.0, 10.0, 2.0, 50.0, 0.0, 0.0, 50.0]);
    counts.threads[1].within[0] = Within { calls: 1, instructions: 901 };
    assert_eq!(ends(&counts, &[6])[8], 0.0, "it worked while it was read");
}

#[test]
fn as_many_operations_are_observed_as_tell_something_if_they_fit() {
    assert_eq!(fitting(3_000.0, 1.0, &WRITES), 3_000);
    assert_eq!(fitting(200.0, 1.0, &WRITES), 1_000);
    assert_eq!(fitting(5.0, 1.0, &WRITES), 40);
    assert_eq!(fitting(0.01, 1.0, &WRITES), 1);
    assert_eq!(fitting(90_000.0, 1.0, &WRITES), 50_000);
    assert_eq!(fitting(200.0, 1.0, &READS), 250);
    assert_eq!(fitting(5.0, 1.0, &READS), 15);
}

#[test]
fn no_more_is_executed_to_find_a_number_than_warms_up() {
    for done in [1.0, 30.0, 1_500.0, 20_000.0, 60_000.0] {
        let executed = (done * (TRANSLATING + TIMED)).ceil() as u64;
        for least in [&WRITES, &READS] {
            assert!(executed <= fitting(done, 4.0, least), "{done}");
        }
    }
}

#[test]
fn the_table_tells_every_thread() {
    let counts = Snapshot {
        threads: vec![thread(5, 70, &[(1, 2)]), thread(6, 9, &[])],
        ..Snapshot::default()
    };
    let work = StretchReport { succeeded: 10, end_ns: 2_000_000_000, ..StretchReport::default() };
    let table = table(&counts, &[5], &work).unwrap();
    let read: serde_json::Value = serde_json::from_slice(&table.bytes).unwrap();
    assert_eq!((&read["operations"], &read["seconds"]), (&json!(10), &json!(2.0)));
    assert_eq!(read["threads"][0]["system_calls"], json!([[1, 2]]));
    assert_eq!(read["threads"][0]["serves"], true);
    assert_eq!(read["threads"][1]["user_instructions"], 9);
}

#[test]
fn a_task_that_did_not_stand_out_is_known_by_the_requests_that_it_received() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = Open {
        server: None,
        driver: Counters::create(folder.path()).unwrap(),
        foreground: Foreground::default(),
        driving: vec![1],
        before: Both::default(),
    };
    let background = thread(6, 900, &[(202, 5_000), (RECEIVE, 2)]);
    let one = thread(7, 800, &[(44, 1_000), (RECEIVE, 2_000)]);
    let other = thread(8, 800, &[(RECEIVE, 500)]);
    let of = |threads: &[Thread]| Snapshot { threads: threads.to_vec(), ..Snapshot::default() };
    let counts = of(&[background.clone(), one.clone()]);
    assert_eq!(open.serving(&counts, 1_000), [7]);
    assert_eq!(open.serving(&of(&[background]), 1_000), [0; 0]);
    assert_eq!(open.serving(&of(&[one, other]), 1_000), [0; 0], "a pool");
    open.foreground.tasks = vec![6];
    assert_eq!(open.serving(&counts, 1_000), [6], "it stood out");
}

#[test]
fn serving_tasks_that_are_not_counted_have_no_costs() {
    let folder = tempfile::tempdir().unwrap();
    let counters = || Counters::create(folder.path()).unwrap();
    let foreground = Foreground { tasks: vec![6], how: String::new() };
    let before = Both::default();
    let server = Some(counters());
    let mut open = Open { server, driver: counters(), foreground, driving: vec![1], before };
    let work = StretchReport { succeeded: 10, ..StretchReport::default() };
    let mut found = Findings::default();
    open.end(&work, &mut found).unwrap();
    assert!(found.missing.is_some_and(|why| why.contains("not among those that are counted")));
    assert!(found.readings.iter().all(|one| one.scope == Scope::Client), "{:?}", found.readings);
}
