//! What a plan will cost: rough on purpose, good to a factor of two, and the same on every host.
//!
//! - A row takes its columns, 24 bytes of head and 16 bytes per index entry, a quarter more for
//!   pages that are not full; the sbtest row is 250 bytes before that quarter.
//! - Loading takes a second per 80,000 rows. It happens once per subject and load, and so do an
//!   initialization, a start that tries the statements, and the start that loads.
//! - A fresh start takes 2 seconds and the time to copy the folder, its log included, at 300 MB/s.
//!   It starts twice: instructions are counted on a copy of its own under emulation, which takes
//!   8 seconds more. Where they are not, [`seconds`] says what is left.
//! - How long slices are, what is discarded before them and what follows is in
//!   [`model::schedule`], whose steps are added up here. Thawing takes 0.1 seconds, a drain two,
//!   and a connection of a phase 0.01.
//! - Two subjects start, warm up and stop at the same time.
//! - A base reads 8,000 operations per second, which tells how many are discarded.
//! - An embedded engine starts at once, drains nothing, reads faster and is counted sooner.
//! - The instructions of a measured phase are counted for four slices, of 2 to 8 seconds, and the
//!   server is warmed up for six before, as on a host without hardware counters. Of phases that
//!   differ in their clients alone, one is counted for all.
//! - What a phase takes whose roles or indexes say when it ends, and the rows that it leaves, is in
//!   `growth`.
//! - A subject keeps a template per load and one copy, each with its log, where the configuration
//!   sizes it, and 200 MB beside the rows. In the classic design only one subject has its copy.
//! - A server takes its caches, as far as they fill, and 200 MB. Interleaved servers are up
//!   together.
//! - A server that is there already takes nothing of this host. It is loaded anew in each block, is
//!   not copied, and does not run under emulation.

use crate::{
    Versions,
    growth::{Growth, growth},
};
use model::{
    plan::{Estimate, Phase, Plan},
    schedule::{self, After, Length, Step},
    schema::{ColumnValue, Table},
    size,
    subject::{Config, Subject},
};
use std::collections::BTreeSet;

const LOAD_ROWS_PER_SECOND: f64 = 80_000.0;
/// Of a subject, around its load: it is initialized, tried and filled.
const LOAD_STARTS: f64 = 3.0;
const COPY_BYTES_PER_SECOND: f64 = 300e6;
const THAW_SECONDS: f64 = 0.1;
/// A connection of a phase, from its start to its prepared statements.
const CONNECT_SECONDS: f64 = 0.01;
const BESIDE_ROWS_BYTES: f64 = 200e6;
const SERVER_BYTES: f64 = 200e6;
const MIB: f64 = 1_048_576.0;
const PAGE_FILL: f64 = 1.25;
/// Subjects that start, warm up or stop at the same time: as many as a small host has processors.
const AT_ONCE: usize = 2;

/// What depends on where the engine runs.
struct Engine {
    start_seconds: f64,
    /// Copies that a block starts.
    copies: f64,
    /// What the start of the second one takes longer.
    emulated_start_seconds: f64,
    drain_seconds: f64,
    reads_per_second: f64,
    /// The longest that a phase is counted, seconds.
    counting_seconds_max: f64,
    before_counting_seconds: f64,
}

const SERVER: Engine = Engine {
    start_seconds: 2.0,
    copies: 2.0,
    emulated_start_seconds: 8.0,
    drain_seconds: 2.0,
    reads_per_second: 8_000.0,
    counting_seconds_max: f64::INFINITY,
    before_counting_seconds: 6.0,
};

/// An operation that changes rows, on one connection.
const AGING_SECONDS: f64 = 100e-6;

/// An engine inside the driver.
const EMBEDDED: Engine = Engine {
    start_seconds: 0.2,
    copies: 1.0,
    emulated_start_seconds: 0.5,
    drain_seconds: 0.0,
    reads_per_second: 30_000.0,
    counting_seconds_max: 0.5,
    before_counting_seconds: 0.4,
};

/// Whether a run counts instructions under emulation, for which each subject has another start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulation {
    /// It does.
    With,
    /// It counts them otherwise, or not at all.
    Without,
}

/// Wall time of a plan without installation, seconds.
pub fn seconds(plan: &Plan, versions: &dyn Versions, emulation: Emulation) -> f64 {
    let (rows, row_bytes) = loaded(plan);
    let growth = growth(plan);
    let loads = f64::from(plan.experiment.loads);
    let engine = |subject: &Subject| match versions.is_embedded(&subject.build.server) {
        true => &EMBEDDED,
        false => &SERVER,
    };
    let engines: Vec<&Engine> = plan.subjects.iter().map(engine).collect();
    let load = |engine: &Engine| rows / LOAD_ROWS_PER_SECOND + LOAD_STARTS * engine.start_seconds;
    let aged = plan.phases.iter().filter(|phase| phase.is_aged());
    let aging = plan.experiment.age * rows * aged.count() as f64 * AGING_SECONDS;
    let of_subject = |(subject, &engine): (&Subject, &&Engine)| {
        let loads = if is_attached(subject) { plan.blocks.len() as f64 } else { loads };
        loads * (load(engine) + aging)
    };
    let loading: f64 = plan.subjects.iter().zip(&engines).map(of_subject).sum();
    let reads = engines.first().map_or(0.0, |base| base.reads_per_second);
    let operations: Vec<u64> =
        plan.phases.iter().map(|phase| (reads * phase.seconds) as u64).collect();
    let data = row_bytes * PAGE_FILL;
    let counted = counted(plan);
    let costs = Costs { plan, growth: &growth, engines: &engines, data, emulation, counted };
    let steps = |block| schedule::steps(plan, block, &operations, &BTreeSet::new());
    let blocks = plan.blocks.iter().map(steps);
    (loading + blocks.map(|steps| costs.of_block(&steps)).sum::<f64>()).round()
}

/// The cost of a plan whose other parts are complete.
pub(crate) fn estimate(plan: &Plan, versions: &dyn Versions) -> Estimate {
    let growth = growth(plan);
    let data = loaded(plan).1 * PAGE_FILL;
    let peak = data + growth.peak_bytes * PAGE_FILL;
    let loads = f64::from(plan.experiment.loads);
    let memory = |subject: &Subject| SERVER_BYTES + cache_bytes(&subject.config).min(2.0 * peak);
    let own: Vec<&Subject> = plan.subjects.iter().filter(|one| !is_attached(one)).collect();
    let templates: f64 = own.iter().map(|one| folder(&one.config, data)).sum();
    let copy = |subject: &Subject| {
        folder(&subject.config, peak) + kept_log_bytes(&subject.config).min(growth.log_bytes)
    };
    // Of the servers that are up at the same time: the largest ones.
    let largest = |of: &dyn Fn(&Subject) -> f64, servers: usize| -> f64 {
        let mut all: Vec<f64> = own.iter().copied().map(of).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all.iter().take(servers).sum()
    };
    let up = plan.experiment.up(plan.subjects.len());
    Estimate {
        seconds: seconds(plan, versions, Emulation::With),
        disk_bytes: (loads * templates + largest(&copy, up)).round() as u64,
        folder_bytes: largest(&copy, 1).round() as u64,
        memory_bytes: largest(&memory, up).round() as u64,
    }
}

/// Whether the server is there already.
fn is_attached(subject: &Subject) -> bool {
    subject.build.attach.is_some()
}

/// A data folder with so many bytes of rows.
fn folder(config: &Config, data: f64) -> f64 {
    data + log_bytes(config) + BESIDE_ROWS_BYTES
}

/// Rows that the load creates, and their bytes.
fn loaded(plan: &Plan) -> (f64, f64) {
    let tables = plan.schemas.iter().flat_map(|schema| &schema.tables);
    tables.fold((0.0, 0.0), |(rows, bytes), table| {
        (rows + table.all_rows(), bytes + table.all_rows() * bytes_per_row(table))
    })
}

/// What the steps of a plan take.
struct Costs<'a> {
    plan: &'a Plan,
    growth: &'a Growth,
    /// Of each subject.
    engines: &'a [&'a Engine],
    /// Bytes of the loaded rows.
    data: f64,
    emulation: Emulation,
    /// The share of blocks in which each phase is counted.
    counted: Vec<f64>,
}

fn counted(plan: &Plan) -> Vec<f64> {
    let alike = |phase: &Phase| {
        1 + plan.phases.iter().filter(|other| phase.differs_in_clients(other)).count()
    };
    plan.phases.iter().map(|phase| 1.0 / alike(phase) as f64).collect()
}

impl Costs<'_> {
    fn of_block(&self, steps: &[Step]) -> f64 {
        let groups = steps.chunk_by(Step::goes_beside).map(|group| {
            let at_once = group.len().min(AT_ONCE) as f64;
            group.iter().map(|step| self.seconds(step)).sum::<f64>() / at_once
        });
        groups.sum()
    }

    fn seconds(&self, step: &Step) -> f64 {
        let Some(subject) = step.subject() else { return 0.0 };
        let (about, engine) = (&self.plan.subjects[subject], self.engines[subject]);
        let emulation = if is_attached(about) { Emulation::Without } else { self.emulation };
        match step {
            Step::Start(_) => {
                let once = engine.start_seconds + self.copy_seconds(about);
                match emulation {
                    Emulation::With => engine.copies * once + engine.emulated_start_seconds,
                    Emulation::Without => once,
                }
            }
            Step::Settle { phase, .. } => self.plan.phases[*phase].seconds + engine.drain_seconds,
            Step::Intrusive(_) if emulation == Emulation::Without => 0.0,
            Step::Intrusive(stretch) => {
                let phase = &self.plan.phases[stretch.phase];
                let once = phase.counting_seconds().min(engine.counting_seconds_max)
                    + engine.before_counting_seconds;
                once * self.counted[stretch.phase]
            }
            Step::Discard(slice) | Step::Slice(slice) => {
                let drain = match slice.after {
                    After::Drain => engine.drain_seconds,
                    After::Freeze => 0.0,
                };
                // The first slice of a phase is a discarded one.
                let connections = match step {
                    Step::Discard(_) => self.plan.phases[slice.phase].script.connections(),
                    _ => 0,
                };
                let warmup = self.length(slice.phase, slice.warmup);
                let executed = warmup + self.length(slice.phase, Some(slice.length));
                CONNECT_SECONDS * f64::from(connections) + THAW_SECONDS + executed + drain
            }
            Step::Ready | Step::Warm(_) | Step::Prepare(_) | Step::End(_) => 0.0,
        }
    }

    /// The rows and the log that is set aside.
    fn copy_seconds(&self, subject: &Subject) -> f64 {
        match is_attached(subject) {
            true => 0.0,
            false => (self.data + log_bytes(&subject.config)) / COPY_BYTES_PER_SECOND,
        }
    }

    fn length(&self, phase: usize, length: Option<Length>) -> f64 {
        match length {
            None => 0.0,
            Some(Length::Whole(piece)) => self.growth.seconds[phase] / piece.of.max(1) as f64,
            Some(length) => length.seconds(&self.plan.phases[phase]).unwrap_or(0.0),
        }
    }
}

pub(crate) fn bytes_per_row(table: &Table) -> f64 {
    let indexes: usize = table.indexes.values().map(Vec::len).max().unwrap_or(0);
    let columns: u64 = table.columns.iter().map(|column| bytes_of(&column.value)).sum();
    let coded = table.coded.as_ref().map_or(0.0, |rows| rows.bytes as f64);
    coded + (columns + 24 + 16 * (indexes as u64 + 1)) as f64
}

/// Bytes of a value; where they vary, of the longest.
fn bytes_of(value: &ColumnValue) -> u64 {
    match value {
        ColumnValue::Drawn(generator) => generator.bytes().most,
        ColumnValue::RowNumber | ColumnValue::Counted { .. } => 8,
    }
}

/// Largest size of rows and indexes of one subject, bytes.
pub(crate) fn largest_bytes(plan: &Plan) -> f64 {
    (loaded(plan).1 + growth(plan).peak_bytes) * PAGE_FILL
}

/// The page caches of a configuration, bytes.
pub(crate) fn cache_bytes(config: &Config) -> f64 {
    let settings = config.settings.iter();
    let settings =
        settings.map(|setting| (setting.name.replace('-', "_"), setting.value.clone())).collect();
    model::cache_bytes(&settings).unwrap_or(0.0)
}

/// The log that a configuration asks for at the start; versions read one or the other of its
/// settings.
fn log_bytes(config: &Config) -> f64 {
    let logs = config.settings.iter().filter(|setting| {
        ["log_file_size", "log_capacity"].iter().any(|end| setting.name.ends_with(end))
    });
    logs.filter_map(|setting| size::bytes(&setting.value, 1.0)).fold(0.0, f64::max)
}

/// The log that a configuration lets grow between checkpoints, where it is not set aside at the
/// start; Postgres counts it in MiB.
fn kept_log_bytes(config: &Config) -> f64 {
    let logs = config.settings.iter().filter(|setting| setting.name == "max_wal_size");
    logs.filter_map(|setting| size::bytes(&setting.value, MIB)).sum()
}
