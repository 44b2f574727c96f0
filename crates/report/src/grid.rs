//! A comparison projected onto rows and columns: what the table, the charts and the data show.

mod value;

use crate::words;
use analysis::{Cell, Comparison, PhaseResult, Verdict};
use model::{grouped, margins::Margins, mark::Mark, metric::Metric};
use std::collections::{BTreeMap, BTreeSet};

/// Keys of rows and columns that every comparison has; the factors are keys too.
pub const KEYS: [&str; 6] = ["phase", "workload", "group", "range", "clients", "variant"];

/// Values of several metrics under rows and columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grid {
    /// Keys of the rows.
    pub row_keys: Vec<String>,
    /// Keys of the columns.
    pub column_keys: Vec<String>,
    /// The metrics.
    pub metrics: Vec<&'static Metric>,
    /// The columns in order.
    pub columns: Vec<Column>,
    /// The rows in order.
    pub rows: Vec<Row>,
    /// Values by metric, row and column.
    pub values: Vec<Vec<Vec<Value>>>,
    /// What all values of a metric are marked with, by metric: their notes do not repeat it.
    pub common: Vec<Vec<String>>,
    /// Keys that differ within cells although neither rows nor columns tell them.
    pub residue: Vec<String>,
    /// Range and clients of the rows that say nothing else, in words; empty if there are none.
    pub shared: String,
    /// From which change on the metrics matter.
    pub margins: Margins,
}

/// The columns that are compared with one base, and the rows that have any of their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// Label of the base; empty if columns of several bases cannot be told apart.
    pub base: String,
    /// Indexes of the columns.
    pub columns: Vec<usize>,
    /// Indexes of the rows.
    pub rows: Vec<usize>,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// Values of the keys, joined.
    pub title: String,
    /// Values of the keys.
    pub keys: Vec<String>,
    /// Whether it holds nothing but bases.
    pub is_base: bool,
    /// What its cells are compared with, or the base itself; empty if they have several.
    pub base: String,
    /// The label of the variant if the title shortens it; else empty.
    pub label: String,
}

/// A row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Values of the keys, joined.
    pub title: String,
    /// Values of the keys.
    pub keys: Vec<String>,
    /// Report group, where all of the row's phases have the same.
    pub group: String,
    /// Range and clients, where they are no keys and differ from what rows share.
    pub note: String,
    /// Range and clients, where they are no keys.
    keys_told: Told,
}

/// What a row's note may tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Told {
    range: Option<u64>,
    /// Connections; none if they are a key or unknown.
    clients: Option<u32>,
}

/// What stands under a row and a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Value {
    /// Value in the metric's unit; the geometric mean if there are several.
    pub value: Option<f64>,
    /// Relative to the base.
    pub ratio: Option<f64>,
    /// Ends of the interval of confidence of the ratio.
    pub interval: Option<(f64, f64)>,
    /// The verdict; none without any, and for a mean of several cells unless nothing is decided.
    pub verdict: Option<Verdict>,
    /// Cells behind it.
    pub cells: usize,
    /// Why there is no value or no ratio, or how far it may be trusted.
    pub note: String,
    /// What kind of cell it is.
    pub kind: Kind,
}

/// Kinds of cells that readers must be able to tell apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// The base itself: an absolute value.
    Base,
    /// Compared with its base.
    Ratio,
    /// Something broke.
    Failed,
    /// There is a value and no base for it.
    Invalid,
    /// A set rate was not kept, so the value is of less work than was asked for.
    Missed,
    /// Nothing was measured.
    #[default]
    Missing,
}

impl Value {
    /// Whether there is anything to show: a value, a ratio, or that it failed.
    pub fn is_known(&self) -> bool {
        self.value.is_some() || self.ratio.is_some() || self.kind == Kind::Failed
    }

    /// The word of the verdict that the page's script reads: `mean` for several cells.
    pub(crate) fn verdict_word(&self) -> &'static str {
        match self.verdict {
            Some(verdict) => verdict.name(),
            None if self.cells > 0 => "mean",
            None => "",
        }
    }
}

impl Kind {
    /// The word that the page's script reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Ratio => "ratio",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::Missed => "missed",
            Self::Missing => "missing",
        }
    }
}

/// The keys that rows and columns of these comparisons may have.
pub(crate) fn known_keys(comparisons: &[Comparison]) -> Vec<String> {
    let fixed = KEYS.iter().map(|key| (*key).to_owned());
    let others = factors(comparisons).into_iter().filter(|name| !KEYS.contains(&name.as_str()));
    fixed.chain(others).collect()
}

/// The factors that any cell has a level of, in order of their names.
pub(crate) fn factors(comparisons: &[Comparison]) -> Vec<String> {
    let phases = comparisons.iter().flat_map(|comparison| &comparison.phases);
    let mut names: BTreeSet<&String> = BTreeSet::new();
    for cell in phases.flat_map(|phase| &phase.cells) {
        // Not collected: that would sort the keys of all cells.
        names.extend(cell.factors.keys());
    }
    names.into_iter().cloned().collect()
}

/// A phase and one of its cells.
type Located<'a> = (&'a PhaseResult, &'a Cell);

/// Cells by metric, row and column, as indexes.
type Buckets<'a> = BTreeMap<(usize, usize, usize), Vec<Located<'a>>>;

impl Grid {
    /// The grid of a comparison with these keys for rows and columns; all metrics that it has.
    pub fn of(comparison: &Comparison, rows: &[String], columns: &[String]) -> Self {
        let or = |keys: &[String], usual: &str| match keys {
            [] => vec![usual.to_owned()],
            keys => keys.to_vec(),
        };
        let mut grid = Self {
            row_keys: or(rows, "phase"),
            column_keys: or(columns, "variant"),
            metrics: metrics(comparison),
            margins: comparison.margins.clone(),
            ..Self::default()
        };
        let buckets = grid.sort_in(comparison);
        for metric in 0..grid.metrics.len() {
            let own = buckets.range((metric, 0, 0)..(metric + 1, 0, 0));
            let cells = own.flat_map(|(_, cells)| cells).map(|(_, cell)| *cell);
            let said = value::common(cells);
            let plane = grid.plane(metric, &buckets, &said);
            grid.values.push(plane);
            grid.common.push(said.into_iter().map(Mark::to_string).collect());
        }
        for (index, column) in grid.columns.iter_mut().enumerate() {
            let own = buckets.iter().filter(|((_, _, c), _)| *c == index);
            let cells: Vec<&Cell> =
                own.flat_map(|(_, cells)| cells).map(|(_, cell)| *cell).collect();
            column.is_base = cells.iter().all(|cell| cell.base.is_none());
            let base = |cell: &&Cell| cell.base.as_ref().unwrap_or(&cell.subject).to_string();
            let bases: BTreeSet<String> = cells.iter().map(base).collect();
            column.base = match bases.len() {
                1 => bases.into_iter().next().unwrap_or_default(),
                _ => String::new(),
            };
        }
        grid.residue = grid.residue(&buckets);
        grid.share_notes();
        grid
    }

    /// Columns of a part but its base, which may be a variant of another part.
    pub(crate) fn variants<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = usize> + 'a {
        part.columns.iter().copied().filter(|index| !self.columns[*index].is_base)
    }

    /// The heading of what is compared with one base.
    pub(crate) fn compared_with(&self, part: &Part) -> String {
        let count = self.variants(part).count();
        format!("Compared with `{}`: {}", part.base, words::variants(count))
    }

    /// The columns by base, in the order of the bases; one part if columns have several bases.
    pub fn parts(&self) -> Vec<Part> {
        let mixed = self.columns.iter().any(|column| column.base.is_empty());
        let base = |column: &Column| if mixed { String::new() } else { column.base.clone() };
        let columns = self.columns.iter().enumerate();
        let bases = grouped(columns.map(|(index, column)| (base(column), index))).into_iter();
        let mut parts: Vec<Part> =
            bases.map(|(base, columns)| Part { base, columns, rows: Vec::new() }).collect();
        let several = parts.len() > 1;
        for part in &mut parts {
            let empty = |value: &Value| value.kind == Kind::Missing && value.value.is_none();
            let has = |row: &usize| {
                let own = || part.columns.iter().map(|column| (*row, *column));
                self.values.iter().any(|plane| own().any(|(r, c)| !empty(&plane[r][c])))
            };
            part.rows = (0..self.rows.len()).filter(|row| !several || has(row)).collect();
            // The base comes first, wherever the plan has it.
            part.columns.sort_by_key(|column| !self.columns[*column].is_base);
        }
        parts
    }

    /// A part as a grid of its own.
    pub fn part(&self, part: &Part) -> Self {
        let line = |line: &Vec<Value>| part.columns.iter().map(|c| line[*c].clone()).collect();
        let plane = |plane: &Vec<Vec<Value>>| part.rows.iter().map(|r| line(&plane[*r])).collect();
        Self {
            columns: part.columns.iter().map(|index| self.columns[*index].clone()).collect(),
            rows: part.rows.iter().map(|index| self.rows[*index].clone()).collect(),
            values: self.values.iter().map(plane).collect(),
            ..self.clone_heads()
        }
    }

    /// Everything but columns, rows and values.
    fn clone_heads(&self) -> Self {
        Self {
            row_keys: self.row_keys.clone(),
            column_keys: self.column_keys.clone(),
            metrics: self.metrics.clone(),
            common: self.common.clone(),
            residue: self.residue.clone(),
            shared: self.shared.clone(),
            margins: self.margins.clone(),
            ..Self::default()
        }
    }

    /// Says once what most rows have, and in the others what they have instead.
    fn share_notes(&mut self) {
        let most = |told: &dyn Fn(&Told) -> Option<u64>| {
            let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
            for value in self.rows.iter().filter_map(|row| told(&row.keys_told)) {
                *counts.entry(value).or_default() += 1;
            }
            let (value, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
            (count > 1 && 2 * count >= self.rows.len()).then_some(value)
        };
        let range = most(&|told| told.range);
        let clients = most(&|told| told.clients.map(u64::from));
        for row in &mut self.rows {
            let told = &row.keys_told;
            // A name that ends with the range tells it already.
            let named = |value: &u64| row.title.ends_with(&format!("range{value}"));
            let own = told.range.filter(|own| Some(*own) != range && !named(own));
            let count = told.clients.filter(|own| Some(u64::from(*own)) != clients);
            let parts = [own.map(|own| format!("range {own}")), count.and_then(words::clients)];
            row.note = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        }
        let clients = clients.and_then(|count| u32::try_from(count).ok()).and_then(words::clients);
        let shared = [range.map(|range| format!("range {range} in tests with ranges")), clients];
        self.shared = shared.into_iter().flatten().collect::<Vec<_>>().join(", ");
    }

    /// Position of a metric.
    pub fn metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|metric| metric.name == name)
    }

    /// Whether a column has values of the base, beside ratios or alone.
    pub(crate) fn has_base(&self, metric: usize, column: usize) -> bool {
        let mut values = self.values[metric].iter().map(|row| &row[column]);
        self.columns[column].is_base || values.any(|value| value.kind == Kind::Base)
    }

    /// The unit over a column of ratios: the base's values have that of the metric, also where it
    /// is one of the rows.
    pub(crate) fn unit_of_ratios(&self, metric: usize, column: usize) -> String {
        let own = self.metrics[metric].unit;
        match self.columns[column].is_base {
            true => own.to_owned(),
            false if !own.is_empty() && self.has_base(metric, column) => {
                format!("ratio, of the base {own}")
            }
            false => "ratio".to_owned(),
        }
    }

    /// The rows with their indexes by group, in order.
    pub fn groups(&self) -> Vec<(&str, Vec<usize>)> {
        let rows = self.rows.iter().enumerate();
        let mut groups = grouped(rows.map(|(index, row)| (row.group.as_str(), index)));
        groups.sort_by_key(|(name, _)| words::group_order(name));
        groups.into_iter().map(|(name, rows)| (words::group(name), rows)).collect()
    }

    fn sort_in<'a>(&mut self, comparison: &'a Comparison) -> Buckets<'a> {
        let order: BTreeMap<&str, usize> =
            self.metrics.iter().enumerate().map(|(index, m)| (m.name, index)).collect();
        let mut buckets = Buckets::new();
        let (mut rows, mut columns) = (Positions::new(), Positions::new());
        for phase in &comparison.phases {
            for cell in &phase.cells {
                let Some(metric) = order.get(cell.metric.name) else { continue };
                let located = (phase, cell);
                let row_keys = values(located, &self.row_keys);
                let row = position(&mut rows, row_keys, |keys| {
                    self.rows.push(row_of(phase, keys, &self.row_keys));
                });
                let column_keys = values(located, &self.column_keys);
                let column = position(&mut columns, column_keys, |keys| {
                    let (title, keys) = (joined(keys), keys.to_vec());
                    self.columns.push(Column { title, keys, ..Column::default() });
                });
                if self.rows[row].group != phase.group {
                    self.rows[row].group.clear();
                }
                buckets.entry((*metric, row, column)).or_default().push(located);
            }
        }
        buckets
    }

    fn plane(&self, metric: usize, buckets: &Buckets<'_>, said: &[&Mark]) -> Vec<Vec<Value>> {
        let cell = |row, column| {
            let found = buckets.get(&(metric, row, column));
            found.map_or_else(Value::default, |found| value::value(found, said))
        };
        let line = |row| (0..self.columns.len()).map(|column| cell(row, column)).collect();
        (0..self.rows.len()).map(line).collect()
    }

    fn residue(&self, buckets: &Buckets<'_>) -> Vec<String> {
        let told = |key: &str| self.row_keys.iter().chain(&self.column_keys).any(|k| k == key);
        let keys = ["phase", "variant"].into_iter().filter(|key| !told(key));
        let differs = |key: &&str| {
            buckets.values().any(|cells| {
                let own: BTreeSet<String> = cells.iter().map(|c| key_value(*c, key)).collect();
                own.len() > 1
            })
        };
        keys.filter(differs).map(str::to_owned).collect()
    }
}

/// Keys seen so far, with their positions.
type Positions = BTreeMap<Vec<String>, usize>;

fn position(seen: &mut Positions, keys: Vec<String>, mut add: impl FnMut(&[String])) -> usize {
    if let Some(index) = seen.get(&keys) {
        return *index;
    }
    add(&keys);
    let index = seen.len();
    seen.insert(keys, index);
    index
}

fn row_of(phase: &PhaseResult, keys: &[String], names: &[String]) -> Row {
    let is_key = |name: &str| names.iter().any(|key| key == name);
    let mut keys_told = Told::default();
    if is_key("phase") {
        keys_told.range = phase.range.filter(|_| !is_key("range"));
        keys_told.clients = Some(phase.clients).filter(|count| *count > 0 && !is_key("clients"));
    }
    Row {
        title: joined(keys),
        keys: keys.to_vec(),
        group: phase.group.clone(),
        note: String::new(),
        keys_told,
    }
}

fn metrics(comparison: &Comparison) -> Vec<&'static Metric> {
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let names: BTreeSet<&str> = cells.map(|cell| cell.metric.name).collect();
    analysis::ordered(&names)
}

fn joined(keys: &[String]) -> String {
    let words: Vec<&str> = keys.iter().map(String::as_str).filter(|key| !key.is_empty()).collect();
    words.join(" · ")
}

fn values(located: Located<'_>, keys: &[String]) -> Vec<String> {
    keys.iter().map(|key| key_value(located, key)).collect()
}

fn key_value((phase, cell): Located<'_>, key: &str) -> String {
    match key {
        "phase" => phase.phase.clone(),
        "workload" => phase.workload.clone(),
        "group" => phase.group.clone(),
        "range" => phase.range.map(|range| range.to_string()).unwrap_or_default(),
        "clients" if phase.clients == 0 => "unknown".to_owned(),
        "clients" => phase.clients.to_string(),
        "variant" => cell.subject.to_string(),
        factor => cell.factors.get(factor).cloned().unwrap_or_default(),
    }
}
