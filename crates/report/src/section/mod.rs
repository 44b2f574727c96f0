//! Parts of the HTML report: one file each.

mod answer;
mod bases;
mod compared;
mod consecutive;
mod costs;
mod curves;
mod data;
mod forest;
mod heat;
mod notes;
mod rates;
mod steps;
mod table;
mod versions;
mod why;

use crate::{document::Document, scope::Scope};

/// One part.
pub trait Section: Sync {
    /// Name: the file's stem.
    fn name(&self) -> &'static str;

    /// Appends what it says, or nothing.
    fn write(&self, scope: &Scope<'_>, document: &mut Document);
}

/// In the order in which a reader meets them.
pub const SECTIONS: &[&dyn Section] = &[
    &answer::Answer,
    &heat::Heat,
    &table::Table,
    &consecutive::Consecutive,
    &bases::Bases,
    &notes::Notes,
    &rates::Rates,
    &steps::Steps,
    &forest::Forest,
    &versions::Versions,
    &why::Why,
    &costs::Costs,
    &curves::Curves,
    &compared::Compared,
    &data::Data,
];
