//! Reports of published archives and of an own run of all rows, in a browser that is started once.

use crate::{
    browser,
    devtools::{Browser, Key},
    lab::Lab,
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Most bytes that a report may have.
const LARGEST: u64 = 2_000_000;

/// Most keys between the top of a page and a link to a row.
const KEYS: usize = 600;

/// Asks for what a reader sees, reads, clicks and presses.
const LOOKS: &str = include_str!("looks.js");

/// Medium, scheme and the table's colors under which every text must be readable.
const LOOKED_AT: [(&str, &str, &str); 6] = [
    ("screen", "light", "published"),
    ("screen", "light", ""),
    ("screen", "dark", "published"),
    ("screen", "dark", ""),
    ("print", "light", ""),
    ("print", "dark", ""),
];

/// A report, and the least that is in it.
struct Case {
    /// A folder of the published archives; none for a run of our own.
    archive: Option<&'static str>,
    /// Tables that can be filtered and sorted.
    tables: usize,
    /// Rows of the largest of them.
    rows: usize,
    /// Variants of the comparison with most of them, its base too.
    variants: usize,
    /// Charts in which a test is a line of marks.
    strips: usize,
    /// Charts with two axes.
    lines: usize,
}

const MYSQL: &str = "nov25.sb.mysql/dop1";
const CLIENTS: &str = "mar25.sb.in.c48";
const MALLOC: &str = "apr25.c48.malloc";
const FLAT: &str = "feb25.pg.flat.sample";
const INSERTS: &str = "ibench.jan2021";

const CASES: [Case; 6] = [
    Case { archive: None, tables: 1, rows: 34, variants: 2, strips: 34, lines: 34 },
    Case { archive: Some(MYSQL), tables: 1, rows: 35, variants: 9, strips: 35, lines: 0 },
    Case { archive: Some(CLIENTS), tables: 1, rows: 208, variants: 6, strips: 208, lines: 20 },
    // Four bases: as many tables and plots.
    Case { archive: Some(MALLOC), tables: 4, rows: 35, variants: 6, strips: 137, lines: 19 },
    Case { archive: Some(FLAT), tables: 1, rows: 3, variants: 1, strips: 0, lines: 0 },
    // Too many variants to tell their marks apart: a line per test.
    Case { archive: Some(INSERTS), tables: 6, rows: 15, variants: 11, strips: 0, lines: 45 },
];

impl Case {
    fn name(&self) -> &'static str {
        self.archive.unwrap_or("own run")
    }

    /// Imports or measures, and writes the report; nothing where the archive is not at hand.
    fn report(&self, lab: &Lab) -> Option<PathBuf> {
        let folder = format!("results-{}", self.name().replace(['/', ' '], "-"));
        let page = lab.path(&folder).join("report.html");
        let Some(archive) = self.archive else {
            lab.write("own.toml", OWN);
            lab.succeed(&["run", "own.toml", "--counts", "none", "--results", &folder]);
            return Some(page);
        };
        let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/archives");
        let archive = archives.join(archive);
        if !archive.is_dir() {
            println!("skipped: `{}` is not there", archive.display());
            return None;
        }
        lab.succeed(&["import", archive.to_str().unwrap(), "--results", &folder]);
        lab.succeed(&["report", "--results", &folder, "--out", page.to_str().unwrap()]);
        Some(page)
    }
}

/// The 32 rows, and two before any write, on an engine that needs no server.
const OWN: &str = r#"
question = "Is SQLite faster with the write-ahead log than with the rollback journal?"
suite = "sysbench"
blocks = 1
rounds = 1
rows = 2_000
slice_seconds = 0.02
warmup_seconds = 0
baseline = { config = "rollback" }
[factors]
build = ["sqlite"]
config = ["rollback", "wal"]
"#;

#[test]
fn every_report_is_whole_offline_and_usable_with_eyes_keys_and_paper() {
    let Some(program) = browser::program() else { return };
    let lab = Lab::new();
    let mut browser = Browser::start(program, &lab.path("profile"));
    for case in &CASES {
        let Some(page) = case.report(&lab) else { continue };
        let size = std::fs::metadata(&page).unwrap().len();
        assert!(size <= LARGEST, "{}: {size} bytes", case.name());
        browser.medium("screen", "light");
        browser.size((1280, 900));
        browser.open(&page);
        browser.ask(LOOKS);
        check_whole(&mut browser, case);
        check_keys(&mut browser, case);
        check_looks(&mut browser, case);
        check_sizes(&mut browser, case);
        assert_eq!(browser.console(), Vec::<String>::new(), "{}", case.name());
        assert_eq!(browser.requests(&page), Vec::<String>::new(), "{}", case.name());
    }
}

/// Tables are there, filter and sort do what they say, and every chart has its data.
fn check_whole(browser: &mut Browser, case: &Case) {
    let name = case.name();
    let counts = browser.ask("looks.counts()");
    let rows: Vec<usize> = serde_json::from_value(counts["rows"].clone()).unwrap();
    assert!(rows.len() >= case.tables, "{name}: {counts}");
    assert!(rows.iter().any(|count| *count >= case.rows), "{name}: {counts}");
    for what in ["filtered", "judged", "sorted"] {
        let did = browser.ask(&format!("looks.{what}()"));
        assert_eq!(did, json!(vec![true; rows.len()]), "{name}: {what}");
    }
    let chosen: Vec<bool> = serde_json::from_value(browser.ask("looks.chosen()")).unwrap();
    assert!(chosen.iter().all(|did| *did), "{name}: the chooser hides columns: {chosen:?}");
    assert_eq!(!chosen.is_empty(), case.variants > 2, "{name}: {chosen:?}");
    let charts = browser.ask("looks.charts()");
    assert_eq!(charts["broken"], json!([]), "{name}");
    let count = |key: &str| charts[key].as_u64().unwrap() as usize;
    assert!(count("strips") >= case.strips, "{name}: {charts}");
    assert!(count("lines") >= case.lines, "{name}: {charts}");
}

/// Without a mouse: everything is reached, what has the focus is seen, Enter sorts, typing filters.
fn check_keys(browser: &mut Browser, case: &Case) {
    let name = case.name();
    let mut reached = BTreeSet::new();
    let wanted = ["skip", "section", "filter", "sort", "row"];
    for _ in 0..KEYS {
        browser.press(Key::Tab);
        let (kind, seen): (String, bool) =
            serde_json::from_value(browser.ask("looks.focus()")).unwrap();
        assert!(seen, "{name}: nothing shows that a {kind} has the focus");
        let is_new = reached.insert(kind.clone());
        match kind.as_str() {
            "filter" if is_new => check_typing(browser, name),
            "sort" if is_new => {
                browser.press(Key::Enter);
                assert_eq!(browser.ask("looks.pressed()"), true, "{name}: Enter sorts");
            }
            _ => {}
        }
        if wanted.iter().all(|kind| reached.contains(*kind)) {
            return;
        }
    }
    panic!("{name}: Tab reaches {reached:?} only");
}

fn check_typing(browser: &mut Browser, name: &str) {
    let word = browser.ask("looks.word()");
    browser.type_in(word.as_str().unwrap());
    assert_eq!(browser.ask("looks.typed()"), true, "{name}: typing filters");
    browser.ask("document.activeElement.select()");
    browser.ask("document.execCommand('delete')");
}

/// Every text that is shown can be read, light, dark and on paper.
fn check_looks(browser: &mut Browser, case: &Case) {
    let name = case.name();
    browser.ask("looks.open()");
    for (medium, scheme, colours) in LOOKED_AT {
        browser.medium(medium, scheme);
        browser.ask(&format!("looks.paint('{colours}')"));
        let found = browser.ask("looks.faint()");
        assert_eq!(found["faint"], json!([]), "{name}: {scheme} {medium} {colours}");
        assert!(found["count"].as_u64().unwrap() > 20, "{name}: {found}");
    }
    let printed = browser.ask("looks.printed()");
    let paper = json!({ "switches": true, "paper": [255, 255, 255, 1], "cut": 0 });
    assert_eq!(printed, paper, "{name}");
    browser.medium("screen", "light");
}

/// The page is as wide as its window, also on a phone; wide tables scroll by themselves.
fn check_sizes(browser: &mut Browser, case: &Case) {
    // The last ones are a sheet of paper, and one that lies across.
    let sizes = [(1280, "screen"), (360, "screen"), (720, "print"), (1047, "print")];
    for (width, medium) in sizes {
        browser.medium(medium, "light");
        browser.size((width, 740));
        for what in ["broken", "wideHeads"] {
            let found = browser.ask(&format!("looks.{what}()"));
            assert_eq!(found, json!([]), "{}: {what}, {medium} {width}", case.name());
        }
        if medium == "print" {
            continue;
        }
        let widths: Vec<u32> = serde_json::from_value(browser.ask("looks.wide()")).unwrap();
        assert!(widths.iter().all(|found| *found <= width), "{}: {width} {widths:?}", case.name());
        let lost = browser.ask("looks.lost()");
        assert_eq!(lost, json!([]), "{}: names of rows, {width}", case.name());
    }
    browser.medium("screen", "light");
}
