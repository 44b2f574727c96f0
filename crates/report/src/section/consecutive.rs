//! Each variant compared with the one before it: where in a line of versions something changed.

use super::{Section, answer};
use crate::{
    Trial,
    document::{Align, Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    words::{self, Basis, Standing},
};
use analysis::{Comparison, PhaseResult, Verdict};
use model::metric::{Better, Metric};
use std::collections::{BTreeMap, BTreeSet};

/// Steps from which on the table can be opened and is not shown at once.
const MANY: usize = 12;

/// Standings in the order in which a cell counts them, with the word for one test or several.
fn in_words(metric: &Metric) -> [(Standing, &'static str); 5] {
    let [worse, better] = words::worse_and_better(metric);
    [
        (Standing::Worse, worse),
        (Standing::Same, "same"),
        (Standing::Better, better),
        (Standing::Undecided, "undecided"),
        (Standing::Nothing, "without a ratio"),
    ]
}

pub(super) const SECTION: Section = Section { name: "consecutive", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let Some(steps) = &inputs.details.steps else { return };
    if steps.lead().better == Better::Neither {
        // No step is one to better or worse.
        return;
    }
    let table = table(steps, &inputs.details.trials);
    if table.rows.len() < 2 {
        // One step is the comparison itself.
        return;
    }
    if several_vary(steps) {
        // Neighbors in a product of factors are no steps.
        return;
    }
    document.section("consecutive", "Step by step");
    let [worse, better] = words::worse_and_better(steps.lead());
    let rule = match Basis::of(steps) {
        Basis::Verdicts => "by their verdicts",
        Basis::Ratios if is_disturbed(steps) => "of which none is judged: the host was disturbed",
        Basis::Ratios => "by their ratios, as nothing is repeated",
    };
    document.paragraph(format!(
        "Each variant compared with the one before it: the geometric mean of {} and the number \
         of tests that are {worse}, the same and {better}, {rule}.",
        words::noun(steps.lead())
    ));
    if table.columns.iter().any(|column| column.title == ALSO) {
        document.paragraph(
            "A step at which the compiler or the packager changes as well is not that of the \
             version alone."
                .to_owned(),
        );
    }
    if table.rows.len() > MANY {
        let title = format!("{} steps", table.rows.len());
        document.fold(title, vec![Item::Table(table)]);
    } else {
        document.items.push(Item::Table(table));
    }
}

/// The column of what changes beside the version.
const ALSO: &str = "also changes";

/// The compiler or the packager of a build, if both are known and another one's are different.
fn also(trials: &[Trial], base: &str, subject: &str) -> Option<String> {
    let of = |name: &str| {
        let found = trials.iter().find(|trial| trial.header.subject == name)?;
        Some(&found.header.provenance)
    };
    let (before, now) = (of(base)?, of(subject)?);
    let differs = |one: &str, other: &str| !one.is_empty() && !other.is_empty() && one != other;
    let mut found = Vec::new();
    if differs(&before.compiler, &now.compiler) {
        found.push(format!("{} to {}", before.compiler, now.compiler));
    }
    if differs(&before.packager, &now.packager) {
        found.push(now.packager.clone());
    }
    (!found.is_empty()).then(|| found.join(", "))
}

fn table(steps: &Comparison, trials: &[Trial]) -> Table {
    let parts = answer::parts(steps);
    let mut columns = vec![Column::words("from"), Column::words("to")];
    columns.push(Column::ratios("geometric mean", steps.lead().better));
    let counts = |(name, _): &(String, Vec<&PhaseResult>)| Column {
        align: Align::Left,
        ..Column::words(name)
    };
    columns.extend(parts.iter().map(counts));
    let changes = |subject: &String| also(trials, base_of(steps, subject, steps.lead())?, subject);
    let is_told = steps.subjects.iter().any(|subject| changes(subject).is_some());
    columns.extend(is_told.then(|| Column::words(ALSO)));
    let (basis, lead) = (Basis::of(steps), steps.lead());
    let row = |subject: &String| {
        let base = base_of(steps, subject, lead)?;
        let all = &parts[0].1;
        let mean = answer::mean_cell(all, subject, lead).unwrap_or(TableCell::Missing);
        let mean = answer::colored(mean, &basis.standings(all, subject, lead));
        let names = [base, subject].map(|name| TableCell::Text(name.to_owned()));
        let cells = parts.iter().map(|(_, phases)| {
            TableCell::Text(counted(&basis.standings(phases, subject, lead), lead))
        });
        let also = is_told.then(|| TableCell::Text(changes(subject).unwrap_or_default()));
        Some(Row::Cells(names.into_iter().chain([mean]).chain(cells).chain(also).collect()))
    };
    let rows = steps.subjects.iter().filter_map(row).collect();
    Table { columns, rows }
}

/// Whether the variants differ in more than one factor.
fn several_vary(steps: &Comparison) -> bool {
    let mut levels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for cell in steps.phases.iter().flat_map(|phase| &phase.cells) {
        for (factor, level) in cell.factors.iter().filter(|(factor, _)| *factor != "clients") {
            levels.entry(factor).or_default().insert(level);
        }
    }
    levels.values().filter(|levels| levels.len() > 1).count() > 1
}

/// Whether ratios are not judged. What failed has none.
fn is_disturbed(steps: &Comparison) -> bool {
    let mut cells = steps.phases.iter().flat_map(|phase| &phase.cells);
    cells.any(|cell| cell.verdict == Verdict::Invalid && cell.ratio.is_some())
}

fn base_of<'a>(steps: &'a Comparison, subject: &str, lead: &Metric) -> Option<&'a str> {
    let cells = steps.phases.iter().filter_map(|phase| phase.cell(subject, lead.name));
    cells.into_iter().find_map(|cell| cell.base.as_deref())
}

/// `5 faster, 2 same, 2 slower` without what there is none of.
fn counted(found: &[Standing], lead: &Metric) -> String {
    let part = |(wanted, word): &(Standing, &str)| match found.iter().filter(|s| *s == wanted) {
        same if same.clone().next().is_none() => None,
        same => Some(format!("{} {word}", same.count())),
    };
    in_words(lead).iter().filter_map(part).collect::<Vec<_>>().join(", ")
}
