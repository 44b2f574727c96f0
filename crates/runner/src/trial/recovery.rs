//! How a trial goes on after a failure: a phase that broke keeps its mark, and the next one tries
//! to reach the server again.

use super::Trial;
use crate::{Error, instruments::OpenInstruments};
use dbms::Server;
use model::drive::Assignment;
use std::time::Duration;

/// How often, and how far apart, a server that is alive is asked to let us in again: one that
/// recovers from the death of a backend refuses for some seconds.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(500);

/// The same for a server that is there already: each attempt may take seconds.
const ATTEMPTS_OVER_NETWORK: u32 = 6;

/// Mark of slices that come after a failed one: their tables hold something else than those of the
/// other subjects.
pub(crate) const AFTER_FAILURE: &str = "after a failed slice";

impl Trial {
    /// Opens the phase's connections and compiles its workload. What fails here breaks this subject
    /// only, and only in this phase if it is a statement that the server refuses.
    pub(crate) fn prepare(&mut self, clients: u32, assignment: &Assignment) -> Result<(), Error> {
        self.unable = None;
        let whole = self.broken.is_none();
        if !self.recover(clients)? {
            return Ok(());
        }
        let prepared = self.prepared(clients, assignment);
        self.keep_apart(prepared)?;
        // A connection that was lost with its last statement, or between phases, is missed here.
        if whole && self.broken.is_some() && self.recover(clients)? {
            let prepared = self.prepared(clients, assignment);
            self.keep_apart(prepared)?;
        }
        Ok(())
    }

    fn prepared(&mut self, clients: u32, assignment: &Assignment) -> Result<(), Error> {
        self.set_clients(clients)?;
        self.thawed(|trial| {
            match trial.instance.compile(assignment) {
                Err(Error::Sql { message, lost: false }) => {
                    trial.event("error", &message, None)?;
                    trial.unable = Some(message);
                }
                other => other?,
            }
            trial.database_bytes = trial.instance.database_bytes()?;
            Ok(())
        })
    }

    /// Whether the subject can go on. Where it broke, its server is asked again if it is alive, by
    /// a new driver if the old one has ended; what is measured from then on is marked.
    pub(crate) fn recover(&mut self, clients: u32) -> Result<bool, Error> {
        let Some(reason) = self.broken.take() else { return Ok(true) };
        self.instruments = OpenInstruments::default();
        let attempts = match &self.instance.server {
            Some(_) => ATTEMPTS,
            None if self.instance.is_attached() => ATTEMPTS_OVER_NETWORK,
            None => 1,
        };
        for attempt in 0..attempts {
            if !self.instance.server.as_ref().is_none_or(Server::is_alive) {
                break;
            }
            if attempt > 0 {
                self.instance.stop.sleep(PAUSE)?;
            }
            match self.reach(clients) {
                Ok(()) => {
                    self.event("warning", "connected again after a failed slice", None)?;
                    self.rows = None;
                    if !self.marks.iter().any(|mark| mark == AFTER_FAILURE) {
                        self.marks.push(AFTER_FAILURE.to_owned());
                    }
                    return Ok(true);
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(_) => {}
            }
        }
        let _ = self.instance.freeze();
        self.broken = Some(reason);
        Ok(false)
    }

    fn reach(&mut self, clients: u32) -> Result<(), Error> {
        self.instance.thaw()?;
        self.instance.revive_driver()?;
        self.instance.connect(clients)?;
        self.attach()
    }
}
