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
        "The files below hold all values of this page: every metric of every test and variant, \
         with six digits. The records of the run have all digits.",
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
    scripts(inputs, document);
    let text = inputs.details.plan.as_ref().map(|plan| plan.experiment.text.as_str());
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        document.heading(3, "The experiment file");
        document.items.push(Item::Code(text.to_owned()));
    }
}

/// The files of users' own scripts, each once, by the sum of its bytes.
fn scripts(inputs: &Inputs<'_>, document: &mut Document) {
    let phases = inputs.details.plan.iter().flat_map(|plan| &plan.phases);
    let files = phases.filter_map(|phase| phase.script.lua.as_ref()).flat_map(|lua| &lua.files);
    let mut facts: Vec<(String, String)> = Vec::new();
    for file in files {
        let fact = (file.path.clone(), format!("SHA-256 {}", file.sha256));
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    if !facts.is_empty() {
        document.heading(3, "The scripts");
        document.items.push(Item::Facts(facts));
    }
}
