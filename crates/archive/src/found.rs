//! What an importer finds in a file.

use model::Levels;
use std::borrow::Cow;

/// Known biases of third-party formats, as marks of their values.
pub mod bias {
    /// vmstat repeats its header every 21 rows, and the published scripts count the second line of
    /// it as a sample of zeros: about 4.5 % too low.
    pub const VMSTAT_HEADERS: &str = "vmstat headers counted as samples";
    /// The counters are those of the host: every process on it, the load generator too.
    pub const WHOLE_HOST: &str = "whole host, load generator included";
    /// The unit of an operation of a scan changed twice over the years.
    pub const SCAN_UNIT: &str = "operations of scans are thousands of rows";
    /// Several processes share memory, so that a sum would count it several times.
    pub const LARGEST_PROCESS: &str = "of the largest process";
    /// Ratios only: the base has the value 1.
    pub const RELATIVE: &str = "relative to the first variant";
}

/// Everything that one file told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The values in the order of the file.
    pub values: Vec<Value>,
    /// Rows that were left out, with their line and the reason.
    pub warnings: Vec<Fault>,
    /// Labels of subjects in the order in which a summary lists them; empty for other files.
    pub subjects: Vec<String>,
    /// Whether a file beside it tells all of it, so that it needs no values.
    pub is_told_elsewhere: bool,
}

/// One printed number.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// What it was measured of.
    pub cell: Cell,
    /// Name of the metric: one of `analysis::METRICS`, or a name of the same kind for what only
    /// archives hold.
    pub metric: Cow<'static, str>,
    /// In the metric's unit.
    pub value: f64,
    /// As printed; empty if computed.
    pub text: String,
    /// Line of the file, from 1.
    pub line: u32,
    /// Known biases: see [`bias`].
    pub biases: Vec<&'static str>,
}

/// What a value was measured of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// Name of the archive.
    pub experiment: String,
    /// Label of the subject, as the archive has it.
    pub subject: String,
    /// Step without its range: `point-query.pre`.
    pub phase: String,
    /// The end of the phase that says which part of a test it is, and that no name of the user's
    /// has: ` script 2`. Empty for the whole test.
    pub part: String,
    /// Workload of the step: `point-query`.
    pub workload: String,
    /// Report group, or empty.
    pub group: String,
    /// Published range, if any.
    pub range: Option<u64>,
    /// Connections, where the archive tells.
    pub clients: Option<u32>,
    /// Clients of the table that the value belongs to, where a folder or a tag such as `dop40`
    /// tells; single steps of a table, such as scans, may have others.
    pub table_clients: Option<u32>,
    /// Which of several numbers of clients that the file does not name.
    pub column: Option<Column>,
    /// Repetition of the same cell in one file, from 0.
    pub round: u32,
    /// What tells repetitions of the whole test apart, in this order: the numbers of folders and of
    /// names. Empty if these have none.
    pub repetition: Vec<u32>,
    /// Which of the reports of this test that stand behind each other in one file, from 0.
    pub report: u32,
    /// Whether subject and phase are names that the user gave files or folders, and may end with
    /// the number of a repetition.
    pub is_loose: bool,
    /// Other keys by name.
    pub levels: Levels,
}

impl Cell {
    /// Whether it is of the published scan, whose operations are thousands of rows. A test of
    /// somebody else may have the same name.
    pub(crate) fn is_scan(&self) -> bool {
        self.workload == "scan" && !self.is_loose
    }

    /// The phase without what says which part of a test it is.
    pub(crate) fn whole_phase(&self) -> &str {
        self.phase.strip_suffix(self.part.as_str()).unwrap_or(&self.phase)
    }
}

/// A place in a row of values, one for each number of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// From 1.
    pub number: u32,
    /// Columns in the row.
    pub of: u32,
}

/// A line that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// From 1; 0 for the file as a whole.
    pub line: u32,
    /// One clear sentence: what is wrong, and what was done.
    pub reason: String,
}

impl Fault {
    /// A fault at a line.
    pub fn new(line: u32, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }
}

impl Found {
    /// Adds a printed number in the metric's unit. Text that is no finite number is a warning, as
    /// is one below 0: no quantity that archives hold has any.
    pub fn number(&mut self, cell: &Cell, metric: &'static str, text: &str, line: u32) {
        self.scaled(cell, metric, (text, 1.0), line);
    }

    /// The same for a number that is printed in another unit: its value is the text times `factor`.
    pub fn scaled(
        &mut self,
        cell: &Cell,
        metric: &'static str,
        (text, factor): (&str, f64),
        line: u32,
    ) {
        let value = crate::number::parse(text).map(|value| value * factor);
        match value.filter(|value| value.is_finite()) {
            Some(value) if value < 0.0 => {
                let shown = crate::number::excerpt(text);
                self.warn(line, format!("`{shown}` is below 0, so `{metric}` is left out"));
            }
            Some(value) => self.values.push(Value {
                cell: cell.clone(),
                metric: Cow::Borrowed(metric),
                value,
                text: text.to_owned(),
                line,
                biases: biases(metric, cell),
            }),
            None => {
                let shown = crate::number::excerpt(text);
                self.warn(line, format!("`{shown}` is not a number, so `{metric}` is left out"));
            }
        }
    }

    /// Adds a number that was computed from several lines.
    pub fn computed(&mut self, cell: &Cell, metric: &'static str, value: f64, line: u32) {
        if value.is_finite() {
            self.values.push(Value {
                cell: cell.clone(),
                metric: Cow::Borrowed(metric),
                value,
                text: String::new(),
                line,
                biases: biases(metric, cell),
            });
        }
    }

    /// Adds a warning.
    pub fn warn(&mut self, line: u32, reason: impl Into<String>) {
        self.warnings.push(Fault::new(line, reason));
    }

    /// Adds a bias to the values of a metric that were found so far.
    pub fn bias(&mut self, metric: &str, bias: &'static str) {
        for value in self.values.iter_mut().filter(|value| value.metric == metric) {
            value.biases.push(bias);
        }
    }
}

/// Biases that every value of a metric has, whatever format tells it.
fn biases(metric: &str, cell: &Cell) -> Vec<&'static str> {
    let host = metric.starts_with("host_cpu_") || metric.starts_with("host_context_switches_");
    let mut found = Vec::new();
    if host {
        found.push(bias::WHOLE_HOST);
    }
    if cell.is_scan() && (metric.ends_with("_per_op") || metric == "ops_per_second") {
        found.push(bias::SCAN_UNIT);
    }
    found
}
