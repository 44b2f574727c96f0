//! `sb.perf.hw.*`: what `perf stat` counted during a step, as it prints it or reduced to a name and
//! a number a line.
//!
//! Each sample counts a group of events for ten seconds, of the whole server, but of Postgres of
//! one backend: that of the first client.

use super::Importer;
use crate::{Cell, Fault, File, FileHead, Found, number};
use std::collections::BTreeMap;

/// What the published scripts count for.
const SAMPLE_SECONDS: f64 = 10.0;

/// Mark of values whose file does not say for how long it counted.
const ASSUMED: &str = "counted for 10 s, as the published script does";

/// Mark of values of Postgres.
const ONE_BACKEND: &str = "of the backend of the first client";

/// Events, with the metric of the whole server and that of one serving task.
const EVENTS: [(&str, [&str; 2]); 4] = [
    ("instructions", ["server_instructions_per_second", "backend_instructions_per_second"]),
    (
        "instructions:u",
        ["server_user_instructions_per_second", "backend_user_instructions_per_second"],
    ),
    (
        "instructions:k",
        ["server_kernel_instructions_per_second", "backend_kernel_instructions_per_second"],
    ),
    ("cycles", ["server_cycles_per_second", "backend_cycles_per_second"]),
];

const IPC: [&str; 2] = ["server_instructions_per_cycle", "foreground_instructions_per_cycle"];

/// What was counted of an event.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    count: f64,
    seconds: f64,
    /// Whether the file does not say how long all of its samples took.
    assumed: bool,
    /// The first line, from 1.
    line: u32,
}

/// Counts by event; those of a sample until it ends.
#[derive(Default)]
struct Samples {
    counted: BTreeMap<&'static str, Counted>,
    open: BTreeMap<&'static str, (f64, u32)>,
}

pub(super) const IMPORTER: Importer = Importer {
    name: "perf_hw",
    help: "sb.perf.hw files of the published sysbench archives: instructions and cycles by \
           perf stat",
    ends_anywhere: true,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.starts_with("sb.perf.hw.")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let counted = counted(file, found);
    if counted.is_empty() {
        return Err(Fault::new(0, "no line counts instructions or cycles"));
    }
    let cell = file.cell();
    let assumed = counted.values().any(|event| event.assumed);
    let place = usize::from(is_postgres(&cell));
    for (event, metrics) in EVENTS {
        let Some(own) = counted.get(event) else { continue };
        found.computed(&cell, metrics[place], own.rate(), own.line);
    }
    let instructions = counted.get("instructions").or_else(|| counted.get("instructions:u"));
    if let (Some(instructions), Some(cycles)) = (instructions, counted.get("cycles")) {
        let ratio = instructions.rate() / cycles.rate();
        found.computed(&cell, IPC[place], ratio, instructions.line);
    }
    for value in &mut found.values {
        value.biases.extend(assumed.then_some(ASSUMED));
        value.biases.extend((place == 1).then_some(ONE_BACKEND));
    }
    Ok(())
}

impl Counted {
    /// Per second.
    fn rate(self) -> f64 {
        self.count / self.seconds
    }
}

impl Samples {
    /// Ends the sample that is open; `seconds` is how long it took, where the file says so.
    fn end(&mut self, seconds: Option<f64>) {
        for (event, (count, line)) in std::mem::take(&mut self.open) {
            let own = self.counted.entry(event).or_insert(Counted { line, ..Counted::default() });
            own.count += count;
            own.seconds += seconds.unwrap_or(SAMPLE_SECONDS);
            own.assumed |= seconds.is_none();
        }
    }
}

/// The counts of the events that are known.
fn counted(file: &File<'_>, found: &mut Found) -> BTreeMap<&'static str, Counted> {
    let mut samples = Samples::default();
    for line in file.lines() {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        match words.as_slice() {
            ["Performance", "counter", "stats", ..] => samples.end(None),
            [seconds, "seconds", "time", "elapsed", ..] => {
                // No commas stand between thousands of these: one is a decimal comma.
                samples.end(number::parse(seconds).filter(|seconds| *seconds > 0.0));
            }
            ["<not", _, name, ..] => warn(event(name), line.number, found),
            [first, second, ..] => {
                let reduced = event(first);
                let Some(name) = reduced.or_else(|| event(second)) else { continue };
                let text = if reduced.is_some() { second } else { first };
                let Some(count) = count(text) else {
                    warn(Some(name), line.number, found);
                    continue;
                };
                // Kinds of CPUs of one host count apart.
                samples.open.entry(name).or_insert((0.0, line.number)).0 += count;
                if reduced.is_some() {
                    samples.end(None);
                }
            }
            _ => {}
        }
    }
    samples.end(None);
    samples.counted
}

/// `<not counted>` and `<not supported>` are no numbers.
fn warn(event: Option<&str>, line: u32, found: &mut Found) {
    if let Some(name) = event {
        found.warn(line, format!("the line has no count of `{name}`; it is left out"));
    }
}

/// A number with or without commas between its thousands.
fn count(text: &str) -> Option<f64> {
    number::parse(&text.replace(',', "")).filter(|count| *count > 0.0)
}

/// The event of a name as perf writes it: `cpu_core/instructions/` and `cpu-cycles` are known too.
fn event(text: &str) -> Option<&'static str> {
    let text = text.trim_end_matches(':');
    let inner = text.split('/').nth(1).filter(|inner| !inner.is_empty()).unwrap_or(text);
    let inner = inner.strip_prefix("cpu-").unwrap_or(inner);
    EVENTS.iter().map(|(name, _)| *name).find(|name| *name == inner)
}

fn is_postgres(cell: &Cell) -> bool {
    cell.levels.get("build").is_some_and(|build| build.starts_with("pg"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;

    fn found(name: &str, text: &str, folder: &str) -> Vec<(String, f64, Vec<&'static str>)> {
        let scene = Scene::new(folder, &[]);
        let mut found = Found::default();
        import(&File::alone(name, text.as_bytes(), &scene), &mut found).unwrap();
        assert_eq!(found.warnings, []);
        let values = found.values.into_iter();
        values.map(|v| (v.metric.into_owned(), v.value, v.biases)).collect()
    }

    const NAME: &str = "sb.perf.hw.scan.range100.pk1";

    #[test]
    fn what_perf_prints_is_read_by_sample() {
        let sample = |seconds: &str, instructions: &str| {
            format!(
                " Performance counter stats for process id '7':\n\n     2,000      cycles\n   \
                 {instructions}      instructions      #    1.50  insn per cycle\n\n       \
                 {seconds} seconds time elapsed\n\n"
            )
        };
        let text = sample("10.0", "3,000") + &sample("30.0", "5,000");
        let values = found(NAME, &text, "a/x.my8043.z12a.pk1");
        let expected = [
            ("server_instructions_per_second", 200.0),
            ("server_cycles_per_second", 100.0),
            ("server_instructions_per_cycle", 2.0),
        ];
        let own: Vec<(&str, f64)> = values.iter().map(|(m, v, _)| (m.as_str(), *v)).collect();
        assert_eq!(own, expected);
        assert!(values.iter().all(|(_, _, biases)| biases.is_empty()));
    }

    #[test]
    fn a_decimal_comma_makes_no_millions_of_seconds() {
        let text = "2000 cycles\n\n10,002345678 seconds time elapsed\n";
        let values = found(NAME, text, "a/x.my8043.z12a.pk1");
        assert_eq!(values, [("server_cycles_per_second".to_owned(), 200.0, vec![ASSUMED])]);
    }

    #[test]
    fn reduced_files_count_for_ten_seconds() {
        let text = "cycles\t1000\ncache-misses\t7\ninstructions:u\t500\ninstructions:u\t700\n";
        let values = found(NAME, text, "a/x.pg181.x10a.pk1");
        let own: Vec<(&str, f64)> = values.iter().map(|(m, v, _)| (m.as_str(), *v)).collect();
        let expected = [
            ("backend_user_instructions_per_second", 60.0),
            ("backend_cycles_per_second", 100.0),
            ("foreground_instructions_per_cycle", 0.6),
        ];
        assert_eq!(own, expected);
        assert!(values.iter().all(|(_, _, biases)| *biases == [ASSUMED, ONE_BACKEND]));
    }

    #[test]
    fn other_lines_are_no_counts() {
        assert_eq!(event("cpu_core/instructions/"), Some("instructions"));
        assert_eq!(event("cpu-cycles"), Some("cycles"));
        assert_eq!(event("instructions:u"), Some("instructions:u"));
        assert_eq!(event("branch-instructions"), None);
        let scene = Scene::new("a/x", &[]);
        let mut found = Found::default();
        let text = "<not counted> cycles\n0 instructions\n";
        import(&File::alone(NAME, text.as_bytes(), &scene), &mut found).unwrap_err();
        assert_eq!(found.warnings.len(), 2);
    }
}
