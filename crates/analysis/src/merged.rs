//! The trees of calls of two sides as one, for a differential flame graph.

use crate::explained::{inclusive, is_named};
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
    /// Instructions with all that it called, of the base and of the variant.
    pub instructions: [f64; 2],
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

/// What lies above the function at which both sides begin.
const CALLERS: &str = "[callers]";
/// A function with this part of all instructions below it is on the way to the work.
const ON_THE_WAY: f64 = 0.98;

/// The functions of both sides that cost at least this part of all, callers before what they call.
///
/// Both sides begin at the innermost named function that they share on the way to their work:
/// threads and processes begin differently. A function without a name is the same in no other
/// build, so what it calls belongs to its caller, and its own instructions to one box per file.
pub fn merged(explanation: &Explanation, least: f64) -> Vec<Merged> {
    let mut nodes = vec![Node { name: "all".to_owned(), ..Node::default() }];
    let shared = shared(explanation);
    for (side, about) in explanation.sides.iter().enumerate() {
        add(&mut nodes, about, side, shared.as_deref());
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
        found.push(Merged { name: name.clone(), depth, start, instructions: *all });
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

/// Adds the functions of a side under the first of this name, or all where there is none.
fn add(nodes: &mut Vec<Node>, about: &Side, side: usize, shared: Option<&str>) {
    let per = about.operations.max(1) as f64;
    let mut places: Vec<Option<usize>> = Vec::with_capacity(about.functions.len());
    for function in &about.functions {
        let caller = function.caller.and_then(|caller| places.get(caller).copied()).flatten();
        let starts = shared.is_none_or(|name| name == function.name);
        let parent = caller.or(starts.then_some(0));
        let has_name = is_named(&function.name);
        let name = match (parent, has_name) {
            (None, _) => CALLERS.to_owned(),
            (Some(_), true) => function.name.clone(),
            (Some(_), false) => file_of(&function.name),
        };
        let place = child(nodes, parent.unwrap_or(0), &name);
        nodes[place].own[side] += function.instructions as f64 / per;
        places.push(parent.map(|above| if has_name { place } else { above }));
    }
}

/// The place of a box under another one.
fn child(nodes: &mut Vec<Node>, parent: usize, name: &str) -> usize {
    let next = nodes.len();
    let place = *nodes[parent].below.entry(name.to_owned()).or_insert(next);
    if place == next {
        let (name, parent) = (name.to_owned(), Some(parent));
        nodes.push(Node { name, parent, ..Node::default() });
    }
    place
}

/// `[file]` of `[file+address]`.
fn file_of(name: &str) -> String {
    name.split_once('+').map_or_else(|| name.to_owned(), |(file, _)| format!("{file}]"))
}

/// The innermost named function that is on the way to the work on both sides.
fn shared(explanation: &Explanation) -> Option<String> {
    let [base, variant] = explanation.sides.each_ref().map(on_the_way);
    base.into_iter().rfind(|name| variant.contains(name)).map(str::to_owned)
}

fn on_the_way(side: &Side) -> Vec<&str> {
    let sums = inclusive(&side.functions);
    let all: u64 = side.functions.iter().map(|function| function.instructions).sum();
    let large = |sum: u64| sum as f64 >= ON_THE_WAY * all as f64;
    let found = side.functions.iter().zip(sums).filter(|(_, sum)| large(*sum));
    found.map(|(function, _)| function.name.as_str()).filter(|name| is_named(name)).collect()
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
    use model::explanation::{Function, WarmUp};

    fn side(functions: &[(Option<usize>, &str, u64)]) -> Side {
        let function = |(caller, name, instructions): &(Option<usize>, &str, u64)| {
            let (caller, name) = (*caller, (*name).to_owned());
            Function { caller, name, instructions: *instructions, calls: 1 }
        };
        Side {
            subject: String::new(),
            server_version: String::new(),
            warm_up: WarmUp { operations: 0, batches: Vec::new(), steady: true },
            operations: 10,
            instructions: 0,
            unplaced: 0,
            functions: functions.iter().map(function).collect(),
            areas: Vec::new(),
        }
    }

    #[test]
    fn both_sides_lie_below_the_first_function_that_they_share() {
        let base = [
            (None, "start", 0),
            (Some(0), "[libc+10]", 0),
            (Some(1), "main", 100),
            (Some(2), "b", 300),
            (Some(2), "tiny", 1),
        ];
        let variant = [
            (None, "[libc+20]", 10),
            (Some(0), "main", 100),
            (Some(1), "[server+70]", 40),
            (Some(2), "a", 500),
            (Some(1), "b", 0),
        ];
        let sides = [side(&base), side(&variant)];
        let (phase, emulator) = (String::new(), String::new());
        let found = merged(&Explanation { format: 1, phase, emulator, sides }, 0.01);
        let one = |name: &str, depth, start, instructions| Merged {
            name: name.to_owned(),
            depth,
            start,
            instructions,
        };
        let expected = [
            one("main", 0, 0.0, [40.1, 64.0]),
            one("[server]", 1, 0.0, [0.0, 4.0]),
            one("a", 1, 4.0, [0.0, 50.0]),
            one("b", 1, 54.0, [30.0, 0.0]),
        ];
        assert_eq!(found, expected);
    }
}
