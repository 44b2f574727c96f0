//! The instructions explain nothing, and cycles or CPU time moved all the same.

use super::{FLOOR, INSTRUCTIONS, Rule, SWITCHES, TIME};
use crate::evidence::{Evidence, Finding};
use model::metric::Kind;

pub(super) const RULE: Rule = Rule {
    name: "stalls",
    explains: |changed| matches!(changed, Kind::Rate | Kind::CpuTime),
    finding,
    ruled_out: |_| None,
};

/// Instructions, and the time that they take: cycles, or CPU time where cycles are not counted.
const PAIRS: [(&str, &str); 4] = [
    ("foreground_user_instructions_per_op", "foreground_cycles_per_op"),
    ("server_user_instructions_per_op", "server_cycles_per_op"),
    ("foreground_user_instructions_per_op", "foreground_cpu_us_per_op"),
    ("server_user_instructions_per_op", "server_cpu_us_per_op"),
];

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    let found = PAIRS.iter().find_map(|(instructions, time)| {
        let own = evidence.cost(instructions)?;
        let explains = !evidence.moved_with_effect(&[*instructions], INSTRUCTIONS).is_empty();
        // A change of theirs that is not decided may be the reason.
        let stayed = evidence.unmoved(&[*instructions], INSTRUCTIONS).is_some();
        let is_known = stayed || evidence.shows_a_move(instructions);
        let mut moved = evidence.moved_with_effect(&[*time], TIME);
        moved.push(own);
        (is_known && !explains && moved.len() > 1).then_some(moved)
    })?;
    let instructions = found.last()?.ratio;
    super::finding(&RULE, found, |first| {
        let ratio = first.ratio;
        let (what, cause) = if first.metric.kind == Kind::Cycles {
            ("cycles", "in stalls")
        } else {
            let others = match evidence.is_rare(SWITCHES, FLOOR) {
                true => "in the kernel, or in stalls",
                false => "in the kernel, in wake-ups, or in stalls",
            };
            ("CPU time", others)
        };
        let spent = evidence.word("spent", "saved");
        format!(
            "It needs {ratio:.2}x the base's {what} for {instructions:.2}x its user \
             instructions: the time is {spent} {cause}, not in the statement's own code."
        )
    })
}
