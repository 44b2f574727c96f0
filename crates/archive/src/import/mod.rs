//! Formats of others that can be read. One file each.

mod ann;
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
pub(crate) mod pgbench;
mod ps;
mod qps_abs;
mod qps_rel;
mod sb_met;
mod sb_prepare;
mod sb_r;
mod sysbench;
mod sysbench_intervals;
mod time;
mod vmstat;

use crate::{Fault, File, FileHead, Found};

/// A format of result files.
pub struct Importer {
    /// Name: the file's stem.
    pub name: &'static str,
    /// One line for `dbdyno list importers`.
    pub help: &'static str,
    /// Whether a file is whole wherever it ends, as captures are stopped and not finished. Of any
    /// other one a last line without an end is cut, and what it told is left out.
    pub ends_anywhere: bool,
    /// Whether files are users' own, whose folders and names say what is compared: the user is
    /// told what they were taken for. In archives, rules of these say it.
    pub is_own_file: bool,
    /// Whether a file is of this format, by its name or its beginning.
    pub recognises: fn(&FileHead<'_>) -> bool,
    /// Adds what the file tells to `found`. Rows that are not what they should be become warnings;
    /// a fault means that the file as a whole tells nothing, and discards what it told before.
    pub import: fn(&File<'_>, &mut Found) -> Result<(), Fault>,
}

/// The most exact ones first: where two files tell the same value, the first one's counts. A file
/// is offered to them in this order.
pub static IMPORTERS: &[Importer] = &[
    sb_met::IMPORTER,
    sb_prepare::IMPORTER,
    sysbench::IMPORTER,
    sysbench_intervals::IMPORTER,
    sb_r::IMPORTER,
    o_met::IMPORTER,
    o_qps::IMPORTER,
    qps_abs::IMPORTER,
    qps_rel::IMPORTER,
    insert_summary::IMPORTER,
    insert_progress::IMPORTER,
    insert_report::IMPORTER,
    insert_table::IMPORTER,
    insert_overview::IMPORTER,
    insert_result::IMPORTER,
    insert_rate::IMPORTER,
    insert_histogram::IMPORTER,
    vmstat::IMPORTER,
    iostat::IMPORTER,
    ps::IMPORTER,
    time::IMPORTER,
    perf_hw::IMPORTER,
    pgbench::IMPORTER,
    hammerdb::IMPORTER,
    ann::IMPORTER,
];

/// The importer that takes a file.
pub fn find(head: &FileHead<'_>) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| (importer.recognises)(head))
}
