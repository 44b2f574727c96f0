//! The load engine itself costs more or less: replies that are larger, or that come otherwise.

use super::{OTHERS, Rule, rates};
use crate::evidence::{Evidence, Finding};

pub(super) const RULE: Rule = Rule { name: "client", explains: rates, finding, ruled_out };

const METRICS: [&str; 2] = ["client_user_instructions_per_op", "client_cpu_us_per_op"];

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    let found = evidence.moved_with_effect(&METRICS, OTHERS);
    super::finding(&RULE, found, |first| {
        format!("The client costs {:.2}x the base's: replies or waits differ.", first.ratio)
    })
}

fn ruled_out(evidence: &Evidence<'_>) -> Option<String> {
    let stayed = evidence.unmoved(&METRICS, OTHERS)?;
    Some(format!("the client ({:.2}x the base's cost)", stayed.ratio))
}
