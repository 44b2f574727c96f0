//! The server executes more or fewer instructions, or needs more or less CPU time.

use super::{INSTRUCTIONS, Rule, SMALL, TIME};
use crate::evidence::{Evidence, Finding};
use model::metric::{Kind, Part};

pub(super) const RULE: Rule = Rule { name: "code", explains: |_| true, finding, ruled_out };

/// Costs of the tasks that serve the leading role, of all that serve, and of the whole server: the
/// first that is known counts, because the others hold what is not this operation's work.
const COUNTS: [[&str; 3]; 2] = [
    [
        "lead_user_instructions_per_op",
        "foreground_user_instructions_per_op",
        "server_user_instructions_per_op",
    ],
    [
        "lead_kernel_instructions_per_op",
        "foreground_kernel_instructions_per_op",
        "server_kernel_instructions_per_op",
    ],
];
const TIMES: [[&str; 3]; 1] =
    [["lead_cpu_us_per_op", "foreground_cpu_us_per_op", "server_cpu_us_per_op"]];

/// The nearest cost of each row that is known.
fn nearest(evidence: &Evidence<'_>, rows: &[[&'static str; 3]]) -> Vec<&'static str> {
    let known = |row: &[&'static str; 3]| {
        row.iter().copied().find(|metric| evidence.cost(metric).is_some())
    };
    rows.iter().filter_map(known).collect()
}

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    let counts = nearest(evidence, &COUNTS);
    let mut found = evidence.moved_with_effect(&counts, INSTRUCTIONS);
    if !counts.is_empty() && found.is_empty() {
        // CPU time without instructions is another matter: see `stalls`.
        return None;
    }
    found.extend(evidence.moved_with_effect(&nearest(evidence, &TIMES), TIME));
    // At most so much: that it is most of the change does not follow.
    let most = found.first().map(|first| evidence.most(first));
    let share = most.filter(|most| *most < SMALL);
    let part = if share.is_some() { ", which is a small part of the change" } else { "" };
    let found = super::finding(&RULE, found, |first| {
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
        format!("{who} {does} {:.2}x the base's {what}{part}.", first.ratio)
    })?;
    Some(Finding { vague: counts.is_empty(), share, ..found })
}

fn ruled_out(evidence: &Evidence<'_>) -> Option<String> {
    let stayed = evidence.unmoved(&nearest(evidence, &COUNTS), INSTRUCTIONS)?;
    Some(format!("code ({:.2}x the base's instructions)", stayed.ratio))
}
