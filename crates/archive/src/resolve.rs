//! With how many clients each value was measured, where its own file does not say.
//!
//! A step has the number that its own name has, or that the `o.met` of the same tag has for it, or
//! that the tag or the folder has, or the only one that other files have for the same step. A step
//! that none of them tells has none: nothing is assumed from other steps.

use crate::{Warning, assemble::Kept, step, unnamed};
use std::collections::{BTreeMap, BTreeSet};

/// The numbers of clients that are known of something.
type Known<K> = BTreeMap<K, BTreeSet<u32>>;

/// The importer of summaries that name the clients of every step.
pub(crate) const NAMES_STEPS: &str = "o_met";

/// A step of an archive: its phase and range.
type StepKey = (String, Option<u64>);

/// Fills numbers of clients, and the table that each value belongs to.
pub(crate) fn clients(all: &mut [Kept], warnings: &mut Vec<Warning>) {
    by_tag(all);
    unnamed::name(all, warnings);
    by_step(all);
    tables(all);
}

fn step_of(kept: &Kept) -> StepKey {
    (kept.value.cell.phase.clone(), kept.value.cell.range)
}

fn only<K: Ord>(known: &Known<K>, key: &K) -> Option<u32> {
    let counts = known.get(key).filter(|counts| counts.len() == 1)?;
    counts.first().copied()
}

/// What another file of the same tag says of the step is more exact than the tag.
fn by_tag(all: &mut [Kept]) {
    let mut known: Known<(String, StepKey)> = Known::new();
    for kept in all.iter().filter(|kept| kept.importer == NAMES_STEPS) {
        if let (Some(tag), Some(clients)) = (&kept.tag, kept.value.cell.clients) {
            known.entry((tag.to_string(), step_of(kept))).or_default().insert(clients);
        }
    }
    for kept in all {
        let key = kept.tag.as_ref().map(|tag| (tag.to_string(), step_of(kept)));
        let cell = &mut kept.value.cell;
        if cell.column.is_some() {
            cell.table_clients = None;
        } else if cell.clients == cell.table_clients && !step::is_load(&cell.phase) {
            let own = key.and_then(|key| only(&known, &key));
            cell.clients = own.or(cell.clients);
        }
    }
}

/// The only number that other files have for a step: of the same variant, or of any.
fn by_step(all: &mut [Kept]) {
    let mut own: Known<(String, StepKey)> = Known::new();
    let mut any: Known<StepKey> = Known::new();
    for kept in all.iter() {
        let cell = &kept.value.cell;
        let Some(clients) = cell.clients else { continue };
        own.entry((cell.subject.clone(), step_of(kept))).or_default().insert(clients);
        any.entry(step_of(kept)).or_default().insert(clients);
    }
    for kept in all {
        let step = step_of(kept);
        let cell = &mut kept.value.cell;
        if cell.clients.is_some() || cell.column.is_some() || step::is_load(&cell.phase) {
            continue;
        }
        cell.clients = only(&own, &(cell.subject.clone(), step.clone())).or(only(&any, &step));
    }
}

/// Steps that belong together ran with one number of clients, but for a few such as scans. Where no
/// step has two numbers, all of them are one table, of the number that most have.
fn tables(all: &mut [Kept]) {
    let mut known: Known<StepKey> = Known::new();
    let loose = |kept: &&Kept| kept.value.cell.table_clients.is_none();
    let counted = all.iter().filter(loose).filter(|kept| kept.value.cell.column.is_none());
    for kept in counted {
        if let Some(clients) = kept.value.cell.clients {
            known.entry(step_of(kept)).or_default().insert(clients);
        }
    }
    let mut steps: BTreeMap<u32, usize> = BTreeMap::new();
    for counts in known.values() {
        let [one] = counts.iter().collect::<Vec<_>>()[..] else { return };
        *steps.entry(*one).or_default() += 1;
    }
    let usual = steps.into_iter().max_by_key(|(_, steps)| *steps).map(|(clients, _)| clients);
    for kept in all.iter_mut().filter(|kept| kept.value.cell.clients.is_some()) {
        let cell = &mut kept.value.cell;
        cell.table_clients = cell.table_clients.or(usual);
    }
}
