//! The part of the report about vector indexes.

use crate::lab::{TWO, comparison, page, section};
use analysis::Comparison;

/// Adds a recall to every cell of throughput: the later a phase, the larger.
fn with_recall(mut comparison: Comparison) -> Comparison {
    let phases = comparison.phases.len() as f64;
    for (place, phase) in comparison.phases.iter_mut().enumerate() {
        let rates = phase.cells.iter().filter(|cell| cell.metric.name == "ops_per_second");
        let recall = |cell: &analysis::Cell| analysis::Cell {
            metric: analysis::metric("recall").unwrap(),
            value: Some(1.0 - 0.1 * (1.0 - place as f64 / phases)),
            ..cell.clone()
        };
        let found: Vec<analysis::Cell> = rates.map(recall).collect();
        for cell in found {
            let place = phase.cells.iter().position(|other| other.subject == cell.subject).unwrap();
            phase.cells.insert(place, cell);
        }
    }
    comparison
}

/// What stands from the heading with a recall on.
fn heading<'a>(text: &'a str, least: &str) -> Option<&'a str> {
    let mut parts = text.split("recall of ").skip(1);
    parts.find(|part| part.split_once(" or more").is_some_and(|(all, _)| all.contains(least)))
}

#[test]
fn rates_of_vector_indexes_are_compared_at_equal_recall() {
    assert!(!page(comparison(&TWO, 1, None)).contains("<section id=\"recall\""));
    let page = page(with_recall(comparison(&TWO, 4, None)));
    let text = section(&page, "recall");
    // Recalls are 0.9, 0.925, 0.95 and 0.975; point queries are the fastest of all.
    for (least, shown) in [("0.900", true), ("0.950", true), ("0.970", true), ("0.980", false)] {
        assert_eq!(heading(text, least).is_some(), shown, "{least}");
    }
    let least = heading(text, "0.900").unwrap();
    assert!(least.contains("point-query.pre"), "{least}");
    assert!(text.contains("data-chart=\"lines\""), "{text}");
}

#[test]
fn of_many_variants_the_table_says_how_many_it_leaves_out() {
    let names: Vec<String> = (0..10).map(|n| format!("v{n}")).collect();
    let subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let many = page(with_recall(comparison(&subjects, 1, None)));
    let text = section(&many, "recall");
    assert!(text.contains(", 1 user: the fastest 3 of 30"), "{text}");
    let few = page(with_recall(comparison(&TWO, 1, None)));
    assert!(!section(&few, "recall").contains(": the fastest"));
}

#[test]
fn cpu_time_of_the_host_is_called_so_and_has_its_unit() {
    let mut compared = with_recall(comparison(&TWO, 1, None));
    let host = analysis::metric("host_cpu_percent_per_op").unwrap();
    for cell in compared.phases.iter_mut().flat_map(|phase| &mut phase.cells) {
        if cell.metric.name == "server_cpu_us_per_op" {
            cell.metric = host;
        }
    }
    let page = page(compared);
    let head = "CPU time of the host<span class=\"unit\">% s/op</span>";
    assert!(section(&page, "recall").contains(head), "{page}");
}
