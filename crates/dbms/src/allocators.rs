//! Libraries of memory allocators: where this host has them, or where they are put from a package.

use crate::{Places, Result, Watch, install::Site, package::Package, registry, task};
use model::{quoted, subject::Build};
use std::path::{Path, PathBuf};

/// An allocator that is known by name.
struct Allocator {
    name: &'static str,
    /// Debian's package.
    package: &'static str,
    /// The library's name for the loader.
    file: &'static str,
}

const ALLOCATORS: [Allocator; 3] = [
    Allocator { name: "jemalloc", package: "libjemalloc2", file: "libjemalloc.so.2" },
    Allocator {
        name: "tcmalloc",
        package: "libtcmalloc-minimal4",
        file: "libtcmalloc_minimal.so.4",
    },
    Allocator { name: "mimalloc", package: "libmimalloc2.0", file: "libmimalloc.so.2" },
];

/// Debian's release whose libraries run with the C libraries of all servers that are newer.
const SUITE: &str = "bookworm";

/// Folders of libraries on 64-bit hosts; Debian's packages have the first.
const FOLDERS: [&str; 4] = ["usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/local/lib", "usr/lib"];

/// Parts of file names: a process that has loaded such a file uses its allocator.
const SIGNS: [&str; 3] = ["jemalloc", "tcmalloc", "mimalloc"];

/// The names, for messages.
pub(crate) fn names() -> String {
    quoted(ALLOCATORS.map(|known| known.name))
}

/// The library of an allocator: the host's, or the place where [`provide`] puts it. None if nobody
/// knows the name.
pub(crate) fn library(name: &str, places: &Places) -> Option<PathBuf> {
    let known = ALLOCATORS.iter().find(|known| known.name == name)?;
    let of_host = FOLDERS.iter().map(|folder| Path::new("/").join(folder).join(known.file));
    let found = of_host.into_iter().find(|path| path.exists());
    Some(found.unwrap_or_else(|| known.own_folder(places).join(FOLDERS[0]).join(known.file)))
}

impl Allocator {
    fn own_folder(&self, places: &Places) -> PathBuf {
        places.builds().join(format!("allocator-{}", self.name))
    }
}

/// Fetches the libraries of allocators that a build is started with and that are not there yet.
pub fn provide(build: &Build, places: &Places, watch: &mut Watch<'_>) -> Result<()> {
    let preloaded = build.environment.iter().filter(|(name, _)| name == "LD_PRELOAD");
    let paths: Vec<&Path> =
        preloaded.flat_map(|(_, value)| value.split([' ', ':'])).map(Path::new).collect();
    for known in &ALLOCATORS {
        let folder = known.own_folder(places);
        if paths.iter().any(|path| path.starts_with(&folder) && !path.exists()) {
            fetch(known, &folder, places, watch)?;
        }
    }
    Ok(())
}

fn fetch(known: &Allocator, folder: &Path, places: &Places, watch: &mut Watch<'_>) -> Result<()> {
    let site = Site::of("allocator", known.name, places);
    let _lock = site.lock(known.name, watch)?;
    if folder.exists() {
        return Ok(());
    }
    (watch.progress)(&format!("fetching {} ({})", known.name, known.package));
    let package =
        Package { registry: "debian", names: vec![known.package.to_owned()], at: SUITE.to_owned() };
    let fetched = site.fetch(&package, places).and_then(|(files, _)| {
        (registry::of(&package)?.unpack)(&package, &files, &site.destination())?;
        site.settle(folder)
    });
    site.sweep();
    fetched
}

/// The allocator that a process has loaded, by the name of its library; `libc` for none.
pub fn of_process(pid: u32) -> String {
    let mut mapped: Vec<String> = task::mapped_code(pid)
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .filter(|file| SIGNS.iter().any(|sign| file.contains(sign)))
        .collect();
    mapped.sort();
    mapped.dedup();
    match mapped.as_slice() {
        [] => "libc".to_owned(),
        found => found.join(" "),
    }
}
