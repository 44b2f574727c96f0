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
