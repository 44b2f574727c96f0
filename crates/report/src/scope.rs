//! What the sections of one experiment's report are made from.

use crate::{
    Details, View,
    chart::{Budget, Palette},
    grid::Grid,
};
use analysis::Comparison;

/// One comparison with everything that its sections need.
pub struct Scope<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// What is known beside it.
    pub details: &'a Details,
    /// How it is laid out.
    pub view: &'a View,
    /// The comparison under the view's rows and columns.
    pub grid: Grid,
    /// Colours of the subjects.
    pub(crate) palette: Palette,
    /// Colours of the grid's columns.
    pub(crate) columns: Palette,
}

impl<'a> Scope<'a> {
    /// The scope of a comparison.
    pub fn new(comparison: &'a Comparison, details: &'a Details, view: &'a View) -> Self {
        let grid = Grid::of(comparison, &view.rows, &view.columns);
        let palette = Palette::of(&comparison.subjects, &comparison.bases);
        let titles: Vec<String> = grid.columns.iter().map(|column| column.title.clone()).collect();
        let bases = grid.columns.iter().filter(|column| column.is_base);
        let bases: Vec<String> = bases.map(|column| column.title.clone()).collect();
        let columns = Palette::of(&titles, &bases);
        Self { comparison, details, view, grid, palette, columns }
    }

    /// How many points each curve over time may have, so that the report keeps its size.
    pub(crate) fn budget(&self) -> Budget {
        let details = self.details;
        let curves = details.throughput.len() + details.stalls.len() + 2 * details.roles.len();
        Budget::of(curves)
    }

    /// The cache that the settings of a subject ask for [MiB].
    pub(crate) fn cache_mib(&self, subject: &str) -> Option<f64> {
        let mut trials = self.details.trials.iter();
        let trial = trials.find(|trial| trial.header.subject == subject)?;
        analysis::cache_bytes(&trial.header.settings).map(|bytes| bytes / f64::from(1 << 20))
    }

    /// Labels of the subjects that are compared with a base.
    pub fn compared(&self) -> Vec<&'a str> {
        let is_base = |subject: &&String| self.comparison.bases.contains(subject);
        let others = self.comparison.subjects.iter().filter(|subject| !is_base(subject));
        others.map(String::as_str).collect()
    }
}
