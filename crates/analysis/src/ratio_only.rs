//! Archives that publish ratios alone: their ratios are what is known of the throughput.

use crate::{Cell, METRICS, PhaseResult};
use model::metric::Metric;
use std::sync::LazyLock;

const RELATIVE: &str = "ops_per_second_relative";

/// The throughput of a base that is 1, as no archive tells it.
static THROUGHPUT: LazyLock<Metric> = LazyLock::new(|| Metric {
    short: "rQPS",
    unit: "ratio",
    help: "operations per second relative to the first variant: the archive has ratios only",
    ..METRICS[0].clone()
});

/// Gives the phases cells of throughput where nothing but ratios of it is known.
pub(crate) fn fill(phases: &mut [PhaseResult]) {
    let mut cells = phases.iter().flat_map(|phase| &phase.cells);
    if cells.any(|cell| cell.metric.name == THROUGHPUT.name) {
        return;
    }
    for phase in phases {
        let with_throughput = |cell: Cell| {
            let same = (cell.metric.name == RELATIVE)
                .then(|| Cell { metric: &THROUGHPUT, ..cell.clone() });
            // Cells of a subject stand together.
            same.into_iter().chain([cell])
        };
        phase.cells =
            std::mem::take(&mut phase.cells).into_iter().flat_map(with_throughput).collect();
    }
}
