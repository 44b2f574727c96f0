//! From `SERVER@VERSION` to one exact build and where it comes from.

use crate::{
    CompileError, Error, Order, Places, Result,
    basedir::installed_in,
    find, install,
    manifest::Manifest,
    package::{Moves, Package, Release},
    product::Dbms,
    registry,
    version::{fits, numbers, upstream},
};
use model::{recipe::Tree, subject::Build};
use std::path::PathBuf;

/// Where a build comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A folder of the user's.
    Basedir(PathBuf),
    /// The cache.
    Cache,
    /// A package registry.
    Registry(Package),
    /// The product is a library: the bundled one, or a path of the user's.
    Embedded(Option<PathBuf>),
    /// A source tree, which is compiled on this host.
    Tree(Box<Order>),
    /// Nothing is installed: the server is there already.
    Attached,
}

/// One exact build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Product.
    pub server: String,
    /// Exact version, for labels; `bundled` for an embedded product without one, and empty for a
    /// tree of the user's, whose program will tell.
    pub version: String,
    /// Where it comes from.
    pub source: Source,
}

/// Finds the newest build that fits. Installs nothing; asks a registry only for suites that move
/// and of which no fitting build is installed.
pub fn resolve(build: &Build, places: &Places) -> Result<Resolved> {
    let product = find(&build.server)?;
    let resolved = |version: &str, source| Resolved {
        server: build.server.clone(),
        version: version.to_owned(),
        source,
    };
    if build.attach.is_some() {
        return Ok(resolved("", Source::Attached));
    }
    if let Some(order) = Order::of(build, None)? {
        return Ok(resolved("", Source::Tree(Box::new(order))));
    }
    let is_bundled = ["", BUNDLED].contains(&build.version.as_str());
    if product.embedded() && (is_bundled || build.basedir.is_some()) {
        return Ok(resolved(BUNDLED, Source::Embedded(build.basedir.clone())));
    }
    if let Some(basedir) = &build.basedir {
        let installed = installed_in(product, basedir, places.user)?;
        return if fits(&installed.version, &build.version) {
            Ok(resolved(&installed.version, Source::Basedir(basedir.clone())))
        } else {
            let wanted = format!("{} {}", build.server, build.version);
            Err(Error::OtherBuild { binary: installed.binary, found: installed.version, wanted })
        };
    }
    let release = newest(product, build);
    let cached = install::cached(product, places)?
        .into_iter()
        .filter(|manifest| manifest.compiled.is_none())
        .filter(|manifest| fits(&manifest.version, &build.version))
        .filter(|manifest| release.as_ref().is_none_or(|release| keeps(manifest, release)))
        .max_by_key(|manifest| numbers(&manifest.version));
    match (cached, release) {
        (Some(manifest), _) => Ok(resolved(&manifest.version, Source::Cache)),
        (None, Some(release)) if release.package.is_source() => {
            let order = Order::of(build, Some((&release.version, tree_of(&release))))?;
            let source = order.map_or(Source::Cache, |order| Source::Tree(Box::new(order)));
            Ok(resolved(&release.version, source))
        }
        (None, Some(release)) => from_release(product, build, &release, places),
        (None, None) => lookup_other(product, build, places),
    }
}

/// The version of a library that is a part of dbdyno.
const BUNDLED: &str = "bundled";

/// Refuses a build that no run could compile: its tree, its recipe, its flags, its compiler.
/// Executes nothing of the tree.
pub fn check_source(build: &Build) -> Result<()> {
    let product = find(&build.server)?;
    let release = newest(product, build).filter(|release| release.package.is_source());
    let release = release.as_ref().map(|release| (release.version.as_str(), tree_of(release)));
    match Order::of(build, release.filter(|_| build.basedir.is_none()))? {
        Some(order) => order.check(),
        None if build.compilation.is_empty() => Ok(()),
        None => Err(Error::Compile(CompileError::Recipe {
            server: build.server.clone(),
            reason: "`flags` and `compiler` are for builds from source; write `source` into \
                     `[servers.NAME]`, or leave them out"
                .to_owned(),
        })),
    }
}

/// The newest release that a build may mean. A bundled library is none.
fn newest(product: &dyn Dbms, build: &Build) -> Option<Release> {
    if product.embedded() && build.version.is_empty() {
        return None;
    }
    let releases = product.releases().into_iter();
    releases
        .filter(|release| fits(&release.version, &build.version))
        .max_by_key(|release| numbers(&release.version))
}

fn tree_of(release: &Release) -> Tree {
    let package = &release.package;
    Tree {
        kind: package.registry.to_owned(),
        at: package.names.first().cloned().unwrap_or_default(),
        revision: package.at.clone(),
    }
}

/// Whether a cached build is taken and not the registry's: one of a moving suite stays what it was
/// when it was fetched, and imports may be newer than everything that registries hold.
fn keeps(cached: &Manifest, release: &Release) -> bool {
    numbers(&cached.version) >= numbers(&release.version)
        || release.moves == Moves::Always && cached.origin == release.package.origin()
}

fn from_release(
    product: &dyn Dbms,
    build: &Build,
    release: &Release,
    places: &Places,
) -> Result<Resolved> {
    let version = match release.moves {
        Moves::Never => release.version.clone(),
        Moves::Always => {
            upstream(&(registry::of(&release.package)?.lookup)(&release.package, places)?)
                .to_owned()
        }
    };
    if !fits(&version, &build.version) {
        let remedy = format!(
            "the registry now holds {version}: ask for `{}@{version}`, or give the folder \
             of a build by `basedir`",
            product.name()
        );
        return Err(unknown(build, remedy));
    }
    let source = Source::Registry(release.package.clone());
    Ok(Resolved { server: build.server.clone(), version, source })
}

// A suite may have moved to a version that no table knows.
fn lookup_other(product: &dyn Dbms, build: &Build, places: &Places) -> Result<Resolved> {
    let major = |version: &str| numbers(version).first().copied();
    for release in product.releases() {
        let near = major(&release.version) == major(&build.version);
        if release.moves == Moves::Always && near {
            let found = (registry::of(&release.package)?.lookup)(&release.package, places)?;
            if fits(upstream(&found), &build.version) {
                return from_release(product, build, &release, places);
            }
        }
    }
    let remedy = match product.embedded() {
        true => "`dbdyno list builds` shows what can be installed; an experiment takes any other \
                 library by `[servers.NAME]` with `basedir`, or with `source`"
            .to_owned(),
        false => format!(
            "`dbdyno list builds` shows what can be installed; an experiment takes any other build \
             by `[servers.NAME]` with `basedir`, and `dbdyno install {}@{} --from FILE` a vendor's \
             tarball",
            build.server, build.version
        ),
    };
    Err(unknown(build, remedy))
}

fn unknown(build: &Build, remedy: String) -> Error {
    Error::UnknownVersion { server: build.server.clone(), version: build.version.clone(), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Compiled;

    fn asked(name: &str) -> Build {
        let (server, version) = name.split_once('@').unwrap();
        Build::of(server, version)
    }

    #[test]
    fn fixed_versions_resolve_without_a_registry() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let check = |name, expected| {
            assert_eq!(resolve(&asked(name), &places).unwrap().version, expected, "{name}");
        };
        check("postgres@18", "18.6");
        check("postgres@11", "11.22");
        check("postgres@9.6", "9.6.24");
        check("postgres@12.3", "12.3");
        check("mysql@5.6", "5.6.24");
        check("mysql@5.5", "5.5.9");
        check("mariadb@10.1", "10.1.23");
        check("mariadb@10.11.5", "10.11.5");
        check("sqlite@", "bundled");
        check("sqlite@bundled", "bundled");
        check("sqlite@3.46", "3.46.0");
    }

    #[test]
    fn what_was_fetched_from_a_moving_suite_stays() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let moving = find("mysql").unwrap().releases().pop().unwrap();
        let put = |version: &str, origin: String| {
            let folder = places.builds().join(format!("mysql-{version}"));
            fs_err::create_dir(&folder).unwrap();
            let manifest = Manifest {
                server: "mysql".to_owned(),
                version: version.to_owned(),
                origin,
                ..Manifest::default()
            };
            manifest.write(&folder).unwrap();
        };
        put("5.6.24", "npm: x".to_owned());
        put("8.0.44", "import: x.tar.xz".to_owned());
        put("9.6.0", moving.package.origin());
        let check = |name, expected| {
            let found = resolve(&asked(name), &places).unwrap();
            assert_eq!((found.version.as_str(), found.source), (expected, Source::Cache), "{name}");
        };
        check("mysql@5.6", "5.6.24");
        check("mysql@8", "8.0.44");
        check("mysql@9.6", "9.6.0");
        check("mysql@9", "9.6.0");
        check("mysql@", "9.6.0");
        put("9.9.1", "import: y.tar.xz".to_owned());
        check("mysql@9", "9.9.1");
        // What was compiled of a user's own tree is nobody's release.
        let folder = places.builds().join("mysql-9.9.1");
        let mut manifest = Manifest::read(&folder).unwrap().unwrap();
        manifest.compiled = Some(Compiled::default());
        manifest.write(&folder).unwrap();
        check("mysql@9", "9.6.0");
    }

    #[test]
    fn a_build_whose_manifest_cannot_be_understood_is_installed_again() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let folder = places.builds().join("mysql-5.6.24");
        fs_err::create_dir(&folder).unwrap();
        fs_err::write(folder.join("dbdyno-build.toml"), "of = \"another version\"").unwrap();
        let own = resolve(&asked("mysql@5.6"), &places).unwrap();
        assert!(matches!(own.source, Source::Registry(_)), "{own:?}");
        assert_eq!(install::installed(&own, &places).unwrap(), None);
        assert_eq!(resolve(&asked("postgres@11"), &places).unwrap().version, "11.22");
    }

    #[test]
    fn a_version_that_no_source_holds_names_both_remedies() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let message = resolve(&asked("mysql@8.0.44"), &places).unwrap_err().to_string();
        assert_eq!(
            message,
            "no known source has `mysql@8.0.44`; `dbdyno list builds` shows what can be installed; \
             an experiment takes any other build by `[servers.NAME]` with `basedir`, and `dbdyno \
             install mysql@8.0.44 --from FILE` a vendor's tarball"
        );
        let message = resolve(&asked("sqlite@3.17"), &places).unwrap_err().to_string();
        assert!(message.starts_with("no known source has `sqlite@3.17`; "), "{message}");
        let message = resolve(&asked("oracle@1"), &places).unwrap_err().to_string();
        assert!(message.starts_with("unknown server `oracle`; choose one of `mysql`"), "{message}");
    }
}
