//! A server, driver or run that stands still for a while: each slice that this hits is left out
//! with a warning, and no number is of it.
//!
//! `DBDYNO_STOPS=2 cargo test --test it stopped -- --nocapture` stops each case in as many slices
//! for 20 s.

use crate::{
    lab::Lab,
    running::{Running, send},
};
use std::{collections::BTreeSet, time::Duration};

/// Who stands still, and in a run of which product. An embedded engine is in its driver.
const CASES: [(&str, &str); 6] = [
    ("server", "postgres@18"),
    ("driver", "sqlite"),
    ("run", "mysql@9"),
    ("server", "mysql@9"),
    ("driver", "postgres@18"),
    ("run", "sqlite"),
];
/// Without [`STOPS`]: each victim and each product once.
const FEW: usize = 3;
const STOPS: &str = "DBDYNO_STOPS";
/// Length of each stop, with and without [`STOPS`].
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_secs(10);
/// Into a slice of 4 s, behind what lies between slices.
const INTO: Duration = Duration::from_millis(1500);

const EXPERIMENT: &str = r#"
question = "Who stood still?"
workloads = ["point-query"]
rows = 2000
blocks = 1
rounds = 12
slice_seconds = 4
warmup_seconds = 0.1
"#;

/// Slices that were measured so far, as the progress tells them.
fn slices(running: &Running<'_>) -> usize {
    running.said().lines().filter(|line| line.contains("] thds:")).count()
}

/// Length of the work of a slice.
fn seconds(slice: &serde_json::Value) -> Option<f64> {
    let work = &slice["work"];
    Some((work["end_ns"].as_f64()? - work["start_ns"].as_f64()?) / 1e9)
}

fn pids(running: &mut Running<'_>, victim: &str) -> Vec<u32> {
    match victim {
        "server" => probe::process_tree(&[running.server().pid]),
        "driver" => running.drivers(),
        _ => vec![running.pid()],
    }
}

/// Stops a victim in `count` slices; what is said of the stopped slices and their number.
fn stop((victim, product): (&str, &str), count: usize, length: Duration) {
    let lab = Lab::new();
    lab.write("still.toml", &format!("{EXPERIMENT}factors.build = [\"{product}\"]\n"));
    let words = ["run", "still.toml", "--counts", "none", "--progress", "plain"];
    let mut running = Running::start(&lab, lab.command(&words));
    // Its folders are remembered, and looked for at the end.
    running.all_servers(1);
    let mut stopped = BTreeSet::new();
    for _ in 0..count {
        let before = slices(&running);
        running.wait("a slice begins", |running| (slices(running) > before).then_some(()));
        let pids = pids(&mut running, victim);
        assert!(!pids.is_empty(), "no {victim}");
        std::thread::sleep(INTO);
        // Slices are told when they end, in their order.
        stopped.insert(slices(&running));
        pids.iter().for_each(|pid| send("-STOP", &pid.to_string()));
        std::thread::sleep(length);
        pids.iter().for_each(|pid| send("-CONT", &pid.to_string()));
    }
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(stopped.len(), count);
    let lengths: Vec<f64> = lab.slices().iter().filter_map(seconds).collect();
    println!("{victim}, {product}: stops in {stopped:?}, lengths of slices {lengths:.1?} s");
    let comparison = lab.comparison();
    let warnings = comparison["warnings"].as_array().unwrap();
    let left_out = |text: &str| {
        let (count, reason) = text
            .split_once(" slices left out: ")
            .or_else(|| text.split_once(" slice left out: "))?;
        Some((count.rsplit(' ').next()?.parse::<usize>().ok()?, reason.to_owned()))
    };
    let said = warnings.iter().filter_map(|warning| left_out(warning.as_str().unwrap()));
    let said: Vec<(usize, String)> = said.collect();
    println!("{victim}, {product}: {count} stops of {} s, left out: {said:?}", length.as_secs());
    let sum: usize = said.iter().map(|(count, _)| count).sum();
    // A busy host may stall others.
    assert!(sum >= count, "{victim}, {product}: {warnings:?}");
    // The value is that of the other slices: no faster and no slower than those.
    let rates: Vec<f64> = lab
        .slices()
        .iter()
        .enumerate()
        .filter_map(|(number, slice)| {
            let work = &slice["work"];
            let seconds = seconds(slice)?;
            let is_other = slice["state"] == "measured" && !stopped.contains(&number);
            is_other.then(|| work["succeeded"].as_f64().unwrap() / seconds)
        })
        .collect();
    assert_eq!(rates.len(), 12 - count);
    let server = product.split('@').next().unwrap();
    let value = crate::lab::value(&comparison, "point-query", server, "ops_per_second").unwrap();
    let (least, greatest) =
        (rates.iter().copied().reduce(f64::min), rates.iter().copied().reduce(f64::max));
    assert!((least.unwrap()..=greatest.unwrap()).contains(&value), "{product}: {value} {rates:?}");
}

#[test]
fn slices_in_which_something_stood_still_are_left_out() {
    let asked = std::env::var(STOPS).ok().map(|text| text.parse().unwrap());
    let (cases, count, length) =
        asked.map_or((&CASES[..FEW], 1, SHORT), |count| (&CASES[..], count, LONG));
    for case in cases {
        stop(*case, count, length);
    }
}
