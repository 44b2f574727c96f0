//! Rules that say whether work at a set rate was sustained. One file each.

mod published;
mod strict;

use crate::service_level::{PacedWork, ServiceLevel};

/// One rule.
pub trait Rule: Sync {
    /// Name: the file's stem.
    fn name(&self) -> &'static str;

    /// What it says. Never fails: what cannot be said is unknown.
    fn judge(&self, work: &PacedWork) -> ServiceLevel;
}

/// Share of the target that a second must reach to be on target.
pub const SECOND_SHARE: f64 = 0.95;

/// In the order in which tables name them.
pub const RULES: &[&dyn Rule] = &[&published::Published, &strict::Strict];

/// The rule by which published reports ignore values.
pub const PUBLISHED: &dyn Rule = &published::Published;
