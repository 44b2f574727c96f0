//! Where the instructions of an operation are spent, or its CPU time, from the functions of two
//! subjects.

use model::explanation::{Area, Explanation, Function, Quantity, Side};
use std::collections::BTreeMap;

/// One phase on two subjects, per operation. Pairs are the base's and the variant's.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Explained {
    /// Name of the phase.
    pub phase: String,
    /// Labels of the subjects.
    pub subjects: [String; 2],
    /// What the costs are: user instructions, or nanoseconds of CPU time.
    pub by: Quantity,
    /// Those of the task that served the operations.
    pub costs: [f64; 2],
    /// The same by part of the source, largest difference first; the rows add up to the whole.
    pub areas: Vec<AreaCost>,
    /// The functions, largest difference of their own costs first.
    pub functions: Vec<FunctionCost>,
    /// Part of the costs that is in functions with a name, from 0 to 1.
    pub named: [f64; 2],
}

/// The cost of a part of the source.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AreaCost {
    /// What it is called.
    pub name: String,
    /// Per operation.
    pub costs: [f64; 2],
    /// By how much their difference may be wrong (95 %), where samples tell it.
    pub chance: Option<f64>,
}

/// What a function costs on each side; nothing where it was not seen.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FunctionCost {
    /// Its short name.
    pub name: String,
    /// The costs.
    pub sides: [Option<Cost>; 2],
    /// By how much the difference of its own costs may be wrong (95 %), where samples tell it.
    pub chance: Option<f64>,
}

/// Per operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Cost {
    /// Of its own.
    pub exclusive: f64,
    /// The same with all that it called.
    pub inclusive: f64,
    /// How often it was called.
    pub calls: f64,
}

/// A stack of calls with its own cost per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Stack {
    /// Names, outermost first, with `;` between.
    pub path: String,
    /// Instructions per operation.
    pub costs: [f64; 2],
}

impl Stack {
    /// The names of its functions, outermost first.
    pub fn frames(&self) -> impl Iterator<Item = &str> {
        self.path.split(';')
    }
}

/// Quantile of the normal distribution for intervals of 95 %.
const NORMAL: f64 = 1.96;

/// What no area of the table knows.
pub const NOT_ATTRIBUTED: &str = "not attributed";
/// The area of the load engine, where an embedded engine works in its process.
pub const LOAD_ENGINE: &str = "load engine";
/// Instructions for which the tree of calls had no room.
pub const UNPLACED: &str = "no room in the tree of calls";

impl Explained {
    /// The costs of an explanation.
    pub fn of(explanation: &Explanation) -> Self {
        let sides = &explanation.sides;
        let totals = sides.each_ref().map(|side| per_operation(side, side.cost));
        Self {
            phase: explanation.phase.clone(),
            subjects: sides.each_ref().map(|side| side.subject.clone()),
            by: explanation.by,
            costs: totals,
            areas: areas(sides),
            functions: functions(sides),
            named: sides.each_ref().map(named),
        }
    }

    /// What an operation costs more on the variant.
    pub fn difference(&self) -> f64 {
        self.costs[1] - self.costs[0]
    }
}

impl AreaCost {
    /// What an operation costs more on the variant.
    pub fn difference(&self) -> f64 {
        self.costs[1] - self.costs[0]
    }
}

impl FunctionCost {
    /// What it costs more on the variant, per operation and without what it calls.
    pub fn difference(&self) -> f64 {
        let own = |side: usize| self.sides[side].map_or(0.0, |cost| cost.exclusive);
        own(1) - own(0)
    }
}

/// Whether a function has a name in its file.
pub fn is_named(function: &str) -> bool {
    !function.starts_with('[')
}

/// The stacks of both sides, equal ones together, in the order of their names.
pub fn stacks(explanation: &Explanation) -> Vec<Stack> {
    let mut found: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for (place, side) in explanation.sides.iter().enumerate() {
        let mut paths: Vec<String> = Vec::with_capacity(side.functions.len());
        for function in &side.functions {
            let name = function.name.replace(';', ",");
            let path = match function.caller.and_then(|caller| paths.get(caller)) {
                Some(above) => format!("{above};{name}"),
                None => name,
            };
            if function.cost > 0 {
                let own = per_operation(side, function.cost);
                found.entry(path.clone()).or_default()[place] += own;
            }
            paths.push(path);
        }
    }
    let stack = |(path, costs)| Stack { path, costs };
    found.into_iter().map(stack).collect()
}

fn per_operation(side: &Side, count: u64) -> f64 {
    count as f64 / side.operations.max(1) as f64
}

/// Part of the inlined code of one side that the other one has at least where both tell of it.
const BOTH_TELL: f64 = 0.1;
/// Least part of all costs that is inlined code where one side has information about it: single
/// functions may be entered in their middle.
const TOLD: f64 = 0.01;

/// Whether areas leave what was inlined to its callers, because one side alone has the debug
/// information that names it: the other one has the same code in its callers.
pub fn leaves_inlined_to_callers(sides: &[Side; 2]) -> bool {
    let [a, b] = sides.each_ref().map(|side| {
        let told = side.functions.iter().zip(inlined(&side.functions));
        let cost: f64 = told.filter(|(_, is)| *is).map(|(function, _)| function.cost as f64).sum();
        cost / side.cost.max(1) as f64
    });
    a.max(b) >= TOLD && a.min(b) < BOTH_TELL * a.max(b)
}

/// Which functions were inlined in their callers: these were called, and they were not.
fn inlined(functions: &[Function]) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(functions.len());
    for function in functions {
        // Callers come before what they call.
        let caller = function.caller.filter(|caller| *caller < found.len());
        let within = caller.is_some_and(|caller| functions[caller].calls > 0 || found[caller]);
        found.push(within && function.calls == 0);
    }
    found
}

fn areas(sides: &[Side; 2]) -> Vec<AreaCost> {
    let mut sums: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    let left = leaves_inlined_to_callers(sides);
    for (place, side) in sides.iter().enumerate() {
        let left = if left { inlined(&side.functions) } else { Vec::new() };
        for (function, area) in side.functions.iter().zip(areas_of(side, &left)) {
            let name = area.map_or(NOT_ATTRIBUTED, |area| side.areas[area].name.as_str());
            sums.entry(name).or_default()[place] += per_operation(side, function.cost);
        }
        sums.entry(NOT_ATTRIBUTED).or_default();
        if side.unplaced > 0 {
            sums.entry(UNPLACED).or_default()[place] += per_operation(side, side.unplaced);
        }
    }
    let cost = |(name, costs): (&str, [f64; 2])| AreaCost {
        name: name.to_owned(),
        costs,
        chance: chance(sides, costs.map(Some)),
    };
    let mut found: Vec<AreaCost> = sums.into_iter().map(cost).collect();
    let last = |area: &AreaCost| [NOT_ATTRIBUTED, UNPLACED].contains(&area.name.as_str());
    found.sort_by(|a, b| {
        let size = |area: &AreaCost| area.difference().abs();
        last(a).cmp(&last(b)).then(size(b).total_cmp(&size(a)))
    });
    found
}

/// The area of each function: its own, or that of the innermost caller that has one, as those have
/// it that are `left` to their callers.
fn areas_of(side: &Side, left: &[bool]) -> Vec<Option<usize>> {
    let mut known: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    let mut found: Vec<Option<usize>> = Vec::with_capacity(side.functions.len());
    for (place, function) in side.functions.iter().enumerate() {
        let own = *known
            .entry(&function.name)
            .or_insert_with(|| side.areas.iter().position(|area| holds(area, &function.name)));
        let own = own.filter(|_| !left.get(place).copied().unwrap_or_default());
        let above = || found.get(function.caller?).copied().flatten();
        found.push(own.or_else(above));
    }
    found
}

fn holds(area: &Area, name: &str) -> bool {
    area.functions.iter().any(|pattern| matches(pattern, name))
}

/// Whether a name is as a pattern says, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

fn functions(sides: &[Side; 2]) -> Vec<FunctionCost> {
    let mut found: BTreeMap<&str, [Option<Cost>; 2]> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        let inclusive = inclusive(&side.functions);
        for (index, function) in side.functions.iter().enumerate() {
            let costs = found.entry(&function.name).or_default();
            let cost = costs[place].get_or_insert_default();
            cost.exclusive += per_operation(side, function.cost);
            cost.calls += per_operation(side, function.calls);
            if !is_below_itself(&side.functions, index) {
                cost.inclusive += per_operation(side, inclusive[index]);
            }
        }
    }
    let cost = |(name, costs): (&str, [Option<Cost>; 2])| FunctionCost {
        name: name.to_owned(),
        chance: chance(sides, costs.map(|cost| Some(cost?.exclusive))),
        sides: costs,
    };
    let mut found: Vec<FunctionCost> = found.into_iter().map(cost).collect();
    found.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
    found
}

/// By how much the difference of two sampled costs may be wrong: samples of a function are nearly
/// a Poisson process, whose variance is its mean.
fn chance(sides: &[Side; 2], costs: [Option<f64>; 2]) -> Option<f64> {
    let variance = |(side, cost): (&Side, Option<f64>)| {
        let of_sample = per_operation(side, side.cost) / side.samples as f64;
        (side.samples > 0).then(|| cost.unwrap_or_default().max(of_sample) * of_sample)
    };
    let variances: Option<Vec<f64>> = sides.iter().zip(costs).map(variance).collect();
    variances.map(|all| NORMAL * all.iter().sum::<f64>().sqrt())
}

/// Cost of each function with all that it called.
pub(crate) fn inclusive(functions: &[Function]) -> Vec<u64> {
    let mut sums: Vec<u64> = functions.iter().map(|function| function.cost).collect();
    // Callers come before what they call.
    for (index, function) in functions.iter().enumerate().rev() {
        if let Some(caller) = function.caller.filter(|caller| *caller < index) {
            sums[caller] = sums[caller].saturating_add(sums[index]);
        }
    }
    sums
}

/// Whether a function calls itself here, directly or over others: its caller has it already.
fn is_below_itself(functions: &[Function], index: usize) -> bool {
    let name = &functions[index].name;
    let mut at = functions[index].caller.filter(|caller| *caller < index);
    while let Some(above) = at {
        if functions[above].name == *name {
            return true;
        }
        at = functions[above].caller.filter(|caller| *caller < above);
    }
    false
}

fn named(side: &Side) -> f64 {
    let named = side.functions.iter().filter(|function| is_named(&function.name));
    let sum: f64 = named.map(|function| function.cost as f64).sum();
    sum / side.cost.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::explanation::WarmUp;

    fn side(operations: u64, functions: &[(Option<usize>, &str, u64, u64)]) -> Side {
        let function = |(caller, name, cost, calls): &(Option<usize>, &str, u64, u64)| {
            let (name, caller) = ((*name).to_owned(), *caller);
            Function { caller, name, cost: *cost, calls: *calls }
        };
        let area = |name: &str, functions: &[&str]| Area {
            name: name.to_owned(),
            functions: functions.iter().map(|&pattern| pattern.to_owned()).collect(),
        };
        let functions: Vec<Function> = functions.iter().map(function).collect();
        Side {
            subject: "s".to_owned(),
            warm_up: WarmUp { steady: true, ..WarmUp::default() },
            operations,
            cost: functions.iter().map(|function| function.cost).sum(),
            functions,
            areas: vec![area("search", &["btr_*"]), area("optimizer", &["JOIN::*", "*_cost"])],
            ..Side::default()
        }
    }

    fn example() -> Explained {
        let base = [(None, "main", 100, 1), (Some(0), "JOIN::optimize", 200, 10)];
        let variant = [
            (None, "main", 50, 1),
            (Some(0), "JOIN::optimize", 220, 10),
            (Some(1), "btr_search", 400, 10),
            (Some(2), "memcmp", 30, 40),
            (Some(3), "btr_search", 7, 10),
            (Some(1), "[libc.so+10]", 3, 1),
        ];
        let mut sides = [side(10, &base), side(10, &variant)];
        sides[1].unplaced = 20;
        sides[1].cost += 20;
        let phase = "p".to_owned();
        Explained::of(&Explanation {
            format: 1,
            phase,
            by: Quantity::Instructions,
            means: String::new(),
            sides,
        })
    }

    #[test]
    fn areas_add_up_and_unknown_functions_go_to_their_caller() {
        let found = example();
        let rows: Vec<_> = found.areas.iter().map(|a| (a.name.as_str(), a.costs)).collect();
        let expected = [
            ("search", [0.0, 43.7]),
            ("optimizer", [20.0, 22.3]),
            (NOT_ATTRIBUTED, [10.0, 5.0]),
            (UNPLACED, [0.0, 2.0]),
        ];
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(expected) {
            assert_eq!(row.0, expected.0);
            assert!((0..2).all(|side| (row.1[side] - expected.1[side]).abs() < 1e-9), "{row:?}");
        }
        for side in 0..2 {
            let sum: f64 = found.areas.iter().map(|area| area.costs[side]).sum();
            assert!((sum - found.costs[side]).abs() < 1e-9);
        }
    }

    #[test]
    fn what_only_one_side_tells_of_as_inlined_is_in_the_area_of_its_caller() {
        let inlined = [
            (None, "main", 100, 0),
            (Some(0), "JOIN::optimize", 80, 10),
            (Some(1), "btr_inlined", 90, 0),
            (Some(2), "btr_in_that", 30, 0),
            (Some(2), "btr_search", 40, 5),
        ];
        let silent = [
            (None, "main", 100, 0),
            (Some(0), "JOIN::optimize", 200, 10),
            (Some(1), "btr_search", 40, 5),
        ];
        let check = |base: &[_], expected: &[(&str, [f64; 2])]| {
            let found = areas(&[side(10, base), side(10, &inlined)]);
            let mut found: Vec<_> = found.iter().map(|a| (a.name.as_str(), a.costs)).collect();
            found.sort_by(|a, b| a.0.cmp(b.0));
            assert_eq!(found, expected);
        };
        let rest = (NOT_ATTRIBUTED, [10.0; 2]);
        check(&silent, &[rest, ("optimizer", [20.0; 2]), ("search", [4.0; 2])]);
        check(&inlined, &[rest, ("optimizer", [8.0; 2]), ("search", [16.0; 2])]);
    }

    #[test]
    fn a_function_that_calls_itself_is_counted_once_with_what_it_calls() {
        let found = example();
        let first = &found.functions[0];
        assert_eq!((first.name.as_str(), first.sides[0]), ("btr_search", None));
        let cost = Cost { exclusive: 40.7, inclusive: 43.7, calls: 2.0 };
        assert_eq!(first.sides[1], Some(cost));
        assert!((found.named[1] - 707.0 / 730.0).abs() < 1e-9);
    }

    #[test]
    fn patterns_have_stars() {
        let check = |pattern: &str, name: &str, expected| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("JOIN::*", "JOIN::optimize", true);
        check("JOIN::*", "JOINT", false);
        check("*_cost", "table_cost", true);
        check("a*b*c", "aXbYc", true);
        check("a*b*c", "aXc", false);
        check("main", "main", true);
        check("main", "mainly", false);
        check("aa*aa", "aaa", false);
    }

    #[test]
    fn equal_stacks_of_both_sides_are_one_line() {
        let sides = [
            side(10, &[(None, "a", 100, 1), (Some(0), "b", 20, 1)]),
            side(5, &[(None, "a", 0, 1), (Some(0), "b", 20, 1)]),
        ];
        let (phase, emulator) = ("p".to_owned(), String::new());
        let found = stacks(&Explanation {
            format: 1,
            phase,
            by: Quantity::Instructions,
            means: emulator,
            sides,
        });
        let stack = |path: &str, costs| Stack { path: path.to_owned(), costs };
        assert_eq!(found, [stack("a", [10.0, 0.0]), stack("a;b", [2.0, 4.0])]);
    }
}
