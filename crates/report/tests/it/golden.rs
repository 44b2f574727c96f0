//! Every format of one report, byte for byte. `DBDYNO_UPDATE_GOLDEN=1` writes the files anew.

use crate::lab::{comparison, report};
use analysis::{Reason, Verdict};
use model::metric::Metric;
use report::{Colors, Report, Screen, format::FORMATS, render};
use std::{collections::BTreeSet, path::Path};

#[track_caller]
fn golden(file: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("DBDYNO_UPDATE_GOLDEN").is_some() {
        fs_err::write(&path, found).unwrap();
    }
    let expected = fs_err::read_to_string(&path).unwrap();
    assert!(found == expected, "{file} differs; found:\n{found}");
}

/// The usual tables for a terminal of 120 columns.
fn on_page(comparison: analysis::Comparison) -> Report {
    let screen = Screen { columns: Some(120), ..Screen::default() };
    Report { screen, ..report(comparison, &[]) }
}

#[test]
fn two_variants_in_all_formats() {
    let subjects = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6)];
    // One block: means of several have digits that depend on the host's logarithm.
    let report = report(comparison(&subjects, 1, None), &["ops_per_second", "latency_us_p95"]);
    // What HTML holds is checked piece by piece in another file: its looks may change.
    for format in FORMATS.iter().filter(|format| format.name != "html") {
        let text = render(&report, format.name).unwrap();
        golden(&format!("two-variants.{}", format.name), &text);
    }
}

#[test]
fn the_usual_tables_fit_a_page() {
    let subjects = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6), ("mariadb-10.11.14", 0.9)];
    let text = render(&on_page(comparison(&subjects, 4, None)), "table").unwrap();
    golden("usual.table", &text);
    let long: Vec<_> = text.lines().filter(|line| line.chars().count() > 120).collect();
    assert_eq!(long, Vec::<&str>::new());
}

#[test]
fn a_mean_of_other_tests_than_the_answers_says_of_how_many() {
    let mut comparison = comparison(&[("old", 1.0), ("new", 1.6)], 1, None);
    comparison.phases[0].cells.retain(|cell| !cell.metric.name.contains("user_instructions"));
    let text = render(&report(comparison, &[]), "table").unwrap();
    let means = "; 1.60x instructions of 3 tests; 1.60x CPU time; geometric mean of 4 of 4 tests.";
    assert!(text.contains(means), "{text}");
}

#[test]
fn an_answer_names_tests_that_its_means_hide() {
    let answer = |verdict: &dyn Fn(usize) -> Verdict, ratio: f64| {
        let mut comparison = comparison(&[("old", 1.0), ("new", 1.0)], 4, None);
        for (index, phase) in comparison.phases.iter_mut().enumerate() {
            for cell in phase.cells.iter_mut().filter(|cell| cell.subject == "new") {
                cell.verdict = Verdict::Inconclusive;
                if cell.metric.name == "server_cpu_us_per_op" {
                    cell.verdict = verdict(index);
                    cell.ratio = Some(ratio);
                }
            }
        }
        let text = render(&on_page(comparison), "table").unwrap();
        text.split(" tests.")
            .nth(1)
            .unwrap()
            .lines()
            .take(2)
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let one = |index: usize| match index {
        1 => Verdict::Regression,
        _ => Verdict::Inconclusive,
    };
    let said = answer(&one, 1.06);
    assert!(said.trim().starts_with("Worse in single tests: CPU time of `"), "{said}");
    assert!(said.contains("1.06x"), "{said}");
    let said = answer(&|_| Verdict::Better, 0.9);
    assert!(said.trim().starts_with("Better in single tests: CPU time of all 4."), "{said}");
    let said = answer(&|_| Verdict::Inconclusive, 1.0);
    assert!(!said.contains("single tests"), "{said}");
}

#[test]
fn reasons_are_those_of_the_metrics_that_are_shown() {
    let check = |metric: &str, expected: bool| {
        let mut comparison = comparison(&[("old", 1.0), ("new", 1.6)], 1, None);
        let cells = comparison.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        let one = |cell: &&mut analysis::Cell| cell.subject == "new" && cell.metric.name == metric;
        for cell in cells.filter(one) {
            cell.ratio = None;
            cell.reason = Some(Reason::OfBase(Reason::NotMeasured.into()));
        }
        let text = render(&report(comparison, &[]), "table").unwrap();
        assert_eq!(text.contains(": the base was not measured"), expected, "{text}");
    };
    check("background_user_instructions_per_op", false);
    check("client_cpu_us_per_op", true);
}

#[test]
fn the_legend_has_the_signs_of_tables_beside_the_usual_ones() {
    let mut comparison = comparison(&[("old", 1.0), ("new", 1.6)], 4, None);
    for phase in &mut comparison.phases {
        let with_copy = |cell: analysis::Cell| {
            let is_cpu = cell.metric.name == "server_cpu_us_per_op";
            let copy = is_cpu.then(|| analysis::Cell {
                metric: analysis::metric("server_cpu_us_per_effective_op").unwrap(),
                verdict: Verdict::Regression,
                ..cell.clone()
            });
            let verdict = if cell.base.is_some() { Verdict::Equivalent } else { cell.verdict };
            [Some(analysis::Cell { verdict, ..cell }), copy]
        };
        let cells = std::mem::take(&mut phase.cells).into_iter();
        phase.cells = cells.flat_map(with_copy).flatten().collect();
    }
    let text = render(&report(comparison, &[]), "table").unwrap();
    assert!(text.contains("Statements that may match no row"), "{text}");
    assert!(text.contains("Signs: ▼ worse by more than the margin, = equivalent"), "{text}");
}

#[test]
fn a_base_of_which_only_ratios_are_known_has_no_rate() {
    let mut comparison = comparison(&[("old", 1.0), ("new", 1.6)], 1, None);
    let cells = comparison.phases.iter_mut().flat_map(|phase| &mut phase.cells);
    for cell in cells.filter(|cell| cell.metric.name == "ops_per_second") {
        cell.metric = Box::leak(Box::new(Metric { unit: "ratio", ..cell.metric.clone() }));
    }
    let text = render(&report(comparison, &[]), "table").unwrap();
    assert!(text.contains("the archive has only ratios to the base"), "{text}");
    let units = text.lines().find(|line| line.starts_with("test ")).unwrap();
    assert!(units.contains("ratio") && !units.contains("1/s"), "{units}");
}

#[test]
fn one_variant_alone_is_told_nothing_of_ratios() {
    let alone = comparison(&[("old", 1.0)], 1, None);
    let text = render(&report(alone, &[]), "table").unwrap();
    assert!(!text.contains('°') && !text.contains(" ratio"), "{text}");
}

#[test]
fn a_failure_shows_its_reason_and_no_number() {
    let subjects = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6)];
    let broken = comparison(&subjects, 1, Some(("mysql-9.7.4", 1)));
    golden("failed.table", &render(&report(broken.clone(), &[]), "table").unwrap());
    golden("failed.json", &render(&report(broken, &["ops_per_second"]), "json").unwrap());
}

#[test]
fn many_long_names_are_cut_at_both_ends_with_a_legend() {
    let names: Vec<String> =
        (0..8).map(|n| format!("postgres-18.{n}.a-config-with-a-long-name")).collect();
    let subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let text = render(&report(comparison(&subjects, 1, None), &["ops_per_second"]), "table");
    golden("many.table", &text.unwrap());
}

#[test]
fn the_overview_of_thirty_five_versions_is_several_tables_that_fit_a_page() {
    let names: Vec<String> = (0..35).map(|n| format!("mariadb-10.{n}.22-with-a-config")).collect();
    let subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let text = render(&on_page(comparison(&subjects, 4, None)), "table").unwrap();
    let overview =
        text.split_once("Throughput: ").unwrap().1.split_once("Costs per test").unwrap().0;
    let long: Vec<_> = overview.lines().filter(|line| line.chars().count() > 120).collect();
    assert_eq!(long, Vec::<&str>::new());
    let heads = overview.split_whitespace().filter(|word| word.starts_with('#'));
    let expected: Vec<String> = (1..=35).map(|n| format!("#{n}")).collect();
    assert_eq!(heads.collect::<Vec<_>>(), expected);
    // Each part has all rows.
    assert!(overview.matches("\n  point-query.pre ").count() > 3, "{overview}");
    assert_eq!(overview.matches("\n  scan ").count(), overview.matches("\nrange\n").count());
}

/// The widths of terminals that tables are tested for; none is a pipe.
const COLUMNS: [Option<usize>; 4] = [Some(80), Some(120), Some(200), None];

/// The table for terminals of all widths, of which no line is longer than its terminal.
fn at_all_widths(name: &str, report: &Report) {
    for columns in COLUMNS {
        let screen = Screen { columns, ..Screen::default() };
        let text = render(&Report { screen, ..report.clone() }, "table").unwrap();
        let ending = columns.map_or("pipe".to_owned(), |columns| columns.to_string());
        golden(&format!("{name}.{ending}.table"), &text);
        let long = text.lines().filter(|line| line.chars().count() > columns.unwrap_or(usize::MAX));
        assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

#[test]
fn tables_fit_terminals_of_all_widths() {
    let subjects = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6), ("mariadb-10.11.14", 0.9)];
    at_all_widths("three", &report(comparison(&subjects, 4, None), &[]));
    let names: Vec<String> = (0..47).map(|n| format!("mariadb-10.{n}.22.with_a_config")).collect();
    let subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    at_all_widths("forty-seven", &report(comparison(&subjects, 1, None), &["ops_per_second"]));
    // Even where there is no room beside a name.
    let screen = Screen { columns: Some(24), ..Screen::default() };
    let report = Report { screen, ..report(comparison(&subjects[..3], 1, None), &[]) };
    let text = render(&report, "table").unwrap();
    assert_eq!(text.lines().filter(|line| line.chars().count() > 24).count(), 0, "{text}");
}

#[test]
fn verdicts_have_colors_on_a_terminal_and_in_no_other_format() {
    let subjects = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6)];
    let screen = Screen { columns: Some(80), colors: Colors::On };
    let colored = Report { screen, ..report(comparison(&subjects, 4, None), &[]) };
    let text = render(&colored, "table").unwrap();
    assert!(text.contains("\u{1b}[31m0.62 ▼\u{1b}[0m"), "{text}");
    let plain =
        Report { screen: Screen { columns: Some(80), ..Screen::default() }, ..colored.clone() };
    let stripped = text.replace("\u{1b}[31m", "").replace("\u{1b}[32m", "");
    let stripped = stripped.replace("\u{1b}[33m", "").replace("\u{1b}[2m", "");
    assert_eq!(stripped.replace("\u{1b}[0m", ""), render(&plain, "table").unwrap());
    for format in FORMATS.iter().filter(|format| format.name != "table") {
        assert!(!render(&colored, format.name).unwrap().contains('\u{1b}'), "{}", format.name);
    }
}

#[test]
fn warnings_are_counted_and_handed_to_the_caller() {
    let subjects = [("mysql-5.6.24", 1.0), ("mysql-9.7.4", 1.6)];
    let report = report(comparison(&subjects, 1, None), &[]);
    let expected = report.comparisons[0].warnings.clone();
    let rendered = report::rendered(&report, "table").unwrap();
    assert_eq!(rendered.warnings, expected);
    let counted = format!("{} warning, below the tables or on stderr.", expected.len());
    assert!(rendered.text.contains(&counted), "{}", rendered.text);
    assert!(report::rendered(&report, "json").unwrap().warnings.is_empty());
    assert_eq!(report::rendered(&report, "csv").unwrap().warnings, expected);
}

#[test]
fn programs_are_told_that_builds_differ() {
    let mut compared = comparison(&[("a", 1.0), ("b", 1.0)], 1, None);
    let sentence = "The builds differ in compiler: `a` GCC 4.8.5; `b` GCC 7.5.0.";
    compared.conditions = vec![sentence.to_owned()];
    let report = report(compared, &[]);
    let json: serde_json::Value = serde_json::from_str(&render(&report, "json").unwrap()).unwrap();
    let warnings = json["warnings"].as_array().unwrap();
    assert_eq!(warnings.iter().filter(|warning| *warning == sentence).count(), 1);
    let warnings = |format| report::rendered(&report, format).unwrap().warnings;
    assert!(warnings("csv").iter().any(|warning| warning == sentence));
    // The first lines of a table say it.
    assert!(!warnings("table").iter().any(|warning| warning == sentence));
    assert!(render(&report, "table").unwrap().contains("The builds differ in compiler"));
}

#[test]
fn hostile_names_are_harmless_in_every_format() {
    let name = "=cmd|'/c x'!\u{1b}[31m<img src=x>\r\n,\"q\"\u{202e}";
    let report = report(comparison(&[("base", 1.0), (name, 1.0)], 1, None), &["ops_per_second"]);
    let check = |format: &str, forbidden: &[&str]| {
        let text = render(&report, format).unwrap();
        for bad in forbidden {
            assert!(!text.contains(bad), "{format}: {bad:?}\n{text}");
        }
    };
    check("table", &["\u{1b}", "\r", "\u{202e}"]);
    check("markdown", &["\u{1b}", "\r", "\u{202e}"]);
    // Between backticks Markdown interprets nothing.
    for line in render(&report, "markdown").unwrap().lines() {
        let outside: String = line.split('`').step_by(2).collect();
        assert!(!outside.contains("<img"), "{line}");
    }
    check("csv", &[",=cmd", "\n=cmd", ",\"=cmd"]);
    check("tsv", &["\t=cmd", "\u{1b}", "\r"]);
    // JSON is exact: a reader gets the name that was recorded.
    let json: serde_json::Value = serde_json::from_str(&render(&report, "json").unwrap()).unwrap();
    assert_eq!(json["comparisons"][0]["variant"], name);
    assert_eq!(json["comparisons"][0]["factors"]["clients"], 1);
}

#[test]
fn rows_of_data_formats_have_equal_lengths() {
    let subjects = [("a", 1.0), ("b", 1.6)];
    let report = report(comparison(&subjects, 1, Some(("b", 0))), &[]);
    let tsv = render(&report, "tsv").unwrap();
    let lengths: BTreeSet<_> = tsv.lines().map(|line| line.split('\t').count()).collect();
    assert_eq!(lengths.len(), 1);
    assert!(tsv.lines().count() > 50);
    assert!(!tsv.contains("NaN") && !tsv.contains("inf\t"));
}

#[test]
fn an_empty_report_says_so() {
    let check = |format: &str, expected: &str| {
        assert_eq!(render(&Report::default(), format).unwrap(), expected);
    };
    check("table", "nothing is recorded yet\n");
    check(
        "json",
        "{\n  \"schema\": 1,\n  \"base\": \"\",\n  \"comparisons\": [],\n  \"bases\": [],\n  \
         \"why\": [],\n  \"warnings\": []\n}\n",
    );
    let error = render(&Report::default(), "xml").unwrap_err().to_string();
    assert!(error.starts_with("unknown format `xml`; choose one of `table`, "), "{error}");
}

#[test]
fn every_file_of_a_seam_is_in_its_table() {
    let check = |folder: &str, names: BTreeSet<&str>| {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
        let stems: BTreeSet<String> = fs_err::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|stem| stem != "mod")
            .collect();
        assert_eq!(stems.iter().map(String::as_str).collect::<BTreeSet<_>>(), names);
    };
    check("format", FORMATS.iter().map(|format| format.name).collect());
    check("section", report::section::SECTIONS.iter().map(|section| section.name).collect());
    check("page", report::page::PAGES.iter().map(|page| page.name).collect());
}
