//! Every test under every variant, metric by metric.

use super::{
    Section,
    costs::{self, Say},
};
use crate::{
    document::{Document, Item},
    inputs::Inputs,
    words,
};
use model::metric::Metric;

pub(super) const SECTION: Section = Section { name: "table", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let grid = &inputs.grid;
    if grid.rows.is_empty() {
        return;
    }
    document.section("table", "Table");
    if !grid.residue.is_empty() {
        document.items.push(Item::Warning(format!(
            "cells combine values of different {}: they are geometric means",
            grid.residue.join(" and ")
        )));
    }
    if !grid.shared.is_empty() {
        document.paragraph(format!("Unless a row says otherwise: {}.", grid.shared));
    }
    marks(inputs, document);
    let several = inputs.parts.len() > 1;
    for part in &inputs.parts {
        if several {
            document.heading(3, inputs.grid.compared_with(part));
        }
        document.items.push(Item::Grid(Box::new(grid.clone()), part.clone()));
        // On paper and without script the table above has ratios alone.
        if let Some(rate) = grid.metric(inputs.lead.name) {
            let title = format!(
                "{} of all variants as absolute values{}",
                words::capitalized(&words::noun(inputs.lead)),
                words::unit_behind(grid.metrics[rate])
            );
            let own = costs::one_metric(&grid.part(part), rate, Say::Values);
            document.fold(title, vec![Item::Sortable(own)]);
        }
    }
}

/// What all values of a metric are marked with, which no cell repeats: of the metric of the answer
/// at once, of the others on demand.
fn marks(inputs: &Inputs<'_>, document: &mut Document) {
    let marked = inputs.grid.metrics.iter().zip(&inputs.grid.common);
    let marked = marked.filter(|(_, marks)| !marks.is_empty());
    let (own, others): (Vec<_>, Vec<_>) =
        marked.partition(|(metric, _)| metric.name == inputs.lead.name);
    for (metric, marks) in own {
        let what = words::noun(metric);
        document.paragraph(format!("All values of {what}: {}.", words::joined(marks, "; ")));
    }
    let fact = |(metric, marks): (&&'static Metric, &Vec<String>)| {
        (words::long_title(metric), words::joined(marks, "; "))
    };
    let facts: Vec<(String, String)> = others.into_iter().map(fact).collect();
    if !facts.is_empty() {
        document.fold("What all values of a metric have in common", vec![Item::Facts(facts)]);
    }
}
