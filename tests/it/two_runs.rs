//! A run compared with an earlier one of the same experiment.

use crate::lab::{Lab, has_blocks, lengthen, value};

fn experiment(rows: u32, workload: &str) -> String {
    format!(
        "question = \"Is it still as fast?\"\nworkloads = [\"{workload}\"]\nrows = {rows}\n\
         blocks = 4\nrounds = 1\nslice_seconds = 0.1\nwarmup_seconds = 0.05\n\
         factors.build = [\"sqlite\"]\n"
    )
}

/// Identifiers of the runs of a lab, oldest first.
fn runs(lab: &Lab) -> Vec<String> {
    let lines = lab.succeed(&["list", "runs"]);
    lines.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// A run of a build with a configuration.
fn of_config(lab: &Lab, config: &str) -> String {
    let builds = experiment(2000, "point-query").replace("[\"sqlite\"]", "[\"x\"]");
    let server = format!("[servers.x]\nserver = \"sqlite\"\nconfig = \"{config}\"\n");
    lab.write("again.toml", &format!("{builds}{server}"));
    lab.succeed(&["run", "again.toml", "--counts", "none", "--progress", "none"]);
    runs(lab).pop().unwrap()
}

/// Only what has a pair counts, in values and ratios.
fn only_pairs_count(lab: &Lab, first: &str) {
    lab.write("again.toml", &experiment(2000, "point-query").replace("blocks = 4", "blocks = 2"));
    lab.succeed(&["run", "again.toml", "--counts", "none", "--progress", "none"]);
    let short = runs(lab).pop().unwrap();
    let json = lab.succeed(&["compare", first, &short, "--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rate = &found["comparisons"][0];
    assert!(has_blocks(rate, 2, &found["warnings"].to_string()), "{json}");
    // Means are geometric: where both are of the same blocks, they have the ratio of the blocks.
    if rate["blocks"] == 2 {
        let ratio = rate["value"].as_f64().unwrap() / rate["base_value"].as_f64().unwrap();
        assert!((rate["ratio"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-6, "{rate}");
    }
    assert!(json.contains(&format!("the last 2 blocks of {first} left out")), "{json}");
    assert!(!json.contains("in more than its build"), "{json}");
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let lab = Lab::new();
    let run = |rows, workload| {
        lab.write("again.toml", &experiment(rows, workload));
        lab.succeed(&["run", "again.toml", "--counts", "none", "--progress", "none"]);
    };
    (0..2).for_each(|_| run(2000, "point-query"));
    run(3000, "point-query");
    run(2000, "insert");
    let runs = runs(&lab);
    let [first, second, larger, other] = runs.as_slice() else { panic!("{runs:?}") };
    let json = lab.succeed(&["compare", first, second, "--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = found["comparisons"].as_array().unwrap();
    let rate = rows.iter().find(|row| row["metric"] == "ops_per_second").unwrap();
    let named = |run: &str| format!("@{}", run.split('.').next().unwrap());
    assert!(rate["variant"].as_str().unwrap().ends_with(&named(second)), "{rate}");
    assert!(rate["base"].as_str().unwrap().ends_with(&named(first)), "{rate}");
    assert!(has_blocks(rate, 4, &found["warnings"].to_string()), "{json}");
    assert!(rate["ratio"].as_f64().unwrap() > 0.0);
    // The values are those that each run has alone.
    if rate["blocks"] == 4 {
        for (run, key) in [(first, "base_value"), (second, "value")] {
            let alone = lab.succeed(&["compare", run, "--format", "json"]);
            let alone: serde_json::Value = serde_json::from_str(&alone).unwrap();
            let alone = value(&alone, "point-query", "sqlite", "ops_per_second").unwrap();
            let both = rate[key].as_f64().unwrap();
            assert!((both / alone - 1.0).abs() < 1e-6, "{run}: {alone} alone, {rate}");
        }
    }
    assert!(json.contains("not side by side"), "{json}");

    only_pairs_count(&lab, first);

    let two = ["rollback", "wal"].map(|config| of_config(&lab, config));
    let json = lab.succeed(&["compare", &two[0], &two[1], "--format", "json"]);
    let said = "`x` differs between the runs in more than its build: `journal_mode`";
    assert!(json.contains(said), "{json}");

    let refused = |words: &[&str], reason: &str| {
        let said = lab.refuses(words);
        assert!(said.contains(reason), "{words:?} {said}");
    };
    refused(&["compare", first, larger], "2000 rows");
    refused(&["compare", first, other], "no phase in common");
    refused(&["compare", first, first], "name two");
    refused(&["compare", "2", second], "runs begin with `2`");
    refused(&["compare", "x", second], "no run `x`");
    // An earlier run alone, though there are later ones.
    let alone = lab.succeed(&["compare", first]);
    assert!(alone.contains(first) && !alone.contains(second), "{alone}");
    refused(&["compare", first, second, "--all"], "--all");
    refused(&["compare", first, second, "--archive", "again"], "--archive");
    let rates = lab.succeed(&["compare", first, second, "--metric", "ops_per_*"]);
    assert!(rates.contains("point-query"), "{rates}");
    // One that still measures is no whole run.
    let finished = lab.path("dbdyno-results/runs").join(second).join("finished");
    std::fs::rename(&finished, lab.path("aside")).unwrap();
    let table = lab.succeed(&["compare", first, second]);
    std::fs::rename(lab.path("aside"), finished).unwrap();
    assert!(table.contains(&format!("Run {second} is unfinished, 4 of 4 blocks")), "{table}");

    // What was changed is left out by name.
    lengthen(&lab.records_of(second)[0].join("slices.jsonl"));
    let json = lab.succeed(&["compare", first, second, "--format", "json"]);
    let words = "was changed, cut or added after it was recorded";
    assert_eq!(json.matches(words).count(), 1, "{json}");
}
