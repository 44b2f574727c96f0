//! Formats of others that can be written. One file each.

mod bmf;
mod csv;
mod mytools;
mod sb_met;

use crate::{Result, variants};
use model::imported::ImportedValue;
use std::collections::BTreeMap;

/// A format of exports. Exporters are pure: values in, files out.
pub struct Exporter {
    /// Name: the file's stem.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The files of this format. Fails where the format can say nothing of the values.
    pub export: fn(&Input, &Options) -> Result<Vec<Exported>>,
}

/// In the order of the command's help.
pub static EXPORTERS: &[Exporter] =
    &[mytools::EXPORTER, sb_met::EXPORTER, bmf::EXPORTER, csv::EXPORTER];

/// What is exported.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// One per experiment.
    pub studies: Vec<Study>,
}

impl Input {
    /// The folder of a study's files, up to its `/`: nothing where there is only one.
    fn folder(&self, study: &Study) -> String {
        match self.studies.len() {
            1 => String::new(),
            _ => format!("{}/", variants::folder(&study.experiment)),
        }
    }
}

/// The values of one experiment: of an imported archive, or dbdyno's own with empty texts.
#[derive(Debug, Clone, Default)]
pub struct Study {
    /// Name of the experiment.
    pub experiment: String,
    /// Labels of the subjects in the plan's or the archive's order.
    pub subjects: Vec<String>,
    /// CPUs of the host by subject, where known.
    pub cpus: BTreeMap<String, u32>,
    /// Rates of one client in single seconds \[1/s\] by phase and subject, where they were
    /// recorded: rows while loading, else queries.
    pub client_rates: BTreeMap<(String, String), Vec<u64>>,
    /// The values.
    pub values: Vec<ImportedValue>,
}

/// How it is exported.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Labels of the variants, in the order of columns and rows; all by name if empty.
    pub variants: Vec<String>,
    /// Groups of variants, for formats that have groups; none if empty.
    pub groups: Vec<Vec<String>>,
    /// Part of the names of files.
    pub tag: String,
    /// Ratios of steps that missed their set rate too, as published files have them; without it
    /// they are missing values.
    pub as_published: bool,
}

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Path below the folder of the export, with plain parts.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// The exporter with this name.
pub fn find(name: &str) -> Option<&'static Exporter> {
    EXPORTERS.iter().find(|exporter| exporter.name == name)
}
