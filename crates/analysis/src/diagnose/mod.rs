//! Reasons for a change: one file each.

mod background;
mod client;
mod code;
mod embedding;
pub(crate) mod rare;
mod stalls;
mod storage;
mod waits;

use crate::evidence::{Evidence, Finding, Moved, strength};
use model::metric::Kind;

/// One kind of reason.
pub struct Rule {
    /// Name: the file's stem.
    pub name: &'static str,
    /// Whether it can be a reason for a change of a metric of this kind: a wait makes no server
    /// execute more.
    pub explains: fn(Kind) -> bool,
    /// What speaks for this reason, if anything does.
    pub finding: fn(&Evidence<'_>) -> Option<Finding>,
    /// What speaks against it, where there is no finding: the reason, with its evidence in
    /// parentheses.
    pub ruled_out: fn(&Evidence<'_>) -> Option<String>,
}

/// Of what can only make operations slower or faster.
fn rates(changed: Kind) -> bool {
    changed == Kind::Rate
}

/// Least ratios of a cost that explains: instructions repeat within a tenth of a percent, CPU time
/// within a few percent.
const INSTRUCTIONS: f64 = 1.02;
const TIME: f64 = 1.05;
/// The same for everything that varies more.
const OTHERS: f64 = 1.1;

/// Context switches of the server's tasks,
const SWITCHES: &str = "context_switches_per_op";
/// and how many of them per operation cannot explain its time.
const FLOOR: f64 = 0.02;

/// Share of a change below which a reason is a small part of it.
pub(crate) const SMALL: f64 = 0.2;

/// In the order in which a reader meets them: the surest first.
pub const RULES: &[Rule] = &[
    rare::RULE,
    code::RULE,
    stalls::RULE,
    waits::RULE,
    storage::RULE,
    background::RULE,
    client::RULE,
    embedding::RULE,
];

/// A finding of a rule, if there is evidence; `sentence` gets the largest move.
fn finding(
    rule: &Rule,
    evidence: Vec<Moved>,
    sentence: impl Fn(&Moved) -> String,
) -> Option<Finding> {
    let first = evidence.first()?;
    Some(Finding {
        rule: rule.name,
        sentence: sentence(first),
        strength: strength(first),
        share: None,
        vague: false,
        evidence,
    })
}
