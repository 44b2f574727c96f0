//! Work on several servers at the same time, where none of it is measured.

use crate::Error;
use std::{
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread,
};

/// How many servers work at the same time, each for so many connections: as many as the host has
/// processors for, but one at the least.
pub(crate) fn at_once(connections: u32) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (processors / connections.max(1) as usize).max(1)
}

/// Does `work` on all items, begun in their order, and so many of them at the same time. Gives what
/// came of each, in the same order; where some fail, the first error, after all have ended.
pub(crate) fn side_by_side<T: Send, R: Send>(
    items: Vec<T>,
    at_once: usize,
    work: impl Fn(T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let workers = at_once.min(items.len());
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        let mut done = Vec::new();
        while let Some((place, item)) = next() {
            done.push((place, work(item)));
        }
        done
    };
    let mut done: Vec<(usize, Result<R, Error>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let ended = workers.into_iter().map(|one| one.join().unwrap_or_else(|e| resume_unwind(e)));
        ended.flatten().collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    };

    #[test]
    fn results_keep_their_order_and_no_more_work_at_a_time_than_may() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // Two of four meet, or the test never ends.
        let pair = Barrier::new(2);
        let found = side_by_side(vec![3, 1, 2, 5], 2, |item| {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            pair.wait();
            now.fetch_sub(1, SeqCst);
            Ok(item * 10)
        });
        assert_eq!(found.unwrap(), [30, 10, 20, 50]);
        assert!(most.load(SeqCst) <= 2, "{most:?}");
    }

    #[test]
    fn the_first_error_is_told_after_all_have_ended() {
        let ended = AtomicUsize::new(0);
        let found = side_by_side(vec![1, 2, 3], 2, |item| {
            ended.fetch_add(1, SeqCst);
            if item == 1 { Ok(()) } else { Err(Error::Driver(item.to_string())) }
        });
        assert_eq!((found.unwrap_err().to_string(), ended.into_inner()), ("2".to_owned(), 3));
        assert!(side_by_side(Vec::<u8>::new(), 0, |_| Ok(())).unwrap().is_empty());
    }

    #[test]
    fn connections_share_the_processors() {
        assert_eq!(at_once(u32::MAX), 1);
        assert!(at_once(0) >= 1 && at_once(1) == at_once(0));
    }
}
