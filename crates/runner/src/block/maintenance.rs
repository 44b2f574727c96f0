//! Maintenance after writes: statements that start pending background work, and the wait for it.

use crate::{
    Error,
    host::capacity::TABLES_AT_ONCE,
    run::Run,
    server::{Instance, Patience, tables, unexpected},
    trial::Trial,
};
use dbms::{Failure, Maintenance, product::Dbms};
use model::{
    drive::{Command, Reply},
    plan::{PhaseKind, Settle},
};
use std::time::{Duration, Instant};

/// What stands for a table in statements that are executed for each.
const OF_TABLES: &str = "{table}";

/// How long maintenance takes, from its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// At least, even if all background work is done earlier.
    pub(crate) floor: Duration,
    /// At most; at least the floor.
    pub(crate) ceiling: Duration,
    /// Up to the ceiling, which covers statements and background work; or as long as statements
    /// take, and then while background work shrinks.
    pub(crate) patience: Patience,
}

/// The result of maintenance.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Pending work at the start, one entry per kind that the server knows.
    before: Vec<String>,
    /// Pending work at the end.
    after: Vec<String>,
    /// Pending work above its floor at the end.
    pub(crate) left: Vec<String>,
    /// Statements that were refused or cut off, and are reported.
    pub(crate) refused: Vec<String>,
    /// Whether statements were cut off at the ceiling.
    cut: bool,
    /// How long the wait for background work took.
    condition: Duration,
}

impl Settled {
    /// The mark of slices after the phase `name`, if not all went well.
    fn mark(&self, name: &str, ceiling: Duration) -> Option<String> {
        if !self.left.is_empty() {
            return Some(format!("background work pending after `{name}`"));
        }
        self.hit(ceiling).then(|| format!("`{name}` reached its maximum wait"))
    }

    fn hit(&self, ceiling: Duration) -> bool {
        self.cut || self.condition > ceiling
    }

    /// One line for the record.
    fn told(&self, limits: Limits) -> String {
        let how = match (self.left.as_slice(), self.hit(limits.ceiling)) {
            ([], false) => "all background work done".to_owned(),
            ([], true) => "maximum wait reached, and all background work done".to_owned(),
            (left, true) => {
                format!("maximum wait reached with background work pending ({})", left.join(", "))
            }
            (left, false) => format!("background work pending ({})", left.join(", ")),
        };
        format!(
            "{how} after {:.1} s; minimum {:.0} s, maximum {:.0} s; pending before: {}; pending \
             after: {}",
            self.condition.as_secs_f64(),
            limits.floor.as_secs_f64(),
            limits.ceiling.as_secs_f64(),
            self.before.join(", "),
            self.after.join(", ")
        )
    }
}

/// A settle phase of one subject: recorded, and marked if work is pending or the ceiling was hit.
pub(crate) fn phase(run: &mut Run<'_>, trial: &mut Trial, phase: usize) -> Result<(), Error> {
    let servers = run.plan.phases[phase].settle.iter().flat_map(|settle| &settle.servers);
    let servers: Vec<&String> = servers.collect();
    if !servers.is_empty() && !servers.contains(&&run.subject(trial.subject).build.server) {
        return Ok(());
    }
    let clients = u32::try_from(trial.instance.connections.len()).unwrap_or(1);
    if is_pointless(run, trial, phase) || !trial.recover(clients)? {
        return Ok(());
    }
    let settled = recorded(run, trial, phase);
    trial.keep_apart(settled).map(drop)
}

/// Whether later phases are refused, because the tables may lack indexes.
fn is_pointless(run: &Run<'_>, trial: &Trial, phase: usize) -> bool {
    let rest = run.plan.phases[phase..].iter().filter(|phase| phase.kind != PhaseKind::Settle);
    let mut schemas = rest.map(|phase| &phase.script.schema);
    !trial.unindexed.is_empty() && schemas.all(|schema| trial.unindexed.contains_key(schema))
}

fn recorded(run: &mut Run<'_>, trial: &mut Trial, phase: usize) -> Result<(), Error> {
    let about = &run.plan.phases[phase];
    let as_long = Settle {
        floor_seconds: about.seconds,
        ceiling_seconds: about.seconds,
        servers: Vec::new(),
    };
    let settle = about.settle.as_ref().unwrap_or(&as_long);
    let floor = settle.floor_seconds.max(0.0);
    let limits = Limits {
        floor: Duration::from_secs_f64(floor),
        ceiling: Duration::from_secs_f64(settle.ceiling_seconds.max(floor)),
        patience: Patience::ToTheCeiling,
    };
    run.step(&format!("{}: maintenance, at least {floor:.0} s", trial.header.subject));
    let start = Instant::now();
    let subject = trial.subject;
    let settled = trial.instance.thawed(|instance| settle_now(run, subject, instance, limits))?;
    for refused in &settled.refused {
        let warning = format!("maintenance: {refused}");
        trial.event("warning", &warning, None)?;
        run.warn(&format!("{}: {warning}", trial.header.subject));
    }
    trial.marks.extend(settled.mark(&about.name, limits.ceiling));
    trial.event("settled", &settled.told(limits), Some(start.elapsed().as_secs_f64()))
}

/// Makes the server finish pending background work. As published, faster flushing stays on for the
/// minimum wait. Then the settings are restored, and the remaining work is recorded.
pub(crate) fn settle_now(
    run: &Run<'_>,
    subject: usize,
    instance: &mut Instance,
    limits: Limits,
) -> Result<Settled, Error> {
    let start = Instant::now();
    let about = &run.plan.subjects[subject];
    let product = dbms::find(&about.build.server)?;
    let mut settled = Settled { before: instance.owed()?, ..Settled::default() };
    let version = instance.server_version.clone();
    let tables = tables::found(run, instance)?;
    // On a server of somebody else only the tables are ours.
    let is_ours = |one: &Maintenance| about.build.attach.is_none() || one.sql.contains(OF_TABLES);
    let mut statements = product.settle_sql(&about.config, &version);
    statements.retain(is_ours);
    let end = (limits.patience == Patience::ToTheCeiling).then(|| start + limits.ceiling);
    let work = Work { product, version, tables, end };
    work.execute(instance, &statements, &mut settled)?;
    let rest = work.rest().unwrap_or(limits.ceiling);
    settled.left = instance.drain(rest, limits.patience)?;
    settled.condition = start.elapsed();
    if settled.condition < limits.floor {
        run.stop.sleep(limits.floor.saturating_sub(settled.condition))?;
        settled.left = instance.drain(Duration::ZERO, Patience::WhilePaying)?;
    }
    for statement in product.unsettle_sql(&about.config).iter().filter(|one| is_ours(one)) {
        if let (Some(refusal), Failure::Breaks) = (one(instance, statement.sql)?, statement.failure)
        {
            return Err(Error::Sql { message: refusal, lost: false });
        }
    }
    settled.after = instance.owed()?;
    Ok(settled)
}

/// Statements, and when they have to end.
struct Work {
    product: &'static dyn Dbms,
    version: String,
    tables: Vec<String>,
    end: Option<Instant>,
}

impl Work {
    fn rest(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Executes them in order, until one is cut off.
    fn execute(
        &self,
        instance: &mut Instance,
        statements: &[Maintenance],
        settled: &mut Settled,
    ) -> Result<(), Error> {
        for statement in statements {
            for refusal in self.refusals(instance, statement)? {
                settled.cut |= self.rest().is_some_and(|rest| rest.is_zero());
                match statement.failure {
                    _ if settled.cut => settled.refused.push(format!("{refusal} (cut off)")),
                    Failure::Breaks => {
                        return Err(Error::Sql { message: refusal, lost: false });
                    }
                    Failure::Recorded => settled.refused.push(refusal),
                    Failure::Expected => {}
                }
            }
            if settled.cut {
                break;
            }
        }
        self.product
            .limit_sql(&self.version, None)
            .map_or(Ok(()), |sql| one(instance, &sql).map(drop))
    }

    /// Executes one statement, or one for each table at the same time.
    fn refusals(
        &self,
        instance: &mut Instance,
        statement: &Maintenance,
    ) -> Result<Vec<String>, Error> {
        let limit = self.rest().and_then(|rest| self.product.limit_sql(&self.version, Some(rest)));
        if !statement.is_per_table() {
            if let Some(limit) = limit {
                one(instance, &limit)?;
            }
            return Ok(one(instance, statement.sql)?.into_iter().collect());
        }
        let list = |table: &String| -> Vec<String> {
            let sql = statement.sql.replace("{table}", table);
            limit.iter().cloned().chain([sql]).collect()
        };
        let mut refusals = Vec::new();
        for tables in self.tables.chunks(TABLES_AT_ONCE) {
            let command = Command::Together { lists: tables.iter().map(list).collect() };
            match instance.driver.ask(&command)? {
                Reply::Together(refused) => refusals.extend(refused.into_iter().flatten()),
                other => return Err(unexpected("together", &other)),
            }
        }
        Ok(refusals)
    }
}

/// Executes a statement on the control connection and gives why the server refused it, if it did.
fn one(instance: &mut Instance, sql: &str) -> Result<Option<String>, Error> {
    match instance.driver.query(sql) {
        Ok(_) => Ok(None),
        Err(Error::Sql { message, lost: false }) => Ok(Some(message)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_that_was_hit_is_never_told_as_paid() {
        let limits = Limits {
            floor: Duration::from_secs(5),
            ceiling: Duration::from_secs(20),
            patience: Patience::ToTheCeiling,
        };
        let check = |seconds, cut, left: &[&str], told: &str, mark: Option<&str>| {
            let settled = Settled {
                left: left.iter().map(|debt| (*debt).to_owned()).collect(),
                cut,
                condition: Duration::from_secs(seconds),
                ..Settled::default()
            };
            assert!(settled.told(limits).starts_with(told), "{}", settled.told(limits));
            assert_eq!(settled.mark("settle", limits.ceiling).as_deref(), mark);
        };
        let (left, hit) = (
            "background work pending after `settle`",
            "`settle` reached its \
            maximum wait",
        );
        check(
            20,
            false,
            &[],
            "all background work done after 20.0 s; minimum 5 s, maximum 20 s",
            None,
        );
        // A statement that nothing could end.
        check(3600, false, &[], "maximum wait reached, and all background work done", Some(hit));
        check(20, true, &[], "maximum wait reached, and all background work done", Some(hit));
        check(
            21,
            false,
            &["dirty_pages 7"],
            "maximum wait reached with background work pending \
            (d",
            Some(left),
        );
        check(2, false, &["dirty_pages 7"], "background work pending (dirty", Some(left));
    }
}
