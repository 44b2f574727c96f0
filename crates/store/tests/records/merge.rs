//! Runs of another results folder.

use super::{copy, record, start};
use fs_err as fs;
use store::{Error, Results, Selection, Taken};

#[test]
fn what_is_new_elsewhere_is_taken_once_and_what_clashes_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (there, run) = start(&dir.path().join("there"), "one", "h1");
    record(&run, "old", 0, 2).finish().unwrap();
    let here = Results::open_or_create(dir.path().join("here")).unwrap();
    let taken = |runs, trials| Taken { runs, trials };
    // A copy that was cut off is begun anew.
    fs::create_dir_all(here.dir().join("taking/0/logs")).unwrap();
    assert_eq!(here.take(&there).unwrap(), taken(1, 1));
    assert_eq!(here.take(&there).unwrap(), taken(0, 0));
    record(&run, "new", 0, 2).finish().unwrap();
    drop(record(&run, "old", 1, 1));
    assert_eq!(here.take(&there).unwrap(), taken(0, 1));
    assert!(!here.dir().join("taking").exists());
    let (own, other) =
        (here.slices(&Selection::All), there.slices(&Selection::Run(run.id().into())));
    let complete = other.unwrap().slices.into_iter().filter(|stored| stored.slice.block == 0);
    assert_eq!(own.unwrap().slices.len(), complete.count());
    assert!(!here.runs().unwrap()[0].finished);
    drop(run);
    there.unfinished("h1").unwrap().unwrap().finish().unwrap();
    here.take(&there).unwrap();
    let run = here.runs().unwrap().remove(0);
    assert!(run.finished);
    // What is explained here stays, whatever is taken later.
    let side = serde_json::json!({
        "subject": "old", "server_version": "", "operations": 1, "cost": 1, "unplaced": 0,
        "warm_up": { "operations": 1, "batches": [], "steady": true }, "functions": [], "areas": [],
    });
    let [own, new] = ["point", "scan"].map(|phase| {
        let explanation = serde_json::json!({
            "format": 2, "phase": phase, "means": "", "sides": [side, side],
        });
        serde_json::from_value(explanation).unwrap()
    });
    here.keep_explanation(&run.id, &own).unwrap();
    // What is explained there later comes with it.
    there.keep_explanation(&run.id, &new).unwrap();
    for _ in 0..2 {
        here.take(&there).unwrap();
        assert_eq!(here.explanations(&run.id).unwrap(), [own.clone(), new.clone()]);
    }
    let own = fs::read_dir(here.dir().join("records")).unwrap().next().unwrap().unwrap().path();
    fs::write(own.join("complete"), "slices = 7\n").unwrap();
    assert!(matches!(here.take(&there), Err(Error::Malformed { .. })));
    assert!(!here.dir().join("taking").exists(), "copies of what failed stay on the disk");
}

#[test]
fn what_a_resumed_run_sets_aside_is_set_aside_where_it_was_taken() {
    let dir = tempfile::tempdir().unwrap();
    let (there, run) = start(&dir.path().join("there"), "one", "h1");
    let here = Results::open_or_create(dir.path().join("here")).unwrap();
    record(&run, "old", 0, 2).finish().unwrap();
    drop(record(&run, "new", 0, 1));
    here.take(&there).unwrap();
    drop(run);
    let run = there.unfinished("h1").unwrap().unwrap();
    assert_eq!(run.discard_incomplete().unwrap().len(), 2);
    for subject in ["old", "new"] {
        record(&run, subject, 0, 2).finish().unwrap();
    }
    here.take(&there).unwrap();
    let slices = |results: &Results| results.slices(&Selection::All).unwrap().slices.len();
    assert_eq!((slices(&here), slices(&there)), (4, 4), "each block of each subject is there once");
}

#[test]
fn files_on_their_way_are_not_taken_and_nobody_else_takes_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    let (there, run) = start(&dir.path().join("there"), "one", "h1");
    let here = Results::open_or_create(dir.path().join("here")).unwrap();
    // The first time a run is copied as a whole, later what has changed in it.
    for name in ["state.json.new", "sha256.new"] {
        fs::write(run.dir().join(name), "{").unwrap();
        here.take(&there).unwrap();
        assert!(!here.dir().join("runs").join(run.id()).join(name).exists(), "{name}");
    }
    let taking = here.dir().join("taking");
    fs::create_dir(&taking).unwrap();
    let lock = fs::File::create(taking.join("lock")).unwrap();
    lock.file().lock().unwrap();
    assert!(matches!(here.take(&there), Err(Error::Unwritable { .. })));
    drop(lock);
    here.take(&there).unwrap();
}

#[test]
fn copies_and_records_of_other_folders_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (results, run) = start(dir.path(), "one", "h1");
    let trial = record(&run, "old", 0, 1);
    let folder = trial.dir().to_owned();
    let id = trial.id().to_owned();
    trial.finish().unwrap();
    let copied = folder.with_file_name("20990101T000000.000Z-0000");
    fs::create_dir(&copied).unwrap();
    copy(&folder, &copied);
    let stored = results.slices(&Selection::All).unwrap();
    assert_eq!((stored.slices.len(), stored.warnings.len()), (1, 1));
    let words = format!("it is a copy of record `{id}`");
    assert!(stored.warnings[0].contains(&words), "{:?}", stored.warnings);
    fs::remove_dir_all(&copied).unwrap();

    let other = tempfile::tempdir().unwrap();
    let (others, _run) = start(other.path(), "two", "h2");
    let second = record(&run, "new", 0, 1);
    let beside = second.dir().to_owned();
    second.finish().unwrap();
    for own in [&folder, &beside] {
        let foreign = others.dir().join("records").join(own.file_name().unwrap());
        fs::create_dir(&foreign).unwrap();
        copy(own, &foreign);
    }
    let stored = others.slices(&Selection::All).unwrap();
    assert_eq!((stored.slices.len(), stored.warnings.len()), (0, 1));
    let words = format!("it is of run `{}`, which is not in this folder", run.id());
    assert!(stored.warnings[0].contains(&words), "{:?}", stored.warnings);
}
