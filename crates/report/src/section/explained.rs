//! Where the instructions or the CPU time of an operation are spent, as far as that was explained.

use super::Section;
use crate::{
    chart::{Chart, Flame, Flamed},
    document::{Document, Item},
    explained,
    inputs::Inputs,
};
use analysis::{Merged, explained::Explained};
use model::explanation::Explanation;

pub(super) const SECTION: Section = Section { name: "explained", write };

/// Functions in a table.
const FUNCTIONS: usize = 40;

/// Part of all costs that a box of the graph has at least.
const LEAST: f64 = 0.001;

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let explanations = &inputs.details.explanations;
    if explanations.is_empty() {
        return;
    }
    document.section("explained", "Explained by function");
    document.paragraph(
        "What the task that serves an operation spends, on servers of their own (`dbdyno \
         explain`): user instructions, counted exactly under emulation, or CPU time, sampled at \
         full speed.",
    );
    for explanation in explanations {
        let found = Explained::of(explanation);
        document.heading(3, format!("`{}`", found.phase));
        document.paragraph(explained::sentence(&found));
        let mut phases = inputs.comparison.phases.iter();
        let own = phases.find(|phase| phase.phase == found.phase);
        let divided_by = own.and_then(|phase| explained::divided_by(inputs.details, phase));
        divided_by.into_iter().for_each(|said| document.paragraph(said));
        document.items.push(explained::areas(&found));
        document.fold("Flame graph of both", vec![flame(explanation, &found)]);
        let functions = explained::functions(&found, FUNCTIONS);
        document.fold("Functions with the largest difference", vec![functions]);
        document.fold("How it was counted", explained::remarks(explanation));
    }
}

fn flame(explanation: &Explanation, found: &Explained) -> Item {
    let boxed = |one: Merged| Flamed {
        name: one.name,
        depth: one.depth,
        start: one.start,
        width: one.costs.iter().sum(),
        costs: one.costs,
    };
    let ([base, variant], unit) = (&found.subjects, explained::unit(found.by));
    let chart = Flame {
        title: format!("{}: {unit} of both variants by function, callers above", found.phase),
        description: format!(
            "A box is as wide as the {unit} per operation of both variants together; \
             orange: more on {variant}, blue: more on {base}. Boxes below 0.1 % are left out. \
             Click a box to widen it."
        ),
        unit: unit.to_owned(),
        boxes: analysis::merged(explanation, LEAST).into_iter().map(boxed).collect(),
    };
    Item::Chart(Box::new(Chart::Flame(chart)))
}
