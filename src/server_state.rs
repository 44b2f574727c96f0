//! What servers counted of themselves, from the files of records to values.

use crate::talk;
use analysis::Design;
use model::{
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
    state::{self, StateChange},
};
use report::{Counted, Traffic};
use std::collections::{BTreeMap, BTreeSet};
use store::{Results, StoredSlice};

/// The names that are asked for, with those that match in place of each pattern: metrics in the
/// order of tables, and counters of servers that moved in any slice.
pub(crate) fn named(
    results: &Results,
    slices: &[StoredSlice],
    asked: &[String],
) -> anyhow::Result<Vec<String>> {
    let is_pattern = |name: &String| name.contains(['*', '?']);
    if !asked.iter().any(is_pattern) {
        return Ok(asked.to_vec());
    }
    let mut counters = BTreeSet::new();
    for stored in slices {
        counters
            .extend(change(results, stored)?.into_iter().flat_map(|one| one.counters.into_keys()));
    }
    let metrics = analysis::METRICS.iter().map(|metric| metric.name);
    let known: Vec<&str> = metrics.chain(counters.iter().map(String::as_str)).collect();
    let (mut names, mut nothing): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for name in asked {
        if !is_pattern(name) {
            names.push(name.clone());
            continue;
        }
        let pattern = glob::Pattern::new(name)
            .map_err(|error| anyhow::anyhow!("`{name}` is no pattern of metrics: {error}"))?;
        let found = known.iter().filter(|one| pattern.matches(one)).map(|one| (*one).to_owned());
        let before = names.len();
        names.extend(found);
        if names.len() == before {
            nothing.push(format!(
                "no metric, and no counter of a server that moved, matches `{name}`; \
                 `dbdyno list metrics` shows metrics, the HTML report shows counters"
            ));
        }
    }
    if let (true, Some(why)) = (names.is_empty(), nothing.first()) {
        anyhow::bail!("{why}");
    }
    nothing.iter().for_each(|why| talk::say(&format!("warning: {why}")));
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// Puts the counters that are asked for among the readings of slices. One that moved in any slice
/// stood still in the others of the variants that keep it.
pub(crate) fn add(
    results: &Results,
    slices: &mut [StoredSlice],
    metrics: &[String],
) -> anyhow::Result<()> {
    let wanted: BTreeSet<&String> = metrics.iter().filter(|name| state::is_counter(name)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut known = BTreeSet::new();
    let mut with_state = Vec::new();
    let mut moved: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (place, stored) in slices.iter_mut().enumerate() {
        let Some(change) = change(results, stored)? else { continue };
        let own = moved.entry(stored.slice.subject.clone()).or_default();
        own.extend(change.counters.keys().cloned());
        with_state.push(place);
        for name in &wanted {
            if let Some([start, end]) = change.counters.get(*name) {
                known.insert(*name);
                stored.slice.readings.push(reading(name, [*start, *end]));
            }
        }
    }
    for place in with_state {
        let slice = &mut slices[place].slice;
        let (own, readings) = (moved.get(&slice.subject), &mut slice.readings);
        let is_counted =
            |name: &&&String| own.is_some_and(|own| state::keeps(own, moved.values(), name));
        for name in known.iter().filter(is_counted) {
            if !readings.iter().any(|one| one.counter == **name) {
                readings.push(reading(name, [0.0, 0.0]));
            }
        }
    }
    Ok(())
}

fn reading(counter: &str, [start, end]: [f64; 2]) -> Reading {
    Reading { scope: Scope::Server, counter: counter.to_owned(), start, end }
}

fn change(results: &Results, stored: &StoredSlice) -> anyhow::Result<Option<StateChange>> {
    let Some(bytes) = results.artefact(stored, state::FILE)? else { return Ok(None) };
    let change = serde_json::from_slice(&bytes);
    Ok(Some(change.map_err(|error| {
        let (file, trial) = (state::FILE, &stored.trial);
        anyhow::anyhow!("`{file}` of record `{trial}` cannot be understood: {error}")
    })?))
}

/// What the slices of a subject in a phase add up to.
#[derive(Default)]
struct Sum {
    operations: f64,
    /// How far each counter moved.
    counters: BTreeMap<String, f64>,
    /// What the server's processes and the device read and wrote in each slice.
    traffic: Vec<[Traffic; 2]>,
}

/// All counters of all servers per operation, by phase and subject. A file that cannot be read
/// costs its own values.
pub(crate) fn counted(results: &Results, slices: &[StoredSlice], design: &Design) -> Vec<Counted> {
    let mut sums: BTreeMap<(u32, &str, &str), Sum> = BTreeMap::new();
    let measured = slices.iter().filter(|stored| stored.slice.state == SliceState::Measured);
    for stored in measured {
        let Ok(Some(change)) = change(results, stored) else { continue };
        let slice = &stored.slice;
        let key = (slice.position, slice.phase.as_str(), slice.subject.as_str());
        let sum = sums.entry(key).or_default();
        sum.operations += analysis::operations(slice, &design.facts(&slice.phase));
        sum.traffic.push([of_processes(slice), of_device(slice)]);
        for (name, [start, end]) in change.counters {
            *sum.counters.entry(name).or_default() += end - start;
        }
    }
    let counted = sums.into_iter().filter(|(_, sum)| sum.operations > 0.0);
    let counted = counted.map(|((_, phase, subject), sum)| {
        let Sum { operations, counters, traffic } = sum;
        let per_op = counters.into_iter().map(|(name, moved)| (name, moved / operations));
        let [processes, device] = [0, 1].map(|which| {
            // A sum without one of the slices is none.
            let of = |part: fn(&Traffic) -> Option<f64>| {
                let all: Option<f64> = traffic.iter().map(|both| part(&both[which])).sum();
                all.map(|moved| moved / operations)
            };
            Traffic {
                reads: of(|one| one.reads),
                read_kib: of(|one| one.read_kib),
                writes: of(|one| one.writes),
                write_kib: of(|one| one.write_kib),
            }
        });
        Counted {
            phase: phase.to_owned(),
            subject: subject.to_owned(),
            per_op: per_op.collect(),
            processes,
            device,
        }
    });
    counted.collect()
}

/// What the server's processes read and wrote in a slice.
fn of_processes(slice: &SliceRecord) -> Traffic {
    let kib = |counter| moved(slice, Scope::Server, counter).map(|bytes| bytes / 1024.0);
    Traffic { read_kib: kib("read_bytes"), write_kib: kib("write_bytes"), ..Traffic::default() }
}

/// What the block device did meanwhile.
fn of_device(slice: &SliceRecord) -> Traffic {
    let of = |counter| moved(slice, Scope::Device, counter);
    Traffic {
        reads: of("device_reads"),
        read_kib: of("device_read_kib"),
        writes: of("device_writes"),
        write_kib: of("device_write_kib"),
    }
}

fn moved(slice: &SliceRecord, scope: Scope, counter: &str) -> Option<f64> {
    let is_it = |one: &&Reading| one.scope == scope && one.counter == counter;
    slice.readings.iter().find(is_it).map(Reading::delta)
}
