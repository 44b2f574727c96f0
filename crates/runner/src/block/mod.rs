//! What a block needs before and between its slices: loaded templates, calibrated work,
//! maintenance.

mod aging;
pub(crate) mod calibrate;
pub(crate) mod maintenance;
mod null_client;
mod rehearsal;
pub(crate) mod template;
