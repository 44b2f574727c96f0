//! What can go wrong with builds from source, in one sentence each.

use std::path::PathBuf;

/// Why there is no build from a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A product has no recipe.
    #[error("`{server}` has no recipe; name one by `recipe`, or give a folder by `basedir`")]
    NoRecipe {
        /// Product.
        server: String,
    },
    /// A recipe cannot be followed.
    #[error("cannot compile {server}: {reason}")]
    Recipe {
        /// Product.
        server: String,
        /// Why, and the remedy.
        reason: String,
    },
    /// A source tree is none.
    #[error("the source `{tree}` {reason}")]
    Source {
        /// Kind and name.
        tree: String,
        /// What is wrong with it, and the remedy.
        reason: String,
    },
    /// There is no compiler.
    #[error(
        "this host has no compiler `{name}` in `/usr/local/bin`, `/usr/bin` or `/bin`: install it, \
         or name another by `compiler`"
    )]
    NoCompiler {
        /// As it was asked for.
        name: String,
    },
    /// A build failed.
    #[error(
        "cannot compile {build}: {reason}; the log is `{path}`, and ends with:\n{log}",
        path = path.display()
    )]
    Failed {
        /// What was compiled.
        build: String,
        /// Which step failed, and how.
        reason: String,
        /// Its log.
        path: PathBuf,
        /// Last lines of its log.
        log: String,
    },
    /// A build was interrupted.
    #[error("compiling {build} was interrupted; the next run begins it anew")]
    Interrupted {
        /// What was compiled.
        build: String,
    },
}
