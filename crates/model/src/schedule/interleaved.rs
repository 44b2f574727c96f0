//! The interleaved design: all compared servers up together, idle ones frozen, slices of fixed work
//! in balanced order.

use super::{
    After, Intrusive, IntrusiveSeeds, Length, Piece, Prepare, Slice, Step, discard::Reads, number,
};
use crate::{
    plan::{Block, PhaseKind, Plan},
    record::SliceState,
    schema::Schema,
};
use std::collections::BTreeSet;
use values::SplitMix;

/// Number, beyond all rounds, of the stretch that instruments that disturb observe, and of the
/// search for its length.
const OBSERVED: usize = 1 << 20;
const FINDING: usize = OBSERVED + 1;
/// Number of the first stretch that repeats a disturbed round; rounds have smaller ones.
const REPEATED: usize = 1 << 19;

pub(super) fn steps(
    plan: &Plan,
    block: &Block,
    operations: &[u64],
    left: &BTreeSet<String>,
) -> Vec<Step> {
    let subjects = block.start_order.iter().copied();
    let mut steps: Vec<Step> = subjects.clone().map(Step::Start).collect();
    steps.push(Step::Ready);
    steps.extend(subjects.clone().map(Step::Warm));
    let mut reads = Reads::default();
    let phases = plan.phases.iter().enumerate();
    for (index, phase) in phases.filter(|(_, phase)| !left.contains(&phase.name)) {
        let of_block = Phase { plan, block, index };
        match phase.kind {
            PhaseKind::Index => steps.extend(of_block.pieces()),
            PhaseKind::Measure if phase.script.ends_by_itself() => {
                steps.extend(of_block.pieces());
            }
            PhaseKind::Measure => {
                let all = operations.get(index).copied().unwrap_or(1);
                steps.extend(of_block.rounds(&mut reads, all));
            }
            PhaseKind::Settle => {
                let orders = of_block.orders().iter().flatten();
                steps.extend(orders.map(|&subject| Step::Settle { subject, phase: index }));
            }
            // Every measured phase discards a start of its own.
            PhaseKind::Warmup => {}
        }
    }
    steps.extend(subjects.map(Step::End));
    steps
}

/// How many repeated rounds a block may have for each planned one of a phase.
const MOST_REPEATED: usize = 3;

/// A slice of a disturbed round once more, if the phase was not `repeated` too often already.
pub(super) fn again(block: &Block, slice: &Slice, repeated: usize) -> Option<Slice> {
    let planned = block.orders.get(slice.phase).map_or(0, Vec::len);
    (repeated < MOST_REPEATED * planned).then(|| Slice {
        round: number(planned + repeated),
        repeats: Some(slice.repeats.unwrap_or(slice.round)),
        seed: stretch_seed(block.seed, slice.phase, REPEATED + repeated),
        ..slice.clone()
    })
}

/// A phase of a block.
struct Phase<'a> {
    plan: &'a Plan,
    block: &'a Block,
    index: usize,
}

impl Phase<'_> {
    /// The order of the subjects, round by round.
    fn orders(&self) -> &[Vec<usize>] {
        self.block.orders.get(self.index).map_or(&[], Vec::as_slice)
    }

    /// Rows of its tables: those of the load, or where phases fill them, of the plan.
    fn rows(&self) -> f64 {
        let about = &self.plan.phases[self.index];
        let own = self.plan.schemas.iter().filter(|schema| schema.name == about.script.schema);
        let loaded: f64 = own.map(Schema::all_rows).sum();
        let experiment = &self.plan.experiment;
        if loaded > 0.0 { loaded } else { experiment.rows as f64 * experiment.tables as f64 }
    }

    /// A discarded slice, then slices of fixed work; between them what instruments that disturb
    /// observe.
    fn rounds(&self, reads: &mut Reads, operations: u64) -> Vec<Step> {
        let phase = self.index;
        let about = &self.plan.phases[phase];
        let orders = self.orders();
        let discard = reads.before(about, self.rows(), operations);
        reads.add(&about.script, (discard.slices + orders.len() as f64) * operations as f64);
        // What is done once to each subject follows the order of the first round.
        let subjects = orders.first().into_iter().flatten().copied();
        let prepare = |subject| {
            let short_discard = discard.short;
            Step::Prepare(Prepare { subject, phase, piece: None, short_discard })
        };
        let seeds = IntrusiveSeeds { finding: self.seed(FINDING), observed: self.seed(OBSERVED) };
        let intrusive = |subject| Step::Intrusive(Intrusive { subject, phase, seeds });
        let share = self.plan.experiment.warmup_seconds / about.seconds.max(0.001);
        let in_order = |round: usize, like: Slice| {
            let order = orders.get(round).map_or(&[][..], Vec::as_slice);
            order.iter().enumerate().map(move |(place, &subject)| {
                let (round, order) = (number(round), number(place));
                Slice { subject, round, order, ..like.clone() }
            })
        };
        let discarded = Slice {
            subject: 0,
            phase,
            round: 0,
            repeats: None,
            order: 0,
            warmup: None,
            length: Length::Work(discard.slices),
            seed: self.seed(0),
            state: SliceState::Discarded,
            after: After::of(&about.script),
        };
        let mut steps: Vec<Step> = subjects.clone().map(prepare).collect();
        steps.extend(in_order(0, discarded.clone()).map(Step::Discard));
        steps.extend(subjects.map(intrusive));
        for round in 0..orders.len() {
            let measured = Slice {
                warmup: Some(Length::Work(share)),
                length: Length::Work(1.0),
                seed: self.seed(round + 1),
                state: SliceState::Measured,
                // What the server still has to do then is of all rounds.
                after: match round + 1 == orders.len() {
                    true => discarded.after,
                    false => After::Freeze,
                },
                ..discarded.clone()
            };
            steps.extend(in_order(round, measured).map(Step::Slice));
        }
        steps
    }

    /// A phase whose work is fixed by its roles, cut into as many pieces as there are rounds, so
    /// that each piece of one subject has its pair at the same state of the tables; every piece
    /// counts. Indexes are created at once.
    fn pieces(&self) -> Vec<Step> {
        let phase = self.index;
        let about = &self.plan.phases[phase];
        let (orders, after) = match about.kind {
            // What its workload does is not executed: pages are written all the same.
            PhaseKind::Index => (self.orders().get(..1).unwrap_or_default(), After::Drain),
            _ => (self.orders(), After::of(&about.script)),
        };
        let mut steps = Vec::new();
        for (round, order) in orders.iter().enumerate() {
            let whole = Piece { index: round as u64, of: orders.len() as u64 };
            for (place, &subject) in order.iter().enumerate() {
                let piece = Some(whole);
                let short_discard = false;
                steps.push(Step::Prepare(Prepare { subject, phase, piece, short_discard }));
                steps.push(Step::Slice(Slice {
                    subject,
                    phase,
                    round: number(round),
                    repeats: None,
                    order: number(place),
                    warmup: None,
                    length: Length::Whole(whole),
                    seed: self.seed(round),
                    state: SliceState::Measured,
                    after,
                }));
            }
        }
        steps
    }

    fn seed(&self, stretch: usize) -> u64 {
        stretch_seed(self.block.seed, self.index, stretch)
    }
}

/// The same for all subjects, another for every stretch of a block.
fn stretch_seed(block: u64, phase: usize, stretch: usize) -> u64 {
    let state = block
        .wrapping_add((phase as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add((stretch as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    SplitMix(state).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        schedule::{self, testing},
        workload::Class,
    };
    use std::collections::BTreeSet;

    #[test]
    fn no_two_stretches_of_a_block_share_a_seed() {
        let seeds: BTreeSet<u64> =
            (0..50).flat_map(|phase| (0..50).map(move |n| stretch_seed(42, phase, n))).collect();
        assert_eq!(seeds.len(), 2500);
        assert_ne!(stretch_seed(1, 0, 0), stretch_seed(2, 0, 0));
    }

    #[test]
    fn slices_of_the_subjects_alternate_with_equal_seeds() {
        let read = testing::phase("read", PhaseKind::Measure, Class::Read);
        let write = testing::phase("write", PhaseKind::Measure, Class::Write);
        let plan = testing::plan(vec![read, write]);
        let steps = steps(&plan, &plan.blocks[0], &[1000, 1000], &BTreeSet::new());
        let told: Vec<String> = steps.iter().map(testing::told).collect();
        let expected = "start 1, start 0, ready, warm 1, warm 0, \
            prepare 0, prepare 1, discard 0, discard 1, observe 0, observe 1, \
            slice 0, slice 1, slice 1, slice 0, \
            prepare 0, prepare 1, discard 0, discard 1, observe 0, observe 1, \
            slice 0, slice 1, slice 1, slice 0, end 1, end 0";
        assert_eq!(told.join(", "), expected);
        let slices: Vec<&Slice> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Discard(slice) | Step::Slice(slice) => Some(slice),
                _ => None,
            })
            .collect();
        assert!(slices.chunks(2).all(|pair| pair[0].seed == pair[1].seed));
        let drained: Vec<bool> = slices.iter().map(|one| one.after == After::Drain).collect();
        // After what is discarded, and after the last round.
        assert_eq!(drained[..6], [false; 6]);
        assert_eq!(drained[6..], [true, true, false, false, true, true]);
    }

    #[test]
    fn a_phase_that_is_left_out_warms_up_nothing() {
        let mut phases = ["read", "other"]
            .map(|name| testing::phase(name, PhaseKind::Measure, Class::Read))
            .to_vec();
        let told = |left: &[&str], phases: &[crate::plan::Phase]| {
            let plan = testing::plan(phases.to_vec());
            let left = left.iter().map(|name| (*name).to_owned()).collect();
            let steps = steps(&plan, &plan.blocks[0], &[1000, 1000], &left);
            steps.iter().map(testing::told).collect::<Vec<_>>()
        };
        let alone = told(&["read"], &phases);
        phases.remove(0);
        assert_eq!(alone.len(), told(&[], &phases).len());
        assert!(alone.contains(&"slice 0".to_owned()));
    }

    #[test]
    fn a_disturbed_round_is_repeated_with_other_operations_and_not_forever() {
        let read = testing::phase("read", PhaseKind::Measure, Class::Read);
        let plan = testing::plan(vec![read]);
        let block = &plan.blocks[0];
        let steps = steps(&plan, block, &[1000], &BTreeSet::new());
        let rounds: Vec<Vec<Slice>> = steps
            .chunk_by(Step::is_same_round)
            .map(|steps| steps.iter().filter_map(measured).collect())
            .filter(|round: &Vec<Slice>| !round.is_empty())
            .collect();
        assert_eq!(rounds.len(), 2);
        let first = schedule::repetition(block, &rounds[0], 0).unwrap();
        let second = schedule::repetition(block, &first, 1).unwrap();
        assert!(schedule::repetition(block, &rounds[1], 5).is_some());
        assert_eq!(schedule::repetition(block, &rounds[1], 6), None, "three for each of two");
        let about = |slice: &Slice| (slice.subject, slice.order, slice.length, slice.after);
        let seeds = |round: &[Slice]| round.iter().map(|slice| slice.seed).collect::<BTreeSet<_>>();
        for (number, again) in [(2, &first), (3, &second)] {
            assert!(again.iter().map(about).eq(rounds[0].iter().map(about)));
            assert!(again.iter().all(|one| (one.round, one.repeats) == (number, Some(0))));
        }
        let all: BTreeSet<u64> =
            rounds.iter().chain([&first, &second]).flat_map(|round| seeds(round)).collect();
        assert_eq!(all.len(), 4, "each round has one seed, and none that of another");
    }

    fn measured(step: &Step) -> Option<Slice> {
        if let Step::Slice(slice) = step { Some(slice.clone()) } else { None }
    }

    #[test]
    fn pieces_are_not_repeated() {
        let mut load = testing::phase("load", PhaseKind::Measure, Class::Write);
        load.script.roles[0].end = crate::script::End::Rows(100);
        let plan = testing::plan(vec![load]);
        let slices: Vec<Slice> = steps(&plan, &plan.blocks[0], &[], &BTreeSet::new())
            .iter()
            .filter_map(measured)
            .collect();
        assert_eq!(schedule::repetition(&plan.blocks[0], &slices[..1], 0), None);
    }

    #[test]
    fn what_is_not_measured_goes_side_by_side() {
        let read = testing::phase("read", PhaseKind::Measure, Class::Read);
        let plan = testing::plan(vec![read.clone(), read]);
        let steps = steps(&plan, &plan.blocks[0], &[1000, 1000], &BTreeSet::new());
        let pairs = steps.chunk_by(Step::goes_beside).filter(|group| group.len() > 1);
        let told: Vec<String> = pairs.map(|group| testing::told(&group[0])).collect();
        let expected = "start 1, warm 1, discard 0, observe 0, discard 0, observe 0, end 1";
        assert_eq!(told.join(", "), expected);
    }

    #[test]
    fn pieces_of_a_whole_follow_each_other_and_indexes_are_built_at_once() {
        let mut load = testing::phase("load", PhaseKind::Measure, Class::Write);
        load.script.roles[0].end = crate::script::End::Rows(100);
        let index = testing::phase("index", PhaseKind::Index, Class::Read);
        let plan = testing::plan(vec![load, index]);
        let steps = steps(&plan, &plan.blocks[0], &[], &BTreeSet::new());
        let lengths: Vec<Length> = steps
            .iter()
            .filter_map(
                |step| if let Step::Slice(slice) = step { Some(slice.length) } else { None },
            )
            .collect();
        let piece = |index, of| Length::Whole(Piece { index, of });
        let [first, second, whole] = [piece(0, 2), piece(1, 2), piece(0, 1)];
        assert_eq!(lengths, [first, first, second, second, whole, whole]);
    }

    #[test]
    fn what_the_build_of_an_index_leaves_is_done_before_its_searches_are_measured() {
        let index = testing::phase("index", PhaseKind::Index, Class::Read);
        let search = testing::phase("search", PhaseKind::Measure, Class::Read);
        let plan = testing::plan(vec![index, search]);
        let steps = steps(&plan, &plan.blocks[0], &[1, 1000], &BTreeSet::new());
        let after: Vec<After> = steps.iter().filter_map(measured).map(|one| one.after).collect();
        let (drain, freeze) = (After::Drain, After::Freeze);
        assert_eq!(after, [drain, drain, freeze, freeze, freeze, freeze]);
    }
}
