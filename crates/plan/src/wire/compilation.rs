//! Builds from source: `source`, `flags`, `compiler` and `recipe` of `[servers.NAME]`.

use crate::source::{Fault, Source, Under};
use model::recipe::{Compilation, Recipe, Tree};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// `source = { … }`: a tree that is compiled. One of `path`, `git` with `rev`, `archive`, `crate`
/// with `version`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WireTree {
    /// A folder.
    path: Option<String>,
    /// A repository: a folder or an address.
    git: Option<String>,
    /// Its tag, branch or commit.
    rev: Option<String>,
    /// A tarball or zip file.
    archive: Option<String>,
    /// A package of Rust that holds the source of a library.
    #[serde(rename = "crate")]
    package: Option<String>,
    /// Its exact version.
    version: Option<String>,
}

/// What a server has to do with compiling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) tree: Option<&'a WireTree>,
    pub(crate) flags: Option<&'a String>,
    pub(crate) compiler: Option<&'a String>,
    pub(crate) recipe: Option<&'a PathBuf>,
}

impl Parts<'_> {
    /// The checked compilation. A recipe of the user's is read here, so that a plan holds it.
    pub(crate) fn check(self) -> Result<Compilation, Fault> {
        Ok(Compilation {
            tree: self.tree.map(WireTree::check).transpose().under("source")?,
            flags: self.flags.cloned().unwrap_or_default(),
            compiler: self.compiler.cloned().unwrap_or_default(),
            recipe: self.recipe.map(|path| recipe(path)).transpose().under("recipe")?,
        })
    }
}

impl WireTree {
    fn check(&self) -> Result<Tree, Fault> {
        let kinds = [
            ("path", &self.path, None),
            ("git", &self.git, Some(("rev", &self.rev))),
            ("archive", &self.archive, None),
            ("crate", &self.package, Some(("version", &self.version))),
        ];
        let given: Vec<_> =
            kinds.iter().filter_map(|(kind, at, more)| Some((kind, at.as_ref()?, more))).collect();
        let [(kind, at, more)] = given.as_slice() else {
            let reason = "a `source` has one of `path`, `git` with `rev`, `archive`, and `crate` \
                          with `version`";
            return Err(Fault::invalid(reason));
        };
        let revision = match more {
            Some((key, None)) => {
                return Err(Fault::invalid(format!("`{kind}` needs `{key}`; add it")));
            }
            Some((_, Some(revision))) => revision.clone(),
            None => String::new(),
        };
        let others = [("rev", &self.rev), ("version", &self.version)];
        let of_kind = |key: &str| more.is_some_and(|(own, _)| own == key);
        if let Some((key, _)) = others.iter().find(|(key, v)| v.is_some() && !of_kind(key)) {
            let reason = format!("`{kind}` has no `{key}`; remove it");
            return Err(Fault::invalid(reason)).under(key);
        }
        Ok(Tree { kind: (**kind).to_owned(), at: (*at).clone(), revision })
    }
}

fn recipe(path: &Path) -> Result<Recipe, Fault> {
    let source = Source::read(path)?;
    let recipe: Recipe = source.parse()?;
    match recipe.check() {
        Ok(()) => Ok(recipe),
        Err(reason) => Err(Fault::invalid(format!("`{}`: {reason}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_of_one_kind_with_what_that_needs() {
        let check = |text: &str, expected: &str| {
            let wire: WireTree = toml::from_str(text).unwrap();
            let found = wire.check().map(|tree| tree.to_string());
            let found = found.unwrap_or_else(|fault| fault.into_error().to_string());
            assert!(found.contains(expected), "{text}: {found}");
        };
        check("path = \"/src/pg\"", "path /src/pg");
        check("git = \"/src/pg\"\nrev = \"REL_18_6\"", "git /src/pg REL_18_6");
        check("archive = \"/a.tar.xz\"", "archive /a.tar.xz");
        check("crate = \"libsqlite3-sys\"\nversion = \"0.30.1\"", "crate libsqlite3-sys 0.30.1");
        check("git = \"/src/pg\"", "`git` needs `rev`");
        check("crate = \"x\"", "`crate` needs `version`");
        check("path = \"/a\"\nrev = \"b\"", "`path` has no `rev`; remove it");
        check("path = \"/a\"\narchive = \"/b\"", "a `source` has one of `path`, ");
        check("", "a `source` has one of `path`, ");
    }
}
