//! What a server counts of itself, read right before and right after the measured window: its
//! readings are then those of the window's operations, and what reading costs is in no counter.

use crate::{Error, instruments::Artefact, server::Instance};
use dbms::{StateForm, StateQuery};
use model::{
    drive::{Command, Reply},
    state::{FILE, StateChange},
};
use std::collections::BTreeMap;

/// Longest report that a record keeps, bytes.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// The state at one moment.
#[derive(Debug, Default)]
pub(super) struct State {
    counters: BTreeMap<String, f64>,
    texts: BTreeMap<String, String>,
}

/// Asks the server; what it cannot tell is missing.
pub(super) fn read(instance: &mut Instance) -> Result<State, Error> {
    let mut state = State::default();
    let queries = instance.product.state(&instance.config);
    if queries.is_empty() {
        return Ok(state);
    }
    match instance.driver.ask(&Command::Publish) {
        Ok(Reply::Done) | Err(Error::Sql { lost: false, .. }) => {}
        Ok(other) => return Err(crate::server::unexpected("publish", &other)),
        Err(error) => return Err(error),
    }
    // A report of a server that others use has their statements in it, values and all.
    let is_attached = instance.is_attached();
    let may_be_kept = |query: &&StateQuery| !(is_attached && query.form == StateForm::Text);
    for query in queries.iter().filter(may_be_kept) {
        let rows = match instance.driver.query(query.sql) {
            Err(Error::Sql { lost: false, .. }) => continue,
            other => other?,
        };
        match query.form {
            StateForm::Counters => state.counters.extend(counters(query.group, rows)),
            StateForm::Text => {
                let last = rows.into_iter().next().and_then(|mut row| row.pop()).flatten();
                let text = last.filter(|text| text.len() <= TEXT_BYTES_MAX);
                state.texts.extend(text.map(|text| (query.group.to_owned(), text)));
            }
        }
    }
    Ok(state)
}

/// The rows that are a name and a number.
fn counters(
    group: &str,
    rows: Vec<Vec<Option<String>>>,
) -> impl Iterator<Item = (String, f64)> + '_ {
    rows.into_iter().filter_map(move |mut row| {
        let value: f64 = row.pop()??.trim().parse().ok()?;
        let name = row.into_iter().next()??;
        value.is_finite().then(|| (format!("{group}.{name}"), value))
    })
}

/// What moved between two moments, as a file of the record; none where the server tells nothing.
pub(super) fn artefact(before: State, after: State) -> Option<Artefact> {
    if after.counters.is_empty() {
        return None;
    }
    let moved = after.counters.into_iter().filter_map(|(name, end)| {
        // A file that was not there has counted nothing.
        let new_file = name.starts_with("file.").then_some(0.0);
        let start = before.counters.get(&name).copied().or(new_file)?;
        (start != end).then_some((name, [start, end]))
    });
    let change = StateChange { counters: moved.collect(), texts: after.texts };
    let bytes = serde_json::to_vec(&change).ok()?;
    Some(Artefact { name: FILE.to_owned(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_moved_are_kept() {
        let row =
            |name: &str, value: Option<&str>| vec![Some(name.to_owned()), value.map(str::to_owned)];
        let state = |reads: &str| {
            let rows = vec![
                row("reads", Some(reads)),
                row("still", Some("5")),
                row("text", Some("ON")),
                row("nothing", None),
                Vec::new(),
            ];
            let texts = BTreeMap::from([("innodb".to_owned(), reads.to_owned())]);
            State { counters: counters("status", rows).collect(), texts }
        };
        let found = artefact(state("7"), state(" 9.5")).unwrap();
        let change: StateChange = serde_json::from_slice(&found.bytes).unwrap();
        assert_eq!(change.counters, BTreeMap::from([("status.reads".to_owned(), [7.0, 9.5])]));
        assert_eq!(change.texts["innodb"], " 9.5");
        assert_eq!(artefact(State::default(), State::default()), None);
        let later = [("file.new.writes".to_owned(), 3.0), ("status.new".to_owned(), 4.0)];
        let later = State { counters: later.into(), texts: BTreeMap::new() };
        let found = artefact(State::default(), later).unwrap();
        let change: StateChange = serde_json::from_slice(&found.bytes).unwrap();
        assert_eq!(change.counters, BTreeMap::from([("file.new.writes".to_owned(), [0.0, 3.0])]));
    }
}
