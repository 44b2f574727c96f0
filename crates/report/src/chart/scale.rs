//! From values to places on an axis, and the marks of the axis.

use super::Scale;
use crate::number;

/// Marks of ratios beside 1; their reciprocals are marks too.
const RATIOS: [f64; 13] =
    [1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0, 10_000.0];

/// The words of the marks above and below 1.
const RATIO_WORDS: [(&str, &str); 13] = [
    ("1.02", "0.98"),
    ("1.05", "0.95"),
    ("1.1", "0.91"),
    ("1.25", "0.8"),
    ("1.5", "0.67"),
    ("2", "0.5"),
    ("3", "0.33"),
    ("5", "0.2"),
    ("10", "0.1"),
    ("30", "0.033"),
    ("100", "0.01"),
    ("1000", "0.001"),
    ("10000", "1e-4"),
];

/// Shares that the axis of nines marks.
const NINES: [(f64, &str); 8] = [
    (0.0, "0 %"),
    (std::f64::consts::LOG10_2, "50 %"),
    (1.0, "90 %"),
    (2.0, "99 %"),
    (3.0, "99.9 %"),
    (4.0, "99.99 %"),
    (5.0, "99.999 %"),
    (6.0, "99.9999 %"),
];

/// A mark: its place from 0 to 1, and its words.
pub(super) type Mark = (f64, String);

/// The marks of an axis of bars, at most ten.
pub(super) fn even(from: f64, to: f64) -> Vec<f64> {
    let step = [0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0];
    let step = step.into_iter().find(|step| (to - from) / step <= 9.0).unwrap_or(to - from);
    let first = (from / step).ceil() as usize;
    (first..).map(|n| n as f64 * step).take_while(|value| *value <= to).collect()
}

/// A logarithmic axis centered at 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct RatioScale {
    /// The logarithm at its right end.
    end: f64,
}

impl RatioScale {
    /// The shortest scale that holds all ratios.
    pub(super) fn over(ratios: impl Iterator<Item = f64>) -> Self {
        let largest = ratios
            .filter(|ratio| *ratio > 0.0 && ratio.is_finite())
            .map(|ratio| ratio.ln().abs())
            .fold(0.0, f64::max);
        let room = |ratio: &&f64| ratio.ln() >= largest;
        let end = RATIOS[2..].iter().find(room).copied().unwrap_or(RATIOS[12]).ln();
        Self { end: end.max(largest) * 1.04 }
    }

    /// The place of a ratio, from 0 to 1.
    pub(super) fn place(&self, ratio: f64) -> f64 {
        if ratio <= 0.0 {
            return 0.0;
        }
        (0.5 + ratio.ln() / self.end / 2.0).clamp(0.0, 1.0)
    }

    /// The marks from left to right: few enough to be read.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let inside = || RATIOS.iter().zip(RATIO_WORDS).filter(|(r, _)| r.ln() <= self.end);
        let least = self.end / 8.0;
        let mut last = 0.0;
        let mut kept = Vec::new();
        for (ratio, words) in inside() {
            if ratio.ln() - last >= least {
                last = ratio.ln();
                kept.push((*ratio, words));
            }
        }
        let below = kept.iter().rev().map(|(r, (_, word))| (self.place(1.0 / r), *word));
        let above = kept.iter().map(|(r, (word, _))| (self.place(*r), *word));
        let all = below.chain([(0.5, "1")]).chain(above);
        all.map(|(place, word)| (place, word.to_owned())).collect()
    }
}

/// Range of an axis with its marks.
#[derive(Debug, Clone)]
pub(super) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
    /// Marks in order.
    pub(super) marks: Vec<Mark>,
}

impl Range {
    /// The range of an axis that holds all values.
    pub(super) fn over(scale: Scale, values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let positive = || finite().filter(|value| *value > 0.0);
        let high = finite().fold(0.0, f64::max);
        match scale {
            Scale::Zero => zero(high),
            Scale::Near => near(finite().fold(f64::INFINITY, f64::min), high),
            Scale::Log2 => log2(positive().collect()),
            Scale::Log10 => log10(positive().fold(f64::INFINITY, f64::min), high),
            Scale::Nines => nines(high),
            Scale::Names => Self::with(Scale::Names, (0.0, high.max(1.0)), Vec::new()),
        }
    }

    /// Whether a value has a place: 0 has none among logarithms.
    pub(super) fn has_place(&self, value: f64) -> bool {
        !matches!(self.scale, Scale::Log2 | Scale::Log10) || value > 0.0
    }

    /// The place of a value, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let moved = match self.scale {
            Scale::Zero | Scale::Near | Scale::Nines | Scale::Names => value,
            Scale::Log2 | Scale::Log10 if value <= 0.0 => self.low,
            Scale::Log2 | Scale::Log10 => value.log10(),
        };
        let width = self.high - self.low;
        if width > 0.0 { ((moved - self.low) / width).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The same with names at 0, 1, 2 …: as many as there is room for, each at most `room` of the
    /// whole wide.
    pub(super) fn named(mut self, names: &[String], room: f64) -> Self {
        let fit = ((1.0 / room.clamp(0.05, 0.5)).floor() as usize).clamp(2, names.len().max(2));
        let last = names.len().saturating_sub(1);
        // Lines may end before the last name.
        self.high = self.high.max(last as f64);
        let mut chosen: Vec<usize> =
            (0..fit).map(|n| (n * last + (fit - 1) / 2) / (fit - 1)).collect();
        chosen.dedup();
        let mark = |index: usize| (self.place(index as f64), names[index].clone());
        let marks = chosen.into_iter().filter(|index| *index < names.len()).map(mark).collect();
        self.marks = marks;
        self
    }

    fn with(scale: Scale, (low, high): (f64, f64), marks: Vec<(f64, String)>) -> Self {
        let mut range = Self { scale, low, high, marks: Vec::new() };
        range.marks = marks.into_iter().map(|(value, word)| (range.place(value), word)).collect();
        range
    }
}

/// Marks in steps of 1, 2 or 5 from 0 on; the last one is at or above the highest value.
fn zero(high: f64) -> Range {
    let high = if high > 0.0 { high } else { 1.0 };
    let power = 10_f64.powf((high / 4.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| high / step <= 4.5).unwrap_or(high);
    let count = (high / step - 1e-9).ceil() as usize;
    let marks = (0..=count).map(|n| (n as f64 * step, number::short(n as f64 * step)));
    Range::with(Scale::Zero, (0.0, count as f64 * step), marks.collect())
}

/// Marks in steps of 1, 2 or 5 around values whose spread matters more than their distance to 0.
fn near(low: f64, high: f64) -> Range {
    if !low.is_finite() || high <= 0.0 {
        return zero(0.0);
    }
    // Equal values, and noise of less than a percent, lie in the middle.
    let room = ((high - low) * 0.1).max(high * 0.005);
    let (low, high) = ((low - room).max(0.0), high + room);
    let power = 10_f64.powf(((high - low) / 4.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| (high - low) / step <= 4.5).unwrap_or(high - low);
    let first = (low / step).ceil() as usize;
    let marks = (first..).map(|n| n as f64 * step).take_while(|mark| *mark <= high);
    let marks = marks.map(|mark| (mark, precise(mark, step))).collect();
    Range::with(Scale::Near, (low, high), marks)
}

/// A mark that differs from its neighbors, which are a step away.
fn precise(mark: f64, step: f64) -> String {
    let (scale, ending) = match mark {
        _ if mark >= 1e9 => (1e9, "G"),
        _ if mark >= 1e6 => (1e6, "M"),
        _ if mark >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = (-(step / scale).log10()).ceil().clamp(0.0, 9.0) as usize;
    format!("{:.digits$}{ending}", mark / scale)
}

fn log2(mut values: Vec<f64>) -> Range {
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (Some(low), Some(high)) = (values.first(), values.last()) else { return zero(0.0) };
    let (low, high) = (low.log10(), high.log10());
    // Room at both ends, so that no point lies on the frame.
    let room = ((high - low) * 0.04).max(0.05);
    let marks = values.iter().map(|value| (*value, number::short(*value)));
    let mut range = Range::with(Scale::Log2, (low - room, high + room), marks.collect());
    let mut last = f64::NEG_INFINITY;
    range.marks.retain(|(place, _)| {
        let has_room = place - last >= APART;
        last = if has_room { *place } else { last };
        has_room
    });
    range
}

/// Room of a mark of users, as a part of the axis.
const APART: f64 = 0.05;

fn log10(low: f64, high: f64) -> Range {
    if high <= 0.0 || !low.is_finite() {
        return zero(0.0);
    }
    let (first, last) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let factors: &[f64] = if last - first <= 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut marks = Vec::new();
    let mut power = first;
    while power <= last {
        marks.extend(factors.iter().map(|factor| factor * 10_f64.powf(power)));
        power += 1.0;
    }
    // Begin and end at the marks around the values, not at the decades.
    let start = marks.iter().copied().filter(|m| *m <= low * 1.0001).fold(0.0, f64::max);
    let end = marks.iter().copied().filter(|m| *m >= high * 0.9999).fold(f64::INFINITY, f64::min);
    let (start, end) = (start.max(10_f64.powf(first)), end.min(10_f64.powf(last)));
    marks.retain(|mark| *mark >= start * 0.999 && *mark <= end * 1.001);
    let marks = marks.into_iter().map(|mark| (mark, number::short(mark))).collect();
    Range::with(Scale::Log10, (start.log10(), end.log10()), marks)
}

fn nines(high: f64) -> Range {
    let high = high.max(1.0);
    let marks = NINES.iter().filter(|(value, _)| *value <= high);
    let marks = marks.map(|(value, word)| (*value, (*word).to_owned())).collect();
    Range::with(Scale::Nines, (0.0, high), marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(marks: &[Mark]) -> Vec<&str> {
        marks.iter().map(|(_, word)| word.as_str()).collect()
    }

    #[test]
    fn ratios_lie_around_the_middle() {
        let scale = RatioScale::over([0.55, 1.4].into_iter());
        assert_eq!(scale.place(1.0), 0.5);
        for (ratio, (_, below)) in RATIOS.iter().zip(RATIO_WORDS) {
            assert!((below.parse::<f64>().unwrap() * ratio - 1.0).abs() < 0.011, "{below}");
        }
        assert!((scale.place(2.0) + scale.place(0.5) - 1.0).abs() < 1e-12);
        let expected = ["0.5", "0.67", "0.8", "0.91", "1", "1.1", "1.25", "1.5", "2"];
        assert_eq!(words(&scale.marks()), expected);
        let narrow = RatioScale::over([1.01].into_iter());
        assert_eq!(words(&narrow.marks()), ["0.91", "0.95", "0.98", "1", "1.02", "1.05", "1.1"]);
        let wide = RatioScale::over([700.0, 0.0, f64::NAN].into_iter());
        assert!(wide.marks().len() <= 15, "{:?}", wide.marks());
        assert_eq!((wide.place(0.0), wide.place(1e9)), (0.0, 1.0));
    }

    #[test]
    fn marks_of_axes() {
        let check = |scale: Scale, values: &[f64], expected: &[&str]| {
            let range = Range::over(scale, values);
            assert_eq!(words(&range.marks), expected, "{values:?}");
            assert!(range.marks.iter().all(|(place, _)| (0.0..=1.0).contains(place)));
        };
        check(Scale::Zero, &[93_697.0], &["0", "50k", "100k"]);
        check(Scale::Zero, &[3.2], &["0", "1", "2", "3", "4"]);
        check(Scale::Zero, &[], &["0", "0.5", "1"]);
        check(Scale::Near, &[43_600.0, 44_700.0], &["43.5k", "44.0k", "44.5k"]);
        check(Scale::Near, &[1.02, 1.05], &["1.02", "1.03", "1.04", "1.05"]);
        check(Scale::Near, &[], &["0", "0.5", "1"]);
        check(Scale::Log2, &[1.0, 4.0, 40.0, 4.0], &["1", "4", "40"]);
        check(Scale::Log10, &[12.0, 45.0], &["10", "20", "50"]);
        check(Scale::Log10, &[3.0, 90_000.0], &["1", "10", "100", "1000", "10k", "100k"]);
        check(Scale::Log10, &[0.0], &["0", "0.5", "1"]);
        check(Scale::Names, &[3.0], &[]);
        let names = ["5.6", "5.7", "8.0", "8.4", "9.5"].map(str::to_owned);
        let named = |room| Range::over(Scale::Names, &[0.0, 4.0]).named(&names, room).marks;
        assert_eq!(words(&named(0.34)), ["5.6", "9.5"]);
        assert_eq!(words(&named(0.3)), ["5.6", "8.0", "9.5"]);
        assert_eq!(words(&named(0.1)), ["5.6", "5.7", "8.0", "8.4", "9.5"]);
        assert_eq!(Range::over(Scale::Names, &[]).named(&[], 0.1).marks, []);
        // A line that ends before the last name leaves every name its own place.
        let short = Range::over(Scale::Names, &[0.0, 1.0]).named(&names, 0.1);
        let places: Vec<f64> = short.marks.iter().map(|(place, _)| *place).collect();
        assert_eq!((places, short.place(1.0)), (vec![0.0, 0.25, 0.5, 0.75, 1.0], 0.25));
        check(Scale::Log2, &[60.0, 61.0, 62.0, 64.0, 128.0], &["60", "64", "128"]);
        check(Scale::Nines, &[3.3], &["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
    }
}
