//! What will happen, fully resolved, hashed and in order.

use crate::{
    Levels, Parameters, experiment::Experiment, number::counted, schema::Schema, script::Script,
    subject::Subject, workload::Arrival, workload::Mode,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the plan's format. Format 1 had workloads with expressions in place of scripts.
pub const PLAN_FORMAT: u32 = 2;

/// A resolved experiment: everything that a run needs, and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this format.
    pub format: u32,
    /// SHA-256, in hexadecimal, of the plan with this field and the experiment's text empty.
    pub hash: String,
    /// The question and its design.
    pub experiment: Experiment,
    /// The compared systems.
    pub subjects: Vec<Subject>,
    /// Labels of the base: one subject for each combination of the factors outside the baseline's.
    pub base: Vec<String>,
    /// The schemas that the phases use.
    pub schemas: Vec<Schema>,
    /// The phases in order; every subject goes through all of them.
    pub phases: Vec<Phase>,
    /// The blocks in order.
    pub blocks: Vec<Block>,
    /// What it will cost.
    pub estimate: Estimate,
}

impl Plan {
    /// Rows of the table that a phase works on: as loaded, or as the experiment says where phases
    /// fill it. None where the tables of its schema differ, because nobody knows which of them it
    /// works on.
    pub fn table_rows(&self, phase: &Phase) -> Option<u64> {
        let own = self.schemas.iter().filter(|schema| schema.name == phase.script.schema);
        let mut loaded = own.flat_map(|schema| &schema.tables).map(|table| table.rows);
        let first = loaded.next().unwrap_or(0);
        if loaded.any(|other| other != first) {
            return None;
        }
        match first {
            0 => Some(phase.number("rows").unwrap_or(self.experiment.rows)),
            rows => Some(rows),
        }
    }

    /// What readers must know of phases whose range is larger than a table, if there are such.
    pub fn wide_ranges(&self) -> Option<String> {
        let wide = |phase: &Phase| {
            let rows = self.table_rows(phase)?;
            let range = phase.number("range").filter(|range| *range > rows)?;
            Some((phase.name.clone(), range, rows))
        };
        let measured = self.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        let mut wide = measured.filter_map(wide);
        let (name, range, rows) = wide.next()?;
        let more = match wide.count() {
            0 => String::new(),
            others => format!(", and so do those of {}", counted(others, "other phase")),
        };
        Some(format!(
            "`{name}` asks for ranges of {range} and a table has {}: its operations find \
             fewer{more}.",
            counted(rows, "row")
        ))
    }

    /// The extension that the tables need of servers of a dialect, if there is one.
    pub fn extension(&self, dialect: &str) -> Option<String> {
        self.schemas.iter().find_map(|schema| schema.extension.get(dialect).cloned())
    }

    /// The label of what a subject is compared with; none for a base. It has the same levels of
    /// the factors that the baseline leaves open, where there is such a base.
    pub fn base_of(&self, subject: &Subject) -> Option<&str> {
        if self.base.contains(&subject.label) {
            return None;
        }
        let same_elsewhere = |base: &&Subject| {
            let fixed = &self.experiment.baseline;
            let mut open =
                base.levels.iter().filter(|(name, _)| !fixed.contains_key(name.as_str()));
            open.all(|(name, level)| subject.levels.get(name) == Some(level))
        };
        let mut bases = self.subjects.iter().filter(|one| self.base.contains(&one.label));
        let matching = bases.clone().find(same_elsewhere).or_else(|| bases.next());
        matching.map(|base| base.label.as_str())
    }
}

/// One measured phase: a workload with its parameters, in one cell of the factors that need no
/// restart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Unique name in the plan: workload, `.pre` or a range where the suite says so, clients if
    /// several.
    pub name: String,
    /// What each slice executes; of a settle or index phase only its schema counts.
    pub script: Script,
    /// Report group.
    pub group: String,
    /// Published range of the row, if the suite has one.
    pub range: Option<u64>,
    /// Clients: the factor's level, or the suite's rule. Their connections are
    /// [`Script::connections`].
    pub clients: u32,
    /// The values that the script was made of: the workload's defaults, the suite's and the
    /// experiment's over them.
    pub parameters: Parameters,
    /// Closed or open loop.
    pub arrival: Arrival,
    /// How all statements travel; as each says itself, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Length: seconds of the slice on the base (interleaved) or of the step (classic). Where the
    /// roles of the workload say when it ends, the length that they aim at, or 0 if that depends on
    /// the server.
    pub seconds: f64,
    /// Measured, warm-up or maintenance.
    pub kind: PhaseKind,
    /// Levels of the factors that need no restart.
    pub levels: Levels,
    /// How long a settle phase waits; absent for others, and in plans from before there was a rule.
    #[serde(default)]
    pub settle: Option<Settle>,
}

impl Phase {
    /// A parameter that is a number of things.
    fn number(&self, name: &str) -> Option<u64> {
        self.parameters.get(name).and_then(|value| u64::try_from(*value).ok())
    }

    /// Whether tables that are aged are aged by it.
    pub fn is_aged(&self) -> bool {
        self.kind == PhaseKind::Measure && self.script.changes_in_place()
    }

    /// Whether another phase differs from it in nothing but the number of its clients.
    pub fn differs_in_clients(&self, other: &Self) -> bool {
        let (own, others) = (&self.script, &other.script);
        // Most phases differ in these already.
        let is_near = own.workload == others.workload && self.range == other.range;
        is_near
            && self.clients != other.clients
            && self.mode == other.mode
            && own.of_one_client() == others.of_one_client()
    }

    /// Seconds that counting its instructions outside its slices may take on each subject in each
    /// block, about: as many as four of its slices, from 2 to 8, so that a short run stays short.
    pub fn counting_seconds(&self) -> f64 {
        (4.0 * self.seconds).clamp(2.0, 8.0)
    }
}

/// Minimum and maximum length of a settle phase, counted from its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// Minimum wait, even if all background work is done earlier, seconds.
    pub floor_seconds: f64,
    /// Maximum wait, even if background work is pending, seconds; at least the minimum.
    pub ceiling_seconds: f64,
    /// The server products that do it; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// A row of the tables.
    #[default]
    Measure,
    /// Runs, and is not reported.
    Warmup,
    /// The server finishes pending background work: flush, compaction, vacuum.
    Settle,
    /// Creates the secondary indexes that the load left out; a row of the tables.
    Index,
}

impl PhaseKind {
    /// Whether a workload's statements are executed in it.
    pub fn has_statements(self) -> bool {
        matches!(self, Self::Measure | Self::Warmup)
    }
}

/// One fresh start of every subject: the unit of inference and of resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// From 0.
    pub index: u32,
    /// Which load's template the data folders are copied from.
    pub load: u32,
    /// Order in which subjects start: indexes into [`Plan::subjects`].
    pub start_order: Vec<usize>,
    /// For each phase, for each round, the order of the subjects.
    pub orders: Vec<Vec<Vec<usize>>>,
    /// Seed of the block's random streams.
    pub seed: u64,
}

/// What a plan will cost on this host.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// Wall time without installation, seconds.
    pub seconds: f64,
    /// Largest disk use, bytes.
    pub disk_bytes: u64,
    /// Of it, the largest data folder of one subject; 0 in plans from before it was known.
    #[serde(default)]
    pub folder_bytes: u64,
    /// Largest memory use of all servers together, bytes.
    pub memory_bytes: u64,
}

impl Estimate {
    /// Bytes on the disk where no more than so many data folders are there at a time.
    pub fn of_folders(&self, folders: u64) -> u64 {
        match self.folder_bytes {
            0 => self.disk_bytes,
            each => self.disk_bytes.min(each.saturating_mul(folders)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Table;

    #[test]
    fn ranges_are_as_wide_as_the_table_that_was_loaded() {
        let check = |sizes: &[u64], expected: &str| {
            let table = |rows: &u64| Table { rows: *rows, copies: 1, ..Table::default() };
            let tables = sizes.iter().map(table).collect();
            let schema = Schema { name: "s".to_owned(), tables, ..Schema::default() };
            let parameters = [("rows", 1000_i64), ("range", 50)];
            let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
            let script = Script { schema: "s".to_owned(), ..Script::default() };
            let phase = Phase { name: "r".to_owned(), script, parameters, ..Phase::default() };
            let plan = Plan { schemas: vec![schema], phases: vec![phase], ..Plan::default() };
            assert!(plan.wide_ranges().unwrap_or_default().contains(expected), "{sizes:?}");
            plan.wide_ranges().is_some()
        };
        assert!(check(&[20], "asks for ranges of 50 and a table has 20 rows"));
        assert!(!check(&[60], ""));
        // A phase fills it with as many as there are to be.
        assert!(!check(&[0], ""));
        // Nobody knows which of them is read.
        assert!(!check(&[20, 60], ""));
    }

    #[test]
    fn few_folders_need_less_than_a_run() {
        let of = |folder_bytes, folders| {
            let estimate =
                Estimate { seconds: 1.0, disk_bytes: 100, folder_bytes, memory_bytes: 1 };
            estimate.of_folders(folders)
        };
        assert_eq!((of(20, 1), of(20, 4), of(20, 9)), (20, 80, 100));
        assert_eq!(of(0, 1), 100, "a plan that does not tell");
    }
}
