//! The whole report: every section of every comparison.

use super::Page;
use crate::{Details, Names, Report, document::Document, inputs::Inputs, section::SECTIONS, words};
use analysis::{Comparison, METRICS};
use model::{margins::Quantity, metric::Metric, number::counted};
use std::borrow::Cow;

pub(super) const PAGE: Page = Page { name: "report", document };

fn document(report: &Report) -> Document {
    let mut document = Document::default();
    let nothing = Details::default();
    for (index, comparison) in report.comparisons.iter().enumerate() {
        let details = report.details.get(index).unwrap_or(&nothing);
        let names = Names::of(&comparison.subjects, &report.view.aliases);
        let (comparison, details) = (names.comparison(comparison), names.details(details));
        let (comparison, details) = match wanted(report, &comparison) {
            Some(wanted) => (
                Cow::Owned(comparison.into_owned().with_metrics(&wanted)),
                Cow::Owned(details.into_owned().with_metrics(&wanted)),
            ),
            None => (comparison, details),
        };
        let (comparison, details) = (comparison.as_ref(), details.as_ref());
        let question = [&comparison.question, &comparison.experiment];
        let title = question.into_iter().find(|text| !text.is_empty());
        document.heading(1, title.map_or("", String::as_str));
        document.paragraph(line(&comparison.experiment, details));
        names.legend().into_iter().for_each(|said| document.paragraph(said));
        let inputs = Inputs::new(comparison, details, &report.view, &names);
        SECTIONS.iter().for_each(|section| (section.write)(&inputs, &mut document));
    }
    if report.comparisons.is_empty() {
        document.heading(1, "Nothing is recorded yet");
        document.paragraph("Run an experiment first.");
    }
    document
}

/// Which metrics a page is about; none if about all. Where a run has to decide instructions alone,
/// nothing else was measured long enough to be shown.
fn wanted(report: &Report, comparison: &Comparison) -> Option<Vec<&'static Metric>> {
    if !report.metrics.is_empty() {
        return Some(report.metrics.clone());
    }
    let is_counted = |metric: &&Metric| Quantity::of(metric) == Some(Quantity::Instructions);
    comparison.margins.instructions_alone().then(|| METRICS.iter().filter(is_counted).collect())
}

/// Experiment, time and host, as far as they are known.
fn line(experiment: &str, details: &Details) -> String {
    let mut parts = vec![format!("`{experiment}`")];
    parts.extend(details.started_us.map(words::date));
    if let Some(trial) = details.trials.first() {
        let host = &trial.environment;
        let cpus = counted(host.cpus, "CPU");
        parts.push(match details.hosts() {
            0 | 1 => format!("{cpus}, kernel {}", host.kernel),
            several => format!("{several} hosts, the first with {cpus}, kernel {}", host.kernel),
        });
    }
    parts.join(" · ")
}
