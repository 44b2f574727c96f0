//! `flags`: the options that a build from source is compiled with.

use super::{Factor, Up};
use crate::{Places, check_source};
use model::subject::Subject;

/// The factor.
pub(super) struct Flags;

impl Factor for Flags {
    fn name(&self) -> &'static str {
        "flags"
    }

    fn help(&self) -> &'static str {
        "a set of compiler options of the recipe (`rel`), or options themselves (`-O3`), of builds \
         from source"
    }

    fn give(&self, level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
        level.clone_into(&mut subject.build.compilation.flags);
        check_source(&subject.build).map_err(|error| error.to_string())
    }

    fn label(&self, level: &str) -> String {
        level.trim_start_matches('-').to_owned()
    }

    /// A build is found by the hash of its options, or it is another one.
    fn missed(&self, _: &Up<'_>) -> Option<String> {
        None
    }
}
