//! Values that two files print differently.

use crate::{Fault, Value, Warning, assemble::Kept, number};
use model::number::counted;
use std::collections::BTreeMap;

/// Contradictions of one pair of files that are reported one by one.
const SINGLE_MAX: u64 = 3;

/// Contradictions by the file that is not kept and the file that is.
#[derive(Default)]
pub(crate) struct Contradictions {
    pairs: BTreeMap<(String, String), Pair>,
}

#[derive(Default)]
struct Pair {
    count: u64,
    first: Vec<Fault>,
}

impl Contradictions {
    /// Keeps that `other` is not `first`, which counts.
    pub(crate) fn add(&mut self, first: &Kept, other: &Kept) {
        let pair = self.pairs.entry((other.file.clone(), first.file.clone())).or_default();
        pair.count += 1;
        if pair.count > SINGLE_MAX {
            return;
        }
        let (here, there) = (shown(&other.value), shown(&first.value));
        let place = format!("`{}`:{}", first.file, first.value.line);
        let metric = &other.value.metric;
        let reason = format!("`{metric}` is {here} here and {there} in {place}, which is kept");
        pair.first.push(Fault::new(other.value.line, reason));
    }

    /// A warning each, or one for all of a pair of files that contradict each other often.
    pub(crate) fn warn(self, warnings: &mut Vec<Warning>) {
        for ((file, kept), Pair { count, first }) in self.pairs {
            if count <= SINGLE_MAX {
                warnings.extend(first.into_iter().map(|fault| Warning::new(&file, fault)));
            } else if let Some(Fault { line, reason }) = first.into_iter().next() {
                let count = counted(count, "value");
                let reason =
                    format!("{count} with another number than in `{kept}`; the first: {reason}");
                warnings.push(Warning::new(&file, Fault::new(line, reason)));
            }
        }
    }
}

/// Whether two values are the same one, as far as they are printed.
pub(crate) fn same(first: &Value, second: &Value) -> bool {
    if first.text.is_empty() || second.text.is_empty() {
        let scale = first.value.abs().max(second.value.abs());
        let printed = [first, second].map(printed_step).into_iter().fold(0.0, f64::max);
        return (first.value - second.value).abs() <= printed.max(scale * 1e-3);
    }
    let scan = first.cell.is_scan() && first.metric == "ops_per_second";
    number::agree(&first.text, &second.text)
        || scan && number::agree_in_scale(&first.text, &second.text)
}

/// Half of the last printed digit, in the unit of the value; 0 for what was computed.
fn printed_step(value: &Value) -> f64 {
    let printed = number::parse(&value.text).filter(|printed| *printed != 0.0);
    let factor = printed.map_or(1.0, |printed| value.value / printed);
    if value.text.is_empty() {
        0.0
    } else {
        number::half_step(&value.text) * factor.abs() * 1.000_001
    }
}

fn shown(value: &Value) -> String {
    match value.text.as_str() {
        "" => format!("{:.6}", value.value),
        text => text.to_owned(),
    }
}
