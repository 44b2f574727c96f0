//! Damaged copies of good files, the same for the same seed.

use std::io::Write;

/// One to four damages.
pub(crate) fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let place = random.below(copy.len().max(1));
        let end = (place + 1 + random.below(40)).min(copy.len());
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

/// A packed copy, damaged before it was packed, or after.
pub(crate) fn packed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let before = random.below(2) == 0;
    let content = if before { damaged(bytes, random) } else { bytes.to_vec() };
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let written = coder.write_all(&content).and_then(|()| coder.finish());
    let packed = written.unwrap_or_default();
    if before { packed } else { damaged(&packed, random) }
}

fn insert(copy: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    let place = place.min(copy.len());
    copy.splice(place..place, bytes.iter().copied());
}

/// Marsaglia's xorshift64: the same numbers everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Words that mean something to a parser.
    fn word(&mut self) -> &'static [u8] {
        const WORDS: &[&[u8]] = &[
            b"inf",
            b"nan",
            b"NA",
            b"-",
            b"-\n",
            b"1e999",
            b"1e308",
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
            b"=HYPERLINK(\"x\")",
            b"nonzero",
            b"<pre>\n",
            b"</pre>\n",
            b"<h1 id=\"q9.rt\">",
            b"</td><td>",
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
