//! FORMAT.md shows files by example, and every example is read.

use crate::Host;
use plan::{Catalog, Overrides, load_experiment};
use std::path::Path;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../FORMAT.md");
    fs_err::read_to_string(path).unwrap()
}

/// The examples of FORMAT.md: the path in the first line's comment, and the text.
pub(crate) fn examples() -> Vec<(String, String)> {
    let page = page();
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let named = blocks.filter_map(|block| {
        let path = block.strip_prefix("# ")?.lines().next()?;
        path.ends_with(".toml").then(|| (path.to_owned(), block.to_owned()))
    });
    named
        .filter(|(path, _)| path.starts_with("catalog/") || path.starts_with("experiments/"))
        .collect()
}

#[test]
fn every_example_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let examples = examples();
    for (path, text) in &examples {
        let path = folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    let catalog = Catalog::with_overlay(&folder.path().join("catalog")).unwrap();
    let mut read = 0;
    for (path, _) in &examples {
        let file = folder.path().join(path);
        let file = file.to_str().unwrap();
        let parts: Vec<&str> = path.split('/').collect();
        let result = match parts.as_slice() {
            ["catalog", "workloads", _] => catalog.workload(file).map(|_| ()),
            ["catalog", "schemas", _] => catalog.schema(file).map(|_| ()),
            ["catalog", "suites", _] => catalog.suite(file).map(|_| ()),
            ["catalog", "configs", server, name] => {
                catalog.config(server, name.trim_end_matches(".toml")).map(|_| ())
            }
            ["experiments", _] => load_experiment(file, &catalog, &Overrides::default())
                .and_then(|draft| plan::plan(&draft, &catalog, &Host).map(|_| ())),
            other => panic!("no reader for {other:?}"),
        };
        result.unwrap_or_else(|error| panic!("{path}: {error}"));
        read += 1;
    }
    assert!(read >= 12, "only {read} examples were found");
}

#[test]
fn the_suite_of_the_page_is_planned_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in examples() {
        let path = folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    let suite = folder.path().join("catalog/suites/short.toml");
    let set = vec![format!("suite={}", suite.display())];
    let overrides = Overrides { set, only: Vec::new(), ..Overrides::default() };
    let catalog = Catalog::embedded().unwrap();
    let draft = load_experiment("quickstart", &catalog, &overrides).unwrap();
    let plan = plan::plan(&draft, &catalog, &Host).unwrap();
    let names: Vec<&str> = plan.phases.iter().map(|phase| phase.name.as_str()).collect();
    let expected = [
        "point-query.warm",
        "random-points.range10",
        "random-points.range1000",
        "update-inlist",
        "settle",
    ];
    assert_eq!(names, expected);
    assert_eq!(plan.phases[2].parameters["range"], 1000);
    assert_eq!(plan.phases[3].parameters["points"], 20);
}

#[test]
fn the_page_names_every_generator_with_its_keys() {
    let page = page();
    let table = page.lines().skip_while(|line| !line.starts_with("| value | meaning |"));
    let rows: Vec<&str> = table.take_while(|line| line.starts_with('|')).collect();
    for keys in values::generator::Generator::KEYS {
        let kind = format!("`{{ {} = ", keys[0].name);
        let row = rows.iter().find(|row| row.contains(&kind));
        let row = row.unwrap_or_else(|| panic!("no row has {kind}"));
        for key in &keys[1..] {
            assert!(row.contains(&format!(", {} = ", key.name)), "`{}` is not in {row}", key.name);
        }
    }
}
