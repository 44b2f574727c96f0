//! How long a history takes to be searched for steps, and what is found in it: `cargo run
//! --release -p dbdyno-analysis --example change_points [POINTS]`.

#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

use analysis::history::steps;
use std::time::Instant;

fn main() {
    let points = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let mut random = fastrand::Rng::with_seed(1);
    // The sum of twelve uniform numbers has the variance of a normal one.
    let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    for (what, size, every) in [("no step", 0.0, 1), ("a step of 3 sd every 250 points", 0.03, 250)]
    {
        let value = |index: usize| {
            let level = if index / every % 2 == 1 { size } else { 0.0 };
            (5.0 + level + 0.01 * normal()).exp()
        };
        let values: Vec<f64> = (0..points).map(value).collect();
        let start = Instant::now();
        let found = steps(&values).steps;
        let confirmed = found.iter().filter(|step| step.is_confirmed).count();
        println!(
            "{points} points, {what}: {confirmed} confirmed and {} suspected steps in {:.2} s",
            found.len() - confirmed,
            start.elapsed().as_secs_f64()
        );
    }
}
