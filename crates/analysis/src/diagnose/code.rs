//! The server executes more or fewer instructions, or needs more or less CPU time.

use super::Rule;
use crate::diagnosis::{Evidence, Finding, finding};

pub(super) struct Code;

/// Instructions repeat within a tenth of a percent, CPU time within a few percent.
const INSTRUCTIONS: f64 = 1.02;
const TIME: f64 = 1.05;

impl Rule for Code {
    fn name(&self) -> &'static str {
        "code"
    }

    fn finding(&self, evidence: &Evidence<'_>) -> Option<Finding> {
        let instructions = [
            "lead_user_instructions_per_op",
            "foreground_user_instructions_per_op",
            "server_user_instructions_per_op",
            "lead_kernel_instructions_per_op",
            "foreground_kernel_instructions_per_op",
            "server_kernel_instructions_per_op",
        ];
        let time = ["lead_cpu_us_per_op", "foreground_cpu_us_per_op", "server_cpu_us_per_op"];
        let mut found = evidence.moved_with_effect(&instructions, INSTRUCTIONS);
        let counted = instructions.iter().any(|metric| evidence.cost(metric).is_some());
        if counted && found.is_empty() {
            // CPU time without instructions is another matter: see `stalls`.
            return None;
        }
        found.extend(evidence.moved_with_effect(&time, TIME));
        finding(self, found, |first| {
            let who = match first.metric.name {
                name if name.starts_with("lead") => "The task that serves the leading role",
                name if name.starts_with("foreground") => "The connection's task",
                _ => "The server",
            };
            let what = match first.metric.name {
                name if name.contains("kernel") => "executes {}x the base's kernel instructions",
                name if name.contains("instr") => "executes {}x the base's instructions",
                _ => "needs {}x the base's CPU time",
            };
            format!("{who} {}.", what.replace("{}", &format!("{:.2}", first.ratio)))
        })
    }
}
