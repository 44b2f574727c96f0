//! Which keys make rows and columns, and which others differ unnoticed.

use model::measurement::Measurement;
use std::collections::{BTreeMap, BTreeSet};

/// Names of all keys but the factors; those are `level.<factor>`.
const KEYS: [&str; 8] =
    ["experiment", "subject", "phase", "workload", "group", "position", "range", "clients"];

/// Keys of the rows and of the columns of a table.
///
/// Runs, blocks and rounds are replicates of one cell, never keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    /// Keys of the rows, e.g. `phase`.
    pub rows: Vec<String>,
    /// Keys of the columns, e.g. `subject` or `level.build`.
    pub columns: Vec<String>,
}

/// A key that differs inside a cell although no row and no column tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// The values that were put together, in their order.
    pub values: Vec<String>,
}

impl Projection {
    /// A projection onto rows and columns.
    pub fn new(rows: &[&str], columns: &[&str]) -> Self {
        let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        Self { rows: owned(rows), columns: owned(columns) }
    }

    /// The row of a measurement: one value per key, empty where it has none.
    pub fn row(&self, measurement: &Measurement) -> Vec<String> {
        self.rows.iter().map(|key| value(measurement, key)).collect()
    }

    /// The column of a measurement.
    pub fn column(&self, measurement: &Measurement) -> Vec<String> {
        self.columns.iter().map(|key| value(measurement, key)).collect()
    }

    /// Keys that are in no row and no column and yet differ inside a cell.
    pub fn residue(&self, measurements: &[Measurement]) -> Vec<Difference> {
        let mut cells: BTreeMap<_, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for measurement in measurements {
            let cell = (self.row(measurement), self.column(measurement));
            let seen = cells.entry(cell).or_default();
            for key in self.other_keys(measurement) {
                let value = value(measurement, &key);
                seen.entry(key).or_default().insert(value);
            }
        }
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (key, values) in cells.into_values().flatten().filter(|(_, v)| v.len() > 1) {
            found.entry(key).or_default().extend(values);
        }
        let difference = |(key, values): (String, BTreeSet<String>)| Difference {
            key,
            values: values.into_iter().collect(),
        };
        found.into_iter().map(difference).collect()
    }

    fn other_keys(&self, measurement: &Measurement) -> Vec<String> {
        let fixed = KEYS.iter().map(|key| (*key).to_owned());
        let levels = measurement.levels.keys().map(|factor| format!("level.{factor}"));
        let told = |key: &String| self.rows.contains(key) || self.columns.contains(key);
        fixed.chain(levels).filter(|key| !told(key)).collect()
    }
}

fn value(measurement: &Measurement, key: &str) -> String {
    match key {
        "experiment" => measurement.experiment.clone(),
        "subject" => measurement.subject.clone(),
        "phase" => measurement.phase.clone(),
        "workload" => measurement.workload.clone(),
        "group" => measurement.group.clone(),
        "position" => measurement.position.to_string(),
        "range" => measurement.range.map(|range| range.to_string()).unwrap_or_default(),
        "clients" => measurement.clients.to_string(),
        other => {
            let factor = other.strip_prefix("level.").unwrap_or(other);
            measurement.levels.get(factor).cloned().unwrap_or_default()
        }
    }
}
