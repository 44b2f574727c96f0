//! The operation costs the same and the server's upkeep does not.

use super::{OTHERS, Rule, finding};
use crate::evidence::{Evidence, Finding};

pub(super) struct Background;

/// Costs of the background, and of what serves operations.
const PAIRS: [(&str, &str); 2] = [
    ("background_user_instructions_per_op", "foreground_user_instructions_per_op"),
    ("background_cpu_us_per_op", "foreground_cpu_us_per_op"),
];

/// The share of the server's cost below which the background cannot explain anything.
const SHARE: f64 = 0.05;

impl Rule for Background {
    fn name(&self) -> &'static str {
        "background"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let large = |(background, foreground): &(&str, &str)| {
            let (own, other) = (evidence.cost(background)?, evidence.cost(foreground)?);
            let share = own.value.max(own.base) / (own.value + other.value).max(own.base);
            (share >= SHARE).then_some(own)
        };
        let names: Vec<&str> =
            PAIRS.iter().filter_map(large).map(|moved| moved.metric.name).collect();
        let found = evidence.moved_with_effect(&names, OTHERS);
        finding(self, found, |first| {
            format!(
                "Background tasks of the server (those that serve no connection) cost {:.2}x the \
                 base's.",
                first.ratio
            )
        })
    }

    fn ruled_out(&self, evidence: &Evidence<'_>) -> Option<String> {
        let stayed = evidence.unmoved(&PAIRS.map(|(background, _)| background), OTHERS)?;
        Some(format!("background tasks ({:.2}x the base's cost)", stayed.ratio))
    }
}
