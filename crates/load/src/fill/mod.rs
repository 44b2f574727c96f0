//! Bulk load: creates the tables of a schema, fills them with deterministic rows and builds the
//! indexes.
//!
//! The rows depend on the job's seed, the table's number and the row's number alone, so any number
//! of threads on any server loads the same. Four phases follow each other on the same sessions:
//! rows, indexes, finishing statements, constraints; within a phase the sessions take tasks from
//! one list, and constraints are one task.

mod coded;
mod crew;
mod index;
mod plan;
mod rows;
#[cfg(test)]
mod tests;
mod tpcc;
mod tsbm;
mod tsbs;
mod vectors;

use crate::{
    Error, protocol,
    wire::{Destination, Failure, Loading, Session, Split},
};
use crew::Crew;
pub use index::index;
use model::drive::{LoadIndexes, LoadJob, LoadReport, Target};
use plan::{Lane, Loaded, TablePlan};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// What [`fill`] and [`index`] would refuse of `job` before they ask a server.
pub fn check(dialect: &str, job: &LoadJob) -> Result<(), Error> {
    plan::check_engine(dialect, job)?;
    plan::tables(dialect, job)?;
    plan::constraints(dialect, job).map(drop)
}

/// Creates and fills the tables of `job` on `target`. The tables must not exist. Fails if the
/// schema has nothing for the target's dialect, if a statement fails, or if a table did not get all
/// its rows.
pub fn fill(target: &Target, job: &LoadJob) -> Result<LoadReport, Error> {
    let tables = plan::tables(&target.protocol, job)?;
    let constraints = plan::constraints(&target.protocol, job)?;
    let mut control = protocol::open(target).map_err(Error::server("cannot open a session"))?;
    for table in &tables {
        for sql in &table.create {
            control.query(sql).map_err(Error::server(format!("cannot create `{}`", table.name)))?;
        }
    }
    let method = control
        .load_method(&job.engine)
        .map_err(Error::server("cannot find out how the server accepts rows"))?;
    let wanted = if method.split == Split::Nothing { 1 } else { job.threads.max(1) };
    let lanes = plan::lanes(&tables, method.split, wanted);
    let threads = wanted.min(u32::try_from(lanes.len()).unwrap_or(u32::MAX)).max(1);
    let load = Loading { engine: &job.engine, threads };
    let mut crew = Crew::open(target, control, threads)?;
    let mut report =
        LoadReport { threads, method: method.name.to_owned(), ..LoadReport::default() };

    let start = Instant::now();
    crew.each(|session| session.begin_load(&load))?;
    let rows = AtomicU64::new(0);
    crew.work(&lanes, |session, lane| {
        let loaded = load_lane(session, &tables[lane.table], *lane)?;
        rows.fetch_add(loaded, Ordering::Relaxed);
        Ok(())
    })?;
    crew.each(|session| session.end_rows(&load))?;
    report.rows = rows.into_inner();
    report.rows_seconds = start.elapsed().as_secs_f64();

    let start = Instant::now();
    if job.indexes == LoadIndexes::Created {
        crew.work(&tables, |session, table| execute(session, &table.name, &table.indexes))?;
    }
    crew.each(|session| session.end_load(&load))?;
    crew.work(&tables, |session, table| execute(session, &table.name, &table.finish))?;
    crew.work(&[constraints], |session, all| execute(session, &job.schema.name, all))?;
    report.index_seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// Loads a range of rows, one transaction after the other, and says how many they were.
fn load_lane(session: &mut dyn Session, table: &TablePlan, lane: Lane) -> Result<u64, Error> {
    let (name, ascii) = (&table.name, table.ascii());
    let into = Destination { table: name, columns: &table.columns, ascii };
    let (mut all, mut maker) = (0, None);
    for range in lane.transactions() {
        let Loaded { sent, stored } = table
            .load(session, &into, range, &mut maker)
            .map_err(referring)
            .map_err(Error::server(format!("cannot load rows into `{name}`")))?;
        if stored != sent {
            return Err(Error::Schema(format!(
                "table `{name}` stored `{stored}` of `{sent}` rows; \
                 compare its columns with the loaded values"
            )));
        }
        all += sent;
    }
    Ok(all)
}

/// The failure of a load, with what to do where rows refer to others that come later. SQLite, which
/// adds no constraints later, writes the words in capitals.
fn referring(failure: Failure) -> Failure {
    if !failure.message().contains("foreign key") {
        return failure;
    }
    failure.worded(|message| {
        format!(
            "{message}; write foreign keys between tables into `[constraints]`, which are added \
             when all rows are there"
        )
    })
}

fn execute(session: &mut dyn Session, on: &str, statements: &[String]) -> Result<(), Error> {
    for sql in statements {
        session.query(sql).map_err(Error::server(format!("`{sql}` on `{on}` failed")))?;
    }
    Ok(())
}
