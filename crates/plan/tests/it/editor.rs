//! The schemas for editors know what the planner knows: every shipped file fits, no wrong key does.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// As much of JSON Schema as the schemas use; a word that is not known here fails the test.
struct Validator(Value);

fn validator(kind: &str) -> Validator {
    let kind = plan::FILE_KINDS.iter().find(|one| one.name == kind).unwrap();
    Validator(kind.json_schema())
}

impl Validator {
    fn is_valid(&self, value: &Value) -> bool {
        self.fits(&self.0, value)
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let Some(words) = schema.as_object() else { return schema.as_bool().unwrap() };
        words.iter().all(|(word, rule)| match word.as_str() {
            "$ref" => {
                let path = rule.as_str().unwrap().trim_start_matches('#');
                self.fits(self.0.pointer(path).unwrap(), value)
            }
            "anyOf" | "oneOf" => list(rule).iter().any(|one| self.fits(one, value)),
            "type" if rule.is_array() => list(rule).iter().any(|one| is(one, value)),
            "type" => is(rule, value),
            "const" => rule == value,
            "enum" => list(rule).contains(value),
            "required" => list(rule).iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "minItems" => {
                value.as_array().is_none_or(|all| all.len() as u64 >= rule.as_u64().unwrap())
            }
            "maxItems" => {
                value.as_array().is_none_or(|all| all.len() as u64 <= rule.as_u64().unwrap())
            }
            "items" => {
                value.as_array().is_none_or(|all| all.iter().all(|one| self.fits(rule, one)))
            }
            "properties" => rule
                .as_object()
                .unwrap()
                .iter()
                .all(|(key, rule)| value.get(key).is_none_or(|value| self.fits(rule, value))),
            "additionalProperties" => value.as_object().is_none_or(|all| {
                let named = |key: &String| {
                    words.get("properties").is_some_and(|own| own.get(key).is_some())
                };
                all.iter().all(|(key, value)| named(key) || self.fits(rule, value))
            }),
            "$schema" | "$defs" | "title" | "description" | "default" | "format" | "minimum"
            | "maximum" | "multipleOf" | "pattern" => true,
            other => panic!("the word `{other}` is not checked"),
        })
    }
}

fn list(rule: &Value) -> &Vec<Value> {
    rule.as_array().unwrap()
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("the type `{other}` is not checked"),
    }
}

fn value(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

/// Every TOML file below a folder of the repository.
fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut found = Vec::new();
    for entry in fs_err::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                let name = path.file_name().unwrap().to_str().unwrap();
                found.extend(files(&format!("{folder}/{name}")));
            }
            false => found.push(path),
        }
    }
    found
}

#[test]
fn every_shipped_file_fits_its_schema_and_no_wrong_key_does() {
    let kinds = [
        ("experiment", "experiments", 9),
        ("workload", "catalog/workloads", 40),
        ("schema", "catalog/schemas", 3),
        ("suite", "catalog/suites", 8),
        ("config", "catalog/configs", 12),
        ("recipe", "catalog/recipes", 4),
    ];
    for (kind, folder, least) in kinds {
        let validator = validator(kind);
        let files = files(folder);
        assert!(files.len() >= least, "{folder} has {} files", files.len());
        for path in files {
            let text = fs_err::read_to_string(&path).unwrap();
            let mut value = value(&text);
            assert!(validator.is_valid(&value), "{}", path.display());
            value["hepl"] = "a wrong key".into();
            assert!(!validator.is_valid(&value), "{}: a wrong key fits", path.display());
        }
    }
}

#[test]
fn the_examples_of_the_format_fit() {
    for (path, text) in crate::format::examples() {
        let kind = match path.split('/').collect::<Vec<_>>().as_slice() {
            ["experiments", _] => "experiment",
            [_, "workloads", _] => "workload",
            [_, "schemas", _] => "schema",
            [_, "suites", _] => "suite",
            _ => "config",
        };
        let value = value(&text);
        assert!(validator(kind).is_valid(&value), "{path}");
    }
}

#[test]
fn wrong_types_and_words_do_not_fit() {
    let head = "question = \"?\"\nsuite = \"quick\"\n";
    let check = |text: &str, fits: bool| {
        let value = value(&format!("{head}{text}"));
        assert_eq!(validator("experiment").is_valid(&value), fits, "{text}");
    };
    check("rows = \"1M\"\nblocks = 5", true);
    check("rows = 1e6", true);
    check("rows = []", false);
    check("design = \"classic\"", true);
    check("design = \"classical\"", false);
    check("arrival = \"closed\"", true);
    check("arrival = { per_second = 10, spacing = \"poisson\" }", true);
    check("arrival = { per_secnd = 10 }", false);
    check("factors = { build = \"sqlite\", clients = [1, \"1k\"] }", true);
    check("servers = { a = { server = \"mysql\", prefx = [] } }", false);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../FORMAT.md");
    let page = fs_err::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```toml\n# recipes/mine.toml\n").unwrap();
    let recipe = rest.split("```").next().unwrap();
    let check = |text: &str, fits: bool| {
        assert_eq!(validator("recipe").is_valid(&value(text)), fits, "{text}");
    };
    check(recipe, true);
    check(&recipe.replace("help      = \"with assertions\"", "hepl = \"\""), false);
    check(&recipe.replace("options   = ", "option = "), false);
    check(&recipe.replace("holds    = ", "hold = "), false);
    check(&recipe.replace("= 400", "= \"400\""), false);
}
