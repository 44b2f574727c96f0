//! How a cell looks: colors by ratio, symbols by verdict, and kinds that look like none of them.

use crate::{
    grid::{Kind, Value},
    layout, number,
    words::{self, Standing},
};
use model::metric::{Better, Metric};

/// Gains from which each of the six steps of color begins.
pub(super) const STEPS: [f64; 6] = [1.02, 1.05, 1.10, 1.25, 1.5, 2.0];

/// Hairlines go from here to its reciprocal.
const HAIR: f64 = 2.0;

/// Classes of a ratio: the diverging scale and the published colors; nothing if direction means
/// nothing.
pub(super) fn heat(ratio: f64, better: Better) -> String {
    let gain = match better {
        Better::Neither => return String::new(),
        Better::Higher => ratio,
        Better::Lower => 1.0 / ratio,
    };
    // A cost that vanished is the largest gain, a throughput of nothing the largest loss.
    let (side, size) = match gain {
        _ if gain.is_nan() => return String::new(),
        _ if gain >= 1.0 => ('b', gain),
        _ => ('w', 1.0 / gain),
    };
    let step = STEPS.iter().filter(|step| size >= **step).count();
    let diverging = if step == 0 { String::new() } else { format!("{side}{step}") };
    let published = match (gain * 100.0).round() {
        percent if percent > 105.0 => " pb",
        percent if percent < 95.0 => " py",
        _ => "",
    };
    format!("{diverging}{published}").trim_start().to_owned()
}

/// The same of a ratio with the sign of its verdict: what is not decided has no color of a change.
pub(super) fn judged_heat(ratio: f64, sign: &str, better: Better) -> String {
    if words::is_open(sign) { String::new() } else { heat(ratio, better) }
}

/// What a cell of the grid says when ratios are asked for.
pub(super) fn words(value: &Value) -> String {
    match (value.kind, value.ratio, value.value) {
        (Kind::Failed, ..) => "failed".to_owned(),
        (Kind::Base, _, Some(number)) => number::value(number),
        (Kind::Ratio, Some(ratio), _) => number::ratio(ratio),
        (Kind::Invalid, ..) => "no ratio".to_owned(),
        (Kind::Missed, ..) => "missed".to_owned(),
        _ => "–".to_owned(),
    }
}

/// The classes of a cell.
pub(super) fn classes(value: &Value, better: Better) -> String {
    match (value.kind, value.ratio) {
        (Kind::Ratio, Some(ratio)) => {
            let span = if hairline(value).is_some() { "span " } else { "" };
            let heat = judged_heat(ratio, value.verdict.map_or("", words::symbol), better);
            format!("{span}{heat}").trim_end().to_owned()
        }
        (kind, _) => kind.name().to_owned(),
    }
}

/// The ends of the hairline in percent of a cell, if the ratio has an interval.
pub(super) fn hairline(value: &Value) -> Option<String> {
    // An interval that is wholly beyond the ends cannot be drawn, and color says enough there.
    let (low, high) = value.interval.filter(|(low, high)| *low < HAIR && *high > 1.0 / HAIR)?;
    let place = |ratio: f64| {
        let place = if ratio > 0.0 { 0.5 + ratio.ln() / HAIR.ln() / 2.0 } else { 0.0 };
        (place.clamp(0.0, 1.0) * 100.0).round()
    };
    Some(format!("--l:{}%;--r:{}%", place(low).min(98.0), (100.0 - place(high)).min(98.0)))
}

/// How the cell stands to its base, for the filter.
pub(super) fn standing(value: &Value, metric: &Metric, margin: f64) -> &'static str {
    match value.kind {
        Kind::Base => "",
        Kind::Ratio => Standing::of(value.ratio, value.verdict, metric, margin).name(),
        _ => Standing::Nothing.name(),
    }
}

/// What is said of a cell to those who cannot hover: the ratio's interval and its marks. What a
/// footnote tells is left to that.
pub(super) fn aside(value: &Value) -> String {
    let mut parts = found(value);
    if matches!(value.kind, Kind::Base | Kind::Ratio) && !value.note.is_empty() {
        parts.push(value.note.clone());
    }
    if parts.is_empty() {
        return String::new();
    }
    layout::text(&crate::document::TableCell::Text(format!(" ({})", parts.join("; "))))
}

/// The interval and the verdict in words, as far as there are any.
fn found(value: &Value) -> Vec<String> {
    let verdict = value.verdict.filter(|verdict| verdict.is_assessed());
    let verdict = verdict.map(|verdict| verdict.name().replace('_', " "));
    value.interval.map(words::interval).into_iter().chain(verdict).collect()
}

/// What is said of a cell on hover.
pub(super) fn title(value: &Value, unit: &str) -> String {
    let number = value.value.map(|number| format!("{} {unit}", number::value(number)));
    let mut parts: Vec<String> = number.into_iter().chain(found(value)).collect();
    if !value.note.is_empty() {
        parts.push(value.note.clone());
    }
    layout::text(&crate::document::TableCell::Text(parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Verdict;

    #[test]
    fn colours_are_neutral_around_one_and_turn_with_the_direction() {
        let check = |ratio: f64, better: Better, expected: &str| {
            assert_eq!(heat(ratio, better), expected, "{ratio} {better:?}");
        };
        let (higher, lower) = (Better::Higher, Better::Lower);
        check(1.0, higher, "");
        check(1.019, higher, "");
        check(1.02, higher, "b1");
        check(0.98, higher, "w1");
        check(0.94, higher, "w2 py");
        check(1.06, higher, "b2 pb");
        check(1.054, higher, "b2");
        check(2.5, higher, "b6 pb");
        check(0.3, higher, "w6 py");
        check(1.6, lower, "w5 py");
        check(0.0, lower, "b6 pb");
        check(0.0, higher, "w6 py");
        check(1.6, Better::Neither, "");
        check(f64::NAN, higher, "");
    }

    #[test]
    fn kinds_of_cells_look_different() {
        let value = |kind, ratio, number| Value { kind, ratio, value: number, ..Value::default() };
        let cases = [
            (value(Kind::Base, None, Some(1000.0)), "1000", "base"),
            (value(Kind::Ratio, Some(0.914), Some(1.0)), "0.91", "w2 py"),
            (value(Kind::Failed, None, None), "failed", "failed"),
            (value(Kind::Invalid, None, Some(3.0)), "no ratio", "invalid"),
            (value(Kind::Missed, None, Some(3.0)), "missed", "missed"),
            (value(Kind::Missing, None, None), "–", "missing"),
        ];
        for (value, said, class) in cases {
            assert_eq!(
                (words(&value).as_str(), classes(&value, Better::Higher).as_str()),
                (said, class)
            );
            assert_eq!(hairline(&value), None);
        }
        let open = value(Kind::Ratio, Some(1.5), Some(1.0));
        let open = Value { verdict: Some(Verdict::Inconclusive), ..open };
        assert_eq!(classes(&open, Better::Higher), "");
        let span = Value { interval: Some((0.5, 2.0)), ..value(Kind::Ratio, Some(1.0), Some(1.0)) };
        assert_eq!(hairline(&span).as_deref(), Some("--l:0%;--r:0%"));
        assert_eq!(classes(&span, Better::Higher), "span");
    }
}
