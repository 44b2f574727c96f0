//! What was to be compared and is not: no verdict on the rest says anything of it.

use crate::{comparison::run_of, resumption};
use analysis::Comparison;
use model::record::SliceState;
use std::collections::BTreeSet;
use store::{Results, RunInfo, Selection, StoredSlice};

/// Says in a comparison which of its runs are unfinished or not the latest.
pub(crate) fn of_runs(
    results: &Results,
    selection: &Selection,
    runs: &[&[StoredSlice]],
    comparison: &mut Comparison,
) -> anyhow::Result<()> {
    for run in runs.iter().map(|slices| run_of(slices)) {
        resumption::tell_unfinished(results, run, comparison)?;
        comparison.warnings.extend(resumption::newer(results, selection, run)?);
        if *selection == Selection::LatestPerExperiment {
            empty(&results.runs()?, run).into_iter().for_each(|what| comparison.lacks(what));
        }
    }
    Ok(())
}

/// That a finished run is newer than the latest one of which there are slices.
fn empty(runs: &[RunInfo], latest: &str) -> Option<String> {
    let own = runs.iter().find(|info| info.id == latest && info.finished)?;
    let is_newer = |info: &&RunInfo| info.experiment == own.experiment && info.id > own.id;
    let newest = runs.iter().rfind(|info| info.finished && is_newer(info))?;
    Some(format!(
        "run {} is newer, and left out: no slice of it can be read, its records are missing or \
         damaged",
        newest.id
    ))
}

/// Says of which tests nothing is compared because all of their slices are left out.
pub(crate) fn of_tests<'a>(
    slices: impl IntoIterator<Item = &'a StoredSlice>,
    comparison: &mut Comparison,
) {
    let slices = slices.into_iter().map(|stored| &stored.slice);
    let measured = slices.filter(|one| one.state == SliceState::Measured && one.work.is_some());
    let known: BTreeSet<&str> = comparison.phases.iter().map(|one| one.phase.as_str()).collect();
    let phases: BTreeSet<&str> = measured.map(|slice| slice.phase.as_str()).collect();
    let sentence =
        |phase| format!("nothing is compared of `{phase}`: all of its slices are left out");
    let said: Vec<String> = phases.difference(&known).map(sentence).collect();
    said.into_iter().for_each(|what| comparison.lacks(what));
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::PhaseResult;
    use model::{drive::StretchReport, record::SliceRecord};

    fn slice(phase: &str, state: SliceState) -> StoredSlice {
        let work = Some(StretchReport::default());
        let slice = SliceRecord { phase: phase.to_owned(), state, work, ..SliceRecord::default() };
        let [run, experiment, trial] = ["r", "e", "t"].map(str::to_owned);
        StoredSlice { run, experiment, trial, slice }
    }

    #[test]
    fn a_test_whose_slices_are_all_left_out_is_named() {
        let measured = PhaseResult { phase: "scan".to_owned(), ..PhaseResult::default() };
        let mut comparison = Comparison { phases: vec![measured], ..Comparison::default() };
        let slices = [
            slice("scan", SliceState::Measured),
            slice("insert", SliceState::Measured),
            slice("insert", SliceState::Measured),
            slice("warm-up", SliceState::Discarded),
        ];
        of_tests(&slices, &mut comparison);
        let expected = ["nothing is compared of `insert`: all of its slices are left out"];
        assert_eq!(comparison.gaps, expected);
        assert_eq!(comparison.warnings, expected);
    }

    #[test]
    fn a_finished_run_without_slices_is_not_passed_over() {
        let info = |id: &str, experiment: &str, finished| RunInfo {
            id: id.to_owned(),
            experiment: experiment.to_owned(),
            finished,
            ..RunInfo::default()
        };
        let check = |newer: RunInfo, expected: bool| {
            let said = empty(&[info("1", "e", true), newer], "1");
            assert_eq!(said.is_some(), expected, "{said:?}");
        };
        check(info("2", "e", true), true);
        check(info("2", "e", false), false);
        check(info("2", "other", true), false);
        check(info("0", "e", true), false);
    }
}
