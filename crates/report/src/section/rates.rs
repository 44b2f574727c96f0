//! The summary tables of the Insert Benchmark, where work was done at set rates.

use super::Section;
use crate::{
    document::{Document, Item, Styled},
    inputs::Inputs,
    summary,
};
use analysis::style::{STYLES, Style};

pub(super) const SECTION: Section = Section { name: "rates", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let columns = analysis::phase_columns(inputs.comparison);
    if columns.is_empty() {
        return;
    }
    document.section("rates", "Set rates");
    let styled = |style: &Style| {
        let mut inner = Document::default();
        for summary in summary::tables(inputs.comparison, &columns, style) {
            inner.heading(3, summary.title);
            inner.items.push(Item::Sortable(summary.table));
            summary.legend.into_iter().for_each(|said| inner.paragraph(said));
        }
        Styled { name: style.name, items: inner.items }
    };
    document.items.push(Item::Styles(STYLES.iter().map(styled).collect()));
    document.items.extend(summary::warnings(inputs.comparison, &columns));
}
