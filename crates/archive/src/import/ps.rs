//! Captures of `ps aux`: the server's lines every few seconds, each time after a line with the
//! date, or all processes under a header.

use super::Importer;
use crate::{Fault, File, FileHead, Found, Line, bias, number};

/// Columns of `ps aux` before the command.
const COLUMNS: usize = 10;

pub(super) const IMPORTER: Importer = Importer {
    name: "ps",
    help: "raw ps aux captures (sb.ps, o.ps and others): peak memory of the server's largest \
           process",
    ends_anywhere: true,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let named = ["sb.ps.", "sb.prepare.ps.", "o.ps."].iter().any(|n| head.name.starts_with(n));
    named || head.name == "o.ps" || {
        let lines: Vec<Line<'_>> = head.lines().take(3).collect();
        let words = |line: &Line<'_>| -> Vec<String> {
            line.text.split_whitespace().take(COLUMNS + 1).map(str::to_owned).collect()
        };
        let lines: Vec<Vec<String>> = lines.iter().map(words).collect();
        let first = lines.first().is_some_and(|first| is_date(first) || is_header(first));
        let process = |words: &Vec<String>| is_header(words) || is_process(words);
        first && lines.iter().any(process)
    }
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    // Peaks of VSZ and RSS with their lines: of servers, and of all processes.
    let (mut servers, mut all) = ([(0.0, 0); 2], [(0.0, 0); 2]);
    let mut last = 0;
    for line in file.lines() {
        last = line.number;
        let words: Vec<&str> = line.text.split_whitespace().take(COLUMNS + 1).collect();
        if !is_process(&words) {
            if !is_date(&words) && !is_header(&words) && !words.is_empty() {
                let reason = "the line is neither a date nor a process; it is left out";
                found.warn(last, reason);
            }
            continue;
        }
        for place in 0..2 {
            let Some(kib) = number::parse(words[4 + place]) else {
                found.warn(last, "VSZ or RSS is not a number; it is left out");
                continue;
            };
            let server = is_server(words[COLUMNS]);
            for peaks in [Some(&mut all), server.then_some(&mut servers)].into_iter().flatten() {
                if kib > peaks[place].0 {
                    peaks[place] = (kib, last);
                }
            }
        }
    }
    // A capture of other processes than known servers is of the server all the same.
    let peaks = if servers[1].0 > 0.0 { servers } else { all };
    if peaks[1].0 <= 0.0 {
        return Err(Fault::new(last, "the capture has no process with memory"));
    }
    let cell = file.capture_cell("ps")?;
    for ((kib, line), metric) in
        peaks.into_iter().zip(["server_vsz_mib_peak", "server_rss_mib_peak"])
    {
        // A size that no line tells is not 0.
        if kib > 0.0 {
            found.computed(&cell, metric, kib / 1024.0, line);
            found.bias(metric, bias::LARGEST_PROCESS);
        }
    }
    Ok(())
}

/// `USER PID %CPU %MEM VSZ RSS …`.
fn is_header(words: &[impl AsRef<str>]) -> bool {
    let expected = ["USER", "PID", "%CPU", "%MEM", "VSZ", "RSS"];
    words.len() >= expected.len() && words.iter().zip(expected).all(|(word, e)| word.as_ref() == e)
}

/// A process with its command: user, number, two shares, two sizes, and more.
fn is_process(words: &[impl AsRef<str>]) -> bool {
    let at = |place: usize| words.get(place).map_or("", AsRef::as_ref);
    let shares = [2, 3].iter().all(|place| number::parse(at(*place)).is_some());
    words.len() > COLUMNS && at(1).parse::<u32>().is_ok() && shares
}

/// Whether a command is that of a server: `/opt/bin/mysqld`, or `postgres:` of a worker.
fn is_server(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command).trim_end_matches(':');
    ["mysqld", "mariadbd", "postgres", "mongod"].contains(&name)
}

/// `Wed Mar  5 06:02:54 PM UTC 2025`, in the forms of several locales.
fn is_date(words: &[impl AsRef<str>]) -> bool {
    let clock = |word: &str| word.matches(':').count() == 2;
    (5..=7).contains(&words.len()) && words.iter().any(|word| clock(word.as_ref()))
}
