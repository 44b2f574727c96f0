//! Why tests moved: sentences of the diagnosis, with their evidence.

use super::Section;
use crate::{
    document::{Cell, Column, Document, Item, Row, Table},
    number,
    scope::Scope,
    words,
};
use analysis::{Diagnosis, PhaseResult, Verdict};
use model::metric::Better;

pub(super) struct Why;

/// Diagnoses that are shown in full; the largest effects come first.
const SHOWN: usize = 60;

impl Section for Why {
    fn name(&self) -> &'static str {
        "why"
    }

    fn write(&self, scope: &Scope<'_>, document: &mut Document) {
        let phases = &scope.comparison.phases;
        let mut found: Vec<(&PhaseResult, Diagnosis)> = phases
            .iter()
            .flat_map(|phase| analysis::diagnoses(phase).into_iter().map(move |d| (phase, d)))
            .collect();
        if scope.compared().is_empty() || phases.is_empty() {
            return;
        }
        document.section("why", "Why");
        let margin = number::ratio(words::MARGIN);
        if found.is_empty() {
            document.paragraph(format!("No test moved by more than a factor of {margin}."));
            return;
        }
        found.sort_by(|a, b| b.1.effect.ln().abs().total_cmp(&a.1.effect.ln().abs()));
        document.paragraph(format!(
            "Which cost per operation moved with the throughput, for {} that moved by \
             more than a factor of {margin}; the largest effects first. What moves together need \
             not be a cause: these are places to look.",
            words::tests(found.len())
        ));
        for (phase, diagnosis) in found.iter().take(SHOWN) {
            one(phase, diagnosis, document);
        }
        if found.len() > SHOWN {
            let more = found.len() - SHOWN;
            document.paragraph(format!("{more} smaller moves are not shown here."));
        }
    }
}

fn one(phase: &PhaseResult, diagnosis: &Diagnosis, document: &mut Document) {
    let reason = diagnosis.findings.first().map_or_else(
        || "no cost that was measured moved with it.".to_owned(),
        |finding| finding.sentence.clone(),
    );
    let cell = phase.cell(&diagnosis.subject, words::THROUGHPUT);
    let unsure = cell.filter(|cell| cell.verdict == Verdict::Inconclusive);
    let unsure = unsure.and_then(|cell| cell.interval);
    let unsure = unsure.map(|ends| format!(" (undecided: {})", words::interval(ends)));
    let title = format!(
        "`{}`, `{}`: {} of the throughput{}. {reason}",
        phase.phase,
        diagnosis.subject,
        number::ratio(diagnosis.effect),
        unsure.unwrap_or_default(),
    );
    let mut items = Vec::new();
    for finding in &diagnosis.findings {
        items.push(Item::Paragraph(finding.sentence.clone()));
        let rows = finding.evidence.iter().map(|moved| {
            let name = words::long_title(moved.metric);
            row(&name, moved.metric.unit, (Some(moved.base), Some(moved.value)))
        });
        items.push(Item::Table(Table { columns: columns(diagnosis), rows: rows.collect() }));
    }
    let time = identity(phase, diagnosis);
    if time.len() > 1 {
        items.push(Item::Paragraph("Where the time of an operation goes:".to_owned()));
        items.push(Item::Table(Table { columns: columns(diagnosis), rows: time }));
    }
    document.fold(title, items);
}

fn columns(diagnosis: &Diagnosis) -> Vec<Column> {
    let ratio = Column { heat: Some(Better::Lower), ..Column::numbers("relative", "ratio") };
    vec![
        Column::words("cost"),
        Column::words("unit"),
        Column::numbers(&diagnosis.base, ""),
        Column::numbers(&diagnosis.subject, ""),
        ratio,
    ]
}

fn row(name: &str, unit: &str, (base, value): (Option<f64>, Option<f64>)) -> Row {
    let number = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Number);
    let ratio = base.zip(value).filter(|(base, _)| *base > 0.0);
    Row::Cells(vec![
        Cell::Text(name.to_owned()),
        Cell::Text(unit.to_owned()),
        number(base),
        number(value),
        ratio.map_or(Cell::Missing, |(base, value)| Cell::Ratio(value / base)),
    ])
}

/// Time per operation of one client = CPU time of the server + of the client + the rest; and, where
/// cycles are counted, CPU time = instructions x cycles per instruction / frequency.
fn identity(phase: &PhaseResult, diagnosis: &Diagnosis) -> Vec<Row> {
    let pair = |metric: &str| {
        let cell = phase.cell(&diagnosis.subject, metric)?;
        Some((cell.base_value?, cell.value?))
    };
    let clients = f64::from(phase.clients);
    let Some((base, value)) = pair(words::THROUGHPUT).filter(|(a, b)| *a > 0.0 && *b > 0.0) else {
        return Vec::new();
    };
    let whole = (clients * 1e6 / base, clients * 1e6 / value);
    let told = |name: &str, unit: &str, (base, value): (f64, f64)| {
        row(name, unit, (Some(base), Some(value)))
    };
    let mut rows = vec![told("time of an operation, of one client", "us", whole)];
    // One part for all that is told: costs of the lead role's tasks and those of all that serve
    // do not go together.
    let leads = pair("lead_cpu_us_per_op").is_some();
    let part = if leads { "lead" } else { "foreground" };
    let of_part = |cost: &str| pair(&format!("{part}_{cost}_per_op"));
    let serving = of_part("cpu_us");
    let client = pair("client_cpu_us_per_op");
    rows.extend(serving.map(|pair| told("CPU time of the tasks that serve it", "us", pair)));
    // What of the whole server served the operation is not known, and so no rest either.
    let whole_server = pair("server_cpu_us_per_op").filter(|_| serving.is_none());
    let words = "CPU time of the whole server, background included";
    rows.extend(whole_server.map(|pair| told(words, "us", pair)));
    rows.extend(client.map(|pair| told("CPU time of the client", "us", pair)));
    // The client's time is that of all roles: beside one role's tasks no rest is known.
    if let (Some(server), Some(client)) = (serving.filter(|_| !leads), client) {
        let rest = |whole: f64, parts: f64| (whole - parts).max(0.0);
        let pair = (rest(whole.0, server.0 + client.0), rest(whole.1, server.1 + client.1));
        rows.push(told("the rest: waiting, waking, storage", "us", pair));
    }
    let instructions = of_part("user_instructions").zip(of_part("kernel_instructions"));
    if let (Some((user, kernel)), Some(cycles)) = (instructions, of_part("cycles")) {
        let all = (user.0 + kernel.0, user.1 + kernel.1);
        if all.0 > 0.0 && all.1 > 0.0 {
            rows.push(told("instructions, user and kernel", "1/op", all));
            let per = (cycles.0 / all.0, cycles.1 / all.1);
            rows.push(told("cycles per instruction", "", per));
        }
    }
    rows
}
