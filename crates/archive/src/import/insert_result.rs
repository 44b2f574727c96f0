//! `o.res.dopN` of the Insert Benchmark: what one phase of one variant came to. Lines are known by
//! what they say and not by their number, which differs between versions of awk.

use super::Importer;
use crate::{
    Cell, Fault, File, FileHead, Found, Line,
    file::NO_PHASE,
    insert::{
        Row,
        histogram::{self, KINDS},
        table,
    },
    number,
    phase::{self, Kind, Phase},
};

/// Columns of the tables by rate of inserts or queries: name, metric, factor to its unit.
type Columns = &'static [(&'static str, &'static str, f64)];

/// What does not depend on the rate.
const ALWAYS: Columns = &[
    ("r/s", "reads_per_second", 1.0),
    ("rMB/s", "read_mib_per_second", 1.0),
    ("w/s", "writes_per_second", 1.0),
    ("wMB/s", "write_mib_per_second", 1.0),
    ("cs/s", "host_context_switches_per_second", 1.0),
    ("cpu/s", "host_cpu_percent", 1.0),
];

/// Per operation of the phase.
const PER_OPERATION: Columns = &[
    ("r/i", "reads_per_op", 1.0),
    ("rKB/i", "read_kib_per_op", 1.0),
    ("r/q", "reads_per_op", 1.0),
    ("rKB/q", "read_kib_per_op", 1.0),
    ("cs/q", "host_context_switches_per_op", 1.0),
    ("cpu/q", "host_cpu_percent_per_op", 1.0),
];

/// Per inserted row, whatever the phase does.
const PER_INSERT: Columns =
    &[("w/i", "writes_per_insert_row", 1.0), ("wKB/i", "write_kib_per_insert_row", 1.0)];

/// Metric of the median and of the 99th percentile of a client's rates.
const PERCENTILES: [(&str, &str); 2] = [("50th,", "client_rate_p50"), ("99th,", "client_rate_p99")];

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_result",
    help: "o.res files of the Insert Benchmark: rates, costs and sizes of one phase",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.strip_prefix("o.res.").is_some_and(|rest| number::dop(rest).is_some())
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let known = file.folders.phase_cell();
    let known = known.and_then(|cell| Some((phase::of(&cell.phase)?, cell)));
    let Some((phase, cell)) = known else {
        return Err(Fault::new(1, NO_PHASE));
    };
    let clients = file.name.rsplit('.').next().and_then(number::dop);
    let cell = Cell { clients: clients.or(cell.clients), ..cell };
    let mut lines = file.lines();
    let Some(first) = lines.next() else { return Err(Fault::new(1, "the file is empty")) };
    let mut reader =
        Reader { cell: &cell, phase, found: &mut *found, part: Part::None, percentiles: 0 };
    reader.rates(&first)?;
    for line in lines {
        reader.line(&line);
    }
    table::bias_vmstat(found);
    found.bias("host_cpu_percent_per_op", crate::bias::VMSTAT_HEADERS);
    Ok(())
}

/// What averages are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Inserts,
    Queries,
}

/// What the lines that follow are about.
enum Part {
    None,
    /// Tables of averages by a rate.
    Per(By),
    /// The row below a header.
    Row(By, Vec<String>),
    /// The numbers below `Max insert`.
    Max(&'static str),
}

struct Reader<'a> {
    cell: &'a Cell,
    phase: Phase,
    found: &'a mut Found,
    part: Part,
    /// Percentiles of the first client that were read.
    percentiles: usize,
}

impl Reader<'_> {
    /// `1 processes, 200 rows-per-process, 2 seconds, 100.0 rows-per-second, …`.
    fn rates(&mut self, line: &Line<'_>) -> Result<(), Fault> {
        let parts = line.text.split(", ").filter_map(|part| part.split_once(' '));
        let parts: Vec<(&str, &str)> = parts.collect();
        let named = |name: &str| parts.iter().find(|(_, unit)| *unit == name).map(|part| part.0);
        let rates = named("rows-per-second").zip(named("queries-per-second"));
        let Some((inserts, queries)) = rates.zip(named("seconds")).map(|(rates, _)| rates) else {
            let reason = "the line is not `… processes, … seconds, … rows-per-second, … \
                          queries-per-second`";
            return Err(Fault::new(line.number, reason));
        };
        let at = line.number;
        self.found.number(self.cell, "seconds", named("seconds").unwrap_or_default(), at);
        // Building indexes counts other rows in summaries than here.
        if self.phase.kind == Kind::Index {
            return Ok(());
        }
        self.found.number(self.cell, "insert_rows_per_second", inserts, at);
        let operations = if self.phase.kind.queries() { queries } else { inserts };
        self.found.number(self.cell, "ops_per_second", operations, at);
        if self.phase.kind.queries() {
            self.found.number(self.cell, "queries_per_second", queries, at);
            if let Some(clients) = self.cell.clients {
                let target = f64::from(self.phase.rate) * f64::from(clients);
                self.found.computed(self.cell, "insert_rows_per_second_target", target, at);
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &Line<'_>) {
        let text = line.text.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some(first) = words.first() else { return };
        let part = std::mem::replace(&mut self.part, Part::None);
        self.part = match (part, *first) {
            (_, "iostat,") if text.ends_with("by query rate") => Part::Per(By::Queries),
            (_, "iostat,") => Part::Per(By::Inserts),
            (Part::Per(by), "nsamp") => {
                Part::Row(by, words.iter().map(|word| (*word).to_owned()).collect())
            }
            (Part::Row(by, header), _) => {
                self.row(by, &header, &words, line.number);
                Part::Per(by)
            }
            (_, "Max") => self.largest(&words[1..], line.number),
            (Part::Max(metric), _) if number::parse(first).is_some() => {
                self.found.scaled(self.cell, metric, (*first, 1e6), line.number);
                Part::None
            }
            (Part::Per(by), _) => {
                self.other(text, &words, line.number);
                Part::Per(by)
            }
            _ => {
                self.other(text, &words, line.number);
                Part::None
            }
        };
    }

    /// A row of averages.
    fn row(&mut self, by: By, header: &[String], words: &[&str], line: u32) {
        if words.len() != header.len() {
            self.found.warn(line, number::wrong_columns(words.len(), header.len()));
            return;
        }
        // Both tables say what does not depend on the rate: that of the operations counts.
        let own = (by == By::Queries) == self.phase.kind.queries();
        let vmstat = header.iter().any(|name| name == "cs/s");
        let samples = if vmstat { "vmstat_samples" } else { "iostat_samples" };
        for (name, text) in header.iter().zip(words) {
            let find = |columns: Columns| columns.iter().find(|(known, ..)| known == name);
            let column = match own {
                true => find(ALWAYS).or_else(|| find(PER_OPERATION)),
                false => None,
            };
            let column = column.or_else(|| find(PER_INSERT).filter(|_| by == By::Inserts));
            if let Some((_, metric, factor)) = column {
                self.found.scaled(self.cell, metric, (*text, *factor), line);
            } else if own && name == "nsamp" {
                self.found.number(self.cell, samples, text, line);
            }
        }
    }

    /// `Max insert` and the largest times, in the same line or below it.
    fn largest(&mut self, words: &[&str], line: u32) -> Part {
        let metric = match words.first() {
            Some(&"insert") => "insert_response_us_max",
            Some(&"delete") => "delete_response_us_max",
            Some(&"query") => "query_response_us_max",
            _ => return Part::None,
        };
        match words.get(1) {
            Some(seconds) => {
                self.found.scaled(self.cell, metric, (*seconds, 1e6), line);
                Part::None
            }
            None => Part::Max(metric),
        }
    }

    fn other(&mut self, text: &str, words: &[&str], line: u32) {
        match words {
            ["dbGB", size, ..] => {
                self.found.scaled(self.cell, "database_mib", (*size, 1024.0), line);
            }
            ["dbdirGB", size, ..] => {
                self.found.scaled(self.cell, "data_folder_mib", (*size, 1024.0), line);
            }
            ["client:", .., total, "total"] => {
                self.found.number(self.cell, "client_cpu_seconds", total, line);
            }
            [kind, "rt:", counts @ ..] => self.counts(kind, counts, line),
            [percentile, ..] => {
                let known = PERCENTILES.get(self.percentiles);
                let Some((_, metric)) = known.filter(|(name, _)| name == percentile) else {
                    return;
                };
                let unit = if self.phase.kind.queries() { "query" } else { "insert" };
                let rates = text.split_once(" = ").map_or("", |(_, rates)| rates);
                let pairs = rates.split(", ").filter_map(|pair| pair.split_once(' '));
                let mut own = pairs.filter(|(_, name)| *name == unit);
                if let Some((rate, _)) = own.next() {
                    self.found.number(self.cell, metric, rate, line);
                }
                self.percentiles += 1;
            }
            [] => {}
        }
    }

    /// Counts of response times by bucket, below a line with the bounds.
    fn counts(&mut self, kind: &str, counts: &[&str], line: u32) {
        let kind = KINDS.into_iter().find(|known| kind.eq_ignore_ascii_case(known));
        let (Some(kind), 11) = (kind, counts.len()) else { return };
        if counts.first() == Some(&histogram::COLUMNS[0]) {
            return;
        }
        // The largest time stands under `Max` too.
        let metric = format!("{kind}_response_us_max");
        let told = self.found.values.iter().any(|value| value.metric == metric);
        let row = Row { line, cells: counts.iter().map(|count| (*count).to_owned()).collect() };
        let first = self.found.values.len();
        histogram::row(&row, self.cell, (kind, "count"), self.found);
        if told {
            let mut place = 0;
            self.found.values.retain(|value| {
                place += 1;
                place <= first || value.metric != metric
            });
        }
    }
}
