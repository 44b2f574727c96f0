//! Why tests moved: sentences of the diagnosis, with their evidence.

use super::Section;
use crate::{
    document::{Column, Document, Item, Row, Table, TableCell},
    explained,
    inputs::Inputs,
    number, words,
};
use analysis::{Diagnosis, PhaseResult, Verdict};
use model::{
    metric::{Better, Kind, Metric, Part, Table as Costs},
    number::counted,
};

/// Groups that are shown; the tests with the largest changes come first.
const SHOWN: usize = 60;

/// Costs beside each other in the table of a group.
const COSTS: usize = 6;

/// Variants of one test that changed in one direction for the same first reason.
struct Group<'a> {
    phase: &'a PhaseResult,
    base: String,
    metric: &'static Metric,
    worse: bool,
    /// Name of the first rule, or empty.
    rule: &'static str,
    diagnoses: Vec<Diagnosis>,
}

/// Part of an operation's time from which on a wait is shown.
const LEAST: f64 = 0.01;

pub(super) const SECTION: Section = Section { name: "why", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let phases = &inputs.comparison.phases;
    if inputs.compared().is_empty() || phases.is_empty() {
        return;
    }
    let mut tests: Vec<Vec<Group<'_>>> = phases.iter().map(groups).collect();
    tests.retain(|groups| !groups.is_empty());
    if tests.is_empty() && inputs.lead.name != words::THROUGHPUT {
        return;
    }
    document.section("why", "Why");
    let large = number::ratio(analysis::LARGE);
    if tests.is_empty() {
        document.paragraph(format!(
            "No test has a verdict of worse or better in throughput, CPU time or instructions, \
             and the throughput of no test measured once changed by a factor of {large}."
        ));
        return;
    }
    tests.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    document.paragraph(format!(
        "Costs per operation that changed together with a test, largest change first. Tests are \
         those in which throughput, else the server's CPU time or instructions are decided to have \
         changed; a test that was measured once is here if its throughput changed by a factor of \
         {large}. Costs that may have changed by chance are left out. A cost that changed with a \
         test need not be the cause, but is a place to start."
    ));
    let groups: Vec<Group<'_>> = tests.into_iter().flatten().collect();
    groups.iter().take(SHOWN).for_each(|group| told(inputs, group, document));
    if groups.len() > SHOWN {
        let more = counted(groups.len() - SHOWN, "smaller change");
        document.paragraph(format!("Not shown here: {more}."));
    }
}

fn size(effect: f64) -> f64 {
    effect.ln().abs()
}

/// The largest change of a test.
fn largest(groups: &[Group<'_>]) -> f64 {
    let all = groups.iter().flat_map(|group| &group.diagnoses);
    all.map(|diagnosis| size(diagnosis.effect)).fold(0.0, f64::max)
}

/// The diagnoses of a test, put together by base, direction and first reason.
fn groups(phase: &PhaseResult) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for diagnosis in analysis::diagnoses(phase) {
        let rule = diagnosis.findings.first().map_or("", |finding| finding.rule);
        let (base, metric) = (diagnosis.base.clone(), diagnosis.metric);
        let worse = diagnosis.effect < 1.0;
        let same = |group: &&mut Group<'_>| {
            let known = (&group.base, group.metric.name, group.worse, group.rule);
            known == (&base, metric.name, worse, rule)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.diagnoses.push(diagnosis),
            None => {
                let diagnoses = vec![diagnosis];
                groups.push(Group { phase, base, metric, worse, rule, diagnoses });
            }
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.diagnoses.len()));
    groups
}

fn told(inputs: &Inputs<'_>, group: &Group<'_>, document: &mut Document) {
    match group.diagnoses.as_slice() {
        [one] => self::one(inputs, group.phase, one, document),
        several => {
            document.fold(title(inputs, group), vec![Item::Sortable(table(group.metric, several))])
        }
    }
}

/// How many variants changed, by how much, and what changed with it.
fn title(inputs: &Inputs<'_>, group: &Group<'_>) -> String {
    let families = inputs.families();
    let family = families.iter().find(|(base, _)| *base == group.base);
    let measured = |variant: &&&str| {
        let cell = group.phase.cell(variant, group.metric.name);
        cell.is_some_and(|cell| cell.ratio.is_some())
    };
    let all = family.map_or(0, |(_, variants)| variants.iter().filter(measured).count());
    let ratios = group.diagnoses.iter().map(|diagnosis| diagnosis.ratio);
    let words = if group.metric.name == words::THROUGHPUT {
        ["slower", "faster"]
    } else {
        ["more expensive", "cheaper"]
    };
    let first = group.diagnoses.iter().find_map(|d| d.findings.first()?.evidence.first());
    let reason = first.map_or_else(
        || "no cost that was measured changed with it".to_owned(),
        |cost| {
            let ratios: Vec<f64> =
                group.diagnoses.iter().filter_map(|d| moved(d, cost.metric.name)).collect();
            let title = words::long_title(cost.metric);
            match ratios.is_empty() {
                true => format!("{title}, which the base has none of"),
                false => format!("{} {title} per operation", range(ratios.into_iter())),
            }
        },
    );
    format!(
        "`{}`: {} of {} {} than `{}`, {} {}{}: {reason}.",
        group.phase.phase,
        group.diagnoses.len(),
        words::variants(all),
        words[usize::from(!group.worse)],
        group.base,
        range(ratios),
        words::long_title(group.metric),
        group.diagnoses.first().map_or("", certainty),
    )
}

/// What is said of a change without a verdict.
fn certainty(diagnosis: &Diagnosis) -> &'static str {
    match diagnosis.verdict {
        Verdict::Unreplicated => " (measured once)",
        Verdict::Unassessed => " (without a verdict)",
        _ => "",
    }
}

/// From the least to the largest ratio.
fn range(ratios: impl Iterator<Item = f64>) -> String {
    let (low, high) = ratios.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ratio| {
        (low.min(ratio), high.max(ratio))
    });
    match (number::ratio(low), number::ratio(high)) {
        (low, high) if low == high => format!("{low}x"),
        (low, high) => format!("{low}x to {high}x"),
    }
}

/// How far a cost moved in any finding of a diagnosis, if the base has some of it.
fn moved(diagnosis: &Diagnosis, metric: &str) -> Option<f64> {
    let mut evidence = diagnosis.findings.iter().flat_map(|finding| &finding.evidence);
    let found = evidence.find(|cost| cost.metric.name == metric);
    found.map(|cost| cost.ratio).filter(|ratio| ratio.is_finite())
}

/// A line per variant: what changed, and the costs that changed with it, relative to the base.
fn table(changed: &'static Metric, diagnoses: &[Diagnosis]) -> Table {
    let mut metrics: Vec<&'static Metric> = Vec::new();
    let findings = diagnoses.iter().flat_map(|diagnosis| &diagnosis.findings);
    for cost in findings.flat_map(|finding| &finding.evidence) {
        if cost.metric.name != changed.name && !metrics.iter().any(|m| m.name == cost.metric.name) {
            metrics.push(cost.metric);
        }
    }
    metrics.truncate(COSTS);
    let mut columns = vec![Column::words("variant")];
    columns.push(Column::ratios(words::long_title(changed), changed.better));
    let cost = |metric: &&Metric| Column::ratios(words::long_title(metric), metric.better);
    columns.extend(metrics.iter().map(cost));
    let row = |diagnosis: &Diagnosis| {
        let costs = metrics.iter().map(|metric| moved(diagnosis, metric.name));
        let costs = costs.map(|ratio| ratio.map_or(TableCell::Missing, TableCell::Ratio));
        Row::named(&diagnosis.subject, [TableCell::Ratio(diagnosis.ratio)].into_iter().chain(costs))
    };
    Table { columns, rows: diagnoses.iter().map(row).collect() }
}

/// What is said of a change without any finding.
fn nothing_found(phase: &PhaseResult) -> &'static str {
    let is_load = |part: Part| matches!(part, Part::Load | Part::Pace);
    let is_cost = |metric: &Metric| !is_load(metric.part) && metric.kind != Kind::Peak;
    match phase.cells.iter().any(|cell| is_cost(cell.metric) && cell.value.is_some()) {
        true => "No cost that was measured explains it.",
        false => "No cost per operation is known of it.",
    }
}

fn one(inputs: &Inputs<'_>, phase: &PhaseResult, diagnosis: &Diagnosis, document: &mut Document) {
    let mut reason = diagnosis
        .findings
        .first()
        .map_or_else(|| nothing_found(phase).to_owned(), |finding| finding.sentence.clone());
    let subjects = [diagnosis.base.as_str(), diagnosis.subject.as_str()];
    let mut areas = explained::instructions_added(inputs.details, phase, subjects);
    if let Some(areas) = areas.take_if(|_| is_of_instructions(diagnosis)) {
        reason = format!("{reason} {areas}");
    }
    let title = format!(
        "`{}`: `{}` {} {}x the {} of `{}`{}. {reason}",
        phase.phase,
        diagnosis.subject,
        if diagnosis.metric.name == words::THROUGHPUT { "reaches" } else { "needs" },
        number::change(diagnosis.ratio),
        words::long_title(diagnosis.metric),
        diagnosis.base,
        certainty(diagnosis),
    );
    let mut items = Vec::new();
    for (place, finding) in diagnosis.findings.iter().enumerate() {
        // The title has the first.
        if place > 0 {
            items.push(Item::Paragraph(finding.sentence.clone()));
        }
        let rows = finding.evidence.iter().map(|moved| {
            let name = words::long_title(moved.metric);
            row(&name, moved.metric.unit, Some(moved.base), Some(moved.value))
        });
        items.push(Item::Table(Table { columns: columns(diagnosis), rows: rows.collect() }));
    }
    if !diagnosis.ruled_out.is_empty() {
        let ruled_out = diagnosis.ruled_out.join(", ");
        items.push(Item::Paragraph(format!("Not the reason: {ruled_out}.")));
    }
    items.extend(areas.map(Item::Paragraph));
    let time = identity(phase, diagnosis);
    if time.len() > 1 {
        items.push(Item::Paragraph("Time per operation, by part:".to_owned()));
        items.push(Item::Table(Table { columns: columns(diagnosis), rows: time }));
    }
    if items.is_empty() {
        document.paragraph(title);
    } else {
        document.fold(title, items);
    }
}

/// Whether the first reason, or what changed, is the code that is executed.
fn is_of_instructions(diagnosis: &Diagnosis) -> bool {
    let first = diagnosis.findings.first();
    first.map_or(diagnosis.metric.kind.is_instructions(), |finding| finding.rule == "code")
}

fn columns(diagnosis: &Diagnosis) -> Vec<Column> {
    vec![
        Column::words("cost"),
        Column::words("unit"),
        Column::numbers(&diagnosis.base, ""),
        Column::numbers(&diagnosis.subject, ""),
        Column::ratios("relative", Better::Lower),
    ]
}

fn row(name: &str, unit: &str, base: Option<f64>, value: Option<f64>) -> Row {
    let number = TableCell::number;
    let ratio = base.zip(value).filter(|(base, _)| *base > 0.0);
    let ratio = ratio.map_or(TableCell::Missing, |(base, value)| TableCell::Ratio(value / base));
    Row::named(name, [TableCell::Text(unit.to_owned()), number(base), number(value), ratio])
}

/// Time per operation of one client = CPU time of the server + of the client + the rest; and, where
/// cycles are counted, CPU time = instructions x cycles per instruction / frequency.
fn identity(phase: &PhaseResult, diagnosis: &Diagnosis) -> Vec<Row> {
    let pair = |metric: &str| {
        let cell = phase.cell(&diagnosis.subject, metric)?;
        Some((cell.base_value?, cell.value?))
    };
    let clients = f64::from(phase.busy_clients());
    // Of an unknown number of clients, or at a set rate, nobody knows the time of one.
    let rates = pair(words::THROUGHPUT).filter(|(a, b)| clients > 0.0 && *a > 0.0 && *b > 0.0);
    let Some((base, value)) = rates else { return Vec::new() };
    let whole = (clients * 1e6 / base, clients * 1e6 / value);
    let told = |name: &str, unit: &str, (base, value): (f64, f64)| {
        row(name, unit, Some(base), Some(value))
    };
    let mut rows = vec![told("time of an operation, of one client", "us", whole)];
    // All parts are of one scope: costs of the lead role's tasks and those of all serving tasks
    // do not add up.
    let of = |part, kind| pair(analysis::metric_of(part, kind)?.name);
    let leads = of(Part::Lead, Kind::CpuTime).is_some();
    let of_part = |kind| of(if leads { Part::Lead } else { Part::Foreground }, kind);
    let serving = of_part(Kind::CpuTime);
    let client = of(Part::Client, Kind::CpuTime);
    rows.extend(serving.map(|pair| told("CPU time of the tasks that serve it", "us", pair)));
    // What of the whole server served the operation is not known, and so no rest either.
    let whole_server = of(Part::Server, Kind::CpuTime).filter(|_| serving.is_none());
    let words = "CPU time of the whole server, background included";
    rows.extend(whole_server.map(|pair| told(words, "us", pair)));
    rows.extend(client.map(|pair| told("CPU time of the client", "us", pair)));
    // The client's time is that of all roles: beside one role's tasks no rest is known.
    if let (Some(server), Some(client)) = (serving.filter(|_| !leads), client) {
        let rest = |whole: f64, parts: f64| (whole - parts).max(0.0);
        let both = (rest(whole.0, server.0 + client.0), rest(whole.1, server.1 + client.1));
        rows.push(told("the rest: waiting, waking, storage", "us", both));
        let waits = analysis::METRICS.iter().filter(|metric| metric.table == Some(Costs::Waits));
        rows.extend(waits.filter_map(|metric| {
            let title = format!("of it {}", words::long_title(metric));
            let counts = |pair: &(f64, f64)| pair.0.max(pair.1) >= LEAST * whole.0.max(whole.1);
            pair(metric.name).filter(counts).map(|pair| told(&title, "us", pair))
        }));
    }
    let instructions = of_part(Kind::UserInstructions).zip(of_part(Kind::KernelInstructions));
    if let (Some((user, kernel)), Some(cycles)) = (instructions, of_part(Kind::Cycles)) {
        let all = (user.0 + kernel.0, user.1 + kernel.1);
        if all.0 > 0.0 && all.1 > 0.0 {
            rows.push(told("instructions, user and kernel", "1/op", all));
            let per = (cycles.0 / all.0, cycles.1 / all.1);
            rows.push(told("cycles per instruction", "", per));
        }
    }
    rows
}
