//! Whether the counts and lengths of an experiment are within their limits.

use crate::{
    error::Error,
    layers::Layers,
    limits::{AGE_MAX, COUNT_MAX, ROWS_MAX, SECONDS_MAX},
    suggest,
    wire::percent::Percent,
};
use model::{
    experiment::{CONDITIONS, Experiment},
    margins::Margins,
};

/// Fewest blocks that a run is judged after: fewer decide nothing.
const FIRST_LOOK: u32 = 4;

/// The looks below the number of blocks, and this number as the last one; none if none are asked
/// for.
pub(crate) fn looks(asked: &[u32], blocks: u32, layers: &Layers) -> Result<Vec<u32>, Error> {
    let ascend = asked.windows(2).all(|pair| pair[0] < pair[1]);
    if asked.first().is_some_and(|first| *first < FIRST_LOOK) || !ascend {
        let reason = format!(
            "`looks` must be ascending numbers of blocks from {FIRST_LOOK} on, for example \
             `looks = [4, 8, 16]`"
        );
        return Err(Error::Invalid { place: layers.place(&["looks"]), reason });
    }
    if asked.is_empty() || blocks < FIRST_LOOK {
        return Ok(Vec::new());
    }
    Ok(asked.iter().copied().filter(|look| *look < blocks).chain([blocks]).collect())
}

/// Largest change that may be called none, percent.
const MARGIN_MAX: f64 = 100.0;

/// The margins that an experiment asks for: above what a load or a link alone may change.
pub(crate) fn margins(layers: &Layers) -> Result<Margins, Error> {
    let mut margins = Margins::default();
    for (quantity, Percent(percent)) in &layers.wire.decide {
        let name = quantity.name();
        let margin = 1.0 + percent / 100.0;
        if margin <= quantity.floor() || *percent > MARGIN_MAX {
            let floor = (quantity.floor() - 1.0) * 100.0;
            let reason = format!(
                "`{name}` must be above {floor:.1} %, which loading the data again or linking the \
                 same code may change, and at most {MARGIN_MAX} %, not {percent} %"
            );
            return Err(Error::Invalid { place: layers.place(&["decide", name]), reason });
        }
        margins.asked.insert(*quantity, margin);
    }
    Ok(margins)
}

/// Refuses counts and lengths that are 0 or beyond use.
pub(crate) fn check(experiment: &Experiment, layers: &Layers) -> Result<(), Error> {
    let counts = [
        ("blocks", u64::from(experiment.blocks), COUNT_MAX),
        ("loads", u64::from(experiment.loads), COUNT_MAX),
        ("rounds", u64::from(experiment.rounds), COUNT_MAX),
        ("at_once", u64::from(experiment.at_once), COUNT_MAX),
        ("tables", experiment.tables, COUNT_MAX),
        ("rows", experiment.rows, ROWS_MAX / experiment.tables.clamp(1, COUNT_MAX)),
    ];
    let invalid =
        |key: &str, reason: String| Error::Invalid { place: layers.place(&[key]), reason };
    for (key, value, most) in counts {
        if value == 0 || value > most {
            let of_tables = match (key, experiment.tables) {
                ("rows", 2..) => format!(" in each of {} tables", experiment.tables),
                _ => String::new(),
            };
            let reason = format!(
                "`{key}`{of_tables} must be a whole number from 1 to {most}, not `{value}`"
            );
            return Err(invalid(key, reason));
        }
    }
    if experiment.loads > experiment.blocks {
        let (loads, blocks) = (experiment.loads, experiment.blocks);
        let reason = format!(
            "`loads` is {loads} and `blocks` is {blocks}; each load needs at least one block"
        );
        return Err(invalid("loads", reason));
    }
    let lengths = [
        ("slice_seconds", experiment.slice_seconds, 0.01),
        ("read_seconds", experiment.read_seconds, 0.01),
        ("write_seconds", experiment.write_seconds, 0.01),
        ("warmup_seconds", experiment.warmup_seconds, 0.0),
    ];
    for (key, value, least) in lengths {
        if !(least..=SECONDS_MAX).contains(&value) {
            let reason = format!(
                "`{key}` must be from {least} to {SECONDS_MAX} seconds (a week), not `{value}`"
            );
            return Err(invalid(key, reason));
        }
    }
    if !(0.0..=AGE_MAX).contains(&experiment.age) {
        let reason = format!(
            "`age` must be from 0 to {AGE_MAX} operations per row, not `{}`",
            experiment.age
        );
        return Err(invalid("age", reason));
    }
    let known = |key: &str, what, names: &[String], known: &[&str]| {
        let Some(at) = names.iter().position(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let place = layers.place(&[key, &at.to_string()]);
        let (name, hint) = (names[at].clone(), suggest::hint(&names[at], known.iter().copied()));
        Err(Error::UnknownName { place, what, name, hint })
    };
    known("require", "requirement", &experiment.require, &["perf"])?;
    known("accept", "condition", &experiment.accept, CONDITIONS)
}
