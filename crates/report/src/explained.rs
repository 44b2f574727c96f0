//! An explanation in sentences and tables.

use crate::{
    document::{Column, Item, Row, Table, TableCell},
    number,
};
use analysis::explained::{Cost, Explained, FunctionCost, NOT_ATTRIBUTED, UNPLACED};
use model::explanation::{Explanation, Side};

/// Areas that the sentence names.
const NAMED: usize = 3;
/// A difference below this part of the base is none worth a sentence.
const SMALL: f64 = 0.002;

/// How many instructions an operation has more or fewer, and where.
pub fn sentence(explained: &Explained) -> String {
    let [base, variant] = &explained.subjects;
    let (difference, phase) = (explained.difference(), &explained.phase);
    let totals = explained.instructions.map(whole);
    let head = format!(
        "`{phase}` executes {} user instructions per operation on `{base}` and {} on `{variant}`",
        totals[0], totals[1]
    );
    if is_none(difference, explained) {
        return format!("{head}: the same within {} %.", number::value(100.0 * SMALL));
    }
    match where_added(explained) {
        Some(areas) => format!("{head}. {areas}"),
        None => format!("{head}: {} {}.", whole(difference.abs()), word(difference)),
    }
}

/// In which areas an operation has more or fewer instructions; none where it has as many, or where
/// no area is known.
pub fn where_added(explained: &Explained) -> Option<String> {
    let difference = explained.difference();
    let same_way = |area: &&analysis::explained::AreaCost| {
        area.difference() * difference > 0.0
            && ![NOT_ATTRIBUTED, UNPLACED].contains(&area.name.as_str())
    };
    let parts: Vec<String> = explained
        .areas
        .iter()
        .filter(same_way)
        .take(NAMED)
        .map(|area| format!("{} are in {}", whole(area.difference().abs()), area.name))
        .collect();
    if parts.is_empty() || is_none(difference, explained) {
        return None;
    }
    let differences = explained.areas.iter().map(|area| area.difference());
    let against: f64 = differences.filter(|own| own * difference < 0.0).sum();
    let other = if difference > 0.0 { "save" } else { "add" };
    let against = match against {
        small if is_none(small, explained) => String::new(),
        size => format!("; other areas {other} {}", whole(size.abs())),
    };
    let (amount, word) = (whole(difference.abs()), word(difference));
    let parts = parts.join(", ");
    Some(format!("Of {amount} {word} instructions per operation, {parts}{against}."))
}

fn is_none(difference: f64, explained: &Explained) -> bool {
    difference.abs() < SMALL * explained.instructions[0]
}

fn word(difference: f64) -> &'static str {
    if difference > 0.0 { "added" } else { "saved" }
}

/// Instructions by area; the last row is the sum of all others.
pub fn areas(explained: &Explained) -> Item {
    let row = |name: &str, instructions: [f64; 2]| {
        let difference = instructions[1] - instructions[0];
        let share = difference / explained.difference();
        let share =
            if share.is_finite() { TableCell::Text(percent(share)) } else { TableCell::Missing };
        let cells = [instructions[0], instructions[1]].map(|count| TableCell::Text(whole(count)));
        let change = [TableCell::Text(signed(difference)), share];
        Row::named(name, cells.into_iter().chain(change))
    };
    let mut rows = vec![row("all", explained.instructions)];
    rows.extend(explained.areas.iter().map(|area| row(&area.name, area.instructions)));
    Item::Table(Table { columns: columns(explained, "area", &["difference", "share"]), rows })
}

/// The functions with the largest difference of their own instructions.
pub fn functions(explained: &Explained, most: usize) -> Item {
    let mut columns = vec![Column::words("function"), Column::numbers("difference", "")];
    for what in ["own", "with callees", "calls"] {
        columns.extend(
            explained
                .subjects
                .iter()
                .map(|subject| Column::numbers(format!("{what}, {subject}"), "")),
        );
    }
    columns.push(Column::words("only in"));
    let rows = explained.functions.iter().take(most).map(|function| {
        let mut cells = vec![TableCell::Text(signed(function.difference()))];
        let costs: [fn(&Cost) -> f64; 3] =
            [|cost| cost.exclusive, |cost| cost.inclusive, |cost| cost.calls];
        for (index, cost) in costs.iter().enumerate() {
            cells.extend(function.sides.iter().map(|side| match side {
                None => TableCell::Missing,
                Some(side) if index == 2 => TableCell::Text(number::value(cost(side))),
                Some(side) => TableCell::Text(whole(cost(side))),
            }));
        }
        cells.push(TableCell::Text(only_in(explained, function)));
        Row::named(&function.name, cells)
    });
    Item::Table(Table { columns, rows: rows.collect() })
}

/// How it was counted, and how well.
pub fn remarks(explanation: &Explanation) -> Vec<Item> {
    let explained = Explained::of(explanation);
    let mut said = vec![format!(
        "Counted under {} on one connection. Functions without a name in their file are \
         `[file+address]`; they and functions of libraries belong to the area of their caller.",
        explanation.emulator
    )];
    said.extend(explanation.sides.iter().zip(explained.named).map(|(side, named)| {
        format!(
            "`{}` ({}): {} operations after {} to warm up{}; {} % of the instructions are in \
             functions with a name; the tree of calls has {} of {} instructions.",
            side.subject,
            side.server_version,
            side.operations,
            side.warm_up.operations,
            if side.warm_up.steady { "" } else { ", still not steady" },
            number::value(100.0 * named),
            in_tree(side),
            side.instructions
        )
    }));
    said.extend(not_steady(explanation));
    said.into_iter().map(Item::Paragraph).collect()
}

/// A warning for each side that was not warm when it was counted.
pub fn not_steady(explanation: &Explanation) -> Vec<String> {
    let cold = explanation.sides.iter().filter(|side| !side.warm_up.steady);
    let said = cold.map(|side| {
        let batches = &side.warm_up.batches;
        let last = batches.iter().rev().take(2).rev().map(|count| whole(*count));
        format!(
            "`{}` was not steady after {} operations: its last batches had {} instructions per \
             operation",
            side.subject,
            side.warm_up.operations,
            last.collect::<Vec<_>>().join(" and ")
        )
    });
    said.collect()
}

fn in_tree(side: &Side) -> u64 {
    side.functions.iter().map(|function| function.instructions).sum()
}

fn columns(explained: &Explained, first: &str, last: &[&str]) -> Vec<Column> {
    let mut columns = vec![Column::words(first)];
    columns.extend(explained.subjects.iter().map(|subject| Column::numbers(subject, "")));
    columns.extend(last.iter().map(|title| Column::numbers(*title, "")));
    columns
}

fn only_in(explained: &Explained, function: &FunctionCost) -> String {
    match function.sides {
        [Some(_), None] => explained.subjects[0].clone(),
        [None, Some(_)] => explained.subjects[1].clone(),
        _ => String::new(),
    }
}

/// A count with commas between thousands.
fn whole(count: f64) -> String {
    let digits = format!("{:.0}", count.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if count < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

fn signed(count: f64) -> String {
    let text = whole(count);
    if count > 0.0 && text != "0" { format!("+{text}") } else { text }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::explained::AreaCost;

    fn example(areas: &[(&str, [f64; 2])]) -> Explained {
        let area = |(name, instructions): &(&str, [f64; 2])| AreaCost {
            name: (*name).to_owned(),
            instructions: *instructions,
        };
        let sum = |side: usize| areas.iter().map(|area| area.1[side]).sum();
        Explained {
            phase: "point-query".to_owned(),
            subjects: ["a".to_owned(), "b".to_owned()],
            instructions: [sum(0), sum(1)],
            areas: areas.iter().map(area).collect(),
            functions: Vec::new(),
            named: [1.0, 1.0],
        }
    }

    fn check(areas: &[(&str, [f64; 2])], expected: &str) {
        let said = sentence(&example(areas));
        assert_eq!(said.split_once("on `b`").map(|(_, rest)| rest), Some(expected), "{said}");
    }

    #[test]
    fn the_sentence_names_the_areas_that_count() {
        let search = ("search", [2_000.0, 9_400.0]);
        let protocol = ("protocol", [4_000.0, 3_000.0]);
        let rest = (NOT_ATTRIBUTED, [10.0, 20.0]);
        check(
            &[search, protocol, rest],
            ". Of 6,410 added instructions per operation, 7,400 are in search; other areas save \
             1,000.",
        );
        check(
            &[protocol, rest],
            ". Of 990 saved instructions per operation, 1,000 are in protocol; other areas add \
             10.",
        );
        check(&[("rows", [9_000.0, 9_001.0])], ": the same within 0.200 %.");
        check(&[(NOT_ATTRIBUTED, [0.0, 1_000.0])], ": 1,000 added.");
    }

    #[test]
    fn counts_are_grouped() {
        let check = |count: f64, expected: &str| assert_eq!(signed(count), expected);
        check(1_234_567.2, "+1,234,567");
        check(-999.6, "-1,000");
        check(-0.2, "0");
        check(0.0, "0");
    }
}
