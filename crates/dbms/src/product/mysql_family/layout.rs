//! Where the parts of a MySQL or MariaDB build lie, whoever packed it.

use crate::{Error, Result, archive, installed::Program};
use fs_err as fs;
use std::path::{Path, PathBuf};

const PROGRAM_FOLDERS: &[&str] = &["bin", "sbin", "libexec", "usr/sbin", "usr/bin", "."];
const SHARE_FOLDERS: &[&str] =
    &["share", "share/mysql", "share/mariadb", "usr/share/mysql", "usr/share/mariadb"];
const PLUGIN_FOLDERS: &[&str] = &[
    "lib/plugin",
    "lib/mysql/plugin",
    "lib64/mysql/plugin",
    "usr/lib/mysql/plugin",
    "usr/lib64/mysql/plugin",
];
/// Where packages of a distribution put libraries, when unpacked into a folder.
const LIBRARY_FOLDERS: &[&str] = &["usr/lib", "lib"];
/// A data folder that comes with the build, for builds that cannot make one.
const TEMPLATE: &str = "template";

/// The parts of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// What the server calls its base folder.
    pub(super) base: PathBuf,
    /// Folder of messages, character sets and scripts.
    pub(super) share: Option<PathBuf>,
    /// Folder of plugins.
    pub(super) plugins: Option<PathBuf>,
    /// Ready data folder.
    pub(super) template: Option<PathBuf>,
}

impl Layout {
    pub(super) fn of(basedir: &Path) -> Self {
        let first = |folders: &[&str], inside: &str| {
            folders.iter().map(|f| basedir.join(f)).find(|path| path.join(inside).exists())
        };
        let usr = basedir.join("usr");
        Self {
            share: first(SHARE_FOLDERS, "english/errmsg.sys"),
            plugins: first(PLUGIN_FOLDERS, "."),
            template: first(&[TEMPLATE], "mysql/user.frm"),
            base: if is_unpacked_package(basedir) { usr } else { basedir.to_owned() },
        }
    }
}

/// Finds one of the programs, its loader and its libraries.
pub(super) fn program(server: &str, basedir: &Path, names: &[&str]) -> Result<Program> {
    let candidates = names
        .iter()
        .flat_map(|name| PROGRAM_FOLDERS.iter().map(move |folder| basedir.join(folder).join(name)));
    let binary = candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let missing = format!("bin/{}", names.first().unwrap_or(&""));
        Error::NoBuild { server: server.to_owned(), folder: basedir.to_owned(), missing }
    })?;
    let binary = fs::canonicalize(binary)?;
    let loader = if is_unpacked_package(basedir) { loader(basedir)? } else { Vec::new() };
    // Builds that bring libraries have them in `libs` or beside the program.
    let own: Vec<String> = [basedir.join("libs"), basedir.to_owned()]
        .iter()
        .filter(|folder| folder.join("libaio.so.1").exists() || folder.ends_with("libs"))
        .filter(|folder| folder.is_dir())
        .map(|folder| folder.display().to_string())
        .collect();
    let environment = if own.is_empty() {
        Vec::new()
    } else {
        vec![("LD_LIBRARY_PATH".to_owned(), own.join(":"))]
    };
    Ok(Program { binary, loader, environment })
}

fn is_unpacked_package(basedir: &Path) -> bool {
    basedir != Path::new("/") && basedir.join("usr").is_dir()
}

/// The loader that came with the build's own C library, and the folders of its libraries.
fn loader(basedir: &Path) -> Result<Vec<String>> {
    let mut program = None;
    let mut folders = Vec::new();
    for above in LIBRARY_FOLDERS {
        let above = basedir.join(above);
        if !above.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&above)? {
            let folder = entry?.path();
            let is_triplet = folder.is_dir()
                && folder.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-gnu"));
            if !is_triplet {
                continue;
            }
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with("ld-linux") {
                    program.get_or_insert_with(|| entry.path().display().to_string());
                }
            }
            folders.push(folder.display().to_string());
        }
    }
    Ok(match program {
        Some(program) => vec![program, "--library-path".to_owned(), folders.join(":")],
        None => Vec::new(),
    })
}

/// Turns what registries and makers pack into a base folder: the folder that holds the program
/// moves up.
pub(super) fn arrange(folder: &Path, names: &[&str]) -> Result<()> {
    if is_unpacked_package(folder) {
        return Ok(());
    }
    for name in names {
        let Some(program) = archive::find_file(folder, name, 6)? else { continue };
        let Some(holder) = program.parent() else { continue };
        let in_bin = ["bin", "sbin", "libexec"].iter().any(|name| holder.ends_with(name));
        let base = if in_bin { holder.parent().unwrap_or(holder) } else { holder };
        // Jars keep no modes.
        for entry in fs::read_dir(holder)? {
            let path = entry?.path();
            // Not through a link, which may lead anywhere.
            if fs::symlink_metadata(&path)?.is_file() {
                make_executable(&path)?;
            }
        }
        return archive::hoist(base, folder);
    }
    Ok(())
}

fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn a_makers_tarball_has_one_folder_around_it() {
        let folder = tempfile::tempdir().unwrap();
        touch(&folder.path().join("mysql-8.0.44-linux/bin/mysqld"));
        touch(&folder.path().join("mysql-8.0.44-linux/share/english/errmsg.sys"));
        touch(&folder.path().join("mysql-8.0.44-linux/lib/plugin/x.so"));
        arrange(folder.path(), &["mysqld"]).unwrap();
        let found = program("mysql", folder.path(), &["mysqld"]).unwrap();
        assert_eq!(found.binary, fs::canonicalize(folder.path().join("bin/mysqld")).unwrap());
        assert!(found.loader.is_empty());
        let layout = Layout::of(folder.path());
        assert_eq!(layout.base, folder.path());
        assert_eq!(layout.share, Some(folder.path().join("share")));
        assert_eq!(layout.plugins, Some(folder.path().join("lib/plugin")));
        assert_eq!(layout.template, None);
    }

    #[test]
    fn unpacked_packages_start_through_their_own_loader() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        touch(&base.join("usr/sbin/mariadbd"));
        touch(&base.join("usr/share/mysql/english/errmsg.sys"));
        touch(&base.join("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"));
        touch(&base.join("usr/lib/x86_64-linux-gnu/libsnappy.so.1"));
        let found = program("mariadb", base, &["mariadbd", "mysqld"]).unwrap();
        let library = |folder: &str| base.join(folder).display().to_string();
        assert_eq!(
            found.loader,
            [
                library("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
                "--library-path".to_owned(),
                format!(
                    "{}:{}",
                    library("usr/lib/x86_64-linux-gnu"),
                    library("lib/x86_64-linux-gnu")
                ),
            ]
        );
        assert_eq!(Layout::of(base).base, base.join("usr"));
    }

    #[test]
    fn a_folder_without_a_server_says_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let message = program("mysql", folder.path(), &["mysqld"]).unwrap_err().to_string();
        assert!(message.contains("holds no mysql build: `bin/mysqld` is missing"), "{message}");
    }
}
