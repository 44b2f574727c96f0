//! Statements of maintenance that several connections execute at the same time.

use crate::{
    Error,
    session::{self, Session},
};
use model::drive::Target;
use std::thread;

/// Executes each list on a connection of its own, all at once, and gives what the server refused of
/// each: a list ends with that. Fails if a connection cannot be opened or is lost; the other lists
/// end first.
pub(crate) fn execute(
    target: &Target,
    lists: &[Vec<String>],
) -> Result<Vec<Option<String>>, Error> {
    let open = |_: &Vec<String>| session::open(target).map_err(Error::sql("cannot open a session"));
    let sessions: Vec<_> = lists.iter().map(open).collect::<Result<_, _>>()?;
    let results: Vec<_> = thread::scope(|scope| {
        let works: Vec<_> = lists
            .iter()
            .zip(sessions)
            .map(|(list, mut session)| scope.spawn(move || all(session.as_mut(), list)))
            .collect();
        works.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let ended = || Error::Schema("a maintenance thread ended early".to_owned());
    results.into_iter().map(|result| result.unwrap_or_else(|_| Err(ended()))).collect()
}

/// The statements of one list, up to the first that is refused.
fn all(session: &mut dyn Session, list: &[String]) -> Result<Option<String>, Error> {
    for sql in list {
        if let Err(error) = session.query(sql) {
            let error = Error::sql(format!("`{sql}` failed"))(error);
            return if error.lost() { Err(error) } else { Ok(Some(error.to_string())) };
        }
    }
    Ok(None)
}
