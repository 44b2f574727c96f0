//! The colors of published Insert Benchmark reports, with what they leave unsaid.

use super::Style;
use crate::{
    rounding::{rate, whole},
    service_level::Outcome,
    shade::{Content, PhaseCell, PhaseColumn, Shade, Shown},
    sla::PUBLISHED,
};

pub(super) const STYLE: Style = Style {
    name: "published",
    legends: [
        "▲ top and ▼ bottom quarter of the range; ○ the target insert rate was missed, and the \
         bottom quarter hides it.",
        "+ more than 1.05, − less than 0.95 of the base; missed targets are not marked \
         here.",
        "▼ less than 95 % of the target on average.",
    ],
    absolute,
    has_verdicts: false,
    relative,
    inserts,
};

fn absolute(column: &PhaseColumn) -> Vec<Shown> {
    let range = Range::of(column);
    column
        .cells
        .iter()
        .map(|cell| match cell.rate.map(rate) {
            Some(value) => {
                let shade = range.map_or(Shade::Plain, |range| range.shade(value, ignored(cell)));
                Shown { content: Content::Rate(value), shade }
            }
            None => Shown::nothing(cell),
        })
        .collect()
}

/// Whether a target was missed is not looked at, neither in a cell nor in the base.
fn relative(column: &PhaseColumn) -> Vec<Shown> {
    let base = |cell| column.base(cell).and_then(|base| base.rate).map(rate);
    column
        .cells
        .iter()
        .map(|cell| match (cell.rate.map(rate), base(cell)) {
            (Some(value), Some(base)) if base > 0.0 => {
                let shade = match whole(value / base * 100.0) {
                    percent if percent > 105.0 => Shade::Faster,
                    percent if percent < 95.0 => Shade::Slower,
                    _ => Shade::Plain,
                };
                Shown { content: Content::Ratio(value / base), shade }
            }
            _ => Shown::nothing(cell),
        })
        .collect()
}

fn inserts(column: &PhaseColumn) -> Vec<Shown> {
    column
        .cells
        .iter()
        .map(|cell| match cell.inserted_per_second.map(rate) {
            Some(value) => {
                let shade = if ignored(cell).is_some() { Shade::Bottom } else { Shade::Plain };
                Shown { content: Content::Rate(value), shade }
            }
            None => Shown::nothing(cell),
        })
        .collect()
}

/// The gray of a cell whose average missed the target.
fn ignored(cell: &PhaseCell) -> Option<Shade> {
    (cell.outcome(PUBLISHED.name) == Some(Outcome::Missed)).then_some(Shade::Ignored)
}

/// The bounds of the colors in one column [1/s].
#[derive(Debug, Clone, Copy)]
struct Range {
    bottom: f64,
    top: f64,
}

impl Range {
    /// The least value is that of all rows; the greatest one that of rows that sustained the
    /// target, and 0 if none did, which leaves all of them gray.
    fn of(column: &PhaseColumn) -> Option<Self> {
        let rates = column.cells.iter().filter_map(|cell| cell.rate.map(rate));
        let least = rates.reduce(f64::min)?;
        let usable = column.cells.iter().filter(|cell| ignored(cell).is_none());
        let greatest = usable.filter_map(|cell| cell.rate.map(rate)).fold(0.0, f64::max);
        let quarter = (0.25 * (greatest - least)).trunc();
        // No red where all values are close together.
        let bottom = if least >= 0.8 * greatest { 0.0 } else { least + quarter };
        Some(Self { bottom, top: greatest - quarter })
    }

    /// Red comes first, so that a missed target in the bottom quarter is red and not gray.
    fn shade(self, value: f64, ignored: Option<Shade>) -> Shade {
        match ignored {
            _ if value <= self.bottom => Shade::Bottom,
            Some(shade) => shade,
            None if value >= self.top => Shade::Top,
            None => Shade::Plain,
        }
    }
}
