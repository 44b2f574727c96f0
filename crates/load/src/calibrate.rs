//! The engine's own cost: what an operation takes when no server does any work.

use crate::Error;
use crate::engine::Engine;
use model::drive::{Assignment, Endpoint, Stretch, StretchEnd, Target};
use model::workload::Arrival;

/// The cost of operations with the null client: drawing values, clock, histogram and counters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Operations that were executed.
    pub operations: u64,
    /// Wall time per operation on one connection, nanoseconds: an upper limit of the engine's share
    /// of each service time.
    pub ns_per_operation: f64,
}

/// Executes `operations` of a workload, whatever its roles are, with the null client on one
/// connection, after a tenth as many to warm up. A hundred thousand point queries take some
/// milliseconds.
///
/// # Errors
/// What is wrong with the workload.
pub fn calibrate(assignment: &Assignment, operations: u64) -> Result<Calibration, Error> {
    let target = Target {
        protocol: "null".to_owned(),
        endpoint: Endpoint::Nowhere,
        user: String::new(),
        database: String::new(),
        library: None,
        initial_sql: Vec::new(),
    };
    let mut engine = Engine::connect(&target, 1)?;
    let mut alone = assignment.clone();
    alone.workload.roles.clear();
    engine.compile(&alone)?;
    let stretch = |operations| Stretch {
        end: StretchEnd::Operations(operations),
        arrival: Arrival::Closed,
        seed: 0,
        interval_ms: 1000,
    };
    engine.run(&stretch(operations / 10))?;
    let report = engine.run(&stretch(operations))?;
    let ns = (report.end_ns - report.start_ns) as f64;
    let operations = report.succeeded;
    Ok(Calibration { operations, ns_per_operation: ns / operations.max(1) as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::point_query;

    #[test]
    fn the_operations_are_those_of_the_workload() {
        let calibration = calibrate(&point_query(), 5000).unwrap();
        assert_eq!(calibration.operations, 5000);
        assert!(calibration.ns_per_operation > 0.0);
    }
}
