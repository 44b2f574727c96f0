//! From the user's TOML to a plan: `load_experiment`, then [`plan()`], then [`render`] for people.
//!
//! This crate is the only one that reads the TOML of users. It knows neither servers nor clocks nor
//! this host: which versions exist it asks through [`Versions`], and a plan depends on its inputs
//! alone, so the same experiment gives the same plan and the same hash everywhere.
//!
//! FORMAT.md shows the files by example. Read [`Catalog`] first (what names stand for), then
//! [`Draft`] (an experiment that is checked as far as its text goes), then [`plan()`] (everything
//! resolved and in order).
#![forbid(unsafe_code)]

mod aliases;
mod catalog;
mod check;
mod coded;
mod connections;
mod contents;
mod dataset;
mod draft;
mod editor;
mod error;
mod estimate;
mod expand;
mod experiment_limits;
mod explain;
mod filled;
mod growth;
mod ladder;
mod layers;
mod limits;
mod notes;
mod order;
mod phases;
mod preset;
mod random;
mod render;
mod scripts;
mod secrets;
mod sizes;
mod source;
mod subjects;
mod suggest;
mod too_large;
mod tree;
mod wire;

pub use aliases::aliases;
pub use catalog::{Catalog, Kind, Listing};
pub use check::factor_names;
pub use draft::{Draft, load_experiment, restarts};
pub use editor::{FILE_KINDS, FileKind};
pub use error::{Error, Location};
pub use estimate::{Emulation, seconds};
pub use expand::{plan, plan_against_itself};
pub use layers::Overrides;
pub use limits::NAME_MAX;
pub use notes::{NOTES, notes_in};
pub use phases::in_names;
pub use render::render;
pub use source::is_path;
pub use suggest::hint;
pub use wire::{
    suite::{Length, Preset, Suite, SuiteOrder, SuitePhase},
    workload::Workload,
};

use model::{
    attach::Attach,
    lua::LuaFound,
    subject::{Build, Subject},
};

use std::collections::BTreeMap;

/// Which server builds exist, and how they can be started: told by whoever knows the products.
pub trait Versions {
    /// Names of the server products (`mysql`, `sqlite`, …).
    fn products(&self) -> Vec<String>;

    /// Versions of a server that can be had, for messages.
    fn available(&self, server: &str) -> Vec<String>;

    /// Whether an engine of this name runs inside the driver: no server starts for it.
    fn is_embedded(&self, server: &str) -> bool;

    /// The exact version that `version` stands for: a version, a prefix of one, or empty for the
    /// newest. The error is one clear sentence for the user.
    fn resolve(&self, server: &str, version: &str) -> Result<String, String>;

    /// The product of a server that is there already, by what it greets with. The error is one
    /// clear sentence for the user.
    fn product_of(&self, attach: &Attach) -> Result<String, String>;

    /// Refuses a build whose `basedir` cannot be started, without executing anything. The error is
    /// one clear sentence for the user.
    fn check_basedir(&self, build: &Build) -> Result<(), String>;

    /// Refuses a build whose `prefix` names a program that is missing. The error is one clear
    /// sentence for the user.
    fn check_prefix(&self, build: &Build) -> Result<(), String>;

    /// Refuses a build that cannot be compiled, without executing anything. The error is one clear
    /// sentence for the user.
    fn check_source(&self, build: &Build) -> Result<(), String>;

    /// Looks at a user's own sysbench script under options, by their names with `_`; executes its
    /// file, and none of its functions. The error is one clear sentence for the user.
    fn script(&self, path: &str, options: &BTreeMap<String, String>) -> Result<LuaFound, String>;

    /// Gives a subject a level of a factor that acts on its start, and returns the level as a part
    /// of a label. The error is one clear sentence for the user.
    fn start_with(
        &self,
        factor: &str,
        level: &str,
        subject: &mut Subject,
    ) -> Result<String, String>;
}
