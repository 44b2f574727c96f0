//! `allocator`: the library that a server takes its memory from.

use super::Factor;
use crate::{Places, allocators};
use model::subject::Subject;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// The level of what a server is linked with.
pub(super) const OWN: &str = "own";

pub(super) const VARIABLE: &str = "LD_PRELOAD";

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "allocator",
    help: "`jemalloc`, `tcmalloc`, `mimalloc`, the path of a library, or `own` for what the \
           server is linked with",
    give,
    label,
    // `environment` reads back what is preloaded.
    missed: |_| None,
};

fn give(level: &str, subject: &mut Subject, places: &Places) -> Result<(), String> {
    if level == OWN {
        return Ok(());
    }
    let library = if level.starts_with('/') {
        let path = PathBuf::from(level);
        if !path.is_file() {
            return Err(format!("there is no library `{level}`"));
        }
        if !is_library(&path) {
            return Err(format!("`{level}` is no shared library, which a program can load"));
        }
        path
    } else {
        let unknown = || {
            let names = allocators::names();
            format!("`{level}` is no allocator: write {names}, `{OWN}`, or a path with `/`")
        };
        allocators::library(level, places).ok_or_else(unknown)?
    };
    let library = library.display().to_string();
    let environment = &mut subject.build.environment;
    match environment.iter_mut().find(|(name, _)| name == VARIABLE) {
        // The first library that has a function is called.
        Some((_, others)) => *others = format!("{library}:{others}"),
        None => environment.push((VARIABLE.to_owned(), library)),
    }
    Ok(())
}

/// A path is shown by its last part.
fn label(level: &str) -> String {
    let file = Path::new(level).file_name();
    file.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
/// Whether a file begins as an ELF file that is shared.
fn is_library(path: &Path) -> bool {
    let mut head = [0; 18];
    let read = fs_err::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok()
        && head.starts_with(b"\x7fELF")
        && u16::from_le_bytes([head[16], head[17]]) == SHARED
}

/// The type of an ELF file that is loaded anywhere: `ET_DYN`.
const SHARED: u16 = 3;
