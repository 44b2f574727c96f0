//! `dbdyno report`, looked at with a browser.

use crate::{
    browser,
    lab::{Lab, text},
};

/// What a reader does, as a script: it presses the page's own switches and tells what came of it.
const READER: &str = include_str!("reader.js");

/// What the reader told; its script stands in a copy of the page without the page's policy, which
/// would rightly refuse it.
fn told(lab: &Lab, program: &str, page: &str) -> serde_json::Value {
    let start = page.find("<meta http-equiv").unwrap();
    let end = start + page[start..].find('>').unwrap() + 1;
    let copy = format!("{}{}<script>{READER}</script>\n", &page[..start], &page[end..]);
    let file = lab.write("reader.html", &copy);
    let shown = browser::open(program, &file, &lab.path("profile-reader"));
    assert_eq!(shown.console, Vec::<String>::new());
    let text = shown.html.split_once("<pre id=\"told\">").expect("the reader got to its end").1;
    let text = text.split_once("</pre>").unwrap().0;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_command_in_a_report_has_every_option_that_shaped_the_run() {
    let lab = Lab::new();
    let catalog = lab.path("own");
    std::fs::create_dir(&catalog).unwrap();
    let shaping = ["--only", "scan,point-query", "--set", "rows=2000", "--set", "blocks=1"];
    let shaping = [&shaping[..], &["--catalog", "own", "--no-steps"]].concat();
    let other = ["run", "verify", "--set", "slice_seconds=0.05", "--progress", "none"];
    lab.succeed(&[&other[..], &shaping].concat());
    let page = std::fs::read_to_string(lab.path("dbdyno-results/report.html")).unwrap();
    let line = page.lines().find(|line| line.contains("dbdyno run verify.toml")).unwrap();
    for words in ["--only scan,point-query", "--set rows=2000", "--catalog own", "--no-steps"] {
        assert!(line.contains(words), "{words}: {line}");
    }
    assert!(!line.contains("--progress"), "what shapes nothing is left out: {line}");
}

#[test]
fn the_report_of_a_run_can_be_read_switched_sorted_and_saved_offline() {
    let lab = Lab::new();
    let output = lab.run(&["run", "--set", "rows=5000", "--set", "slice_seconds=0.1"]);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("the report is dbdyno-results/report.html"), "{err}");
    let out = lab.succeed(&["report", "--out", "r.html", "--cut-bars", "0.5"]);
    assert_eq!(out.trim(), "r.html");
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    assert!(page.len() < 2_000_000, "{}", page.len());
    for words in ["<h1>Is SQLite faster", "journal_mode", "dbdyno run quickstart.toml"] {
        assert!(page.contains(words), "{words}");
    }
    let Some(program) = browser::program() else {
        println!("skipped: a browser is needed, such as Debian's package `chromium`");
        return;
    };

    let shown = browser::open(program, &lab.path("r.html"), &lab.path("profile"));
    assert_eq!(shown.console, Vec::<String>::new());
    assert!(shown.html.contains("<html lang=\"en\" class=\"js\">"), "the script was executed");

    let told = told(&lab, program, &page);
    let names = serde_json::json!(["point-query", "range-covered-pk", "update-nonindex", "insert"]);
    assert_eq!((&told["all"], &told["unsorted"]), (&names, &names));
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
    assert_eq!(told["published"], true);
    assert_eq!(told["kinds"], serde_json::json!(["application/json", "text/csv"]));
    assert_eq!(told["requests"], serde_json::json!([]));
    assert_eq!(told["wide"], true, "the page is as wide as its window");

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
