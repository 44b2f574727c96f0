//! The cache of builds: one folder per version, complete or absent.

use crate::{
    Error, Installed, Places, Resolved, Result, Source, archive, find,
    installed::{Download, Manifest},
    package::Package,
    place,
    product::Dbms,
    registry::Destination,
};
use fs_err as fs;
use std::path::{Path, PathBuf};

/// Puts a build into the cache, if it is not there. Two callers of one build take turns; a build that was
/// broken off leaves nothing that looks complete. `progress` hears a sentence per step.
pub fn install(
    resolved: &Resolved,
    places: &Places,
    progress: &mut dyn FnMut(&str),
) -> Result<Installed> {
    if let Some(installed) = installed(resolved, places)? {
        return Ok(installed);
    }
    let Source::Registry(package) = &resolved.source else {
        return Err(not_installed(resolved));
    };
    let product = find(&resolved.server)?;
    let site = Site::of(&resolved.server, &resolved.version, places)?;
    let _lock = site.lock()?;
    if let Some(installed) = installed(resolved, places)? {
        return Ok(installed);
    }
    progress(&format!("fetching {}@{}", resolved.server, resolved.version));
    let downloads = site.fetch(package, places)?;
    progress(&format!("unpacking {}@{}", resolved.server, resolved.version));
    product.arrange(&site.partial)?;
    let origin = format!("{}: {}", package.registry, package.label());
    site.complete(product, places, (origin, downloads))
}

/// A build that is there already; `None` if it is not.
pub fn installed(resolved: &Resolved, places: &Places) -> Result<Option<Installed>> {
    let product = find(&resolved.server)?;
    match &resolved.source {
        Source::Basedir(folder) => Installed::of_folder(product, folder, places.user).map(Some),
        Source::Embedded(_) => Err(Error::Embedded { server: resolved.server.clone() }),
        Source::Cache | Source::Registry(_) => {
            let folder = folder_of(&resolved.server, &resolved.version, places);
            if Manifest::read(&folder)?.is_none() {
                return Ok(None);
            }
            Installed::of_folder(product, &folder, places.user).map(Some)
        }
    }
}

/// Puts a tarball of the user's into the cache as `SERVER@VERSION`; without a version, the program's own.
pub fn import_tarball(name: &str, tarball: &Path, places: &Places) -> Result<Installed> {
    let (server, version) = name.split_once('@').unwrap_or((name, ""));
    let product = find(server)?;
    if product.embedded() {
        return Err(Error::Embedded { server: server.to_owned() });
    }
    let site = Site::of(server, if version.is_empty() { "import" } else { version }, places)?;
    let _lock = site.lock()?;
    site.clear()?;
    archive::unpack(tarball, &site.partial)?;
    product.arrange(&site.partial)?;
    let file = tarball.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let downloads = vec![Download { file: file.clone(), sha256: archive::sha256(tarball)? }];
    let folder = site.partial.clone();
    place::own_build(&folder, places.user)?;
    let found = Installed::of_folder(product, &folder, places.user)?.version;
    if !version.is_empty() && !crate::version::fits(&found, version) {
        fs::remove_dir_all(&folder)?;
        let wanted = format!("{server} {version}");
        return Err(Error::OtherBuild { binary: tarball.to_owned(), found, wanted });
    }
    let site = Site { target: folder_of(server, &found, places), ..site };
    site.complete(product, places, (format!("import: {file}"), downloads))
}

/// Version and folder of every cached build of a product.
pub(crate) fn cached_versions(
    product: &dyn Dbms,
    places: &Places,
) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(places.builds())? {
        let folder = entry?.path();
        let hidden = folder.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if hidden || !folder.is_dir() {
            continue;
        }
        if let Some(manifest) = Manifest::read(&folder)?.filter(|m| m.server == product.name()) {
            found.push((manifest.version, folder));
        }
    }
    Ok(found)
}

fn folder_of(server: &str, version: &str, places: &Places) -> PathBuf {
    places.builds().join(format!("{server}-{version}"))
}

fn not_installed(resolved: &Resolved) -> Error {
    Error::NotInstalled { server: resolved.server.clone(), version: resolved.version.clone() }
}

/// Where one build is put together.
struct Site {
    target: PathBuf,
    partial: PathBuf,
    scratch: PathBuf,
    lock: PathBuf,
}

impl Site {
    fn of(server: &str, version: &str, places: &Places) -> Result<Self> {
        let builds = places.builds();
        let hidden = |kind: &str| builds.join(format!(".{server}-{version}.{kind}"));
        Ok(Self {
            target: folder_of(server, version, places),
            partial: hidden("partial"),
            scratch: hidden("scratch"),
            lock: hidden("lock"),
        })
    }

    fn lock(&self) -> Result<fs::File> {
        let file = fs::File::create(&self.lock)?;
        file.file().lock()?;
        Ok(file)
    }

    fn clear(&self) -> Result<()> {
        for folder in [&self.partial, &self.scratch] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::create_dir(folder)?;
        }
        Ok(())
    }

    fn fetch(&self, package: &Package, places: &Places) -> Result<Vec<Download>> {
        self.clear()?;
        let to = Destination { scratch: &self.scratch, folder: &self.partial };
        let files = package.registry()?.fetch(package, places, &to)?;
        let download = |path: &PathBuf| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Download { file, sha256: archive::sha256(path)? })
        };
        files.iter().map(download).collect()
    }

    fn complete(
        &self,
        product: &dyn Dbms,
        places: &Places,
        (origin, downloads): (String, Vec<Download>),
    ) -> Result<Installed> {
        place::own_build(&self.partial, places.user)?;
        let found = Installed::of_folder(product, &self.partial, places.user)?;
        let manifest = Manifest {
            server: found.server,
            version: found.version,
            origin,
            binary_sha256: found.binary_sha256,
            downloads,
        };
        manifest.write(&self.partial)?;
        place::own_build(&self.partial, places.user)?;
        if self.scratch.exists() {
            fs::remove_dir_all(&self.scratch)?;
        }
        if self.target.exists() {
            fs::remove_dir_all(&self.target)?;
        }
        fs::rename(&self.partial, &self.target)?;
        Installed::of_folder(product, &self.target, places.user)
    }
}
