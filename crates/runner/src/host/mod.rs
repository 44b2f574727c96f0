//! This host: what it can hold, what others do on it, its files.

pub(crate) mod capacity;
pub(crate) mod files;
pub(crate) mod others;
pub(crate) mod preflight;
