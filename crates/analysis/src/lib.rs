//! From raw slices to values, and from values to ratios: mathematics over records, without any I/O.
//!
//! Nothing here reads a file, knows a page or prints. Nothing here fails on strange data either:
//! what cannot be said becomes a warning or a reason beside the result. Same slices in, same values
//! out.
//!
//! Read [`observe`] first (slices to [`model::measurement::Measurement`]s), then [`compare`]
//! (measurements to a [`Comparison`]); [`METRICS`] names every quantity.

#![forbid(unsafe_code)]

mod accounting;
mod between_runs;
pub mod bisect;
mod builds;
mod cells;
mod claim;
mod client_rates;
mod compare;
mod comparison;
mod curve;
mod decide;
mod derive;
mod design;
pub mod diagnose;
mod diagnosis;
mod drained;
mod drift;
mod durability;
mod embedded;
mod error;
mod errors;
mod evidence;
pub mod explained;
mod guard;
pub mod history;
mod host_load;
mod hosts;
mod instruction_changes;
mod interval;
mod lead;
mod looks;
mod marks;
mod mean;
mod merged;
mod metrics;
mod missed;
mod noise;
mod observe;
mod overall;
mod paced;
mod parts;
mod prior;
mod projection;
mod rate;
mod ratio_only;
mod reason;
mod recall;
mod residue;
mod role_cost;
mod role_curve;
mod role_times;
mod roles;
mod rounding;
mod scalability;
mod service_level;
mod settings;
mod shade;
pub mod sla;
mod slow;
mod stalled;
pub mod style;
#[cfg(test)]
mod testing;
mod unstable;
mod verdict;
mod warning;
mod written;

pub use accounting::{Accounting, account};
pub use between_runs::widen_between_runs;
pub use builds::{build_differences, same_binaries};
pub use claim::{Share, Test, blocks_to_decide, detectable, most_blocks, provable};
pub use client_rates::client_rates;
pub use compare::{compare, conclude};
pub use comparison::{APART, Cell, Comparison, PhaseResult};
pub use curve::{Curve, latency_points, memory_points, stall_curves, throughput_curves};
pub use derive::{derive, operations};
pub use design::{Design, PhaseFacts};
pub use diagnosis::{Diagnosis, LARGE, diagnose as diagnoses};
pub use durability::unsynced_commits;
pub use error::{Error, Result};
pub use evidence::{Evidence, Finding, Moved};
pub use guard::Disturbed;
pub use instruction_changes::{InstructionChange, instruction_changes};
pub use interval::CONFIDENCE;
pub use lead::{INSTRUCTIONS, THROUGHPUT};
pub use mean::{TestsMean, geometric_mean, mean_of_tests};
pub use merged::{Merged, merged};
pub use metrics::{METRICS, metric, metric_of, ordered, select_metrics};
pub use noise::{BankSource, Key, Known, Noise, banked, fitted};
pub use observe::{Failure, Input, Observations, observe};
pub use overall::{Overall, mean_interval};
pub use paced::phase_columns;
pub use prior::{Prior, Spread};
pub use projection::{Difference, Projection};
pub use reason::Reason;
pub use recall::{AtRecall, Fastest, RECALLS, RecallCurve, Searched, at_recalls, recall_curves};
pub use residue::{host_differences, residue};
pub use role_cost::{RoleCost, role_costs};
pub use role_curve::{RoleCurve, role_curves};
pub use role_times::{BUCKETS, RoleTimes};
pub use roles::RoleFacts;
pub use scalability::{Bend, KNEE_SHARE, Scalability};
pub use service_level::{Outcome, PacedWork, Second, ServiceLevel};
pub use settings::{SettingDifference, settings_differences, shared_settings};
pub use shade::{Content, Effect, PhaseCell, PhaseColumn, Shade, Shown};
pub use verdict::{COUNT_ERROR_RATE, ERROR_RATE, FEWEST_BLOCKS, MOST_BLOCKS, Verdict};
pub use written::Written;
