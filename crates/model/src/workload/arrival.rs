//! When operations start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Closed or open loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// The next operation starts when the last one is answered.
    #[default]
    Closed,
    /// Operations have intended start times at a total rate; nothing aborts at overload.
    Open {
        /// Operations per second over all connections of the role.
        per_second: f64,
        /// Distance of the intended start times.
        spacing: Spacing,
    },
}

impl Arrival {
    /// Operations per second over all connections of the role; none in a closed loop.
    pub fn per_second(self) -> Option<f64> {
        match self {
            Self::Closed => None,
            Self::Open { per_second, .. } => Some(per_second),
        }
    }
}

/// How intended start times follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Equal distances.
    Even,
    /// Exponential distances (a Poisson process).
    Poisson,
}
