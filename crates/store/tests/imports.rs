//! Imports: written, found, selected, damaged.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use model::{
    imported::{ImportHeader, ImportedValue, Source},
    measurement::Measurement,
};
use std::sync::Arc;
use store::{Results, Selection};

fn value(subject: &str, metric: &str, value: f64) -> ImportedValue {
    ImportedValue {
        measurement: Measurement {
            experiment: "nov".into(),
            subject: subject.into(),
            phase: "scan".into(),
            workload: "scan".into(),
            group: "range".into(),
            position: 3,
            range: Some(100),
            clients: 1,
            levels: Arc::new([("pk".to_owned(), "1".to_owned())].into()),
            metric: metric.into(),
            value,
            marks: vec!["a bias".into()],
            ..Measurement::default()
        },
        text: "0.000510".into(),
        source: Source { file: "nov/x/sb.met".into(), line: 6 },
    }
}

fn header(experiment: &str) -> ImportHeader {
    ImportHeader {
        format: 0,
        experiment: experiment.into(),
        subjects: vec!["b".into(), "a".into()],
        bases: [("a".to_owned(), "a".to_owned())].into(),
        corrections: vec!["vmstat".into()],
        warnings: vec!["`f`:1: is broken".into()],
        ..ImportHeader::default()
    }
}

fn results() -> (tempfile::TempDir, Results) {
    let dir = tempfile::tempdir().unwrap();
    let results = Results::open_or_create(dir.path().join("results")).unwrap();
    (dir, results)
}

#[test]
fn imported_values_come_back_as_they_were_with_their_run() {
    let (_dir, results) = results();
    let mut values =
        vec![value("a", "x", 0.1 + 0.2), value("a", "y", 1e300), value("b", "x", 5e-324)];
    values.push(value("b", "y", 0.923_716_868_468_616_3));
    let run = results.import(&header("nov"), &values).unwrap();
    let stored = results.slices(&Selection::Run(run.clone())).unwrap();
    values.iter_mut().for_each(|value| value.measurement.run = run.as_str().into());
    assert_eq!((stored.imported, stored.warnings, stored.slices), (values, vec![], vec![]));
    let found = results.import_of(&run).unwrap().unwrap();
    assert_eq!(found, ImportHeader { format: model::record::RECORD_FORMAT, ..header("nov") });
    let runs = results.runs().unwrap();
    assert!(runs[0].finished && runs[0].experiment == "nov");
    assert_eq!(results.trials(&run).unwrap().len(), 2);
}

#[test]
fn the_latest_import_of_an_experiment_counts() {
    let (_dir, results) = results();
    let first = results.import(&header("nov"), &[value("a", "x", 1.0)]).unwrap();
    let second = results.import(&header("nov"), &[value("a", "x", 2.0)]).unwrap();
    let other = results.import(&header("dec"), &[value("a", "x", 3.0)]).unwrap();
    let runs = |selection| -> Vec<String> {
        let stored = results.slices(&selection).unwrap();
        stored.imported.into_iter().map(|value| value.measurement.run.to_string()).collect()
    };
    assert_eq!(runs(Selection::All), [first, second.clone(), other.clone()]);
    assert_eq!(runs(Selection::LatestPerExperiment), [second, other]);
}

#[test]
fn switches_of_a_whole_host_have_their_name_in_old_imports_too() {
    let (_dir, results) = results();
    let metric = "context_switches_per_op";
    let run = results.import(&header("nov"), &[value("a", metric, 1.0)]).unwrap();
    let names = || -> Vec<String> {
        let stored = results.slices(&Selection::All).unwrap();
        stored.imported.iter().map(|value| value.measurement.metric.to_string()).collect()
    };
    assert_eq!(names(), [metric]);
    let trial = results.trials(&run).unwrap()[0].dir.clone();
    let head = std::fs::read_to_string(trial.join("trial.toml")).unwrap();
    std::fs::write(trial.join("trial.toml"), head.replacen("format = 2", "format = 1", 1)).unwrap();
    std::fs::write(trial.join("complete"), "values = 1\n").unwrap();
    assert_eq!(names(), [format!("host_{metric}")]);
}

#[test]
fn a_damaged_import_is_named_and_left_out() {
    let (_dir, results) = results();
    let run =
        results.import(&header("nov"), &[value("a", "x", 1.0), value("a", "y", 2.0)]).unwrap();
    let file = results.trials(&run).unwrap()[0].dir.join("imported.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let check = |text: &str, values: usize, word: &str| {
        std::fs::write(&file, text).unwrap();
        let stored = results.slices(&Selection::All).unwrap();
        assert_eq!(stored.imported.len(), values, "{:?}", stored.warnings);
        assert!(stored.warnings.iter().any(|warning| warning.contains(word)), "{word}");
    };
    check(&text[..text.len() - 20], 0, "imported.jsonl` was changed, cut or added");
    check(&text.replacen("\"line\":6", "\"line\":7", 1), 0, "imported.jsonl` was changed");
    check("", 0, "imported.jsonl` was changed");
    // What the import had not finished has no sums: what can be read of it is there.
    std::fs::remove_file(file.with_file_name("complete")).unwrap();
    check(&text[..text.len() - 20], 1, "middle of a value");
    check(&text.replacen("\"line\":6", "\"line\":-6", 1), 1, "line 1 of imported.jsonl");
    check(&text, 2, "not complete");
}

#[test]
fn an_import_that_cannot_be_written_leaves_nothing() {
    let (_dir, results) = results();
    let folder = |name: &str| results.dir().join(name);
    let names = |name: &str| fs_err::read_dir(folder(name)).unwrap().count();
    results.import(&header("first"), &[value("a", "qps", 1.0)]).unwrap();
    let (runs, records) = (names("runs"), names("records"));
    // Records have no place to be.
    fs_err::rename(folder("records"), folder("elsewhere")).unwrap();
    fs_err::write(folder("records"), "").unwrap();
    assert!(results.import(&header("second"), &[value("a", "qps", 1.0)]).is_err());
    fs_err::remove_file(folder("records")).unwrap();
    fs_err::rename(folder("elsewhere"), folder("records")).unwrap();
    assert_eq!((names("runs"), names("records")), (runs, records));
}
