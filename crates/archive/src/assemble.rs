//! From what single files told to archives: one value per cell and metric, named and ordered.

use crate::{
    Cell, Column, Found, Value, Warning, blocks, conflict,
    contradiction::{Contradictions, same},
    correct, derive, import,
    naming::values,
    resolve, step,
    tag::Tag,
};
use model::{Levels, imported::ImportedValue};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A third-party archive as values.
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
    /// Whether the order of the files is the user's.
    pub(crate) in_order: bool,
}

/// A value with its file; the keys are with it in a map.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// The value and its cell.
    pub(crate) value: Value,
    /// Path of its file.
    pub(crate) file: String,
    /// Name of its importer.
    pub(crate) importer: &'static str,
    /// The tag of its file, behind its folder: see [`crate::tag`].
    pub(crate) tag: Option<Arc<str>>,
    /// Place of its file in the user's order, where there is one and the file lists no subjects.
    pub(crate) place: Option<usize>,
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
    pub(crate) table_clients: Option<u32>,
    pub(crate) column: Option<Column>,
    pub(crate) round: u32,
    pub(crate) repetition: Vec<u32>,
    pub(crate) report: u32,
}

impl Key {
    /// The clients of the table that the cell belongs to.
    pub(crate) fn level(&self) -> Option<u32> {
        self.table_clients.or(self.clients)
    }

    /// Whether it distinguishes tables: the load and the warm-up are in all of them.
    pub(crate) fn is_counted(&self) -> bool {
        self.column.is_none() && counts_clients(&self.phase)
    }
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

    /// The archives by name, with what is irregular in their files together.
    pub(crate) fn archives(self, corrections: &[String]) -> Archives {
        let mut archives = Archives::default();
        for (experiment, told) in self.told {
            split(&experiment, told, corrections, &mut archives);
        }
        archives.all.sort_by(|a, b| a.experiment.cmp(&b.experiment));
        archives
    }
}

/// The archives, and what belongs to none of them.
#[derive(Default)]
pub(crate) struct Archives {
    pub(crate) all: Vec<Archive>,
    /// The archive of each file that told something.
    pub(crate) owners: BTreeMap<String, String>,
}

/// The archives of what lies under one name: one, or several where tags contradict each other.
fn split(experiment: &str, told: Vec<Told>, corrections: &[String], archives: &mut Archives) {
    let mut warnings = Vec::new();
    let files: Vec<(String, &'static str, Vec<String>)> = told
        .iter()
        .map(|told| (told.file.clone(), told.importer, told.found.subjects.clone()))
        .collect();
    let mut all = kept(told);
    blocks::take_numbers(&mut all);
    let in_order = in_order(&all);
    resolve::clients(&mut all, &mut warnings);
    for part in conflict::parts(experiment, all, &mut warnings) {
        let experiment = match part.label.as_str() {
            "" => experiment.to_owned(),
            label => format!("{experiment}/{label}"),
        };
        let own: BTreeSet<&str> = part.kept.iter().map(|kept| kept.file.as_str()).collect();
        let own: Vec<_> = files.iter().filter(|(file, ..)| own.contains(file.as_str())).collect();
        let mut importers = BTreeMap::new();
        for (file, importer, _) in &own {
            *importers.entry((*importer).to_owned()).or_default() += 1;
            archives.owners.insert(file.clone(), experiment.clone());
        }
        let mut lists: Vec<Vec<String>> =
            own.iter().map(|(.., subjects)| subjects.clone()).collect();
        lists.push(in_order.clone());
        let listed = listed(&part.kept);
        let mut cells = cells(part.kept, &mut warnings);
        correct::apply(corrections, &experiment, &mut cells, &mut warnings);
        derive::all(&mut cells);
        let subjects = subjects(lists.clone(), &cells);
        let bases = bases(&lists, &subjects, &cells);
        let values = values(&experiment, cells, &listed);
        let warnings = std::mem::take(&mut warnings);
        archives.all.push(Archive { experiment, subjects, bases, importers, values, warnings });
    }
}

/// The subjects of files without a list that the user gave in an order: the first is the base.
fn in_order(all: &[Kept]) -> Vec<String> {
    let mut subjects: Vec<(usize, &String)> =
        all.iter().filter_map(|kept| Some((kept.place?, &kept.value.cell.subject))).collect();
    // Shells give names in the order of the alphabet: what is called a base is meant as one.
    subjects.sort_by_key(|(place, subject)| (!is_base(subject), *place));
    let mut seen = BTreeSet::new();
    let once = subjects.into_iter().filter(|(_, subject)| seen.insert(*subject));
    once.map(|(_, subject)| subject.clone()).collect()
}

/// The steps in the order of the summary that lists most of them: that of their execution.
fn listed(all: &[Kept]) -> Vec<(String, Option<u64>)> {
    let mut lists: BTreeMap<&str, BTreeMap<u32, (&str, Option<u64>)>> = BTreeMap::new();
    for kept in all.iter().filter(|kept| kept.importer == resolve::NAMES_STEPS) {
        let cell = &kept.value.cell;
        let list = lists.entry(&kept.file).or_default();
        list.insert(kept.value.line, (&cell.phase, cell.range));
    }
    let lists = lists.into_values().map(|lines| {
        let mut steps: Vec<(&str, Option<u64>)> = lines.into_values().collect();
        steps.dedup();
        steps
    });
    let longest = lists.max_by_key(Vec::len).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let once = longest.into_iter().filter(|step| seen.insert(*step));
    once.map(|(phase, range)| (phase.to_owned(), range)).collect()
}

/// All values of files, those of the most exact importer first, then in the order of the walk.
fn kept(told: Vec<Told>) -> Vec<Kept> {
    let rank = |name| import::IMPORTERS.iter().position(|i| i.name == name).unwrap_or(usize::MAX);
    let mut all: Vec<Kept> = Vec::new();
    for (place, Told { file, importer, found, in_order }) in told.into_iter().enumerate() {
        let place = Some(place).filter(|_| in_order && found.subjects.is_empty());
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
        let tag = Tag::of(name.strip_suffix(".gz").unwrap_or(name)).map(|tag| {
            let clients = tag.clients.unwrap_or(0);
            Arc::from(format!("{folder}\t{clients}\t{}", tag.words.join(".")))
        });
        let one = |value| Kept { value, file: file.clone(), importer, tag: tag.clone(), place };
        all.extend(found.values.into_iter().map(one));
    }
    all.sort_by_cached_key(|kept| rank(kept.importer));
    all
}

/// One value per cell and metric: of the most exact importer, of the first file.
fn cells(all: Vec<Kept>, warnings: &mut Vec<Warning>) -> Cells {
    let mut cells = Cells::new();
    let mut contradictions = Contradictions::default();
    for kept in all {
        let metrics = cells.entry(key(&kept.value.cell)).or_default();
        if kept.importer == TABLES && kept.value.metric == "ops_per_second" {
            let value = Value { metric: Cow::Borrowed(IN_TABLE), ..kept.value.clone() };
            metrics.entry(IN_TABLE.to_owned()).or_insert(Kept { value, ..kept.clone() });
        }
        match metrics.get(kept.value.metric.as_ref()) {
            None => {
                metrics.insert(kept.value.metric.clone().into_owned(), kept);
            }
            Some(first) if !same(&first.value, &kept.value) => contradictions.add(first, &kept),
            Some(_) => {}
        }
    }
    contradictions.warn(warnings);
    one_load(&mut cells);
    cells.values_mut().for_each(share_levels);
    cells
}

/// The importer of tables whose rows and texts an export gives back.
const TABLES: &str = "qps_abs";

/// Operations per second as a table prints them: its scans are in thousands or millions.
pub(crate) const IN_TABLE: &str = "ops_per_second_in_table";

/// The load is the same for all numbers of clients where all tables say the same of it.
fn one_load(cells: &mut Cells) {
    let keys: Vec<Key> = cells
        .keys()
        .filter(|key| step::is_load(&key.phase) && key.table_clients.is_some())
        .cloned()
        .collect();
    let agree = |a: &Metrics, b: &Metrics| {
        let shared = a.iter().filter_map(|(metric, kept)| Some((kept, b.get(metric)?)));
        shared.into_iter().all(|(a, b)| same(&a.value, &b.value))
    };
    let mut merged = Cells::new();
    for key in &keys {
        let Some(own) = cells.get(key) else { continue };
        let merged = merged.entry(Key { table_clients: None, ..key.clone() }).or_default();
        if !agree(merged, own) {
            return;
        }
        for (metric, kept) in own {
            merged.entry(metric.clone()).or_insert_with(|| kept.clone());
        }
    }
    for key in &keys {
        cells.remove(key);
    }
    for (key, metrics) in merged {
        let known = cells.entry(key).or_default();
        for (metric, kept) in metrics {
            known.entry(metric).or_insert(kept);
        }
    }
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

pub(crate) fn key(cell: &Cell) -> Key {
    Key {
        subject: cell.subject.clone(),
        phase: cell.phase.clone(),
        range: cell.range,
        clients: cell.clients,
        table_clients: cell.table_clients,
        column: cell.column,
        round: cell.round,
        repetition: cell.repetition.clone(),
        report: cell.report,
    }
}

/// Whether the clients of a phase are those of its table: the load and the warm-up have their own.
pub(crate) fn counts_clients(phase: &str) -> bool {
    !step::is_load(phase) && !phase.contains("warm")
}

/// What a summary lists is compared with the first one that it lists, so an engine of an archive is
/// no base of another one that has a summary of its own. A subject of several summaries belongs to
/// the longest one; those of no summary have the archive's first one. A subject that shares no row
/// with its base is compared with the first one that it is connected with by rows.
fn bases(lists: &[Vec<String>], subjects: &[String], cells: &Cells) -> BTreeMap<String, String> {
    let mut lists: Vec<Vec<&String>> = lists
        .iter()
        .map(|list| list.iter().filter(|label| subjects.contains(label)).collect())
        .collect();
    lists.sort_by_key(|list| std::cmp::Reverse(list.len()));
    let first = subjects.first();
    let connected = connected(subjects, cells);
    let base = |label: &String| -> Option<String> {
        let listed = lists.iter().find(|list| list.contains(&label)).and_then(|l| l.first());
        let base = listed.copied().or(first)?;
        let own = connected.get(label)?;
        Some(if connected.get(base) == Some(own) { base.clone() } else { own.clone() })
    };
    let apart = |label: &String| {
        let base = base(label)?;
        (Some(&base) != first).then(|| (label.clone(), base))
    };
    subjects.iter().filter_map(apart).collect()
}

/// The first subject with which each one is connected by rows that they share.
fn connected(subjects: &[String], cells: &Cells) -> BTreeMap<String, String> {
    let places: BTreeMap<&String, usize> = subjects.iter().zip(0..).collect();
    let mut leaders: Vec<usize> = (0..subjects.len()).collect();
    let find = |leaders: &[usize], mut place: usize| {
        while leaders[place] != place {
            place = leaders[place];
        }
        place
    };
    let mut rows: BTreeMap<Key, usize> = BTreeMap::new();
    for key in cells.keys() {
        let Some(place) = places.get(&key.subject) else { continue };
        let other = *rows.entry(blocks::test(key)).or_insert(*place);
        let (a, b) = (find(&leaders, other), find(&leaders, *place));
        leaders[a.max(b)] = a.min(b);
    }
    let leader = |place| subjects[find(&leaders, place)].clone();
    subjects.iter().zip(0..).map(|(label, place)| (label.clone(), leader(place))).collect()
}

/// Words in the names of variants that others are compared with.
const BASES: [&str; 7] = ["base", "baseline", "before", "control", "old", "original", "reference"];

fn is_base(subject: &str) -> bool {
    subject.split(|c: char| !c.is_alphanumeric()).any(|word| BASES.contains(&word))
}

/// The longest list of a summary, then the subjects of the others, then those in no list by name,
/// but first what its name calls a base.
fn subjects(mut lists: Vec<Vec<String>>, cells: &Cells) -> Vec<String> {
    lists.sort_by_key(|list| std::cmp::Reverse(list.len()));
    let known: BTreeSet<&String> = cells.keys().map(|key| &key.subject).collect();
    let mut by_name: Vec<&String> = known.iter().copied().collect();
    by_name.sort_by(|a, b| is_base(b).cmp(&is_base(a)).then_with(|| model::natural::compare(a, b)));
    let mut subjects: Vec<String> = Vec::new();
    for subject in lists.iter().flatten().chain(by_name) {
        if known.contains(subject) && !subjects.contains(subject) {
            subjects.push(subject.clone());
        }
    }
    subjects
}
