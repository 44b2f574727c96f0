//! An explanation in sentences and tables.

use crate::{
    Details,
    document::{Column, Item, Row, Table, TableCell},
    number, words,
};
use analysis::{
    PhaseResult,
    explained::{AreaCost, Cost, Explained, FunctionCost, LOAD_ENGINE, NOT_ATTRIBUTED, UNPLACED},
};
use model::{
    explanation::{Explanation, Quantity, Side},
    number::counted,
    workload::Counts,
};

/// Areas that the sentence names.
const NAMED: usize = 3;

/// What costs are, behind a number.
pub fn unit(by: Quantity) -> &'static str {
    match by {
        Quantity::Instructions => "user instructions",
        Quantity::CpuTime => "ns of CPU time",
    }
}

/// The same where everybody knows that the kernel's instructions are not meant.
fn short_unit(by: Quantity) -> &'static str {
    match by {
        Quantity::Instructions => "instructions",
        Quantity::CpuTime => unit(by),
    }
}

/// A difference below this part of the base is none worth a sentence.
fn small(by: Quantity) -> f64 {
    match by {
        Quantity::Instructions => 0.002,
        Quantity::CpuTime => 0.05,
    }
}

/// What an operation costs more or less, and where.
pub fn sentence(explained: &Explained) -> String {
    let [base, variant] = &explained.subjects;
    let (difference, phase) = (explained.difference(), &explained.phase);
    let (totals, unit) = (explained.costs.map(whole), unit(explained.by));
    let does = match explained.by {
        Quantity::Instructions => "executes",
        Quantity::CpuTime => "takes",
    };
    let head = format!(
        "`{phase}` {does} {} {unit} per operation on `{base}` and {} on `{variant}`",
        totals[0], totals[1]
    );
    if is_none(difference, explained) {
        return format!(
            "{head}: the same within {} %.",
            number::value(100.0 * small(explained.by))
        );
    }
    let said = match where_added(explained) {
        Some(areas) => format!("{head}. {areas}"),
        None => format!("{head}: {} {}.", whole(difference.abs()), word(difference)),
    };
    match load_engine(explained) {
        Some(own) => format!("{said} {own}"),
        None => said,
    }
}

/// What the load engine costs where the engine works in its process: tables of runs leave that out.
fn load_engine(explained: &Explained) -> Option<String> {
    let area = explained.areas.iter().find(|area| area.name == LOAD_ENGINE)?;
    let of = |(subject, cost): (&String, &f64)| {
        (*cost > 0.0).then(|| format!("{} of `{subject}`", whole(*cost)))
    };
    let parts: Vec<String> = explained.subjects.iter().zip(&area.costs).filter_map(of).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Of all that, {} are the load engine's: costs per operation in tables of runs are \
             without it.",
            parts.join(" and ")
        )
    })
}

/// In which areas an operation of a phase executes more or fewer instructions, as far as the run
/// was explained.
pub(crate) fn instructions_added(
    details: &Details,
    phase: &PhaseResult,
    subjects: [&str; 2],
) -> Option<String> {
    let what = (Quantity::Instructions, phase.phase.as_str(), subjects);
    let explanation = details.explanations.iter().find(|one| one.what() == what)?;
    let said = where_added(&Explained::of(explanation))?;
    Some(match divided_by(details, phase) {
        Some(more) => format!("{said} {more}"),
        None => said,
    })
}

/// A difference between an operation and one of what is counted that is none.
const EQUAL: f64 = 0.005;

/// What tables of costs divide by in a phase, where that is not the operation of its explanation:
/// one sentence.
pub(crate) fn divided_by(details: &Details, phase: &PhaseResult) -> Option<String> {
    let mut phases = details.plan.iter().flat_map(|plan| &plan.phases);
    let script = &phases.find(|own| own.name == phase.phase)?.script;
    let names = match script.counts {
        Counts::Operations => return None,
        // Of roles the operations count.
        Counts::Statements if script.has_named_roles() => return None,
        Counts::Statements => ["statement", "statements"],
        Counts::Rows => ["row", "rows"],
    };
    let mut cells = phase.cells.iter().filter(|_| !script.has_named_roles());
    let each = cells.find_map(|cell| {
        let counted = cell.value.filter(|_| cell.metric.name == words::THROUGHPUT)?;
        Some(counted / phase.cell(&cell.subject, "transactions_per_second")?.value?)
    });
    divided(each.filter(|each| each.is_finite()), names)
}

/// The same for one and several of what is counted: how many an operation has.
fn divided(each: Option<f64>, [one, several]: [&str; 2]) -> Option<String> {
    let Some(each) = each else { return Some(format!("Other costs are those of one {one}.")) };
    let said = || {
        let each = number::value(each);
        format!("An operation has {each} {several}, by which other costs are divided.")
    };
    ((each - 1.0).abs() >= EQUAL).then(said)
}

/// In which areas an operation costs more or less; none where it costs the same, or where no area
/// is known. Where areas go both ways, each says which.
fn where_added(explained: &Explained) -> Option<String> {
    let difference = explained.difference();
    let is_told = |area: &&AreaCost| {
        area.chance.is_none_or(|chance| area.difference().abs() > chance)
            && ![NOT_ATTRIBUTED, UNPLACED, LOAD_ENGINE].contains(&area.name.as_str())
            && area.difference() != 0.0
    };
    let told: Vec<&AreaCost> = explained.areas.iter().filter(is_told).collect();
    let same_way = |area: &&&AreaCost| area.difference() * difference > 0.0;
    if is_none(difference, explained) || !told.iter().any(|area| same_way(&area)) {
        return None;
    }
    let unit = short_unit(explained.by);
    let own = explained.areas.iter().filter(|area| area.name != LOAD_ENGINE);
    let differences = own.map(|area| area.difference());
    let against: f64 = differences.filter(|own| own * difference < 0.0).sum();
    let more = |size: f64| if size > 0.0 { "more" } else { "fewer" };
    if against.abs() > MIXED * difference.abs() {
        let mut largest = told;
        largest.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
        let parts = largest.iter().take(NAMED).map(|area| {
            let size = area.difference();
            format!("{} {} in {}", whole(size.abs()), more(size), area.name)
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        let (amount, more) = (whole(difference.abs()), more(difference));
        return Some(format!("In all {amount} {more} {unit} per operation: {parts}."));
    }
    let parts = told.iter().filter(same_way).take(NAMED);
    let parts =
        parts.map(|area| format!("{} are in {}", whole(area.difference().abs()), area.name));
    let parts = parts.collect::<Vec<_>>().join(", ");
    let other = if difference > 0.0 { "save" } else { "add" };
    let against = match against {
        small if is_none(small, explained) => String::new(),
        size => format!("; other areas {other} {}", whole(size.abs())),
    };
    let (amount, word) = (whole(difference.abs()), word(difference));
    Some(format!("Of {amount} {word} {unit} per operation, {parts}{against}."))
}

/// Part of a difference from which on areas against it are listed one by one.
const MIXED: f64 = 0.5;

fn is_none(difference: f64, explained: &Explained) -> bool {
    difference.abs() < small(explained.by) * explained.costs[0]
}

fn word(difference: f64) -> &'static str {
    if difference > 0.0 { "added" } else { "saved" }
}

/// Title of the column that says how far samples can be trusted.
const BY_CHANCE: &str = "± by chance";

/// Title of the column of differences as parts of all that the base costs.
const OF_BASE: &str = "of the base";

/// Costs by area; the last row is the sum of all others.
pub fn areas(explained: &Explained) -> Item {
    let sampled = explained.by == Quantity::CpuTime;
    let row = |name: &str, costs: [f64; 2], chance: Option<f64>| {
        let difference = costs[1] - costs[0];
        let share = difference / explained.costs[0];
        let share =
            if share.is_finite() { TableCell::Text(percent(share)) } else { TableCell::Missing };
        let cells = [costs[0], costs[1]].map(|count| TableCell::Text(whole(count)));
        let change = [TableCell::Text(signed(difference))];
        let by_chance = sampled.then(|| self::chance(chance));
        let change = change.into_iter().chain(by_chance).chain([share]);
        Row::named(name, cells.into_iter().chain(change))
    };
    let mut rows = vec![row("all", explained.costs, None)];
    rows.extend(explained.areas.iter().map(|area| row(&area.name, area.costs, area.chance)));
    let last: &[&str] = match sampled {
        true => &["difference", BY_CHANCE, OF_BASE],
        false => &["difference", OF_BASE],
    };
    Item::Table(Table { columns: columns(explained, "area", last), rows })
}

/// By how much a difference may be wrong.
fn chance(size: Option<f64>) -> TableCell {
    size.map_or(TableCell::Missing, |size| TableCell::Text(whole(size)))
}

/// The functions with the largest difference of their own costs, without those that samples do not
/// tell from chance.
pub fn functions(explained: &Explained, most: usize) -> Item {
    let mut columns = vec![Column::words("function"), Column::numbers("difference", "")];
    let costs: &[Shown] = match explained.by {
        Quantity::Instructions => &[OWN, WITH_CALLEES, CALLS],
        Quantity::CpuTime => {
            columns.push(Column::numbers(BY_CHANCE, ""));
            &[OWN, WITH_CALLEES]
        }
    };
    for (what, _, _) in costs {
        columns.extend(
            explained
                .subjects
                .iter()
                .map(|subject| Column::numbers(format!("{what}, {subject}"), "")),
        );
    }
    columns.push(Column::words("only in"));
    let told = |function: &&FunctionCost| {
        function.chance.is_none_or(|chance| function.difference().abs() > chance)
    };
    let rows = explained.functions.iter().filter(told).take(most).map(|function| {
        let mut cells = vec![TableCell::Text(signed(function.difference()))];
        if explained.by == Quantity::CpuTime {
            cells.push(chance(function.chance));
        }
        for (_, cost, text) in costs {
            cells.extend(function.sides.iter().map(|side| match side {
                None => TableCell::Missing,
                Some(side) => TableCell::Text(text(cost(side))),
            }));
        }
        cells.push(TableCell::Text(only_in(explained, function)));
        Row::named(&function.name, cells)
    });
    Item::Table(Table { columns, rows: rows.collect() })
}

/// A column of functions: its title, the cost, and how it is written.
type Shown = (&'static str, fn(&Cost) -> f64, fn(f64) -> String);

const OWN: Shown = ("own", |cost| cost.exclusive, whole);
const WITH_CALLEES: Shown = ("with callees", |cost| cost.inclusive, whole);
const CALLS: Shown = ("calls", |cost| cost.calls, number::value);

/// How it was found, and how well.
pub fn remarks(explanation: &Explanation) -> Vec<Item> {
    let explained = Explained::of(explanation);
    let means = &explanation.means;
    let mut said = vec![match explanation.by {
        Quantity::Instructions => format!(
            "Counted under {means} on one connection. Functions without a name in their file are \
             `[file+address]`; they and functions of libraries belong to the area of their caller."
        ),
        Quantity::CpuTime => format!(
            "Sampled by {means} on one connection. Functions of the kernel are `kernel:NAME`, \
             below the function that called it, in areas by system call. Who called a function \
             of the server is not known. Functions whose difference may be chance are left out; \
             what one start has more than another, some percent of all, is not in it."
        ),
    }];
    said.extend(explanation.sides.iter().zip(explained.named).map(|(side, named)| {
        let about = match explanation.by {
            Quantity::Instructions => {
                format!("the tree of calls has {} of {} instructions", in_tree(side), side.cost)
            }
            Quantity::CpuTime => format!("{} samples", side.samples),
        };
        format!(
            "`{}` ({}): {} after {} to warm up{}; {} % are in functions with a name; {about}.",
            side.subject,
            side.server_version,
            counted(side.operations, "operation"),
            side.warm_up.operations,
            if side.warm_up.steady { "" } else { ", still not steady" },
            number::value(100.0 * named),
        )
    }));
    if analysis::explained::leaves_inlined_to_callers(&explanation.sides) {
        let text = "Of one of the two builds debug information tells what was inlined, of the \
                    other it does not: areas leave what was inlined to its callers.";
        said.push(text.to_owned());
    }
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
            "`{}` was not steady after {}: its last batches had {} {} per operation",
            side.subject,
            counted(side.warm_up.operations, "operation"),
            last.collect::<Vec<_>>().join(" and "),
            short_unit(explanation.by),
        )
    });
    said.collect()
}

fn in_tree(side: &Side) -> u64 {
    side.functions.iter().map(|function| function.cost).sum()
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
    let text = format!("{:.1} %", 100.0 * share).replace("-0.0 %", "0.0 %");
    if share > 0.0 && text != "0.0 %" { format!("+{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(areas: &[(&str, [f64; 2])]) -> Explained {
        let area = |(name, costs): &(&str, [f64; 2])| AreaCost {
            name: (*name).to_owned(),
            costs: *costs,
            chance: None,
        };
        let sum = |side: usize| areas.iter().map(|area| area.1[side]).sum();
        Explained {
            phase: "point-query".to_owned(),
            subjects: ["a".to_owned(), "b".to_owned()],
            by: Quantity::Instructions,
            costs: [sum(0), sum(1)],
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
            &[search, protocol, (LOAD_ENGINE, [1_488.0, 0.0])],
            ". Of 4,912 added instructions per operation, 7,400 are in search; other areas save \
             1,000. Of all that, 1,488 of `a` are the load engine's: costs per operation in \
             tables of runs are without it.",
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
    fn an_operation_of_several_statements_costs_more_than_one_of_them() {
        let check = |each, expected: Option<&str>| {
            assert_eq!(divided(each, ["statement", "statements"]).as_deref(), expected);
        };
        check(Some(1.0), None);
        let said = "An operation has 20.0 statements, by which other costs are divided.";
        check(Some(20.0), Some(said));
        check(None, Some("Other costs are those of one statement."));
    }

    #[test]
    fn a_row_has_all_cells_where_samples_tell_nothing_of_chance() {
        let sides = [Some(Cost::default()), None];
        let function = FunctionCost { name: "f".to_owned(), sides, chance: None };
        let sampled = Explained {
            by: Quantity::CpuTime,
            functions: vec![function],
            ..example(&[("search", [1.0, 2.0])])
        };
        for item in [functions(&sampled, 9), areas(&sampled)] {
            let Item::Table(table) = item else { panic!("no table") };
            for row in &table.rows {
                let Row::Cells(cells) = row else { panic!("no cells") };
                assert_eq!(cells.len(), table.columns.len());
            }
        }
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
