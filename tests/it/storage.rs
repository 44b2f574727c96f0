//! What storage costs: syncs and writes as the kernel and the servers count them.

use crate::lab::{Lab, known};
use serde_json::Value;

const MINE: &str = "question = \"What do commits cost?\"\nworkloads = [\"update-index\"]\n\
                    rows = 2000\nblocks = 1\nrounds = 1\nslice_seconds = 0.5\n\
                    warmup_seconds = 0.1\n[factors]\nbuild = [\"innodb\", \"postgres\"]\n\
                    [servers.innodb]\nserver = \"mysql\"\nversion = \"9\"\nconfig = \"durable\"\n\
                    [servers.postgres]\nserver = \"postgres\"\nversion = \"18\"\n\
                    config = \"durable\"\n";

/// Commits of a slice beside which the background work around its window is little.
const COMMITS: f64 = 150.0;

fn is_measured(slice: &Value) -> bool {
    slice["state"] == "measured"
}

/// The slices of a run in which each has enough commits; a slow disk takes longer for as many.
fn with_commits(lab: &Lab) -> Vec<Value> {
    let of = |seconds: &str| {
        let _ = std::fs::remove_dir_all(lab.path("dbdyno-results"));
        let words = ["run", "mine.toml", "--counts", "none", "--progress", "none"];
        let length = format!("slice_seconds={seconds}");
        lab.succeed(&[&words[..], &["--set", &length]].concat());
        let slices = lab.slices();
        let has_many = |slice: &Value| slice["work"]["succeeded"].as_f64().unwrap() >= COMMITS;
        let is_enough = slices.iter().filter(|slice| is_measured(slice)).all(has_many);
        is_enough.then_some(slices)
    };
    ["0.5", "4", "32"].into_iter().find_map(of).expect("150 commits in 32 s")
}

/// How far the server's own counters moved together that a pattern names, in the only slice of a
/// subject.
fn counted(lab: &Lab, subject: &str, is_wanted: impl Fn(&str) -> bool) -> f64 {
    let records = std::fs::read_dir(lab.path("dbdyno-results/records")).unwrap().flatten();
    let of_subject = records.map(|record| record.path()).filter(|record| {
        let slices = std::fs::read_to_string(record.join("slices.jsonl")).unwrap();
        let mut slices = slices.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        slices.any(|slice| slice["subject"] == subject)
    });
    let files = of_subject.flat_map(|record| std::fs::read_dir(record.join("artefacts")).unwrap());
    let files = files.flatten();
    let texts = files.filter(|file| file.file_name().to_string_lossy().ends_with("state.json"));
    let moved = texts.map(|file| {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let state: Value = serde_json::from_str(&text).unwrap();
        let counters = state["counters"].as_object().unwrap().clone();
        let wanted = counters.into_iter().filter(|(name, _)| is_wanted(name));
        wanted.map(|(_, ends)| ends[1].as_f64().unwrap() - ends[0].as_f64().unwrap()).sum::<f64>()
    });
    moved.sum()
}

/// How far a counter of the server's processes moved in a slice.
fn moved(slice: &Value, counter: &str) -> Option<f64> {
    let readings = slice["readings"].as_array().unwrap();
    let is_own = |one: &&Value| one["scope"] == "server" && one["counter"] == counter;
    let one = readings.iter().find(is_own)?;
    Some(one["end"].as_f64().unwrap() - one["start"].as_f64().unwrap())
}

#[test]
fn syncs_are_those_that_servers_count_themselves() {
    let lab = Lab::with_small_logs();
    lab.write("mine.toml", MINE);
    let slices = with_commits(&lab);
    let mut subjects = 0;
    for slice in slices.iter().filter(|slice| is_measured(slice)) {
        let subject = slice["subject"].as_str().unwrap();
        let Some(found) = moved(slice, "fsyncs") else {
            println!("skipped: {}", lab.succeed(&["doctor"]));
            return;
        };
        let own = counted(&lab, subject, |name| match subject {
            "innodb" => name == "status.Innodb_data_fsyncs",
            _ => name.starts_with("io.") && name.ends_with(".fsyncs"),
        });
        let commits = slice["work"]["succeeded"].as_f64().unwrap();
        assert!(found >= commits, "{subject}: {found} syncs of {commits} commits");
        // The server's counters are read before and after the window, so they may have more, of
        // background work. They have none of folders, into which InnoDB puts new files of its log.
        let more = own - found;
        assert!((-0.02 * own..=0.1 * own).contains(&more), "{subject}: {found} {own}");
        subjects += 1;
    }
    assert_eq!(subjects, 2);
    let comparison = lab.comparison();
    for subject in ["innodb", "postgres"] {
        let value = |metric| known(&comparison, "update-index", subject, metric);
        let Some(syncs) = value("fsyncs_per_op") else { continue };
        assert!((1.0..2.0).contains(&syncs), "{subject}: {syncs}");
        // Rows of 186 bytes; each commit writes a block of the log at least.
        let (written, amplified) = (value("write_kib_per_op"), value("write_amplification"));
        let (written, amplified) = (written.unwrap() * 1024.0, amplified.unwrap());
        assert!(
            (written / 186.0 / amplified - 1.0).abs() < 0.01,
            "{subject}: {written} {amplified}"
        );
        assert!(amplified > 1.0, "{subject}: {amplified}");
    }
}

#[test]
fn reads_by_file_and_index_are_those_of_the_processes() {
    let lab = Lab::with_small_logs();
    let mine = MINE.replace("update-index", "point-query").replace("rows = 2000", "rows = 200000");
    let [innodb, postgres] = ["io-by-file", "io-direct"].map(|name| format!("\"{name}\""));
    let mine = mine.replacen("\"durable\"", &innodb, 1).replacen("\"durable\"", &postgres, 1);
    // Servers count from before the window until after it: that has to be little of the window.
    let mine = mine.replace("slice_seconds = 0.5", "slice_seconds = 3");
    lab.write("mine.toml", &mine);
    lab.succeed(&["run", "mine.toml", "--counts", "none", "--progress", "none"]);
    let slices = lab.slices();
    let measured: Vec<&Value> = slices.iter().filter(|slice| is_measured(slice)).collect();
    assert_eq!(measured.len(), 2, "one of each server");
    for slice in measured {
        let subject = slice["subject"].as_str().unwrap();
        let own = match subject {
            "innodb" => counted(&lab, subject, |name| {
                name.starts_with("file.") && name.ends_with(".read_bytes")
            }),
            _ => {
                let is_place =
                    |name: &str| ["index.", "table."].iter().any(|g| name.starts_with(g));
                8192.0
                    * counted(&lab, subject, |name| is_place(name) && name.ends_with("blks_read"))
            }
        };
        let processes = moved(slice, "read_bytes").unwrap();
        assert!(processes > 1e6, "{subject}: {processes} bytes are too few to compare");
        assert!((own / processes - 1.0).abs() < 0.05, "{subject}: {own} of {processes} bytes");
    }
    let table = lab.succeed(&["compare", "--metric", "reads_per_op,file.*ibd.read?,index.*_read"]);
    for column in ["file.dbdyno/sbtest1.ibd.reads", "index.sbtest1_pkey.idx_blks_read"] {
        assert!(table.contains(column), "{table}");
    }
    let nothing = lab.run(&["compare", "--metric", "index.*_missed"]);
    let said = crate::lab::text(&nothing.stderr);
    assert!(said.contains("matches `index.*_missed`"), "{said}");
    let report = std::fs::read_to_string(lab.path("dbdyno-results/report.html")).unwrap();
    for part in ["id=\"reads\"", "sbtest1_pkey", "processes of the server", "share explained"] {
        assert!(report.contains(part), "{part}");
    }
}
