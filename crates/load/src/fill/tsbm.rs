//! The loaded rows of the time series benchmark with writes: every ten seconds, ten values of each
//! device, in the order of time.

use super::coded::{CodedTable, Maker, RowNumber};
use crate::wire::RowSink;

/// The only table; a schema has several copies of it.
pub(super) const TABLES: &[CodedTable] = &[CodedTable {
    name: "tsbm.metrics",
    columns: &["moment", "device", "metric", "value"],
    rows_per_unit: METRICS,
    make: metric,
}];

/// Values of a device at a time: the rows of a unit.
const METRICS: u64 = 10;
/// Seconds between the values of a device.
const INTERVAL: u64 = 10;
/// Values are below this.
const VALUES: u64 = 1_000_000;

fn metric(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let devices = maker.parameters.get("devices").map_or(1, |devices| devices.unsigned_abs());
    let devices = devices.max(1);
    sink.integer((number.unit / devices * INTERVAL) as i64);
    sink.integer((number.unit % devices) as i64);
    sink.integer(number.row as i64);
    sink.integer(maker.random.below(VALUES) as i64);
    number.row + 1 < METRICS
}
