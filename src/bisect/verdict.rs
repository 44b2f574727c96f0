//! What a bisection found, in words.

use super::{Positions, State};
use crate::talk;
use analysis::bisect::{Evidence, Found, Next, Outcome, Rise};
use model::{metric::Metric, number::counted};
use report::document::{Column, Document, Item, Row, Table, TableCell};
use runner::Stop;
use std::path::Path;

/// A probe and its answer.
pub(crate) struct Step {
    pub(crate) position: usize,
    pub(crate) outcome: Outcome,
    /// Between the good end (0) and the bad one (1); none where nothing was measured.
    pub(crate) height: Option<f64>,
    pub(crate) blocks: usize,
    pub(crate) run: String,
    /// Why it was skipped, or what is to be added to its answer.
    pub(crate) reason: String,
}

impl Step {
    /// The probe in one line.
    pub(crate) fn line(&self, positions: &Positions) -> String {
        let name = positions.name(self.position);
        match self.height {
            Some(height) => format!(
                "`{name}` is {}: at {height:.2} between good (0) and bad (1), {}{}",
                word(self.outcome),
                counted(self.blocks as u64, "block"),
                self.reason
            ),
            None => format!("`{name}` is skipped: {}", self.reason),
        }
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::LikeGood => "like good",
        Outcome::LikeBad => "like bad",
        Outcome::Neither => "like neither",
        Outcome::Undecided => "undecided",
        Outcome::Skipped => "skipped",
    }
}

/// A run of both sides of a change: what it shows, its identifier, its variants.
pub(crate) type Sides = (Option<Evidence>, String, Vec<String>);

/// What the last run shows. Where probes have told the ends apart, the answer is theirs and stands
/// without it.
pub(super) fn kept(
    sides: anyhow::Result<Sides>,
    state: &State,
    stop: &Stop,
) -> anyhow::Result<Option<Sides>> {
    match sides {
        Err(error) if state.has_decided() && !stop.is_raised() => {
            talk::say_lines(&format!("warning: {}", talk::sentence(&error)));
            Ok(None)
        }
        sides => sides.map(Some),
    }
}

/// The end of a bisection.
pub(crate) struct Ending {
    pub(crate) next: Next,
    pub(crate) steps: Vec<Step>,
    /// The ends, as the last probe saw them.
    pub(crate) ends: Option<Evidence>,
    /// Both sides of the change in a run of their own.
    pub(crate) sides: Option<Sides>,
    /// Positions of equal code.
    pub(crate) equal: Vec<(usize, usize)>,
    pub(crate) metric: Option<&'static Metric>,
    pub(crate) test: String,
}

impl Ending {
    /// Whether one position is found.
    pub(crate) fn is_found(&self) -> bool {
        matches!(&self.next, Next::Found(found) if found.culprits.len() == 1)
    }

    /// The answer, the probes, and the command that explains the change.
    pub(crate) fn document(&self, positions: &Positions, results: &Path) -> Document {
        let mut document = Document::default();
        document.paragraph(self.answer(positions));
        for sentence in self.effects() {
            document.paragraph(sentence);
        }
        if !self.steps.is_empty() {
            document.items.push(Item::Table(self.table(positions)));
        }
        if let Some((_, run, labels)) = &self.sides {
            let command = format!(
                "dbdyno explain {run} --results {} --phase {} --variants {}",
                crate::shell::quoted(&results.display().to_string()),
                crate::shell::quoted(&self.test),
                crate::shell::quoted(&labels.join(","))
            );
            document.items.push(Item::Code(command));
        }
        document
    }

    fn answer(&self, positions: &Positions) -> String {
        let name = |position: usize| format!("`{}`", positions.name(position));
        let metric = self.metric.map_or("the value", |metric| metric.name);
        let of = format!("`{metric}` of `{}`", self.test);
        match &self.next {
            Next::Found(found) => match found.culprits.as_slice() {
                [only] => format!(
                    "{} changed {of}: probability {:.3}; {} before it does not have the change.",
                    name(*only),
                    found.probability,
                    name(found.before)
                ),
                several => format!(
                    "One of {} changed {of}: probability {:.3}. Only the last of them could be \
                     measured: {}.",
                    counted(several.len() as u64, "position"),
                    found.probability,
                    several.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ")
                ),
            },
            Next::Several(rises) => {
                let rise = |rise: &Rise| {
                    format!(
                        "{:+.0} % of it between {} and {}",
                        100.0 * rise.share,
                        name(rise.before),
                        name(rise.after)
                    )
                };
                let all: Vec<String> = rises.iter().map(rise).collect();
                format!("{of} changed in several steps: {}.", all.join("; "))
            }
            Next::Gradual => format!(
                "{of} changed gradually: no two neighbors differ by a quarter of the change."
            ),
            Next::Open(Found { before, culprits, probability }) => format!(
                "Open: the change of {of} is after {} with a probability of {probability:.2} \
                 ({}); nothing that is left to probe decides it.",
                name(*before),
                counted(culprits.len() as u64, "position")
            ),
            Next::Probe(position) => format!("{} is to be probed.", name(*position)),
        }
    }

    fn effects(&self) -> Vec<String> {
        let ratio = |found: &Evidence| {
            let (low, high) = found.interval;
            format!("ratio {:.4} (at 99 %: {low:.4}–{high:.4})", found.ratio)
        };
        let mut said = Vec::new();
        if let Some((Some(found), run, _)) = &self.sides {
            let doubt = match found.ends_differ {
                true => "",
                false => "; this run alone does not show a change",
            };
            said.push(format!("Both sides of it, in run {run}: {}{doubt}.", ratio(found)));
        }
        said.extend(self.ends.iter().map(|ends| format!("Both ends: {}.", ratio(ends))));
        said
    }

    fn table(&self, positions: &Positions) -> Table {
        let mut columns: Vec<Column> = vec![Column::words("position")];
        columns.extend([Column::words("answer"), Column::numbers("height", "")]);
        columns.extend([Column::numbers("blocks", ""), Column::words("run or reason")]);
        let row = |step: &Step| {
            Row::Cells(vec![
                TableCell::Text(positions.name(step.position).to_owned()),
                TableCell::Text(word(step.outcome).to_owned()),
                step.height.map_or(TableCell::Missing, TableCell::Ratio),
                TableCell::Count(step.blocks as u64),
                TableCell::Text(format!("{}{}", step.run, step.reason)),
            ])
        };
        let mut steps: Vec<&Step> = self.steps.iter().collect();
        steps.sort_by_key(|step| step.position);
        let mut rows: Vec<Row> = steps.into_iter().map(row).collect();
        rows.extend(self.equal.iter().map(|(low, high)| {
            let [low, high] = [low, high].map(|position| positions.name(*position));
            Row::Note(format!("`{low}` and `{high}` have equal code"))
        }));
        Table { columns, rows }
    }
}
