//! Which metric answers the question of a comparison.

use crate::{Comparison, METRICS, metric};
use model::metric::Metric;

/// The metric of the answer where there is any choice.
pub const THROUGHPUT: &str = "ops_per_second";

/// What a server executes for an operation, the first that is known: the metric of the answer where
/// instructions are all that matters.
pub const INSTRUCTIONS: [&str; 2] =
    ["foreground_user_instructions_per_op", "server_user_instructions_per_op"];

impl Comparison {
    /// The metric of the answer: throughput; instructions where a run has to decide nothing else,
    /// or where no throughput is known.
    pub fn lead(&self) -> &'static Metric {
        let [of_tasks, of_all] = INSTRUCTIONS;
        let order = match self.margins.instructions_alone() {
            true => [of_tasks, of_all, THROUGHPUT],
            false => [THROUGHPUT, of_tasks, of_all],
        };
        let cells = || self.phases.iter().flat_map(|phase| &phase.cells);
        let own = |name: &str| cells().map(|cell| cell.metric).find(|metric| metric.name == name);
        let first = || cells().next().map(|cell| cell.metric);
        let known = order.into_iter().find_map(own).or_else(first);
        known.or_else(|| metric(THROUGHPUT)).unwrap_or(&METRICS[0])
    }

    /// The same with the wanted metrics alone.
    pub fn with_metrics(mut self, wanted: &[&Metric]) -> Self {
        for phase in &mut self.phases {
            // Archives may have a metric in another unit.
            phase.cells.retain(|cell| wanted.iter().any(|metric| metric.name == cell.metric.name));
        }
        self
    }
}
