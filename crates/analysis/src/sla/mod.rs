//! Rules that say whether work at a set rate was sustained. One file each.

mod published;
mod strict;

use crate::service_level::{PacedWork, ServiceLevel};

/// One rule.
pub struct Rule {
    /// Name: the file's stem.
    pub name: &'static str,
    /// What it says. Never fails: what cannot be said is unknown.
    pub judge: fn(&PacedWork) -> ServiceLevel,
}

/// Share of the target that a second must reach to be on target.
pub const SECOND_SHARE: f64 = 0.95;

/// In the order in which tables name them.
pub const RULES: &[Rule] = &[published::RULE, strict::RULE];

/// The rule by which published reports ignore values.
pub const PUBLISHED: Rule = published::RULE;
