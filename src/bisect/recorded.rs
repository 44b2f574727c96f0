//! The run of a probe: the recorded one, or a new one.

use super::{Bisection, Failed, Finished};
use crate::{
    comparison, noise::BankChoice, progress::Terminal, replaced::is_replaced, server_state,
};
use model::plan::Plan;
use runner::{Observer, Options, Resume};
use std::collections::BTreeSet;
use store::{Results, Selection};

impl Bisection<'_> {
    /// The finished run of a plan: the recorded one, or, if there is none, a new one.
    pub(super) fn executed(&self, plan: &Plan) -> anyhow::Result<Finished> {
        let folder = Results::open_or_create(&self.options.results)?;
        let mut known = Vec::new();
        for run in folder.runs()?.into_iter().filter(|run| run.plan == plan.hash) {
            if self.is_of_these_builds(plan, &folder, &run.id)? {
                known.push(run);
            }
        }
        for run in known.iter().filter(|run| run.finished) {
            let finished = self.finished(&folder, &run.id)?;
            // What a full disk has spoiled is measured again.
            if !finished.failures.iter().any(|failed| failed.is_of_host) {
                return Ok(finished);
            }
        }
        let is_open = known.iter().any(|run| !run.finished);
        let resume = if is_open { Resume::Yes } else { Resume::No };
        let options = Options { resume, ..self.options.clone() };
        let terminal = Terminal::new(self.progress).expecting(plan);
        let observer: &dyn Observer = &terminal;
        let outcome = runner::execute(plan, self.places, &options, self.stop, observer);
        drop(terminal);
        let outcome = outcome?;
        self.finished(&folder, &outcome.run)
    }

    /// Whether the builds that a run measured are those that are there: a plan knows the folders of
    /// users' own ones, and not what is in them.
    fn is_of_these_builds(&self, plan: &Plan, folder: &Results, run: &str) -> anyhow::Result<bool> {
        let trials = folder.trials(run)?;
        let headers = trials.iter().map(|trial| &trial.header);
        let recorded: BTreeSet<(&str, &str)> =
            headers.map(|header| (&*header.subject, &*header.binary_sha256)).collect();
        Ok(recorded.into_iter().all(|(label, sha256)| {
            let subject = plan.subjects.iter().find(|subject| subject.label == label);
            !subject.is_some_and(|subject| is_replaced(&subject.build, sha256, self.places))
        }))
    }

    fn finished(&self, folder: &Results, run: &str) -> anyhow::Result<Finished> {
        let mut stored = folder.slices(&Selection::Run(run.to_owned()))?;
        let asked: Vec<String> = self.metric.iter().map(|metric| metric.name.to_owned()).collect();
        server_state::add(folder, &mut stored.slices, &asked)?;
        let (design, observations) =
            comparison::observed(folder, run, &stored.slices, &BankChoice::None)?;
        let failures = observations.failures.iter().map(|failure| {
            let subject = failure.at.subject.to_string();
            let reason = format!("{subject} failed: {}", failure.line());
            // A server that ended says why in its log.
            Failed { subject, reason, is_of_host: dbms::is_full_disk(&failure.reason) }
        });
        let failures = failures.collect();
        let comparison = analysis::compare(&observations, &design);
        Ok(Finished { run: run.to_owned(), comparison, failures })
    }
}
