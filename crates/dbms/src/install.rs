//! The cache of builds: one folder per version, complete or absent.

use crate::{
    Error, Installed, Places, Resolved, Result, Source, Watch, archive,
    basedir::installed_in,
    compile, find, folder, integrity,
    known::Wanted,
    leftovers::try_lock,
    manifest::{Download, Manifest},
    package::Package,
    product::Dbms,
    registry::{self, Destination},
    version::fits,
};
use fs_err as fs;
use model::subject::Build;
use std::path::{Path, PathBuf};

/// Start of the origin of a build that the user gave.
const IMPORT: &str = "import: ";

/// Puts a build into the cache, if it is not there. Two callers of one build take turns; a build
/// that was broken off leaves nothing that looks complete. `progress` hears a sentence per step.
pub fn install(
    resolved: &Resolved,
    places: &Places,
    progress: &mut dyn FnMut(&str),
) -> Result<Installed> {
    install_while(resolved, places, &mut Watch { progress, stopped: &|| false })
}

/// The same, which ends early where compiling a build would go on after it is to stop.
pub fn install_while(
    resolved: &Resolved,
    places: &Places,
    watch: &mut Watch<'_>,
) -> Result<Installed> {
    if let Source::Tree(order) = &resolved.source {
        return compile::make(order, places, watch);
    }
    if let Some(installed) = installed(resolved, places)? {
        return Ok(installed);
    }
    let Source::Registry(package) = &resolved.source else {
        return Err(not_installed(resolved));
    };
    let product = find(&resolved.server)?;
    let site = Site::of(&resolved.server, &resolved.version, places);
    let _lock = site.lock(&format!("{}@{}", resolved.server, resolved.version), watch)?;
    if let Some(installed) = installed(resolved, places)? {
        return Ok(installed);
    }
    Site::sweep_killed(places);
    (watch.progress)(&format!("fetching {}@{}", resolved.server, resolved.version));
    let wanted = Wanted { server: &resolved.server, version: &resolved.version };
    let build = site.fetch(package, places).and_then(|(files, downloads)| {
        wanted.check(&downloads, places)?;
        (watch.progress)(&format!("unpacking {}@{}", resolved.server, resolved.version));
        (registry::of(package)?.unpack)(package, &files, &site.destination())?;
        product.arrange(&site.partial)?;
        wanted.remember(package, &downloads, places)?;
        site.complete(product, places, package.origin(), downloads)
    });
    site.sweep();
    build
}

/// A build that is there already; `None` if it is not.
pub fn installed(resolved: &Resolved, places: &Places) -> Result<Option<Installed>> {
    let product = find(&resolved.server)?;
    match &resolved.source {
        Source::Basedir(folder) => installed_in(product, folder, places.user).map(Some),
        Source::Attached => Ok(None),
        Source::Embedded(_) => Err(Error::Embedded { server: resolved.server.clone() }),
        Source::Tree(order) => compile::installed(order, places),
        Source::Cache | Source::Registry(_) => {
            let folder = folder_of(&resolved.server, &resolved.version, places);
            // One that somebody else could change is as good as none.
            let ours = Some(&folder).filter(|folder| folder::is_ours(folder));
            let Some(manifest) = ours.and_then(|folder| Manifest::of_cached(folder)) else {
                return Ok(None);
            };
            if !manifest.origin.starts_with(IMPORT) {
                let wanted = Wanted { server: &resolved.server, version: &resolved.version };
                wanted.check_shipped(&manifest.downloads)?;
            }
            installed_in(product, &folder, places.user).map(Some)
        }
    }
}

/// Puts a tarball of the user's into the cache as `SERVER@VERSION`; without a version, the
/// program's own. `progress` hears where another build is waited for.
pub fn import_tarball(
    name: &str,
    tarball: &Path,
    places: &Places,
    progress: &mut dyn FnMut(&str),
) -> Result<Installed> {
    let Build { server, version, .. } = &Build::named(name);
    let product = find(server)?;
    if product.embedded() {
        return Err(Error::Embedded { server: server.clone() });
    }
    // It becomes a part of a folder's name.
    let good = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if version.starts_with('.') || !version.chars().all(good) {
        return Err(Error::UnknownVersion {
            server: server.clone(),
            version: version.clone(),
            remedy: "a version has letters, digits and `._+-`".to_owned(),
        });
    }
    let site = Site::of(server, if version.is_empty() { "import" } else { version }, places);
    let _lock = site.lock(name, &mut Watch { progress, stopped: &|| false })?;
    let build = site.import(product, tarball, version, places);
    site.sweep();
    build
}

/// Manifests of all cached builds of a product.
pub(crate) fn cached(product: &dyn Dbms, places: &Places) -> Result<Vec<Manifest>> {
    let mut found = Vec::new();
    // Whoever only looks makes no folder.
    let builds = places.builds();
    if !builds.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(builds)? {
        let folder = entry?.path();
        let hidden = folder.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if hidden || !folder.is_dir() || !folder::is_ours(&folder) {
            continue;
        }
        found.extend(Manifest::of_cached(&folder).filter(|m| m.server == product.name()));
    }
    Ok(found)
}

pub(crate) fn folder_of(server: &str, version: &str, places: &Places) -> PathBuf {
    places.builds().join(format!("{server}-{version}"))
}

fn not_installed(resolved: &Resolved) -> Error {
    Error::NotInstalled { server: resolved.server.clone(), version: resolved.version.clone() }
}

/// Where one build is put together.
pub(crate) struct Site {
    partial: PathBuf,
    scratch: PathBuf,
    lock: PathBuf,
}

impl Site {
    pub(crate) fn of(server: &str, version: &str, places: &Places) -> Self {
        let builds = places.builds();
        let hidden = |kind: &str| builds.join(format!(".{server}-{version}.{kind}"));
        Self { partial: hidden("partial"), scratch: hidden("scratch"), lock: hidden("lock") }
    }

    /// Waits for the turn to put it together, which ends with the file.
    pub(crate) fn lock(&self, label: &str, watch: &mut Watch<'_>) -> Result<fs::File> {
        watch.turn(&self.lock, label)
    }

    fn clear(&self, places: &Places) -> Result<()> {
        for folder in [&self.partial, &self.scratch] {
            if folder.exists() {
                folder::remove(folder)?;
            }
            // Clients that give up root's rights have to pass.
            places.make(folder, places.readable())?;
        }
        Ok(())
    }

    pub(crate) fn destination(&self) -> Destination<'_> {
        Destination { scratch: &self.scratch, folder: &self.partial }
    }

    /// Fetches a package; its files where they lie now, and as the manifest names them.
    pub(crate) fn fetch(
        &self,
        package: &Package,
        places: &Places,
    ) -> Result<(Vec<PathBuf>, Vec<Download>)> {
        self.clear(places)?;
        let files = (registry::of(package)?.fetch)(package, places, &self.destination())?;
        let download = |path: &PathBuf| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Download { file, sha256: archive::sha256(path)? })
        };
        let downloads = files.iter().map(download).collect::<Result<_>>()?;
        Ok((files, downloads))
    }

    /// What is no server goes to its place as it was unpacked.
    pub(crate) fn settle(&self, target: &Path) -> Result<()> {
        folder::make_readable(&self.partial)?;
        Ok(fs::rename(&self.partial, target)?)
    }

    fn import(
        &self,
        product: &dyn Dbms,
        tarball: &Path,
        version: &str,
        places: &Places,
    ) -> Result<Installed> {
        self.clear(places)?;
        archive::unpack(tarball, &self.partial)?;
        product.arrange(&self.partial)?;
        Manifest::remove(&self.partial)?;
        folder::make_readable(&self.partial)?;
        let found = installed_in(product, &self.partial, places.user)?.version;
        if !fits(&found, version) {
            let wanted = format!("{} {version}", product.name());
            return Err(Error::OtherBuild { binary: tarball.to_owned(), found, wanted });
        }
        let file = tarball.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let origin = format!("{IMPORT}{file}");
        let downloads = vec![Download { file, sha256: archive::sha256(tarball)? }];
        self.complete(product, places, origin, downloads)
    }

    /// Removes what a build leaves that failed; what cannot be removed is removed by the next one.
    pub(crate) fn sweep(&self) {
        for folder in [&self.partial, &self.scratch] {
            let _ = folder::remove(folder);
        }
    }

    /// The same for all builds that nobody is at: whoever was killed has left what may be large.
    fn sweep_killed(places: &Places) {
        let entries = fs::read_dir(places.builds()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        for lock in paths.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
            let [partial, scratch] = ["partial", "scratch"].map(|end| lock.with_extension(end));
            let site = Self { partial, scratch, lock };
            let Ok(turn) = fs::OpenOptions::new().append(true).open(&site.lock) else { continue };
            if try_lock(&turn).unwrap_or(false) {
                site.sweep();
            }
        }
    }

    fn complete(
        &self,
        product: &dyn Dbms,
        places: &Places,
        origin: String,
        downloads: Vec<Download>,
    ) -> Result<Installed> {
        folder::make_readable(&self.partial)?;
        let found = installed_in(product, &self.partial, places.user)?;
        let manifest = Manifest {
            server: found.server,
            version: found.version,
            origin,
            binary_sha256: found.binary_sha256,
            downloads,
            files: integrity::code_files(&self.partial)?,
            compiled: None,
        };
        manifest.write(&self.partial)?;
        folder::make_readable(&self.partial)?;
        // Named by what it is: a suite may have moved since it was asked.
        let target = folder_of(product.name(), &manifest.version, places);
        folder::remove_build(&target)?;
        fs::rename(&self.partial, &target)?;
        installed_in(product, &target, places.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_installs_have_left_is_removed_and_what_is_put_together_is_not() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let [left, used] = ["8.0.1", "9.7.4"].map(|version| Site::of("mysql", version, &places));
        for folder in [&left.partial, &left.scratch, &used.partial] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(&left.lock, "").unwrap();
        let mut watch = Watch { progress: &mut |_: &str| (), stopped: &|| false };
        let _turn = used.lock("mysql@9.7.4", &mut watch).unwrap();
        Site::sweep_killed(&places);
        assert!(!left.partial.exists() && !left.scratch.exists() && used.partial.exists());
    }
}
