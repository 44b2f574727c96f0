//! `[[deviation]]` of workload files: what one server is known to do in another way.

use model::workload::{Check, Deviation};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireDeviation {
    server: String,
    engine: Option<String>,
    check: Check,
    reason: String,
}

impl WireDeviation {
    /// The deviation as it is written; the name of a server that nothing has does no harm.
    pub(super) fn read(self) -> Deviation {
        let Self { server, engine, check, reason } = self;
        Deviation { server, engine, check, reason }
    }
}
