//! Runs and records, written and read back.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod folder;
mod merge;

use model::{
    drive::{OpReport, StretchReport},
    environment::Environment,
    experiment::Experiment,
    plan::{Block, Plan},
    reading::{Reading, Scope, SeriesRow},
    record::{Event, RECORD_FORMAT, SliceRecord, TrialHeader},
    subject::{Build, Config, Subject},
};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use store::{Error, Results, RunWriter, Selection};

fn subject(label: &str) -> Subject {
    Subject {
        label: label.into(),
        build: Build::of("sqlite", ""),
        config: Config { name: "base".into(), ..Config::default() },
        levels: [("build".to_owned(), label.to_owned())].into(),
    }
}

fn plan(name: &str, hash: &str) -> Plan {
    let block = |index| Block {
        index,
        load: 0,
        start_order: vec![0, 1],
        orders: Vec::new(),
        seed: u64::MAX - u64::from(index),
    };
    Plan {
        format: 1,
        hash: hash.into(),
        experiment: Experiment {
            name: name.into(),
            suite: "quick".into(),
            question: "Is it slower?".into(),
            blocks: 2,
            loads: 1,
            rounds: 2,
            seed: 42,
            tables: 1,
            rows: 1000,
            slice_seconds: 1.0,
            read_seconds: 1.0,
            at_once: 1,
            write_seconds: 1.0,
            text: "question = \"Is it slower?\"\n".into(),
            ..Experiment::default()
        },
        subjects: vec![subject("old"), subject("new")],
        base: vec!["old".into()],
        blocks: vec![block(0), block(1)],
        ..Plan::default()
    }
}

fn header(subject: &str, block: u32) -> TrialHeader {
    TrialHeader {
        block,
        subject: subject.into(),
        server_version: "3.50.4".into(),
        binary_sha256: "00".into(),
        configuration: "[mysqld]\nkey = \"value\"\n\u{1b}[0m'''\n".into(),
        settings: [("journal_mode".to_owned(), "wal".to_owned())].into(),
        ignored_settings: vec!["old_one".into()],
        seed: u64::MAX,
        foreground: "the driver's own threads".into(),
        ..TrialHeader::default()
    }
}

fn slice(subject: &str, block: u32, round: u32) -> SliceRecord {
    let op = OpReport { name: "select".into(), count: 10, ..OpReport::default() };
    SliceRecord {
        block,
        subject: subject.into(),
        phase: "point-query".into(),
        workload: "point-query".into(),
        group: "point".into(),
        clients: 1,
        levels: [("build".to_owned(), subject.to_owned())].into(),
        round,
        seed: u64::MAX,
        marks: vec!["user mode only".into()],
        wall_start_us: 1_700_000_000_000_000,
        work: Some(StretchReport { succeeded: 10, ops: vec![op], ..StretchReport::default() }),
        readings: vec![Reading {
            scope: Scope::Server,
            counter: "cpu_ns".into(),
            start: 0.1,
            end: 1e9 + 0.3,
        }],
        ..SliceRecord::default()
    }
}

fn record(run: &RunWriter, subject: &str, block: u32, rounds: u32) -> store::TrialWriter {
    let mut trial = run.trial(&header(subject, block), &Environment::default()).unwrap();
    for round in 0..rounds {
        trial.slice(&slice(subject, block, round)).unwrap();
    }
    trial
}

fn start(dir: &Path, name: &str, hash: &str) -> (Results, RunWriter) {
    let results = Results::open_or_create(dir.join("a/b")).unwrap();
    let run = results.start_run(&plan(name, hash), &Environment::default()).unwrap();
    (results, run)
}

#[test]
fn a_run_is_the_latest_though_the_clock_was_set_back() {
    let dir = tempfile::tempdir().unwrap();
    let (results, first) = start(dir.path(), "one", "h1");
    fs::create_dir(results.dir().join("runs/20990101T000000.000Z-ffff")).unwrap();
    let second = results.start_run(first.plan(), &Environment::default()).unwrap();
    assert!(second.id().starts_with("20990101T000000.001Z-"), "{}", second.id());
}

#[test]
fn what_is_written_is_read_back_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "one", "h1");
    let mut trial = record(&run, "old", 0, 2);
    let event = Event { wall_us: 1, kind: "started".into(), message: "x".into(), seconds: None };
    trial.event(&event).unwrap();
    let row =
        |value| SeriesRow { time_us: 7, scope: Scope::Client, counter: "rss_kib".into(), value };
    trial.series(&[row(1.5), row(3.0)]).unwrap();
    trial.file("server.log", b"ready\n").unwrap();
    let folder = trial.dir().to_owned();
    trial.finish().unwrap();

    let id = run.id().to_owned();
    let plan = plan("one", "h1");
    assert_eq!(results.plan_of(&id).unwrap(), plan);
    let stored = results.slices(&Selection::Run(id.clone())).unwrap();
    assert_eq!(stored.warnings, Vec::<String>::new());
    let slices: Vec<_> = stored.slices.iter().map(|stored| &stored.slice).collect();
    assert_eq!(slices, [&slice("old", 0, 0), &slice("old", 0, 1)]);
    let trials = results.trials(&id).unwrap();
    let expected = TrialHeader {
        format: RECORD_FORMAT,
        trial: stored.slices[0].trial.clone(),
        run: id,
        experiment: "one".into(),
        plan: "h1".into(),
        ..header("old", 0)
    };
    assert_eq!(trials[0].header, expected);
    assert!(trials[0].complete);
    assert_eq!(results.events(&trials[0]).unwrap(), [event]);
    let series = fs::read_to_string(folder.join("series.csv")).unwrap();
    assert_eq!(series, "time_us,scope,counter,value\n7,client,rss_kib,1.5\n7,client,rss_kib,3\n");
    assert_eq!(fs::read_to_string(folder.join("logs/server.log")).unwrap(), "ready\n");
    for path in [results.dir(), &folder, &folder.join("logs"), run.dir()] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_resumed_run_keeps_complete_blocks_only() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "one", "h1");
    run.note_state("operations", &[("point-query", 1000_u64)]).unwrap();
    for subject in ["old", "new"] {
        record(&run, subject, 0, 2).finish().unwrap();
    }
    record(&run, "old", 1, 2).finish().unwrap();
    drop(record(&run, "new", 1, 1));
    assert!(matches!(results.unfinished("h1"), Err(Error::Busy { .. })));
    let id = run.id().to_owned();
    drop(run);

    assert!(results.unfinished("other").unwrap().is_none());
    let run = results.unfinished("h1").unwrap().unwrap();
    assert_eq!((run.id(), run.plan()), (id.as_str(), &plan("one", "h1")));
    let noted: Vec<(String, u64)> = run.state("operations").unwrap().unwrap();
    assert_eq!(noted, [("point-query".to_owned(), 1000)]);
    assert_eq!(run.state::<u64>("nothing").unwrap(), None);
    assert_eq!(run.complete_blocks(), [0]);
    let stored = results.slices(&Selection::All).unwrap();
    assert_eq!((stored.slices.len(), stored.warnings.len()), (7, 1));
    assert_eq!(run.discard_incomplete().unwrap().len(), 2);
    assert_eq!(run.discard_incomplete().unwrap(), Vec::<String>::new());
    let stored = results.slices(&Selection::All).unwrap();
    assert_eq!((stored.slices.len(), stored.warnings.len()), (4, 0));
    for subject in ["old", "new"] {
        record(&run, subject, 1, 2).finish().unwrap();
    }
    assert_eq!(run.complete_blocks(), [0, 1]);
    run.finish().unwrap();
    assert!(results.unfinished("h1").unwrap().is_none());
    assert!(results.runs().unwrap()[0].finished);
}

#[test]
fn the_latest_run_of_each_experiment_is_selected() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, rounds| {
        let (results, run) = start(dir.path(), name, "h");
        if rounds > 0 {
            record(&run, "old", 0, rounds).finish().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
        (results, run.id().to_owned())
    };
    let (_, first) = write("one", 1);
    write("one", 2);
    write("two", 3);
    // A run without a slice does not hide the one before it.
    let (results, empty) = write("two", 0);
    let count = |selection| results.slices(&selection).unwrap().slices.len();
    assert_eq!(count(Selection::LatestPerExperiment), 5);
    assert_eq!(count(Selection::All), 6);
    assert_eq!(count(Selection::Run(first)), 1);
    assert_eq!(count(Selection::Run(empty)), 0);
    let unknown = results.slices(&Selection::Run("nope".into())).unwrap_err().to_string();
    assert!(unknown.starts_with("no run `nope`"), "{unknown}");
}

#[test]
fn a_snapshot_reads_each_run_once() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "e", "h");
    record(&run, "a", 0, 2);
    let snapshot = results.clone().snapshot();
    let count = |results: &Results| {
        let stored = results.slices(&Selection::All).unwrap();
        (results.runs().unwrap().len(), stored.slices.len(), stored.warnings.len())
    };
    let before = count(&snapshot);
    // What it has looked at is not opened again.
    let head = results.dir().join("runs").join(run.id()).join("run.json");
    fs_err::write(&head, "damaged").unwrap();
    assert_eq!(count(&snapshot), before);
    assert_eq!(count(&results).0, 0);
}

#[test]
fn the_index_may_be_deleted_damaged_or_stale() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "one", "h1");
    let mut trial = record(&run, "old", 0, 1);
    let count = || results.slices(&Selection::All).unwrap().slices.len();
    assert_eq!(count(), 1);
    trial.slice(&slice("old", 0, 1)).unwrap();
    assert_eq!(count(), 2);
    let index = results.dir().join("index.sqlite");
    fs::remove_file(&index).unwrap();
    assert_eq!(count(), 2);
    fs::write(&index, b"this is not a database, but it is long enough to be looked at".repeat(99))
        .unwrap();
    assert_eq!(count(), 2);
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(count(), 2, "an index that cannot be written is kept in memory");
    fs::remove_dir(&index).unwrap();
    fs::remove_dir_all(trial.dir()).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn the_latest_finished_run_comes_before_an_unfinished_one() {
    let dir = tempfile::tempdir().unwrap();
    let runs = [(), ()].map(|()| start(dir.path(), "one", "h1"));
    let latest = || {
        let stored = runs[0].0.slices(&Selection::LatestPerExperiment).unwrap();
        stored.slices.first().map(|slice| slice.run.clone()).unwrap()
    };
    runs.iter().for_each(|(_, run)| record(run, "old", 0, 1).finish().unwrap());
    let [first, second] = runs.each_ref().map(|(_, run)| run);
    assert_eq!(latest(), second.id(), "none is finished");
    first.finish().unwrap();
    assert_eq!(latest(), first.id());
}

#[test]
fn a_broken_record_is_a_warning_and_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "one", "h1");
    record(&run, "old", 0, 1).finish().unwrap();
    let check = |file: &str, content: &str, words: &str| {
        let broken = record(&run, "new", 0, 1);
        let folder = broken.dir().to_owned();
        broken.finish().unwrap();
        match (file, content) {
            ("trial.toml", "") => fs::remove_file(folder.join(file)).unwrap(),
            _ => fs::write(folder.join(file), content).unwrap(),
        }
        let stored = results.slices(&Selection::LatestPerExperiment).unwrap();
        assert_eq!((stored.slices.len(), stored.warnings.len()), (1, 1), "{file}");
        assert!(stored.warnings[0].contains(words), "{}", stored.warnings[0]);
        fs::remove_dir_all(folder).unwrap();
    };
    check("trial.toml", "format = 99", "has format 99, this dbdyno reads up to 2");
    check("trial.toml", "\u{0}", "is left out");
    check("trial.toml", "", "there is no such file, so the record is not whole");
    check("slices.jsonl", "", "slices.jsonl` was changed, cut or added");
    check("environment.toml", "", "environment.toml` was changed, cut or added");
    check("complete", "slices = 1\n", "complete` was changed, cut or added");
}

#[test]
fn a_damaged_run_is_a_warning_and_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (results, first) = start(dir.path(), "one", "h1");
    record(&first, "old", 0, 1).finish().unwrap();
    let (_, second) = start(dir.path(), "two", "h2");
    record(&second, "old", 0, 2).finish().unwrap();
    for (text, words) in [("{", "EOF"), ("", "EOF"), ("{\"format\": 99}", "has format 99")] {
        fs::write(first.dir().join("run.json"), text).unwrap();
        assert_eq!(results.runs().unwrap().len(), 1);
        let stored = results.slices(&Selection::All).unwrap();
        assert_eq!((stored.slices.len(), stored.warnings.len()), (2, 1), "{text}");
        let warning = &stored.warnings[0];
        assert!(warning.contains("run.json") && warning.contains(words), "{warning}");
        assert!(results.unfinished("h1").unwrap().is_none());
    }
    drop(second);
    assert!(results.unfinished("h2").unwrap().is_some(), "the other run can be resumed");
}

#[test]
fn a_resume_repeats_blocks_whose_records_were_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "one", "h1");
    let mut series = Vec::new();
    for block in [0, 1] {
        for subject in ["old", "new"] {
            let trial = record(&run, subject, block, 1);
            series.push(trial.dir().join("series.csv"));
            trial.finish().unwrap();
        }
    }
    assert_eq!(run.complete_blocks(), [0, 1]);
    fs::write(&series[1], "time_us,scope,counter,valuf\n").unwrap();
    assert_eq!(run.complete_blocks(), [1]);
    assert_eq!(run.discard_incomplete().unwrap().len(), 2);
    drop(run);

    // What the run remembers of itself is verified too.
    let run = results.unfinished("h1").unwrap().unwrap();
    run.note_state("operations", &1000_u64).unwrap();
    let state = run.dir().join("state.json");
    let text = fs::read_to_string(&state).unwrap();
    fs::write(&state, text.replace("1000", "1001")).unwrap();
    let said = run.state::<u64>("operations").unwrap_err().to_string();
    assert!(said.contains("state.json` was changed"), "{said}");
    fs::remove_file(&state).unwrap();
    assert!(run.state::<u64>("operations").is_err(), "what was noted has to be there");
}

#[test]
fn an_index_of_somebody_else_is_replaced_and_a_link_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "one", "h1");
    record(&run, "old", 0, 2).finish().unwrap();
    let count = || results.slices(&Selection::All).unwrap().slices.len();
    let (index, own) = (results.dir().join("index.sqlite"), dir.path().join("own.sqlite"));
    let open = |path: &Path| rusqlite::Connection::open(path).unwrap();
    let endless = "CREATE VIEW entries AS WITH RECURSIVE one(id) AS (SELECT 1 UNION ALL \
                   SELECT id + 1 FROM one) SELECT id, '' AS entry, '' AS sha256 FROM one";
    open(&index).execute_batch(endless).unwrap();
    open(&index).pragma_update(None, "user_version", 3).unwrap();
    assert_eq!(count(), 2);
    let kind = "SELECT type FROM sqlite_master WHERE name = 'entries'";
    let kind: String = open(&index).query_row(kind, [], |row| row.get(0)).unwrap();
    assert_eq!(kind, "table");
    fs::remove_file(&index).unwrap();
    open(&own).execute_batch("CREATE TABLE runs(id)").unwrap();
    std::os::unix::fs::symlink(&own, &index).unwrap();
    assert_eq!(count(), 2);
    assert!(open(&own).prepare("SELECT id FROM runs").is_ok());
}

#[test]
fn names_that_leave_the_record_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_, run) = start(dir.path(), "one", "h1");
    let trial = record(&run, "old", 0, 0);
    for name in ["", ".", "..", "a/b", "/etc/x", ".hidden", "a\0b"] {
        assert!(matches!(trial.file(name, b""), Err(Error::Name { .. })), "{name}");
    }
    let missing = Results::open(dir.path().join("nope")).unwrap_err().to_string();
    let remedy = "run an experiment first, or name its folder by `--results`";
    assert!(missing.starts_with("there is no folder") && missing.ends_with(remedy), "{missing}");
    let empty = tempfile::tempdir().unwrap();
    let empty = Results::open(empty.path()).unwrap_err().to_string();
    let remedy = "holds no results; name the folder that `dbdyno run --results` wrote";
    assert!(empty.ends_with(remedy), "{empty}");
}

#[test]
fn a_plan_of_another_format_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format-1"), dir.path());
    let results = Results::open(dir.path()).unwrap();
    let run = results.runs().unwrap().remove(0).id;
    let path = dir.path().join("runs").join(&run).join("plan.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut old: serde_json::Value = serde_json::from_str(&text).unwrap();
    old["phases"] = serde_json::json!([{"name": "point", "workload": 0}]);
    fs::write(&path, old.to_string()).unwrap();
    let refused = results.plan_of(&run).unwrap_err().to_string();
    let words = "has format 1, in which a plan held expressions in place of numbers, and this \
                 dbdyno reads 2: read it with the dbdyno that recorded it, or remove its run and \
                 run the experiment again";
    assert!(refused.ends_with(words), "{refused}");
    old["format"] = serde_json::json!(3);
    fs::write(&path, old.to_string()).unwrap();
    let refused = results.plan_of(&run).unwrap_err().to_string();
    let words = "has format 3, this dbdyno reads up to 2; use a newer dbdyno";
    assert!(refused.ends_with(words), "{refused}");
}

/// The sample was written by this code; it must stay readable by every later version.
#[test]
fn the_stored_sample_of_format_1_is_readable() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format-1");
    if std::env::var_os("DBDYNO_UPDATE_GOLDEN").is_some() && !sample.exists() {
        let results = Results::open_or_create(&sample).unwrap();
        let run = results.start_run(&plan("sample", "h1"), &Environment::default()).unwrap();
        for subject in ["old", "new"] {
            let mut trial = record(&run, subject, 0, 2);
            trial.file("server.log", b"ready\n").unwrap();
            trial
                .event(&Event {
                    wall_us: 1,
                    kind: "started".into(),
                    message: "started".into(),
                    seconds: Some(0.5),
                })
                .unwrap();
            trial.finish().unwrap();
        }
        run.finish().unwrap();
    }
    // The sample is copied, so that no index appears beside it.
    let dir = tempfile::tempdir().unwrap();
    copy(&sample, dir.path());
    let results = Results::open(dir.path()).unwrap();
    let runs = results.runs().unwrap();
    assert_eq!((runs.len(), runs[0].finished), (1, true));
    // The sample is older than the name of the suite.
    let mut expected = plan("sample", "h1");
    expected.experiment.suite.clear();
    assert_eq!(results.plan_of(&runs[0].id).unwrap(), expected);
    assert_eq!(results.trials(&runs[0].id).unwrap().len(), 2);
    let stored = results.slices(&Selection::LatestPerExperiment).unwrap();
    let unchecked = format!(
        "run `{}` is of a format without checksums: changes of its files stay unnoticed",
        runs[0].id
    );
    assert_eq!(stored.warnings, [unchecked]);
    assert_eq!(stored.slices.len(), 4);
    assert!(stored.slices.iter().all(|s| s.slice.readings.len() == 1));
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
