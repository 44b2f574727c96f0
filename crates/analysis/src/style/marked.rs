//! Our own style: a missed target is said in every table, and never as a number that compares.

use super::Style;
use crate::shade::{Content, PhaseCell, PhaseColumn, Shade, Shown};

pub(super) struct Marked;

/// Ratios nearer to 1 than this are not shaded.
const NEAR: f64 = 0.05;

impl Style for Marked {
    fn name(&self) -> &'static str {
        "marked"
    }

    fn help(&self) -> &'static str {
        "a missed target is marked in all tables, and its rate is not compared"
    }

    fn legends(&self) -> [&'static str; 3] {
        [
            "Where the target insert rate was missed there is no comparable number.",
            "+ more than 1.05, − less than 0.95 of the base; where the target insert rate was \
             missed there is no ratio.",
            "Rates that missed their target are marked.",
        ]
    }

    fn absolute(&self, column: &PhaseColumn) -> Vec<Shown> {
        column.cells.iter().map(|cell| shown(cell, cell.rate)).collect()
    }

    /// A base that missed its target leaves the cells that it is the base of without ratios.
    fn relative(&self, column: &PhaseColumn) -> Vec<Shown> {
        let ratio = |cell: &PhaseCell| {
            let base = column.base(cell).filter(|base| base.missed().is_none());
            let base = base.and_then(|base| base.rate);
            if cell.missed().is_some() {
                return Shown { content: Content::Missed(None), shade: Shade::Ignored };
            }
            let ratio = cell.rate.zip(base).map(|(rate, base)| rate / base);
            match ratio.filter(|ratio| ratio.is_finite()) {
                Some(ratio) => {
                    let shade = match ratio {
                        _ if ratio < 1.0 - NEAR => Shade::Slower,
                        _ if ratio > 1.0 + NEAR => Shade::Faster,
                        _ => Shade::Plain,
                    };
                    Shown { content: Content::Ratio(ratio), shade }
                }
                None => Shown::nothing(cell),
            }
        };
        column.cells.iter().map(ratio).collect()
    }

    fn inserts(&self, column: &PhaseColumn) -> Vec<Shown> {
        column.cells.iter().map(|cell| shown(cell, cell.inserted_per_second)).collect()
    }
}

fn shown(cell: &PhaseCell, rate: Option<f64>) -> Shown {
    match (cell.missed(), rate) {
        (Some(_), _) => Shown { content: Content::Missed(rate), shade: Shade::Ignored },
        (None, Some(rate)) => Shown::plain(Content::Rate(rate)),
        (None, None) => Shown::nothing(cell),
    }
}
