//! What people wrote about the hardware, the builds, single variants and single tests.

use super::Section;
use crate::{
    document::{Document, Item},
    inputs::Inputs,
    words::one_line,
};
use std::collections::BTreeMap;

pub(super) const SECTION: Section = Section { name: "notes", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let notes = &inputs.details.notes;
    if notes.is_empty() {
        return;
    }
    document.section("notes", "Notes");
    if !notes.about.is_empty() {
        document.paragraph(one_line(&notes.about));
    }
    let given = [
        ("hardware", &notes.hardware),
        ("builds", &notes.builds),
        ("configuration", &notes.configuration),
    ];
    let given = given.iter().filter(|(_, text)| !text.is_empty());
    let facts: Vec<_> = given.map(|(name, text)| ((*name).to_owned(), one_line(text))).collect();
    if !facts.is_empty() {
        document.items.push(Item::Facts(facts));
    }
    let comparison = inputs.comparison;
    let is_subject = |name: &str| comparison.subjects.iter().any(|subject| subject == name);
    let is_test = |name: &str| comparison.phases.iter().any(|phase| phase.phase == name);
    part("Variants", &notes.variants, &is_subject, document);
    part("Tests", &notes.tests, &is_test, document);
}

/// The notes with their names; a name that the comparison lacks may be a slip.
fn part(
    title: &str,
    notes: &BTreeMap<String, String>,
    is_known: &dyn Fn(&str) -> bool,
    document: &mut Document,
) {
    if notes.is_empty() {
        return;
    }
    document.heading(3, title);
    let (known, unknown): (Vec<_>, Vec<_>) = notes.iter().partition(|(name, _)| is_known(name));
    let facts = known.into_iter().map(|(name, text)| (name.clone(), one_line(text)));
    document.items.push(Item::Facts(facts.collect()));
    for (name, _) in unknown {
        document.items.push(Item::Warning(format!(
            "the notes name `{name}`, which is not among the {} here",
            title.to_lowercase()
        )));
    }
}
