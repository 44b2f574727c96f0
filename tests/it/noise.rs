//! What a host's noise is learned from, and what it is good for.

use crate::lab::Lab;
use std::collections::BTreeSet;

#[test]
fn a_build_is_measured_against_itself_and_its_noise_is_kept() {
    let lab = Lab::new();
    let settings = ["rows=2000", "slice_seconds=0.05", "warmup_seconds=0.02", "blocks=4"];
    let set = settings.iter().flat_map(|setting| ["--set", setting]);
    let words = ["calibrate", "--counts", "none", "--progress", "none", "--note", "a test"];
    let more = ["--runs", "2"];
    let table = lab.succeed(&words.into_iter().chain(more).chain(set).collect::<Vec<_>>());
    let text = std::fs::read_to_string(lab.path("dbdyno-results/bank.jsonl")).unwrap();
    let runs: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!((&run["format"], &run["server"]), (&1.into(), &"sqlite".into()));
        assert_eq!((&run["experiment"], &run["note"]), (&"quickstart".into(), &"a test".into()));
        assert!(run["block_seconds"].as_f64().unwrap() > 0.0);
        let phases = run["phases"].as_array().unwrap();
        assert_eq!(phases.len(), 4, "{run}");
        for phase in phases {
            let logs = phase["log_ratios"]["server_cpu_us_per_op"].as_array().unwrap();
            assert_eq!(logs.len(), 4, "{phase}");
            assert!(logs.iter().any(|log| log.as_f64().unwrap() != 0.0), "{phase}");
        }
    }
    // Each run drew operations of its own.
    let seeds: BTreeSet<u64> = lab.slices().iter().map(|s| s["seed"].as_u64().unwrap()).collect();
    let blocks = 2 * 4;
    assert!(seeds.len() >= blocks, "{seeds:?}");
    // Two phases write in each of two runs: enough for a prior. One phase looks up points: not.
    assert!(table.contains("sqlite  write  server_cpu_us_per_op"), "{table}");
    assert!(!table.contains("point"), "{table}");
    assert!(table.contains("noise of this host class from 2 runs, 2"), "{table}");
}
