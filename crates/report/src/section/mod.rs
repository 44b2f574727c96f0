//! Parts of the HTML report: one file each.

pub(crate) mod answer;
mod bases;
mod compared;
mod consecutive;
mod costs;
mod curves;
mod data;
mod explained;
mod forest;
mod heat;
mod notes;
mod rates;
mod reads;
pub(crate) mod recall;
mod state;
mod steps;
mod table;
mod versions;
mod why;

use crate::{document::Document, inputs::Inputs};

/// One part.
pub struct Section {
    /// Name: the file's stem.
    pub name: &'static str,
    /// Appends what it says, or nothing.
    pub write: fn(&Inputs<'_>, &mut Document),
}

/// In the order in which a reader meets them.
pub static SECTIONS: &[Section] = &[
    answer::SECTION,
    heat::SECTION,
    table::SECTION,
    consecutive::SECTION,
    recall::SECTION,
    bases::SECTION,
    notes::SECTION,
    rates::SECTION,
    steps::SECTION,
    forest::SECTION,
    versions::SECTION,
    why::SECTION,
    explained::SECTION,
    costs::SECTION,
    reads::SECTION,
    state::SECTION,
    curves::SECTION,
    compared::SECTION,
    data::SECTION,
];
