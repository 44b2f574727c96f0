//! Every file of a seam's folder is in the table of the folder's `mod.rs`.

use super::Rule;
use crate::repository::Repository;

/// Folder and table.
const SEAMS: &[(&str, &str)] = &[
    ("crates/analysis/src/sla", "RULES"),
    ("crates/analysis/src/style", "STYLES"),
    ("crates/archive/src/export", "EXPORTERS"),
    ("crates/archive/src/import", "IMPORTERS"),
    ("crates/dbms/src/factor", "FACTORS"),
    ("crates/dbms/src/product", "DBMSES"),
    ("crates/dbms/src/registry", "REGISTRIES"),
    ("crates/dbms/src/source", "KINDS"),
    ("crates/load/src/protocol", "PROTOCOLS"),
    ("crates/probe/src/source", "PROBES"),
    ("crates/runner/src/instruments", "INSTRUMENTS"),
    ("crates/runner/src/intruders", "INTRUDERS"),
    ("crates/analysis/src/diagnose", "RULES"),
    ("crates/report/src/section", "SECTIONS"),
    ("crates/report/src/page", "PAGES"),
    ("crates/report/src/format", "FORMATS"),
    ("crates/report/src/profile", "PROFILES"),
    ("src/cmd", "COMMANDS"),
    ("xtask/src/tidy", "RULES"),
];

/// Tables of seams.
pub(super) const RULE: Rule = Rule { name: "seams", check };

fn check(repository: &Repository) -> Vec<String> {
    let known = SEAMS.iter().flat_map(|(folder, table)| check_seam(repository, folder, table));
    known.chain(unknown(repository)).collect()
}

/// Folders that have a table of trait objects and are not in [`SEAMS`].
fn unknown(repository: &Repository) -> impl Iterator<Item = String> {
    let tables = repository.ending("/mod.rs").filter(|file| file.text.contains(": &[&dyn "));
    tables.filter_map(|file| {
        let folder = file.path.strip_suffix("/mod.rs")?;
        let known = SEAMS.iter().any(|(seam, _)| *seam == folder);
        (!known).then(|| format!("{} has a table: add it to `SEAMS` of this rule", file.path))
    })
}

fn check_seam(repository: &Repository, folder: &str, table: &str) -> Vec<String> {
    let root = format!("{folder}/mod.rs");
    let Ok(text) = repository.text(&root) else {
        return vec![format!("{root} is missing: a seam has a trait, a folder and a table")];
    };
    let Some(entries) = entries(text, table) else {
        return vec![format!("{root} has no table `{table}`")];
    };
    let stems = repository.files().iter().filter_map(|file| {
        let name = file.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
        (name != "mod" && !name.contains('/')).then_some(name)
    });
    let forgotten = stems.filter(|stem| !entries.contains(&format!("{stem}::")));
    forgotten
        .map(|stem| {
            format!("{root} lacks `{stem}`: add `&{stem}::…` to `{table}`, or move the file")
        })
        .collect()
}

/// The text of a table, from its name to the end of the item.
fn entries<'a>(text: &'a str, table: &str) -> Option<&'a str> {
    let declared = ["const ", "static "].iter().find_map(|word| {
        let start = text.find(&format!("{word}{table}:"))?;
        Some(&text[start..])
    })?;
    Some(declared.split_once("];").map_or(declared, |(entries, _)| entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_in_the_table_is_found() {
        let table = "mod a;\nmod b;\npub const PROBES: &[&dyn P] = &[\n    &a::A,\n];\n// b::\n";
        let folder = "crates/probe/src/source";
        let (root, a, b) =
            (format!("{folder}/mod.rs"), format!("{folder}/a.rs"), format!("{folder}/b.rs"));
        let below = format!("{folder}/a/deep.rs");
        let check = |files: &[(&str, &str)]| check_seam(&Repository::of(files), folder, "PROBES");
        assert_eq!(check(&[(&root, table), (&a, ""), (&below, "")]), [""; 0]);
        assert_eq!(
            check(&[(&root, table), (&a, ""), (&b, "")]),
            [format!("{root} lacks `b`: add `&b::…` to `PROBES`, or move the file")]
        );
        assert_eq!(check(&[(&root, "mod a;")]), [format!("{root} has no table `PROBES`")]);
        assert_eq!(check(&[]).len(), 1);
        let new = Repository::of(&[("crates/x/src/y/mod.rs", table)]);
        let expected = ["crates/x/src/y/mod.rs has a table: add it to `SEAMS` of this rule"];
        assert_eq!(unknown(&new).collect::<Vec<_>>(), expected);
    }
}
