//! Error rates and power of the verdicts, by simulation: suites whose truth is known go through
//! [`analysis::compare`], as results of runs do.
//!
//! `cargo run --release -p dbdyno-analysis --example error_rates [SUITES]` prints the tables of
//! docs/validation.md.

#![allow(clippy::print_stdout, reason = "the tables are its output")]

use analysis::{Design, Observations, Verdict, compare};
use model::{measurement::Measurement, record::SliceState};

/// Phases of a suite.
const PHASES: usize = 32;
const BLOCKS: [u32; 5] = [4, 5, 8, 16, 32];

/// How the ratios of blocks are spread around the true one.
#[derive(Clone, Copy)]
enum Noise {
    /// Normal and independent.
    Independent,
    /// Every second block has twice the deviation.
    Doubled,
    /// Each start of a server is in one of two states, this far apart in deviations, for all
    /// phases of its block.
    Bimodal(f64),
    /// Each block keeps half of the last one's deviation.
    Correlated,
}

const NOISES: [(&str, Noise); 4] = [
    ("independent, normal", Noise::Independent),
    ("every second block doubled", Noise::Doubled),
    ("two states of a start, 2 sd apart", Noise::Bimodal(2.0)),
    ("lag-1 correlation 0.5", Noise::Correlated),
];

/// A change and the noise in which it is looked for.
struct Effect {
    what: &'static str,
    metric: &'static str,
    /// True ratio of one phase.
    ratio: f64,
    /// Standard deviation of the logarithm of a block's ratio.
    deviation: f64,
}

const EFFECTS: [Effect; 5] = [
    effect("instructions 0.5 %, sd 0.14 %", "foreground_user_instructions_per_op", 1.005, 0.0014),
    effect("CPU 2 %, sd 1 %", "server_cpu_us_per_op", 1.02, 0.01),
    effect("CPU 5 %, sd 2 %", "server_cpu_us_per_op", 1.05, 0.02),
    effect("time 5 %, sd 3 %", "ops_per_second", 0.95, 0.03),
    effect("time 5 %, sd 7 %", "ops_per_second", 0.95, 0.07),
];

const fn effect(what: &'static str, metric: &'static str, ratio: f64, deviation: f64) -> Effect {
    Effect { what, metric, ratio, deviation }
}

fn main() {
    let suites = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    println!("{suites} suites of {PHASES} phases\n");
    println!("suites without any change in which a phase is called changed, by blocks [%]");
    header();
    for (what, noise) in NOISES {
        for (metric, deviation) in [("ops_per_second", 0.03), ("server_cpu_us_per_op", 0.01)] {
            let share = |blocks: u32| {
                let null = Effect { what, metric, ratio: 1.0, deviation };
                let suite = Suite { effect: &null, noise, blocks };
                let wrong = |verdicts: &[Verdict]| verdicts.iter().any(|found| found.is_change());
                suite.share(suites, wrong)
            };
            row(&format!("{what}: {metric}"), share);
        }
    }
    println!("\nchanges of one phase that are found, by blocks [%]");
    header();
    for effect in &EFFECTS {
        let found = |verdicts: &[Verdict]| verdicts[0].is_change();
        row(effect.what, |blocks| {
            Suite { effect, noise: Noise::Independent, blocks }.share(suites, found)
        });
    }
    println!("\nphases without a change that are called equivalent, by blocks [%]");
    header();
    for effect in &EFFECTS {
        let none = Effect { ratio: 1.0, ..*effect };
        let what = effect.what.split_once(',').map_or("", |(_, noise)| noise);
        let equivalent = |verdicts: &[Verdict]| verdicts[0] == Verdict::Equivalent;
        row(&format!("{},{what}", effect.metric), |blocks| {
            Suite { effect: &none, noise: Noise::Independent, blocks }.share(suites, equivalent)
        });
    }
}

fn header() {
    let blocks: Vec<String> = BLOCKS.iter().map(|blocks| format!("{blocks:>6}")).collect();
    println!("{:58}{}", "", blocks.concat());
}

fn row(what: &str, share: impl Fn(u32) -> f64) {
    let shares = BLOCKS.iter().map(|blocks| format!("{:>6.1}", 100.0 * share(*blocks)));
    println!("{what:58}{}", shares.collect::<String>());
}

/// A suite of which the first phase may have changed.
struct Suite<'a> {
    effect: &'a Effect,
    noise: Noise,
    blocks: u32,
}

impl Suite<'_> {
    /// Share of simulated suites whose verdicts, by phase, are as asked.
    fn share(&self, suites: usize, is: impl Fn(&[Verdict]) -> bool) -> f64 {
        let mut random = Random(7);
        let hits = (0..suites).filter(|_| is(&self.verdicts(&mut random)));
        hits.count() as f64 / suites as f64
    }

    fn verdicts(&self, random: &mut Random) -> Vec<Verdict> {
        let mut observations = Observations::default();
        let mut last = [0.0; PHASES];
        for block in 0..self.blocks {
            let states = (random.sign(), random.sign());
            for (phase, last) in last.iter_mut().enumerate() {
                let own = random.normal();
                let noise = match self.noise {
                    Noise::Independent => own,
                    Noise::Doubled => own * f64::from(1 + block % 2),
                    Noise::Bimodal(apart) => own + (states.0 - states.1) * apart / 2.0,
                    Noise::Correlated if block == 0 => own,
                    Noise::Correlated => 0.5 * *last + 0.75_f64.sqrt() * own,
                };
                *last = noise;
                let truth = if phase == 0 { self.effect.ratio } else { 1.0 };
                let ratio = truth * (noise * self.effect.deviation).exp();
                let values = [("old", 1000.0), ("new", 1000.0 * ratio)];
                observations.measurements.extend(
                    values.map(|(subject, value)| self.measurement(block, phase, subject, value)),
                );
            }
        }
        let subjects = vec![("old".to_owned(), None), ("new".to_owned(), Some("old".to_owned()))];
        let design = Design {
            experiment: String::new(),
            question: String::new(),
            suite: String::new(),
            subjects,
            looks: Vec::new(),
            phases: Default::default(),
        };
        let found = compare(&observations, &design);
        let cell = |phase: &analysis::PhaseResult| {
            phase.cell("new", self.effect.metric).map_or(Verdict::Invalid, |cell| cell.verdict)
        };
        found.phases.iter().map(cell).collect()
    }

    fn measurement(&self, block: u32, phase: usize, subject: &str, value: f64) -> Measurement {
        let name = format!("p{phase:02}");
        Measurement {
            experiment: "e".into(),
            run: "r".into(),
            subject: subject.into(),
            phase: name.as_str().into(),
            workload: name.as_str().into(),
            group: "g".into(),
            position: phase as u32,
            range: None,
            clients: 1,
            levels: Default::default(),
            block,
            round: 0,
            metric: self.effect.metric.into(),
            value,
            state: SliceState::Measured,
            marks: Vec::new(),
            piece: None,
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0 and below 1.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn sign(&mut self) -> f64 {
        if self.uniform() < 0.5 { -0.5 } else { 0.5 }
    }

    /// Normal, with mean 0 and deviation 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
