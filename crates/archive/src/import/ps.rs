//! `sb.ps.*`: the server's lines of `ps aux` every few seconds, each time after a line with the
//! date.

use super::Importer;
use crate::{Fault, File, FileHead, Found, bias, number};

pub(super) struct Ps;

/// Columns of `ps aux` before the command.
const COLUMNS: usize = 10;

impl Importer for Ps {
    fn name(&self) -> &'static str {
        "ps"
    }

    fn help(&self) -> &'static str {
        "raw ps aux captures (sb.ps files): peak memory of the server's largest process"
    }

    fn recognises(&self, head: &FileHead<'_>) -> bool {
        head.name.starts_with("sb.ps.") || head.name.starts_with("sb.prepare.ps.")
    }

    fn ends_anywhere(&self) -> bool {
        true
    }

    fn import(&self, file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
        let mut peaks = [(0.0, 0), (0.0, 0)];
        let mut last = 0;
        for line in file.lines() {
            last = line.number;
            let words: Vec<&str> = line.text.split_whitespace().take(COLUMNS + 1).collect();
            let process = words.get(1).is_some_and(|pid| pid.parse::<u32>().is_ok());
            if !process || words.len() <= COLUMNS {
                if !is_date(&words) && !words.is_empty() {
                    let reason = "the line is neither a date nor a process; it is left out";
                    found.warn(last, reason);
                }
                continue;
            }
            for (peak, place) in peaks.iter_mut().zip([4, 5]) {
                match number::parse(words[place]) {
                    Some(kib) if kib > peak.0 => *peak = (kib, last),
                    Some(_) => {}
                    None => found.warn(last, "VSZ or RSS is not a number; it is left out"),
                }
            }
        }
        if peaks[1].0 <= 0.0 {
            return Err(Fault::new(last, "the capture has no process with memory"));
        }
        let cell = file.cell();
        for ((kib, line), metric) in
            peaks.into_iter().zip(["server_vsz_mib_peak", "server_rss_mib_peak"])
        {
            found.computed(&cell, metric, kib / 1024.0, line);
            found.bias(metric, bias::LARGEST_PROCESS);
        }
        Ok(())
    }
}

/// `Wed Mar  5 06:02:54 PM UTC 2025`, in the forms of several locales.
fn is_date(words: &[&str]) -> bool {
    (5..=7).contains(&words.len()) && words.iter().any(|word| word.matches(':').count() == 2)
}
