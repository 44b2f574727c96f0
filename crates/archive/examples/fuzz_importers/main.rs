//! Offers many damaged copies of every sample to the importers and prints what happened.
//!
//! `cargo run --release --example fuzz_importers -- 1000000` tries a million copies of each.

#![allow(clippy::print_stdout, reason = "an example talks")]

mod damage;

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let mut tried = 0;
    for (name, bytes) in damage::samples() {
        let start = std::time::Instant::now();
        let outcome = damage::try_all(&name, &bytes, 1, count);
        tried += outcome.tried;
        println!("{name}: {outcome:?} in {:.1} s", start.elapsed().as_secs_f64());
    }
    println!("{tried} damaged files, none ended the process");
}
