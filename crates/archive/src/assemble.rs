//! From what single files told to archives: one value per cell and metric, named and ordered.

use crate::{
    Cell, Column, Fault, Found, Value, Warning, correct, derive, import, number, step, unnamed,
};
use model::{
    Levels,
    imported::{ImportedValue, Source},
    measurement::Measurement,
    record::SliceState,
    shared::Name,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A foreign archive as values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Archive {
    /// Its name: folders from the imported one on, without those of subjects and clients.
    pub experiment: String,
    /// Labels of the subjects in the archive's own order, else by name.
    pub subjects: Vec<String>,
    /// Files that each importer took, by its name.
    pub importers: BTreeMap<String, u64>,
    /// Bases of the subjects that are in no summary with the first one: the first one of theirs.
    pub bases: BTreeMap<String, String>,
    /// The values by subject, phase and metric. The run is empty.
    pub values: Vec<ImportedValue>,
    /// What was irregular or broken in its files; those of other archives are not here.
    pub warnings: Vec<Warning>,
}

/// What one file told.
pub(crate) struct Told {
    pub(crate) file: String,
    pub(crate) importer: &'static str,
    pub(crate) found: Found,
}

/// A value with its file; the keys are with it in a map.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// The value and its cell.
    pub(crate) value: Value,
    /// Path of its file.
    pub(crate) file: String,
    /// Place of its importer in the table: less is more exact.
    pub(crate) rank: usize,
}

/// The values of one cell by metric.
pub(crate) type Metrics = BTreeMap<String, Kept>;

/// What makes a cell one of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) subject: String,
    pub(crate) phase: String,
    pub(crate) range: Option<u64>,
    pub(crate) clients: Option<u32>,
    pub(crate) column: Option<Column>,
    pub(crate) round: u32,
}

/// The values of one archive by cell.
pub(crate) type Cells = BTreeMap<Key, Metrics>;

/// All that was told so far, by archive.
#[derive(Default)]
pub(crate) struct Assembly {
    told: BTreeMap<String, Vec<Told>>,
}

impl Assembly {
    pub(crate) fn add(&mut self, told: Told) {
        let Some(first) = told.found.values.first() else { return };
        let experiment = first.cell.experiment.clone();
        self.told.entry(experiment).or_default().push(told);
    }

    /// The archive of each file that told something.
    pub(crate) fn owners(&self) -> BTreeMap<String, String> {
        let files = |(experiment, told): (&String, &Vec<Told>)| -> Vec<(String, String)> {
            told.iter().map(|told| (told.file.clone(), experiment.clone())).collect()
        };
        self.told.iter().flat_map(files).collect()
    }

    /// The archives by name, with what is irregular in their files together.
    pub(crate) fn archives(self, corrections: &[String]) -> Vec<Archive> {
        let archives = self.told.into_iter();
        let archives = archives.map(|(experiment, told)| archive(&experiment, told, corrections));
        archives.filter(|archive| !archive.values.is_empty()).collect()
    }
}

fn archive(experiment: &str, told: Vec<Told>, corrections: &[String]) -> Archive {
    let lists: Vec<Vec<String>> = told.iter().map(|t| t.found.subjects.clone()).collect();
    let mut importers = BTreeMap::new();
    for told in &told {
        *importers.entry(told.importer.to_owned()).or_default() += 1;
    }
    let mut warnings = Vec::new();
    let mut cells = cells(told, &mut warnings);
    correct::apply(corrections, experiment, &mut cells, &mut warnings);
    derive::all(&mut cells);
    let subjects = subjects(lists.clone(), &cells);
    let bases = bases(&lists, &subjects);
    let values = values(experiment, cells);
    Archive { experiment: experiment.to_owned(), subjects, bases, importers, values, warnings }
}

/// One value per cell and metric: of the most exact importer, of the first file.
fn cells(told: Vec<Told>, warnings: &mut Vec<Warning>) -> Cells {
    let rank = |name| import::IMPORTERS.iter().position(|i| i.name() == name).unwrap_or(usize::MAX);
    let mut all: Vec<Kept> = Vec::new();
    for Told { file, importer, found } in told {
        let rank = rank(importer);
        all.extend(found.values.into_iter().map(|value| Kept { value, file: file.clone(), rank }));
    }
    // Stable: files stay in the order of the walk.
    all.sort_by_key(|kept| kept.rank);
    unnamed::name(&mut all, warnings);
    let clients = only_clients(&all);
    let mut cells = Cells::new();
    for mut kept in all {
        let cell = &mut kept.value.cell;
        if cell.column.is_none() {
            cell.clients = cell.clients.or(clients);
        }
        let metrics = cells.entry(key(cell)).or_default();
        match metrics.get(kept.value.metric.as_ref()) {
            None => {
                metrics.insert(kept.value.metric.clone().into_owned(), kept);
            }
            Some(first) if !same(&first.value, &kept.value) => {
                let (here, there) = (shown(&kept.value), shown(&first.value));
                let place = format!("`{}`:{}", first.file, first.value.line);
                let reason = format!(
                    "`{}` is {here} here and {there} in {place}, which is kept",
                    kept.value.metric
                );
                warnings.push(Warning::new(&kept.file, Fault::new(kept.value.line, reason)));
            }
            Some(_) => {}
        }
    }
    cells.values_mut().for_each(share_levels);
    cells
}

/// What one file tells of a cell holds for all of it: its keys become those of all values, but
/// where files contradict each other.
fn share_levels(metrics: &mut Metrics) {
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut distinct: Vec<&Levels> = Vec::new();
    for kept in metrics.values() {
        let levels = &kept.value.cell.levels;
        if !distinct.contains(&levels) {
            distinct.push(levels);
        }
    }
    if distinct.len() < 2 {
        return;
    }
    for (key, level) in distinct.into_iter().flatten() {
        let first = known.entry(key.clone()).or_insert_with(|| Some(level.clone()));
        if first.as_ref().is_some_and(|first| first != level) {
            *first = None;
        }
    }
    for kept in metrics.values_mut() {
        for (key, level) in &known {
            if let Some(level) = level {
                let levels = &mut kept.value.cell.levels;
                levels.entry(key.clone()).or_insert_with(|| level.clone());
            }
        }
    }
}

fn key(cell: &Cell) -> Key {
    Key {
        subject: cell.subject.clone(),
        phase: cell.phase.clone(),
        range: cell.range,
        clients: cell.clients,
        column: cell.column,
        round: cell.round,
    }
}

/// The number of clients where the archive knows a single one.
fn only_clients(all: &[Kept]) -> Option<u32> {
    let known = unnamed::known(all);
    let columns = all.iter().any(|kept| kept.value.cell.column.is_some());
    (known.len() == 1 && !columns).then(|| known.first().copied()).flatten()
}

/// Whether the clients of a cell are those of the archive: the load and the warm-up have their own.
pub(crate) fn counts_clients(cell: &Cell) -> bool {
    cell.phase != step::LOAD && !cell.phase.contains("warm")
}

fn same(first: &Value, second: &Value) -> bool {
    if first.text.is_empty() || second.text.is_empty() {
        let scale = first.value.abs().max(second.value.abs());
        let printed = [first, second].map(printed_step).into_iter().fold(0.0, f64::max);
        return (first.value - second.value).abs() <= printed.max(scale * 1e-3);
    }
    number::agree(&first.text, &second.text)
}

/// Half of the last printed digit, in the unit of the value; 0 for what was computed.
fn printed_step(value: &Value) -> f64 {
    let printed = number::parse(&value.text).filter(|printed| *printed != 0.0);
    let factor = printed.map_or(1.0, |printed| value.value / printed);
    if value.text.is_empty() {
        0.0
    } else {
        number::half_step(&value.text) * factor.abs() * 1.000_001
    }
}

fn shown(value: &Value) -> String {
    match value.text.as_str() {
        "" => format!("{:.6}", value.value),
        text => text.to_owned(),
    }
}

/// What a summary lists is compared with the first one that it lists, so an engine of an archive is
/// no base of another one that has a summary of its own. A subject of several summaries belongs to
/// the longest one; those of no summary have the archive's first one.
fn bases(lists: &[Vec<String>], subjects: &[String]) -> BTreeMap<String, String> {
    let mut lists: Vec<Vec<&String>> = lists
        .iter()
        .map(|list| list.iter().filter(|label| subjects.contains(label)).collect())
        .collect();
    lists.sort_by_key(|list| std::cmp::Reverse(list.len()));
    let first = subjects.first();
    let apart = |label: &String| {
        let base = *lists.iter().find(|list| list.contains(&label))?.first()?;
        (Some(base) != first).then(|| (label.clone(), base.clone()))
    };
    subjects.iter().filter_map(apart).collect()
}

/// The longest list of a summary, then the subjects of the others, then those in no list by name.
fn subjects(mut lists: Vec<Vec<String>>, cells: &Cells) -> Vec<String> {
    lists.sort_by_key(|list| std::cmp::Reverse(list.len()));
    let known: BTreeSet<&String> = cells.keys().map(|key| &key.subject).collect();
    let mut subjects: Vec<String> = Vec::new();
    for subject in lists.iter().flatten().chain(known.iter().copied()) {
        if known.contains(subject) && !subjects.contains(subject) {
            subjects.push(subject.clone());
        }
    }
    subjects
}

/// The values with the names and positions of their phases.
fn values(experiment: &str, cells: Cells) -> Vec<ImportedValue> {
    let phases: BTreeSet<(&String, Option<u64>)> =
        cells.keys().map(|key| (&key.phase, key.range)).collect();
    let mut ordered: Vec<(String, Option<u64>)> =
        phases.into_iter().map(|(phase, range)| (phase.clone(), range)).collect();
    ordered.sort_by_cached_key(|(phase, range)| step::order(phase, *range));
    let several = |phase: &str| ordered.iter().filter(|(name, _)| name == phase).count() > 1;
    let clients: BTreeSet<u32> = cells
        .keys()
        .filter(|key| key.phase != step::LOAD && !key.phase.contains("warm"))
        .filter_map(|key| key.clients)
        .collect();
    let mut places: BTreeMap<(String, Option<u64>), (u32, String)> = BTreeMap::new();
    for (place, phase) in (0_u32..).zip(&ordered) {
        let name = match phase.1 {
            Some(range) if several(&phase.0) => format!("{}.range{range}", phase.0),
            _ => phase.0.clone(),
        };
        places.insert(phase.clone(), (place, name));
    }
    let columns = cells.keys().filter_map(|key| key.column).map(|column| column.of).max();
    let count = u32::try_from(clients.len()).unwrap_or(u32::MAX).max(columns.unwrap_or(1)).max(1);
    let mut values = Vec::new();
    for (key, metrics) in cells {
        let (place, name) =
            places.get(&(key.phase.clone(), key.range)).cloned().unwrap_or_default();
        let level = key.clients.and_then(|own| clients.iter().position(|known| *known == own));
        let level = level.and_then(|level| u32::try_from(level).ok()).unwrap_or(0);
        let level = key.column.map_or(level, |column| column.number.saturating_sub(1));
        let name = match (key.clients, key.column) {
            (_, Some(Column { number, of })) => format!("{name}.clients-{number}-of-{of}"),
            (Some(clients), None) if count > 1 => format!("{name}.clients{clients}"),
            _ => name,
        };
        let position = place.saturating_mul(count).saturating_add(level);
        values.extend(
            metrics.into_values().map(|kept| imported(experiment, (&name, position), kept)),
        );
    }
    values
}

fn imported(experiment: &str, (phase, position): (&str, u32), kept: Kept) -> ImportedValue {
    let Kept { value, file, .. } = kept;
    let cell = value.cell;
    // What warms up runs, and is in no table.
    let warm = cell.phase.ends_with(".warm") || cell.phase.ends_with(".warmpre");
    let state = if warm { SliceState::Discarded } else { SliceState::Measured };
    let mut levels = cell.levels;
    if let Some(clients) = cell.clients {
        levels.insert("clients".to_owned(), clients.to_string());
    }
    ImportedValue {
        measurement: Measurement {
            experiment: experiment.into(),
            run: Name::default(),
            subject: cell.subject.into(),
            phase: phase.into(),
            workload: cell.workload.into(),
            group: cell.group.into(),
            position,
            range: cell.range,
            clients: cell.clients.unwrap_or(0),
            levels: Arc::new(levels),
            block: 0,
            round: cell.round,
            metric: value.metric.as_ref().into(),
            value: value.value,
            state,
            marks: value.biases.iter().map(|bias| Name::from(*bias)).collect(),
            piece: None,
        },
        text: value.text,
        source: Source { file: file.into(), line: value.line },
    }
}
