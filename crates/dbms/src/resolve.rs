//! From `SERVER@VERSION` to one exact build and where it comes from.

use crate::{
    Error, Installed, Places, Result, find, install,
    package::{Moves, Package, Release},
    product::Dbms,
    version::{fits, numbers, upstream},
};
use model::subject::Build;
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
}

/// One exact build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Product.
    pub server: String,
    /// Exact version, for labels; `bundled` for an embedded product without one.
    pub version: String,
    /// Where it comes from.
    pub source: Source,
}

/// Finds the newest build that fits. Installs nothing; asks a registry only for suites that move and of
/// which no fitting build is installed.
pub fn resolve(build: &Build, places: &Places) -> Result<Resolved> {
    let product = find(&build.server)?;
    let resolved = |version: &str, source| Resolved {
        server: build.server.clone(),
        version: version.to_owned(),
        source,
    };
    if product.embedded() {
        let version = if build.version.is_empty() { "bundled" } else { &build.version };
        return Ok(resolved(version, Source::Embedded(build.basedir.clone())));
    }
    if let Some(basedir) = &build.basedir {
        let installed = Installed::of_folder(product, basedir, places.user)?;
        return if fits(&installed.version, &build.version) {
            Ok(resolved(&installed.version, Source::Basedir(basedir.clone())))
        } else {
            let wanted = format!("{} {}", build.server, build.version);
            Err(Error::OtherBuild { binary: installed.binary, found: installed.version, wanted })
        };
    }
    let cached = install::cached_versions(product, places)?;
    let newest_cached = newest(cached.iter().map(|(version, _)| version.as_str()), &build.version);
    let releases = product.releases();
    let release = releases
        .iter()
        .filter(|release| fits(&release.version, &build.version))
        .max_by_key(|release| numbers(&release.version));
    match (release, newest_cached) {
        (None, Some(version)) => Ok(resolved(version, Source::Cache)),
        (None, None) => lookup_other(product, build, places),
        (Some(release), cached_version) => {
            // A cached build of a moving suite stays what it was; imports may be newer than every release.
            let keeps = release.moves == Moves::Always
                || cached_version.is_some_and(|v| numbers(v) >= numbers(&release.version));
            match cached_version.filter(|_| keeps) {
                Some(version) => Ok(resolved(version, Source::Cache)),
                None => from_release(product, build, release, places),
            }
        }
    }
}

fn newest<'a>(versions: impl Iterator<Item = &'a str>, prefix: &str) -> Option<&'a str> {
    versions.filter(|version| fits(version, prefix)).max_by_key(|version| numbers(version))
}

fn from_release(
    product: &dyn Dbms,
    build: &Build,
    release: &Release,
    places: &Places,
) -> Result<Resolved> {
    let version = match release.moves {
        Moves::Never => release.version.clone(),
        Moves::Always => upstream(&release.package.lookup(places)?).to_owned(),
    };
    if !fits(&version, &build.version) {
        let remedy = format!(
            "the registry now holds {version}: ask for `{}@{version}`, or give the folder of a build by `basedir`",
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
            let found = release.package.lookup(places)?;
            if fits(upstream(&found), &build.version) {
                return from_release(product, build, &release, places);
            }
        }
    }
    let remedy = format!(
        "give the folder of a build by `basedir`, or unpack its maker's tarball by `dbdyno install {}@{} --from FILE`",
        build.server, build.version
    );
    Err(unknown(build, remedy))
}

fn unknown(build: &Build, remedy: String) -> Error {
    Error::UnknownVersion { server: build.server.clone(), version: build.version.clone(), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str) -> Build {
        let (server, version) = name.split_once('@').unwrap();
        Build {
            server: server.to_owned(),
            version: version.to_owned(),
            basedir: None,
            attach: None,
            prefix: Vec::new(),
            environment: Vec::new(),
        }
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
    }

    #[test]
    fn a_version_that_no_source_holds_names_both_remedies() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let message = resolve(&asked("mysql@8.0.44"), &places).unwrap_err().to_string();
        assert_eq!(
            message,
            "no known source holds `mysql@8.0.44`; give the folder of a build by `basedir`, or unpack its \
             maker's tarball by `dbdyno install mysql@8.0.44 --from FILE`"
        );
        let message = resolve(&asked("oracle@1"), &places).unwrap_err().to_string();
        assert!(message.starts_with("unknown server `oracle`; known are `mysql`"), "{message}");
    }
}
