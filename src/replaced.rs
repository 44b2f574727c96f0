//! Builds of the user's own that lie where a run found others.

use dbms::{Places, Source};
use model::{plan::Plan, subject::Build};
use store::StoredTrial;

/// The subjects whose builds are there, and are others by now than those that the trials of a run
/// measured.
pub(crate) fn since<'a>(
    trials: &[StoredTrial],
    plan: &Plan,
    subjects: [&'a str; 2],
    places: &Places,
) -> Vec<&'a str> {
    let is_other = |label: &&str| {
        let subject = plan.subjects.iter().find(|subject| subject.label == **label);
        let trial = trials.iter().rfind(|trial| trial.header.subject == **label);
        subject.zip(trial).is_some_and(|(subject, trial)| {
            is_replaced(&subject.build, &trial.header.binary_sha256, places)
                && program_sha256(&subject.build, places).is_some()
        })
    };
    subjects.into_iter().filter(is_other).collect()
}

/// Whether a build of the user's own is another one by now than that with this SHA-256, which is
/// empty where nothing was recorded.
pub(crate) fn is_replaced(build: &Build, recorded: &str, places: &Places) -> bool {
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
    use model::{
        Levels,
        environment::Environment,
        subject::{Config, Subject},
    };
    use std::path::PathBuf;

    /// A library of SQLite of the user's own, and its SHA-256 as a run recorded it.
    struct Lab {
        root: tempfile::TempDir,
        places: Places,
        library: PathBuf,
        build: Build,
        recorded: String,
    }

    fn lab() -> Lab {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(&root.path().join("places"), None).unwrap();
        let library = root.path().join("libsqlite3.so");
        fs_err::write(&library, "one").unwrap();
        let build = Build { basedir: Some(library.clone()), ..Build::named("sqlite") };
        let recorded = program_sha256(&build, &places).unwrap();
        Lab { root, places, library, build, recorded }
    }

    #[test]
    fn what_was_replaced_since_a_run_is_found_by_its_records() {
        let Lab { root, places, library, build, recorded } = lab();
        let (label, config) = ("mine".to_owned(), Config::default());
        let subject = Subject { label, build, config, levels: Levels::new() };
        let plan = Plan { subjects: vec![subject], ..Plan::default() };
        let header = serde_json::json!({
            "format": 1, "trial": "", "run": "", "experiment": "", "plan": "", "block": 0,
            "subject": "mine", "server_version": "", "binary_sha256": recorded,
            "configuration": "", "settings": {}, "ignored_settings": [], "seed": 0,
            "foreground": "",
        });
        let header = serde_json::from_value(header).unwrap();
        let (environment, dir) = (Environment::default(), root.path().to_owned());
        let trials = [StoredTrial { header, environment, complete: true, dir }];
        let found = || since(&trials, &plan, ["mine", "other"], &places);
        assert!(found().is_empty());
        fs_err::write(&library, "two").unwrap();
        assert_eq!(found(), ["mine"]);
        // Nobody knows of one that is gone.
        fs_err::remove_file(&library).unwrap();
        assert!(found().is_empty());
    }

    #[test]
    fn a_build_that_lies_in_the_place_of_another_one_has_no_recorded_runs() {
        let Lab { root: _root, places, library, build, recorded } = lab();
        assert!(!is_replaced(&build, &recorded, &places) && !is_replaced(&build, "", &places));
        fs_err::write(&library, "two").unwrap();
        assert!(is_replaced(&build, &recorded, &places));
        fs_err::remove_file(&library).unwrap();
        assert!(is_replaced(&build, &recorded, &places));
        assert!(!is_replaced(&Build::named("sqlite@3.46.0"), &recorded, &places), "it is pinned");
    }
}
