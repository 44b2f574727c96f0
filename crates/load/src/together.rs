//! Statements of maintenance that several connections execute at the same time.

use crate::{Error, protocol, wire::Session};
use model::drive::{Endpoint, Target};
use std::thread;

/// Executes each list on a connection of its own, all at once, and gives what the server refused of
/// each: a list ends with that. Fails if a connection cannot be opened or is lost; the other lists
/// end first.
pub(crate) fn execute(
    target: &Target,
    lists: &[Vec<String>],
) -> Result<Vec<Option<String>>, Error> {
    each(target, lists, |session, list| all(session, list))
}

/// Does the same with each item on a connection of its own, all at once, or one after the other
/// where they write to a file. Fails with the first that does, when all have ended.
pub(crate) fn each<T: Sync, R: Send>(
    target: &Target,
    items: &[T],
    work: impl Fn(&mut dyn Session, &T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let open = |_: &T| protocol::open(target).map_err(Error::server("cannot open a session"));
    // A file has one writer: the others would wait for it, and be refused after a while.
    if let Endpoint::File(_) = target.endpoint {
        return items.iter().map(|item| work(open(item)?.as_mut(), item)).collect();
    }
    let sessions: Vec<_> = items.iter().map(open).collect::<Result<_, _>>()?;
    let work = &work;
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = items
            .iter()
            .zip(sessions)
            .map(|(item, mut session)| scope.spawn(move || work(session.as_mut(), item)))
            .collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let ended = || Error::Schema("a maintenance thread ended early".to_owned());
    results.into_iter().map(|result| result.unwrap_or_else(|_| Err(ended()))).collect()
}

/// The statements of one list, up to the first that is refused.
fn all(session: &mut dyn Session, list: &[String]) -> Result<Option<String>, Error> {
    for sql in list {
        if let Err(error) = session.query(sql) {
            let error = Error::server(format!("`{sql}` failed"))(error);
            return if error.lost() { Err(error) } else { Ok(Some(error.to_string())) };
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicU32, Ordering::SeqCst},
        time::Duration,
    };

    #[test]
    fn a_file_has_one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::File(folder.path().join("db"));
        let target = Target::of("sqlite", endpoint);
        let writers = AtomicU32::new(0);
        let others = each(&target, &[1, 2, 3], |_, _| {
            let others = writers.fetch_add(1, SeqCst);
            // Long enough for another thread to come in.
            thread::sleep(Duration::from_millis(20));
            writers.fetch_sub(1, SeqCst);
            Ok(others)
        });
        assert_eq!(others.unwrap(), [0, 0, 0]);
    }
}
