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
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag for signal handlers, which may only store into it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether the flag is up.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// `Err(Error::Interrupted)` once the flag is up.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_raised() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Sleeps, unless interrupted.
    pub(crate) fn sleep(&self, duration: Duration) -> Result<(), Error> {
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
