//! Phases whose workload has roles that say themselves when they end: their connections, and their
//! work cut into pieces, so that the interleaved design can alternate them.

use crate::{Error, run::Run};
use model::{
    Parameters,
    drive::{Assignment, StretchEnd},
    expression::Expression,
    plan::Phase,
    workload::{Role, RoleEnd, Workload},
};

/// Measured connections of a phase.
pub(crate) fn connections(run: &Run<'_>, phase: &Phase) -> Result<u32, Error> {
    let workload = &run.plan.workloads[phase.workload];
    let count = workload
        .connections(&phase.parameters)
        .map_err(|error| impossible(&phase.name, &error.to_string()))?;
    // An arrival or a rule of the suite may ask for another number than the factor's.
    let count = if workload.roles.is_empty() { i64::from(phase.clients) } else { count };
    u32::try_from(count).map_err(|_| impossible(&phase.name, &format!("{count} connections")))
}

/// The role, by its place, that each connection plays; in the order of the connections.
pub(crate) fn players(workload: &Workload, parameters: &Parameters) -> Vec<usize> {
    let clients = workload.roles.iter().map(|role| role.clients.evaluate(parameters).unwrap_or(0));
    clients.enumerate().flat_map(|(role, clients)| (0..clients).map(move |_| role)).collect()
}

/// Whether the roles of a phase's workload say when it ends.
pub(crate) fn end_themselves(run: &Run<'_>, phase: usize) -> bool {
    run.plan.workloads[run.plan.phases[phase].workload].ends_by_roles()
}

/// When a measured stretch of a phase ends: as its roles say, or as the design does.
pub(crate) fn end(workload: &Workload, otherwise: StretchEnd) -> StretchEnd {
    if workload.ends_by_roles() { StretchEnd::Roles } else { otherwise }
}

/// Part `index` of `of` equal parts of an assignment's work: each role ends after its share, and
/// the shares add up to the whole exactly.
pub(crate) fn piece(whole: &Assignment, index: u64, of: u64) -> Result<Assignment, Error> {
    let mut part = whole.clone();
    for role in &mut part.workload.roles {
        share(role, &whole.parameters, index, of.max(1))
            .map_err(|reason| impossible(&whole.workload.name, &reason))?;
    }
    Ok(part)
}

fn share(role: &mut Role, parameters: &Parameters, index: u64, of: u64) -> Result<(), String> {
    let part = |end: &Expression| -> Result<Expression, String> {
        let whole = end.evaluate(parameters).map_err(|error| error.to_string())?;
        let whole = i128::from(whole);
        let until = |n: u64| whole * i128::from(n) / i128::from(of);
        let part = until(index + 1) - until(index);
        i64::try_from(part).map(Expression::from).map_err(|error| error.to_string())
    };
    role.end = match &role.end {
        RoleEnd::Operations(end) => RoleEnd::Operations(part(end)?),
        RoleEnd::Rows(end) => RoleEnd::Rows(part(end)?),
        RoleEnd::Seconds(end) => RoleEnd::Seconds(part(end)?),
        RoleEnd::With(name) => RoleEnd::With(name.clone()),
    };
    Ok(())
}

fn impossible(name: &str, reason: &str) -> Error {
    Error::Preflight(format!("`{name}` cannot be executed: {reason}; change its roles"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::workload::RoleArrival;

    fn role(end: RoleEnd) -> Role {
        Role {
            name: "insert".to_owned(),
            ops: vec!["insert".to_owned()],
            clients: Expression::new("clients"),
            arrival: RoleArrival::Closed,
            end,
            pair: None,
        }
    }

    #[test]
    fn pieces_add_up_to_the_whole() {
        let parameters = Parameters::from([("total".to_owned(), 103)]);
        let mut sum = 0;
        for index in 0..10 {
            let mut part = role(RoleEnd::Rows(Expression::new("total * 2")));
            share(&mut part, &parameters, index, 10).unwrap();
            let RoleEnd::Rows(rows) = part.end else { panic!("another end") };
            let rows = rows.evaluate(&Parameters::new()).unwrap();
            assert!((20..=21).contains(&rows), "{rows}");
            sum += rows;
        }
        assert_eq!(sum, 206);
    }

    #[test]
    fn connections_are_played_in_the_order_of_the_roles() {
        let mut workload = crate::testing::workload();
        let readers = Role { clients: Expression::new("2"), ..role(RoleEnd::With(String::new())) };
        workload.roles = vec![role(RoleEnd::With(String::new())), readers];
        let parameters = Parameters::from([("clients".to_owned(), 3)]);
        assert_eq!(players(&workload, &parameters), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_role_that_follows_another_still_does() {
        let mut part = role(RoleEnd::With("insert".to_owned()));
        share(&mut part, &Parameters::new(), 1, 4).unwrap();
        assert_eq!(part.end, RoleEnd::With("insert".to_owned()));
    }
}
