//! Random damage to good files of every format, on their whole way from bytes to exports: nothing
//! may panic, and no value may be anything but a number with a place.
//!
//! `DBDYNO_MUTATIONS` sets the number of damaged files per sample; the example `fuzz_importers`
//! does the same for long.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../examples/fuzz_importers/attempt.rs"]
mod attempt;
#[path = "../examples/fuzz_importers/damage.rs"]
mod damage;
#[path = "../examples/fuzz_importers/samples.rs"]
mod samples;

use archive::{FileHead, import};

#[test]
fn damaged_files_never_panic() {
    let count = std::env::var("DBDYNO_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let count: u64 = count.unwrap_or(160);
    for sample in samples::samples().unwrap() {
        let name = sample.path;
        let outcome = attempt::try_all(&sample, 42, count);
        // Some damage causes a warning, and some does not matter.
        assert!(outcome.broken + outcome.warnings > 0, "{name}: {outcome:?}");
        assert!(outcome.values > 0 && outcome.exported > 0, "{name}: {outcome:?}");
        assert_eq!(outcome.tried, count);
    }
}

#[test]
fn every_sample_is_read_by_its_importer_and_tells_something() {
    for sample in samples::samples().unwrap() {
        let start = &sample.bytes[..sample.bytes.len().min(FileHead::BYTES)];
        let name = sample.path.rsplit('/').next().unwrap();
        let importer = import::find(&FileHead { name, start }).map(|importer| importer.name);
        assert_eq!(importer, Some(sample.importer), "{}", sample.path);
        let path = format!("fuzz/{}", sample.path);
        let files = [(path.as_str(), sample.bytes.as_slice())];
        let imported = archive::import_bytes(&files, &archive::Options::default()).unwrap();
        assert_eq!(imported.broken, [], "{}", sample.path);
        assert!(!imported.archives[0].values.is_empty(), "{}", sample.path);
    }
}
