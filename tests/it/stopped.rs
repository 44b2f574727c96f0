//! A server, driver or run that stands still for a while: each slice that this hits is left out
//! with a warning, and no number is of it.
//!
//! `DBDYNO_STOPS=2 cargo test --test it stopped -- --nocapture` stops each case in as many slices
//! for 20 s.

use crate::{
    lab::{Lab, value},
    running::{Running, eventually},
};
use model::mark;
use std::{process::Command, time::Duration};

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
const SHORT: Duration = Duration::from_secs(9);
/// A slice is measured while the drivers take this much CPU time [ns] in each of so many looks;
/// what lies between slices is shorter.
const BUSY_NS: u64 = 300_000;
const LOOKS: usize = 5;
const LOOK: Duration = Duration::from_millis(100);

/// At a set rate, so that slices are as long as they say: the work of a slice follows from the rate
/// of a moment, and a host that became faster since would end it before anyone stops it.
const EXPERIMENT: &str = r#"
question = "Who stood still?"
workloads = ["point-query"]
rows = 2000
blocks = 1
rounds = 6
slice_seconds = 3
warmup_seconds = 0.1
arrival = { per_second = 300, spacing = "even" }
"#;

/// Slices that were measured so far, as the progress tells them.
fn slices(running: &Running<'_>) -> usize {
    running.said().lines().filter(|line| line.contains("] thds:")).count()
}

/// Whether the drivers execute operations; between slices they wait.
fn is_busy(drivers: &[u32]) -> bool {
    let cpu_ns = || probe::task_cpu(drivers).iter().map(|task| task.cpu_ns).sum::<u64>();
    (0..LOOKS).all(|_| {
        let before = cpu_ns();
        std::thread::sleep(LOOK);
        cpu_ns() > before + BUSY_NS
    })
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

/// Stops a victim in the next slice.
fn strike(running: &mut Running<'_>, victim: &str, length: Duration) {
    let before = slices(running);
    running.wait("a slice is measured", |running| {
        (slices(running) > before && is_busy(&running.drivers())).then_some(())
    });
    let pids = pids(running, victim);
    assert!(!pids.is_empty(), "no {victim}");
    // All at once, as each command takes its time on a busy host; some may have ended since.
    let tasks: Vec<String> = pids.iter().map(u32::to_string).collect();
    let signal = |name: &str| Command::new("kill").arg(name).args(&tasks).output().unwrap();
    signal("-STOP");
    std::thread::sleep(length);
    // The driver goes on while the run stands still: its slice has to end meanwhile, for which a
    // host that became slow needs longer.
    let drivers = running.drivers();
    if victim == "run" && is_busy(&drivers) {
        eventually("the slice ends", || (!is_busy(&drivers)).then_some(()));
        std::thread::sleep(length / 3);
    }
    signal("-CONT");
}

/// Stops a victim in `count` slices; what is said of the stopped slices and their number.
fn stop((victim, product): (&str, &str), count: usize, length: Duration) {
    let lab = Lab::with_small_logs();
    lab.write("still.toml", &format!("{EXPERIMENT}factors.build = [\"{product}\"]\n"));
    let words = ["run", "still.toml", "--counts", "none", "--progress", "plain"];
    let mut running = Running::start(&lab, lab.command(&words));
    // Its folders are remembered, and looked for at the end.
    running.all_servers(1);
    (0..count).for_each(|_| strike(&mut running, victim, length));
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    let slices = lab.slices();
    let lengths: Vec<f64> = slices.iter().filter_map(seconds).collect();
    println!("{victim}, {product}: lengths of slices {lengths:.1?} s");
    // The driver goes on while the run stands still.
    let is_stopped = |slice: &serde_json::Value| {
        slice["marks"].to_string().contains(mark::STOPPED)
            || seconds(slice) >= Some(length.as_secs_f64())
    };
    let stopped = slices.iter().filter(|slice| is_stopped(slice)).count();
    // A slice may take as long on a busy host.
    assert!(stopped >= count, "{victim}, {product}: every stop was in a slice: {stopped}");
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
    let unjudged = |warning: &serde_json::Value| {
        warning.as_str().unwrap().contains("rates and times are not judged")
    };
    if sum < count && warnings.iter().any(unjudged) {
        println!("{victim}, {product}: skipped: this host is too busy, no rate is judged");
        return;
    }
    // A busy host may stall others.
    assert!(sum >= count, "{victim}, {product}: {warnings:?}");
    // The value is that of the other slices: no faster and no slower than those.
    let others = slices.iter().filter(|one| one["state"] == "measured" && !is_stopped(one));
    let rate =
        |slice: &serde_json::Value| Some(slice["work"]["succeeded"].as_f64()? / seconds(slice)?);
    let rates: Vec<f64> = others.filter_map(rate).collect();
    assert!(!rates.is_empty(), "{victim}, {product}: other slices have values");
    let server = product.split('@').next().unwrap();
    let Some(value) = value(&comparison, "point-query", server, "ops_per_second") else {
        // A busy host may have stalled all others too.
        let measured = slices.iter().filter(|one| one["state"] == "measured").count();
        assert!(sum >= measured, "{victim}, {product}: {sum} of {measured}: {warnings:?}");
        println!("{victim}, {product}: skipped: every slice is left out");
        return;
    };
    let (least, greatest) =
        (rates.iter().copied().reduce(f64::min), rates.iter().copied().reduce(f64::max));
    // A busy host has slices that are as slow as a stopped one and no outliers of their test.
    let range = 0.7 * least.unwrap()..=greatest.unwrap();
    assert!(range.contains(&value), "{product}: {value} {rates:?}");
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
