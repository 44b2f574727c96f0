//! What the sections of one experiment's report are made from.

use crate::{
    Details, Names, View,
    chart::{Budget, Palette},
    grid::{Grid, Part},
};
use analysis::Comparison;
use model::{grouped, metric::Metric};

/// Variants beyond which a heat map and lines over versions take the place of forest plots.
pub(crate) const MANY: usize = 8;

/// One comparison with everything that its sections need.
pub struct Inputs<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// The metric of its answer.
    pub lead: &'static Metric,
    /// What is known beside it.
    pub details: &'a Details,
    /// How it is laid out.
    pub view: &'a View,
    /// The comparison under the view's rows and columns.
    pub grid: Grid,
    /// The grid by base.
    pub parts: Vec<Part>,
    /// What variants are called.
    pub names: &'a Names,
    /// Colors of the subjects.
    pub(crate) palette: Palette,
    /// Colors of the grid's columns.
    pub(crate) columns: Palette,
}

impl<'a> Inputs<'a> {
    /// The inputs of a comparison.
    pub fn new(
        comparison: &'a Comparison,
        details: &'a Details,
        view: &'a View,
        names: &'a Names,
    ) -> Self {
        let mut grid = Grid::of(comparison, &view.rows, &view.columns);
        if let Some(variant) = grid.column_keys.iter().position(|key| key == "variant") {
            for column in &mut grid.columns {
                let name = &column.keys[variant];
                let label = Some(names.full(name)).filter(|label| label != name);
                column.label = label.unwrap_or_default().to_owned();
            }
        }
        let parts = grid.parts();
        let palette = Palette::of(&comparison.subjects, &comparison.bases);
        let titles: Vec<String> = grid.columns.iter().map(|column| column.title.clone()).collect();
        let bases = grid.columns.iter().filter(|column| column.is_base);
        let bases: Vec<String> = bases.map(|column| column.title.clone()).collect();
        let columns = Palette::of(&titles, &bases);
        Self {
            comparison,
            lead: comparison.lead(),
            details,
            view,
            grid,
            parts,
            names,
            palette,
            columns,
        }
    }

    /// The variants of each base that has any, in the order of the bases.
    pub fn families(&self) -> Vec<(&'a str, Vec<&'a str>)> {
        let base = |subject: &str| {
            let mut cells = self.comparison.phases.iter().map(|phase| phase.cells_of(subject));
            cells.find_map(|cells| cells.iter().find_map(|cell| cell.base.as_deref()))
        };
        grouped(self.compared().into_iter().map(|own| (base(own).unwrap_or_default(), own)))
    }

    /// Whether there are more variants than a plot can tell apart.
    pub fn is_many(&self) -> bool {
        self.compared().len() > MANY
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
        model::cache_bytes(&trial.header.settings).map(|bytes| bytes / f64::from(1 << 20))
    }

    /// Labels of the subjects that are compared with a base.
    pub fn compared(&self) -> Vec<&'a str> {
        let is_base = |subject: &&String| self.comparison.bases.contains(subject);
        let others = self.comparison.subjects.iter().filter(|subject| !is_base(subject));
        others.map(String::as_str).collect()
    }
}
