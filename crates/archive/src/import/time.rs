//! `sb.time.*`: what `/usr/bin/time` says of the load generator.

use super::Importer;
use crate::{Fault, File, FileHead, Found, number};

pub(super) const IMPORTER: Importer = Importer {
    name: "time",
    help: "sb.time files of the published sysbench archives: CPU time of the load generator",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.starts_with("sb.time.") || head.name.starts_with("sb.prepare.time.")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let mut last = 0;
    for line in file.lines() {
        last = line.number;
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let [user, system, elapsed, ..] = words.as_slice() else { continue };
        let times = (timed(user, "user"), timed(system, "system"), clock(elapsed));
        let (Some(user), Some(system), Some(elapsed)) = times else { continue };
        let cell = file.cell();
        found.computed(&cell, "client_cpu_seconds", user + system, line.number);
        found.computed(&cell, "client_elapsed_seconds", elapsed, line.number);
        return Ok(());
    }
    Err(Fault::new(last, "no line is `…user …system …elapsed`"))
}

fn timed(word: &str, unit: &str) -> Option<f64> {
    number::leading(word).filter(|(_, rest)| *rest == unit).map(|(seconds, _)| seconds)
}

/// `5:35.04elapsed` or `1:02:03elapsed` in seconds.
fn clock(word: &str) -> Option<f64> {
    let parts = word.strip_suffix("elapsed")?.split(':');
    parts.map(number::parse).try_fold(0.0, |sum, part| Some(sum * 60.0 + part?))
}
