//! Set rates that were missed, in every form: by a variant, and by the base.

use crate::lab::data;
use analysis::{Design, Observations, compare};
use model::{
    mark::{Mark, Miss, Rate, Why},
    measurement::Measurement,
};
use report::{Report, render};

/// The mark of a missed rate.
fn mark() -> Mark {
    let rate = Rate { reached: 2940.0, target: 4000.0, needed: 3800.0 };
    let miss = Miss { rule: "strict".into(), why: Why::Inserted(rate) };
    Mark::Missed([miss].into())
}

/// Metrics of a step, with the values of two variants.
const VALUES: [(&str, [f64; 2]); 4] = [
    ("ops_per_second", [733.0, 1175.0]),
    ("insert_rows_per_second", [3989.0, 2940.0]),
    ("server_cpu_us_per_op", [812.0, 640.0]),
    ("lag_us_max", [20_000.0, 480e6]),
];

/// One step of `old` and `new`, of which one missed its rate.
fn report(missed: &str) -> Report {
    let mut observations = Observations::default();
    for (metric, values) in VALUES {
        for (subject, value) in ["old", "new"].into_iter().zip(values) {
            observations.measurements.push(Measurement {
                experiment: "ib".into(),
                run: "r".into(),
                subject: subject.into(),
                phase: "qp1000".into(),
                workload: "qp1000".into(),
                group: "point".into(),
                clients: 4,
                metric: metric.into(),
                value,
                marks: (subject == missed).then(mark).into_iter().collect(),
                ..Measurement::default()
            });
        }
    }
    let design = Design {
        experiment: "ib".into(),
        question: "Is it slower?".into(),
        suite: "ib".into(),
        subjects: vec![("old".into(), None), ("new".into(), Some("old".into()))],
        ..Design::default()
    };
    Report { comparisons: vec![compare(&observations, &design)], ..Report::default() }
}

/// The words of the lines of a text that begin with `start`.
fn lines(text: &str, start: &str) -> Vec<String> {
    let own = text.lines().map(str::trim).filter(|line| line.starts_with(start));
    own.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The same without heads of tables: throughput and CPU time in the table of costs.
fn own(text: &str, start: &str) -> Vec<String> {
    let holds_number = |line: &String| line.contains(|c: char| c.is_ascii_digit());
    lines(text, start).into_iter().filter(holds_number).collect()
}

#[test]
fn no_table_shows_a_number_of_less_work_as_if_it_compared() {
    let text = render(&report("new"), "table").unwrap();
    assert_eq!(lines(&text, "qp1000 "), ["qp1000 733 missed (1175)"]);
    assert_eq!(own(&text, "old "), ["old 733 812"]);
    assert_eq!(own(&text, "new "), ["new missed (1175) missed"]);
    assert_eq!(lines(&text, "SLA missed").len(), 1, "{text}");

    let text = render(&report("old"), "table").unwrap();
    assert_eq!(lines(&text, "qp1000 "), ["qp1000 missed (733) -"]);
    assert_eq!(own(&text, "old "), ["old missed (733) missed"]);
    assert_eq!(own(&text, "new "), ["new 1175 640"]);
    assert_eq!(lines(&text, "the base: SLA missed").len(), 1, "{text}");
    assert!(report("old").comparisons[0].has_missed());
    assert!(!report("").comparisons[0].has_missed());
}

#[test]
fn the_dense_form_says_missed_where_a_number_would_stand() {
    let ratios = |missed: &str| lines(&render(&report(missed), "dense").unwrap(), "");
    let holds = |lines: Vec<String>, expected: &str| {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:?}");
    };
    holds(ratios(""), "1.60 qp1000");
    holds(ratios("new"), "missed qp1000");
    holds(ratios("new"), "missed - - - - missed new");
    holds(ratios("old"), "- qp1000");
    holds(ratios("old"), "missed - - - - missed old");
}

#[test]
fn what_a_base_did_to_keep_its_rate_stays_a_number() {
    let grid = |missed: &str| data(&render(&report(missed), "html").unwrap(), "grid");
    let kinds = |missed: &str, metric: &str| -> Vec<String> {
        let grid = grid(missed);
        let metrics = grid["metrics"].as_array().unwrap();
        let metric = metrics.iter().position(|found| found["name"] == metric).unwrap();
        let cells = grid["values"][metric][0].as_array().unwrap();
        let word = |cell: &serde_json::Value| {
            let index = usize::try_from(cell[5].as_u64().unwrap()).unwrap();
            grid["words"][index].as_str().unwrap().to_owned()
        };
        cells.iter().map(word).collect()
    };
    assert_eq!(kinds("old", "ops_per_second"), ["missed", "invalid"]);
    assert_eq!(kinds("new", "ops_per_second"), ["base", "missed"]);
    for metric in ["insert_rows_per_second", "lag_us_max"] {
        assert_eq!(kinds("old", metric), ["base", "ratio"], "{metric}");
        assert_eq!(kinds("new", metric), ["base", "ratio"], "{metric}");
    }
}
