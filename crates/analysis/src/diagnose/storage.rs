//! Each operation reads or writes more or less.

use super::{OTHERS, Rule, finding};
use crate::evidence::{Evidence, Finding};

pub(super) struct Storage;

/// Requests and KiB per operation below which they cannot explain an operation's time.
const REQUESTS: f64 = 0.02;
const KIB: f64 = 0.5;

impl Rule for Storage {
    fn name(&self) -> &'static str {
        "storage"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let metrics = ["reads_per_op", "read_kib_per_op", "writes_per_op", "write_kib_per_op"];
        let mut found = evidence.moved_with_effect(&metrics, OTHERS);
        let floor = |cost: &crate::Moved| if cost.metric.unit == "KiB/op" { KIB } else { REQUESTS };
        found.retain(|cost| cost.base.max(cost.value) >= floor(cost));
        finding(self, found, |first| {
            let what = match first.metric.name {
                "reads_per_op" => "reads from storage",
                "read_kib_per_op" => "bytes read",
                "writes_per_op" => "writes to storage",
                _ => "bytes written",
            };
            format!("Each operation causes {:.2}x the base's {what}.", first.ratio)
        })
    }
}
