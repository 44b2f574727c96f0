//! Cargo: one `.crate` per version, a tarball with everything in one folder. Nothing of it is
//! compiled or executed here.

use super::{Destination, Registry};
use crate::{
    Error, Places, Result, client,
    package::{CRATE, Package},
};
use fs_err as fs;
use std::path::{Path, PathBuf};

pub(super) const REGISTRY: Registry =
    Registry { name: CRATE, lookup: super::as_written, fetch, unpack: super::unpacked };

fn fetch(package: &Package, _: &Places, to: &Destination<'_>) -> Result<Vec<PathBuf>> {
    let name = package.names.first().map_or("", String::as_str);
    // A throw-away package that needs the crate and nothing of its features.
    fs::create_dir_all(to.scratch.join("src"))?;
    fs::write(to.scratch.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[workspace]\n\
         [dependencies.wanted]\npackage = \"{name}\"\nversion = \"={}\"\n\
         default-features = false\n",
        package.at
    );
    fs::write(to.scratch.join("Cargo.toml"), manifest)?;
    let words = ["metadata", "--format-version", "1", "--quiet"];
    let text = client::run("cargo", &words, to.scratch, &package.label())?;
    let file = format!("{name}-{}.crate", package.at);
    let archive = archive_of(&text, name).map(|folder| folder.join(&file));
    archive.filter(|path| path.is_file()).map(|path| vec![path]).ok_or_else(|| {
        Error::ClientFailed {
            program: "cargo".to_owned(),
            package: package.label(),
            text: format!("it keeps no `{file}`"),
        }
    })
}

/// The folder where Cargo keeps the archive of a crate, by where it keeps its content:
/// `registry/src/REGISTRY/CRATE/Cargo.toml` and `registry/cache/REGISTRY`.
fn archive_of(metadata: &str, name: &str) -> Option<PathBuf> {
    let metadata: serde_json::Value = serde_json::from_str(metadata).ok()?;
    let packages = metadata["packages"].as_array()?;
    let package = packages.iter().find(|package| package["name"] == name)?;
    let content = Path::new(package["manifest_path"].as_str()?).parent()?;
    let registry = content.parent()?;
    let root = registry.parent().filter(|folder| folder.ends_with("src"))?.parent()?;
    Some(root.join("cache").join(registry.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_lies_beside_its_content() {
        let text = r#"{"packages": [{"name": "fetch", "manifest_path": "/t/Cargo.toml"},
            {"name": "a-sys", "manifest_path": "/c/registry/src/x-1/a-sys-0.1.0/Cargo.toml"},
            {"name": "b", "manifest_path": "/vendor/b/Cargo.toml"}]}"#;
        assert_eq!(archive_of(text, "a-sys"), Some(PathBuf::from("/c/registry/cache/x-1")));
        assert_eq!(archive_of(text, "b"), None);
        assert_eq!(archive_of("no JSON", "b"), None);
    }
}
