//! What pgbench prints at its end, for all scripts together and for each.

use super::Importer;
use crate::{
    Cell, Fault, File, FileHead, Found, Line, names, number,
    repetition::{self, Repeats},
};

const TYPE: &str = "transaction type: ";
const SCRIPT: &str = "SQL script ";

/// Lines that say what a test executed and how, and the level that a cell has of them.
pub(crate) const CONDITIONS: [(&str, &str); 4] = [
    ("transaction type", "transaction-type"),
    ("scaling factor", "scale"),
    ("query mode", "query-mode"),
    (LAG, "rate-limit"),
];
/// What is printed of a test that keeps to a rate, without the rate: how late transactions began.
const LAG: &str = "rate limit schedule lag";

/// What clients say that end before the test does, and pgbench then, since version 11.
const FAILED: [&str; 3] = [" aborted in ", " aborted while ", "Run was aborted"];

/// How errors of versions from 12 on begin: a run may end with one and without a report.
const ERRORS: [&str; 2] = ["pgbench: error: ", "pgbench: fatal: "];

/// How versions from 9.6 on, and those before, name the mean latency.
const AVERAGES: [&str; 2] = ["latency average = ", "latency average: "];

/// A rate is at least and at most so many times that of the transactions in the duration: tests end
/// after the transactions that are under way, and one of them may wait longer than the test takes.
const LEAST: f64 = 0.25;
const MOST: f64 = 1.25;

/// The same of rates without the time in which connections were made, which old versions do not
/// print: with `--connect` it is most of the duration.
const MOST_UNCONNECTED: f64 = 20.0;

pub(super) const IMPORTER: Importer = Importer {
    name: "pgbench",
    help: "output of pgbench: rate and latencies, for each script too",
    ends_anywhere: false,
    is_own_file: true,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let own = |line: &Line<'_>| {
        let text = &line.text;
        text.starts_with("pgbench (")
            || text.starts_with("pgbench: ")
            || text.starts_with(TYPE)
            || text.starts_with("progress: ") && text.contains(" tps, lat ")
    };
    head.lines().take(40).any(|line| own(&line))
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    file.is_of_no_failed_run(&FAILED)?;
    let lines: Vec<Line<'_>> = file.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|at| starts_report(&lines[*at])).collect();
    let Some(first) = starts.first() else {
        let last = lines.last().map_or(0, |line| line.number);
        let reason = format!("`{TYPE}…` is missing: the run was cut short");
        return Err(Fault::new(last, reason));
    };
    for line in lines.iter().filter(|line| ERRORS.iter().any(|one| line.text.starts_with(one))) {
        let shown = number::excerpt(&line.text);
        let reason = format!("`{shown}`: a run that printed no report has no values");
        found.warn(line.number, reason);
    }
    // Each report goes up to the next one.
    let reports = || lines[*first..].chunk_by(|_, next| !starts_report(next));
    let mut cells = Vec::new();
    for report in reports() {
        let name = name_of(report[0].text.strip_prefix(TYPE).unwrap_or_default());
        let mut cell = file.loose_cell(&name);
        cell.workload.clone_from(&name);
        head(report, &mut cell)?;
        cells.push(cell);
    }
    repetition::tell_apart(&mut cells);
    let mut repeats = Repeats::default();
    for (report, mut cell) in reports().zip(cells) {
        repeats.number(&mut cell);
        self::report(report, &cell, found)?;
    }
    Ok(())
}

fn starts_report(line: &Line<'_>) -> bool {
    line.text.starts_with(TYPE)
}

/// Takes the conditions of a report into its cell.
fn head(report: &[Line<'_>], cell: &mut Cell) -> Result<(), Fault> {
    for line in report {
        let Some((title, value)) = line.text.split_once(": ") else { continue };
        if title == "number of clients" {
            let clients = value.trim().parse().ok().filter(|clients| *clients > 0);
            let shown = number::excerpt(value);
            let wrong = || Fault::new(line.number, format!("`{shown}` is no number of clients"));
            cell.clients = Some(clients.ok_or_else(wrong)?);
        } else if let Some((_, key)) = CONDITIONS.iter().find(|(own, _)| *own == title) {
            let level = if title == LAG { "yes" } else { names::capped(value.trim()) };
            cell.levels.insert((*key).to_owned(), level.to_owned());
        }
    }
    Ok(())
}

fn report(lines: &[Line<'_>], cell: &Cell, found: &mut Found) -> Result<(), Fault> {
    let mut reader = Reader::of(cell.clone());
    for line in lines {
        if let Some(script) = line.text.strip_prefix(SCRIPT) {
            reader.check(line.number)?;
            // The transactions of a script stand in a line of their own.
            reader = Reader::of(of_script(cell, script));
        } else {
            reader.line(line, found)?;
        }
    }
    reader.check(lines.last().map_or(0, |line| line.number))
}

/// `1: <builtin: …>`: the cell of one script of a test.
fn of_script(test: &Cell, script: &str) -> Cell {
    let (number, name) = script.split_once(": ").unwrap_or((script, ""));
    let part = format!(" script {number}");
    let mut cell = test.clone();
    cell.phase.push_str(&part);
    cell.part.push_str(&part);
    cell.workload = name_of(name);
    cell
}

/// `<builtin: TPC-B (sort of)>` without its brackets.
fn name_of(text: &str) -> String {
    let inner = text.trim().trim_start_matches('<').trim_end_matches('>');
    names::capped(inner.strip_prefix("builtin: ").unwrap_or(inner)).to_owned()
}

/// Reads one block: all scripts, or one of them.
struct Reader {
    cell: Cell,
    rated: bool,
    processed: Option<f64>,
    /// How many there should be, where the test was told a number, and the line that says it.
    planned: Option<(f64, u32)>,
    /// Those that failed or were skipped.
    left_out: f64,
    /// How long the test took, where it was told to take so long.
    seconds: Option<f64>,
    /// The part of it before all connections were made, in seconds, where it is known.
    connecting: f64,
    /// How long a transaction took, in seconds, where it is known.
    latency: f64,
}

impl Reader {
    fn of(cell: Cell) -> Self {
        Self {
            cell,
            rated: false,
            processed: None,
            planned: None,
            left_out: 0.0,
            seconds: None,
            connecting: 0.0,
            latency: 0.0,
        }
    }

    /// A block must end with a rate, else it is cut; and clients must have done what they were told
    /// to, else some were aborted, which pgbench writes to stderr only.
    fn check(&self, line: u32) -> Result<(), Fault> {
        if !self.rated {
            return Err(Fault::new(line, "`tps = …` is missing: the output is cut short"));
        }
        match (self.planned, self.processed) {
            (Some((planned, line)), Some(processed)) if processed + self.left_out < planned => {
                let reason = format!(
                    "the run failed: clients were aborted after {processed} of {planned} \
                     transactions; repeat it, or remove it from the file"
                );
                Err(Fault::new(line, reason))
            }
            _ => Ok(()),
        }
    }

    fn line(&mut self, line: &Line<'_>, found: &mut Found) -> Result<(), Fault> {
        let text = line.text.trim_start_matches(" - ").trim();
        let at = line.number;
        if let Some(seconds) = text.strip_prefix("duration: ") {
            self.seconds = number::leading(seconds).map(|(seconds, _)| seconds);
        } else if let Some(count) = text.strip_prefix("number of transactions actually processed: ")
        {
            self.processed = number::leading(count).map(|(count, _)| count);
            let planned = count.split_once('/').and_then(|(_, planned)| number::parse(planned));
            self.planned = planned.map(|planned| (planned, at));
            // Of a script, since version 18: elsewhere the rate stands alone.
            if let Some((_, rate)) = count.split_once(" (tps = ").filter(|_| !self.rated) {
                self.rate((rate.trim_end_matches(')'), MOST), at, found)?;
            }
        } else if let Some(count) = text.strip_prefix("number of failed transactions: ") {
            let failed = number::leading(count).map(|(count, _)| count);
            self.left_out += failed.unwrap_or(0.0);
            if let (Some(failed), Some(done)) = (failed, self.processed.filter(|n| *n > 0.0)) {
                found.computed(&self.cell, "errors_per_op", failed / done, at);
            }
        } else if let Some(count) = text.strip_prefix("number of transactions skipped: ") {
            self.left_out += number::leading(count).map_or(0.0, |(count, _)| count);
        } else if let Some(rest) = AVERAGES.iter().find_map(|title| text.strip_prefix(title)) {
            self.latency = number::leading(rest).map_or(0.0, |(time, _)| time / 1000.0);
            self.milliseconds("latency_us_mean", rest, at, found);
        } else if let Some(rest) = text.strip_prefix("latency stddev = ") {
            self.milliseconds("latency_us_stddev", rest, at, found);
        } else if let Some(time) = text.strip_prefix("initial connection time = ") {
            self.connecting = number::leading(time).map_or(0.0, |(time, _)| time / 1000.0);
        } else if let Some(rate) = text.strip_prefix("tps = ") {
            let (rate, of) = rate.split_once(' ').unwrap_or((rate, ""));
            // Old versions print two rates; the one with connections being made comes first.
            if !of.contains("(including connections") {
                let is_old = of.contains("(excluding connections");
                let most = if is_old { MOST_UNCONNECTED } else { MOST };
                self.rate((rate, most), at, found)?;
            }
        } else if let Some((_, rate)) = text.split_once("of total, tps = ") {
            self.rate((rate.trim_end_matches(')'), MOST), at, found)?;
        } else if text.starts_with("0 transactions (") {
            // Since version 18 nothing more is printed of such a script.
            found.warn(at, "the script had no transactions; it has no values");
            self.rated = true;
        }
        Ok(())
    }

    /// Takes a rate, which is at most so many times that of the transactions.
    fn rate(
        &mut self,
        (text, most): (&str, f64),
        line: u32,
        found: &mut Found,
    ) -> Result<(), Fault> {
        let shown = number::excerpt(text);
        let Some(rate) = number::parse(text) else {
            let hint = match number::parse(&text.replacen(',', ".", 1)) {
                Some(_) => " (decimal comma? run pgbench with `LC_ALL=C`)",
                None => "",
            };
            return Err(Fault::new(line, format!("`{shown}` is not a rate{hint}")));
        };
        if let (Some(count), Some(seconds)) = (self.processed, self.seconds) {
            let (connected, late) = (seconds - self.connecting, seconds + self.latency);
            if rate * late < LEAST * count || rate * connected > most * count {
                let reason = format!(
                    "`{shown}` per second contradicts {count} transactions in {seconds} s; import \
                     the report as pgbench printed it"
                );
                return Err(Fault::new(line, reason));
            }
        }
        found.number(&self.cell, "ops_per_second", text, line);
        found.number(&self.cell, "transactions_per_second", text, line);
        self.rated = true;
        Ok(())
    }

    fn milliseconds(&self, metric: &'static str, text: &str, line: u32, found: &mut Found) {
        // Behind the unit of a mean it may say that it includes failures.
        let number = text.split_once(" ms").map_or(text, |(number, _)| number);
        found.scaled(&self.cell, metric, (number, 1000.0), line);
    }
}
