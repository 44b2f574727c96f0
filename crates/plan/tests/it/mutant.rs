//! Damaged copies of every TOML file of the repository's catalog, experiments and examples, from a
//! seed. Used by the planner's tests and by those of the binary.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

/// A file that is damaged, and the experiment that reads it.
pub(crate) struct Original {
    /// Below the folder of a [`Mutant`], such as `catalog/workloads/scan.toml`.
    path: String,
    text: String,
    /// An experiment that reads the file; without it the file is one itself.
    reader: Option<String>,
}

/// A damaged file in a folder of its own.
pub(crate) struct Mutant {
    /// The file to plan.
    pub(crate) experiment: PathBuf,
    /// The overlay of the catalog.
    pub(crate) catalog: PathBuf,
    /// What was damaged, for messages.
    pub(crate) path: String,
    /// The damaged bytes, for messages.
    pub(crate) bytes: Vec<u8>,
}

/// Values at the ends of types, and words of the format in places where they do not belong.
const TOKENS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "128",
    "1024",
    "65536",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e-320",
    "inf",
    "-inf",
    "nan",
    "\"1M\"",
    "\"1e18\"",
    "\"rows\"",
    "\"rows * rows\"",
    "\"clients / 0\"",
    "\"((((((((1))))))))\"",
    "\"min(rows, 1)\"",
    "\"\"",
    "\"\\u0000\"",
    "\"\\u001b[31m\"",
    "\"{table}\"",
    "\"{list}\"",
    "\"{n}\"",
    "\"?\"",
    "\"$$ ? $$\"",
    "\"/* ?\"",
    "\"' ?\"",
    "true",
    "false",
    "[]",
    "{}",
    "[[]]",
    "[0, 0]",
    "[9, 1]",
    "\"row_number\"",
    "\"closed\"",
    "\"settle\"",
    "\"index\"",
    "\"classic\"",
    "\"mysql\"",
    "\"sqlite\"",
    "\"postgres\"",
    "\"text\"",
    "\"ü€𝄞\"",
    "{ now = true }",
    "{ uniform = [1, \"rows\"] }",
    "{ zipf = [1, \"rows\"], exponent = 1e300 }",
    "{ text = \"x\" }",
    "{ timestamp = [\"0001-01-01\", \"9999-12-31\"] }",
    "1979-05-27T07:32:00Z",
    "{ per_second = 1e7 }",
    "{ per_second = \"rows\", rows = \"0\" }",
    "{ filler = [0, 1000000000000] }",
    "{ template = \"###########-###########\" }",
];

/// The mutants to try: as many as `usual`, or those in `DBDYNO_MUTANTS`, such as `0..20000`,
/// or `52..53` for a single one.
pub(crate) fn numbers(usual: u64) -> Range<u64> {
    let Ok(asked) = std::env::var("DBDYNO_MUTANTS") else { return 0..usual };
    let (first, end) = asked.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

/// All files that are damaged.
pub(crate) fn originals() -> Vec<Original> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = root.ancestors().find(|folder| folder.join("catalog").is_dir()).unwrap();
    let mut originals = Vec::new();
    for folder in ["catalog", "experiments", "docs/examples"] {
        for path in files(&root.join(folder)) {
            let text = std::fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let reader = reader(&path, &text);
            originals.push(Original { path, text, reader });
        }
    }
    originals
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut found: Vec<PathBuf> = entries.into_iter().flat_map(below).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    found
}

/// The experiment that reads the file; none for a file that is an experiment.
fn reader(path: &str, text: &str) -> Option<String> {
    let (folder, file) = path.rsplit_once('/')?;
    let name = file.strip_suffix(".toml")?;
    let all = "build = [\"sqlite\", \"postgres@18\", \"mysql@5.6\"]";
    let server = folder.strip_prefix("catalog/configs/");
    let (what, factors) = match folder {
        "catalog/workloads" => (format!("workloads = [\"{name}\"]"), all.to_owned()),
        "catalog/suites" => (format!("suite = \"{name}\""), all.to_owned()),
        "catalog/schemas" => {
            let suite = match name {
                "ibench" => "insert-benchmark",
                "ibench-2021" => "insert-benchmark-2021",
                "tpcc" => "tpcc",
                _ => "oltp",
            };
            (format!("suite = \"{suite}\""), all.to_owned())
        }
        "docs/examples" if text.contains("question = ") => return None,
        "docs/examples" => {
            ("workloads = [\"./transfer.toml\", \"./orders-join.toml\"]".into(), all.to_owned())
        }
        _ => {
            // Versions that no registry has to be asked for.
            let build = match server? {
                "mysql" => "mysql@5.6",
                "mariadb" => "mariadb@10.1",
                "postgres" => "postgres@18",
                other => other,
            };
            let factors = format!("build = [\"{build}\"]\nconfig = [\"{name}\"]");
            ("suite = \"quick\"".to_owned(), factors)
        }
    };
    Some(format!("question = \"?\"\n{what}\nblocks = 2\n[factors]\n{factors}\n"))
}

/// Writes the mutant with the number `seed` below `folder`, which is emptied first.
pub(crate) fn write(originals: &[Original], seed: u64, folder: &Path) -> Mutant {
    let mut random = fastrand::Rng::with_seed(seed);
    let original = &originals[random.usize(..originals.len())];
    let bytes = damaged(&mut random, originals, &original.text);
    if folder.exists() {
        std::fs::remove_dir_all(folder).unwrap();
    }
    let beside = original.path.starts_with("docs/");
    for neighbor in originals.iter().filter(|one| beside && one.path.starts_with("docs/")) {
        put(&folder.join(&neighbor.path), neighbor.text.as_bytes());
    }
    let catalog = folder.join("catalog");
    std::fs::create_dir_all(&catalog).unwrap();
    let file = folder.join(&original.path);
    put(&file, &bytes);
    let experiment = match &original.reader {
        None => file,
        Some(reader) => {
            let path = if beside {
                file.with_file_name("reader.toml")
            } else {
                folder.join("reader.toml")
            };
            put(&path, reader.as_bytes());
            path
        }
    };
    Mutant { experiment, catalog, path: original.path.clone(), bytes }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// One to four damages, one after the other.
fn damaged(random: &mut fastrand::Rng, originals: &[Original], text: &str) -> Vec<u8> {
    let mut text = text.to_owned();
    for _ in 0..random.u32(1..=4) {
        text = match random.u32(0..10) {
            0..4 => with_token(random, &text),
            4..7 => with_number(random, &text),
            _ => {
                let other = &originals[random.usize(..originals.len())];
                with_line(random, &text, &other.text)
            }
        };
    }
    let mut bytes = text.into_bytes();
    if random.u32(0..5) == 0 {
        for _ in 0..random.u32(1..=3) {
            with_byte(random, &mut bytes);
        }
    }
    bytes
}

/// Replaces, inserts or removes a byte.
fn with_byte(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    let at = random.usize(..=bytes.len());
    match random.u32(0..3) {
        0 => bytes.insert(at, random.u8(..)),
        _ if at == bytes.len() => bytes.truncate(at / 2),
        1 => bytes[at] = random.u8(..),
        _ => drop(bytes.remove(at)),
    }
}

/// Replaces a word, a text in quotes or a value by a token, or by another word of the text.
fn with_token(random: &mut fastrand::Rng, text: &str) -> String {
    let spans = spans(text, |byte| !b" \n,=[](){}".contains(&byte));
    if spans.is_empty() {
        return TOKENS[random.usize(..TOKENS.len())].to_owned();
    }
    let (start, end) = spans[random.usize(..spans.len())];
    // The rest of a line after `=` is a value of whatever type.
    let value = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let of_key = text[value..line_end].find("= ").map(|at| value + at + 2);
    let (start, end) = match of_key {
        Some(of_key) if random.bool() && of_key < line_end => (of_key, line_end),
        _ => (start, end),
    };
    let new = match random.u32(0..6) {
        0 => {
            let (start, end) = spans[random.usize(..spans.len())];
            text[start..end].to_owned()
        }
        1 => text[start..end].repeat(random.usize(2..2000)),
        _ => TOKENS[random.usize(..TOKENS.len())].to_owned(),
    };
    format!("{}{new}{}", &text[..start], &text[end..])
}

/// Replaces a number by another one.
fn with_number(random: &mut fastrand::Rng, text: &str) -> String {
    const NUMBERS: &[&str] = &[
        "0",
        "1",
        "3",
        "7",
        "100",
        "1000",
        "10000",
        "100000",
        "2147483648",
        "4294967295",
        "1000000000000",
        "9223372036854775807",
        "99999999999999999999",
        "-1",
        "0.001",
        "1e9",
        "1e300",
        "1k",
        "1T",
    ];
    let spans = spans(text, |byte| byte.is_ascii_digit());
    if spans.is_empty() {
        return text.to_owned();
    }
    let (start, end) = spans[random.usize(..spans.len())];
    let new = NUMBERS[random.usize(..NUMBERS.len())];
    format!("{}{new}{}", &text[..start], &text[end..])
}

/// Removes, repeats, moves or borrows a line.
fn with_line(random: &mut fastrand::Rng, text: &str, other: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let others: Vec<&str> = other.lines().collect();
    if lines.is_empty() || others.is_empty() {
        return other.to_owned();
    }
    let (from, to) = (random.usize(..lines.len()), random.usize(..lines.len()));
    match random.u32(0..5) {
        0 => drop(lines.remove(from)),
        1 => lines.insert(to, lines[from]),
        2 => lines.swap(from, to),
        3 => lines.insert(to, others[random.usize(..others.len())]),
        _ => {
            let many = vec![lines[from]; random.usize(2..300)].join("\n");
            return format!("{}\n{many}\n{}\n", lines[..from].join("\n"), lines[from..].join("\n"));
        }
    }
    lines.join("\n") + "\n"
}

/// The longest stretches of bytes that fit; all of them whole characters.
fn spans(text: &str, fits: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.bytes().enumerate().filter(|(_, byte)| fits(*byte)) {
        match found.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => found.push((at, at + 1)),
        }
    }
    found
}
