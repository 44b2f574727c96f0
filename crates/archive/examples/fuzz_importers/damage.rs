//! Damaged copies of good files, the same for the same seed.

use archive::{File, FileHead, Found, Scene, import};
use std::path::Path;

/// What happened to the damaged copies of one sample.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Outcome {
    /// Copies.
    pub(crate) tried: u64,
    /// Copies of which an importer said that they tell nothing.
    pub(crate) faults: u64,
    /// Copies that no importer took.
    pub(crate) unknown: u64,
    /// Rows that were left out.
    pub(crate) warnings: u64,
    /// Values that were found.
    pub(crate) values: u64,
}

/// Names and contents of the samples of the tests.
pub(crate) fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut samples: Vec<(String, Vec<u8>)> = fs_err::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, fs_err::read(entry.path()).ok()?))
        })
        .collect();
    samples.sort();
    samples
}

/// Offers `count` damaged copies of a file to the importers.
pub(crate) fn try_all(name: &str, bytes: &[u8], seed: u64, count: u64) -> Outcome {
    let scene = Scene::new("fuzz/x.my1.c.pk1", &[]);
    let path = format!("fuzz/x.my1.c.pk1/{name}");
    let mut random = Random(seed | 1);
    let mut outcome = Outcome { tried: count, ..Outcome::default() };
    for _ in 0..count {
        let copy = damaged(bytes, &mut random);
        let start = &copy[..copy.len().min(FileHead::BYTES)];
        let Some(importer) = import::find(&FileHead { name, start }) else {
            outcome.unknown += 1;
            continue;
        };
        let mut found = Found::default();
        if importer.import(&File::alone(&path, &copy, &scene), &mut found).is_err() {
            outcome.faults += 1;
            continue;
        }
        assert!(found.values.iter().all(|value| value.value.is_finite()));
        outcome.warnings += found.warnings.len() as u64;
        outcome.values += found.values.len() as u64;
    }
    outcome
}

/// One to four damages.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let place = random.below(copy.len().max(1));
        let end = (place + 1 + random.below(24)).min(copy.len());
        match random.below(9) {
            0 => copy.truncate(place),
            1 if place < copy.len() => copy[place] = random.below(256) as u8,
            2 if place < copy.len() => copy[place] ^= 1 << random.below(8),
            3 => drop(copy.drain(place.min(end)..end)),
            4 => {
                let again = copy[place.min(end)..end].to_vec();
                copy.splice(place.min(copy.len())..place.min(copy.len()), again);
            }
            5 => insert(&mut copy, place, random.word()),
            6 => insert(&mut copy, place, b"\n"),
            7 => insert(&mut copy, place, b"\t"),
            8 => insert(&mut copy, place, &b"9".repeat(random.below(400))),
            _ => {}
        }
    }
    copy
}

fn insert(copy: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    let place = place.min(copy.len());
    copy.splice(place..place, bytes.iter().copied());
}

/// Marsaglia's xorshift64: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Words that mean something to a parser.
    fn word(&mut self) -> &'static [u8] {
        const WORDS: &[&[u8]] = &[
            b"inf",
            b"nan",
            b"-",
            b"1e999",
            b"-0",
            b":",
            b"(",
            b" per sec.)",
            b"col-1 : ",
            b"--- absolute\n",
            b"procs",
            b"Device",
            b"\xff\xfe",
            b"\x1b[31m",
            b"<script>",
            b"18446744073709551616",
            b"\r\n",
            b"SQL statistics:\n",
            "é".as_bytes(),
            b"sb.met.",
            b"_range=",
            b"TPM",
        ];
        WORDS[self.below(WORDS.len())]
    }
}
