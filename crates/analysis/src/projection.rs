//! Which keys make rows and columns, and which others differ unnoticed.

use model::measurement::Measurement;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
};

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
        self.rows.iter().map(|key| value(measurement, key).into_owned()).collect()
    }

    /// The column of a measurement.
    pub fn column(&self, measurement: &Measurement) -> Vec<String> {
        self.columns.iter().map(|key| value(measurement, key).into_owned()).collect()
    }

    /// Keys that are in no row and no column and yet differ inside a cell.
    pub fn residue(&self, measurements: &[Measurement]) -> Vec<Difference> {
        let mut cells: HashMap<Vec<Cow<'_, str>>, Vec<&Measurement>> = HashMap::new();
        for measurement in measurements {
            let keys = self.rows.iter().chain(&self.columns);
            let cell = keys.map(|key| value(measurement, key)).collect();
            cells.entry(cell).or_default().push(measurement);
        }
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        // Most cells hold measurements with equal keys, of which no key has to be looked at.
        let mixed = cells.into_values().filter(|cell| cell.windows(2).any(|m| !alike(m[0], m[1])));
        for cell in mixed {
            let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for measurement in cell {
                for key in self.other_keys(measurement) {
                    let value = value(measurement, &key).into_owned();
                    seen.entry(key).or_default().insert(value);
                }
            }
            for (key, values) in seen.into_iter().filter(|(_, values)| values.len() > 1) {
                found.entry(key).or_default().extend(values);
            }
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

/// Whether all keys of two measurements are equal.
fn alike(a: &Measurement, b: &Measurement) -> bool {
    a.position == b.position
        && a.range == b.range
        && a.clients == b.clients
        && a.subject == b.subject
        && a.phase == b.phase
        && a.workload == b.workload
        && a.group == b.group
        && a.experiment == b.experiment
        && a.levels == b.levels
}

fn value<'a>(measurement: &'a Measurement, key: &str) -> Cow<'a, str> {
    match key {
        "experiment" => Cow::Borrowed(&measurement.experiment),
        "subject" => Cow::Borrowed(&measurement.subject),
        "phase" => Cow::Borrowed(&measurement.phase),
        "workload" => Cow::Borrowed(&measurement.workload),
        "group" => Cow::Borrowed(&measurement.group),
        "position" => Cow::Owned(measurement.position.to_string()),
        "range" => Cow::Owned(measurement.range.map(|range| range.to_string()).unwrap_or_default()),
        "clients" if measurement.clients == 0 => Cow::Borrowed("unknown"),
        "clients" => Cow::Owned(measurement.clients.to_string()),
        other => {
            let factor = other.strip_prefix("level.").unwrap_or(other);
            Cow::Borrowed(measurement.levels.get(factor).map_or("", String::as_str))
        }
    }
}
