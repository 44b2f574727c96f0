//! The classic design: one server at a time, or a few of which one is measured, all phases in the
//! suite's order, by duration.

use super::{After, Intrusive, IntrusiveSeeds, Length, Piece, Prepare, Slice, Step, number};
use crate::{
    plan::{Block, PhaseKind, Plan},
    record::SliceState,
};
use std::collections::BTreeSet;

/// What happens before a measured stretch draws from streams of its own: the search for the number
/// of operations, and what instruments that disturb observe.
const INTRUSIVE_SEEDS: [u64; 2] = [0x5eed_0003_0000_0000, 0x5eed_0004_0000_0000];

pub(super) fn steps(plan: &Plan, block: &Block, left: &BTreeSet<String>) -> Vec<Step> {
    let mut steps = Vec::new();
    for group in block.start_order.chunks(plan.experiment.at_once.max(1) as usize) {
        steps.extend(group.iter().copied().map(Step::Start));
        steps.push(Step::Ready);
        let phases = plan.phases.iter().enumerate();
        for (phase, about) in phases.filter(|(_, phase)| !left.contains(&phase.name)) {
            match about.kind {
                PhaseKind::Settle => {
                    steps.extend(group.iter().map(|&subject| Step::Settle { subject, phase }));
                }
                _ => steps.extend(by_duration(plan, block, group, phase)),
            }
        }
        steps.extend(group.iter().copied().map(Step::End));
    }
    steps
}

/// One phase by duration, or as long as its roles or its indexes take, on servers that are up.
fn by_duration(plan: &Plan, block: &Block, group: &[usize], phase: usize) -> Vec<Step> {
    let about = &plan.phases[phase];
    let whole = about.kind == PhaseKind::Index || about.script.ends_by_itself();
    // Blocks repeat the work with other operations, all subjects of a block with the same.
    let seed = block.seed.wrapping_add(phase as u64 + 1);
    let warmup = (!whole).then_some(Length::Seconds(plan.experiment.warmup_seconds));
    let state = match about.kind {
        PhaseKind::Warmup => SliceState::Discarded,
        _ => SliceState::Measured,
    };
    let prepare =
        |&subject| Step::Prepare(Prepare { subject, phase, piece: None, short_discard: false });
    let mut steps: Vec<Step> = group.iter().map(prepare).collect();
    if state == SliceState::Measured && !whole {
        let [finding, observed] = INTRUSIVE_SEEDS.map(|stream| seed ^ stream);
        let seeds = IntrusiveSeeds { finding, observed };
        let observe = |&subject| Step::Intrusive(Intrusive { subject, phase, seeds });
        steps.extend(group.iter().map(observe));
    }
    let length = match whole {
        true => Length::Whole(Piece { index: 0, of: 1 }),
        false => Length::Seconds(about.seconds),
    };
    steps.extend(group.iter().enumerate().map(|(place, &subject)| {
        Step::Slice(Slice {
            subject,
            phase,
            round: 0,
            repeats: None,
            order: number(place),
            warmup,
            length,
            seed,
            state,
            // The design lets the next step pay, as published; its maintenance is a phase.
            after: After::Freeze,
        })
    }));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{schedule::testing, workload::Class};
    use std::collections::BTreeSet;

    #[test]
    fn no_stretch_before_a_step_repeats_the_operations_of_another() {
        // The measured stretches have the seeds themselves.
        let streams = INTRUSIVE_SEEDS.into_iter().chain([0]);
        let seeds: BTreeSet<u64> = streams
            .flat_map(|stream| (0..100_u64).map(move |phase| (42 + phase) ^ stream))
            .collect();
        assert_eq!(seeds.len(), 100 * (INTRUSIVE_SEEDS.len() + 1));
    }

    #[test]
    fn blocks_have_operations_of_their_own_and_the_subjects_of_a_block_the_same() {
        let plan = testing::plan(vec![testing::phase("read", PhaseKind::Measure, Class::Read)]);
        let other = Block { seed: plan.blocks[0].seed + 1000, ..plan.blocks[0].clone() };
        let seeds = |block: &Block| -> BTreeSet<u64> {
            let of =
                |step: Step| if let Step::Slice(slice) = step { Some(slice.seed) } else { None };
            steps(&plan, block, &BTreeSet::new()).into_iter().filter_map(of).collect()
        };
        assert_eq!((seeds(&plan.blocks[0]).len(), seeds(&other).len()), (1, 1));
        assert_ne!(seeds(&plan.blocks[0]), seeds(&other));
    }

    #[test]
    fn one_subject_comes_after_the_other_with_all_its_phases() {
        let warm = testing::phase("warm", PhaseKind::Warmup, Class::Read);
        let write = testing::phase("write", PhaseKind::Measure, Class::Write);
        let settle = testing::phase("settle", PhaseKind::Settle, Class::Write);
        let plan = testing::plan(vec![warm, write, settle]);
        let told: Vec<String> =
            steps(&plan, &plan.blocks[0], &BTreeSet::new()).iter().map(testing::told).collect();
        let of = |n: usize| {
            format!(
                "start {n}, ready, prepare {n}, discard {n}, prepare {n}, observe {n}, slice {n}, \
                 settle {n}, end {n}"
            )
        };
        assert_eq!(told.join(", "), format!("{}, {}", of(1), of(0)));
    }

    #[test]
    fn servers_that_are_up_together_are_counted_together_and_measured_one_by_one() {
        let write = testing::phase("write", PhaseKind::Measure, Class::Write);
        let settle = testing::phase("settle", PhaseKind::Settle, Class::Write);
        let mut plan = testing::plan(vec![write, settle]);
        plan.experiment.at_once = 2;
        plan.blocks[0].start_order = vec![1, 0, 2];
        let steps = steps(&plan, &plan.blocks[0], &BTreeSet::new());
        let told: Vec<String> = steps.iter().map(testing::told).collect();
        let expected = "start 1, start 0, ready, prepare 1, prepare 0, observe 1, observe 0, \
            slice 1, slice 0, settle 1, settle 0, end 1, end 0, \
            start 2, ready, prepare 2, observe 2, slice 2, settle 2, end 2";
        assert_eq!(told.join(", "), expected);
        let pairs = steps.chunk_by(Step::goes_beside).filter(|group| group.len() > 1);
        let told: Vec<String> = pairs.map(|group| testing::told(&group[0])).collect();
        assert_eq!(told.join(", "), "start 1, observe 1, end 1");
    }
}
