//! Several runs of one plan as one comparison.

use crate::lab::{Lab, has_blocks, text};

fn run(lab: &Lab, rows: u32) {
    lab.write(
        "again.toml",
        &format!(
            "question = \"Is it faster?\"\nworkloads = [\"point-query\"]\nrows = {rows}\n\
             blocks = 2\nrounds = 1\nslice_seconds = 0.1\nwarmup_seconds = 0.05\n\
             factors.build = [\"sqlite\"]\nfactors.config = [\"rollback\", \"wal\"]\n"
        ),
    );
    lab.succeed(&["run", "again.toml", "--counts", "none", "--progress", "none"]);
}

/// The rows of throughput of the compared variant.
fn rates(lab: &Lab) -> (Vec<serde_json::Value>, serde_json::Value) {
    let json = lab.succeed(&["compare", "--all", "--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = found["comparisons"].as_array().unwrap().iter();
    let rates = rows.filter(|row| row["metric"] == "ops_per_second").cloned();
    (rates.collect(), found["warnings"].clone())
}

#[test]
fn blocks_of_equal_runs_are_pooled_and_others_stand_apart() {
    let lab = Lab::new();
    run(&lab, 2000);
    run(&lab, 2000);
    let (pooled, warnings) = rates(&lab);
    let [rate] = pooled.as_slice() else { panic!("{pooled:?}") };
    assert!(has_blocks(rate, 4, &warnings.to_string()), "two of each run: {rate} {warnings}");
    assert_eq!(rate["run"].as_str().unwrap().split(", ").count(), 2, "{rate}");
    assert!(!["unreplicated", "unassessed"].contains(&rate["verdict"].as_str().unwrap()), "{rate}");
    let said = warnings.to_string();
    assert!(said.contains("the blocks of 2 runs of one plan are pooled"), "{said}");
    assert!(!said.contains("configuration"), "folders are no difference: {said}");
    // Another table is another experiment; a later run of the first one still joins it.
    run(&lab, 3000);
    run(&lab, 2000);
    let (rows, warnings) = rates(&lab);
    let said = warnings.to_string();
    let [of_three, other] = rows.as_slice() else { panic!("{rows:?}") };
    assert!(has_blocks(of_three, 6, &said) && has_blocks(other, 2, &said), "{rows:?} {said}");
    assert!(of_three["blocks"].as_u64() > Some(3), "of more than one run: {rows:?}");
    assert!(said.contains("not pooled with the earlier run `"), "{said}");
    assert!(said.contains("their plans differ in the tables"), "{said}");
    let page = lab.succeed(&["compare", "--all", "--format", "html"]);
    assert!(page.contains("each run stands by itself on pages"), "it is no table");
    let latest = text(&lab.run(&["compare"]).stdout);
    assert!(!latest.contains("pooled"), "one run alone: {latest}");
}
