//! The load engine itself costs more or less: replies that are larger, or that come otherwise.

use super::{OTHERS, Rule, finding};
use crate::evidence::{Evidence, Finding};

pub(super) struct Client;

impl Rule for Client {
    fn name(&self) -> &'static str {
        "client"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let metrics = ["client_user_instructions_per_op", "client_cpu_us_per_op"];
        let found = evidence.moved_with_effect(&metrics, OTHERS);
        finding(self, found, |first| {
            format!("The client costs {:.2}x the base's: replies or waits differ.", first.ratio)
        })
    }
}
