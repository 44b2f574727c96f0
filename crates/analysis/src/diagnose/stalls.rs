//! The same instructions take more or fewer cycles (or CPU time, where cycles are not counted).

use super::Rule;
use crate::diagnosis::{Evidence, Finding, finding};

pub(super) struct Stalls;

const SAME_INSTRUCTIONS: f64 = 1.02;
const CYCLES: f64 = 1.05;

impl Rule for Stalls {
    fn name(&self) -> &'static str {
        "stalls"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let pairs = [
            ("foreground_user_instructions_per_op", "foreground_cycles_per_op"),
            ("server_user_instructions_per_op", "server_cycles_per_op"),
            ("foreground_user_instructions_per_op", "foreground_cpu_us_per_op"),
            ("server_user_instructions_per_op", "server_cpu_us_per_op"),
        ];
        let found = pairs.iter().find_map(|(instructions, time)| {
            let same = evidence.stayed(instructions, SAME_INSTRUCTIONS)?;
            let mut moved = evidence.moved_with_effect(&[*time], CYCLES);
            moved.push(same);
            (moved.len() > 1).then_some(moved)
        })?;
        finding(self, found, |first| {
            let ratio = first.ratio;
            if first.metric.name.ends_with("cycles_per_op") {
                let cause = evidence.word("stalls", "fewer stalls");
                return format!(
                    "The same instructions take {ratio:.2} of the base's cycles: {cause}."
                );
            }
            format!(
                "The same user instructions take {ratio:.2} of the base's CPU time: kernel work, \
                 stalls or wake-ups, not the statement's own code."
            )
        })
    }
}
