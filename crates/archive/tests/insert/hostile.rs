//! Broken and hostile files: told with file and line, and nothing panics.

use crate::formats::sample_text;
use archive::{File, Found, Options, Scene, import, import::IMPORTERS};
use fs_err as fs;

/// Samples and a path at which each of them is a file of its format.
const SAMPLES: [(&str, &str, &str); 6] = [
    ("insert_summary", "o.sum.t.80m.my8408_rel.cz12a", "ib/o.sum.t.80m.my8408_rel.cz12a"),
    ("insert_table", "mrg.q1000.2", "ib/res.a/mrg.q1000.2"),
    ("insert_histogram", "o.rt.c.query", "ib/80m.a.c/qr100.L1/o.rt.c.query"),
    ("insert_progress", "o.ib.dop1.1", "ib/80m.a.c/qr100.L1/o.ib.dop1.1"),
    ("insert_progress", "o.ib.dop2.2", "ib/80m.a.c/q.L4.ips200/o.ib.dop2.2"),
    ("insert_report", "all.html", "ib/all.html"),
];

/// A generator of its own, so that every run is the same (Steele, Lea and Flood 2014: SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

const PIECES: [&[u8]; 14] = [
    b"\t",
    b"\n",
    b"-",
    b"-\n",
    b"NA",
    b"inf",
    b"1e308",
    b"nonzero",
    b"<pre>\n",
    b"</pre>\n",
    b"\xff\xfe",
    "\u{1b}[31m\u{e9}".as_bytes(),
    b"<h1 id=\"q9.rt\">",
    b"99999999999999999999",
];

/// A few cuts, copies and insertions.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        let end = (at + random.below(40)).min(bytes.len());
        match random.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.truncate(at),
            2 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 if at < bytes.len() => bytes[at] = (random.next() & 0xff) as u8,
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
    bytes.retain(|byte| *byte != 0);
}

#[test]
fn mutated_files_never_panic_and_give_finite_values() {
    let runs = std::env::var("DBDYNO_FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok());
    let runs: u64 = runs.unwrap_or(2000);
    for (name, sample, path) in SAMPLES {
        let importer = IMPORTERS.iter().find(|importer| importer.name() == name).unwrap();
        let original = sample_text(sample).into_bytes();
        let folder = path.rsplit_once('/').unwrap().0;
        let scene = Scene::new(folder, &[]);
        let mut random = Random(7);
        let (mut told, mut faults) = (0_u64, 0_u64);
        for run in 0..runs {
            let mut bytes = original.clone();
            if run > 0 {
                mutate(&mut bytes, &mut random);
            }
            let lines = bytes.split(|byte| *byte == b'\n').count() as u32;
            let mut found = Found::default();
            match importer.import(&File::alone(path, &bytes, &scene), &mut found) {
                Ok(()) => told += 1,
                Err(fault) => {
                    faults += 1;
                    assert!(fault.line <= lines, "{name} {run}: {fault:?}");
                }
            }
            assert!(found.values.iter().all(|value| value.value.is_finite()), "{name} {run}");
            assert!(found.warnings.iter().all(|fault| fault.line <= lines), "{name} {run}");
        }
        println!("{name} {sample}: {runs} files, {told} read, {faults} refused");
        assert!(told > 0);
    }
}

/// The message of an import of one file.
fn message(name: &str, text: &[u8]) -> String {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(name);
    fs::write(&path, text).unwrap();
    let error = import(&[path], &Options::default()).unwrap_err().to_string();
    error.replace(&root.path().display().to_string(), "D")
}

#[test]
fn broken_files_are_told_with_their_place() {
    let check = |name: &str, text: &str, expected: &str| {
        assert_eq!(message(name, text.as_bytes()), expected);
    };
    check("o.sum.t.1m.a", "", "`D/o.sum.t.1m.a`:1: the file is empty");
    check("o.sum.t.1m.a", "ips\n", "`D/o.sum.t.1m.a`:1: the header does not end in `tag`");
    check(
        "o.sum.t.1m.a",
        "ips\tqps\ttag\n1\t2\ta\n",
        "`D/o.sum.t.1m.a`:2: 1 rows belong to no known list of phases (10 or 15)",
    );
    check("mrg.l.i0", "<html>\n", "`D/mrg.l.i0`:1: the header is not that of a table of phases");
    check(
        "o.ib.dop1.1",
        "Done\n",
        "`D/o.ib.dop1.1`:1: its folder is not that of a phase, such as `RUN/qr100.L1`",
    );
    let binary = message("mrg.l.i0", b"ips\ttag\n1\0\ta\n");
    assert!(binary.starts_with("`D/mrg.l.i0`:2: the line holds a zero byte"), "{binary}");
}

#[test]
fn a_broken_row_does_not_shift_the_phases_of_the_others() {
    let root = tempfile::tempdir().unwrap();
    let name = "o.sum.t.80m.my8408_rel.cz12a";
    let mut lines: Vec<String> = sample_text(name).lines().map(str::to_owned).collect();
    lines[4] = "cut".to_owned();
    fs::write(root.path().join(name), lines.join("\n") + "\n").unwrap();
    let imported = import(&[root.path().to_owned()], &Options::default()).unwrap();
    let told: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    let expected = format!("{name}`:5: the row has 1 columns instead of 21; it is left out");
    assert!(told[0].ends_with(&expected), "{told:?}");
    let values = &imported.archives[0].values;
    let of = |phase: &str| {
        let found = values.iter().map(|value| &value.measurement);
        found.clone().find(|m| m.phase == phase && m.metric == "ops_per_second").map(|m| m.value)
    };
    assert_eq!((of("l.i1"), of("l.i2"), of("qr100.L1")), (Some(9000.0), None, Some(8000.0)));
}
