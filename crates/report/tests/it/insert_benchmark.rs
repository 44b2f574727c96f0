//! The summary tables of the Insert Benchmark from measurements, in both styles.

use analysis::{Design, Observations, compare};
use model::measurement::Measurement;
use report::{Rendered, Report, render_insert_benchmark, rendered};

/// Phase, metric, and the values of two variants.
const VALUES: [(&str, &str, [f64; 2]); 14] = [
    ("l.i0", "insert_rows_per_second", [256_410.2, 198_461.7]),
    ("l.x", "rows_per_second", [316_206.0, 52_934.0]),
    ("l.x", "insert_rows_per_second", [316_206.0, 52_934.0]),
    ("l.i1", "insert_rows_per_second", [2502.0, 55.25]),
    ("l.i1", "rows_per_second", [5004.0, 110.5]),
    ("qr100.L1", "ops_per_second", [14_863.4, 16_817.0]),
    ("qr100.L1", "insert_rows_per_second", [399.0, 399.2]),
    ("qr100.L1", "insert_rows_per_second_target", [400.0, 400.0]),
    ("qp1000.L6", "ops_per_second", [733.0, 1175.0]),
    ("qp1000.L6", "insert_rows_per_second", [3989.0, 2940.4]),
    ("qp1000.L6", "insert_rows_per_second_target", [4000.0, 4000.0]),
    ("qp1000.L6", "delete_rows_per_second", [3989.0, 2940.4]),
    ("qp1000.L6", "lag_us_max", [20_000.0, 480e6]),
    ("qp1000.L6", "seconds_on_target_share", [1.0, 0.02]),
];

fn report() -> Report {
    report_of(&[1.0])
}

/// Blocks whose rates are these times [`VALUES`]: the second variant loses as much as the first one
/// gains.
fn report_of(blocks: &[f64]) -> Report {
    let mut phases: Vec<&str> = VALUES.iter().map(|(phase, ..)| *phase).collect();
    phases.dedup();
    let mut observations = Observations::default();
    let values = VALUES.iter().flat_map(|(phase, metric, values)| {
        let of = move |block: usize| {
            let paced = phase.starts_with('q') && *metric != "ops_per_second";
            let factor = if paced { 1.0 } else { blocks[block] };
            [("a-1", values[0] * factor), ("b-2", values[1] / factor)]
                .map(|(subject, value)| (*phase, *metric, block as u32, subject, value))
        };
        (0..blocks.len()).flat_map(of)
    });
    for (phase, metric, block, subject, value) in values {
        observations.measurements.push(Measurement {
            experiment: "ib".into(),
            run: "r".into(),
            subject: subject.into(),
            phase: phase.into(),
            workload: phase.into(),
            position: u32::try_from(phases.iter().position(|p| *p == phase).unwrap()).unwrap(),
            clients: 4,
            block,
            metric: metric.into(),
            value,
            ..Measurement::default()
        });
    }
    let design = Design {
        experiment: "ib".into(),
        question: "Is b slower?".into(),
        suite: "insert_benchmark".into(),
        subjects: vec![("a-1".into(), None), ("b-2".into(), Some("a-1".into()))],
        ..Design::default()
    };
    Report { comparisons: vec![compare(&observations, &design)], ..Report::default() }
}

#[test]
fn our_style_shows_no_comparable_number_of_a_missed_target() {
    let text = render_insert_benchmark(&report(), "marked", "markdown").unwrap().text;
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(
        rows,
        [
            "| variant | l.i0 | l.x | l.i1 | qr100 | qp1000 |",
            "| :-- | --: | --: | --: | --: | --: |",
            "| a-1 | 256410 | 316206 | 2502 | 14863 | 733 |",
            "| b-2 | 198462 | 52934 | 55.2 | 16817 | missed (1175) |",
            "| variant | l.i0 | l.x | l.i1 | qr100 | qp1000 |",
            "| :-- | --: | --: | --: | --: | --: |",
            "| a-1 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 |",
            "| b-2 | 0.77 − | 0.17 − | 0.02 − | 1.13 + | missed |",
            "| variant | qr100 | qp1000 |",
            "| :-- | --: | --: |",
            "| a-1 | 399 | 3989 |",
            "| b-2 | 399 | missed (2940) |",
            "| target | 400 | 4000 |",
        ]
    );
    assert!(text.contains("2940 of 4000 rows/s inserted, 3800 sustain it"), "{text}");
}

#[test]
fn what_several_blocks_repeat_has_intervals_and_verdicts_in_our_style() {
    let report = report_of(&[1.0, 1.01, 0.99, 1.0]);
    let text = render_insert_benchmark(&report, "marked", "markdown").unwrap().text;
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| b-2")).collect();
    assert_eq!(
        rows,
        [
            "| b-2 | 198467 | 52935 | 55.3 | 16817 | missed (1175) |",
            "| b-2 | 0.77 ▼ | 0.17 ▼ | 0.02 ▼ | 1.13 ▲ | missed |",
            "| b-2 | 0.75–0.79 | 0.16–0.17 | 0.02–0.02 | 1.10–1.16 | missed |",
            "| b-2 | 399 | missed (2940) |",
        ]
    );
    assert!(
        text.contains("Signs: ▼ worse by more than the margin, ▲ better")
            && !text.contains("no ratio here is a verdict")
    );
    let few = render_insert_benchmark(&report_of(&[1.0, 1.3]), "marked", "markdown").unwrap().text;
    assert!(few.contains("| b-2 | 0.60 ? |"), "{few}");
    let published = render_insert_benchmark(&report, "published", "markdown").unwrap().text;
    assert!(!published.contains('–') && published.contains("| b-2 | 0.77 − |"), "{published}");
    let one = render_insert_benchmark(&self::report(), "marked", "markdown").unwrap().text;
    assert!(one.contains("no ratio here is a verdict"), "{one}");
}

#[test]
fn the_published_style_shows_its_colours_as_signs() {
    let text = render_insert_benchmark(&report(), "published", "markdown").unwrap().text;
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.contains(&"| a-1 | 256410 ▲ | 316206 ▲ | 2502 ▲ | 14863 | 733 ▲ |"), "{text}");
    assert!(rows.contains(&"| b-2 | 198462 ▼ | 52934 ▼ | 55 ▼ | 16817 ▲ | 1175 ○ |"), "{text}");
    assert!(rows.contains(&"| b-2 | 0.77 − | 0.17 − | 0.02 − | 1.13 + | 1.60 + |"), "{text}");
    assert!(rows.contains(&"| b-2 | 399 | 2940 ▼ |"), "{text}");
    assert!(rows.contains(&"| target | 400 | 4000 |"), "{text}");
}

#[test]
fn formats_for_programs_have_numbers_under_headings() {
    let text = render_insert_benchmark(&report(), "published", "tsv").unwrap().text;
    let tables: Vec<Vec<&str>> = text.split("\n\n").map(|table| table.lines().collect()).collect();
    assert!(tables[1][0].starts_with("Rates: rows inserted"), "{text}");
    let numbers = |line: &str| line.split('\t').skip(1).map(str::parse::<f64>).all(|n| n.is_ok());
    assert!(tables[1][2..].iter().all(|line| numbers(line)), "{text}");
    assert!(tables[2][2..].iter().all(|line| numbers(line)), "{text}");
}

#[test]
fn a_format_without_these_tables_is_refused() {
    for format in ["json", "dense"] {
        let error = render_insert_benchmark(&report(), "marked", format).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the format `{format}` does not have")), "{error}");
    }
}

#[test]
fn variants_have_their_aliases() {
    let mut report = report();
    report.view.aliases.insert("b-2".to_owned(), "new".to_owned());
    let text = render_insert_benchmark(&report, "marked", "markdown").unwrap().text;
    assert!(text.contains("| new | ") && !text.contains("| b-2 | "), "{text}");
}

#[test]
fn unknown_styles_and_other_results_are_told() {
    let error = render_insert_benchmark(&report(), "x", "table").unwrap_err().to_string();
    assert_eq!(error, "unknown style `x`; choose one of `marked`, `published`");
    let text = render_insert_benchmark(&Report::default(), "marked", "table").unwrap().text;
    assert_eq!(text, "no recorded workload inserts at a set rate during queries\n");
}

#[test]
fn conditions_are_told_once_by_every_style_and_format() {
    let condition = "Half of the run is missing.";
    let mut report = report();
    report.comparisons[0].conditions.push(condition.to_owned());
    let check = |name: &str, found: Rendered| {
        let warned = found.warnings.iter().filter(|said| *said == condition).count();
        assert_eq!(found.text.matches(condition).count() + warned, 1, "{name}: {found:?}");
    };
    for style in ["marked", "published"] {
        for format in ["table", "markdown", "html", "csv", "tsv"] {
            let found = render_insert_benchmark(&report, style, format).unwrap();
            check(&format!("{style} {format}"), found);
        }
    }
    for format in ["table", "markdown", "csv", "tsv", "dense", "json"] {
        check(format, rendered(&report, format).unwrap());
    }
}
