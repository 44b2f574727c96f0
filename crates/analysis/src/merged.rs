//! The trees of calls of two sides as one, for a differential flame graph.

use crate::explained::inclusive;
use model::explanation::{Explanation, Side};
use std::collections::BTreeMap;

/// A function under its callers on either side, per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// Its short name.
    pub name: String,
    /// Callers above it, without those that all functions have.
    pub depth: usize,
    /// Where it begins: what lies left of it on both sides.
    pub start: f64,
    /// Costs with all that it called, of the base and of the variant.
    pub costs: [f64; 2],
}

#[derive(Default)]
struct Node {
    name: String,
    parent: Option<usize>,
    own: [f64; 2],
    all: [f64; 2],
    below: BTreeMap<String, usize>,
}

impl Node {
    fn both(&self) -> f64 {
        self.all[0] + self.all[1]
    }
}

/// The functions of both sides that cost at least this part of all, callers before what they call.
/// Callers with nothing of their own and one callee are left out at the root, and so are those
/// above the innermost function that has nearly all of both sides: where a thread begins is called
/// otherwise in each build.
pub fn merged(explanation: &Explanation, least: f64) -> Vec<Merged> {
    let mut nodes = vec![Node { name: "all".to_owned(), ..Node::default() }];
    let above = above_shared(&explanation.sides);
    for (side, about) in explanation.sides.iter().enumerate() {
        let per = about.operations.max(1) as f64;
        let mut places: Vec<usize> = Vec::with_capacity(about.functions.len());
        for (index, function) in about.functions.iter().enumerate() {
            if above[side].contains(&index) {
                nodes[0].own[side] += function.cost as f64 / per;
                places.push(0);
                continue;
            }
            let parent =
                function.caller.and_then(|caller| places.get(caller).copied()).unwrap_or(0);
            let next = nodes.len();
            let place = *nodes[parent].below.entry(function.name.clone()).or_insert(next);
            if place == next {
                let (name, parent) = (function.name.clone(), Some(parent));
                nodes.push(Node { name, parent, ..Node::default() });
            }
            nodes[place].own[side] += function.cost as f64 / per;
            places.push(place);
        }
    }
    // Parents come before their children.
    for index in (0..nodes.len()).rev() {
        for side in 0..2 {
            let sum = nodes[index].all[side] + nodes[index].own[side];
            nodes[index].all[side] = sum;
            if let Some(parent) = nodes[index].parent {
                nodes[parent].all[side] += sum;
            }
        }
    }
    let least = least * nodes[0].both();
    let mut found = Vec::new();
    // Each with its depth and where it begins, last first.
    let mut left = vec![(first(&nodes, least), 0, 0.0)];
    while let Some((index, depth, start)) = left.pop() {
        let Node { name, all, .. } = &nodes[index];
        found.push(Merged { name: name.clone(), depth, start, costs: *all });
        let mut at = start;
        let mut next = Vec::new();
        for &below in nodes[index].below.values() {
            if nodes[below].both() >= least {
                next.push((below, depth + 1, at));
            }
            at += nodes[below].both();
        }
        left.extend(next.into_iter().rev());
    }
    found
}

/// Share of a side from which on a function has nearly all of it.
const NEARLY_ALL: f64 = 0.99;

/// The functions of each side above the innermost one that has nearly all of both.
fn above_shared(sides: &[Side; 2]) -> [Vec<usize>; 2] {
    let trunks = sides.each_ref().map(trunk);
    let name = |side: usize, index: usize| sides[side].functions[index].name.as_str();
    let of = |side: usize, wanted: &str| {
        trunks[side].iter().rposition(|index| name(side, *index) == wanted)
    };
    let shared = trunks[0].iter().rev().map(|index| name(0, *index));
    let places = shared.filter_map(|wanted| Some([of(0, wanted)?, of(1, wanted)?])).next();
    let [base, variant] = places.unwrap_or_default();
    [trunks[0][..base].to_vec(), trunks[1][..variant].to_vec()]
}

/// The functions of a side that have nearly all of it, each called by the one before.
fn trunk(side: &Side) -> Vec<usize> {
    let all = inclusive(&side.functions);
    let whole: f64 = side.functions.iter().map(|function| function.cost as f64).sum();
    let large = (0..all.len()).filter(|index| all[*index] as f64 >= NEARLY_ALL * whole);
    large.collect()
}

/// The first function with something of its own, or with several callees.
fn first(nodes: &[Node], least: f64) -> usize {
    let mut at = 0;
    loop {
        let mut large = nodes[at].below.values().filter(|below| nodes[**below].both() >= least);
        match (large.next(), large.next()) {
            (Some(only), None) if nodes[*only].both() >= nodes[0].both() - least => at = *only,
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::explanation::{Function, Quantity, WarmUp};

    fn side(functions: &[(Option<usize>, &str, u64)]) -> Side {
        let function = |(caller, name, cost): &(Option<usize>, &str, u64)| {
            let (caller, name) = (*caller, (*name).to_owned());
            Function { caller, name, cost: *cost, calls: 1 }
        };
        Side {
            warm_up: WarmUp { steady: true, ..WarmUp::default() },
            operations: 10,
            functions: functions.iter().map(function).collect(),
            ..Side::default()
        }
    }

    #[test]
    fn both_sides_lie_beside_each_other_from_the_first_function_with_a_choice_on() {
        let base =
            [(None, "start", 0), (Some(0), "main", 100), (Some(1), "b", 300), (Some(1), "tiny", 1)];
        let variant =
            [(None, "start", 0), (Some(0), "main", 100), (Some(1), "a", 500), (Some(1), "b", 0)];
        let sides = [side(&base), side(&variant)];
        let (phase, emulator) = (String::new(), String::new());
        let found = merged(
            &Explanation { format: 1, phase, by: Quantity::Instructions, means: emulator, sides },
            0.01,
        );
        let one =
            |name: &str, depth, start, costs| Merged { name: name.to_owned(), depth, start, costs };
        let expected = [
            one("main", 0, 0.0, [40.1, 60.0]),
            one("a", 1, 0.0, [0.0, 50.0]),
            one("b", 1, 50.0, [30.0, 0.0]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_caller_that_is_not_there_is_none() {
        let odd = [(Some(7), "a", u64::MAX), (Some(1), "b", u64::MAX), (Some(0), "c", 1)];
        let (sides, by) = ([side(&odd), side(&[])], Quantity::Instructions);
        let (phase, means) = (String::new(), String::new());
        let explanation = Explanation { format: 1, phase, by, means, sides };
        assert!(!merged(&explanation, 0.01).is_empty());
        crate::explained::Explained::of(&explanation);
    }

    #[test]
    fn what_starts_a_thread_is_left_out_where_builds_call_it_otherwise() {
        let base = [
            (None, "clone", 1),
            (Some(0), "handle", 2),
            (Some(1), "work", 400),
            (Some(2), "b", 50),
        ];
        let variant = [
            (None, "clone", 1),
            (Some(0), "[x+1]", 1),
            (Some(1), "[x+2]", 1),
            (Some(2), "work", 500),
            (Some(3), "b", 60),
            (Some(3), "c", 70),
        ];
        let sides = [side(&base), side(&variant)];
        let (phase, means) = (String::new(), String::new());
        let found = merged(
            &Explanation { format: 1, phase, by: Quantity::Instructions, means, sides },
            0.01,
        );
        let seen: Vec<_> = found.iter().map(|one| (&*one.name, one.depth, one.costs)).collect();
        let expected = [("work", 0, [45.0, 63.0]), ("b", 1, [5.0, 6.0]), ("c", 1, [0.0, 7.0])];
        assert_eq!(seen, expected);
    }
}
