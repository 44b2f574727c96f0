//! Random damage to good files: no importer may panic, and none may shift a row into another one.
//!
//! `DBDYNO_MUTATIONS` sets the number of damaged files per sample; the example `fuzz_importers`
//! does the same for long.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../examples/fuzz_importers/damage.rs"]
mod damage;

#[test]
fn damaged_files_never_panic() {
    let count = std::env::var("DBDYNO_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let count: u64 = count.unwrap_or(300);
    let samples = damage::samples();
    assert!(samples.len() >= 12);
    for (name, bytes) in &samples {
        let outcome = damage::try_all(name, bytes, 42, count);
        // Some damage is told, and some does not matter.
        assert!(outcome.faults + outcome.warnings > 0, "{name}: {outcome:?}");
        assert!(outcome.values > 0, "{name}: {outcome:?}");
        assert_eq!(outcome.tried, count);
    }
}
