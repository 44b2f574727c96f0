//! `cargo xtask sqlite-releases`: releases of the crate that holds SQLite's source, from the newest
//! down to those that dbdyno knows, as entries for `crates/dbms/src/registry/known.toml`.
//!
//! Cargo itself is asked, as every user's machine can: for the newest release, then for the newest
//! one below it, and so on. Nothing is compiled.

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

const CRATE: &str = "libsqlite3-sys";
const KNOWN: &str = "crates/dbms/src/registry/known.toml";
/// Older ones hold no SQLite that dbdyno can use.
const OLDEST: &str = "0.9.4";

/// Prints the entries that are missing.
pub(crate) fn execute() -> Result<()> {
    let known = fs::read_to_string(KNOWN)?;
    let folder = std::env::temp_dir().join(format!("dbdyno-releases-{}", std::process::id()));
    let found = missing(&folder, &known);
    fs::remove_dir_all(&folder)?;
    for entry in found? {
        crate::say(&entry);
    }
    Ok(())
}

fn missing(folder: &Path, known: &str) -> Result<Vec<String>> {
    let mut entries: Vec<String> = Vec::new();
    let mut below = String::new();
    loop {
        let asked = if below.is_empty() { "*".to_owned() } else { format!("<{below}") };
        let release = release(folder, &asked)?;
        let entry = format!("[\"sqlite@{}\"]", release.sqlite);
        let is_known = known.contains(&entry) || entries.iter().any(|e| e.starts_with(&entry));
        if !is_known {
            let (version, sha256) = (&release.version, sha256(&release)?);
            entries.push(format!(
                "{entry}\nat = \"{version}\"\nfiles.\"{CRATE}-{version}.crate\" = \"{sha256}\"\n"
            ));
        }
        if known.contains(&format!("{CRATE}-{}.crate", release.version))
            || release.version == OLDEST
        {
            return Ok(entries);
        }
        below = release.version;
    }
}

/// A release of the crate.
struct Release {
    version: String,
    /// Version of the SQLite in it.
    sqlite: String,
    /// Where Cargo keeps its content.
    content: PathBuf,
}

/// The newest release that fits.
fn release(folder: &Path, asked: &str) -> Result<Release> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"ask\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[workspace]\n\
         [dependencies]\n{CRATE} = {{ version = \"{asked}\", default-features = false }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let mut command = Command::new("cargo");
    command.args(["metadata", "--quiet", "--format-version", "1"]).current_dir(folder);
    let output = command.output().context("cannot execute `cargo`")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo finds no {CRATE} {asked}: {said}");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo tells no packages")?;
    let package = packages.iter().find(|package| package["name"] == CRATE);
    let package = package.context("cargo tells nothing of the crate")?;
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let content = PathBuf::from(text("manifest_path"));
    let content = content.parent().context("no folder")?.to_owned();
    let sqlite = version_of(&content.join("sqlite3/sqlite3.c"))?;
    Ok(Release { version: text("version"), sqlite, content })
}

/// What the source says that it is: releases of the crate do not say it.
fn version_of(source: &Path) -> Result<String> {
    let text = String::from_utf8_lossy(&fs::read(source)?).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
    let version = line.and_then(|rest| rest.split('"').nth(1)).context("no version of SQLite")?;
    Ok(version.to_owned())
}

/// The checksum of the file that Cargo fetched.
fn sha256(release: &Release) -> Result<String> {
    let registry = release.content.parent().context("no registry")?;
    let root = registry.parent().and_then(Path::parent).context("no registry")?;
    let name = registry.file_name().context("no registry")?;
    let file = format!("{CRATE}-{}.crate", release.version);
    let path = root.join("cache").join(name).join(file);
    let output = Command::new("sha256sum").arg(&path).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split(' ').next().map(str::to_owned).context("no checksum")
}
