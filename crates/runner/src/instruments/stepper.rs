//! User instructions per operation where the host has no hardware counters: a short stretch in
//! single steps.
//!
//! The serving task of connection 0 and the driver's thread of connection 0 are stepped through a
//! fixed number of operations, apart from every measured window. The count is exact, of user mode
//! only, and of these two tasks only.

use super::{Amount, Findings, Instrument, Opened, Sought, Span, work_done};
use crate::{
    Error,
    ledger::Activity,
    run::{Counts, Run},
    server::Instance,
};
use model::{
    drive::{StretchEnd, StretchReport},
    reading::{Reading, Scope},
};
use std::time::Duration;

/// The instrument.
pub(super) struct Stepper;

/// A workload of which one operation would take longer is not stepped.
const SECONDS_AFFORDABLE: f64 = 12.0;
/// After as much time a stretch is given up: it says nothing then, and the slices go on.
const SECONDS_MAX: Duration = Duration::from_secs(45);
/// The same for the one operation that tells how many fit: twice what is affordable, because a busy
/// host steps more slowly.
const SECONDS_FINDING: Duration = Duration::from_secs(24);
/// Fewer are not worth the stretch, if so many are affordable.
const OPERATIONS_MIN: f64 = 2.0;
/// More operations than this add nothing to the precision of the mean.
const OPERATIONS_MAX: f64 = 100.0;

/// Counter of the steps of a task.
pub(crate) const STEPPED_INSTRUCTIONS: &str = "stepped_user_instructions";
/// Counter of the operations that they belong to.
const STEPPED_OPERATIONS: &str = "stepped_operations";

/// The tasks of the first connection.
struct Open {
    tasks: Vec<(Scope, u32)>,
    /// After as much time the stretch is given up.
    limit: Duration,
    stepper: Option<probe::Stepper>,
}

impl Instrument for Stepper {
    fn span(&self) -> Span {
        Span::Own(Activity::SingleSteps)
    }

    fn wanted(&self, run: &Run<'_>) -> bool {
        run.counts == Counts::Stepped
    }

    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error> {
        Ok(Box::new(Open::on(instance, SECONDS_MAX)))
    }

    /// Steps through one operation of the first subject; none if that one was given up.
    fn operations(&self, instance: &mut Instance, sought: &Sought<'_>) -> Result<Amount, Error> {
        let mut open = Open::on(instance, SECONDS_FINDING);
        open.begin()?;
        let report = instance.driver.stretch(StretchEnd::Operations(1), sought.seed)?;
        let mut found = Findings::default();
        open.end(&report, &mut found)?;
        if let Some(reason) = found.missing {
            return Ok(Err(reason));
        }
        let steps = found.readings.iter().filter(|one| one.counter == STEPPED_INSTRUCTIONS);
        let most = steps.map(|reading| reading.end).reduce(f64::max);
        let budget = sought.phase.stepping_seconds();
        Ok(Ok(most.map_or(0, |steps| fitting(steps / probe::stepping_rate(), budget))))
    }
}

impl Open {
    fn on(instance: &Instance, limit: Duration) -> Self {
        let serving = instance.foreground.tasks.first().copied();
        let driving = instance.connections.first().map(|connection| connection.driver_task);
        let tasks = [(Scope::Foreground, serving), (Scope::Client, driving)];
        let tasks = tasks.into_iter().filter_map(|(scope, task)| Some((scope, task?))).collect();
        Self { tasks, limit, stepper: None }
    }
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        let tasks: Vec<u32> = self.tasks.iter().map(|(_, task)| *task).collect();
        self.stepper = Some(probe::Stepper::attach_within(&tasks, self.limit)?);
        Ok(())
    }

    /// Finds nothing in a stretch that was given up.
    fn end(&mut self, work: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        let Some(stepper) = self.stepper.take() else { return Ok(()) };
        let counts = match stepper.stop() {
            Err(probe::Error::StepsTooMany { .. }) => Vec::new(),
            Err(strayed @ probe::Error::Strayed { .. }) => {
                found.missing = Some(strayed.to_string());
                return Ok(());
            }
            other => other?,
        };
        let operations = match done(work) {
            Ok(done) => done,
            Err(reason) => {
                found.missing = Some(reason);
                return Ok(());
            }
        };
        for (scope, task) in &self.tasks {
            let Some(steps) = counts.iter().find(|count| count.task == *task) else { continue };
            let counters =
                [(STEPPED_INSTRUCTIONS, steps.instructions), (STEPPED_OPERATIONS, operations)];
            found.readings.extend(counters.map(|(counter, end)| {
                let counter = counter.to_owned();
                Reading { scope: *scope, counter, start: 0.0, end: end as f64 }
            }));
        }
        Ok(())
    }
}

/// How many operations fit into a budget of seconds, if one takes as many; none if that is too
/// long, or not a number.
fn fitting(seconds: f64, budget: f64) -> u64 {
    let affordable = SECONDS_AFFORDABLE / seconds;
    if affordable >= 1.0 {
        (budget / seconds).max(OPERATIONS_MIN).min(affordable).min(OPERATIONS_MAX) as u64
    } else {
        0
    }
}

/// Operations that the stepped connection did, the first one; or why its steps are not those of the
/// workload.
fn done(report: &StretchReport) -> Result<u64, String> {
    work_done(report)?;
    match report.shares.first().map(|share| share.succeeded) {
        None | Some(0) => Err("the first connection did no operation".to_owned()),
        Some(done) => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use super::{done, fitting};
    use model::drive::{ClientShare, ErrorCount, StretchReport};

    #[test]
    fn only_operations_that_did_what_they_should_are_divided_by() {
        let shares: Vec<ClientShare> =
            [7, 9].map(|succeeded| ClientShare { succeeded, service_seconds: 0.1 }).into();
        let report = StretchReport { scheduled: 18, succeeded: 16, shares, ..Default::default() };
        assert_eq!(done(&report), Ok(7));
        let unexpected = StretchReport { unexpected: 1, reads: 24, ..report.clone() };
        assert!(done(&unexpected).unwrap_err().contains("1 statement of 24"));
        let error = ErrorCount { code: "1062".into(), message: "twice".into(), count: 2 };
        let failed = StretchReport { failed: 2, errors: vec![error], ..report.clone() };
        assert_eq!(done(&failed).unwrap_err(), "2 of 18 operations failed (1062: twice)");
        assert!(done(&StretchReport { shares: Vec::new(), ..report }).is_err());
    }

    #[test]
    fn the_stretch_is_as_long_as_the_time_allows() {
        assert_eq!(fitting(0.01, 4.0), 100);
        assert_eq!(fitting(0.1, 1.0), 10);
        assert_eq!(fitting(1.0, 4.0), 4);
        assert_eq!(fitting(4.0, 4.0), 2);
        assert_eq!(fitting(7.0, 4.0), 1);
        assert_eq!(fitting(12.0, 8.0), 1);
        assert_eq!(fitting(13.0, 8.0), 0);
        assert_eq!(fitting(30.0, 4.0), 0);
        assert_eq!(fitting(0.0, 4.0), 100);
        assert_eq!(fitting(f64::NAN, 4.0), 0);
        assert_eq!(fitting(f64::INFINITY, 4.0), 0);
    }
}
