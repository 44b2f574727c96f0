//! What a command line of sysbench says of its run: the options that change what is measured.

use crate::{Cell, Found, Line, number};

/// Options that are kept, as keys of the values. Others may hold passwords.
pub(crate) const KEPT: [&str; 7] =
    ["tables", "table-size", "range-size", "time", "rand-type", "db-ps-mode", RATE];
/// Events per second that a test keeps to, if it keeps to any.
pub(crate) const RATE: &str = "rate";

/// Characters of the longest value of an option that is kept.
const CHARS_MAX: usize = 40;

/// The options of a line that executes sysbench; `-` and `_` are the same in their names, and those
/// of versions before 1.0 get the names of today.
fn options(command: &str) -> impl Iterator<Item = (String, &str)> {
    let words = command.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    words.filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        let name = name.replace('_', "-");
        let known = match name.as_str() {
            "num-threads" => "threads",
            "max-time" => "time",
            "tx-rate" => RATE,
            "oltp-tables-count" => "tables",
            "oltp-dist-type" => "rand-type",
            other => other.strip_prefix("oltp-").unwrap_or(other),
        };
        Some((known.to_owned(), value))
    })
}

/// Adds what the first line says, if it is a command line: options as keys, the threads as clients
/// where nothing else tells them. A range that the cell knows is no key of its own.
pub(crate) fn fill(line: &Line<'_>, cell: &mut Cell, found: &mut Found) {
    let command = line.text.as_ref();
    if !command.split_whitespace().any(|word| word.rsplit('/').next() == Some("sysbench")) {
        return;
    }
    for (name, value) in options(command) {
        if name == "threads" {
            let threads = value.parse().ok().filter(|threads| *threads > 0);
            match (cell.clients, threads) {
                (Some(clients), Some(threads)) if clients != threads => {
                    let reason = format!("the command has {threads} threads, not {clients}");
                    found.warn(line.number, reason);
                }
                _ => cell.clients = cell.clients.or(threads),
            }
        }
        let Some(key) = KEPT.into_iter().find(|kept| *kept == name) else { continue };
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-%".contains(c);
        if value.is_empty() || value.len() > CHARS_MAX || !value.chars().all(plain) {
            let shown = number::excerpt(value);
            found.warn(line.number, format!("`{shown}` is no value of `{key}`; it is left out"));
            continue;
        }
        let same =
            key == "range-size" && cell.range.is_some_and(|range| range.to_string() == value);
        let is_free = key == RATE && value == "0";
        if !same && !is_free {
            cell.levels.insert(key.to_owned(), value.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(command: &str, clients: Option<u32>, range: Option<u64>) -> (Cell, Found) {
        let mut cell = Cell { clients, range, ..Cell::default() };
        let mut found = Found::default();
        fill(&Line { number: 1, text: command.into() }, &mut cell, &mut found);
        (cell, found)
    }

    #[test]
    fn options_of_the_run_are_kept_and_no_others() {
        let command = "LUA_PATH=/a/?.lua /a/sysbench --db-driver=mysql --range_size=10 \
                       --table-size=50000000 --tables=8 --threads=40 --time=600 --events=0 \
                       /a/oltp_read_only.lua run --mysql-password=pw --rand-type=uniform";
        let (cell, found) = filled(command, None, Some(10));
        let expected = [
            ("rand-type", "uniform"),
            ("table-size", "50000000"),
            ("tables", "8"),
            ("time", "600"),
        ];
        let levels: Vec<(&str, &str)> =
            cell.levels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!((levels.as_slice(), cell.clients), (expected.as_slice(), Some(40)));
        assert_eq!(found.warnings, []);
        let command = "sysbench --test=oltp --num-threads=8 --oltp-table-size=5 --max-time=60 run";
        let (cell, _) = filled(command, None, None);
        let old = ["table-size", "time"].map(|key| cell.levels[key].as_str());
        assert_eq!((cell.clients, old), (Some(8), ["5", "60"]));
        let (cell, _) = filled("sysbench --range-size=10 --db-ps-mode=disable", None, Some(100));
        assert_eq!((cell.levels["range-size"].as_str(), cell.levels.len()), ("10", 2));
    }

    #[test]
    fn what_contradicts_or_is_no_value_is_told() {
        let (cell, found) = filled("sysbench --threads=4 --tables=<b> --time=", Some(8), None);
        assert_eq!((cell.clients, cell.levels.len(), found.warnings.len()), (Some(8), 0, 3));
        assert_eq!(found.warnings[0].reason, "the command has 4 threads, not 8");
        // A report without its command line.
        assert_eq!(filled("sysbench-like --tables=8", None, None).0, Cell::default());
    }
}
