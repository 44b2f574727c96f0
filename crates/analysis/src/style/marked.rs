//! Our own style: a missed target is said in every table, and never as a number that compares; what
//! several blocks repeat has its interval and verdict.

use super::Style;
use crate::{
    shade::{Content, Effect, PhaseCell, PhaseColumn, Shade, Shown},
    verdict::Verdict,
};

pub(super) const STYLE: Style = Style {
    name: "marked",
    legends: [
        "Where the target insert rate was missed there is no comparable number.",
        "Without repetition: + above 1.05, − below 0.95 of the base. Where the \
         target insert rate was missed there is no ratio.",
        "Rates that missed their target are marked.",
    ],
    absolute,
    has_verdicts: true,
    relative,
    inserts,
};

/// Ratios nearer to 1 than this are not shaded where nothing is repeated.
const NEAR: f64 = 0.05;

fn absolute(column: &PhaseColumn) -> Vec<Shown> {
    column.cells.iter().map(|cell| shown(cell, cell.rate)).collect()
}

/// A base that missed its target leaves the cells that it is the base of without ratios.
fn relative(column: &PhaseColumn) -> Vec<Shown> {
    let shown = |cell: &PhaseCell| {
        let base = column.base(cell).filter(|base| base.missed().is_none());
        if cell.missed().is_some() {
            return Shown { content: Content::Missed(None), shade: Shade::Ignored };
        }
        let Some(base) = base else { return Shown::nothing(cell) };
        // Blocks and pieces are paired in an effect; of mere rates there is their quotient.
        let quotient = || cell.rate.zip(base.rate).map(|(rate, base)| rate / base);
        let ratio = cell.effect.map(|effect| effect.ratio).or_else(quotient);
        match (cell.effect, ratio.filter(|ratio| ratio.is_finite())) {
            (Some(effect), Some(_)) if effect.is_repeated() => judged(effect),
            (_, Some(ratio)) => plain(ratio),
            (_, None) => Shown::nothing(cell),
        }
    };
    column.cells.iter().map(shown).collect()
}

fn inserts(column: &PhaseColumn) -> Vec<Shown> {
    column.cells.iter().map(|cell| shown(cell, cell.inserted_per_second)).collect()
}

fn judged(effect: Effect) -> Shown {
    let shade = match effect.verdict {
        Verdict::Regression | Verdict::Worse => Shade::Slower,
        Verdict::Improvement | Verdict::Better => Shade::Faster,
        _ => Shade::Plain,
    };
    Shown { content: Content::Judged(effect), shade }
}

fn plain(ratio: f64) -> Shown {
    let shade = match ratio {
        _ if ratio < 1.0 - NEAR => Shade::Slower,
        _ if ratio > 1.0 + NEAR => Shade::Faster,
        _ => Shade::Plain,
    };
    Shown { content: Content::Ratio(ratio), shade }
}

fn shown(cell: &PhaseCell, rate: Option<f64>) -> Shown {
    match (cell.missed(), rate) {
        (Some(_), _) => Shown { content: Content::Missed(rate), shade: Shade::Ignored },
        (None, Some(rate)) => Shown::plain(Content::Rate(rate)),
        (None, None) => Shown::nothing(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_judged_is_not_shaded() {
        let effect = |verdict| Effect { ratio: 0.5, interval: None, verdict };
        let of = |verdict| {
            let own = PhaseCell { effect: Some(effect(verdict)), ..PhaseCell::default() };
            let cells = vec![PhaseCell::default(), own];
            relative(&PhaseColumn { cells, ..PhaseColumn::default() })[1]
        };
        let judged = |verdict| Content::Judged(effect(verdict));
        let check = |verdict, content, shade| assert_eq!(of(verdict), Shown { content, shade });
        check(Verdict::Invalid, judged(Verdict::Invalid), Shade::Plain);
        check(Verdict::Inconclusive, judged(Verdict::Inconclusive), Shade::Plain);
        check(Verdict::Regression, judged(Verdict::Regression), Shade::Slower);
        check(Verdict::Unreplicated, Content::Ratio(0.5), Shade::Slower);
    }
}
