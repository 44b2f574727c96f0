//! Error rates, power and coverage of the verdicts: suites whose truth is known go through the code
//! that judges runs.
//!
//! `cargo run --release -p dbdyno-analysis --example replay [SUITES [BANK]]` prints the tables of
//! docs/validation.md, from a model or from the blocks of a bank that `dbdyno calibrate` wrote.

#![allow(clippy::print_stdout, reason = "the tables are its output")]

mod blocks;
mod suite;

use analysis::{Cell, Noise, Verdict};
use blocks::Blocks;
use model::margins::Margins;
use suite::{Disturbance, Judge, Logs, Suites, changed};

const COUNTS: [u32; 4] = [4, 8, 16, 32];
/// Numbers of blocks after which a run with a budget is judged.
const LOOKS: [u32; 7] = [4, 6, 8, 12, 16, 24, 32];

const TIME: &str = "ops_per_second";
const CPU: &str = "server_cpu_us_per_op";
const INSTRUCTIONS: &str = "foreground_user_instructions_per_op";

/// Changes that are looked for: what, its ratio, metric and deviation.
const EFFECTS: [(&str, f64, &str, f64); 5] = [
    ("instructions 0.5 %, sd 0.14 %", 1.005, INSTRUCTIONS, 0.0014),
    ("CPU 2 %, sd 1 %", 1.02, CPU, 0.01),
    ("CPU 5 %, sd 2 %", 1.05, CPU, 0.02),
    ("time 5 %, sd 3 %", 1.05, TIME, 0.03),
    ("time 5 %, sd 7 %", 1.05, TIME, 0.07),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let suites = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(1000);
    match arguments.get(1) {
        Some(path) => of_bank(path, suites),
        None => of_model(suites),
    }
}

fn of_model(suites: usize) {
    let blocks = Blocks::model(32, &[(TIME, 0.03), (CPU, 0.01)]);
    println!("{suites} suites of 32 phases, time with sd 3 % and CPU with sd 1 %");
    false_changes(&blocks, &banks(&blocks), 0.06, suites);
    for phases in [1, 4] {
        let blocks = Blocks::model(phases, &[(TIME, 0.03), (CPU, 0.01)]);
        println!("\n{phases} of such phases");
        false_changes(&blocks, &banks(&blocks), 0.06, suites);
    }
    println!("\nchanges of one of 32 phases that are found [%]");
    header(&COUNTS);
    for (what, ratio, metric, deviation) in EFFECTS {
        let blocks = Blocks::model(32, &[(metric, deviation)]);
        for (bank, noise) in banks(&blocks).iter().take(2) {
            row(&format!("{what}, {bank}"), &power(&blocks, noise.as_ref(), ratio, suites));
        }
    }
    println!("\nthe same by looks at {LOOKS:?} blocks: found [%], mean blocks");
    let blocks = Blocks::model(32, &[(TIME, 0.03), (CPU, 0.01)]);
    for (bank, noise) in banks(&blocks) {
        let found = by_looks(&blocks, noise.as_ref(), 1.0, suites);
        row(&format!("none, but any phase called changed, {bank}"), &found);
    }
    for (what, ratio, metric, deviation) in EFFECTS {
        let blocks = Blocks::model(32, &[(metric, deviation)]);
        for (bank, noise) in banks(&blocks).iter().take(2) {
            row(&format!("{what}, {bank}"), &by_looks(&blocks, noise.as_ref(), ratio, suites));
        }
    }
    equivalence(suites);
}

/// A bank of the suites' own noise, one that is three times as quiet, and none.
fn banks(blocks: &Blocks) -> [(&'static str, Option<Noise>); 3] {
    let quiet = blocks.noise(1.0 / 3.0);
    [("no bank", None), ("bank", blocks.noise(1.0)), ("bank 3 times too quiet", quiet)]
}

fn false_changes(
    blocks: &Blocks,
    banks: &[(&'static str, Option<Noise>)],
    apart: f64,
    suites: usize,
) {
    let kinds = [
        ("as drawn", Disturbance::None),
        ("every second block doubled", Disturbance::Doubled),
        ("two states of a start, 6 % apart", Disturbance::Bimodal(apart)),
        ("lag-1 correlation 0.5", Disturbance::Correlated),
    ];
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    for (what, disturbance) in kinds {
        for (bank, noise) in banks {
            let holds = |cell: &&Cell| cell.interval.is_some_and(|(l, h)| l < 1.0 && 1.0 < h);
            let is = |cells: &[Cell]| {
                let changed = any(cells, |cell| cell.verdict.is_change());
                vec![changed, cells.iter().filter(holds).count() as f64 / cells.len() as f64]
            };
            let found = by_count(blocks, noise.as_ref(), disturbance, (suites, 0.0), is);
            rows.push((format!("{what}, {bank}"), found));
        }
    }
    let titles = [
        "suites without any change in which a phase is called changed, by blocks [%]",
        "intervals of 95 % that hold the true ratio, by blocks [%]",
    ];
    for (index, title) in titles.into_iter().enumerate() {
        println!("\n{title}");
        header(&COUNTS);
        for (what, found) in &rows {
            let own = found.iter().skip(index).step_by(titles.len());
            row(what, &own.copied().collect::<Vec<f64>>());
        }
    }
}

fn any(cells: &[Cell], is: impl Fn(&Cell) -> bool) -> f64 {
    f64::from(u8::from(cells.iter().any(is)))
}

/// The shares that `is` finds among the cells after each of [`COUNTS`], in percent, over suites
/// whose first phase changed by a logarithm.
fn by_count(
    blocks: &Blocks,
    noise: Option<&Noise>,
    disturbance: Disturbance,
    (suites, log): (usize, f64),
    is: impl Fn(&[Cell]) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let places = blocks.places();
    let judge = Judge { places: &places, noise, looks: &[] };
    let most = COUNTS[COUNTS.len() - 1];
    let of = |logs: Logs| {
        let logs = changed(&places, logs, log);
        let shares = COUNTS.iter().flat_map(|count| is(&judge.cells(&logs, *count)));
        shares.map(|share| 100.0 * share).collect()
    };
    Suites { blocks, disturbance, count: most }.mean(suites, of)
}

/// How often a change of the first phase is found, by number of blocks.
fn power(blocks: &Blocks, noise: Option<&Noise>, ratio: f64, suites: usize) -> Vec<f64> {
    let is = |cells: &[Cell]| vec![any(&cells[..1], |cell| cell.verdict.is_change())];
    by_count(blocks, noise, Disturbance::None, (suites, ratio.ln()), is)
}

/// How often a change of the first phase is found at any of [`LOOKS`], and the blocks until then;
/// without a change, how often any phase is called changed.
fn by_looks(blocks: &Blocks, noise: Option<&Noise>, ratio: f64, suites: usize) -> Vec<f64> {
    let places = blocks.places();
    let judge = Judge { places: &places, noise, looks: &LOOKS };
    let judged = if ratio == 1.0 { places.len() } else { 1 };
    let of = |logs: Logs| {
        let logs = changed(&places, logs, ratio.ln());
        let finds = |look: &&u32| {
            any(&judge.cells(&logs, **look)[..judged], |cell| cell.verdict.is_change()) > 0.0
        };
        let found = LOOKS.iter().find(finds);
        let share = f64::from(u8::from(found.is_some()));
        vec![100.0 * share, f64::from(*found.unwrap_or(&LOOKS[LOOKS.len() - 1]))]
    };
    Suites { blocks, disturbance: Disturbance::None, count: 32 }.mean(suites, of)
}

fn equivalence(suites: usize) {
    println!("\nphases called equivalent, of a true change of 0 and of the margin, by blocks [%]");
    header(&COUNTS);
    let is = |cells: &[Cell]| {
        let equivalent = matches!(cells[0].verdict, Verdict::Equivalent | Verdict::SmallChange);
        vec![f64::from(u8::from(equivalent))]
    };
    for (what, _, metric, deviation) in EFFECTS {
        let blocks = Blocks::model(32, &[(metric, deviation)]);
        let margin = Margins::default().of(blocks.places()[0].metric()).unwrap_or(1.0).ln();
        let noise_of = what.split_once(", ").map_or("", |(_, noise)| noise);
        for (bank, noise) in banks(&blocks).iter().take(2) {
            for (change, log) in [("0", 0.0), ("margin", margin)] {
                let (noise, none) = (noise.as_ref(), Disturbance::None);
                let found = by_count(&blocks, noise, none, (suites, log), is);
                row(&format!("{metric}, {noise_of}, {bank}: {change}"), &found);
            }
        }
    }
}

/// The first half of a bank's runs on each server tells of noise, the blocks of the others are
/// judged.
fn of_bank(path: &str, suites: usize) {
    let text = fs_err::read_to_string(path).expect("the bank can be read");
    let run = |line: &str| serde_json::from_str(line).expect("a line of the bank is a run");
    let runs: Vec<model::bank::BankedRun> = text.lines().map(run).collect();
    let (mut known, mut judged) = (Vec::new(), Vec::new());
    for run in runs {
        let of = |half: &Vec<model::bank::BankedRun>| {
            half.iter().filter(|other| other.server == run.server).count()
        };
        if of(&known) <= of(&judged) { known.push(run) } else { judged.push(run) }
    }
    let noise = Blocks::bank(known).noise(1.0);
    let blocks = Blocks::bank(judged);
    println!("{suites} suites of {} tests, blocks of {path}", blocks.places().len());
    let banks = [("no bank", None), ("bank of other runs", noise)];
    false_changes(&blocks, &banks, 0.06, suites);
    println!("\nchanges of the first phase that are found in any of its metrics [%]");
    header(&COUNTS);
    let first = blocks.places()[0].phase.clone();
    let own = blocks.places().iter().filter(|place| place.phase == first).count();
    for ratio in [1.005, 1.02, 1.05, 1.2] {
        for (bank, noise) in &banks {
            let is = |cells: &[Cell]| vec![any(&cells[..own], |cell| cell.verdict.is_change())];
            let size = (suites, f64::ln(ratio));
            let found = by_count(&blocks, noise.as_ref(), Disturbance::None, size, is);
            row(&format!("{first}, {:.1} %, {bank}", 100.0 * (ratio - 1.0)), &found);
        }
    }
}

fn header(counts: &[u32]) {
    let counts: Vec<String> = counts.iter().map(|count| format!("{count:>7}")).collect();
    println!("{:64}{}", "", counts.concat());
}

fn row(what: &str, figures: &[f64]) {
    let figures = figures.iter().map(|figure| format!("{figure:>7.1}"));
    println!("{what:64}{}", figures.collect::<String>());
}
