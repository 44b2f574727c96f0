//! The values of a suite: its defaults, a preset over them, the experiment over both.

use crate::{
    Suite,
    error::{Error, Location},
    layers::Layers,
    suggest,
};
use model::{Parameters, experiment::Experiment, expression::Expression};
use std::collections::BTreeMap;

/// What a suite and its preset say about an experiment.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// Rows of each table, where the experiment does not say it.
    pub(crate) rows: Option<u64>,
    /// Level of `clients` for an experiment without that factor.
    pub(crate) clients: Option<i64>,
    /// Number of tables over `clients`.
    pub(crate) tables: Option<Expression>,
    /// Parameters of the suite in order, with the expression that holds.
    pub(crate) parameters: Vec<(String, Expression)>,
}

/// The suite's values under the experiment's `preset` and `parameters`.
///
/// Errors: an unknown preset, or a number of rows or clients below 1.
pub(crate) fn choose(layers: &Layers, suite: &Suite) -> Result<Chosen, Error> {
    let place = layers.place(&["preset"]);
    let none = BTreeMap::new();
    let values = match &layers.wire.preset {
        None => &none,
        Some(name) => match suite.presets.get(name) {
            Some(preset) => &preset.values,
            None => {
                let hint = suggest::hint(name, suite.presets.keys().map(String::as_str));
                let (what, name) = ("preset of the suite", name.clone());
                return Err(Error::UnknownName { place, what, name, hint });
            }
        },
    };
    let constant = |key: &str| -> Result<Option<i64>, Error> {
        let Some(expression) = values.get(key) else { return Ok(None) };
        match expression.evaluate(&Parameters::new()) {
            Ok(value) if value >= 1 => Ok(Some(value)),
            Ok(value) => {
                let reason = format!("the preset's `{key}` is {value}; it must be at least 1");
                Err(Error::Invalid { place: place.clone(), reason })
            }
            Err(source) => Err(Error::Expression { place: place.clone(), source }),
        }
    };
    let parameter = |(name, default): &(String, Expression)| {
        let given = layers.wire.parameters.get(name).map(|value| Expression::from(*value));
        let value = given.or_else(|| values.get(name).cloned());
        (name.clone(), value.unwrap_or_else(|| default.clone()))
    };
    Ok(Chosen {
        rows: constant("rows")?.and_then(|rows| u64::try_from(rows).ok()),
        clients: constant("clients")?,
        tables: suite.tables.clone(),
        parameters: suite.parameters.iter().map(parameter).collect(),
    })
}

/// What expressions of a suite may name: `rows`, `tables`, `clients` and the suite's parameters,
/// with the first level of `clients`.
///
/// Errors: an expression without a value.
pub(crate) fn scope(
    experiment: &Experiment,
    parameters: &[(String, Expression)],
) -> Result<Parameters, Error> {
    let mut factors = experiment.factors.iter();
    let clients = factors.find(|factor| factor.name == "clients");
    let first = clients.and_then(|factor| factor.levels.first());
    let clients = first.and_then(|level| level.parse().ok()).unwrap_or(1);
    scope_at(experiment, parameters, clients)
}

/// The same at a level of `clients`.
pub(crate) fn scope_at(
    experiment: &Experiment,
    parameters: &[(String, Expression)],
    clients: i64,
) -> Result<Parameters, Error> {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let mut scope = Parameters::from([
        ("tables".to_owned(), number(experiment.tables)),
        ("rows".to_owned(), number(experiment.rows)),
        ("clients".to_owned(), clients),
    ]);
    for (name, expression) in parameters {
        let value = expression
            .evaluate(&scope)
            .map_err(|source| Error::Expression { place: Location::default(), source })?;
        scope.insert(name.clone(), value);
    }
    Ok(scope)
}
