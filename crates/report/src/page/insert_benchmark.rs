//! The summary tables of the Insert Benchmark for each comparison, and what its targets missed.

use super::Page;
use crate::{
    Report,
    document::{Document, Item},
    summary,
};
use analysis::{
    phase_columns,
    style::{STYLES, Style},
};
use model::mark::SLA_MISSED;

/// In the first style.
pub(super) const PAGE: Page =
    Page { name: "insert_benchmark", document: |report| document(report, &STYLES[0]) };

/// The tables of every comparison that has paced work, in a style.
pub(crate) fn document(report: &Report, style: &Style) -> Document {
    let mut document = Document::default();
    for comparison in &report.comparisons {
        let columns = phase_columns(comparison);
        if !columns.is_empty() {
            let question = [&comparison.question, &comparison.experiment];
            let title = question.into_iter().find(|text| !text.is_empty());
            document.heading(1, title.map_or("", String::as_str));
            let mut comparison = comparison.clone();
            for subject in &mut comparison.subjects {
                if let Some(alias) = report.view.aliases.get(subject) {
                    subject.clone_from(alias);
                }
            }
            for summary in summary::tables(&comparison, &columns, style) {
                document.heading(2, summary.title);
                document.items.push(Item::Table(summary.table));
                summary.legend.into_iter().for_each(|said| document.paragraph(said));
            }
            // A style with verdicts says them below its ratios.
            if !style.has_verdicts {
                comparison.conditions.iter().for_each(|said| document.paragraph(said));
            }
            document.items.extend(summary::warnings(&comparison, &columns));
            // Missed targets are reported above, with the figure.
            let others = comparison.warnings.iter().filter(|told| !told.contains(SLA_MISSED));
            document.items.extend(others.cloned().map(Item::Warning));
        }
    }
    if document.items.is_empty() {
        document.paragraph("no recorded workload inserts at a set rate during queries");
    }
    document
}
