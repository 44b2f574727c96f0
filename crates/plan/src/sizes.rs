//! Whether anything of an experiment follows the sizes that it is given.

use crate::{
    Catalog, SuitePhase, Workload, draft::DraftPhase, layers::Locations, wire::numbers::Limits,
};
use model::{Parameters, expression::Expression, plan::PhaseKind, schema::Schema, script::Script};

/// Keys of an experiment that say how many tables and rows there are.
const SIZES: [&str; 2] = ["rows", "tables"];

/// What an experiment makes of its numbers.
pub(crate) struct Made<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) workloads: &'a [Workload],
    pub(crate) phases: &'a [DraftPhase],
    /// Expressions of the suite's parameters.
    pub(crate) suite: &'a [(String, Expression)],
    /// What expressions may name.
    pub(crate) values: &'a Parameters,
}

impl Made<'_> {
    /// The sizes that are written and that nothing follows.
    pub(crate) fn idle(&self, places: &Locations) -> Vec<&'static str> {
        let is_idle = |key: &&str| places.is_written(key) && !self.follows(key);
        SIZES.into_iter().filter(is_idle).collect()
    }

    fn follows(&self, key: &str) -> bool {
        let size = Parameters::from([(key.to_owned(), 1)]);
        let names = |expression: &Expression| !expression.named(&size).is_empty();
        self.suite.iter().any(|(_, expression)| names(expression))
            || self.phases.iter().any(|phase| waits_or_names(&phase.suite, names))
            || self.workloads.iter().any(|workload| self.is_other(workload, key))
    }

    /// Whether a workload or its tables would be others with another size.
    fn is_other(&self, workload: &Workload, key: &str) -> bool {
        // Scripts have options of their own.
        if workload.is_script() {
            return false;
        }
        let own = self.resolved(workload, self.values);
        // Empty tables are filled by phases, and by `verify` with as many rows as there are to be.
        if own.1.iter().flat_map(|schema| &schema.tables).any(|table| table.rows == 0) {
            return true;
        }
        let size = self.values.get(key).copied().unwrap_or(1);
        [1, size.saturating_mul(2)].into_iter().any(|other| {
            let mut values = self.values.clone();
            values.insert(key.to_owned(), other);
            self.resolved(workload, &values) != own
        })
    }

    fn resolved(
        &self,
        workload: &Workload,
        values: &Parameters,
    ) -> (Option<Script>, Option<Schema>) {
        let mut parameters = workload.parameters.clone();
        parameters.extend(values.clone());
        let mut script = workload.script(&parameters, Limits::Unchecked).ok();
        // It is given all numbers, and uses its own.
        if let Some(coded) = script.as_mut().and_then(|script| script.coded.as_mut()) {
            coded.parameters.clear();
        }
        (script, self.catalog.schema_with(&workload.schema, values).ok())
    }
}

/// Whether a phase waits for as long as its tables are large, or names a size.
fn waits_or_names(suite: &SuitePhase, names: impl Fn(&Expression) -> bool) -> bool {
    let own = [&suite.seconds, &suite.clients].into_iter().flatten();
    suite.kind == PhaseKind::Settle || own.chain(suite.parameters.values()).any(names)
}
