//! Secondary indexes as a piece of work of their own: each statement is timed.

use super::plan::{self, IndexPlan};
use crate::{Error, together, wire::Session};
use model::drive::{IndexJob, IndexTime, Target};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Creates the indexes of `job` on `target`, where the tables are and the indexes are not: table
/// after table, the copies of one at the same time unless they are in a file, each on a connection
/// of its own with the server's own settings. The times come in the order of tables, copies and
/// statements. Fails with the first statement that does; the others of the same table that run end
/// first.
pub fn index(target: &Target, job: &IndexJob) -> Result<Vec<IndexTime>, Error> {
    let mut times = Vec::new();
    for copies in plan::indexes(&target.protocol, job) {
        let stop = AtomicBool::new(false);
        let created = together::each(target, &copies, |session, copy| create(session, copy, &stop));
        times.extend(created?.into_iter().flatten());
    }
    Ok(times)
}

/// Creates the indexes of one copy, unless another one has failed.
fn create(
    session: &mut dyn Session,
    copy: &IndexPlan,
    stop: &AtomicBool,
) -> Result<Vec<IndexTime>, Error> {
    let mut times = Vec::with_capacity(copy.statements.len());
    for sql in copy.statements.iter().take_while(|_| !stop.load(Ordering::Relaxed)) {
        let start = Instant::now();
        if let Err(error) = session.query(sql) {
            stop.store(true, Ordering::Relaxed);
            let context = format!("`{sql}` on `{}` failed", copy.table);
            return Err(Error::server(context)(error));
        }
        times.push(IndexTime { sql: sql.clone(), seconds: start.elapsed().as_secs_f64() });
    }
    Ok(times)
}
