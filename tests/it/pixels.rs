//! Charts by the pixels that Chromium shows: text may be right where the screen is black.

#[path = "../../crates/report/tests/it/lab.rs"]
mod values;

use crate::{browser, devtools::Browser, lab::Lab};
use analysis::{Comparison, Curve};
use report::{Details, Report, View, render};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Reads pictures of charts inside the page that they show.
const PIXELS: &str = include_str!("pixels.js");

/// Medium and scheme.
const LOOKS: [(&str, &str); 3] = [("screen", "light"), ("screen", "dark"), ("print", "light")];

/// What the pixels of a figure are.
#[derive(Debug, Deserialize)]
struct Picture {
    kind: String,
    form: String,
    drawings: Vec<Drawing>,
}

/// The pixels of one drawing of it.
#[derive(Debug, Deserialize)]
struct Drawing {
    /// All of them.
    area: f64,
    /// Those of the page's ground.
    paper: f64,
    /// Those in the color of each series.
    series: Vec<f64>,
    /// Those nearer to the ground than to text: grid and band.
    faint: f64,
    /// All others.
    strong: f64,
    /// Lines of the grid that are not there.
    missing: Vec<String>,
    /// Whether the translucent band of the margin is on both sides of 1 and ends where it should;
    /// nothing where it is too narrow to be told from its edges.
    band: Option<bool>,
    /// Number of marks of each series, for rows of marks.
    #[serde(default)]
    marks: Vec<f64>,
    /// Length of each line [px].
    #[serde(default)]
    lengths: Vec<f64>,
}

/// A page with every kind of chart.
fn page(subjects: &[(&str, f64)]) -> String {
    let mut comparison = values::comparison(subjects, 4, None);
    // Two phases of one test at two numbers of clients make a ladder.
    for (phase, clients) in comparison.phases.iter_mut().zip([1, 8]) {
        phase.phase = format!("points.clients{clients}");
        phase.clients = clients;
    }
    let curve = |subject: &String, value: &dyn Fn(f64) -> f64| Curve {
        subject: subject.clone(),
        phase: "scan".into(),
        segments: vec![(1..=40).map(f64::from).map(|x| (x, value(x))).collect()],
    };
    let each = |value: &dyn Fn(f64) -> f64| -> Vec<Curve> {
        comparison.subjects.iter().map(|subject| curve(subject, value)).collect()
    };
    let details = Details {
        throughput: each(&|x| 1000.0 + 40.0 * x),
        stalls: each(&|x| 10.0_f64.powf(x / 20.0)),
        latency: each(&|x| 100.0 * x),
        ..Details::default()
    };
    rendered(comparison, details)
}

fn rendered(comparison: Comparison, details: Details) -> String {
    let view = View { cut_bars: Some(0.4), ..View::default() };
    let report = Report { details: vec![details], view, ..values::report(comparison, &[]) };
    render(&report, "html").unwrap()
}

#[test]
fn every_kind_of_chart_shows_its_grid_and_its_marks_in_their_colors() {
    let Some(program) = browser::program() else { return };
    let lab = Lab::new();
    let mut browser = Browser::start(program, &lab.path("profile"));
    let names: Vec<String> = (0..14).map(|n| format!("v{n}")).collect();
    let many: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(n, name)| (name.as_str(), 1.0 + n as f64 / 10.0)).collect();
    let (mut kinds, mut bands) = (BTreeSet::new(), 0);
    let few = [("old", 1.0), ("new", 1.6)];
    let cases = [
        ("few", &few[..], &[1280, 390][..]),
        ("several", &many[..7], &[1280]),
        ("many", &many, &[1280]),
    ];
    for (name, subjects, widths) in cases {
        let file = lab.write(&format!("{name}.html"), &page(subjects));
        for &width in widths {
            browser.size((width, 900));
            browser.open(&file);
            browser.ask("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
            browser.ask(PIXELS);
            for (medium, scheme) in LOOKS {
                browser.medium(medium, scheme);
                let boxes = browser.ask("pixels.boxes()");
                for (index, clip) in boxes.as_array().unwrap().iter().enumerate() {
                    let picture = browser.picture(clip);
                    let asked = format!("pixels.read('data:image/png;base64,{picture}', {index})");
                    let found: Picture = serde_json::from_value(browser.ask(&asked)).unwrap();
                    let place = format!("{name} {width} {medium} {scheme}: {} {index}", found.form);
                    check(&found, &place);
                    bands += found.drawings.iter().filter(|own| own.band == Some(true)).count();
                    kinds.insert(found.form);
                }
            }
            browser.medium("screen", "light");
        }
    }
    let wanted = ["columns", "forest bars", "forest dots", "heat", "plot"].map(str::to_owned);
    assert_eq!(kinds, BTreeSet::from(wanted));
    assert!(bands > 0, "the margin of throughput is wide enough to be seen");
}

#[test]
fn every_kind_of_chart_can_be_saved_as_a_picture_that_stands_alone() {
    let Some(program) = browser::program() else { return };
    let lab = Lab::new();
    let mut browser = Browser::start(program, &lab.path("profile"));
    let file = lab.write("few.html", &page(&[("old", 1.0), ("new", 1.6)]));
    browser.size((1280, 900));
    browser.open(&file);
    browser.ask("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
    browser.ask(PIXELS);
    let count = browser.ask("pixels.boxes()").as_array().unwrap().len();
    for index in 0..count {
        for (kind, media) in [("SVG", "image/svg+xml"), ("PNG", "image/png")] {
            let saved = browser.ask(&format!("pixels.saved({index}, '{kind}')"));
            assert_eq!(saved["type"], media, "{index}");
            let text = saved["text"].as_str().unwrap();
            for foreign in ["class=", "href", "var(", "url(", "NaN"] {
                assert!(!text.contains(foreign), "{index}: `{foreign}` in {text}");
            }
            let series = saved["series"].as_array().unwrap();
            let seen = series.iter().filter(|own| own.as_f64().unwrap() > 10.0).count();
            assert!(!series.is_empty() && seen == series.len(), "{index} {kind}: {saved}");
            let area = |key: &str| saved[key].as_f64().unwrap();
            assert!(area("paper") > 0.5 * area("area"), "{index} {kind}: {saved}");
            assert!(area("strong") < 0.12 * area("area"), "{index} {kind}: {saved}");
        }
    }
    assert_eq!(browser.console(), Vec::<String>::new());
    assert_eq!(browser.requests(&file), Vec::<String>::new());
}

fn check(picture: &Picture, place: &str) {
    assert!(!picture.drawings.is_empty(), "{place}");
    for drawing in &picture.drawings {
        let Drawing { area, paper, series, faint, strong, missing, .. } = drawing;
        let said = format!("{place}: {drawing:?}");
        assert_eq!(missing, &Vec::<String>::new(), "{said}");
        if picture.kind == "heat" {
            assert!(*area > 0.0 && series[0] > 0.0, "{said}");
            continue;
        }
        assert!(*area > 500.0 && *faint > 0.0, "{said}");
        // What is neither ground, grid nor in a color of its own: the edges of marks, and words.
        let words = match picture.kind.as_str() {
            "lines" => 0.12,
            "columns" => 0.15,
            _ => 0.06,
        };
        assert!(*strong < words * area, "{said}");
        match picture.kind.as_str() {
            "lines" => {
                assert!(*paper > 0.6 * area, "{said}");
                // Lines may lie on each other.
                let length: f64 = drawing.lengths.iter().sum();
                let shown: f64 = series.iter().sum();
                assert!(series[series.len() - 1] > 0.0 && shown > 0.2 * length, "{said}");
            }
            _ => {
                // Marks of one row may lie on each other.
                let marks = series.iter().zip(&drawing.marks);
                let seen = marks.clone().filter(|(own, marks)| **own >= 8.0 * **marks).count();
                assert!(seen > 0 && 4 * seen >= 3 * series.len(), "{said}");
                assert_ne!(drawing.band, Some(false), "{said}");
            }
        }
    }
}
