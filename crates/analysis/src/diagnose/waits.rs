//! The server's tasks sleep and wake more or less often.

use super::{OTHERS, Rule, finding};
use crate::evidence::{Evidence, Finding};
use model::metric::Part;

pub(super) struct Waits;

const OF_SERVER: &str = "context_switches_per_op";
const OF_HOST: &str = "host_context_switches_per_op";

/// Context switches per operation below which they cannot explain an operation's time.
const FLOOR: f64 = 0.02;

impl Rule for Waits {
    fn name(&self) -> &'static str {
        "waits"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        // Those of the host are the load engine's too.
        let known = if evidence.cost(OF_SERVER).is_some() { OF_SERVER } else { OF_HOST };
        let mut found = evidence.moved_with_effect(&[known], OTHERS);
        found.retain(|cost| cost.base.max(cost.value) >= FLOOR);
        finding(self, found, |first| {
            let how = evidence.word("more", "less");
            let who = if first.metric.part == Part::Host { "the host" } else { "the server" };
            format!(
                "Tasks of {who} switch {how} often, {:.2}x the base's: waiting for locks, storage \
                 or the client.",
                first.ratio
            )
        })
    }

    fn ruled_out(&self, evidence: &Evidence<'_>) -> Option<String> {
        if evidence.is_rare(OF_SERVER, FLOOR) {
            return Some(format!("waits (fewer than {FLOOR} context switches per operation)"));
        }
        let stayed = evidence.unmoved(&[OF_SERVER], OTHERS)?;
        Some(format!("waits ({:.2}x the base's context switches)", stayed.ratio))
    }
}
