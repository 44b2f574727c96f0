//! PyPI: a wheel per version, whose files that are no Python are taken. The wheel is asked for
//! by the Python that it is for, so that every host gets the same file.

use super::{Destination, Registry};
use crate::{Places, Result, client, package::Package};
use std::path::PathBuf;

pub(super) const REGISTRY: Registry =
    Registry { name: "pypi", lookup: super::as_written, fetch, unpack: super::unpacked };

/// What chooses one wheel of a version; nothing of it is executed.
const WHEEL: [&str; 11] = [
    "--quiet",
    "--no-deps",
    "--only-binary",
    ":all:",
    "--implementation",
    "cp",
    "--python-version",
    "3.11",
    "--platform",
    "manylinux_2_28_x86_64",
    "--dest",
];

fn fetch(package: &Package, _: &Places, to: &Destination<'_>) -> Result<Vec<PathBuf>> {
    let name = package.names.first().map_or("", String::as_str);
    let folder = to.scratch.join("wheels");
    let mut words = ["-m", "pip", "download"].map(str::to_owned).to_vec();
    words.extend(WHEEL.map(str::to_owned));
    words.push(folder.display().to_string());
    words.push(format!("{name}=={}", package.at));
    client::run("python3", &words, to.scratch, &package.label())?;
    super::only(super::files_in(&folder, "whl")?, "pip", package)
}
