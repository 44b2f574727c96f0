//! Builds that are compiled on this host from a source tree, by a recipe.
//!
//! A tree is compiled in a folder that is the same for all builds, so that paths in programs do not
//! tell them apart, by the user of the servers where dbdyno runs as root: what a tree executes is
//! not trusted. What comes out is copied into the cache, under a name that is the hash of
//! everything that it depends on.

mod compiler;
mod key;
mod steps;
mod trees;
mod work;

pub use steps::Watch;
pub use trees::Trees;

use crate::{
    CompileError, Error, Installed, Places, Result, archive,
    basedir::installed_in,
    find, folder, integrity,
    manifest::{Compiled, Manifest},
    package::CRATE,
    product::Dbms,
    recipe,
    registry::Destination,
    source::{self, Identity, Known},
    version::fits,
};
use compiler::Compilers;
use fs_err as fs;
use model::{
    recipe::{FlagSet, Recipe, Tree, Way},
    subject::Build,
};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};
use work::Work;

/// A build that is to be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    server: String,
    /// What its program must say it is; empty for what is not known before.
    version: String,
    tree: Tree,
    recipe: Recipe,
    /// The name of the options, or they themselves.
    flags: String,
    set: FlagSet,
    compiler: String,
}

impl Order {
    /// What a build asks for, where it is compiled: from its own tree, or from that of a release.
    pub(crate) fn of(build: &Build, release: Option<(&str, Tree)>) -> Result<Option<Self>> {
        let asked = &build.compilation;
        let (version, tree) = match (&asked.tree, release) {
            (Some(tree), _) => (String::new(), tree.clone()),
            (None, Some((version, tree))) => (version.to_owned(), tree),
            (None, None) => return Ok(None),
        };
        let recipe = recipe::of(build)?.clone();
        let set = recipe.flag_set(&asked.flags).map_err(|reason| {
            Error::Compile(CompileError::Recipe { server: build.server.clone(), reason })
        })?;
        let flags = if asked.flags.is_empty() { &recipe.default } else { &asked.flags }.clone();
        let (server, compiler) = (build.server.clone(), asked.compiler.clone());
        Ok(Some(Self { server, version, tree, recipe, flags, set, compiler }))
    }

    /// Refuses what could not be compiled on this host. Executes nothing of the tree.
    pub(crate) fn check(&self) -> Result<()> {
        self.recipe.check().map_err(|reason| {
            Error::Compile(CompileError::Recipe { server: self.server.clone(), reason })
        })?;
        if self.tree.kind == CRATE && !find(&self.server)?.embedded() {
            let server = &self.server;
            let reason = format!(
                "holds a library, and {server} is a server; write `path`, `git` or `archive`"
            );
            return Err(source::refused(&self.tree, reason));
        }
        (source::of(&self.tree)?.check)(&self.tree)?;
        Compilers::named(self).map(drop)
    }

    /// For messages: several builds of a run may have one source.
    fn label(&self) -> String {
        let mut label = match self.version.as_str() {
            "" => format!("{} from {}", self.server, self.tree),
            version => format!("{}@{version}", self.server),
        };
        let flags = Some(&self.flags).filter(|flags| **flags != self.recipe.default);
        let compiler = Some(&self.compiler).filter(|compiler| !compiler.is_empty());
        for part in [flags, compiler].into_iter().flatten() {
            label.push_str(&format!(", {part}"));
        }
        label
    }

    fn needs_cxx(&self) -> bool {
        self.recipe.ways.iter().any(|way| way.cxx)
    }
}

/// What a build depends on.
struct Inputs {
    identity: Identity,
    compilers: Compilers,
    key: String,
}

impl Inputs {
    fn of(order: &Order, places: &Places) -> Result<Self> {
        let identity = (source::of(&order.tree)?.identify)(&order.tree, places)?;
        let compilers = Compilers::find(order, places)?;
        let key = key::of(order, &identity, &compilers)?;
        Ok(Self { identity, compilers, key })
    }

    fn folder(&self, order: &Order, places: &Places) -> PathBuf {
        places.builds().join(format!("{}-{}", order.server, self.key))
    }
}

/// The build of an order, where it was compiled already.
pub(crate) fn installed(order: &Order, places: &Places) -> Result<Option<Installed>> {
    in_cache(order, &Inputs::of(order, places)?, places)
}

fn in_cache(order: &Order, inputs: &Inputs, places: &Places) -> Result<Option<Installed>> {
    let folder = inputs.folder(order, places);
    // One that somebody else could change is as good as none.
    let is_complete = folder::is_ours(&folder) && Manifest::of_cached(&folder).is_some();
    if !is_complete {
        return Ok(None);
    }
    let product = find(&order.server)?;
    let found = installed_in(product, &folder, places.user)?;
    if product.embedded() {
        // A server's files are compared when it starts.
        integrity::check(&found)?;
    }
    Ok(Some(found))
}

/// Compiles a build, if it is not there. Builds take turns on a host: each has all processors.
pub(crate) fn make(order: &Order, places: &Places, watch: &mut Watch<'_>) -> Result<Installed> {
    let inputs = Inputs::of(order, places)?;
    if let Some(found) = in_cache(order, &inputs, places)? {
        return Ok(found);
    }
    let work = Work::open(places, &order.label(), watch)?;
    if let Some(found) = in_cache(order, &inputs, places)? {
        return Ok(found);
    }
    let made = compiled(order, &inputs, &work, watch);
    work.sweep();
    made
}

fn compiled(
    order: &Order,
    inputs: &Inputs,
    work: &Work<'_>,
    watch: &mut Watch<'_>,
) -> Result<Installed> {
    work.clear()?;
    let target = inputs.folder(order, work.places);
    watch.say(&format!("fetching the source of {}", order.label()));
    let known = Known { tree: &order.tree, identity: &inputs.identity, places: work.places };
    let to = Destination { scratch: &work.scratch(), folder: &work.tree() };
    let downloads = (source::of(&order.tree)?.unpack)(&known, &to)?;
    // Whatever modes it came with: it may be nobody else's, and steps write into it.
    work.places.make(&work.tree(), 0o700)?;
    folder::make_writable(&work.tree())?;
    let (way, place) = way(order, &work.tree())?;
    let log = work.log(&format!("{}-{}", order.server, inputs.key));
    let stage = work.stage();
    let out = stage.join(target.strip_prefix("/").unwrap_or(&target));
    for folder in way.outputs.iter().filter_map(|file| Path::new(file).parent()) {
        fs::create_dir_all(out.join(folder))?;
    }
    work.give()?;
    let steps = steps::Steps { order, way, compilers: &inputs.compilers, work, log: &log };
    steps
        .run(&steps::Folders { tree: &place, prefix: &target, stage: &stage, out: &out }, watch)?;
    if let Some(file) = way.outputs.iter().find(|file| !out.join(file).exists()) {
        return Err(steps.failed(&format!("its steps made no `{file}`")));
    }
    let compiled = Compiled {
        key: inputs.key.clone(),
        tree: inputs.identity.hash.clone(),
        revision: inputs.identity.revision.clone(),
        flags: order.flags.clone(),
        options: order.set.options.clone(),
        compiler: inputs.compilers.identity.clone(),
    };
    let made = Made { order, out: &out, target: &target, log: &log };
    made.complete(work.places, downloads, compiled)
}

/// The way that fits a tree, and the folder where its steps run: the first one, from the top down,
/// that has what the way asks for. Of several ways the first whose programs are there.
fn way<'a>(order: &'a Order, tree: &Path) -> Result<(&'a Way, PathBuf)> {
    let mut fitting: Vec<(&Way, PathBuf)> = Vec::new();
    for way in &order.recipe.ways {
        fitting.extend(place_of(way, tree)?.map(|place| (way, place)));
    }
    let missing = |way: &Way| {
        let missing = way.programs.iter().filter(|name| compiler::program(name).is_none());
        missing.map(|name| format!("`{name}`")).collect::<Vec<_>>()
    };
    if let Some(found) = fitting.iter().find(|(way, _)| missing(way).is_empty()) {
        return Ok(found.clone());
    }
    let reason = match fitting.first() {
        Some((way, _)) => format!(
            "the way `{}` needs {}, which this host lacks; install what is missing",
            way.name,
            missing(way).join(", ")
        ),
        None => {
            let shapes =
                order.recipe.ways.iter().map(|way| format!("`{}`", way.holds.join("`, `")));
            let shapes: Vec<String> = shapes.collect();
            format!(
                "`{}` is no source tree of it: no folder holds {}",
                order.tree,
                shapes.join(", or ")
            )
        }
    };
    Err(Error::Compile(CompileError::Recipe { server: order.server.clone(), reason }))
}

/// Folders deeper than this are not searched for the place of a way.
const DEPTH_MAX: usize = 2;

fn place_of(way: &Way, tree: &Path) -> Result<Option<PathBuf>> {
    let mut level = vec![tree.to_owned()];
    for _ in 0..=DEPTH_MAX {
        let fits = |folder: &&PathBuf| way.holds.iter().all(|file| folder.join(file).exists());
        if let Some(found) = level.iter().find(fits) {
            return Ok(Some(found.clone()));
        }
        let mut below = Vec::new();
        for folder in &level {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let skipped = way.skip.iter().any(|name| OsStr::new(name) == entry.file_name());
                if entry.file_type()?.is_dir() && !skipped {
                    below.push(entry.path());
                }
            }
        }
        below.sort();
        level = below;
    }
    Ok(None)
}

/// What the steps have made.
struct Made<'a> {
    order: &'a Order,
    out: &'a Path,
    target: &'a Path,
    log: &'a Path,
}

/// Name of the log of a build in its folder.
const LOG: &str = "dbdyno-build.log";

impl Made<'_> {
    /// Copies it into the cache, where nobody but the caller can change it. Without its manifest,
    /// which comes last, it is no build.
    fn complete(
        &self,
        places: &Places,
        downloads: Vec<crate::manifest::Download>,
        compiled: Compiled,
    ) -> Result<Installed> {
        let Self { order, out, target, log } = self;
        folder::remove_build(target)?;
        let owner = folder::copy_tree(out, target)?;
        if places.user.is_some_and(|user| user.uid != owner.uid) {
            // What the steps made in its place leads to somebody else's.
            fs::remove_dir_all(target)?;
            return Err(Error::ForeignFile { path: out.to_path_buf(), owner: owner.uid });
        }
        let product: &dyn Dbms = find(&order.server)?;
        let complete = || -> Result<Installed> {
            archive::check_links(target).map_err(|error| match error {
                Error::Archive { reason, .. } => {
                    let reason = format!("of what its steps made, {reason}");
                    Error::Compile(CompileError::Recipe { server: order.server.clone(), reason })
                }
                other => other,
            })?;
            Manifest::remove(target)?;
            folder::make_readable(target)?;
            let found = installed_in(product, target, places.user)?;
            if !fits(&found.version, &order.version) {
                let wanted = format!("{} {}", order.server, order.version);
                return Err(Error::OtherBuild {
                    binary: found.binary,
                    found: found.version,
                    wanted,
                });
            }
            fs::rename(log, target.join(LOG))?;
            let manifest = Manifest {
                server: found.server.clone(),
                version: found.version.clone(),
                origin: format!("{}: {}", order.tree.kind, order.tree.named()),
                binary_sha256: found.binary_sha256.clone(),
                downloads,
                files: integrity::code_files(target)?,
                compiled: Some(compiled),
            };
            manifest.write(target)?;
            folder::make_readable(target)?;
            Ok(found)
        };
        complete().inspect_err(|_| {
            let _ = folder::remove(target);
        })
    }
}

#[cfg(test)]
mod tests;
