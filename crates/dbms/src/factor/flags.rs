//! `flags`: the options that a build from source is compiled with.

use super::Factor;
use crate::{Places, check_source};
use model::subject::Subject;

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "flags",
    help: "a set of compiler options of the recipe (`rel`), or options themselves (`-O3`), of \
           builds from source",
    give,
    label,
    // A build is found by the hash of its options, or it is another one.
    missed: |_| None,
};

fn give(level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
    level.clone_into(&mut subject.build.compilation.flags);
    check_source(&subject.build).map_err(|error| error.to_string())
}

fn label(level: &str) -> String {
    level.trim_start_matches('-').to_owned()
}
