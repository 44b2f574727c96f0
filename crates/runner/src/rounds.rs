//! Rounds of a phase, and once more those that something beside the servers disturbed, or in which
//! the processor had another speed than in the rounds before.

use crate::{
    Error,
    host::others,
    ledger::Activity,
    run::{DisturbedRounds, Run},
    slice,
    trial::{self, Trials},
};
use model::{
    disturbance::disturbance,
    plan::Block,
    record::{SliceRecord, SliceState},
    schedule::{self, Slice, Step},
    speed::{Usual, client_cost},
};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// Disturbed rounds in a row after which none is repeated until one is not: a host that is always
/// busy would only take more time.
const MOST_IN_A_ROW: u32 = 6;

/// How long a repetition waits until nothing else uses the host.
const QUIET_LIMIT: Duration = Duration::from_secs(3);

/// What was disturbed so far.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    /// Repeated rounds of the current block by phase.
    rounds: BTreeMap<usize, usize>,
    /// Disturbed rounds since the last one that was not.
    in_a_row: u32,
    /// What the load engine needed for an operation, by subject and phase [ns].
    costs: BTreeMap<(usize, usize), Vec<f64>>,
}

/// What became of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Sound,
    Disturbed,
    Broken,
}

impl Repeated {
    /// Another block begins.
    pub(crate) fn begin_block(&mut self) {
        self.rounds.clear();
    }

    /// What became of a slice, as far as the ones before tell what is usual.
    fn state(&mut self, planned: &Slice, record: &SliceRecord) -> State {
        if record.state == SliceState::Failed {
            return State::Broken;
        }
        if disturbance(record).is_some() {
            return State::Disturbed;
        }
        let Some(cost) = client_cost(record) else { return State::Sound };
        let known = self.costs.entry((planned.subject, planned.phase)).or_default();
        known.push(cost);
        match Usual::of(known) {
            Some(usual) if usual.is_other(cost) => State::Disturbed,
            _ => State::Sound,
        }
    }

    /// The round once more, if it is worth it.
    fn again(&mut self, block: &Block, round: &[Slice], state: State) -> Option<Vec<Slice>> {
        match state {
            State::Sound => self.in_a_row = 0,
            State::Disturbed => self.in_a_row += 1,
            State::Broken => {}
        }
        if state != State::Disturbed || self.in_a_row >= MOST_IN_A_ROW {
            return None;
        }
        let repeated = self.rounds.entry(round.first()?.phase).or_default();
        let again = schedule::repetition(block, round, *repeated)?;
        *repeated += 1;
        Some(again)
    }
}

/// Executes a round on all subjects, and once more where it was disturbed on any of them, whatever
/// it measured.
pub(crate) fn execute(
    run: &mut Run<'_>,
    block: &Block,
    trials: &mut Trials,
    steps: &[Step],
    repeated: &mut Repeated,
) -> Result<(), Error> {
    let slice =
        |step: &Step| if let Step::Slice(slice) = step { Some(slice.clone()) } else { None };
    let mut slices: Vec<Slice> = steps.iter().filter_map(slice).collect();
    loop {
        let state = round(run, trials, &slices, repeated)?;
        let keeps = run.options.disturbed == DisturbedRounds::Keep;
        if keeps || run.plan.experiment.decide.instructions_alone() {
            return Ok(());
        }
        let Some(again) = repeated.again(block, &slices, state) else {
            if state == State::Disturbed && repeated.in_a_row == MOST_IN_A_ROW {
                run.warn(&format!(
                    "{MOST_IN_A_ROW} rounds in a row were disturbed: none is measured again until \
                     one is not"
                ));
            }
            return Ok(());
        };
        run.repeats(&again);
        if let Some(slice) = again.first() {
            let phase = &run.plan.phases[slice.phase].name;
            run.step(&format!("{phase} was disturbed: waiting for a quiet host"));
        }
        run.during(Activity::Quiet, |_| others::await_quiet(Path::new("/proc"), QUIET_LIMIT))?;
        slices = again;
    }
}

fn round(
    run: &mut Run<'_>,
    trials: &mut Trials,
    slices: &[Slice],
    repeated: &mut Repeated,
) -> Result<State, Error> {
    let mut state = State::Sound;
    for planned in slices {
        run.stop.check()?;
        let record = one(run, trials, planned)?;
        state = state.max(repeated.state(planned, &record));
    }
    Ok(state)
}

/// A slice, or for a broken subject a record that says why there is none.
fn one(run: &mut Run<'_>, trials: &mut Trials, planned: &Slice) -> Result<SliceRecord, Error> {
    let trial = trial::of(run, trials, planned.subject)?;
    match trial.obstacle(&run.plan.phases[planned.phase].script) {
        None => slice::execute(run, trial, planned),
        Some(reason) => slice::refuse(run, trial, planned, &reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        drive::StretchReport,
        reading::{Reading, Scope},
        schedule::{After, Length},
    };

    fn slice(phase: usize) -> Slice {
        Slice {
            subject: 0,
            phase,
            round: 0,
            repeats: None,
            order: 0,
            warmup: None,
            length: Length::Work(1.0),
            seed: 1,
            state: SliceState::Measured,
            after: After::Freeze,
        }
    }

    fn block() -> Block {
        let orders = vec![vec![vec![0]; 4]; 2];
        Block { index: 0, load: 0, start_order: vec![0], orders, seed: 7 }
    }

    #[test]
    fn only_a_disturbed_round_is_repeated() {
        let mut repeated = Repeated::default();
        let mut again = |state| repeated.again(&block(), &[slice(0)], state).map(|s| s[0].round);
        assert_eq!(again(State::Sound), None);
        assert_eq!(again(State::Broken), None);
        assert_eq!(again(State::Disturbed), Some(4));
        assert_eq!(again(State::Disturbed), Some(5));
    }

    #[test]
    fn a_host_that_is_always_busy_repeats_nothing_until_it_is_quiet_once() {
        let (block, mut repeated) = (block(), Repeated::default());
        let mut count = |phase, state| repeated.again(&block, &[slice(phase)], state).is_some();
        let busy = (0..20).filter(|_| count(0, State::Disturbed)).count();
        assert_eq!(busy as u32, MOST_IN_A_ROW - 1);
        assert!(!count(1, State::Disturbed), "another phase has no better luck");
        assert!(!count(1, State::Sound));
        assert!(count(1, State::Disturbed), "now and then it is quiet");
    }

    #[test]
    fn a_broken_slice_is_no_disturbance() {
        assert_eq!(State::Sound.max(State::Disturbed).max(State::Broken), State::Broken);
        let failed = SliceRecord { state: SliceState::Failed, ..SliceRecord::default() };
        assert_eq!(Repeated::default().state(&slice(0), &failed), State::Broken);
    }

    #[test]
    fn a_slice_at_another_speed_than_the_ones_before_is_disturbed() {
        let mut repeated = Repeated::default();
        let mut state = |phase, client_ms: f64| {
            let reading = |scope, ms: f64| {
                let counter = "cpu_ns".to_owned();
                Reading { scope, counter, start: 0.0, end: ms * 1e6 }
            };
            let record = SliceRecord {
                work: Some(StretchReport { succeeded: 100, ..StretchReport::default() }),
                readings: vec![reading(Scope::Client, client_ms), reading(Scope::Foreground, 50.0)],
                ..SliceRecord::default()
            };
            repeated.state(&slice(phase), &record)
        };
        let calm: Vec<State> = [10.0, 14.0, 10.1, 9.9].map(|ms| state(0, ms)).into();
        assert_eq!(calm, [State::Sound; 4], "nobody knows yet what is usual");
        assert_eq!(state(0, 10.0), State::Sound);
        assert_eq!(state(0, 14.0), State::Disturbed);
        assert_eq!(state(1, 14.0), State::Sound, "another test");
    }
}
