//! Slices in which the processor was slow. Each is compared with the others of its test and variant
//! alone, by what the load engine needed for an operation, without a look at what it would say.

use crate::{Input, PhaseFacts, observe::Round, verdict::FEWEST_BLOCKS};
use model::{
    reading::Scope,
    speed::{Fast, client_cost, cpu_ns},
};
use std::collections::{BTreeMap, BTreeSet};

/// Share of a test's blocks that may be left out because all of their slices are slow.
const SLOW_BLOCKS: f64 = 0.25;
/// By how much more of the server's CPU time its background tasks may have in slow slices. Else it
/// may be they that slow the processor, and to leave them out would favor their server.
const MORE_BACKGROUND: f64 = 0.02;

/// What is made of a slow slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Nothing: its whole block is slow, and there are enough others.
    Never,
    /// It stands in for fast ones beside a variant that has none in the block.
    Spare,
    /// Its block has no fast one.
    Instead,
}

/// The slow slices, by round and variant.
#[derive(Debug, Default)]
pub(crate) struct Slow<'a>(BTreeMap<(Round<'a>, &'a str), Use>);

/// A slice that tells the speed of the processor.
#[derive(Debug, Clone, Copy)]
struct Told<'a> {
    round: Round<'a>,
    /// What the load engine needed for an operation [ns].
    cost: f64,
    /// Share of background tasks in the server's CPU time.
    background: f64,
}

impl<'a> Slow<'a> {
    /// Of the measured slices of all variants whose rounds were not `disturbed`.
    pub(crate) fn of(
        slices: &[Input<'a>],
        disturbed: &BTreeMap<Round<'a>, &'static str>,
        facts: &dyn Fn(&str, &str) -> PhaseFacts,
    ) -> Self {
        let mut tests: BTreeMap<(&str, &str), BTreeMap<&str, Vec<Told<'_>>>> = BTreeMap::new();
        let sound = slices.iter().filter(|input| !disturbed.contains_key(&input.round()));
        for (input, told) in sound.filter_map(|input| Some((input, told(input)?))) {
            let test = tests.entry((input.run, &input.slice.phase)).or_default();
            test.entry(&input.slice.subject).or_default().push(told);
        }
        // Pieces of one work all count.
        tests.retain(|(run, phase), _| !facts(run, phase).has_pieces);
        let mut found = Self::default();
        for variants in tests.into_values() {
            let speeds = variants
                .into_iter()
                .filter_map(|(variant, told)| Some((variant, Speeds::of(&told)?)));
            let speeds: Vec<(&str, Speeds<'_>)> = speeds.collect();
            // Where one variant may slow the processor itself, all have all of their slices.
            if speeds.iter().any(|(_, speeds)| speeds.are_its_own) {
                continue;
            }
            let never = left_out(speeds.iter().map(|(_, speeds)| speeds));
            for (variant, speeds) in speeds {
                let used = |block: u32| match speeds.slow_blocks.contains_key(&block) {
                    false => Use::Spare,
                    true if never.contains(&block) => Use::Never,
                    true => Use::Instead,
                };
                let slow = speeds.slow.iter();
                found.0.extend(slow.map(|round| ((*round, variant), used(round.2))));
            }
        }
        found
    }

    /// What is made of a slice; none if it is not slow.
    pub(crate) fn of_slice(&self, input: &Input<'a>) -> Option<Use> {
        self.0.get(&(input.round(), input.slice.subject.as_str())).copied()
    }

    /// Phases of which blocks may be left out.
    pub(crate) fn phases(&self) -> BTreeSet<String> {
        self.0.keys().map(|((_, phase, ..), _)| (*phase).to_owned()).collect()
    }
}

fn told<'a>(input: &Input<'a>) -> Option<Told<'a>> {
    let used = |scope: Scope| cpu_ns(input.slice, scope).unwrap_or(0.0);
    let (foreground, background) = (used(Scope::Foreground), used(Scope::Background));
    Some(Told {
        round: input.round(),
        cost: client_cost(input.slice)?,
        background: background / (foreground + background).max(1.0),
    })
}

/// The speeds of the processor in a test of a variant.
struct Speeds<'a> {
    /// Slices in which it was slow.
    slow: Vec<Round<'a>>,
    /// Number of blocks.
    blocks: usize,
    /// Blocks in which it was slow in all slices, with how slow in the fastest one: a logarithm.
    slow_blocks: BTreeMap<u32, f64>,
    /// Whether the server's own work may be what slows it.
    are_its_own: bool,
}

impl<'a> Speeds<'a> {
    /// None of too few slices to tell.
    fn of(told: &[Told<'a>]) -> Option<Self> {
        let fast = Fast::of(&told.iter().map(|one| one.cost).collect::<Vec<_>>())?;
        let (slow, others): (Vec<Told<'_>>, Vec<Told<'_>>) =
            told.iter().partition(|one| fast.is_exceeded(one.cost));
        let mut fastest: BTreeMap<u32, f64> = BTreeMap::new();
        for Told { round: (.., block, _), cost, .. } in told {
            let known = fastest.entry(*block).or_insert(*cost);
            *known = known.min(*cost);
        }
        let blocks = fastest.len();
        fastest.retain(|_, cost| fast.is_exceeded(*cost));
        let slowness = |(block, cost): (u32, f64)| (block, fast.slowness(cost));
        Some(Self {
            are_its_own: share(&slow) > share(&others) + MORE_BACKGROUND,
            slow: slow.into_iter().map(|one| one.round).collect(),
            blocks,
            slow_blocks: fastest.into_iter().map(slowness).collect(),
        })
    }
}

/// The blocks that are left out of a test, those that were slowest on any variant first, as long as
/// enough others stay.
fn left_out<'s, 'a: 's>(variants: impl Iterator<Item = &'s Speeds<'a>>) -> BTreeSet<u32> {
    let mut slow: BTreeMap<u32, f64> = BTreeMap::new();
    let mut blocks = 0;
    for speeds in variants {
        blocks = blocks.max(speeds.blocks);
        for (block, slowness) in &speeds.slow_blocks {
            let known = slow.entry(*block).or_insert(*slowness);
            *known = known.max(*slowness);
        }
    }
    let spare = blocks.saturating_sub(FEWEST_BLOCKS as usize);
    let most = ((SLOW_BLOCKS * blocks as f64) as usize).min(spare);
    let mut slow: Vec<(u32, f64)> = slow.into_iter().collect();
    slow.sort_by(|one, other| other.1.total_cmp(&one.1));
    slow.into_iter().take(most).map(|(block, _)| block).collect()
}

/// Mean share of background tasks.
fn share(slices: &[Told<'_>]) -> f64 {
    slices.iter().map(|one| one.background).sum::<f64>() / slices.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        drive::StretchReport,
        reading::Reading,
        record::{SliceRecord, SliceState},
    };

    /// A slice in which the load engine needed so many microseconds for an operation, and
    /// background tasks so many milliseconds of the server's 100.
    fn slice(variant: &str, (block, round): (u32, u32), us: f64, background: f64) -> SliceRecord {
        let reading = |scope, ms: f64| {
            let counter = "cpu_ns".to_owned();
            Reading { scope, counter, start: 0.0, end: ms * 1e6 }
        };
        SliceRecord {
            subject: variant.to_owned(),
            block,
            round,
            state: SliceState::Measured,
            work: Some(StretchReport { succeeded: 1000, ..StretchReport::default() }),
            readings: vec![
                reading(Scope::Client, us),
                reading(Scope::Foreground, 100.0 - background),
                reading(Scope::Background, background),
            ],
            ..SliceRecord::default()
        }
    }

    fn of(slices: &[SliceRecord], facts: &PhaseFacts) -> Vec<(String, u32, u32, Use)> {
        let input = |slice| Input { experiment: "e", run: "r", slice };
        let inputs: Vec<Input<'_>> = slices.iter().map(input).collect();
        let slow = Slow::of(&inputs, &BTreeMap::new(), &|_, _| facts.clone());
        let place = |(((.., block, round), variant), used): (&(Round<'_>, &str), &Use)| {
            (variant.to_string(), *block, *round, *used)
        };
        slow.0.iter().map(place).collect()
    }

    /// Two slices in each block.
    fn blocks(variant: &str, costs: &[[f64; 2]]) -> Vec<SliceRecord> {
        let numbers = 0..;
        let each = |(block, [one, other]): (u32, &[f64; 2])| {
            [slice(variant, (block, 0), *one, 0.0), slice(variant, (block, 1), *other, 0.0)]
        };
        numbers.zip(costs).flat_map(each).collect()
    }

    #[test]
    fn slow_slices_are_spared_and_slow_blocks_left_out_while_four_stay() {
        let four = [[10.0, 10.1], [10.2, 14.0], [13.0, 12.0], [10.0, 10.1]];
        let facts = PhaseFacts::default();
        let found = |costs: &[[f64; 2]]| of(&blocks("new", costs), &facts);
        let expected = |used| {
            let new = |block, round, used| ("new".to_owned(), block, round, used);
            vec![new(1, 1, Use::Spare), new(2, 0, used), new(2, 1, used)]
        };
        assert_eq!(found(&four), expected(Use::Instead));
        let five = [four.as_slice(), &[[10.0, 10.0]]].concat();
        assert_eq!(found(&five), expected(Use::Never));
        assert_eq!(found(&four[..1]), [], "too few to tell");
        let pieces = PhaseFacts { has_pieces: true, ..facts };
        assert_eq!(of(&blocks("new", &four), &pieces), [], "pieces all count");
    }

    #[test]
    fn no_more_blocks_are_left_out_because_there_are_more_variants() {
        let calm = [10.0, 10.0];
        let new = blocks("new", &[[12.0, 12.0], calm, calm, calm, calm]);
        let old = blocks("old", &[calm, [13.0, 13.0], calm, calm, calm]);
        let found = of(&[new, old].concat(), &PhaseFacts::default());
        let of = |used| {
            let found = found.iter().filter(move |one| one.3 == used);
            found.map(|one| one.0.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of(Use::Never), ["old", "old"], "the slowest");
        assert_eq!(of(Use::Instead), ["new", "new"]);
    }

    #[test]
    fn where_background_tasks_did_more_nothing_is_left_out() {
        let slices = |background| {
            let calm = [0, 1, 2].map(|round| slice("new", (0, round), 10.0, 0.0));
            [calm.as_slice(), &[slice("new", (0, 3), 14.0, background)]].concat()
        };
        assert_eq!(of(&slices(1.0), &PhaseFacts::default()).len(), 1);
        assert_eq!(of(&slices(3.0), &PhaseFacts::default()), []);
    }
}
