//! Folders of a crate are layers: none of them imports, over others or directly, what imports it.

use super::Rule;
use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Imports between the folders of a crate.
pub(super) const RULE: Rule = Rule { name: "cycles", check };

fn check(repository: &Repository) -> Vec<String> {
    let crates = crates(repository);
    let of = |(name, modules): (&&str, &Modules<'_>)| -> Vec<String> {
        cycles(modules).iter().map(|cycle| finding(name, cycle)).collect()
    };
    crates.iter().flat_map(of).collect()
}

fn finding(name: &str, cycle: &[&str]) -> String {
    let way = cycle.join("` -> `");
    format!("{name}/src: folders import each other: `{way}`: move what both need below both")
}

/// The modules of a crate's root, each a folder or a file.
#[derive(Default)]
struct Modules<'a> {
    /// The text of `lib.rs` or `main.rs`.
    root: &'a str,
    /// Depth below the root and text of each file, by module.
    files: BTreeMap<&'a str, Vec<(usize, &'a str)>>,
}

fn crates(repository: &Repository) -> BTreeMap<&str, Modules<'_>> {
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for file in repository.ending(".rs") {
        let split = file.path.split_once("/src/");
        let Some((name, path)) = split.or_else(|| Some((".", file.path.strip_prefix("src/")?)))
        else {
            continue;
        };
        let modules = crates.entry(name).or_default();
        if ["lib.rs", "main.rs"].contains(&path) {
            modules.root = &file.text;
            continue;
        }
        let module = path.split(['/', '.']).next().unwrap_or_default();
        let own = path.ends_with("/mod.rs");
        let depth = path.matches('/').count() - usize::from(own);
        modules.files.entry(module).or_default().push((depth, &file.text));
    }
    crates
}

/// The shortest way from each folder back to itself, each cycle once.
fn cycles<'a>(modules: &Modules<'a>) -> Vec<Vec<&'a str>> {
    let exported = exported(modules);
    let uses: BTreeMap<&str, BTreeSet<&str>> = modules
        .files
        .iter()
        .map(|(module, files)| {
            let names = files.iter().flat_map(|(depth, text)| imported(*depth, text));
            let known = |name: String| {
                let own = modules.files.get_key_value(name.as_str()).map(|(own, _)| *own);
                own.or_else(|| exported.get(&name).copied())
            };
            (*module, names.filter_map(known).filter(|name| name != module).collect())
        })
        .collect();
    let mut found: Vec<Vec<&str>> = Vec::new();
    let is_folder = |files: &[(usize, &str)]| files.len() > 1;
    for (module, files) in &modules.files {
        let known = found.iter().flatten().any(|known| known == module);
        if is_folder(files) && !known {
            found.extend(way_back(module, &uses));
        }
    }
    found
}

/// The shortest way over imports from a module back to itself.
fn way_back<'a>(
    start: &'a str,
    uses: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in way.last().and_then(|last| uses.get(last)).into_iter().flatten() {
            let further: Vec<&str> = way.iter().chain([next]).copied().collect();
            if *next == start {
                return Some(further);
            }
            if seen.insert(*next) {
                ways.push_back(further);
            }
        }
    }
    None
}

/// Names that the root passes on, with their modules.
fn exported<'a>(modules: &Modules<'a>) -> BTreeMap<String, &'a str> {
    let mut exported = BTreeMap::new();
    for item in modules.root.split(';').filter_map(|item| item.split_once("use ")) {
        let Some((module, names)) = item.1.split_once("::") else { continue };
        if let Some((module, _)) = modules.files.get_key_value(module.trim()) {
            let words = names.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words = words.filter(|word| !word.is_empty());
            exported.extend(words.map(|word| (word.to_owned(), *module)));
        }
    }
    exported
}

/// The first names of all paths from the crate's root in a file so deep, without its tests.
fn imported(depth: usize, text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let above = "super::".repeat(depth + 1);
    let mut names = BTreeSet::new();
    for root in ["crate::", &above] {
        for (at, _) in text.match_indices(root) {
            let before = text[..at].chars().next_back();
            // A longer word, or a longer way up.
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                names.extend(first_names(&text[at + root.len()..]));
            }
        }
    }
    names
}

/// The first name of a path, or of each path of a list in braces.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut names) = (1, vec![name(list)]);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(name(&list[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: (&str, &str) =
        ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use b::deep::{Thing, other};\n");

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<_> = std::iter::once(ROOT).chain(files.iter().copied()).collect();
        let found = super::check(&Repository::of(&files));
        let ways = found.iter().map(|one| {
            let way = one.split_once("other: ").unwrap().1;
            way.rsplit_once(':').unwrap().0.replace('`', "")
        });
        assert_eq!(ways.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn folders_that_import_each_other_are_found() {
        let a = |text| ("crates/x/src/a.rs", text);
        let (b, deep) = (("crates/x/src/b/mod.rs", "mod deep;"), "crates/x/src/b/deep.rs");
        check(&[a("use crate::b;"), b, (deep, "")], &[]);
        check(&[a("use crate::b;"), b, (deep, "use crate::{c, a::{d, e}};")], &["b -> a -> b"]);
        check(&[a("use super::b::deep;"), b, (deep, "use super::super::a;")], &["b -> a -> b"]);
        check(
            &[a("use crate::{\n    Thing,\n};"), b, (deep, "fn f() { crate::a::g() }")],
            &["b -> a -> b"],
        );
        // What is only said, only tested, or inside one folder.
        let only =
            "//! See crate::a.\nuse super::b;\n#[cfg(test)]\nmod tests {\nuse crate::a;\n}\n";
        check(&[a("use crate::other;"), b, (deep, only)], &[]);
    }

    #[test]
    fn files_beside_each_other_are_one_folder() {
        let two = [("crates/x/src/a.rs", "use crate::b;"), ("crates/x/src/b.rs", "use crate::a;")];
        check(&two, &[]);
    }

    #[test]
    fn no_crate_is_excepted() {
        for name in ["crates/analysis", "crates/archive", "crates/dbms", "crates/plan"] {
            let path = |file: &str| format!("{name}/src/{file}");
            let files = [
                (path("lib.rs"), "mod a;\nmod b;"),
                (path("a.rs"), "use crate::b;"),
                (path("b/mod.rs"), "mod deep;"),
                (path("b/deep.rs"), "use crate::a;"),
            ];
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            let found = super::check(&Repository::of(&files));
            assert_eq!(found.len(), 1, "{name}: {found:?}");
        }
    }
}
