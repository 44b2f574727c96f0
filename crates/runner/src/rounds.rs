//! Rounds of a phase, and once more those that something beside the servers disturbed, and the last
//! one of a block in which the processor was slow in every round.

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
    speed::{Fast, client_cost},
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
    /// The least of the current block.
    fastest: BTreeMap<(usize, usize), f64>,
}

/// What became of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Sound,
    Disturbed,
    Broken,
}

/// What the speed of the processor in a block can still become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockSpeed {
    /// The block has more rounds.
    Open,
    /// This is its last one, unless it is repeated.
    Final,
}

impl BlockSpeed {
    fn of(block: &Block, slice: &Slice) -> Self {
        let planned = block.orders.get(slice.phase).map_or(0, Vec::len);
        // One that is repeated has a number behind those that are still to come.
        let round = slice.repeats.unwrap_or(slice.round) as usize;
        if round + 1 < planned { Self::Open } else { Self::Final }
    }
}

impl Repeated {
    /// Another block begins.
    pub(crate) fn begin_block(&mut self) {
        self.rounds.clear();
        self.fastest.clear();
    }

    /// What became of a slice, as far as the ones before tell when the processor is fast. Slow
    /// slices are left out one by one: a block needs no more than one that is not.
    fn state(&mut self, planned: &Slice, record: &SliceRecord, speed: BlockSpeed) -> State {
        if record.state == SliceState::Failed {
            return State::Broken;
        }
        if disturbance(record).is_some() {
            return State::Disturbed;
        }
        let Some(cost) = client_cost(record) else { return State::Sound };
        let test = (planned.subject, planned.phase);
        let known = self.costs.entry(test).or_default();
        known.push(cost);
        let fastest = self.fastest.entry(test).or_insert(cost);
        *fastest = fastest.min(cost);
        match Fast::of(known) {
            Some(fast) if speed == BlockSpeed::Final && fast.is_missed(*fastest) => {
                State::Disturbed
            }
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
        let state = round(run, block, trials, &slices, repeated)?;
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
    block: &Block,
    trials: &mut Trials,
    slices: &[Slice],
    repeated: &mut Repeated,
) -> Result<State, Error> {
    let mut state = State::Sound;
    for planned in slices {
        run.stop.check()?;
        let record = one(run, trials, planned)?;
        state = state.max(repeated.state(planned, &record, BlockSpeed::of(block, planned)));
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
    fn the_speed_of_a_block_is_open_while_rounds_are_to_come() {
        let check = |round, repeats, expected| {
            let slice = Slice { round, repeats, ..slice(0) };
            assert_eq!(BlockSpeed::of(&block(), &slice), expected, "{round} {repeats:?}");
        };
        check(2, None, BlockSpeed::Open);
        check(3, None, BlockSpeed::Final);
        check(4, Some(2), BlockSpeed::Open);
        check(5, Some(3), BlockSpeed::Final);
    }

    #[test]
    fn a_broken_slice_is_no_disturbance() {
        assert_eq!(State::Sound.max(State::Disturbed).max(State::Broken), State::Broken);
        let failed = SliceRecord { state: SliceState::Failed, ..SliceRecord::default() };
        let state = Repeated::default().state(&slice(0), &failed, BlockSpeed::Final);
        assert_eq!(state, State::Broken);
    }

    /// A slice of 100 operations, for which the load engine needed so much CPU time.
    fn at_speed(client_ms: f64) -> SliceRecord {
        let reading = |scope, ms: f64| {
            let counter = "cpu_ns".to_owned();
            Reading { scope, counter, start: 0.0, end: ms * 1e6 }
        };
        SliceRecord {
            work: Some(StretchReport { succeeded: 100, ..StretchReport::default() }),
            readings: vec![reading(Scope::Client, client_ms), reading(Scope::Foreground, 50.0)],
            ..SliceRecord::default()
        }
    }

    #[test]
    fn a_block_in_which_every_slice_was_slow_has_one_more_round() {
        let mut repeated = Repeated::default();
        for ms in [10.0, 10.1, 9.9] {
            assert_eq!(repeated.state(&slice(0), &at_speed(ms), BlockSpeed::Final), State::Sound);
        }
        repeated.begin_block();
        let mut state = |ms, speed| repeated.state(&slice(0), &at_speed(ms), speed);
        assert_eq!(state(14.0, BlockSpeed::Open), State::Sound);
        assert_eq!(state(13.0, BlockSpeed::Final), State::Disturbed);
        assert_eq!(state(10.2, BlockSpeed::Final), State::Sound);
        assert_eq!(state(14.0, BlockSpeed::Final), State::Sound, "it has one that counts");
    }
}
