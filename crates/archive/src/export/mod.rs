//! Formats of others that can be written. One file each.

mod bmf;
mod csv;
mod mytools;
mod openmetrics;
mod sb_met;

use crate::{ExportOptions, Exported, Input, Result};

/// A format of exports. Exporters are pure: values in, files out.
pub struct Exporter {
    /// Name: the file's stem.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Whether values of several runs stay apart: others become one, their mean.
    pub keeps_runs: bool,
    /// The files of this format. Fails where the format can say nothing of the values.
    pub export: fn(&Input, &ExportOptions) -> Result<Vec<Exported>>,
}

/// In the order of the command's help.
pub static EXPORTERS: &[Exporter] =
    &[mytools::EXPORTER, sb_met::EXPORTER, bmf::EXPORTER, openmetrics::EXPORTER, csv::EXPORTER];

/// The exporter with this name.
pub fn find(name: &str) -> Option<&'static Exporter> {
    EXPORTERS.iter().find(|exporter| exporter.name == name)
}
