//! The answer in one sentence per variant: numbers first, then how far they can be trusted.

use crate::{
    number, status,
    words::{self, THROUGHPUT},
};
use analysis::{Comparison, FEWEST_BLOCKS, Overall, Verdict};
use model::number::counted;

/// Metrics of the answer with their words; of each row the first that a variant has.
const METRICS: [&[(&str, &str)]; 3] = [
    &[(THROUGHPUT, "throughput")],
    &[
        ("foreground_user_instructions_per_op", "instructions"),
        ("server_user_instructions_per_op", "instructions"),
    ],
    &[
        ("server_cpu_us_per_op", "CPU time"),
        ("host_cpu_us_per_op", "CPU time of the host"),
        ("host_cpu_percent_per_op", "CPU time of the host"),
    ],
];

/// What tables call a variant, and what its sentence calls it.
pub(crate) struct Label {
    /// Title of its columns and rows: its name, or a number.
    pub(crate) short: String,
    /// The name, behind the number if there is one.
    pub(crate) full: String,
}

/// The sentences of some variants; `labels` are those of all. Where variants are numbered, each
/// base is named once above its variants, and every number is explained.
pub(crate) fn answers(
    comparison: &Comparison,
    labels: &[Label],
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let listed = labels.iter().any(|label| label.short != label.full.trim_matches('`'));
    let mut said = Vec::new();
    let mut above: Option<String> = None;
    let full = |subject: &str| {
        let index = comparison.subjects.iter().position(|known| known == subject);
        index.and_then(|index| labels.get(index)).map_or("", |label| label.full.as_str())
    };
    let all = comparison.subjects.iter().zip(labels);
    for (subject, label) in all.filter(|(subject, _)| wanted(subject)) {
        let is_base = comparison.bases.contains(subject);
        let broken = status::broken(comparison, subject);
        let overall = comparison.overall(subject, THROUGHPUT);
        let base = overall.as_ref().map(|overall| full(&overall.base).to_owned());
        match (overall, base) {
            (Some(throughput), Some(base)) => {
                if listed && above.as_ref() != Some(&base) {
                    said.push(format!(
                        "Compared with {base}, geometric means over all phases (smallest to \
                         largest phase), costs per operation:"
                    ));
                    above = Some(base.clone());
                }
                let parts = parts(comparison, subject, &throughput);
                let tail = match (listed, comparison.counted().len()) {
                    (true, all) if all == throughput.phases => ".".to_owned(),
                    (true, all) => format!("; {} of {all} phases.", throughput.phases),
                    (false, all) => {
                        let phases = counted(all, "phase");
                        format!("; geometric mean of {} of {phases}.", throughput.phases)
                    }
                };
                let against = if listed { String::new() } else { format!(" compared with {base}") };
                said.push(format!("{}{against}: {parts}{tail}", label.full));
            }
            _ if !broken.is_empty() => {
                said.push(format!("{} {broken}: nothing of that can be compared.", label.full));
                continue;
            }
            _ if is_base && listed && !has_variants(comparison, subject) => {
                said.push(format!("{} is a base without variants.", label.full));
            }
            _ if !is_base => said.push(format!("{} has no phase to compare.", label.full)),
            _ => {}
        }
        if !broken.is_empty() {
            said.push(format!("{} {broken}.", label.full));
        }
    }
    said
}

/// Whether a sentence of a variant names this base.
fn has_variants(comparison: &Comparison, base: &str) -> bool {
    let named = |subject: &String| {
        let overall = comparison.overall(subject, THROUGHPUT);
        overall.is_some_and(|overall| overall.base.as_str() == base)
    };
    comparison.subjects.iter().any(named)
}

/// What changed first, then what did not, then what is inconclusive.
fn parts(comparison: &Comparison, subject: &str, throughput: &Overall) -> String {
    let costs = METRICS.iter().skip(1).filter_map(|row| {
        row.iter().find_map(|(metric, what)| Some((comparison.overall(subject, metric)?, *what)))
    });
    let all = std::iter::once((throughput.clone(), METRICS[0][0].1)).chain(costs);
    let mut parts: Vec<(u8, String)> = all.map(|(overall, what)| part(&overall, what)).collect();
    parts.sort_by_key(|(rank, _)| *rank);
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("; ")
}

/// One metric, and its place among the others.
fn part(overall: &Overall, what: &str) -> (u8, String) {
    let ratio = number::ratio(overall.ratio);
    let (low, high) = (number::ratio(overall.range.0), number::ratio(overall.range.1));
    let range = (low != high).then(|| format!("phases {low}x to {high}x"));
    match (overall.verdict, overall.p) {
        (Verdict::Inconclusive, _) if overall.blocks < FEWEST_BLOCKS => {
            let blocks = counted(overall.blocks, "block");
            (2, format!("{what} {ratio}x, not judged: {blocks} of at least {FEWEST_BLOCKS}"))
        }
        (Verdict::Inconclusive, _) => {
            let interval = overall.interval.map(|ends| format!(", {}", words::interval(ends)));
            (2, format!("{what} inconclusive ({ratio}x{})", interval.unwrap_or_default()))
        }
        (Verdict::Invalid, _) => {
            (2, format!("{what} not judged, because the host was disturbed ({ratio}x)"))
        }
        (Verdict::Equivalent, _) => (1, format!("{ratio}x {what} (equivalent)")),
        (Verdict::SmallChange, _) => (1, format!("{ratio}x {what} (a small change)")),
        (Verdict::Unreplicated | Verdict::Unassessed, _) | (_, None) => {
            let range = range.map(|range| format!(" ({range})")).unwrap_or_default();
            (0, format!("{ratio}x {what}{range}"))
        }
        (_, Some(p)) => {
            let chance = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
            let range = range.map(|range| format!(", {range}")).unwrap_or_default();
            (0, format!("{ratio}x {what} ({chance}{range})"))
        }
    }
}
