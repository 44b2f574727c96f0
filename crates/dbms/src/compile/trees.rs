//! Which states of source trees the builds of a run were compiled from.

use crate::{Installed, Result, manifest::Manifest, source};
use model::{recipe::Tree, subject::Build};

/// The trees of the builds so far.
#[derive(Debug, Default)]
pub struct Trees {
    seen: Vec<Seen>,
}

/// A tree, and what identifies the state of it that was compiled.
#[derive(Debug)]
struct Seen {
    tree: Tree,
    hash: String,
}

impl Trees {
    /// Fails where an earlier build of the same tree was compiled from another state of it: what
    /// was changed in between would look like an effect of compilers or options.
    pub fn check(&mut self, build: &Build, installed: &Installed) -> Result<()> {
        let Some(tree) = &build.compilation.tree else { return Ok(()) };
        let manifest = Manifest::read(&installed.basedir)?;
        let Some(compiled) = manifest.and_then(|manifest| manifest.compiled) else { return Ok(()) };
        match self.seen.iter().find(|seen| seen.tree == *tree) {
            Some(seen) if seen.hash != compiled.tree => {
                let reason = "changed before all of its variants were compiled; run again, and \
                              leave it as it is until they are";
                Err(source::refused(tree, reason))
            }
            Some(_) => Ok(()),
            None => {
                self.seen.push(Seen { tree: tree.clone(), hash: compiled.tree });
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Compiled;
    use model::recipe::Compilation;
    use std::path::PathBuf;

    #[test]
    fn variants_of_a_tree_that_changed_between_their_builds_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let installed = |hash: &str| {
            let basedir = root.path().join(hash);
            fs_err::create_dir_all(&basedir).unwrap();
            let compiled = Compiled { tree: hash.to_owned(), ..Compiled::default() };
            let manifest = Manifest { compiled: Some(compiled), ..Manifest::default() };
            manifest.write(&basedir).unwrap();
            Installed {
                server: "postgres".to_owned(),
                version: "19".to_owned(),
                basedir,
                binary: PathBuf::new(),
                binary_sha256: String::new(),
                loader: Vec::new(),
                environment: Vec::new(),
            }
        };
        let build = |at: &str| {
            let (kind, at) = ("path".to_owned(), at.to_owned());
            let tree = Some(Tree { kind, at, revision: String::new() });
            let compilation = Compilation { tree, ..Compilation::default() };
            Build { compilation, ..Build::of("postgres", "") }
        };
        let mut trees = Trees::default();
        let mut check = |at: &str, hash: &str| {
            let found = trees.check(&build(at), &installed(hash));
            found.map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(check("/src/patched", "a"), "");
        assert_eq!(check("/src/patched", "a"), "");
        assert_eq!(check("/src/master", "b"), "", "another tree");
        let said = check("/src/patched", "b");
        assert!(said.starts_with("the source `path /src/patched` changed before all"), "{said}");
        let named = Build::named("postgres@18");
        assert!(trees.check(&named, &installed("c")).is_ok(), "of no tree");
    }
}
