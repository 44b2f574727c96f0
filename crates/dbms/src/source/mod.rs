//! Where source trees come from, one file for each kind, and the table of them.

mod cargo;
mod folder;
mod git;
mod tarball;

pub(crate) use folder::hash as folder_hash;

use crate::{CompileError, Error, Places, Result, manifest::Download, registry::Destination};
use model::recipe::Tree;

/// A kind of source trees: the key of `source` in an experiment.
pub(crate) struct Kind {
    /// Name in the table.
    name: &'static str,
    /// Refuses what names no tree, as far as this host knows. Fetches nothing, and executes nothing
    /// of the tree.
    pub(crate) check: fn(&Tree) -> Result<()>,
    /// What the tree holds now, before it is put anywhere.
    pub(crate) identify: fn(&Tree, &Places) -> Result<Identity>,
    /// Puts the tree into a folder; the files that were fetched for it.
    pub(crate) unpack: fn(&Known<'_>, &Destination<'_>) -> Result<Vec<Download>>,
}

/// What a tree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The same for equal trees, and for no others.
    pub(crate) hash: String,
    /// The revision or version, exactly.
    pub(crate) revision: String,
}

/// A tree whose content is known.
pub(crate) struct Known<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) identity: &'a Identity,
    pub(crate) places: &'a Places,
}

/// All kinds.
const KINDS: &[Kind] = &[folder::KIND, git::KIND, tarball::KIND, cargo::KIND];

/// The kind of a tree.
pub(crate) fn of(tree: &Tree) -> Result<&'static Kind> {
    let found = KINDS.iter().find(|kind| kind.name == tree.kind);
    found.ok_or_else(|| {
        refused(tree, "is of no known kind; write `path`, `git`, `archive` or `crate`")
    })
}

/// The error of a tree that cannot be compiled.
pub(crate) fn refused(tree: &Tree, reason: impl Into<String>) -> Error {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    Error::Compile(CompileError::Source {
        tree: tree.to_string().chars().map(plain).collect(),
        reason: reason.into(),
    })
}

/// Refuses words that a program would take for options, or that no name has.
fn check_word(tree: &Tree, word: &str) -> Result<()> {
    if word.is_empty() || word.starts_with('-') || word.contains(char::is_control) {
        return Err(refused(tree, "is no name: an empty one, an option or a line break"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
