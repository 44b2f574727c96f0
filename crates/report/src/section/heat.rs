//! The first picture of many variants: tests by variants, in the colors of the table.

use super::Section;
use crate::{
    document::{Document, Item},
    grid::Part,
    inputs::Inputs,
    words,
};
use model::metric::Better;

pub(super) const SECTION: Section = Section { name: "heat", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let Some(metric) = inputs.grid.metric(inputs.lead.name).filter(|_| inputs.is_many()) else {
        return;
    };
    let has_ratio = |part: &&Part| {
        let mut rows = part.rows.iter().map(|row| &inputs.grid.values[metric][*row]);
        rows.any(|row| part.columns.iter().any(|column| row[*column].ratio.is_some()))
    };
    let parts: Vec<_> = inputs.parts.iter().filter(has_ratio).collect();
    if parts.is_empty() {
        return;
    }
    document.section("heat", "Heat map");
    let [worse, better] = words::worse_and_better(inputs.lead);
    let what = words::capitalized(&words::noun(inputs.lead));
    document.paragraph(match inputs.lead.better {
        Better::Neither => format!("{what} relative to the base."),
        _ => format!(
            "{what} relative to the base: blue is {better}, orange, or yellow in the published \
             colors, is {worse}."
        ),
    });
    for part in parts {
        if !part.base.is_empty() {
            document.heading(3, inputs.grid.compared_with(part));
        }
        document.items.push(Item::Heat(Box::new(inputs.grid.part(part)), metric));
    }
}
