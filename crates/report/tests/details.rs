//! What the HTML report tells beside the comparison: memory and what was compared.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod lab;

use analysis::Curve;
use lab::{comparison, report};
use model::{environment::Environment, record::TrialHeader};
use report::{Details, Trial, render};

const TWO: [(&str, f64); 2] = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6)];

fn page(details: Details) -> String {
    let mut report = report(comparison(&TWO, 1, None), &[]);
    report.details = vec![details];
    render(&report, "html").unwrap()
}

fn trial(subject: &str, settings: &[(&str, &str)]) -> Trial {
    let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    let header = TrialHeader {
        format: 1,
        trial: String::new(),
        run: "r".into(),
        experiment: "points".into(),
        plan: String::new(),
        block: 0,
        subject: subject.into(),
        server_version: subject.into(),
        binary_sha256: "0".repeat(64),
        configuration: String::new(),
        settings: settings.collect(),
        ignored_settings: Vec::new(),
        seed: 1,
        foreground: String::new(),
    };
    Trial { header, environment: Environment::default(), remarks: Vec::new() }
}

#[test]
fn memory_has_its_peaks_and_their_ratios_to_the_cache() {
    let curve = |subject: &str, phase: &str, peak: f64| Curve {
        subject: subject.into(),
        phase: phase.into(),
        segments: vec![vec![(0.0, 100.0), (60.0, peak), (90.0, 300.0)]],
    };
    let cache = [("innodb_buffer_pool_size", "1073741824")];
    let page = page(Details {
        trials: TWO.iter().map(|(subject, _)| trial(subject, &cache)).collect(),
        resident: TWO.iter().map(|(s, _)| curve(s, "resident memory", 1280.0)).collect(),
        addressed: TWO.iter().map(|(s, _)| curve(s, "address space", 2048.0)).collect(),
        ..Details::default()
    });
    let curves = page.split_once("<section id=\"curves\"").unwrap().1;
    assert!(curves.contains("<figcaption>resident memory</figcaption>"), "{curves}");
    assert!(curves.contains("<span class=\"key cache\"></span>cache: 1024 MiB"), "{curves}");
    assert!(curves.contains("class=\"line cache\"") && curves.contains(">1280</text>"));
    let row = curves.split_once("<th scope=\"row\">mysql-9.7.4</th>").unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    for cell in [">1280<", ">2048<", ">1024<", ">1.25<", ">2.00<"] {
        assert!(row.contains(cell), "{cell}: {row}");
    }
}
