//! Runs that are judged on the way, and the seed that each run draws.

use crate::{
    lab::{Lab, is_lost, is_told_of_lost, text},
    running::{Running, send},
};

const EXPERIMENT: &str = "question = \"Does it end when it may?\"
workloads = [\"point-query\", \"update-index\"]
rows = 2000
rounds = 1
slice_seconds = 0.05
warmup_seconds = 0.02
factors.build = [\"sqlite\"]
factors.config = [\"rollback\", \"wal\"]
";

/// Seeds of all plans below the results folder, oldest run first.
fn seeds(lab: &Lab) -> Vec<u64> {
    let results = lab.path("dbdyno-results/runs");
    let mut plans: Vec<_> = std::fs::read_dir(results).unwrap().flatten().collect();
    plans.sort_by_key(std::fs::DirEntry::file_name);
    let seed = |run: std::fs::DirEntry| {
        let plan = std::fs::read_to_string(run.path().join("plan.json")).unwrap();
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        plan["experiment"]["seed"].as_u64().unwrap()
    };
    plans.into_iter().map(seed).collect()
}

#[test]
fn a_run_whose_budget_is_spent_ends_after_the_fewest_blocks_that_decide() {
    let lab = Lab::new();
    lab.write("ends.toml", EXPERIMENT);
    let words = ["run", "ends.toml", "--counts", "none", "--progress", "plain"];
    let output = lab.run(&[&words[..], &["--budget", "1s"]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let why = "the run ended after 4 blocks: another one would take longer than the budget";
    assert!(said.contains(why), "{said}");
    let found = lab.comparison();
    let has_lost = is_told_of_lost(&found["warnings"].to_string());
    let rows = found["comparisons"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["blocks"].as_u64() <= Some(4)), "{said}");
    let rates = rows.iter().filter(|row| row["metric"] == "ops_per_second");
    let compared: Vec<_> = rates.filter(|row| row["variant"] != row["base"]).collect();
    assert_eq!(compared.len(), 2, "{said}");
    for row in compared {
        // A busy host disturbs rounds: some of them are left out, or none is judged.
        let blocks = row["block_ratios"].as_array().unwrap().len();
        assert!(blocks == 4 || has_lost && (1..4).contains(&blocks), "{row}");
        if row["verdict"] != "invalid" && blocks > 2 {
            // The last look spends what is left of the error rate.
            assert_eq!(row["test"]["looks"], serde_json::json!([4]), "{row}");
        }
    }
    let resumed = lab.run(&[&words[..], &["--budget", "1s", "--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(2), "it is over");
    assert!(text(&resumed.stderr).contains("no unfinished run"), "{}", text(&resumed.stderr));
}

#[test]
fn what_is_not_asked_for_is_not_awaited() {
    let lab = Lab::new();
    lab.write("ends.toml", EXPERIMENT);
    // Whoever accepts a factor of 2 in instructions, which no busy host disturbs, and asks for
    // nothing else, has an answer early.
    let words = ["run", "ends.toml", "--progress", "plain", "--only"];
    let asked = ["point-query", "--decide", "instructions=100%", "--set", "looks=[4,16]"];
    let output = lab.run(&[&words[..], &asked, &["--set", "blocks=16"]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let table = text(&output.stdout);
    assert!(table.contains("100 % for instructions"), "{table}");
    // Instructions of slices in which this host stood still do not count.
    if !is_lost(&lab.comparison(), "a look that decides") {
        assert!(said.contains("after 4 blocks: 1 of 1 test decided"), "{said}");
        assert!(said.contains("the run ended after 4 blocks: no test is open"), "{said}");
        assert!(lab.succeed(&["list", "runs"]).contains("4 of at most 16 blocks"));
    }
    // Where nothing counts instructions, there is no value to decide on.
    let output = lab.run(&[&words[..], &asked, &["--counts", "none"]].concat());
    let said = text(&output.stderr);
    let found = lab.comparison();
    let mut rows = found["comparisons"].as_array().unwrap().iter();
    let counted = rows.any(|row| row["metric"].as_str().unwrap().contains("instructions"));
    let without = "0 of 1 test decided; without a value of what is to be decided: point-query";
    assert_eq!(said.contains(without), !counted, "{said}");
    let list = "a list such as `time=5%,cpu=2%";
    for (wrong, expected) in
        [("cpu", list), ("latency=5%", list), ("", list), ("time=10", "write `time=10%`")]
    {
        let err = lab.refuses(&["run", "ends.toml", "--decide", wrong]);
        assert!(err.contains(expected), "{wrong}");
    }
}

/// A look that the plan does not have would spend some of the error rate.
#[test]
fn a_run_that_is_continued_between_two_looks_is_judged_at_the_next_one() {
    let lab = Lab::new();
    // Two that are equal are not told to be so with so small a margin.
    let twin = EXPERIMENT.replace("\"wal\"", "\"twin\"");
    lab.write("ends.toml", &format!("{twin}[configs.twin]\nextends = \"rollback\"\n"));
    let words = ["run", "ends.toml", "--counts", "none", "--progress", "plain"];
    let asked = ["--only", "point-query", "--decide", "time=1.1%", "--set", "looks=[4,10,11]"];
    let words = [&words[..], &asked].concat();
    let mut running = Running::start(&lab, lab.command(&words));
    // Their folders are remembered, and looked for at the end.
    running.all_servers(2);
    running.wait_for("block 6: ");
    send("-INT", &running.pid().to_string());
    let (code, said) = running.end();
    assert_eq!(code, Some(130), "{said}");
    let before = looks(&said);
    let resumed = lab.run(&[&words[..], &["--resume"]].concat());
    let later = text(&resumed.stderr);
    assert!(resumed.status.success(), "{later}");
    // A busy host costs blocks, and a look names those that are left.
    let has_lost = is_disturbed(&lab.comparison()["warnings"].to_string());
    let is_at = |found: &[u32], planned: u32| match found {
        [one] => *one == planned || has_lost && (planned / 2..planned).contains(one),
        _ => false,
    };
    assert!(is_at(&before, 4), "{before:?} {said}");
    let after = looks(&later);
    assert!(is_at(&after, 10), "{after:?} {later}");
}

/// The blocks at each look, by what a run says.
fn looks(said: &str) -> Vec<u32> {
    // How the run ended stands beside them.
    let lines = said.lines().filter(|line| !line.contains("the run ended after "));
    let rests = lines.filter_map(|line| line.split_once("after "));
    rests.filter_map(|(_, rest)| rest.split(" blocks: ").next()?.parse().ok()).collect()
}

/// Whether warnings say that a busy host cost blocks, or so many that no rate is judged.
fn is_disturbed(warnings: &str) -> bool {
    is_told_of_lost(warnings) || warnings.contains("rates and times are not judged")
}

#[test]
fn looks_end_with_the_blocks_and_wrong_ones_are_refused() {
    let lab = Lab::new();
    lab.write("ends.toml", &format!("{EXPERIMENT}looks = [4, 8, 16]\n"));
    let plan = lab.succeed(&["plan", "ends.toml"]);
    assert!(plan.contains("judged after 4, 8 and 16 blocks"), "{plan}");
    let plan = lab.succeed(&["plan", "ends.toml", "--set", "blocks=6"]);
    assert!(plan.contains("judged after 4 and 6 blocks"), "{plan}");
    let plan = lab.succeed(&["plan", "ends.toml", "--set", "decide.time=10%"]);
    assert!(plan.contains("to be decided, with the change that matters: time 10 %"), "{plan}");
    for looks in ["[2, 8]", "[8, 4]", "[4, 4]"] {
        let err = lab.refuses(&["plan", "ends.toml", "--set", &format!("looks={looks}")]);
        assert!(err.contains("`looks` must be ascending"), "{looks}");
    }
}

#[test]
fn each_run_draws_a_seed_unless_the_file_has_one() {
    let lab = Lab::new();
    lab.write("ends.toml", EXPERIMENT);
    let short = ["run", "ends.toml", "--counts", "none", "--set", "blocks=1"];
    lab.succeed(&short);
    lab.succeed(&short);
    lab.succeed(&[&short[..], &["--set", "seed=7"]].concat());
    let seeds = seeds(&lab);
    assert_ne!(seeds[0], seeds[1]);
    assert_eq!(seeds[2], 7);
}
