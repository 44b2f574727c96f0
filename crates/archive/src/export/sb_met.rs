//! `sb.met.*`: six lines of averages per step, as the published scripts write them: of captures of
//! vmstat and iostat, or of averages that were printed.

use super::{
    Exporter,
    mytools::{PhaseName, phases},
};
use crate::{
    Error, ExportOptions, Exported, Input, Result, Study,
    center::{Center, Centers, centers},
    correct,
    number::MISSING,
    step, study, variants,
};

/// Metrics and decimals of columns.
type Columns = &'static [(&'static str, usize)];

const IOSTAT: Columns = &[
    ("reads_per_second", 1),
    ("read_mib_per_second", 1),
    ("writes_per_second", 1),
    ("write_mib_per_second", 1),
    ("reads_per_op", 3),
    ("read_kib_per_op", 3),
    ("write_kib_per_op", 3),
    ("ops_per_second", 2),
];

const VMSTAT: Columns = &[
    ("host_context_switches_per_second", 0),
    ("host_cpu_percent", 1),
    ("host_context_switches_per_op", 3),
    ("host_cpu_percent_per_op", 6),
];

pub(super) const EXPORTER: Exporter = Exporter {
    name: "sb_met",
    help: "an sb.met file per variant and step, of captures or of printed averages",
    keeps_runs: false,
    export,
};

fn export(input: &Input, options: &ExportOptions) -> Result<Vec<Exported>> {
    let mut files = Vec::new();
    for study in &input.studies {
        let folder = input.folder(study);
        files.extend(of_study(study, options, &folder)?);
    }
    if files.is_empty() {
        let reason = "no step has captures or averages of vmstat".to_owned();
        return Err(Error::NothingToExport { format: "sb_met".to_owned(), reason });
    }
    Ok(files)
}

fn of_study(study: &Study, options: &ExportOptions, folder: &str) -> Result<Vec<Exported>> {
    let chosen = variants::of(study, options)?;
    let centers = centers(study);
    let mut files = Vec::new();
    for subject in &chosen {
        let own = study::folder_among(subject, chosen.iter().copied());
        for phase in phases(&centers, std::slice::from_ref(subject)) {
            let averages = Averages { centers: &centers, subject, phase: phase.phase };
            if let Some(text) = averages.text() {
                let path = format!("{folder}{own}/{}", name(&phase));
                files.push(Exported { path, bytes: text.into_bytes() });
            }
        }
    }
    Ok(files)
}

/// Steps of several tables may have the same clients: the folder of the table tells them apart.
fn name(phase: &PhaseName<'_>) -> String {
    let PhaseName { test, range, clients, table, pk, .. } = phase;
    let folder = match table.filter(|table| *clients != Some(*table)) {
        Some(table) => format!("dop{table}/"),
        None => String::new(),
    };
    let dop = clients.map(|clients| format!(".dop{clients}")).unwrap_or_default();
    // A record may call a step as it likes: its name is no path.
    let test = test.replace('/', "_");
    match step::is_load(&test) {
        true => format!("{folder}{}.pk{pk}", step::LOAD_SECTION),
        false => format!("{folder}sb.met.{test}.range{range}.pk{pk}{dop}"),
    }
}

/// The averages of one step of one subject.
struct Averages<'a> {
    centers: &'a Centers<'a>,
    subject: &'a str,
    phase: &'a str,
}

impl Averages<'_> {
    /// The six lines; nothing without averages of vmstat, which summaries alone do not tell.
    fn text(&self) -> Option<String> {
        let samples = self.samples()?;
        let row = |columns: Columns| {
            let cells = columns.iter().map(|(metric, decimals)| self.cell(metric, *decimals));
            cells.collect::<Vec<_>>().join("\t")
        };
        Some(format!(
            "iostat, vmstat normalized by operation rate\n\
             samp\tr/s\trMB/s\tw/s\twMB/s\tr/o\trKB/o\twKB/o\to/s\n\
             {}\t{}\n\n\
             samp\tcs/s\tcpu/s\tcs/o\tcpu/o\n\
             {samples}\t{}\n",
            self.cell("iostat_samples", 0),
            row(IOSTAT),
            row(VMSTAT),
        ))
    }

    fn center<'s>(&'s self, metric: &'s str) -> Option<&'s Center<'s>> {
        self.centers.get(&(self.phase, self.subject, metric))
    }

    /// A number as it was printed, or with the decimals that the published scripts print.
    fn cell(&self, metric: &str, decimals: usize) -> String {
        if let Some(center) = self.center(metric) {
            let printed = center.text.map(str::to_owned);
            return printed.unwrap_or_else(|| format!("{:.decimals$}", center.value));
        }
        // Captures are in KiB.
        let what = metric.strip_suffix("_mib_per_second");
        let kib = what.map(|what| format!("{what}_kib_per_second"));
        let value = kib.and_then(|metric| Some(self.center(&metric)?.value / 1024.0));
        value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.decimals$}"))
    }

    /// What the averages of vmstat are of: what the published scripts count, or the rows that are
    /// left when the headers, and of a capture the row since boot, are left out.
    fn samples(&self) -> Option<String> {
        let counted = self.center("vmstat_samples")?;
        let cpu = self.center("host_cpu_percent")?;
        if !cpu.first.marks.iter().any(|mark| *mark == correct::CORRECTED) {
            return Some(self.cell("vmstat_samples", 0));
        }
        let rows = match self.center("vmstat_rows") {
            Some(rows) => Some((rows.value as u64).saturating_sub(1)),
            None => correct::vmstat_rows(counted.value as u64),
        };
        rows.map(|rows| rows.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{imported::ImportedValue, measurement::Measurement};
    use std::sync::Arc;

    #[test]
    fn a_capture_without_rows_has_no_samples() {
        let value = |metric: &str, value: f64| {
            let (phase, subject) = ("scan".into(), "old".into());
            let marks = vec![correct::CORRECTED.into()];
            let metric = metric.into();
            let measurement =
                Measurement { phase, subject, metric, value, marks, ..Default::default() };
            ImportedValue { measurement, ..Default::default() }
        };
        let names = ["vmstat_samples", "host_cpu_percent", "vmstat_rows"];
        let values = names.map(|name| value(name, 0.0)).to_vec();
        let study = Study { values, ..Study::default() };
        let centers = centers(&study);
        let averages = Averages { centers: &centers, subject: "old", phase: "scan" };
        assert_eq!(averages.samples().as_deref(), Some("0"));
    }

    #[test]
    fn a_step_has_its_file_in_the_folder_whatever_it_is_called() {
        let value = |metric: &str| {
            let (phase, subject, metric) = ("../../x".into(), "old".into(), metric.into());
            let levels = Arc::new([("pk".to_owned(), "0/../../y".to_owned())].into());
            let measurement = Measurement { phase, subject, metric, levels, ..Default::default() };
            ImportedValue { measurement, ..Default::default() }
        };
        let values = ["vmstat_samples", "host_cpu_percent"].map(value).to_vec();
        let study = Study { subjects: vec!["old".to_owned()], values, ..Study::default() };
        let files = export(&Input { studies: vec![study] }, &ExportOptions::default()).unwrap();
        assert_eq!(files[0].path, "old/sb.met..._.._x.range100.pk1");
    }
}
