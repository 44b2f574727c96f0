//! Server products: installing, initializing, configuring, starting, freezing and stopping them.
//!
//! This crate knows processes, folders and the ordinary clients of package registries. It must not
//! know workloads, wire protocols (whether a server answers is asked through a closure), counters
//! or records.
//!
//! Read [`product::Dbms`] first (what a product is), then [`Launch`] (a start as data) and
//! [`Keeper`] (the process that is the parent of all servers, so that nothing is left when dbdyno
//! dies).

mod access;
mod allocators;
mod archive;
mod async_io;
pub mod attach;
mod basedir;
mod certificate;
mod cgroup;
mod client;
mod compile;
mod condition;
mod error;
mod explain;
mod extension;
pub mod factor;
mod folder;
mod freezer;
mod full_disk;
mod install;
mod installed;
mod integrity;
mod keeper;
mod known;
mod launch;
mod leftovers;
mod manifest;
mod memory_limit;
mod neighbors;
mod no_extension;
mod own_settings;
mod package;
mod place;
mod process;
pub mod product;
pub mod provenance;
mod recipe;
mod registry;
mod remains;
mod resolve;
pub mod revision;
mod server;
mod setup;
mod source;
mod state;
mod task;
mod upkeep;
mod user;
mod value;
mod version;

pub use allocators::{of_process as allocator_of, provide as provide_allocators};
pub use async_io::scarce_requests;
pub use basedir::{check_basedir, installed_library};
pub use client::inherit_little;
pub use compile::{Order, Trees, Watch};
pub use condition::{Condition, Started, Unasked, unasked};
pub use error::{CompileError, Error, NoWayIn, Result};
pub use explain::{Access, Explained, PlanRows, Question};
pub use extension::{install_extension, provide as provide_extension};
pub use folder::{copy_folder, create_private_folder};
pub use full_disk::is_full_disk;
pub use install::{import_tarball, install, install_while, installed};
pub use installed::{Installed, Program};
pub use integrity::check as check_unchanged;
pub use keeper::{Keeper, keep};
pub use launch::{NotReady, initialise, start};
pub use neighbors::{Announcement, Concurrency, Neighbor, announce, neighbors, shared_folder};
pub use no_extension::NoExtension;
pub use own_settings::{check_settings, names_port};
pub use package::{Moves, Package, Release};
pub use place::{Places, RunPlace, ignored_cache_home};
pub use resolve::{Resolved, Source, check_source, resolve};
pub use server::Server;
pub use setup::{Launch, Rendered, Setup, Step};
pub use state::{StateForm, StateQuery};
pub use upkeep::{Debt, Failure, Maintenance, Size, bytes_below};
pub use user::{SERVER_USER, ServerUser};

use product::{DBMSES, Dbms};

/// The product of this name, or an error that names the known ones.
pub fn find(name: &str) -> Result<&'static dyn Dbms> {
    DBMSES.iter().copied().find(|product| product.name() == name).ok_or_else(|| {
        let names = || DBMSES.iter().map(|product| product.name());
        let hint = match model::subject::version_behind(name, names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("choose one of {}", model::quoted(names())),
        };
        Error::UnknownServer { name: name.to_owned(), hint }
    })
}

/// Whether the product of this name is a library and not a process; false for unknown names.
pub fn is_embedded(name: &str) -> bool {
    find(name).is_ok_and(|product| product.embedded())
}
