//! The operation costs the same and the server's upkeep does not.

use super::{OTHERS, Rule, TIME};
use crate::evidence::{Evidence, Finding};
use model::metric::Kind;

pub(super) const RULE: Rule = Rule {
    name: "background",
    explains: |changed| matches!(changed, Kind::Rate | Kind::CpuTime),
    finding,
    ruled_out,
};

/// Costs of the background, and of what serves operations.
const PAIRS: [(&str, &str); 2] = [
    ("background_user_instructions_per_op", "foreground_user_instructions_per_op"),
    ("background_cpu_us_per_op", "foreground_cpu_us_per_op"),
];

/// The share of the server's cost below which the background cannot explain anything.
const SHARE: f64 = 0.05;

const CPU: &str = "background_cpu_us_per_op";
const SERVER_CPU: &str = "server_cpu_us_per_op";

/// Share of the change in the server's CPU time from which on the background explains it, where the
/// serving tasks are not known to have changed.
const PART: f64 = 0.2;

/// The share of the change in the server's CPU time that is the background's.
fn of_server(evidence: &Evidence<'_>) -> Option<f64> {
    let change = |metric: &str| evidence.pair(metric).map(|cost| cost.value - cost.base);
    let (own, whole) = (change(CPU)?, change(SERVER_CPU)?);
    (own * whole > 0.0).then_some(own / whole)
}

/// Whether the server's CPU time is known to have moved, by what the serving tasks did not use. A
/// background that hardly works varies by a multiple of itself, and proves nothing alone.
fn is_rest_of_server(evidence: &Evidence<'_>) -> bool {
    !evidence.moved_with_effect(&[SERVER_CPU], TIME).is_empty()
        && of_server(evidence).is_some_and(|share| share >= PART)
}

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    let large = |(background, foreground): &(&str, &str)| {
        let (own, other) = (evidence.pair(background)?, evidence.cost(foreground)?);
        let share = own.value.max(own.base) / (own.value + other.value).max(own.base);
        (share >= SHARE).then_some(own)
    };
    let names: Vec<&str> = PAIRS.iter().filter_map(large).map(|moved| moved.metric.name).collect();
    let mut found = evidence.moved_with_effect(&names, OTHERS);
    if found.is_empty() && is_rest_of_server(evidence) {
        found.extend(evidence.pair(CPU));
    }
    let found = super::finding(&RULE, found, |first| {
        let who = "Background tasks of the server (those that serve no connection)";
        match first.base > 0.0 {
            true => format!("{who} cost {:.2}x the base's.", first.ratio),
            false => format!("{who} cost something, those of the base do not."),
        }
    })?;
    Some(Finding { share: of_server(evidence), ..found })
}

fn ruled_out(evidence: &Evidence<'_>) -> Option<String> {
    let stayed = evidence.unmoved(&PAIRS.map(|(background, _)| background), OTHERS)?;
    Some(format!("background tasks ({:.2}x the base's cost)", stayed.ratio))
}
