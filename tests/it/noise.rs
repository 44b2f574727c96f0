//! What a host's noise is learned from, and what it is good for.

use crate::lab::{Lab, text};
use serde_json::Value;
use std::collections::BTreeSet;

const SLICE: &str = "slice_seconds=0.05";
const SHORT: [&str; 8] =
    ["--set", "rows=2000", "--set", SLICE, "--set", "warmup_seconds=0.02", "--set", "blocks=4"];
const QUIET: [&str; 4] = ["--counts", "none", "--progress", "none"];

fn lines(lab: &Lab) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path("dbdyno-results/bank.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn calibrate(lab: &Lab, more: &[&str]) -> String {
    lab.succeed(&[&["calibrate", "--note", "a test"], more, &QUIET, &SHORT].concat())
}

#[test]
fn a_build_is_measured_against_itself_and_its_noise_is_kept() {
    let lab = Lab::with_small_logs();
    assert!(lab.succeed(&["doctor", "--noise"]).contains("`dbdyno calibrate EXPERIMENT`"));
    let table = calibrate(&lab, &["--runs", "2", "--only", "point-query,insert"]);
    let runs = lines(&lab);
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!((&run["format"], &run["server"]), (&1.into(), &"sqlite".into()));
        assert_eq!((&run["experiment"], &run["note"]), (&"quickstart".into(), &"a test".into()));
        assert!(run["block_seconds"].as_f64().unwrap() > 0.0);
        // What other load spoilt is not there.
        assert_eq!(run["phases"].as_array().unwrap().len(), 2, "{run}");
        for phase in run["phases"].as_array().unwrap() {
            for logs in phase["log_ratios"].as_object().unwrap().values() {
                assert!((2..=4).contains(&logs.as_array().unwrap().len()), "{phase}");
            }
        }
    }
    // The runs are none of those that are compared, and each drew operations of its own.
    assert_eq!(lab.succeed(&["list", "runs"]).trim(), "");
    let folder = lab.path("dbdyno-results/calibration");
    let own = lab.succeed(&["list", "runs", "--results", folder.to_str().unwrap()]);
    assert_eq!(own.lines().count(), 2, "{own}");
    let seeds: BTreeSet<u64> = std::fs::read_dir(folder.join("runs"))
        .unwrap()
        .map(|run| std::fs::read_to_string(run.unwrap().path().join("plan.json")).unwrap())
        .map(|plan| serde_json::from_str::<Value>(&plan).unwrap())
        .map(|plan| plan["experiment"]["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds.len(), 2, "{seeds:?}");
    assert!(table.contains("noise of this host class from 2 runs, 2"), "{table}");
    assert_eq!(lab.succeed(&["doctor", "--noise"]), table);
}

/// A host that is always busy: rounds are repeated a few times and then no more, nothing is judged,
/// and instructions still are.
#[test]
fn disturbed_rounds_are_repeated_and_a_host_that_is_always_busy_is_given_up() {
    let lab = Lab::with_small_logs();
    let stop = std::sync::atomic::AtomicBool::new(false);
    // One busy CPU disturbs each slice of this length, and the tests beside need the others.
    let longer = SHORT.map(|word| if word == SLICE { "slice_seconds=0.1" } else { word });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let mut run =
            lab.command(&[&["run", "--only", "point-query"], &QUIET[..], &longer].concat());
        let output = run.env_remove("DBDYNO_NO_REPETITION").output();
        // Before anything is looked at: a test that fails would wait for the thread without end.
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let output = output.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    });
    let rows = lab.comparison();
    let rates = rows["comparisons"].as_array().unwrap().iter();
    let rates: Vec<&Value> = rates.filter(|row| row["metric"] == "ops_per_second").collect();
    assert!(!rates.is_empty() && rates.iter().all(|row| row["verdict"] == "invalid"), "{rates:?}");
    let records = std::fs::read_dir(lab.path("dbdyno-results/records")).unwrap();
    let slices: Vec<Value> = records
        .flat_map(|record| {
            let text =
                std::fs::read_to_string(record.unwrap().path().join("slices.jsonl")).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        })
        .collect();
    let repeated: BTreeSet<(u64, u64)> = slices
        .iter()
        .filter(|slice| slice["repeats"].is_u64())
        .map(|slice| (slice["block"].as_u64().unwrap(), slice["round"].as_u64().unwrap()))
        .collect();
    // The first six disturbed rounds in a row are a planned one and what repeats it, a block after
    // the other: four or five. Beside other tests a slice may seem undisturbed, and rounds are
    // repeated again; if that went on forever it would be three for each of four blocks.
    assert!((3..12).contains(&repeated.len()), "{repeated:?}");
    assert!(slices.iter().all(|one| one["repeats"].is_null() || one["repeats"] == 0));
}

/// Three runs of which each has blocks 1 % to either side.
fn even_bank(host: &Value) -> String {
    let line = |run: u32| {
        serde_json::json!({
            "format": 1, "run": format!("r{run}"), "started_us": 1_773_273_600_000_000_u64,
            "host": host, "dbdyno": "0.1.0", "experiment": "quickstart", "server": "sqlite",
            "subject": "sqlite", "note": "", "block_seconds": 1.0,
            "phases": [{ "phase": "point-query", "group": "point",
                "log_ratios": { "server_cpu_us_per_op": [0.01, -0.01, 0.01, -0.01] } }],
        })
    };
    (0..3).map(|run| format!("{}\n", line(run))).collect()
}

#[test]
fn a_comparison_uses_the_bank_of_its_host_class_and_says_so() {
    let lab = Lab::with_small_logs();
    calibrate(&lab, &["--runs", "1", "--only", "point-query"]);
    let host = lines(&lab)[0]["host"].clone();
    std::fs::remove_file(lab.path("dbdyno-results/bank.jsonl")).unwrap();
    lab.succeed(&[&["run", "--only", "point-query,insert"], &QUIET[..], &SHORT].concat());
    let file = lab.write("even.jsonl", &even_bank(&host));
    let found = |bank: &[&str]| -> Vec<Value> {
        let json = lab.succeed(&[&["compare", "--format", "json"], bank].concat());
        let all: Value = serde_json::from_str(&json).unwrap();
        let cells = all["comparisons"].as_array().unwrap().iter();
        cells.filter(|cell| cell["metric"] == "server_cpu_us_per_op").cloned().collect()
    };
    let is_told = |cell: &&Value| !cell["noise"].is_null();
    let told = found(&["--bank", file.to_str().unwrap()]);
    let points: Vec<&Value> = told.iter().filter(is_told).collect();
    assert_eq!(points.len(), 1, "only the group of the bank: {points:?}");
    assert_eq!(points[0]["phase"], "point-query");
    let cell = &points[0]["noise"];
    // Of a single test, nothing shows that today is noisier but its own blocks.
    let inflation = cell["inflation"].as_f64().unwrap();
    let expected = if inflation > 1.0 { 0.0 } else { 20.0 };
    assert!(inflation >= 1.0 && cell["prior_freedom"] == expected, "{cell}");
    // By SciPy 1.17.1: sqrt(4e-4 / 3 * exp(log(1.5) - digamma(1.5))).
    let deviation = cell["prior_deviation"].as_f64().unwrap();
    assert!((deviation - 0.013_886_452_107_104_165).abs() < 1e-12, "{deviation}");
    assert_eq!(cell["bank"].as_str().unwrap().len(), 64);
    // Not judged on a busy host.
    if let Some(freedom) = points[0]["test"]["degrees_of_freedom"].as_f64() {
        let blocks = points[0]["blocks"].as_f64().unwrap();
        // Blocks that follow their neighbors are taken together, in twos or fours, and the bank
        // tells nothing of those.
        let together = [2.0, 4.0].map(|size| blocks / size - 1.0);
        let apart = expected + blocks - 1.0;
        assert!(freedom == apart || together.contains(&freedom), "{freedom} {cell}");
    }
    let says = "Tests use the noise of this host class from 3 runs, 2026-03-12.";
    let tables = |bank: &str| lab.succeed(&["compare", "--bank", bank]).replace('\n', " ");
    assert!(tables(file.to_str().unwrap()).contains(says));
    assert!(!tables("none").contains("noise of this host class"));

    // Without a bank nothing is told, nor by that of another kind of host.
    assert!(!found(&[]).iter().any(|cell| is_told(&cell)));
    let mut other = host;
    other["cpu"] = "another".into();
    let file = lab.write("other.jsonl", &even_bank(&other));
    let other = ["--bank", file.to_str().unwrap()];
    assert!(!found(&other).iter().any(|cell| is_told(&cell)));
    let json = lab.succeed(&[&["compare", "--format", "json"], &other[..]].concat());
    assert!(json.contains("`--bank` changes nothing here"), "{json}");
    let said = lab.refuses(&["compare", "--bank", "missing.jsonl"]);
    assert!(said.contains("there is no bank `missing.jsonl`: `dbdyno calibrate` writes"), "{said}");
}
