//! Whether the numbers of an experiment fit the coded transactions that get them.

use crate::{
    Draft, Workload,
    error::{Error, Location},
    layers::Layers,
};
use model::{
    coded::{self, Misfit, Server, Transactions},
    plan::{Phase, PhaseKind},
    quoted,
    subject::Subject,
};

/// Refuses numbers of the experiment's `parameters` that its coded transactions cannot have, before
/// anything is made from them.
pub(crate) fn check_given(workloads: &[Workload], layers: &Layers) -> Result<(), Error> {
    for transactions in workloads.iter().filter_map(Workload::transactions) {
        transactions.check(&layers.wire.parameters).map_err(|misfit| Error::Invalid {
            place: layers.place(&["parameters", misfit.parameter]),
            reason: misfit.reason,
        })?;
    }
    Ok(())
}

/// Refuses phases whose numbers do not fit their clients, their tables or the servers.
pub(crate) fn check_phases(
    draft: &Draft,
    phases: &[Phase],
    subjects: &[Subject],
) -> Result<(), Error> {
    let executed =
        phases.iter().filter(|phase| matches!(phase.kind, PhaseKind::Measure | PhaseKind::Warmup));
    for phase in executed {
        let coded = phase.script.coded.as_ref();
        let Some(transactions) = coded.and_then(|coded| coded::find(&coded.name)) else { continue };
        let parameters = &phase.parameters;
        let mut servers = subjects.iter().map(server);
        transactions
            .check(parameters)
            .and_then(|()| transactions.check_clients(parameters, phase.script.connections()))
            .and_then(|()| scaled(draft, phase, transactions))
            .and_then(|()| servers.try_for_each(|one| transactions.check_server(parameters, one)))
            .map_err(|Misfit { parameter, reason }| Error::Invalid {
                place: place(draft, parameter),
                reason: format!("the phase `{}`: {reason}", phase.name),
            })?;
    }
    Ok(())
}

/// What a subject executes. A build of the user's own may have no version that is known.
fn server(subject: &Subject) -> Server<'_> {
    Server { product: &subject.build.server, version: &subject.build.version }
}

/// The transactions and the tables have the same scale.
fn scaled(draft: &Draft, phase: &Phase, transactions: &Transactions) -> Result<(), Misfit> {
    let parameter = transactions.scale.parameter;
    let name = transactions.scaled_table(&phase.parameters);
    let Some(schema) = draft.schemas.iter().find(|schema| schema.name == phase.script.schema)
    else {
        return Ok(());
    };
    let Some(table) = schema.tables.iter().find(|one| one.name == name) else {
        let known = quoted(schema.tables.iter().map(|table| &table.name));
        let reason = format!("there is no table `{name}`; the schema has {known}");
        return Err(Misfit { parameter, reason });
    };
    let loaded = table.coded.iter().flat_map(|coded| &coded.parameters);
    let other = |(name, loaded): (&String, &i64)| {
        let value = phase.parameters.get(name).filter(|value| *value != loaded)?;
        let number = transactions.numbers.iter().find(|number| number.name == name)?;
        Some(Misfit {
            parameter: number.name,
            reason: format!(
                "`{name}` is {value} and the tables are loaded with {loaded}; \
                 set `parameters.{name}` in the experiment"
            ),
        })
    };
    if let Some(misfit) = loaded.filter_map(other).next() {
        return Err(misfit);
    }
    let rows = i64::try_from(table.rows).ok();
    match (rows, phase.parameters.get(parameter)) {
        (Some(rows), Some(value)) if rows != *value => {
            let reason = format!(
                "`{parameter}` is {value} and the tables are loaded with {rows}; \
                 set `parameters.{parameter}` in the experiment"
            );
            Err(Misfit { parameter, reason })
        }
        _ => Ok(()),
    }
}

/// Where a parameter gets its value.
fn place(draft: &Draft, parameter: &str) -> Location {
    if draft.levels(parameter).is_some() {
        draft.places.of(&["factors", parameter])
    } else if draft.parameters.contains_key(parameter) {
        draft.places.of(&["parameters", parameter])
    } else {
        draft.places.of(&["suite"])
    }
}
