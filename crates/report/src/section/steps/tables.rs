//! The tables of a step, a line per variant, or per role and variant.

use super::Step;
use crate::{
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    words,
};
use analysis::{BUCKETS, Outcome, PhaseCell, RoleCost, RoleTimes, ServiceLevel, sla::RULES};
use model::metric::{Better, Metric, Part};

/// Costs of an operation, in the order of the columns.
const COSTS: &[&str] = &[
    "lead_user_instructions_per_op",
    "lead_cpu_us_per_op",
    "foreground_user_instructions_per_op",
    "foreground_cpu_us_per_op",
    "background_cpu_us_per_op",
    "server_user_instructions_per_op",
    "server_cpu_us_per_op",
    "client_cpu_us_per_op",
    "host_cpu_us_per_op",
    "context_switches_per_op",
    "host_context_switches_per_op",
    "reads_per_op",
    "read_kib_per_op",
    "writes_per_op",
    "write_kib_per_op",
];

const SIZES: &[&str] =
    &["database_mib", "data_folder_mib", "server_rss_mib_peak", "server_vsz_mib_peak"];

const RESIDENT: &str = "server_rss_mib_peak";

/// Rates and what the rules say of the paced ones.
pub(super) fn rates(inputs: &Inputs<'_>, step: &Step<'_>) -> Table {
    let paced = step.column.target_per_second.is_some();
    let what = if paced { "queries" } else { "rows" };
    let mut columns = vec![Column::words("variant"), Column::numbers(what, "1/s")];
    columns.push(Column::ratios("relative", Better::Higher));
    if paced {
        columns.push(Column::numbers("inserted", "rows/s"));
    }
    let deletes = !known(step, &[DELETED]).is_empty();
    if deletes {
        columns.push(Column::numbers("deleted", "rows/s"));
    }
    if paced {
        columns.push(Column::numbers("target", "rows/s"));
        columns.push(Column::numbers("seconds on target", "share"));
        columns.push(Column::numbers("largest lag", "ms"));
        columns.extend(RULES.iter().map(|rule| Column::words(format!("{} rule", rule.name))));
    }
    let base = |cell: &PhaseCell| {
        let base = step.column.base(cell).filter(|base| base.missed().is_none());
        base.and_then(|base| base.rate).filter(|rate| *rate > 0.0)
    };
    let row = |(subject, cell): (&String, &PhaseCell)| {
        let value = |metric: &str| step.phase.cell(subject, metric).and_then(|cell| cell.value);
        let missed = cell.missed().is_some();
        let rate =
            if cell.failure.is_some() { TableCell::Failed } else { TableCell::number(cell.rate) };
        let mut cells = vec![TableCell::Text(subject.clone()), rate];
        cells.push(match (cell.effect, cell.rate.zip(base(cell))) {
            _ if missed => TableCell::Missed(None),
            (Some(effect), _) => TableCell::ratio(effect.ratio, Some(effect.verdict)),
            (None, Some((rate, base))) => TableCell::Ratio(rate / base),
            (None, None) => TableCell::Missing,
        });
        if paced {
            cells.push(TableCell::number(cell.inserted_per_second));
        }
        if deletes {
            cells.push(TableCell::number(value(DELETED)));
        }
        if paced {
            cells.push(TableCell::number(step.column.target_per_second));
            cells.push(TableCell::number(value("seconds_on_target_share")));
            cells.push(TableCell::number(value("lag_us_max").map(|us| us / 1e3)));
            cells.extend(RULES.iter().map(|rule| outcome(cell, rule.name)));
        }
        Row::Cells(cells)
    };
    let rows = inputs.comparison.subjects.iter().zip(&step.column.cells).map(row);
    Table { columns, rows: rows.collect() }
}

const DELETED: &str = "delete_rows_per_second";

fn outcome(cell: &PhaseCell, rule: &str) -> TableCell {
    match cell.outcome(rule) {
        None => TableCell::Missing,
        Some(Outcome::Missed) => TableCell::Missed(None),
        Some(outcome) => TableCell::Text(outcome.name().to_owned()),
    }
}

/// The figures behind the rules, a line for each; warnings where they were missed.
pub(super) fn levels(inputs: &Inputs<'_>, step: &Step<'_>) -> Vec<Item> {
    let pairs = inputs.comparison.subjects.iter().zip(&step.column.cells);
    let levels = pairs.flat_map(|(subject, cell)| cell.levels.iter().map(move |l| (subject, l)));
    let said = |(subject, level): (&String, &ServiceLevel)| {
        let text = format!(
            "`{subject}`, {} rule: {}. {}.",
            level.rule,
            level.outcome.name(),
            level.words()
        );
        match level.outcome {
            Outcome::Missed => (Some(Item::Warning(text)), None),
            Outcome::Sustained | Outcome::Unknown => (None, Some(Item::Paragraph(text))),
        }
    };
    let (missed, others): (Vec<_>, Vec<_>) = levels.map(said).unzip();
    let mut items: Vec<Item> = missed.into_iter().flatten().collect();
    let others: Vec<Item> = others.into_iter().flatten().collect();
    let mut inner = Document::default();
    inner.fold("Service levels by rule", others);
    items.extend(inner.items);
    items
}

/// Percentiles by role and variant, and the published buckets.
pub(super) fn times(inputs: &Inputs<'_>, step: &Step<'_>, document: &mut Document) {
    let own = |times: &&RoleTimes| times.phase == step.column.phase;
    let mut found: Vec<&RoleTimes> = inputs.details.role_times.iter().filter(own).collect();
    if found.is_empty() {
        return;
    }
    let mut roles: Vec<&str> = Vec::new();
    for times in &found {
        if !roles.contains(&times.role.as_str()) {
            roles.push(&times.role);
        }
    }
    let place = |times: &&RoleTimes| {
        let role = roles.iter().position(|role| *role == times.role);
        (role, inputs.comparison.subjects.iter().position(|subject| *subject == times.subject))
    };
    found.sort_by_cached_key(place);
    let mut columns = vec![Column::words("role"), Column::words("variant")];
    let shares = columns.clone();
    columns.push(Column::numbers("operations", ""));
    columns.extend(["p50", "p95", "p99", "p99.9", "largest"].map(|p| Column::numbers(p, "us")));
    let row = |times: &&RoleTimes| {
        let values = times.percentiles_us.into_iter().chain([times.max_us]).map(TableCell::Number);
        let counts = [TableCell::Count(times.operations)].into_iter().chain(values);
        Row::Cells(names(times).into_iter().chain(counts).collect())
    };
    document.paragraph("Response times by role, of all measured slices.");
    document.items.push(Item::Sortable(Table { columns, rows: found.iter().map(row).collect() }));
    document.fold("Share of operations by response time (%)", vec![buckets(shares, &found)]);
}

fn names(times: &RoleTimes) -> [TableCell; 2] {
    [TableCell::Text(times.role.clone()), TableCell::Text(times.subject.clone())]
}

fn buckets(mut columns: Vec<Column>, found: &[&RoleTimes]) -> Item {
    columns.extend(BUCKETS.iter().map(|name| Column::numbers(*name, "")));
    columns.push(Column::numbers("largest", "s"));
    let row = |times: &&RoleTimes| {
        let share = |count: &u64| TableCell::Share(*count as f64 / times.operations.max(1) as f64);
        let cells = names(times).into_iter().chain(times.buckets.iter().map(share));
        Row::Cells(cells.chain([TableCell::Number(times.max_us / 1e6)]).collect())
    };
    Item::Sortable(Table { columns, rows: found.iter().map(row).collect() })
}

/// What an operation of the step costs.
pub(super) fn costs(inputs: &Inputs<'_>, step: &Step<'_>, document: &mut Document) {
    let known = known(step, COSTS);
    if known.is_empty() {
        return;
    }
    let lead = known.iter().any(|metric| metric.part == Part::Lead);
    let what = match (step.column.target_per_second, lead) {
        (Some(_), true) => {
            "Costs per query, including concurrent inserts and deletes; lead: only the tasks that \
             serve the queries."
        }
        (Some(_), false) => "Costs per query, including concurrent inserts and deletes.",
        (None, _) => "Costs per row.",
    };
    document.paragraph(what);
    document.items.push(Item::Sortable(table(inputs, step, &known)));
    let own = |cost: &&RoleCost| cost.phase == step.column.phase;
    let mut costs: Vec<&RoleCost> = inputs.details.role_costs.iter().filter(own).collect();
    let roles: Vec<String> = costs.iter().map(|cost| cost.role.clone()).collect();
    costs.sort_by_key(|cost| {
        let role = roles.iter().position(|role| *role == cost.role);
        (role, inputs.comparison.subjects.iter().position(|subject| *subject == cost.subject))
    });
    if !costs.is_empty() {
        document.paragraph("Costs per operation of each role, of the tasks that serve it.");
        document.items.push(Item::Sortable(by_role(&costs)));
    }
}

fn by_role(costs: &[&RoleCost]) -> Table {
    let counted = |of: fn(&RoleCost) -> Option<f64>| costs.iter().any(|cost| of(cost).is_some());
    let instructions = counted(|cost| cost.user_instructions);
    let mut columns = vec![
        Column::words("role"),
        Column::words("variant"),
        Column::numbers("operations", ""),
        Column::numbers("CPU time", "us/op"),
        Column::numbers("CPU time", "us/row"),
        Column::numbers("context switches", "1/op"),
    ];
    if instructions {
        columns.push(Column::numbers("user instructions", "1/op"));
    }
    let row = |cost: &&RoleCost| {
        let per = |value: Option<f64>, count: u64| {
            TableCell::number(value.filter(|_| count > 0).map(|value| value / count as f64))
        };
        let mut cells = vec![
            TableCell::Text(cost.role.clone()),
            TableCell::Text(cost.subject.clone()),
            TableCell::Count(cost.operations),
            per(cost.cpu_us, cost.operations),
            per(cost.cpu_us, cost.rows_changed),
            per(cost.context_switches, cost.operations),
        ];
        if instructions {
            cells.push(per(cost.user_instructions, cost.operations));
        }
        Row::Cells(cells)
    };
    Table { columns, rows: costs.iter().map(row).collect() }
}

/// Sizes and memory; the peak of resident memory beside the cache that the settings ask for.
pub(super) fn sizes(inputs: &Inputs<'_>, step: &Step<'_>, document: &mut Document) {
    let known = known(step, SIZES);
    if known.is_empty() {
        return;
    }
    let mut table = table(inputs, step, &known);
    let caches: Vec<Option<f64>> =
        inputs.comparison.subjects.iter().map(|subject| inputs.cache_mib(subject)).collect();
    if caches.iter().any(Option::is_some) {
        table.columns.push(Column::numbers("cache", "MiB"));
        table.columns.push(Column::numbers("RSS of cache", "ratio"));
        let subjects = inputs.comparison.subjects.iter();
        for ((row, subject), mib) in table.rows.iter_mut().zip(subjects).zip(caches) {
            let Row::Cells(cells) = row else { continue };
            let resident = step.phase.cell(subject, RESIDENT).and_then(|cell| cell.value);
            cells.push(TableCell::number(mib));
            cells.push(match resident.zip(mib) {
                Some((resident, mib)) => TableCell::Ratio(resident / mib),
                None => TableCell::Missing,
            });
        }
    }
    document.paragraph("Sizes at this step, and peak memory of the server.");
    document.items.push(Item::Sortable(table));
}

/// Those of the metrics that any variant has here.
fn known(step: &Step<'_>, names: &[&str]) -> Vec<&'static Metric> {
    let cells = &step.phase.cells;
    let has = |name: &&&str| cells.iter().any(|c| c.metric.name == **name && c.value.is_some());
    names.iter().filter(has).filter_map(|name| analysis::metric(name)).collect()
}

/// A line per variant, a column per metric.
fn table(inputs: &Inputs<'_>, step: &Step<'_>, metrics: &[&'static Metric]) -> Table {
    let mut columns = vec![Column::words("variant")];
    columns.extend(metrics.iter().map(|metric| Column {
        short: metric.short.to_owned(),
        ..Column::numbers(words::long_title(metric), metric.unit)
    }));
    let row = |subject: &String| {
        let value = |metric: &&Metric| {
            TableCell::number(step.phase.cell(subject, metric.name).and_then(|c| c.value))
        };
        Row::named(subject, metrics.iter().map(value))
    };
    Table { columns, rows: inputs.comparison.subjects.iter().map(row).collect() }
}
