//! Values from run to run as a document: the steps in them, what changed with them, and a chart of
//! each trend.

mod values;

use crate::{
    chart::{Axis, Chart, Line, Lines, Milestone, Scale},
    document::{Column, Document, Item, Row, Table, TableCell},
    number, words,
};
use analysis::history::{History, LASTING, Point, Quantity, Session, Step, Trend, host_change};
use model::number::counted;
use std::collections::BTreeMap;

/// A history with what is known beside it.
#[derive(Debug, Clone, Default)]
pub struct HistoryPage {
    /// The values and their steps.
    pub history: History,
    /// Commands that measure a step again.
    pub commands: BTreeMap<StepPlace, String>,
    /// What a reader must know, one sentence each.
    pub warnings: Vec<String>,
}

/// Where a step is in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepPlace {
    /// Index of its trend.
    pub trend: usize,
    /// Its index among the steps of the trend.
    pub step: usize,
}

/// A step with its trend.
struct Found<'a> {
    place: StepPlace,
    trend: &'a Trend,
    step: &'a Step,
}

/// Metrics that a history shows where none are named.
pub const METRICS: [&str; 3] =
    ["ops_per_second", "server_cpu_us_per_op", "foreground_user_instructions_per_op"];

/// How much of a history a reader sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Where each trend begins and ends, and the steps, for a terminal.
    Steps,
    /// Charts and runs too.
    All,
}

impl HistoryPage {
    /// The document.
    pub fn document(&self, extent: Extent) -> Document {
        let mut document = Document::default();
        document.heading(1, format!("{} over time", self.history.name));
        document.paragraph(self.answer());
        document.items.extend(self.warnings.iter().cloned().map(Item::Warning));
        if extent == Extent::Steps && !self.history.trends.is_empty() {
            document.items.push(Item::Table(values::ranges(&self.history)));
        }
        if self.steps().next().is_some() {
            document.section("steps", "Steps");
            document.items.push(Item::Table(self.table()));
            document.paragraph(method());
            self.add_commands(&mut document);
        }
        if extent == Extent::All {
            self.add_charts(&mut document);
            self.add_runs(&mut document);
        }
        document
    }

    /// Every value of all pages, one table for programs.
    pub fn values(pages: &[Self]) -> Document {
        let mut document = Document::default();
        document.items.push(Item::Table(values::all(pages.iter().map(|page| &page.history))));
        document
    }

    /// How many steps there are, for an index: confirmed ones, and those that are suspected.
    pub fn counts(&self) -> [usize; 2] {
        let confirmed = self.steps().filter(|found| found.step.is_confirmed).count();
        [confirmed, self.steps().count() - confirmed]
    }

    fn steps(&self) -> impl Iterator<Item = Found<'_>> {
        let trends = self.history.trends.iter().enumerate();
        trends.flat_map(|(index, trend)| {
            let place = move |step| StepPlace { trend: index, step };
            let steps = trend.found.steps.iter().enumerate();
            steps.map(move |(at, step)| Found { place: place(at), trend, step })
        })
    }

    fn answer(&self) -> String {
        let runs = counted(self.history.sessions.len() as u64, "run");
        let (first, last) = (self.history.sessions.first(), self.history.sessions.last());
        let dates = first.zip(last).map(|(first, last)| {
            format!(" from {} to {}", words::date(first.started_us), words::date(last.started_us))
        });
        let [confirmed, suspected] = self.counts();
        let found = match (confirmed, suspected) {
            (0, 0) => "no step".to_owned(),
            (confirmed, 0) => counted(confirmed as u64, "confirmed step"),
            (confirmed, suspected) => format!(
                "{} and {}",
                counted(confirmed as u64, "confirmed step"),
                counted(suspected as u64, "suspected step")
            ),
        };
        let drifting = self.history.trends.iter().filter(|t| !t.found.drifts.is_empty()).count();
        let drifts = match drifting {
            0 => String::new(),
            some => format!("; {} gradually", counted_changes(some)),
        };
        format!(
            "{found} in {} over {runs}{}{drifts}.",
            counted(self.history.trends.len() as u64, "trend"),
            dates.unwrap_or_default()
        )
    }

    fn table(&self) -> Table {
        let several = values::has_variants(&self.history);
        let mut columns = vec![Column::words("test")];
        columns.extend(several.then(|| Column::words("variant")));
        columns.extend([
            Column::words("metric"),
            Column::words("since run"),
            Column::numbers("before", ""),
            Column::numbers("after", ""),
            Column::numbers("ratio", ""),
            Column::words("95 % interval"),
            Column::words("step"),
            Column::words("changed with it"),
        ]);
        let rows = self.steps().map(|Found { trend, step, .. }| {
            let text = |text: &str| TableCell::Text(text.to_owned());
            let mut cells = vec![text(&trend.phase)];
            cells.extend(several.then(|| text(&trend.variant)));
            let first = trend.first(step, &self.history);
            let since = first.map_or("", |session| session.run.as_str());
            let changes = changes(trend, step, &self.history);
            let state = if step.is_confirmed { "confirmed" } else { "suspected" };
            cells.extend([
                text(&titled(trend)),
                text(since),
                TableCell::Number(step.levels[0]),
                TableCell::Number(step.levels[1]),
                text(&format!("{:.3} {}", step.ratio, direction(trend, step))),
                text(&format!("{:.3}–{:.3}", step.interval.0, step.interval.1)),
                text(state),
                text(&changes),
            ]);
            Row::Cells(cells)
        });
        Table { columns, rows: rows.collect() }
    }

    fn add_commands(&self, document: &mut Document) {
        let mut said: Vec<String> = Vec::new();
        for found in self.steps() {
            let command = self.commands.get(&found.place);
            said.extend(command.filter(|command| !said.contains(command)).cloned());
        }
        if said.is_empty() {
            return;
        }
        document.paragraph("To measure both sides of a step again, side by side:");
        document.items.push(Item::Code(said.join("\n")));
    }

    fn add_charts(&self, document: &mut Document) {
        document.section("trends", "Trends");
        document.paragraph(
            "The gray line is the level between steps. A full mark is a confirmed step, a dashed \
             one a suspected one, a dotted one a change of host, build or note.",
        );
        let mut metrics: Vec<&str> = Vec::new();
        for trend in &self.history.trends {
            if !metrics.contains(&trend.metric.name) {
                metrics.push(trend.metric.name);
            }
        }
        for metric in metrics {
            let own = self.history.trends.iter().filter(|trend| trend.metric.name == metric);
            let charts: Vec<Lines> = own.map(|trend| chart(trend, &self.history)).collect();
            document.heading(3, self.metric_title(metric));
            document.chart(Chart::Lines(charts));
        }
    }

    fn metric_title(&self, metric: &str) -> String {
        let trend = self.history.trends.iter().find(|trend| trend.metric.name == metric);
        trend.map(title).unwrap_or_default()
    }

    fn add_runs(&self, document: &mut Document) {
        let columns = ["run", "started", "host", "builds", "note"].map(Column::words).into();
        let row = |session: &Session| {
            let builds: Vec<&str> = session.builds.values().map(String::as_str).collect();
            let cells = [
                session.run.clone(),
                words::date(session.started_us),
                session.host.clone(),
                builds.join("; "),
                session.notes.join("; "),
            ];
            Row::Cells(cells.map(TableCell::Text).into())
        };
        let rows = self.history.sessions.iter().map(row).collect();
        document.section("runs", "Runs");
        document.fold("All runs", vec![Item::Table(Table { columns, rows })]);
    }
}

fn counted_changes(trends: usize) -> String {
    let verb = if trends == 1 { "changes" } else { "change" };
    format!("{} {verb}", counted(trends as u64, "trend"))
}

/// How a step is found, and how far it can be trusted.
fn method() -> String {
    format!(
        "Steps are divisions by energy distance (E-divisive) with a permutation test. Confirmed: \
         p at most 0.005 and at least {LASTING} runs on each side; of 1,000 runs of a trend \
         without a step, at most one is called so, as long as runs do not follow their neighbors. \
         Suspected: p at most 0.02, or fewer runs. A change that a straight line describes as \
         well is gradual, and no step."
    )
}

fn title(trend: &Trend) -> String {
    match trend.quantity {
        Quantity::Value => words::long_title(trend.metric),
        Quantity::Ratio => format!("{}, ratio to the base", trend.metric.title),
    }
}

/// The same with the unit, if values have any.
fn titled(trend: &Trend) -> String {
    match (trend.quantity, trend.metric.unit) {
        (Quantity::Ratio, _) | (_, "") => title(trend),
        (Quantity::Value, unit) => format!("{} ({unit})", title(trend)),
    }
}

/// Whether a step made the metric better.
fn direction(trend: &Trend, step: &Step) -> &'static str {
    match trend.is_worse(step) {
        None => "",
        Some(true) => "worse",
        Some(false) => "better",
    }
}

/// What else changed between the runs on both sides of a step.
fn changes(trend: &Trend, step: &Step, history: &History) -> String {
    let session = |index: usize| Some(trend.points.get(index)?.session);
    let sides = step.at.checked_sub(1).and_then(session).zip(session(step.at));
    let changes = sides.map(|(before, after)| trend.changes([before, after], history));
    let changes = changes.unwrap_or_default();
    match changes.is_empty() {
        true => "nothing known".to_owned(),
        false => changes.join("; "),
    }
}

fn chart(trend: &Trend, history: &History) -> Lines {
    let points: Vec<(f64, f64)> =
        trend.points.iter().map(|point| (point.session as f64, point.value)).collect();
    let names = history.sessions.iter().map(|session| words::date(session.started_us)).collect();
    let variant = if trend.variant.is_empty() { "" } else { ", " };
    Lines {
        title: format!("{}{variant}{}", trend.phase, trend.variant),
        description: described(trend),
        x: Axis { title: String::new(), scale: Scale::Names, names },
        y: Axis { title: titled(trend), scale: Scale::Near, names: Vec::new() },
        lines: vec![
            Line::new("value", "s0", vec![points]),
            Line::new("level", "base", levels(trend)),
        ],
        milestones: milestones(trend, history),
    }
}

/// The level between steps: from its first run to its last one.
fn levels(trend: &Trend) -> Vec<Vec<(f64, f64)>> {
    let steps = &trend.found.steps;
    let starts = std::iter::once(0).chain(steps.iter().map(|step| step.at));
    let ends = steps.iter().map(|step| step.at).chain([trend.points.len()]);
    let segment = |(from, to): (usize, usize)| {
        let values = trend.points.get(from..to).filter(|points| !points.is_empty())?;
        let logs = values.iter().map(|point| point.value.ln()).sum::<f64>();
        let level = (logs / values.len() as f64).exp();
        let place = |index: usize| Some(values.get(index)?.session as f64);
        Some(vec![(place(0)?, level), (place(values.len() - 1)?, level)])
    };
    starts.zip(ends).filter_map(segment).collect()
}

/// Changes of builds and notes that a chart marks, at most: a series whose build changes from run
/// to run has them in its table of runs.
const MOST_CHANGES: usize = 20;

fn milestones(trend: &Trend, history: &History) -> Vec<Milestone> {
    let sides = |pair: &[Point]| {
        let before = history.sessions.get(pair[0].session)?;
        Some((pair[1].session as f64 - 0.5, before, history.sessions.get(pair[1].session)?))
    };
    let marked = |(at, words): (f64, String)| Milestone { at, class: "change", words };
    let changed = |pair: &[Point]| {
        let sessions = [pair[0].session, pair[1].session];
        (sessions[1] as f64 - 0.5, trend.changes(sessions, history).join("; "))
    };
    let all = trend.points.windows(2).map(changed);
    let all: Vec<(f64, String)> = all.filter(|(_, words)| !words.is_empty()).collect();
    let hosts = trend.points.windows(2).filter_map(sides);
    let hosts = hosts.filter_map(|(at, before, after)| Some((at, host_change(before, after)?)));
    let mut found: Vec<Milestone> = match all.len() <= MOST_CHANGES {
        true => all.into_iter().map(marked).collect(),
        false => hosts.map(marked).collect(),
    };
    for step in &trend.found.steps {
        let Some(point) = trend.points.get(step.at) else { continue };
        let (low, high) = step.interval;
        let words = format!("{:.3} ({low:.3}–{high:.3}) {}", step.ratio, direction(trend, step));
        let class = if step.is_confirmed { "step" } else { "suspected" };
        found.push(Milestone { at: point.session as f64 - 0.5, class, words });
    }
    found
}

/// The chart for readers who do not see it.
fn described(trend: &Trend) -> String {
    let ends = trend.points.first().zip(trend.points.last()).map(|(first, last)| {
        format!("from {} to {}", number::value(first.value), number::value(last.value))
    });
    let steps = counted(trend.found.steps.len() as u64, "step");
    format!("{}; {steps}", ends.unwrap_or_default())
}
