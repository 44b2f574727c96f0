//! The data: to save, and to make again.

use super::Section;
use crate::{
    document::{Document, Item},
    grid::Grid,
    inputs::Inputs,
};

pub(super) const SECTION: Section = Section { name: "data", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    document.section("data", "Data");
    document.paragraph(
        "It holds all values of this page: every metric of every test and variant, with six \
         digits. The records of the run have all digits.",
    );
    let comparison = inputs.comparison;
    document.items.push(Item::Data {
        name: comparison.experiment.clone(),
        grid: Box::new(Grid::of(comparison, &[], &[])),
    });
    if !inputs.details.command.is_empty() {
        document.heading(3, "To repeat it");
        if inputs.details.command.contains(".toml") {
            document.paragraph("Save the experiment file below under the name in the command.");
        }
        document.items.push(Item::Code(inputs.details.command.clone()));
    }
    let text = inputs.details.plan.as_ref().map(|plan| plan.experiment.text.as_str());
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        document.heading(3, "The experiment file");
        document.items.push(Item::Code(text.to_owned()));
    }
}
