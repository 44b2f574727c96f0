//! The Insert Benchmark in the HTML report: its tables, its steps, and how large they make it.

#![allow(unreachable_pub, reason = "a module of one test")]

mod fixture;

use crate::lab::LARGEST;
use report::{Colours, render};

fn page(subjects: usize, seconds: usize) -> String {
    render(&fixture::report(subjects, seconds), "html").unwrap()
}

/// What stands between two texts, the first one's first occurrence on.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let rest = page.split_once(start).unwrap_or_else(|| panic!("`{start}` is missing")).1;
    rest.split_once(end).unwrap_or_else(|| panic!("`{end}` is missing")).0
}

fn step<'a>(page: &'a str, phase: &str) -> &'a str {
    between(page, &format!("<details id=\"step-{phase}\">"), "<details id=\"step-")
}

#[test]
fn both_styles_are_in_the_page_and_a_missed_target_is_marked_in_all_tables_of_ours() {
    let page = page(2, 10);
    let own = between(&page, "<div class=\"style-marked\">", "<div class=\"style-published\">");
    let row = |part: &str| part.matches("<td class=\"num missed\">missed").count();
    assert_eq!(row(own), 3, "{own}");
    assert!(own.contains("<th scope=\"row\">target</th><td class=\"num\">100</td>"), "{own}");
    let published = between(&page, "<div class=\"style-published\">", "</section>");
    assert_eq!(row(published), 0);
    for class in ["cmin", "cmax", "cgray", "chi"] {
        assert!(published.contains(&format!("class=\"num {class}\"")), "{class}: {published}");
    }
    assert!(page.contains("<form class=\"styling scripted\">"));
    assert!(
        page.contains("missed the target of <code>qp1000</code> by the <code>published</code>")
    );
}

#[test]
fn the_published_style_is_shown_first_where_it_is_asked_for() {
    let mut report = fixture::report(2, 10);
    report.view.colours = Colours::Published;
    assert!(render(&report, "html").unwrap().contains("<body class=\"published\">"));
}

#[test]
fn a_step_tells_rates_rules_roles_costs_and_sizes() {
    let page = page(2, 10);
    let step = step(&page, "qr1000");
    for text in [
        "href=\"#step-qr1000\"",
        "with 1000 rows per second inserted at the same time",
        "<td>sustained</td>",
        "insert: rows per second",
        "delete: largest response",
        "query: operations per second",
        "Response times by role",
        "Share of operations by response time",
        // Rows are sorted by the share and not by its text, which nothing has none of.
        "<td class=\"num\" data-order=\"0\"></td>",
        "Costs per operation of each role",
        "<td class=\"num\">30.0</td>",
        "data folder",
        // 1.25 GiB resident of a cache of 1 GiB.
        "<td class=\"num\">1.25</td>",
    ] {
        assert!(step.contains(text), "{text}: {step}");
    }
    assert_eq!(step.matches("data-chart=\"lines\"").count(), 9);
    let missed = page.split_once("<details id=\"step-qp1000\">").unwrap().1;
    assert!(
        missed.contains("1 variant missed the target of 1000 inserted rows per second"),
        "{missed}"
    );
    let load = page.split_once("<details id=\"step-l.i0\">").unwrap().1;
    let load = load.split_once("<details id=\"step-").unwrap().0;
    assert!(!load.contains("target") && !load.contains("delete"), "{load}");
}

#[test]
fn phases_with_roles_are_not_drawn_twice() {
    let page = page(2, 10);
    let curves = page.split_once("<section id=\"curves\"").map_or("", |parts| parts.1);
    assert!(!curves.contains("<figcaption>qr100</figcaption>"));
}

#[test]
fn seven_subjects_fit_at_any_length() {
    for seconds in [60, 1800] {
        let page = page(7, seconds);
        assert!(page.len() < LARGEST, "{seconds} s: {}", page.len());
        println!("{seconds} s: {} bytes", page.len());
    }
}

#[test]
fn other_experiments_have_neither_tables_nor_steps() {
    let mut report = fixture::report(2, 3);
    let paced = |phase: &analysis::PhaseResult| phase.phase.starts_with('q');
    report.comparisons[0].phases.retain(|phase| !paced(phase));
    let page = render(&report, "html").unwrap();
    assert!(!page.contains("<section id=\"rates\"") && !page.contains("<section id=\"steps\""));
}
