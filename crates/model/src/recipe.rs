//! How a build is compiled from a source tree: recipes, and what is asked of one.

use crate::quoted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Component, Path},
};

/// A build that is compiled on this host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compilation {
    /// The source tree; none for a version whose release is a source tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Tree>,
    /// A set of compiler options of the recipe, or options that begin with `-`; empty for the
    /// recipe's first choice.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub flags: String,
    /// The C compiler; empty for the first one that this host has.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub compiler: String,
    /// A recipe of the user's instead of the shipped one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
}

impl Compilation {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A source tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// A name of the table of sources: `path`, `git`, `archive`, `crate`.
    pub kind: String,
    /// Folder, repository, file or name.
    pub at: String,
    /// Revision or version; empty for kinds that have none.
    pub revision: String,
}

impl std::fmt::Display for Tree {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind, self.named())
    }
}

impl Tree {
    /// What it is among those of its kind.
    pub fn named(&self) -> String {
        format!("{} {}", self.at, self.revision).trim_end().to_owned()
    }
}

/// How a product is compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// One line of help.
    pub help: String,
    /// The set of options that is taken where none is named.
    pub default: String,
    /// Memory that one job of the compiler needs [MiB]; limits the number of jobs.
    pub memory_mib_per_job: u64,
    /// Sets of options by name.
    pub flags: BTreeMap<String, FlagSet>,
    /// Ways for trees of different shapes, the first that fits is taken.
    #[serde(rename = "way")]
    pub ways: Vec<Way>,
}

/// Options of a compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlagSet {
    /// One line of help.
    #[serde(default)]
    pub help: String,
    /// The compiler's options, separated by blanks.
    pub options: String,
    /// Words for the step that configures.
    #[serde(default)]
    pub configure: Vec<String>,
}

/// The steps for one shape of tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// Name in messages.
    pub name: String,
    /// Files that a folder of the tree must hold to be the place where the steps run.
    pub holds: Vec<String>,
    /// Folders that are no such place, whatever they hold.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Programs that it needs beside the compiler.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Whether it needs a C++ compiler too.
    #[serde(default)]
    pub cxx: bool,
    /// Commands, as words; see [`PLACEHOLDERS`].
    pub steps: Vec<Vec<String>>,
    /// Files below the base folder that must be there in the end.
    pub outputs: Vec<String>,
}

/// What stands in the words of a step for something else: the compilers, the options of the set (as
/// words where it is a word of its own), the words for configuring, the number of jobs, the folder
/// of the tree, the folder where the build will lie, the folder that stands for `/` until then, and
/// the former in the latter.
pub const PLACEHOLDERS: &[&str] = &[
    "{cc}",
    "{cxx}",
    "{flags}",
    "{configure}",
    "{jobs}",
    "{tree}",
    "{prefix}",
    "{stage}",
    "{out}",
];

impl Recipe {
    /// What is wrong with it, in one sentence.
    pub fn check(&self) -> Result<(), String> {
        if !self.flags.contains_key(&self.default) {
            return Err(format!("`default` names the flags `{}`, which it lacks", self.default));
        }
        if self.ways.is_empty() {
            return Err("it has no `[[way]]`; give it one with `steps`".to_owned());
        }
        self.ways.iter().try_for_each(Way::check)
    }

    /// The options that a level of `flags` names, or is.
    pub fn flag_set(&self, level: &str) -> Result<FlagSet, String> {
        if level.starts_with('-') {
            return Ok(FlagSet { options: level.to_owned(), ..FlagSet::default() });
        }
        let name = if level.is_empty() { &self.default } else { level };
        self.flags.get(name).cloned().ok_or_else(|| {
            format!(
                "`{name}` is no set of flags: write {}, or options that begin with `-`",
                quoted(self.flags.keys())
            )
        })
    }
}

impl Way {
    fn check(&self) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the way `{}` {what}", self.name));
        if self.steps.is_empty() || self.steps.iter().any(Vec::is_empty) {
            return wrong("has no `steps`, or one without words");
        }
        if self.holds.is_empty() || self.outputs.is_empty() {
            return wrong("needs `holds` and `outputs`");
        }
        let paths = self.holds.iter().chain(&self.outputs).chain(&self.skip);
        if let Some(path) = paths.into_iter().find(|path| !is_below(path)) {
            return wrong(&format!("names `{path}`, which is no path below its folder"));
        }
        match self.steps.iter().flatten().find_map(|word| unknown_placeholder(word)) {
            Some(name) => {
                wrong(&format!("has the unknown `{name}`; known: {}", PLACEHOLDERS.join(" ")))
            }
            None => Ok(()),
        }
    }
}

fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Lower-case words in braces are placeholders.
fn unknown_placeholder(word: &str) -> Option<&str> {
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let end = rest.find('}')? + 1;
        let name = &rest[..end];
        if !PLACEHOLDERS.contains(&name) {
            return Some(name);
        }
        rest = &rest[end..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        Recipe {
            default: "rel".to_owned(),
            flags: [(
                "rel".to_owned(),
                FlagSet { options: "-O2".to_owned(), ..Default::default() },
            )]
            .into(),
            ways: vec![Way {
                name: "make".to_owned(),
                holds: words("Makefile"),
                steps: vec![words("make CC={cc} -j{jobs}")],
                outputs: words("bin/x"),
                ..Way::default()
            }],
            ..Recipe::default()
        }
    }

    #[test]
    fn a_wrong_recipe_is_named_in_one_sentence() {
        let check = |change: &dyn Fn(&mut Recipe), expected: &str| {
            let mut recipe = recipe();
            change(&mut recipe);
            let said = recipe.check().err().unwrap_or_default();
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        };
        check(&|_| {}, "");
        check(&|r| r.default = "fast".to_owned(), "names the flags `fast`, which it lacks");
        check(&|r| r.ways.clear(), "it has no `[[way]]`");
        check(&|r| r.ways[0].steps.push(Vec::new()), "one without words");
        check(&|r| r.ways[0].outputs = vec!["/bin/x".to_owned()], "`/bin/x`, which is no path");
        check(&|r| r.ways[0].holds = vec!["a/../../x".to_owned()], "`a/../../x`, which is no path");
        check(&|r| r.ways[0].steps[0].push("{home}".to_owned()), "the unknown `{home}`; known: ");
        check(&|r| r.ways[0].steps[0].push("{cc".to_owned()), "");
    }

    #[test]
    fn flags_are_a_name_or_options() {
        let check = |level: &str, expected: &str| {
            let found = recipe().flag_set(level).map(|set| set.options);
            assert_eq!(found.unwrap_or_else(|error| error), expected, "{level}");
        };
        check("", "-O2");
        check("rel", "-O2");
        check("-O3 -march=native", "-O3 -march=native");
        check("o3", "`o3` is no set of flags: write `rel`, or options that begin with `-`");
    }
}
