//! Which tasks of a server serve our connections.
//!
//! Servers tell it in ways that differ by product, version and settings. One way works for all of
//! them: send a burst of trivial statements over one connection, and see which task's CPU time
//! moves. Where no task stands out (thread pools) the foreground is missing, and not guessed.

use crate::{Driver, Error, driver::unexpected};
use model::drive::{Command, Connection, Reply};
use std::collections::BTreeMap;

/// Statements of the first, second and third try: more of them stand out better against background
/// work.
const BURSTS: [u32; 3] = [300, 1_500, 6_000];

/// Part of the CPU time of a burst that the serving task must have used.
const SHARE_MIN: f64 = 0.6;

/// The tasks that serve the measured connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreground {
    /// One task per connection, in order; empty where they could not be told.
    pub(crate) tasks: Vec<u32>,
    /// How they were found, or why they are missing.
    pub(crate) how: String,
}

/// Finds the serving task of each connection among the tasks of `server` and its descendants.
pub(crate) fn find(
    driver: &mut Driver,
    connections: &[Connection],
    server: u32,
) -> Result<Foreground, Error> {
    let mut tasks = Vec::with_capacity(connections.len());
    for (index, connection) in connections.iter().enumerate() {
        match serving_task(driver, index, server)? {
            Some(task) if tasks.contains(&task) => {
                let how =
                    format!("missing: task {task} serves several connections (a thread pool?)");
                return Ok(Foreground { tasks: Vec::new(), how });
            }
            Some(task) => tasks.push(task),
            None => {
                let id = connection.server_id;
                let how = format!("missing: no task stands out in a burst on connection {id}");
                return Ok(Foreground { tasks: Vec::new(), how });
            }
        }
    }
    Ok(Foreground {
        tasks,
        how: "the task whose CPU time moves in a burst on the connection".into(),
    })
}

fn serving_task(driver: &mut Driver, index: usize, server: u32) -> Result<Option<u32>, Error> {
    for statements in BURSTS {
        let before = cpu_by_task(server);
        let connection = u32::try_from(index).unwrap_or(u32::MAX);
        match driver.ask(&Command::Burst { connection, statements })? {
            Reply::Done => {}
            other => return Err(unexpected("burst", &other)),
        }
        if let Some(task) = stands_out(&before, &cpu_by_task(server)) {
            return Ok(Some(task));
        }
    }
    Ok(None)
}

fn cpu_by_task(server: u32) -> BTreeMap<u32, u64> {
    probe::task_cpu(&[server]).into_iter().map(|task| (task.tid, task.cpu_ns)).collect()
}

/// The one task that used most of the CPU time between two readings, if there is one.
fn stands_out(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> Option<u32> {
    let moved = |(task, cpu): (&u32, &u64)| {
        (cpu.saturating_sub(before.get(task).copied().unwrap_or(0)), *task)
    };
    let total: u64 = after.iter().map(moved).map(|(ns, _)| ns).sum();
    let (most, task) = after.iter().map(moved).max()?;
    (total > 0 && most as f64 >= SHARE_MIN * total as f64).then_some(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &[(u32, u64)], after: &[(u32, u64)], expected: Option<u32>) {
        let map = |pairs: &[(u32, u64)]| pairs.iter().copied().collect::<BTreeMap<_, _>>();
        assert_eq!(stands_out(&map(before), &map(after)), expected);
    }

    #[test]
    fn one_task_that_moved_most_is_the_server_of_the_connection() {
        check(&[(1, 10), (2, 10)], &[(1, 10), (2, 900)], Some(2));
        check(&[(1, 10), (2, 10)], &[(1, 100), (2, 900)], Some(2));
        check(&[(1, 500)], &[(1, 500), (9, 70)], Some(9));
    }

    #[test]
    fn nothing_is_guessed_where_no_task_stands_out() {
        check(&[(1, 10), (2, 10)], &[(1, 110), (2, 120)], None);
        check(&[(1, 10)], &[(1, 10)], None);
        check(&[], &[], None);
    }
}
