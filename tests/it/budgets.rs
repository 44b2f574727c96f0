//! What does not fit a budget, and what is measured instead.

use crate::{
    errors::{QUESTION, SUITE, refusal},
    lab::{Lab, text},
};

#[test]
fn a_product_of_factors_beyond_the_budget_is_refused_with_what_would_fit() {
    let lab = Lab::new();
    let factors = "factors = { build = [\"sqlite\"], config = [\"base\", \"rollback\", \"wal\"], \
                   environment = [\"\", \"A=1\", \"A=2\"] }";
    lab.write("product.toml", &[QUESTION, SUITE, factors].join("\n"));
    let err = refusal(&mut lab.command(&["run", "product.toml", "--budget", "1s"]), "budget");
    let parts = [
        "4 blocks, after which verdicts begin, take about",
        "9 variants",
        "`--set 'combine=\"one-at-a-time\"'` (5 variants,",
        // The last of those with the most levels.
        "`--set 'factors.environment=[\"\",\"A=1\"]'` (about ",
    ];
    for part in parts {
        assert!(err.contains(part), "`{part}` is not in: {err}");
    }
    let alone = ["plan", "product.toml", "--set", "combine=\"one-at-a-time\"", "--format", "json"];
    let plan: serde_json::Value = serde_json::from_str(&lab.succeed(&alone)).unwrap();
    let labels = plan["subjects"].as_array().unwrap().iter().map(|one| &one["label"]);
    assert_eq!(
        labels.collect::<Vec<_>>(),
        [
            "sqlite-bundled.base.no-environment",
            "sqlite-bundled.base.A-1",
            "sqlite-bundled.base.A-2",
            "sqlite-bundled.rollback.no-environment",
            "sqlite-bundled.wal.no-environment"
        ]
    );
    assert_eq!(plan["base"], serde_json::json!(["sqlite-bundled.base.no-environment"]));
    let two = ["plan", "product.toml", "--variant", "sqlite-bundled.wal.A-2", "--format", "json"];
    let plan: serde_json::Value = serde_json::from_str(&lab.succeed(&two)).unwrap();
    let labels = plan["subjects"].as_array().unwrap().iter().map(|one| &one["label"]);
    let kept: Vec<&str> = labels.map(|label| label.as_str().unwrap()).collect();
    assert!(kept.contains(&"sqlite-bundled.wal.A-2") && kept.len() < 9, "{kept:?}");
    let base = plan["base"].as_array().unwrap();
    assert!(
        kept.iter()
            .filter(|label| **label != "sqlite-bundled.wal.A-2")
            .all(|label| { base.iter().any(|one| one.as_str() == Some(label)) })
    );
    let words = ["plan", "product.toml", "--variant", "sqlite-bundled.wal.A-3"];
    let err = refusal(&mut lab.command(&words), "variant");
    assert!(err.contains("unknown variant `sqlite-bundled.wal.A-3`; did you mean `"), "{err}");
}

#[test]
fn the_best_of_many_candidates_is_one_of_the_run_against_its_own_base() {
    let lab = Lab::new();
    lab.write(
        "many.toml",
        "question = \"Which one?\"\nworkloads = [\"point-query\"]\nrows = 2000\nblocks = 1\n\
         rounds = 1\nslice_seconds = 0.1\nwarmup_seconds = 0.02\n[factors]\n\
         build = [\"sqlite\"]\nclients = [1, 2]\nconfig = [\"rollback\", \"wal\", \
         \"wal-normal\", \"journal-memory\", \"page-8k\", \"durable\"]\n",
    );
    let words = ["run", "many.toml", "--counts", "none", "--progress", "none"];
    // A budget has more blocks than the file says, unless they are asked for.
    let few = ["--budget", "1h", "--set", "blocks=1"];
    let output = lab.run(&[&words[..], &few].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("note: the budget ends nothing: verdicts need more than 1 block"));
    let is_said = |words: &[&str]| {
        let table = lab.succeed(&[&["compare"], words].concat());
        table.contains("of 6 candidates")
    };
    match is_one_faster(&lab.comparison()) {
        true => assert!(is_said(&[])),
        false => println!("skipped: on this busy host none was faster than its base twice"),
    }
    assert!(!is_said(&["--across", "clients"]));
    assert!(!is_said(&["--base", "durable"]));
}

/// Whether a variant has a higher throughput than its base in each of two tests.
fn is_one_faster(comparison: &serde_json::Value) -> bool {
    let rows = comparison["comparisons"].as_array().unwrap().iter();
    let rates = rows.filter(|row| row["metric"] == "ops_per_second");
    let is_faster = |row: &&serde_json::Value| row["ratio"].as_f64().is_some_and(|r| r > 1.0);
    let faster: Vec<&serde_json::Value> = rates.filter(is_faster).collect();
    let tests = |variant: &serde_json::Value| {
        faster.iter().filter(|row| row["variant"] == *variant).count()
    };
    faster.iter().any(|row| tests(&row["variant"]) == 2)
}
