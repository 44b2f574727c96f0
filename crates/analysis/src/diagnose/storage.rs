//! Each operation reads or writes more or less.

use super::{OTHERS, Rule, rates};
use crate::evidence::{Evidence, Finding, Moved};

pub(super) const RULE: Rule = Rule { name: "storage", explains: rates, finding, ruled_out };

/// Requests and KiB per operation below which they cannot explain an operation's time.
const REQUESTS: f64 = 0.02;
const KIB: f64 = 0.5;

const METRICS: [&str; 4] = ["reads_per_op", "read_kib_per_op", "writes_per_op", "write_kib_per_op"];

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    let mut found = evidence.moved_with_effect(&METRICS, OTHERS);
    found.retain(|cost| cost.base.max(cost.value) >= floor(cost.metric.name));
    super::finding(&RULE, found, |first| match first.base < floor(first.metric.name) {
        true => format!(
            "Each operation causes {:.2} {}, those of the base hardly any.",
            first.value,
            words(first)
        ),
        false => {
            format!("Each operation causes {:.2}x the base's {}.", first.ratio, words(first))
        }
    })
}

fn ruled_out(evidence: &Evidence<'_>) -> Option<String> {
    if METRICS.iter().all(|metric| evidence.is_rare(metric, floor(metric))) {
        return Some(format!("storage (fewer than {REQUESTS} requests per operation)"));
    }
    let stayed = evidence.unmoved(&METRICS, OTHERS)?;
    Some(format!("storage ({:.2}x the base's {})", stayed.ratio, words(&stayed)))
}

fn floor(metric: &str) -> f64 {
    if metric.contains("_kib_") { KIB } else { REQUESTS }
}

fn words(cost: &Moved) -> &'static str {
    match cost.metric.name {
        "reads_per_op" => "reads from storage",
        "read_kib_per_op" => "KiB read",
        "writes_per_op" => "writes to storage",
        _ => "KiB written",
    }
}
