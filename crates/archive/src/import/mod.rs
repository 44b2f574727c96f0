//! Formats of others that can be read. One file each.

mod hammerdb;
mod insert_histogram;
mod insert_overview;
mod insert_progress;
mod insert_rate;
mod insert_report;
mod insert_result;
mod insert_summary;
mod insert_table;
mod iostat;
mod o_met;
mod o_qps;
mod perf_hw;
mod pgbench;
mod ps;
mod qps_abs;
mod qps_rel;
mod sb_met;
mod sb_prepare;
mod sb_r;
mod sysbench;
mod time;
mod vmstat;

use crate::{Fault, File, FileHead, Found};

/// A format of result files.
pub trait Importer: Sync {
    /// Name: the file's stem.
    fn name(&self) -> &'static str;

    /// One line for `dbdyno list importers`.
    fn help(&self) -> &'static str;

    /// Whether a file is of this format, by its name or its beginning.
    fn recognises(&self, head: &FileHead<'_>) -> bool;

    /// Whether a file is whole wherever it ends, as captures are stopped and not finished. Of any
    /// other one a last line without an end is cut, and what it told is left out.
    fn ends_anywhere(&self) -> bool {
        false
    }

    /// Adds what the file tells to `found`. Rows that are not what they should be become warnings;
    /// a fault means that the file as a whole tells nothing, and discards what it told before.
    fn import(&self, file: &File<'_>, found: &mut Found) -> Result<(), Fault>;
}

/// The most exact ones first: where two files tell the same value, the first one's counts. A file
/// is offered to them in this order.
pub const IMPORTERS: &[&dyn Importer] = &[
    &sb_met::SbMet,
    &sb_prepare::SbPrepare,
    &sysbench::Sysbench,
    &sb_r::SbR,
    &o_met::OMet,
    &o_qps::OQps,
    &qps_abs::QpsAbs,
    &qps_rel::QpsRel,
    &insert_summary::InsertSummary,
    &insert_progress::InsertProgress,
    &insert_report::InsertReport,
    &insert_table::InsertTable,
    &insert_overview::InsertOverview,
    &insert_result::InsertResult,
    &insert_rate::InsertRate,
    &insert_histogram::InsertHistogram,
    &vmstat::Vmstat,
    &iostat::Iostat,
    &ps::Ps,
    &time::Time,
    &perf_hw::PerfHw,
    &pgbench::Pgbench,
    &hammerdb::Hammerdb,
];

/// The importer that takes a file.
pub fn find(head: &FileHead<'_>) -> Option<&'static dyn Importer> {
    IMPORTERS.iter().copied().find(|importer| importer.recognises(head))
}
