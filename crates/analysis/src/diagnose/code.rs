//! The server executes more or fewer instructions, or needs more or less CPU time.

use super::{INSTRUCTIONS, Rule, TIME, finding};
use crate::evidence::{Evidence, Finding};
use model::metric::{Kind, Part};

pub(super) struct Code;

const COUNTS: [&str; 6] = [
    "lead_user_instructions_per_op",
    "foreground_user_instructions_per_op",
    "server_user_instructions_per_op",
    "lead_kernel_instructions_per_op",
    "foreground_kernel_instructions_per_op",
    "server_kernel_instructions_per_op",
];

impl Rule for Code {
    fn name(&self) -> &'static str {
        "code"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let time = ["lead_cpu_us_per_op", "foreground_cpu_us_per_op", "server_cpu_us_per_op"];
        let mut found = evidence.moved_with_effect(&COUNTS, INSTRUCTIONS);
        let counted = COUNTS.iter().any(|metric| evidence.cost(metric).is_some());
        if counted && found.is_empty() {
            // CPU time without instructions is another matter: see `stalls`.
            return None;
        }
        found.extend(evidence.moved_with_effect(&time, TIME));
        finding(self, found, |first| {
            let who = match first.metric.part {
                Part::Lead => "The task that serves the leading role",
                Part::Foreground => "The connection's task",
                _ => "The server",
            };
            let (does, what) = match first.metric.kind {
                Kind::KernelInstructions => ("executes", "kernel instructions"),
                Kind::UserInstructions => ("executes", "instructions"),
                _ => ("needs", "CPU time"),
            };
            format!("{who} {does} {:.2}x the base's {what}.", first.ratio)
        })
    }

    fn ruled_out(&self, evidence: &Evidence<'_>) -> Option<String> {
        let stayed = evidence.unmoved(&COUNTS, INSTRUCTIONS)?;
        Some(format!("code ({:.2}x the base's instructions)", stayed.ratio))
    }
}
