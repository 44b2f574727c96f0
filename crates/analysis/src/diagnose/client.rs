//! The load engine itself costs more or less: replies that are larger, or that come otherwise.

use super::{OTHERS, Rule, finding};
use crate::evidence::{Evidence, Finding};

pub(super) struct Client;

const METRICS: [&str; 2] = ["client_user_instructions_per_op", "client_cpu_us_per_op"];

impl Rule for Client {
    fn name(&self) -> &'static str {
        "client"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let found = evidence.moved_with_effect(&METRICS, OTHERS);
        finding(self, found, |first| {
            format!("The client costs {:.2}x the base's: replies or waits differ.", first.ratio)
        })
    }

    fn ruled_out(&self, evidence: &Evidence<'_>) -> Option<String> {
        let stayed = evidence.unmoved(&METRICS, OTHERS)?;
        Some(format!("the client ({:.2}x the base's cost)", stayed.ratio))
    }
}
