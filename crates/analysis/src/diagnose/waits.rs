//! The server's tasks wait more or less: for what, where that was seen, else by how often they
//! sleep and wake.

use super::{FLOOR, OTHERS, Rule, SWITCHES, rates};
use crate::evidence::{Evidence, Finding, Moved};
use model::metric::Part;

pub(super) const RULE: Rule = Rule { name: "waits", explains: rates, finding, ruled_out };

/// Waits of serving tasks, and what they are for. Waits for a CPU are none of them: where client
/// and server share one, these are the client's work.
const REASONS: [(&str, &str); 5] = [
    ("foreground_task_wait_us_per_op", "for other tasks (locks, or work handed to them)"),
    ("foreground_sync_wait_us_per_op", "for storage (syncs)"),
    ("foreground_read_wait_us_per_op", "for storage (reads)"),
    ("foreground_write_wait_us_per_op", "for storage (writes)"),
    ("foreground_other_wait_us_per_op", "in sleeps and page faults"),
];

/// Least share of a change of time that explains it, and largest one of all waits that rules them
/// out.
const SHARE: f64 = 0.2;
const NO_SHARE: f64 = 0.05;

const OF_HOST: &str = "host_context_switches_per_op";

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    by_reason(evidence).or_else(|| by_switches(evidence))
}

fn ruled_out(evidence: &Evidence<'_>) -> Option<String> {
    if evidence.is_rare(SWITCHES, FLOOR) {
        return Some(format!("waits (fewer than {FLOOR} context switches per operation)"));
    }
    let known: Option<Vec<Moved>> =
        REASONS.iter().map(|(metric, _)| evidence.pair(metric)).collect();
    if let (Some(known), Some(change)) = (known, evidence.time_change()) {
        // One that grew does not make up for one that shrank: either may be chance.
        let waits: f64 = known.iter().map(|wait| evidence.added(wait).abs()).sum();
        let change = change.abs();
        if waits < NO_SHARE * change {
            return Some(format!("waits of serving tasks ({waits:.1} of {change:.1} us)"));
        }
    }
    let stayed = evidence.unmoved(&[SWITCHES], OTHERS)?;
    Some(format!("waits ({:.2}x the base's context switches)", stayed.ratio))
}

/// What of the time that an operation takes more, or saves, is a wait.
fn by_reason(evidence: &Evidence<'_>) -> Option<Finding> {
    let change = evidence.time_change()?;
    let share = |wait: &Moved| evidence.added(wait) / change;
    let seen = REASONS.iter().filter_map(|(metric, words)| {
        let wait = evidence.pair(metric).filter(|wait| share(wait) >= SHARE)?;
        evidence.is_no_chance(metric).then_some((wait, *words))
    });
    let mut seen: Vec<(Moved, &str)> = seen.collect();
    seen.sort_by(|(a, _), (b, _)| share(b).total_cmp(&share(a)));
    let how = evidence.word("longer", "less");
    let parts: Vec<String> = seen
        .iter()
        .map(|(wait, words)| format!("{:.1} us {how} {words}", evidence.added(wait).abs()))
        .collect();
    let explained = seen.iter().map(|(wait, _)| share(wait)).sum();
    let costs = seen.into_iter().map(|(wait, _)| wait).collect();
    let found = super::finding(&RULE, costs, |_| {
        format!(
            "Of {:.1} us that an operation takes {how}, serving tasks wait {}.",
            change.abs(),
            parts.join(", ")
        )
    });
    Some(Finding { share: Some(explained), ..found? })
}

fn by_switches(evidence: &Evidence<'_>) -> Option<Finding> {
    // Those of the host are the load engine's too.
    let known = if evidence.cost(SWITCHES).is_some() { SWITCHES } else { OF_HOST };
    let mut found = evidence.moved_with_effect(&[known], OTHERS);
    found.retain(|cost| cost.base.max(cost.value) >= FLOOR);
    let found = super::finding(&RULE, found, |first| {
        let how = evidence.word("more", "less");
        let who = if first.metric.part == Part::Host { "the host" } else { "the server" };
        let ratio = match first.ratio.is_finite() {
            true => format!("{:.2}x the base's", first.ratio),
            false => "the base's never".to_owned(),
        };
        format!(
            "Tasks of {who} switch {how} often, {ratio}: waiting for locks, storage or the client."
        )
    });
    Some(Finding { vague: true, ..found? })
}
