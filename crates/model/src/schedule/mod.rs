//! What a run does in each block, in order: one value, which the runner executes and the estimate
//! of a plan adds up.
//!
//! Both designs are written here and nowhere else: which slices there are, in which order, how long
//! each is meant to be, what is discarded before it and what follows it.

mod classic;
mod discard;
mod interleaved;
#[cfg(test)]
mod testing;

use crate::{
    experiment::Design,
    plan::{Block, Phase, PhaseKind, Plan},
    record::SliceState,
    script::Script,
};
use std::collections::BTreeSet;

pub use discard::SHORT;

/// One step of a block. Subjects and phases are indexes into those of the plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The server of this subject starts on a copy of its template, and becomes calm.
    Start(usize),
    /// All servers that were started are up.
    Ready,
    /// The tables and indexes of this subject are read into its cache.
    Warm(usize),
    /// The connections of a phase are opened and its workload is compiled.
    Prepare(Prepare),
    /// Instruments that disturb observe a stretch of their own.
    Intrusive(Intrusive),
    /// Work before the first round of a phase, which brings caches to the state in which they stay.
    /// Nothing is measured.
    Discard(Slice),
    /// A stretch of work, measured or, in a phase that only warms up, discarded.
    Slice(Slice),
    /// The server finishes pending background work.
    Settle {
        /// Whose server.
        subject: usize,
        /// The settle phase.
        phase: usize,
    },
    /// The server of this subject stops.
    End(usize),
}

/// What a subject executes from here on.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    /// Whose connections.
    pub subject: usize,
    /// Whose workload.
    pub phase: usize,
    /// Which part of the work of its roles; all of it if absent.
    pub piece: Option<Piece>,
    /// Whether less is discarded before the first round than the caches need.
    pub short_discard: bool,
}

/// One of several equal parts of the work of a phase's roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// From 0.
    pub index: u64,
    /// How many there are.
    pub of: u64,
}

/// A stretch that only instruments that disturb observe.
#[derive(Debug, Clone, PartialEq)]
pub struct Intrusive {
    /// Who works.
    pub subject: usize,
    /// What is executed.
    pub phase: usize,
    /// Seeds of the parts of the stretch. Those that repeat the operations of others would delete
    /// what is gone and write what is there.
    pub seeds: IntrusiveSeeds,
}

/// Each part of an intrusive stretch draws from a stream of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntrusiveSeeds {
    /// Of the search for the number of operations.
    pub finding: u64,
    /// Of what is observed.
    pub observed: u64,
}

/// A slice, as it is planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// Who works.
    pub subject: usize,
    /// What is executed.
    pub phase: usize,
    /// Round in the block, from 0.
    pub round: u32,
    /// The disturbed round that this one repeats, if it does.
    pub repeats: Option<u32>,
    /// Place in the round, from 0.
    pub order: u32,
    /// The discarded start, if any.
    pub warmup: Option<Length>,
    /// The stretch itself.
    pub length: Length,
    /// Seed of the stretch; the discarded start has one of its own.
    pub seed: u64,
    /// State of its record if nothing breaks.
    pub state: SliceState,
    /// What follows.
    pub after: After,
}

/// How long a stretch is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// By the clock, seconds.
    Seconds(f64),
    /// A part of the work that the base does in the seconds of the phase, the same for all
    /// subjects.
    Work(f64),
    /// Until its roles have done their piece, or all indexes are built.
    Whole(Piece),
}

impl Length {
    /// Seconds that it is meant to take; none where that depends on the work.
    pub fn seconds(self, phase: &Phase) -> Option<f64> {
        match self {
            Length::Seconds(seconds) => Some(seconds),
            Length::Work(share) => Some(share * phase.seconds),
            Length::Whole(_) => None,
        }
    }
}

/// What follows a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Nothing: the slice only read, or the design lets the next one pay (classic).
    Freeze,
    /// The slice wrote, or built indexes, and the server finishes what is pending before anything
    /// else is measured.
    Drain,
}

impl After {
    fn of(script: &Script) -> Self {
        if script.writes() { After::Drain } else { After::Freeze }
    }
}

/// The steps of a block. `operations` are those that the base does on all connections together in a
/// slice of each phase: as calibrated, or as an estimate takes them to be. Phases of the names
/// `left` are not executed, and warm up nothing for those behind them.
pub fn steps(plan: &Plan, block: &Block, operations: &[u64], left: &BTreeSet<String>) -> Vec<Step> {
    match plan.experiment.design {
        Design::Interleaved => interleaved::steps(plan, block, operations, left),
        Design::Classic => classic::steps(plan, block, left),
    }
}

/// A disturbed round once more, with other operations, if it can be repeated: by the work that is
/// the same for all, and not too often. `repeated` rounds of the phase were repeated before in this
/// block.
pub fn repetition(block: &Block, round: &[Slice], repeated: usize) -> Option<Vec<Slice>> {
    let again = |slice: &Slice| match slice.length {
        Length::Work(_) => interleaved::again(block, slice, repeated),
        Length::Seconds(_) | Length::Whole(_) => None,
    };
    round.iter().map(again).collect()
}

/// Which of the phases that are decided can be left out of further blocks. One that writes is
/// executed as long as one behind it is open, which else would find other tables than before; and
/// all are where phases build on each other.
pub fn left(plan: &Plan, decided: &BTreeSet<String>) -> BTreeSet<String> {
    let builds = |phase: &Phase| phase.kind == PhaseKind::Index || phase.script.ends_by_itself();
    if plan.phases.iter().any(builds) {
        return BTreeSet::new();
    }
    let is_open =
        |phase: &Phase| phase.kind == PhaseKind::Measure && !decided.contains(&phase.name);
    let last_open = plan.phases.iter().rposition(is_open);
    let behind = |index: usize| last_open.is_none_or(|last| index > last);
    let phases = plan.phases.iter().enumerate();
    let may_go = phases.filter(|(index, phase)| behind(*index) || !phase.script.writes());
    let names = may_go.map(|(_, phase)| &phase.name);
    names.filter(|name| decided.contains(*name)).cloned().collect()
}

impl Step {
    /// Whose step it is; none if it is everyone's.
    pub fn subject(&self) -> Option<usize> {
        match self {
            Step::Ready => None,
            Step::Start(subject) | Step::Warm(subject) | Step::End(subject) => Some(*subject),
            Step::Settle { subject, .. } => Some(*subject),
            Step::Prepare(prepare) => Some(prepare.subject),
            Step::Intrusive(stretch) => Some(stretch.subject),
            Step::Discard(slice) | Step::Slice(slice) => Some(slice.subject),
        }
    }

    /// Whether the next step is of the same round of a phase.
    pub fn is_same_round(&self, next: &Step) -> bool {
        match (self, next) {
            (Step::Slice(one), Step::Slice(other)) => {
                (one.phase, one.round) == (other.phase, other.round)
            }
            _ => false,
        }
    }

    /// Whether the next step does the same for another subject, and no time of both is measured:
    /// they may be executed at the same time.
    pub fn goes_beside(&self, next: &Step) -> bool {
        match (self, next) {
            (Step::Start(_), Step::Start(_))
            | (Step::Warm(_), Step::Warm(_))
            | (Step::End(_), Step::End(_)) => true,
            (Step::Discard(one), Step::Discard(other)) => one.phase == other.phase,
            (Step::Intrusive(one), Step::Intrusive(other)) => one.phase == other.phase,
            _ => false,
        }
    }
}

/// A place in a list, as records have it.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{script::End, workload::Class};

    #[test]
    fn what_writes_is_left_once_nothing_behind_it_is_open() {
        let phases = [
            ("read", Class::Read),
            ("update", Class::Write),
            ("scan", Class::Read),
            ("insert", Class::Write),
        ];
        let phases = phases.map(|(name, class)| testing::phase(name, PhaseKind::Measure, class));
        let mut plan = testing::plan(phases.to_vec());
        let check = |plan: &Plan, decided: &[&str], expected: &[&str]| {
            let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(left(plan, &set(decided)), set(expected), "{decided:?}");
        };
        check(&plan, &[], &[]);
        check(&plan, &["read", "update"], &["read"]);
        check(&plan, &["read", "update", "scan"], &["read", "scan"]);
        check(&plan, &["scan", "insert"], &["insert", "scan"]);
        let all = ["read", "update", "scan", "insert"];
        check(&plan, &all, &all);
        plan.phases[3].script.roles[0].end = End::Rows(100);
        check(&plan, &["read", "update", "scan"], &[]);
    }
}
