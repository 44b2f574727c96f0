//! The functions of `dbdyno explain` cost what callgrind counts, another program that executes the
//! same servers on a processor of its own.

use crate::{
    explain::{explained, run},
    injected::open_to_servers,
    lab::Lab,
};
use std::{collections::HashMap, os::unix::fs::PermissionsExt, path::Path};

/// Calls of a function, and instructions with all that it called.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    calls: f64,
    inclusive: f64,
}

/// The costs in a file of callgrind: lines `fn=` and `cfn=` name caller and called function, in
/// short where the name was given before, `calls=` is followed by the cost of these calls.
fn costs(text: &str) -> HashMap<String, Cost> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut found: HashMap<String, Cost> = HashMap::new();
    let (mut called, mut calls) = ("", None);
    for line in text.lines() {
        let name = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn="));
        if let Some(name) = name {
            let (short, full) = name.split_once(' ').unwrap_or((name, ""));
            if !full.is_empty() {
                names.insert(short, full);
            }
            called = names[short];
        } else if let Some(number) = line.strip_prefix("calls=") {
            calls = number.split(' ').next().and_then(|number| number.parse::<f64>().ok());
        } else if let Some(number) = calls.take() {
            let cost = found.entry(called.to_owned()).or_default();
            cost.calls += number;
            cost.inclusive += line.split(' ').nth(1).unwrap().parse::<f64>().unwrap();
        }
    }
    found
}

/// The costs of the process that called `anchor` most.
fn of_serving(folder: &Path, anchor: &str) -> HashMap<String, Cost> {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let all = files.map(|file| costs(&std::fs::read_to_string(file.path()).unwrap()));
    let calls = |costs: &HashMap<String, Cost>| costs.get(anchor).map_or(0.0, |cost| cost.calls);
    all.max_by(|a, b| calls(a).total_cmp(&calls(b))).unwrap()
}

/// What callgrind counts of the serving process in slices of `seconds`. Simple queries of Postgres
/// are left out: the measured ones are prepared, and how many others tell the serving task is not
/// the same in each run.
fn counted(build: &str, anchor: &str, seconds: f64) -> HashMap<String, Cost> {
    let lab = Lab::new();
    let folder = lab.path("costs");
    std::fs::create_dir(&folder).unwrap();
    open_to_servers(&folder);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let under = format!(
        "build = [\"{build}\"]\nprefix = [\"valgrind --tool=callgrind \
         --toggle-collect=exec_simple_query --collect-atstart=yes \
         --callgrind-out-file={}/%p\"]\n",
        folder.display()
    );
    lab.write(
        "under.toml",
        &format!(
            "question = \"What does callgrind count?\"\nworkloads = [\"point-query\"]\n\
             rows = 1000\nblocks = 1\nrounds = 1\nslice_seconds = {seconds}\n\
             warmup_seconds = 0.1\n[factors]\n{under}"
        ),
    );
    lab.succeed(&["run", "under.toml", "--counts", "none"]);
    of_serving(&folder, anchor)
}

/// Functions that are compared, those that cost most with what they call.
const COMPARED: usize = 20;
/// Calls of the anchor that the long run has to have more than the short one.
const CALLS: f64 = 1000.0;

/// Compares what functions cost, with all that they call, per call of `anchor`, in what a long run
/// does more than a short one, so without what each run does once: the beginning of a session, the
/// load, calibration.
fn check(build: &str, factors: &str, anchor: &str, tolerance: f64) {
    let lab = Lab::new();
    let run_of_two = run(&lab, factors);
    let Some(found) = explained(&lab, &run_of_two) else { return };
    let short = counted(build, anchor, 0.5);
    let more = |long: &HashMap<String, Cost>| long[anchor].calls - short[anchor].calls;
    // A busy host takes longer for as many operations.
    let mut longer = [4.0, 16.0, 64.0].into_iter().map(|seconds| counted(build, anchor, seconds));
    let long = longer.find(|long| more(long) > CALLS).unwrap();

    let side = |function: &serde_json::Value, key: &str| function["sides"][0][key].as_f64();
    let functions = found["explanation"]["functions"].as_array().unwrap();
    let of_anchor = functions.iter().find(|function| function["name"] == anchor).unwrap();
    let anchor_calls = side(of_anchor, "calls").unwrap();
    let mut both: Vec<(f64, &str, f64)> = functions
        .iter()
        .filter_map(|function| {
            let (inclusive, calls) = (side(function, "inclusive")?, side(function, "calls")?);
            let name = function["name"].as_str()?;
            let other = *long.get(name)?;
            let known = other.inclusive - short.get(name).copied().unwrap_or_default().inclusive;
            // Callgrind keeps calls of a function by itself apart.
            let inner = long.get(&format!("{name}'2")).map_or(0.0, |inner| inner.calls);
            let recursive = inner > 0.01 * other.calls;
            let ratio = (inclusive / anchor_calls) / (known / more(&long));
            (calls > 0.9 && !recursive).then_some((inclusive, name, ratio))
        })
        .collect();
    both.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(both.len() > COMPARED, "{build}: {both:?}");
    for (inclusive, name, ratio) in &both[..COMPARED] {
        println!("{build} {name}: {inclusive:.1}, {ratio:.4} of callgrind's");
    }
    for (_, name, ratio) in &both[..COMPARED] {
        assert!((ratio - 1.0).abs() < tolerance, "{build} {name}: {ratio}");
    }
}

#[test]
fn functions_of_sqlite_cost_what_callgrind_counts() {
    let factors = "build = [\"sqlite\"]\nconfig = [\"base\", \"rollback\"]\n";
    check("sqlite", factors, "sqlite3_step", 0.02);
}

/// A repeated string instruction is one for the processor and for the emulator; callgrind counts
/// its turns. Functions of Postgres have some, into which the compiler made small copies.
#[test]
fn functions_of_postgres_cost_what_callgrind_counts_but_for_repeated_instructions() {
    let factors = "build = [\"postgres@18\"]\nenvironment = [\"\", \"A=1\"]\n";
    check("postgres@18", factors, "ExecInitIndexScan", 0.05);
}

#[test]
fn costs_of_calls_are_read() {
    let text = "events: Ir\nfl=(1) a.c\nfn=(1) main\n16 400\ncfn=(2) step\ncalls=3 +4\n17 90\n\
                cfn=(2)\ncalls=1 +4\n* 30\nfn=(2)\n20 120\n";
    let found = costs(text);
    assert_eq!((found["step"].calls, found["step"].inclusive), (4.0, 120.0));
    assert!(!found.contains_key("main"));
}
