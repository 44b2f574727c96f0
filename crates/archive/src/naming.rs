//! Names and positions of phases: what tells the cells of an archive apart.

use crate::{
    Column,
    assemble::{Cells, Kept, Key},
    blocks::Blocks,
    step,
};
use model::{
    imported::{ImportedValue, Source},
    mark::Mark,
    measurement::Measurement,
    record::SliceState,
    shared::Name,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A step: its phase and range.
type Step = (String, Option<u64>);

/// The values with the names and positions of their phases: in the order of a summary that lists
/// them, else in that of the published script.
pub(crate) fn values(experiment: &str, cells: Cells, listed: &[Step]) -> Vec<ImportedValue> {
    let phases: BTreeSet<(&String, Option<u64>)> =
        cells.keys().map(|key| (&key.phase, key.range)).collect();
    let mut ordered: Vec<Step> =
        phases.into_iter().map(|(phase, range)| (phase.clone(), range)).collect();
    ordered.sort_by_cached_key(|(phase, range)| step::order(phase, *range));
    let ordered = in_order_of(listed, ordered);
    let several = |phase: &str| ordered.iter().filter(|(name, _)| name == phase).count() > 1;
    let mut places: BTreeMap<Step, (u32, String)> = BTreeMap::new();
    for (place, phase) in (0_u32..).zip(&ordered) {
        let name = match phase.1 {
            Some(range) if several(&phase.0) => format!("{}.range{range}", phase.0),
            _ => phase.0.clone(),
        };
        places.insert(phase.clone(), (place, name));
    }
    let mut clients: BTreeMap<(&str, Option<u64>), BTreeSet<u32>> = BTreeMap::new();
    for key in cells.keys() {
        clients.entry((&key.phase, key.range)).or_default().extend(key.clients);
    }
    // A test of somebody's own may be called a load or a warm-up and have several numbers too.
    let has_several = |key: &Key| {
        let own = clients.get(&(key.phase.as_str(), key.range));
        key.column.is_none() && own.is_some_and(|own| own.len() > 1)
    };
    let counted = cells.keys().filter(|key| key.is_counted() || has_several(key));
    let levels: BTreeSet<u32> = counted.filter_map(Key::level).collect();
    let columns = cells.keys().filter_map(|key| key.column).map(|column| column.of).max();
    let count = u32::try_from(levels.len()).unwrap_or(u32::MAX).max(columns.unwrap_or(1)).max(1);
    let blocks = Blocks::of(&cells);
    let mut values = Vec::new();
    for (key, metrics) in cells {
        let (place, phase) =
            places.get(&(key.phase.clone(), key.range)).cloned().unwrap_or_default();
        let level = key.level().and_then(|own| levels.iter().position(|known| *known == own));
        let level = level.and_then(|level| u32::try_from(level).ok()).unwrap_or(0);
        let level = key.column.map_or(level, |column| column.number.saturating_sub(1));
        let name = format!("{phase}{}", suffix(&key, count));
        let position = place.saturating_mul(count).saturating_add(level);
        let block = blocks.block(&key);
        let kept = metrics.into_values();
        values.extend(kept.map(|kept| imported(experiment, (&name, position), block, kept)));
    }
    values
}

/// The steps in the order of a list; those that it lacks follow the ones before them.
fn in_order_of(listed: &[Step], steps: Vec<Step>) -> Vec<Step> {
    let mut ordered: Vec<Step> = listed.iter().filter(|s| steps.contains(s)).cloned().collect();
    let mut before: Option<Step> = None;
    for step in steps {
        if !ordered.contains(&step) {
            let place = before.and_then(|before| ordered.iter().position(|own| *own == before));
            ordered.insert(place.map_or(0, |place| place + 1), step.clone());
        }
        before = Some(step);
    }
    ordered
}

/// What a phase's name has behind its step in an archive of so many tables.
fn suffix(key: &Key, tables: u32) -> String {
    let table = |clients| table_suffix(clients, key.table_clients);
    match (key.clients, key.column) {
        (_, Some(Column { number, of })) => format!(".clients-{number}-of-{of}"),
        (clients, None) if tables > 1 => table(clients),
        (None, None) if step::is_load(&key.phase) => table(None),
        _ => String::new(),
    }
}

/// `.clients40` of a table with 40 clients, `.clients8.dop40` of a step of it that ran with 8, and
/// `.dop40` of its load.
pub(crate) fn table_suffix(clients: Option<u32>, table: Option<u32>) -> String {
    let own = clients.map(|clients| format!(".clients{clients}"));
    let table = table.filter(|table| clients != Some(*table)).map(|table| format!(".dop{table}"));
    own.into_iter().chain(table).collect()
}

fn imported(
    experiment: &str,
    (phase, position): (&str, u32),
    block: u32,
    kept: Kept,
) -> ImportedValue {
    let Kept { value, file, .. } = kept;
    let cell = value.cell;
    let state = match step::warms_up(&cell.phase, &cell.workload) {
        true => SliceState::Discarded,
        false => SliceState::Measured,
    };
    let mut levels = cell.levels;
    if let Some(clients) = cell.clients {
        levels.insert("clients".to_owned(), clients.to_string());
    }
    if let Some(table) = cell.table_clients.filter(|table| cell.clients != Some(*table)) {
        levels.insert(TABLE_LEVEL.to_owned(), table.to_string());
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
            block,
            round: cell.round,
            metric: value.metric.as_ref().into(),
            value: value.value,
            state,
            marks: value.biases.iter().map(|bias| Mark::from(*bias)).collect(),
            piece: None,
        },
        text: value.text,
        source: Source { file: file.into(), line: value.line },
    }
}

/// Key of values whose step ran with another number of clients than the table that it is in.
pub(crate) const TABLE_LEVEL: &str = "dop";
