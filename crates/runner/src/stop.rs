//! The wish to stop, shared by everything that waits.

use crate::Error;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A flag that a signal handler raises and every wait of the runner looks at.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    raised: Arc<AtomicBool>,
    /// Nobody asked for it: the process that holds the servers was killed.
    keeper_gone: Arc<AtomicBool>,
}

impl Stop {
    /// A flag for signal handlers, which may only store into it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.raised)
    }

    /// Whether the run is to stop.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || self.keeper_gone.load(Ordering::Relaxed)
    }

    /// `Err(Error::Interrupted)` once the flag is up; another error once the keeper is gone.
    pub fn check(&self) -> Result<(), Error> {
        if self.raised.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if self.keeper_gone.load(Ordering::Relaxed) {
            let reason = "it was killed".to_owned();
            return Err(dbms::Error::KeeperGone { reason }.into());
        }
        Ok(())
    }

    /// A result of what a stop interrupts: once the flag is up, its error is that of [`check`].
    ///
    /// [`check`]: Self::check
    pub fn unless_raised<T, E: Into<Error>>(&self, result: Result<T, E>) -> Result<T, Error> {
        result.or_else(|error| self.check().and(Err(error.into())))
    }

    /// Stops the run because its servers are gone.
    pub(crate) fn keeper_gone(&self) {
        self.keeper_gone.store(true, Ordering::Relaxed);
    }

    /// Sleeps, unless interrupted.
    pub fn sleep(&self, duration: Duration) -> Result<(), Error> {
        let end = Instant::now() + duration;
        loop {
            self.check()?;
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            std::thread::sleep(rest.min(Duration::from_millis(50)));
        }
    }
}
