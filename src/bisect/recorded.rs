//! The run of a probe: the recorded one, or a new one.

use super::{Bisection, Failed, Finished};
use crate::{comparison, noise::BankChoice, progress::Terminal, server_state};
use dbms::{Places, Source};
use model::{plan::Plan, subject::Build};
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

/// Whether a build of the user's own is another one by now than that with this SHA-256, which is
/// empty where nothing was recorded.
fn is_replaced(build: &Build, recorded: &str, places: &Places) -> bool {
    let is_own = build.basedir.is_some() || build.compilation.tree.is_some();
    is_own && !recorded.is_empty() && program_sha256(build, places).as_deref() != Some(recorded)
}

/// SHA-256 of the program or library of a build, where it is there.
fn program_sha256(build: &Build, places: &Places) -> Option<String> {
    let resolved = dbms::resolve(build, places).ok()?;
    let installed = match &resolved.source {
        Source::Embedded(Some(library)) => {
            dbms::installed_library(&resolved.server, library).ok()?
        }
        _ => dbms::installed(&resolved, places).ok()??,
    };
    Some(installed.binary_sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_lies_in_the_place_of_another_one_has_no_recorded_runs() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(&root.path().join("places"), None).unwrap();
        let library = root.path().join("libsqlite3.so");
        fs_err::write(&library, "one").unwrap();
        let build = Build { basedir: Some(library.clone()), ..Build::named("sqlite") };
        let recorded = program_sha256(&build, &places).unwrap();
        assert!(!is_replaced(&build, &recorded, &places) && !is_replaced(&build, "", &places));
        fs_err::write(&library, "two").unwrap();
        assert!(is_replaced(&build, &recorded, &places));
        fs_err::remove_file(&library).unwrap();
        assert!(is_replaced(&build, &recorded, &places));
        assert!(!is_replaced(&Build::named("sqlite@3.46.0"), &recorded, &places), "it is pinned");
    }
}
