//! Comparisons that the tests of this folder share.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use analysis::{Comparison, Design, Input, PhaseFacts, compare, metric, observe};
use model::{
    drive::{Percentiles, StretchReport},
    environment::Environment,
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState, TrialHeader},
};
use report::{Report, Trial, render};

/// A phase: name, group, range, clients.
type Phase = (&'static str, &'static str, Option<u64>, u32);

const PHASES: [Phase; 4] = [
    ("point-query.pre", "point", None, 1),
    ("random-points.range10", "point", Some(10), 1),
    ("scan", "range", None, 4),
    ("update-index", "write", None, 1),
];

/// Most bytes that a report may have.
pub const LARGEST: usize = 2_000_000;

/// Two variants and their costs.
pub const TWO: [(&str, f64); 2] = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6)];

fn slice(subject: (&str, f64), position: u32, block: u32) -> SliceRecord {
    let (phase, group, range, clients) = PHASES[position as usize];
    // Plain arithmetic, so that the numbers are the same on every host.
    let cost = 30_000.0 * f64::from(position + 1) * subject.1 * f64::from(100 + block) / 100.0;
    let operations = (3e7 / cost).round() as u64;
    let reading = |scope, counter: &str, per_op: f64| Reading {
        scope,
        counter: counter.into(),
        start: 0.0,
        end: per_op * operations as f64,
    };
    SliceRecord {
        block,
        subject: subject.0.into(),
        phase: phase.into(),
        workload: phase.split('.').next().unwrap().into(),
        group: group.into(),
        position,
        range,
        clients,
        levels: [
            ("build".to_owned(), subject.0.to_owned()),
            ("clients".to_owned(), clients.to_string()),
        ]
        .into(),
        seed: 1,
        work: Some(StretchReport {
            end_ns: 1_000_000_000,
            succeeded: operations,
            reads: operations,
            rows_read: operations,
            service_us: Percentiles {
                p50: cost / 400.0,
                p95: cost / 250.0,
                p99: cost / 150.0,
                ..Percentiles::default()
            },
            ..StretchReport::default()
        }),
        readings: vec![
            reading(Scope::Server, "user_instructions", cost * 1.1),
            reading(Scope::Foreground, "user_instructions", cost),
            reading(Scope::Server, "cpu_ns", cost / 2.0),
            reading(Scope::Client, "cpu_ns", 700.0),
            reading(Scope::Server, "context_switches", 1.25),
            reading(Scope::Device, "device_read_kib", 0.0),
            reading(Scope::Device, "device_write_kib", if group == "write" { 3.5 } else { 0.0 }),
        ],
        ..SliceRecord::default()
    }
}

pub fn comparison(
    subjects: &[(&str, f64)],
    blocks: u32,
    broken: Option<(&str, u32)>,
) -> Comparison {
    let mut slices = Vec::new();
    for subject in subjects {
        for position in 0..4 {
            for block in 0..blocks {
                let mut slice = slice(*subject, position, block);
                if broken == Some((subject.0, position)) && block + 1 == blocks {
                    slice.state = SliceState::Failed;
                    slice.reason = Some("the server ended (signal 11)\nline of its log".into());
                }
                if position == 3 {
                    slice.marks.push("not calm 45 s after its start".into());
                }
                slices.push(slice);
            }
        }
    }
    let input = |slice| Input { experiment: "points", run: "r", slice };
    let observations = observe(slices.iter().map(input), &|_, _| PhaseFacts::default());
    let base = subjects[0].0;
    let design = Design {
        experiment: "points".into(),
        question: "Did point queries become slower?".into(),
        suite: "sysbench".into(),
        subjects: subjects
            .iter()
            .map(|(label, _)| ((*label).to_owned(), (*label != base).then(|| base.to_owned())))
            .collect(),
        ..Design::default()
    };
    compare(&observations, &design)
}

pub fn report(comparison: Comparison, metrics: &[&str]) -> Report {
    let metrics = metrics.iter().map(|name| metric(name).unwrap()).collect();
    Report { comparisons: vec![comparison], metrics, ..Report::default() }
}

/// The HTML report of a comparison.
pub fn page(comparison: Comparison) -> String {
    render(&report(comparison, &[]), "html").unwrap()
}

/// A section of such a page.
pub fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let rest = page.split_once(&format!("<section id=\"{id}\"")).unwrap().1;
    rest.split_once("</section>").unwrap().0
}

/// The values that are embedded in a page under an id.
pub fn data(page: &str, id: &str) -> serde_json::Value {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let text = page.split_once(&start).unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(text).unwrap()
}

/// A trial of a subject with what its server said of its settings.
pub fn trial(subject: &str, settings: &[(&str, &str)]) -> Trial {
    let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    let header = TrialHeader {
        format: 1,
        run: "r".into(),
        experiment: "points".into(),
        subject: subject.into(),
        server_version: subject.into(),
        binary_sha256: "0".repeat(64),
        settings: settings.collect(),
        seed: 1,
        ..TrialHeader::default()
    };
    Trial { header, environment: Environment::default(), remarks: Vec::new() }
}
