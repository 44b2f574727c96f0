//! Runs of a series over time, and the pages that are made of them.

use crate::lab::{Lab, lengthen, text};

const EXPERIMENT: &str = "question = \"Is it still as fast?\"\nseries = \"nightly\"\n\
    workloads = [\"point-query\", \"insert\"]\nrows = 2000\nblocks = 2\nrounds = 1\n\
    slice_seconds = 0.05\nwarmup_seconds = 0.02\nfactors.build = [\"sqlite\"]\n";

/// What a busy host does not change, so that every run has it.
const METRIC: [&str; 2] = ["--metric", "read_calls_per_op"];

/// Two runs of a series, and one of an experiment without one.
fn lab() -> Lab {
    let lab = Lab::new();
    let run = |file: &str, note: &str| {
        let set = format!("note={note}");
        lab.succeed(&["run", file, "--set", &set, "--counts", "none", "--progress", "none"]);
    };
    lab.write("night.toml", EXPERIMENT);
    lab.write("other.toml", &EXPERIMENT.replace("series = \"nightly\"\n", ""));
    run("night.toml", "commit 1a2b3c");
    run("night.toml", "commit 4d5e6f");
    run("other.toml", "none");
    lab
}

#[test]
fn runs_of_a_series_become_a_history_a_site_and_exports() {
    let lab = lab();
    let all = lab.succeed(&[&["history"], &METRIC[..]].concat());
    assert!(all.contains("nightly over time") && all.contains("other over time"), "{all}");
    assert!(all.contains("no step in 2 trends over 2 runs"), "{all}");

    let words = ["history", "nightly", "--test", "insert", "--out", "page.html"];
    let one = lab.succeed(&[&words, &METRIC[..]].concat());
    assert!(one.contains("no step in 1 trend over 2 runs") && !one.contains("other"), "{one}");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("commit 1a2b3c") && page.contains("commit 4d5e6f"));
    assert!(page.contains("data-chart=\"lines\"") && !page.contains("point-query"));

    let refused = |words: &[&str], expected: &str| {
        let said = lab.refuses(words);
        assert!(said.contains(expected), "{said}");
    };
    refused(&["history", "weekly"], "no finished run belongs to `weekly`; there are: `nightly`");
    refused(&["history", "nightly", "--test", "scan"], "no test fits `scan`");
    refused(&["history", "--metric", "nothing"], "nothing");

    // A note that was written later.
    let run = lab.succeed(&["list", "runs"]);
    let first = run.split_whitespace().next().unwrap();
    lab.write("dbdyno-results/notes.toml", &format!("[runs]\n\"{first}\" = \"new kernel\"\n"));
    assert!(lab.succeed(&["history", "nightly", "--format", "html"]).contains("new kernel"));

    has_its_pages(&lab, first);

    // Files of values need no bank.
    lab.write("dbdyno-results/bank.jsonl", "dear reader");
    lab.succeed(&["export", "--all", "--format", "openmetrics", "--out", "files"]);
    let samples = std::fs::read_to_string(lab.path("files/openmetrics.all.txt")).unwrap();
    let rates = samples.lines().filter(|line| {
        line.starts_with("dbdyno_ops_per_second{") && line.contains("test=\"insert\"")
    });
    assert_eq!(rates.count(), 3, "{samples}");
    assert!(samples.ends_with("# EOF\n"));

    // A changed record is left out by name, and the others stay where all of a run are lost.
    let records = lab.records_of(first);
    lengthen(&records[0].join("slices.jsonl"));
    let said = text(&lab.run(&[&["history"], &METRIC[..]].concat()).stderr);
    let words = "was changed, cut or added after it was recorded";
    assert_eq!(said.matches(words).count(), 1, "{said}");
    records.iter().for_each(|record| std::fs::remove_dir_all(record).unwrap());
    let (_, said) = lab.ends(0, &["history", "nightly"]);
    assert!(said.contains(&format!("run {first} has no value here")), "{said}");

    leaves_out_a_damaged_archive(&lab);

    // Damaged notes belong to every run of their folder.
    lab.write("dbdyno-results/notes.toml", "[runs\n");
    refused(&["site", "--out", "damaged"], "not all pages are written");
}

fn has_its_pages(lab: &Lab, first: &str) {
    lab.succeed(&["site", "--out", "public"]);
    let index = std::fs::read_to_string(lab.path("public/index.html")).unwrap();
    assert!(index.contains("nightly") && index.contains(&format!("run-{first}.html")), "{index}");
    let links = index.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let mut pages = 0;
    for link in links.filter(|link| link.ends_with(".html")) {
        assert!(lab.path("public").join(link).is_file(), "{link}");
        pages += 1;
    }
    assert_eq!(pages, 5, "two series and three runs");
    lab.succeed(&["site", "--results", "dbdyno-results,dbdyno-results", "--out", "twice"]);
    let twice = std::fs::read_to_string(lab.path("twice/index.html")).unwrap();
    assert_eq!(twice.matches("href=\"run-").count(), 3, "{twice}");
}

fn leaves_out_a_damaged_archive(lab: &Lab) {
    lab.write("h.txt", "TEST RESULT : System achieved 100 NOPM from 200 PostgreSQL TPM\n");
    lab.succeed(&["import", "h.txt"]);
    let runs = std::fs::read_dir(lab.path("dbdyno-results/runs")).unwrap();
    let headers = runs.map(|run| run.unwrap().path().join("import.json"));
    headers.filter(|path| path.exists()).for_each(|path| std::fs::remove_file(path).unwrap());
    let (_, said) = lab.ends(0, &["history", "nightly"]);
    assert!(said.contains("is left out: ") && said.contains("import.json"), "{said}");
}

#[test]
fn a_folder_without_runs_has_no_history_and_no_site() {
    let lab = Lab::new();
    for part in ["records", "runs"] {
        std::fs::create_dir_all(lab.path("dbdyno-results").join(part)).unwrap();
    }
    let refused = |words: &[&str], expected: &str| {
        let said = lab.refuses(words);
        assert!(said.contains(expected), "{said}");
    };
    refused(&["history"], "there are no finished runs: run an experiment first");
    refused(&["history", "weekly"], "there are no finished runs: run an experiment first");
    refused(&["site", "--out", "public"], "there are no runs: run an experiment or import");
    assert!(!lab.path("public").exists());
}
