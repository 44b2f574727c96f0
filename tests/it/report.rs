//! `dbdyno report`, looked at with a browser.

use crate::{
    browser,
    devtools::Browser,
    lab::{Lab, text},
};

/// What a reader does, as a script: it presses the page's own switches and tells what came of it.
const READER: &str = include_str!("reader.js");

/// The same for the steps of the Insert Benchmark.
const STEPS: &str = include_str!("steps.js");

/// What a reader has written into the page at its end.
const TOLD: &str = "new Promise((done, fail) => { \
     const look = () => { \
         const told = document.getElementById('told'); \
         if (told) done(told.textContent); else setTimeout(look, 20); }; \
     setTimeout(() => fail('the reader did not get to its end'), 300000); \
     look(); })";

/// What a reader finds in the page that is open.
fn told(browser: &mut Browser, reader: &str) -> serde_json::Value {
    browser.ask(reader);
    let told = browser.ask(TOLD);
    assert_eq!(browser.console(), Vec::<String>::new());
    serde_json::from_str(told.as_str().unwrap()).unwrap()
}

#[test]
fn the_command_in_a_report_has_every_option_that_shaped_the_run() {
    let lab = Lab::new();
    let catalog = lab.path("own");
    std::fs::create_dir(&catalog).unwrap();
    let shaping = ["--only", "scan,point-query", "--set", "rows=2000", "--set", "blocks=1"];
    let shaping = [&shaping[..], &["--catalog", "own", "--counts", "none"]].concat();
    let other = ["run", "verify", "--set", "slice_seconds=0.05", "--progress", "none"];
    lab.succeed(&[&other[..], &shaping].concat());
    let page = std::fs::read_to_string(lab.path("dbdyno-results/report.html")).unwrap();
    let line = page.lines().find(|line| line.contains("dbdyno run verify ")).unwrap();
    for words in ["--only scan,point-query", "--set rows=2000", "--catalog own", "--counts none"] {
        assert!(line.contains(words), "{words}: {line}");
    }
    assert!(!line.contains("--progress"), "what shapes nothing is left out: {line}");

    // Files that the page alone needs are named where they are gone or changed.
    let record = std::fs::read_dir(lab.path("dbdyno-results/records")).unwrap().next().unwrap();
    let record = record.unwrap().path();
    std::fs::remove_file(record.join("series.csv")).unwrap();
    std::fs::write(record.join("events.jsonl"), "").unwrap();
    let page = lab.path(lab.succeed(&["report"]).trim());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("series.csv left out: "));
    assert!(page.contains("events.jsonl left out: "));
}

#[test]
fn the_report_of_a_run_can_be_read_switched_sorted_and_saved_offline() {
    let lab = Lab::new();
    let run = ["run", "--set", "rows=5000", "--set", "slice_seconds=0.1"];
    let (_, err) = lab.ends(0, &[&run[..], &["--set", "blocks=4"]].concat());
    assert!(err.contains("the report is dbdyno-results/report.html"), "{err}");
    let out = lab.succeed(&["report", "--out", "r.html", "--cut-bars", "0.5"]);
    assert_eq!(out.trim(), "r.html");
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    assert!(page.len() < 2_000_000, "{}", page.len());
    for words in ["<h1>Is SQLite faster", "journal_mode", "dbdyno run quickstart"] {
        assert!(page.contains(words), "{words}");
    }
    let Some(program) = browser::program() else { return };

    let mut browser = Browser::start(program, &lab.path("profile"));
    browser.open(&lab.path("r.html"));
    let class = browser.ask("document.documentElement.className");
    assert_eq!(class, "js", "the script was executed");
    let told = told(&mut browser, READER);
    let names = serde_json::json!(["point-query", "range-covered-pk", "update-nonindex", "insert"]);
    assert_eq!((&told["all"], &told["unsorted"]), (&names, &names));
    let table = page.split_once("<table class=\"grid").unwrap().1.split_once("</table>").unwrap().0;
    let asides = table.split("<span class=\"aside\">").skip(1);
    let asides: Vec<&str> = asides.map(|text| text.split_once("</span>").unwrap().0).collect();
    assert_eq!(told["asides"], serde_json::json!(asides));
    assert_eq!(told["filtered"], serde_json::json!(["insert"]));
    assert_eq!(told["empty"], serde_json::json!([0, false]));
    let numbers = |key: &str| -> Vec<f64> {
        let texts = told[key].as_array().unwrap().iter();
        texts.map(|text| text.as_str().unwrap().parse().unwrap()).collect()
    };
    assert!(numbers("better").iter().all(|ratio| *ratio >= 1.03), "{told}");
    assert!(numbers("ascending").is_sorted(), "{told}");
    assert!(numbers("descending").iter().rev().is_sorted(), "{told}");
    assert_eq!(told["aria"], "ascending");
    assert!(numbers("absolute").iter().zip(numbers("relative")).all(|(a, r)| *a > 10.0 * r));
    assert!(told["caption"].as_str().unwrap().contains("CPU time of the driver"), "{told}");
    assert_eq!(told["units"], serde_json::json!(["us/op", "ratio"]));
    let footnotes: Vec<[u64; 3]> = serde_json::from_value(told["footnotes"].clone()).unwrap();
    assert!(footnotes.iter().all(|[cells, refs, dead]| cells == refs && *dead == 0), "{told}");
    assert!(footnotes.iter().any(|[cells, ..]| *cells > 0), "{told}");
    assert_eq!(told["published"], true);
    assert_eq!(told["kinds"], serde_json::json!(["application/json", "text/csv"]));
    assert_eq!(told["requests"], serde_json::json!([]));
    assert_eq!(told["wide"], true, "the page is as wide as its window");
    assert_eq!(told["folds"], serde_json::json!([true, true, true]), "all is open on paper");

    let charts = told["charts"].as_array().unwrap();
    assert!(charts.len() >= 4 * 3, "{}", charts.len());
    for chart in charts {
        let [marks, drawn] = [0, 1].map(|index| chart[index].as_u64().unwrap());
        assert!(marks > 0 && drawn > 0 && chart[2] == true, "{chart}");
    }
    let widths: Vec<u64> =
        told["csv"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert!(widths.len() > 100 && widths[..50].iter().all(|w| *w == widths[0]), "{widths:?}");
}

#[test]
fn the_report_of_an_insert_benchmark_has_its_tables_and_steps() {
    let lab = Lab::new();
    lab.write(
        "ib.toml",
        "question = \"does the journal matter?\"\nsuite = \"insert-benchmark\"\nrows = 5000\n\
         design = \"classic\"\nblocks = 1\nbaseline = { config = \"rollback\" }\n[parameters]\n\
         inserted = 1000\nquery_seconds = 3\nsettle_seconds = 0\nsettle_seconds_max = 1\n\
         [factors]\nbuild = [\"sqlite\"]\nconfig = [\"rollback\", \"wal\"]\n",
    );
    // A busy host may miss a rate, which is a result too.
    let output = lab.run(&["run", "ib.toml", "--counts", "none"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(lab.path("dbdyno-results/report.html")).unwrap();
    assert!(page.len() < 2_000_000, "{}", page.len());
    let Some(program) = browser::program() else { return };
    let mut browser = Browser::start(program, &lab.path("profile"));
    browser.open(&lab.path("dbdyno-results/report.html"));
    let told = told(&mut browser, STEPS);
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!((&told["tables"], &told["closed"]), (&json("3"), &json("true")));
    assert_eq!(
        told["heads"],
        json(
            r#"["variant", "l.i0", "l.x", "l.i1", "l.i2",
                "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"]"#
        )
    );
    assert_eq!(told["targets"], "target10010050050010001000");
    assert_eq!((&told["before"], &told["after"]), (&json("[true, false]"), &json("[true, false]")));
    assert_eq!(told["published"], json(r#"[[false, true], true, "published"]"#));
    let numbers = |key: &str| -> Vec<f64> {
        told[key].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    assert!(numbers("ascending").is_sorted(), "{told}");
    assert!(numbers("descending").iter().rev().is_sorted(), "{told}");
    assert_eq!(told["targetLast"], "target");
    assert_eq!(told["filtered"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(told["opened"], true);
    assert_eq!(told["wide"], true, "the page is as wide as its window");
    assert_eq!(told["steps"].as_array().unwrap().len(), 10, "{told}");

    let charts: Vec<usize> = told["charts"].as_array().unwrap().iter().map(charts_of).collect();
    // Loading has one role, the churn two, and queries three; an index phase has none.
    assert_eq!(charts[..4], [3, 0, 6, 6], "{told}");
    assert!(charts[4..].iter().all(|count| *count == 9), "{told}");
}

/// The charts of a step, each of which has points and shows something.
fn charts_of(step: &serde_json::Value) -> usize {
    let charts = step.as_array().unwrap();
    for chart in charts {
        let marks = chart[0].as_u64().unwrap();
        assert!(marks >= 2, "{chart}");
        // Two seconds and more make a line.
        assert!(marks <= 4 || chart[1].as_f64().unwrap() > 0.0, "{chart}");
    }
    charts.len()
}

#[test]
fn several_experiments_get_a_page_each_and_the_page_of_the_last_run_stays() {
    let lab = Lab::new();
    let short = ["--set", "rows=500", "--set", "blocks=1", "--set", "slice_seconds=0.05"];
    let short = [&short[..], &["--only", "point-query", "--counts", "none"]].concat();
    lab.succeed(&[&["run"][..], &short].concat());
    let page = lab.path("dbdyno-results/report.html");
    assert!(page.exists());
    lab.write(
        "other.toml",
        "question = \"another?\"\nsuite = \"quick\"\nfactors.build = [\"sqlite\"]\n",
    );
    lab.succeed(&[&["run", "other.toml"][..], &short].concat());
    let of_other = std::fs::read_to_string(&page).unwrap();
    assert!(of_other.contains("another?") && !of_other.contains("write-ahead"), "{of_other}");
    let (index, err) = lab.ends(0, &["report"]);
    assert_eq!(err, "");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), of_other);
    let index = std::fs::read_to_string(lab.path(index.trim())).unwrap();
    assert!(index.contains("quickstart") && index.contains("other"), "{index}");
}
