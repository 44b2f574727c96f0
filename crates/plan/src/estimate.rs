//! What a plan will cost: rough on purpose, good to a factor of two, and the same on every host.
//!
//! - A row takes its columns, 24 bytes of head and 16 bytes per index entry, a quarter more for
//!   pages that are not full; the sbtest row is 250 bytes before that quarter.
//! - Loading takes a second per 80,000 rows. It happens once per subject and load.
//! - A fresh start takes 2 seconds and the time to copy the data at 300 MB/s.
//! - A slice takes its length, its discarded start, and a second to thaw and to drain if it writes.
//! - An embedded engine starts at once, drains nothing, reads faster and is stepped through sooner.
//! - Interleaved phases begin with discarded work: half a slice if they write, else 0.3 operations
//!   per row at 8,000 per second in the first that reads, and a sixth of that in the others, of
//!   one slice to forty.
//! - A measured phase is stepped through for four slices, of 1 to 8 seconds, and a second beside,
//!   as on a host without hardware counters.
//! - What a phase takes whose roles or indexes say when it ends, and the rows that it leaves, is in
//!   `growth`.
//! - A subject keeps a template per load and one copy, each with its log, where the configuration
//!   sizes it, and 200 MB beside the rows. In the classic design only one subject has its copy.
//! - A server takes its caches, as far as they fill, and 200 MB. Interleaved servers are up
//!   together.

use crate::{
    Versions,
    growth::{Growth, growth},
    tables,
};
use model::{
    Parameters,
    experiment::Design,
    plan::{Estimate, Phase, PhaseKind, Plan},
    schema::{ColumnValue, Table},
    subject::Config,
    workload::Generator,
};

const LOAD_ROWS_PER_SECOND: f64 = 80_000.0;
const COPY_BYTES_PER_SECOND: f64 = 300e6;
const TURN_SECONDS: f64 = 0.1;
const DISCARDED_PER_ROW: f64 = 0.3;
const BESIDE_ROWS_BYTES: f64 = 200e6;
const SERVER_BYTES: f64 = 200e6;
const PAGE_FILL: f64 = 1.25;

/// What depends on where the engine runs.
struct Engine {
    start_seconds: f64,
    drain_seconds: f64,
    reads_per_second: f64,
    /// The longest that a phase is stepped through, seconds.
    stepping_seconds_max: f64,
    beside_stepping_seconds: f64,
}

const SERVER: Engine = Engine {
    start_seconds: 2.0,
    drain_seconds: 1.0,
    reads_per_second: 8_000.0,
    stepping_seconds_max: f64::INFINITY,
    beside_stepping_seconds: 1.0,
};

/// An engine inside the driver.
const EMBEDDED: Engine = Engine {
    start_seconds: 0.2,
    drain_seconds: 0.0,
    reads_per_second: 30_000.0,
    stepping_seconds_max: 0.5,
    beside_stepping_seconds: 0.2,
};

/// The cost of a plan whose other parts are complete.
pub(crate) fn estimate(plan: &Plan, versions: &dyn Versions) -> Estimate {
    let (rows, row_bytes) = loaded(plan);
    let growth = growth(plan);
    let data = row_bytes * PAGE_FILL;
    let peak = data + growth.peak_bytes * PAGE_FILL;
    let loads = f64::from(plan.experiment.loads);
    let of_subject = |engine: &Engine| {
        let turns = 0..plan.phases.len();
        let block: f64 = turns.map(|index| turn((plan, index), &growth, engine)).sum();
        let start = engine.start_seconds + data / COPY_BYTES_PER_SECOND;
        let load = rows / LOAD_ROWS_PER_SECOND + engine.start_seconds;
        loads * load + plan.blocks.len() as f64 * (start + block)
    };
    let servers = plan.subjects.iter().map(|subject| subject.build.server.as_str());
    let engines = servers.map(|name| if versions.is_embedded(name) { &EMBEDDED } else { &SERVER });
    let seconds: f64 = engines.map(of_subject).sum();
    let memory = plan
        .subjects
        .iter()
        .map(|subject| SERVER_BYTES + cache_bytes(&subject.config).min(2.0 * peak));
    let templates: f64 = plan.subjects.iter().map(|one| folder(&one.config, data)).sum();
    let copies = plan.subjects.iter().map(|subject| {
        folder(&subject.config, peak) + kept_log_bytes(&subject.config).min(growth.log_bytes)
    });
    let (memory, copies) = match plan.experiment.design {
        Design::Interleaved => (memory.sum(), copies.sum::<f64>()),
        Design::Classic => (memory.fold(0.0, f64::max), copies.fold(0.0, f64::max)),
    };
    Estimate {
        seconds: seconds.round(),
        disk_bytes: (loads * templates + copies).round() as u64,
        memory_bytes: memory.round() as u64,
    }
}

/// A data folder with so many bytes of rows.
fn folder(config: &Config, data: f64) -> f64 {
    data + log_bytes(config) + BESIDE_ROWS_BYTES
}

/// Rows that the load creates, and their bytes.
fn loaded(plan: &Plan) -> (f64, f64) {
    let schemas = tables::of_plan(plan);
    let tables = schemas.iter().flat_map(|(_, tables)| tables);
    tables.fold((0.0, 0.0), |(rows, bytes), table| (rows + table.all_rows(), bytes + table.bytes()))
}

/// Seconds that one subject spends in one phase of one block.
fn turn((plan, index): (&Plan, usize), growth: &Growth, engine: &Engine) -> f64 {
    let phase = &plan.phases[index];
    let workload = &plan.workloads[phase.workload];
    let rounds = plan.blocks.first().map_or(0, |block| block.orders[index].len()) as f64;
    let drain = match phase.kind {
        PhaseKind::Settle => return phase.seconds + engine.drain_seconds,
        PhaseKind::Index => return growth.seconds[index],
        // See `runner`: slices of this design discard a start of their own.
        PhaseKind::Warmup if plan.experiment.design == Design::Interleaved => return 0.0,
        _ if workload.writes() => engine.drain_seconds,
        _ => 0.0,
    };
    if workload.ends_by_roles() {
        return growth.seconds[index] + drain;
    }
    let slice = phase.seconds + plan.experiment.warmup_seconds + drain + TURN_SECONDS;
    let stepping = phase.stepping_seconds().min(engine.stepping_seconds_max);
    let stepped = stepping + engine.beside_stepping_seconds;
    let before = match (plan.experiment.design, phase.kind) {
        (Design::Interleaved, _) => discarded((plan, index), engine) + stepped,
        (_, PhaseKind::Measure) => plan.experiment.warmup_seconds + stepped,
        _ => 0.0,
    };
    rounds * slice + before
}

/// Seconds of discarded work before the first round of an interleaved phase.
fn discarded((plan, index): (&Plan, usize), engine: &Engine) -> f64 {
    let writes = |phase: &Phase| plan.workloads[phase.workload].writes();
    let phase = &plan.phases[index];
    if writes(phase) {
        return phase.seconds / 2.0;
    }
    let schema = &plan.workloads[phase.workload].schema;
    let schemas = tables::of_plan(plan).into_iter();
    let tables = schemas.filter(|(one, _)| one.name == *schema).flat_map(|(_, tables)| tables);
    let rows: f64 = tables.map(|table| table.all_rows()).sum();
    let first = plan.phases.iter().position(|phase| !writes(phase)) == Some(index);
    let share = if first { 1.0 } else { 1.0 / 6.0 };
    let seconds = share * DISCARDED_PER_ROW * rows / engine.reads_per_second;
    seconds.clamp(phase.seconds, 40.0 * phase.seconds)
}

pub(crate) fn bytes_per_row(table: &Table) -> f64 {
    let indexes: usize = table.indexes.values().map(Vec::len).max().unwrap_or(0);
    let columns: usize = table.columns.iter().map(|column| bytes_of(&column.value)).sum();
    (columns + 24 + 16 * (indexes + 1)) as f64
}

fn bytes_of(value: &ColumnValue) -> usize {
    match value {
        ColumnValue::Drawn(Generator::Template { template }) => template.len(),
        ColumnValue::Drawn(Generator::Text { value }) => value.len(),
        ColumnValue::Drawn(Generator::Now | Generator::Timestamp { .. }) => 19,
        // Where a row is of an uncertain length, its longest one.
        ColumnValue::Drawn(Generator::Filler { high, .. }) => {
            high.evaluate(&Parameters::new()).map_or(8, |high| usize::try_from(high).unwrap_or(8))
        }
        ColumnValue::RowNumber | ColumnValue::Drawn(_) => 8,
    }
}

/// Largest size of rows and indexes of one subject, bytes.
pub(crate) fn largest_bytes(plan: &Plan) -> f64 {
    (loaded(plan).1 + growth(plan).peak_bytes) * PAGE_FILL
}

/// The caches that a configuration asks for: settings named after a pool of buffers or a cache of
/// pages.
pub(crate) fn cache_bytes(config: &Config) -> f64 {
    let caches = config.settings.iter().filter(|setting| {
        let name = setting.name.replace('-', "_");
        let ends = ["buffer_pool_size", "block_cache_size", "shared_buffers", "cache_size"];
        !name.starts_with("effective_") && ends.iter().any(|end| name.ends_with(end))
    });
    caches.map(|setting| size(&setting.value)).sum()
}

/// The log that a configuration asks for at the start; versions read one or the other of its
/// settings.
fn log_bytes(config: &Config) -> f64 {
    let logs = config.settings.iter().filter(|setting| {
        ["log_file_size", "log_capacity"].iter().any(|end| setting.name.ends_with(end))
    });
    logs.map(|setting| size(&setting.value)).fold(0.0, f64::max)
}

/// The log that a configuration lets grow between checkpoints, where it is not set aside at the
/// start.
fn kept_log_bytes(config: &Config) -> f64 {
    let logs = config.settings.iter().filter(|setting| setting.name == "max_wal_size");
    logs.map(|setting| size(&setting.value)).sum()
}

/// Bytes of `1G`, `512MB`, `4096`; a negative number counts KiB, as SQLite's does.
fn size(text: &str) -> f64 {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let Ok(number) = digits.trim().parse::<f64>() else { return 0.0 };
    if number < 0.0 {
        return -number * 1024.0;
    }
    let unit = text[digits.len()..].to_ascii_lowercase();
    let factor: f64 = match unit.chars().next() {
        Some('k') => 1024.0,
        Some('m') => 1024.0 * 1024.0,
        Some('g') => 1024.0 * 1024.0 * 1024.0,
        _ => 1.0,
    };
    number * factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_servers_ways() {
        assert_eq!(size("1G"), 1_073_741_824.0);
        assert_eq!(size("512MB"), 536_870_912.0);
        assert_eq!(size("-1048576"), 1_073_741_824.0);
        assert_eq!(size("8192"), 8192.0);
        assert_eq!(size("O_DIRECT"), 0.0);
        assert_eq!(size(""), 0.0);
    }
}
