//! How often changes of known size are found in real servers, and what is said of none.
//!
//! `cargo bench --bench injections -- KIND BUILD SUITES`: KIND is `instructions`, `cpu` or `time`.
//! A suite is a run with 25 equal tests of three variants of one build: the base, its twin, and one
//! in which the function that sends replies burns turns of a loop, so many that a test changes by
//! the margin of KIND, or by as many percent as a further word says. How many turns that are is
//! measured first. Each test is measured until it is decided.
//!
//! A bench: it prints figures and asserts nothing. It needs a host that does nothing else.

#![expect(clippy::print_stdout, reason = "figures are the output of a bench")]

mod rig;
mod tally;

use anyhow::Context;
use rig::{Rig, Suite};
use tally::Tally;

/// What is injected: a change of one metric by its margin.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// As `--decide` calls it.
    name: &'static str,
    metric: &'static str,
    /// How instructions are counted.
    counts: &'static str,
    /// The margin.
    share: f64,
    /// Length of a slice [s]. Emulated slices execute as many operations.
    slice_seconds: f64,
    /// Slices of a test in each block.
    rounds: u32,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "instructions",
        metric: "foreground_user_instructions_per_op",
        counts: "emulated",
        share: 0.005,
        slice_seconds: 0.02,
        rounds: 1,
    },
    Kind {
        name: "cpu",
        metric: "server_cpu_us_per_op",
        counts: "none",
        share: 0.02,
        slice_seconds: 0.1,
        rounds: 4,
    },
    Kind {
        name: "time",
        metric: "ops_per_second",
        counts: "none",
        share: 0.05,
        slice_seconds: 0.1,
        rounds: 4,
    },
];

/// Tests of a suite.
const TESTS: usize = 25;
/// Blocks after which a suite is judged.
const LOOKS: &[u32] = &[4, 6, 8, 12, 16];
/// Tests, turns and blocks of the run that measures what a turn costs.
const TRIAL: (usize, u64, &[u32]) = (5, 10_000, &[4]);

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [kind, build, suites, percent @ ..] = words.as_slice() else {
        println!("nothing measured: cargo bench --bench injections -- KIND BUILD SUITES [PERCENT]");
        return Ok(());
    };
    let kind = KINDS.iter().find(|known| known.name == kind).context("no such KIND")?;
    let percent: Option<f64> = percent.first().map(|percent| percent.parse()).transpose()?;
    let share = percent.map_or(kind.share, |percent| percent / 100.0);
    let rig = Rig::new(*kind, build)?;
    let (tests, turns, looks) = TRIAL;
    let trial = rig.run(&Suite { tests, turns, looks })?;
    let cost = tally::mean_cost(&trial, kind).exp_m1() / turns as f64;
    let turns = (share / cost).round() as u64;
    println!("{build}, {}: {turns} turns for {:+.1} %", kind.name, 100.0 * share);
    let mut tally = Tally::default();
    for number in 1..=suites.parse()? {
        let run = rig.run(&Suite { tests: TESTS, turns, looks: LOOKS })?;
        tally.add(&run, kind);
        println!("\nafter {number} suites, the last one of {:.0} s\n{tally}", run.seconds);
    }
    Ok(())
}
