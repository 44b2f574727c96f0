//! Imports many damaged copies of a sample of every importer, exports what came of them, and prints
//! what happened.
//!
//! `cargo run --release -p dbdyno-archive --example fuzz_importers -- 1000000` tries a million
//! copies of each sample; a name after the number tries those of one importer.

#![allow(clippy::print_stdout, reason = "an example talks")]

mod attempt;
mod damage;
mod samples;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let only = arguments.next();
    let mut tried = 0;
    for sample in samples::samples()? {
        if only.as_ref().is_some_and(|only| only != sample.importer) {
            continue;
        }
        let start = std::time::Instant::now();
        let outcome = attempt::try_all(&sample, 1, count);
        tried += outcome.tried;
        let seconds = start.elapsed().as_secs_f64();
        println!("{} {}: {outcome:?} in {seconds:.1} s", sample.importer, sample.path);
    }
    println!("{tried} damaged files, none ended the process");
    Ok(())
}
