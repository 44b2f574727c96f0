//! `compiler`: what a build from source is compiled by.

use super::Factor;
use crate::{Places, check_source};
use model::subject::Subject;
use std::path::Path;

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "compiler",
    help: "`gcc`, `clang`, `gcc-12` or the path of a C compiler, of builds from source",
    give,
    label,
    // A build is found by the hash of what its compiler says, or it is another one.
    missed: |_| None,
};

fn give(level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
    level.clone_into(&mut subject.build.compilation.compiler);
    check_source(&subject.build).map_err(|error| error.to_string())
}

/// A path is shown by its last part.
fn label(level: &str) -> String {
    let file = Path::new(level).file_name();
    file.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
