//! Sessions that work off a list of tasks at the same time.

use crate::{
    Error, protocol,
    wire::{Failure, Session},
};
use model::drive::Target;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// One session per thread; they stay open from one list of tasks to the next.
pub(super) struct Crew {
    sessions: Vec<Box<dyn Session>>,
}

impl Crew {
    /// `threads` sessions, of which the first is there already.
    pub(super) fn open(
        target: &Target,
        first: Box<dyn Session>,
        threads: u32,
    ) -> Result<Self, Error> {
        let mut sessions = vec![first];
        for _ in 1..threads {
            sessions.push(
                protocol::open(target).map_err(Error::server("cannot open a session to load"))?,
            );
        }
        Ok(Self { sessions })
    }

    /// Does the same on every session, one after the other.
    pub(super) fn each(
        &mut self,
        action: impl Fn(&mut dyn Session) -> Result<(), Failure>,
    ) -> Result<(), Error> {
        for session in &mut self.sessions {
            action(session.as_mut()).map_err(Error::server("cannot set a session up to load"))?;
        }
        Ok(())
    }

    /// Does every task once, in order, on whichever session is free. After an error no task is
    /// begun; the first error is returned.
    pub(super) fn work<T: Sync>(
        &mut self,
        tasks: &[T],
        action: impl Fn(&mut dyn Session, &T) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let first_error = Mutex::new(None);
        let worker = |session: &mut dyn Session| {
            while !stop.load(Ordering::Relaxed) {
                let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                if let Err(error) = action(session, task) {
                    stop.store(true, Ordering::Relaxed);
                    first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        thread::scope(|scope| {
            for session in &mut self.sessions {
                scope.spawn(|| worker(session.as_mut()));
            }
        });
        first_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
