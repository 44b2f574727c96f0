//! Which tasks of a server serve our connections.
//!
//! Servers tell it in ways that differ by product, version and settings. One way works for all of
//! them: send a burst of trivial statements over one connection, and see which task's CPU time
//! moves; and once more, because a background task may have moved more. Where no task stands out
//! (thread pools) the foreground is missing, and not guessed.

use super::driver::{Driver, unexpected};
use crate::{Error, agent::Agent};
use model::{
    agent,
    drive::{Command, Connection, Reply},
};
use probe::TaskCpu;
use std::collections::BTreeMap;

/// Statements of the first, second and third try: more of them stand out better against background
/// work.
const BURSTS: [u32; 3] = [300, 1_500, 6_000];

/// Statements of a try among the tasks of a group alone, where hardly anything else moves.
const IN_GROUP: u32 = 60;

/// Statements, at most, of the burst that a task has to stand out in again.
const AGAIN: u32 = 100;

/// Connections whose tasks are looked for together.
const GROUP: usize = 32;

/// Statements that move a task's CPU time at all.
const FEW_STATEMENTS: u32 = 10;

/// Part of the CPU time of a burst that the serving task must have used, among the tasks that got a
/// CPU for nearly every statement: background work goes on in few and long turns.
const SHARE_MIN: f64 = 0.6;

/// Turns per statement, at least, of a task that waits for each.
const TURNS_MIN: f64 = 0.75;

/// The tasks of a server, on this host or another.
pub(crate) trait ServerTasks {
    /// All of them.
    fn all(&self) -> Result<Vec<TaskCpu>, Error>;
    /// The same tasks now.
    fn again(&self, tasks: &[TaskCpu]) -> Result<Vec<TaskCpu>, Error>;
}

/// Those of a process of this host and of its descendants.
pub(crate) struct TasksHere(pub(crate) u32);

impl ServerTasks for TasksHere {
    fn all(&self) -> Result<Vec<TaskCpu>, Error> {
        Ok(probe::task_cpu(&[self.0]))
    }

    fn again(&self, tasks: &[TaskCpu]) -> Result<Vec<TaskCpu>, Error> {
        Ok(probe::task_cpu_again(tasks))
    }
}

impl ServerTasks for Agent {
    fn all(&self) -> Result<Vec<TaskCpu>, Error> {
        self.tasks(&agent::Command::Tasks)
    }

    fn again(&self, tasks: &[TaskCpu]) -> Result<Vec<TaskCpu>, Error> {
        self.tasks(&agent::Command::TasksAgain(tasks.to_vec()))
    }
}

/// The tasks that serve the measured connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreground {
    /// One task per connection, in order; empty where they could not be told.
    pub(crate) tasks: Vec<u32>,
    /// How they were found, or why they are missing.
    pub(crate) how: String,
}

impl Foreground {
    pub(crate) fn missing(reason: String) -> Self {
        Self { tasks: Vec::new(), how: format!("missing: {reason}") }
    }
}

/// Finds the serving task of each connection among the tasks of `server`.
///
/// Reading every task for every connection would take a time that grows with their square: minutes
/// at 1,024. So the tasks that a whole group of connections moves are found first, and then told
/// apart by reading these alone.
pub(crate) fn find(
    driver: &mut Driver,
    connections: &[Connection],
    server: &dyn ServerTasks,
) -> Result<Foreground, Error> {
    let mut tasks = Vec::with_capacity(connections.len());
    let indexes: Vec<usize> = (0..connections.len()).collect();
    for group in indexes.chunks(GROUP) {
        let moved = match connections.len() > GROUP {
            true => Some(moved_by(driver, group, server)?),
            false => None,
        };
        for &index in group {
            let id = connections[index].server_id;
            match serving_task(driver, index, server, moved.as_deref())? {
                Some(task) if tasks.contains(&task) => {
                    return Ok(Foreground::missing(format!(
                        "task {task} serves several connections (a thread pool?)"
                    )));
                }
                Some(task) => tasks.push(task),
                None => {
                    return Ok(Foreground::missing(format!(
                        "no task stands out in a burst on connection {id}"
                    )));
                }
            }
        }
    }
    Ok(Foreground {
        tasks,
        how: "the task whose CPU time moves in a burst on the connection".into(),
    })
}

/// The task that serves a connection, looked for among the tasks that its group moved, then among
/// all tasks.
fn serving_task(
    driver: &mut Driver,
    index: usize,
    server: &dyn ServerTasks,
    moved: Option<&[TaskCpu]>,
) -> Result<Option<u32>, Error> {
    if let Some(moved) = moved {
        let read = || server.again(moved);
        if let Some(task) = task_in_burst(driver, index, IN_GROUP, &read)? {
            return Ok(Some(task));
        }
    }
    for statements in BURSTS {
        let read = || server.all();
        if let Some(task) = task_in_burst(driver, index, statements, &read)? {
            return Ok(Some(task));
        }
    }
    Ok(None)
}

/// The task that stands out in a burst on a connection, and again in a short one, among those that
/// `read` knows.
fn task_in_burst(
    driver: &mut Driver,
    index: usize,
    statements: u32,
    read: &dyn Fn() -> Result<Vec<TaskCpu>, Error>,
) -> Result<Option<u32>, Error> {
    let mut one = |statements: u32| -> Result<Option<u32>, Error> {
        let before = by_task(read()?);
        burst(driver, index, statements)?;
        Ok(stands_out(&before, &by_task(read()?), statements))
    };
    let found = one(statements)?;
    let is_sure = found.is_none() || found == one(AGAIN.min(statements))?;
    Ok(found.filter(|_| is_sure))
}

/// The tasks whose CPU time moves when each connection of a group executes a few statements.
fn moved_by(
    driver: &mut Driver,
    group: &[usize],
    server: &dyn ServerTasks,
) -> Result<Vec<TaskCpu>, Error> {
    let before = by_task(server.all()?);
    group.iter().try_for_each(|&index| burst(driver, index, FEW_STATEMENTS))?;
    let mut tasks = server.all()?;
    tasks.retain(|task| before.get(&task.tid).is_none_or(|had| task.cpu_ns > had.cpu_ns));
    Ok(tasks)
}

fn burst(driver: &mut Driver, index: usize, statements: u32) -> Result<(), Error> {
    let connection = u32::try_from(index).unwrap_or(u32::MAX);
    match driver.ask(&Command::Burst { connection, statements })? {
        Reply::Done => Ok(()),
        other => Err(unexpected("burst", &other)),
    }
}

fn by_task(tasks: Vec<TaskCpu>) -> BTreeMap<u32, TaskCpu> {
    tasks.into_iter().map(|task| (task.tid, task)).collect()
}

/// The one task that used most of the CPU time between two readings, of those that may have
/// answered each of the `statements`, if there is one. A task that was born between them serves no
/// connection that was there before. An agent of an earlier version counts no turns.
fn stands_out(
    before: &BTreeMap<u32, TaskCpu>,
    after: &BTreeMap<u32, TaskCpu>,
    statements: u32,
) -> Option<u32> {
    let least = match after.values().all(|task| task.turns == 0) {
        true => 0.0,
        false => TURNS_MIN * f64::from(statements),
    };
    let moved = |(task, now): (&u32, &TaskCpu)| {
        let earlier = before.get(task)?;
        let turns = now.turns.saturating_sub(earlier.turns) as f64;
        (turns >= least).then(|| (now.cpu_ns.saturating_sub(earlier.cpu_ns), *task))
    };
    let total: u64 = after.iter().filter_map(moved).map(|(ns, _)| ns).sum();
    let (most, task) = after.iter().filter_map(moved).max()?;
    (total > 0 && most as f64 >= SHARE_MIN * total as f64).then_some(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks with their CPU time and their turns in a burst of 100 statements.
    fn check(before: &[(u32, u64)], after: &[(u32, u64, u64)], expected: Option<u32>) {
        let had = |tid: u32, cpu_ns: u64, turns: u64| {
            (tid, TaskCpu { pid: 1, tid, comm: String::new(), cpu_ns, turns })
        };
        let earlier = before.iter().map(|(task, cpu_ns)| had(*task, *cpu_ns, 7));
        let now = after.iter().map(|(task, cpu_ns, turns)| {
            had(*task, *cpu_ns, if *turns == 0 { 0 } else { 7 + turns })
        });
        assert_eq!(stands_out(&earlier.collect(), &now.collect(), 100), expected);
    }

    #[test]
    fn one_task_that_moved_most_is_the_server_of_the_connection() {
        check(&[(1, 10), (2, 10)], &[(1, 10, 1), (2, 900, 100)], Some(2));
        check(&[(1, 10), (2, 10)], &[(1, 100, 100), (2, 900, 100)], Some(2));
        // A worker that was started meanwhile does not count.
        check(&[(1, 500), (2, 10)], &[(1, 500, 100), (2, 70, 100), (9, 7000, 100)], Some(2));
        // Background work takes more time, in few turns.
        check(&[(1, 10), (2, 10)], &[(1, 9000, 40), (2, 300, 90)], Some(2));
        // Nothing is known of turns.
        check(&[(1, 10), (2, 10)], &[(1, 10, 0), (2, 900, 0)], Some(2));
    }

    #[test]
    fn nothing_is_guessed_where_no_task_stands_out() {
        check(&[(1, 10), (2, 10)], &[(1, 110, 100), (2, 120, 100)], None);
        check(&[(1, 10), (2, 10)], &[(1, 110, 30), (2, 900, 30)], None);
        check(&[(1, 10)], &[(1, 10, 100)], None);
        check(&[(1, 500)], &[(1, 500, 100), (9, 70, 100)], None);
        check(&[], &[], None);
    }
}
