//! The report that sysbench prints, 0.4 to 1.1, with or without the lines that the published
//! archives put before it.

use super::{Importer, sysbench_intervals};
use crate::{
    Cell, Fault, File, FileHead, Found, Line,
    command_line::{self, RATE},
    number,
    repetition::{self, Repeats},
};

/// What a run prints before its options; commands that fill, warm or remove tables do not.
const RUN: &str = "Running the test with following options:";

/// The end of the line before a report of `--report-checkpoints`.
const CHECKPOINT: &str = "Checkpoint report:";

const START: &str = "SQL statistics:";
/// The same of versions before 1.0.
const OLD_START: &str = "OLTP test statistics:";
const END: &str = "execution time (avg/stddev):";

/// What 0.4 prints of a test without transactions. It counts a commit for each all the same.
const SKIPPED: &str = "Skipping BEGIN/COMMIT";

pub(super) const IMPORTER: Importer = Importer {
    name: "sysbench",
    help: "reports of sysbench 0.4 to 1.1 (also sb.o files): rates, counts, latencies",
    ends_anywhere: false,
    is_own_file: true,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let banner =
        |line: &Line<'_>| ["sysbench 0.", "sysbench 1."].iter().any(|b| line.text.starts_with(b));
    // What fills, warms or removes tables reports nothing, unless a run follows.
    let is_other = ["Creating table", "Dropping table", "Preloading table"]
        .iter()
        .any(|words| head.holds(words));
    let is_run = !is_other || head.holds(RUN);
    (head.lines().take(64).any(|line| banner(&line)) && is_run)
        || head.holds(START)
        || head.holds(OLD_START)
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let lines: Vec<Line<'_>> = file.lines().collect();
    let mut reports: Vec<(&[Line<'_>], &[Line<'_>])> = Vec::new();
    let mut rest = lines.as_slice();
    while let Some(start) = rest.iter().position(starts_report) {
        let (before, report) = rest.split_at(start);
        is_of_whole_run(before)?;
        let (report, behind) = report.split_at(length(report)?);
        let first = before.iter().position(|line| !line.text.trim().is_empty()).unwrap_or(0);
        reports.push((&before[first..], report));
        rest = behind;
    }
    if reports.is_empty() {
        let intervals = sysbench_intervals::intervals(&lines)?;
        if !intervals.is_empty() {
            return sysbench_intervals::add(file, &intervals, found);
        }
        return Err(no_report(&lines));
    }
    let mut cells = Vec::new();
    for (before, _) in &reports {
        let script = script(before);
        let mut cell = file.loose_cell(script.unwrap_or("sysbench"));
        conditions(before, &mut cell, found);
        cell.levels.extend(script.map(|script| (SCRIPT.to_owned(), script.to_owned())));
        cells.push(cell);
    }
    repetition::tell_apart(&mut cells);
    let mut repeats = Repeats::default();
    for ((before, report), mut cell) in reports.into_iter().zip(cells) {
        cell.levels.remove(SCRIPT);
        repeats.number(&mut cell);
        failures(before, found);
        host(before, &cell, found);
        self::report(before, report, &cell, found)?;
    }
    runs(rest).for_each(|line| found.warn(line, NO_REPORT));
    Ok(())
}

/// Key of the script while reports are told apart; values never have it.
const SCRIPT: &str = "script";

fn starts_report(line: &Line<'_>) -> bool {
    [START, OLD_START].contains(&line.text.trim())
}

/// How many lines a report has, up to that of [`END`]. Fails where it is cut: where lines end, or
/// the next run or report begins, whose numbers are not its own.
fn length(report: &[Line<'_>]) -> Result<usize, Fault> {
    let begins = |line: &Line<'_>| line.text.trim() == RUN || starts_report(line);
    let next = report.iter().skip(1).position(begins).map_or(report.len(), |place| place + 1);
    let own = &report[..next];
    let end = own.iter().position(|line| line.text.trim_start().starts_with(END));
    end.map(|end| end + 1).ok_or_else(|| {
        let last = own.last().map_or(0, |line| line.number);
        Fault::new(last, format!("the report ends before `{END}`: it is cut short"))
    })
}

/// Why nothing can be imported of lines without a report.
fn no_report(lines: &[Line<'_>]) -> Fault {
    let ends = |line: &Line<'_>| line.text.trim_start().starts_with(END);
    let starts = [START, OLD_START];
    let start = starts.iter().find(|start| lines.iter().any(|line| line.text.contains(**start)));
    let reason = if let Some(start) = start {
        format!("`{start}` stands behind something else; remove it from all lines")
    } else if lines.iter().any(ends) {
        format!(
            "the report has no `{START}`: it is of another test, such as cpu or fileio, and is not \
             imported"
        )
    } else {
        format!("`{START}` is missing: the test failed or was cut short")
    };
    Fault::new(lines.last().map_or(0, |line| line.number), reason)
}

/// Fails at a report that is of a part of a run: it is no repetition of the other parts.
fn is_of_whole_run(before: &[Line<'_>]) -> Result<(), Fault> {
    let checkpoint = before.iter().find(|line| line.text.ends_with(CHECKPOINT));
    let Some(line) = checkpoint else { return Ok(()) };
    let reason = "the report that follows is of a part of the run; repeat the run without \
                  `--report-checkpoints`";
    Err(Fault::new(line.number, reason))
}

/// Why nothing is imported of a run among others.
const NO_REPORT: &str = "the run that begins here printed no report of SQL: it failed, was stopped \
                         or is another test, and is left out";

/// Tells what stands before a report of runs that failed. The last one is that of the report.
fn failures(before: &[Line<'_>], found: &mut Found) {
    let mut runs: Vec<u32> = runs(before).collect();
    if runs.pop().is_none() {
        return;
    }
    runs.into_iter().for_each(|line| found.warn(line, NO_REPORT));
    let mut own = before.iter().rev().take_while(|line| line.text.trim() != RUN);
    // One that cannot end a thread of its own, when all events are done, is whole.
    let is_early = |line: &&Line<'_>| {
        let error = line.text.trim_start().strip_prefix("FATAL: ");
        error.is_some_and(|error| !error.starts_with("Terminating the "))
    };
    if let Some(line) = own.find(is_early) {
        let shown = number::excerpt(&line.text);
        let reason = format!("`{shown}`: the run ended early, and reports what it did until then");
        found.warn(line.number, reason);
    }
}

/// The lines at which runs begin.
fn runs(lines: &[Line<'_>]) -> impl Iterator<Item = u32> {
    lines.iter().filter(|line| line.text.trim() == RUN).map(|line| line.number)
}

/// Adds a report behind the lines of its run.
fn report(
    before: &[Line<'_>],
    lines: &[Line<'_>],
    cell: &Cell,
    found: &mut Found,
) -> Result<(), Fault> {
    let mut own = before.iter().rev().take_while(|line| line.text.trim() != RUN);
    let mut reader = Report {
        cell,
        found,
        events: None,
        queries: false,
        has_others: !own.any(|line| line.text.trim() == SKIPPED),
        requests: None,
        rates: Vec::new(),
        seconds: None,
    };
    for line in lines {
        reader.line(line)?;
    }
    if reader.events.is_none() || !reader.queries {
        let reason = "the report lacks `transactions:` or `queries:`";
        return Err(Fault::new(lines.first().map_or(0, |line| line.number), reason));
    }
    reader.rates_fit_counts()
}

/// The line that executes the run of a report: the last one that does, as other runs and other
/// commands may be before it, else the first line.
fn command<'a, 'l>(before: &'a [Line<'l>]) -> Option<&'a Line<'l>> {
    let is_run = |line: &&Line<'_>| {
        let mut words = line.text.split_whitespace();
        line.text.contains(" --")
            && words.any(|word| word.rsplit('/').next() == Some("sysbench"))
            && words.any(|word| word == "run")
    };
    before.iter().rfind(is_run).or(before.first())
}

/// Name of the script on the command line: `oltp_point_select`.
fn script<'a>(before: &'a [Line<'_>]) -> Option<&'a str> {
    let command = command(before)?;
    let word = command
        .text
        .split_whitespace()
        .find(|word| word.ends_with(".lua") && !word.contains(';') && !word.contains('?'));
    let named = word.and_then(|word| word.rsplit(['/', '=']).next()?.strip_suffix(".lua"));
    named.or_else(|| command.text.split_whitespace().find(|word| word.starts_with("oltp_")))
}

/// Takes what stands before a report into its cell.
fn conditions(before: &[Line<'_>], cell: &mut Cell, found: &mut Found) {
    if let Some(command) = command(before) {
        command_line::fill(command, cell, found);
    }
    // The last one counts: a run that printed no report may be before it.
    let mut rate = None;
    for line in before {
        let text = line.text.trim();
        if let Some(threads) = text.strip_prefix("Number of threads: ") {
            cell.clients = threads.parse().ok().filter(|n| *n > 0).or(cell.clients);
        }
        rate = match text.strip_prefix("Target transaction rate: ") {
            Some(target) => number::leading(target),
            None => rate.filter(|_| text != RUN),
        };
    }
    let rate = rate.map(|(rate, _)| (RATE.to_owned(), rate.to_string()));
    cell.levels.extend(rate);
}

/// Adds what stands before a report of the host.
fn host(before: &[Line<'_>], cell: &Cell, found: &mut Found) {
    for line in before.iter().take(8) {
        let Some(cpus) = line.text.strip_suffix(" CPUs") else { continue };
        if cpus.parse().is_ok_and(|cpus: u32| cpus > 0) {
            found.number(cell, "host_cpus", cpus, line.number);
        }
    }
}

struct Report<'a> {
    cell: &'a Cell,
    found: &'a mut Found,
    events: Option<f64>,
    queries: bool,
    /// Whether the statements that neither read nor write were executed.
    has_others: bool,
    /// Rate of those that read or write, where a report before 1.0 tells it.
    requests: Option<f64>,
    /// The counts with their rates.
    rates: Vec<Rated>,
    /// How long the test took, as far as it is known.
    seconds: Option<f64>,
}

/// A count with its rate as they are printed.
struct Rated {
    count: f64,
    rate: f64,
    text: String,
    line: u32,
}

/// Part of a rate by which that of its count in the time of the test may differ.
const TOLERANCE: f64 = 0.05;

impl Rated {
    /// Whether the rate is that of the count in this time; rates have two decimals, and times four.
    fn fits(&self, seconds: f64) -> bool {
        let rounding = 0.01 * seconds + 0.0001 * self.rate;
        (self.rate * seconds - self.count).abs() <= TOLERANCE * self.count + rounding
    }
}

impl Report<'_> {
    fn line(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        let Some((title, rest)) = line.text.trim().split_once(':') else { return Ok(()) };
        let (rest, at) = (rest.trim(), line.number);
        match title {
            "read" => self.number("read_statements", rest, at),
            "write" => self.number("write_statements", rest, at),
            "other" | "total" if !self.has_others => {}
            "other" => self.number("other_statements", rest, at),
            "total" => self.number("statements", rest, at),
            "transactions" => {
                let (count, rate) = self.rated(rest, at)?;
                self.events = number::parse(count);
                self.number("transactions_per_second", rate, at);
            }
            "queries" => {
                let (_, rate) = self.rated(rest, at)?;
                self.queries = true;
                self.number("queries_per_second", rate, at);
                // A scan counts rows, and its report does not say how many there are.
                if !self.cell.is_scan() {
                    self.number("ops_per_second", rate, at);
                }
            }
            "read/write requests" => {
                let (count, rate) = self.rated(rest, at)?;
                self.requests = number::parse(rate);
                if !self.has_others {
                    self.number("statements", count, at);
                }
            }
            "other operations" => self.old_queries(rest, at)?,
            "ignored errors" | "deadlocks" => {
                let (count, _) = rated(rest, at)?;
                if let (Some(errors), Some(events)) = (number::parse(count), self.events) {
                    self.found.computed(self.cell, "errors_per_op", errors / events, at);
                }
            }
            "total time" | "time elapsed" => {
                let seconds = rest.strip_suffix('s').unwrap_or(rest);
                self.seconds = number::parse(seconds);
                self.number("seconds", seconds, at);
            }
            "min" => self.milliseconds("latency_us_min", rest, at),
            "avg" => self.milliseconds("latency_us_mean", rest, at),
            "max" => self.milliseconds("latency_us_max", rest, at),
            _ => {
                if let Some(percentile) = percentile(title) {
                    match percentiles(percentile) {
                        // Without a histogram, `--percentile=0` or `--histogram=off`.
                        _ if number::parse(rest.trim_end_matches(['m', 's'])) == Some(0.0) => {}
                        Some(metric) => self.milliseconds(metric, rest, at),
                        None => self.found.warn(
                            at,
                            format!("the percentile {percentile} has no metric and is left out"),
                        ),
                    }
                }
            }
        }
        Ok(())
    }

    /// All statements of a report before 1.0, which tells the rates of two kinds.
    fn old_queries(&mut self, text: &str, line: u32) -> Result<(), Fault> {
        let (_, rate) = self.rated(text, line)?;
        let others = number::parse(rate).filter(|_| self.has_others).unwrap_or(0.0);
        if let Some(requests) = self.requests {
            self.queries = true;
            self.found.computed(self.cell, "queries_per_second", requests + others, line);
            if !self.cell.is_scan() {
                self.found.computed(self.cell, "ops_per_second", requests + others, line);
            }
        }
        Ok(())
    }

    /// The count and the rate of a line whose rate is that of the test.
    fn rated<'t>(&mut self, text: &'t str, line: u32) -> Result<(&'t str, &'t str), Fault> {
        let (count, rate) = rated(text, line)?;
        if let (Some(count), Some(rate)) = (number::parse(count), number::parse(rate)) {
            self.rates.push(Rated { count, rate, text: number::excerpt(text), line });
        }
        Ok((count, rate))
    }

    /// A rate is that of its count in the time of the test.
    fn rates_fit_counts(&self) -> Result<(), Fault> {
        let Some(seconds) = self.seconds else { return Ok(()) };
        let Some(wrong) = self.rates.iter().find(|rated| !rated.fits(seconds)) else {
            return Ok(());
        };
        let reason = format!(
            "`{}` in {seconds} s contradicts itself: at this rate it would be {:.0}; import the \
             report as sysbench printed it",
            wrong.text,
            wrong.rate * seconds
        );
        Err(Fault::new(wrong.line, reason))
    }

    fn number(&mut self, metric: &'static str, text: &str, line: u32) {
        self.found.number(self.cell, metric, text, line);
    }

    /// A latency, in milliseconds unless its unit is behind it: `ms`, or `s` of early 0.4.
    fn milliseconds(&mut self, metric: &'static str, text: &str, line: u32) {
        let text = text.strip_suffix("ms").unwrap_or(text);
        let number = match text.strip_suffix('s') {
            Some(seconds) => (seconds, 1_000_000.0),
            None => (text, 1000.0),
        };
        self.found.scaled(self.cell, metric, number, line);
    }
}

/// `597927 (664.36 per sec.)`: the count and the rate.
fn rated(text: &str, line: u32) -> Result<(&str, &str), Fault> {
    let parts = text
        .split_once('(')
        .and_then(|(count, rest)| Some((count.trim(), rest.strip_suffix("per sec.)")?.trim())));
    let fault = |reason: &str| {
        let shown = number::excerpt(text);
        Fault::new(line, format!("`{shown}` {reason}"))
    };
    let is_read = |(count, rate): (&str, &str)| number::parse(count).and(number::parse(rate));
    match parts {
        Some((count, rate)) if is_read((count, rate)).is_some() => {
            let below_zero = [count, rate].into_iter().filter_map(number::parse).any(|n| n < 0.0);
            match below_zero {
                true => Err(fault(
                    "is a count or rate below 0; import the report as sysbench printed it",
                )),
                false => Ok((count, rate)),
            }
        }
        Some((count, rate)) if is_read((count, &rate.replacen(',', ".", 1))).is_some() => {
            Err(fault("is not a count with its rate (decimal comma? run sysbench with `LC_ALL=C`)"))
        }
        _ => Err(fault("is not a count with its rate")),
    }
}

/// `95th percentile`, or `approx.  95 percentile` of versions before 1.0: the number.
fn percentile(title: &str) -> Option<&str> {
    let old = || title.strip_prefix("approx.")?.strip_suffix("percentile").map(str::trim);
    title.strip_suffix("th percentile").or_else(old)
}

fn percentiles(percentile: &str) -> Option<&'static str> {
    match percentile {
        "50" => Some("latency_us_p50"),
        "75" => Some("latency_us_p75"),
        "90" => Some("latency_us_p90"),
        "95" => Some("latency_us_p95"),
        "99" => Some("latency_us_p99"),
        _ => None,
    }
}
