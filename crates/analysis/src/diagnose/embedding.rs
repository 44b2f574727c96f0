//! One of both works inside the client's process, and the other is a server.

use super::{Rule, rates};
use crate::evidence::{Evidence, Finding, strength};

pub(super) const RULE: Rule =
    Rule { name: "embedding", explains: rates, finding, ruled_out: |_| None };

/// What the way to a server and back costs an operation, beside the server's own work.
const WAY: [&str; 2] = ["client_cpu_us_per_op", "context_switches_per_op"];

const SERVER_CPU: &str = "server_cpu_us_per_op";

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    let (base, subject) = evidence.embedded();
    let change = evidence.time_change()?;
    // What has no server is faster by the way to it, not slower.
    if base == subject || base != (change > 0.0) {
        return None;
    }
    let costs: Vec<_> = WAY.iter().filter_map(|metric| evidence.pair(metric)).collect();
    // That of a server elsewhere may be unknown.
    let cpu = evidence.pair(SERVER_CPU)?;
    let cpu = cpu.value - cpu.base;
    // Several tasks may use more CPU time than an operation takes, and a server less than the
    // engine: then it is no part of the change.
    let is_part = cpu * change >= 0.0 && cpu.abs() <= change.abs();
    let listed: Vec<String> = costs
        .iter()
        .map(|cost| {
            let what = cost.metric.title.replace("cpu", "CPU");
            format!("{what} {:.2} and {:.2}", cost.base, cost.value)
        })
        .collect();
    let listed = match listed.is_empty() {
        true => String::new(),
        false => format!(" ({})", listed.join(", ")),
    };
    let who = if base { "The base" } else { "The variant" };
    let how = evidence.word("longer", "less");
    let (way, time, used) = ((change - cpu).abs(), change.abs(), cpu.abs());
    let parts = if is_part {
        format!(
            "Of {time:.1} us that an operation takes {how}, {used:.1} us are CPU time of the \
             engine, and {way:.1} us the way to a server and back{listed}."
        )
    } else {
        let more = if cpu > 0.0 { "more" } else { "less" };
        let way = if base { "comes on top" } else { "falls away" };
        format!(
            "An operation takes {time:.1} us {how} and {used:.1} us {more} CPU time of the \
             engine; the way to a server and back {way}{listed}."
        )
    };
    Some(Finding {
        rule: RULE.name,
        sentence: format!("{who} is embedded in the client. {parts}"),
        strength: costs.first().map_or(0.0, strength),
        // The sentence accounts for all of it.
        share: Some(1.0),
        vague: false,
        evidence: costs,
    })
}
