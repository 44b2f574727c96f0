//! What is exported: values of experiments in, files out, and how.

use model::imported::ImportedValue;
use std::collections::BTreeMap;

/// What is exported.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// One per experiment.
    pub studies: Vec<Study>,
}

impl Input {
    /// The folder of a study's files, up to its `/`: nothing where there is only one.
    pub(crate) fn folder(&self, study: &Study) -> String {
        if self.studies.len() == 1 {
            return String::new();
        }
        let all = self.studies.iter().map(|one| one.experiment.as_str());
        format!("{}/", folder_among(&study.experiment, all))
    }
}

/// The folder of one of several names: those that become one folder are numbered.
pub(crate) fn folder_among<'a>(name: &str, all: impl IntoIterator<Item = &'a str>) -> String {
    let own = folder(name);
    let before = all.into_iter().take_while(|one| *one != name);
    match before.filter(|one| folder(one) == own).count() {
        0 => own,
        before => format!("{own}-{}", before + 1),
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
    /// Wall clock at the start of each run, microseconds since 1970, where known.
    pub started_us: BTreeMap<String, u64>,
    /// Rates of one client in single seconds \[1/s\] by phase and subject, where they were
    /// recorded: rows while loading, else queries.
    pub client_rates: BTreeMap<(String, String), Vec<u64>>,
    /// The values.
    pub values: Vec<ImportedValue>,
}

/// How it is exported.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// Labels of the variants, in the order of columns and rows; all, the base first, if empty.
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

/// The folder of a name: plain parts only, whatever it is.
fn folder(experiment: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let parts = experiment.split('/').filter(|part| !part.trim_matches('.').is_empty());
    let parts: Vec<String> = parts.map(|part| part.chars().map(plain).collect()).collect();
    if parts.is_empty() { "unnamed".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_become_one_folder_get_two() {
        let study = |name: &str| Study { experiment: name.to_owned(), ..Study::default() };
        let studies = ["a b", "a_b", "a_c"].map(study);
        let input = Input { studies: studies.to_vec() };
        let folders = studies.each_ref().map(|study| input.folder(study));
        assert_eq!(folders, ["a_b/", "a_b-2/", "a_c/"]);
    }

    #[test]
    fn folders_stay_inside() {
        let check = |name: &str, expected: &str| assert_eq!(folder(name), expected);
        check("apr25.c48/inno", "apr25.c48/inno");
        check("../../etc/..", "etc");
        check("/", "unnamed");
        check("a b\u{1b}[31m<i>", "a_b__31m_i_");
    }
}
