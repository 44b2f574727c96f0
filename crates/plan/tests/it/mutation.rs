//! No file makes the planner panic, however it is damaged: there is a plan or a sentence.

use crate::{
    Host,
    mutant::{self, Mutant},
};
use plan::{Catalog, Overrides, load_experiment};

/// Files that are damaged, unless others are asked for.
const MUTANTS: u64 = 2000;

/// As much as `dbdyno plan` does without a server's help. The error is the message.
fn planned(mutant: &Mutant) -> Result<String, String> {
    let catalog = Catalog::with_overlay(&mutant.catalog).map_err(|error| error.to_string())?;
    let experiment = mutant.experiment.to_str().unwrap();
    let draft = load_experiment(experiment, &catalog, &Overrides::default());
    let plan = draft.and_then(|draft| plan::plan(&draft, &catalog, &Host));
    plan.map(|plan| plan::render(&plan)).map_err(|error| error.to_string())
}

#[test]
fn a_damaged_file_is_planned_or_refused_in_one_sentence() {
    let numbers = mutant::numbers(MUTANTS);
    let count = numbers.end - numbers.start;
    let originals = mutant::originals();
    let folder = tempfile::tempdir().unwrap();
    let mut plans = 0;
    for seed in numbers {
        let mutant = mutant::write(&originals, seed, &folder.path().join("mutant"));
        let context = || {
            let text = String::from_utf8_lossy(&mutant.bytes).into_owned();
            format!("mutant {seed}, {}:\n{text}", mutant.path)
        };
        let result = std::panic::catch_unwind(|| planned(&mutant));
        match result.unwrap_or_else(|_| panic!("{}", context())) {
            Ok(_) => plans += 1,
            Err(sentence) => assert!(!sentence.trim().is_empty(), "{}", context()),
        }
    }
    // Both ways are tried.
    assert!(count < 100 || plans > count / 20 && plans < count, "{plans} of {count} are plans");
}
