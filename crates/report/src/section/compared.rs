//! What was compared: settings, builds, host, plan, time, and what readers must be warned of.

mod builds;
mod provenance;

use super::Section;
use crate::{
    Details, Trial,
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    words::{self, one_line},
};
use analysis::{Accounting, SettingDifference};
use model::{
    experiment::Design,
    number::{counted, ordinal},
    plan::Plan,
    record::TrialHeader,
    schema::Schema,
    size,
};

/// Settings with different values that are shown at once; the rest can be opened.
const SETTINGS: usize = 15;

pub(super) const SECTION: Section = Section { name: "compared", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let details = inputs.details;
    document.section("compared", "Builds, settings and host");
    settings(details, document);
    warnings(inputs, document);
    builds::write(&firsts(details), document);
    host(details, document);
    if let Some(plan) = &details.plan {
        document.heading(3, "The plan");
        document.items.push(Item::Facts(plan_facts(plan)));
    }
    time(details, document);
    overhead(details, document);
    left_out(details, document);
    if let Some(found) = &details.imported {
        provenance::write(found, document);
    }
    if details.trials.is_empty() {
        document.paragraph("There are no trial records: all values were imported.");
    }
}

fn warnings(inputs: &Inputs<'_>, document: &mut Document) {
    let warnings = &inputs.comparison.warnings;
    if warnings.is_empty() {
        return;
    }
    document.heading(3, "Warnings");
    document.items.extend(warnings.iter().cloned().map(Item::Warning));
}

/// The first trial of each subject.
fn firsts(details: &Details) -> Vec<&Trial> {
    let mut firsts: Vec<&Trial> = Vec::new();
    for trial in &details.trials {
        if !firsts.iter().any(|known| known.header.subject == trial.header.subject) {
            firsts.push(trial);
        }
    }
    firsts
}

fn settings(details: &Details, document: &mut Document) {
    let headers: Vec<TrialHeader> =
        firsts(details).into_iter().map(|trial| trial.header.clone()).collect();
    if headers.is_empty() {
        return;
    }
    document.heading(3, "Effective settings that differ");
    let found = analysis::settings_differences(&headers);
    let (missing, different): (Vec<_>, Vec<_>) =
        found.into_iter().partition(SettingDifference::is_only_missing);
    if different.is_empty() {
        document.paragraph(match missing.is_empty() {
            true => "All settings that the servers report are the same.",
            false => "No setting that several servers have differs.",
        });
    }
    let (shown, rest) = different.split_at(different.len().min(SETTINGS));
    if !shown.is_empty() {
        document.items.push(Item::Table(differences(&headers, shown)));
    }
    for (title, part) in [
        (format!("{} more with different values", rest.len()), rest),
        (format!("{} that not every server has", missing.len()), &missing),
    ] {
        if !part.is_empty() {
            document.fold(title, vec![Item::Table(differences(&headers, part))]);
        }
    }
    let shared = analysis::shared_settings(&headers);
    let title = match headers.as_slice() {
        [one] => format!("{} of `{}`", counted(shared.len(), "setting"), one.subject),
        _ => format!("{} that all variants share", shared.len()),
    };
    if !shared.is_empty() {
        let line = |(name, value): &(String, String)| format!("{name} = {}", one_line(value));
        let lines = shared.iter().map(line);
        document.fold(title, vec![Item::Code(lines.collect::<Vec<_>>().join("\n"))]);
    }
    for header in &headers {
        if !header.configuration.trim().is_empty() {
            let title = format!("Configuration as given to `{}`", header.subject);
            document.fold(title, vec![Item::Code(header.configuration.clone())]);
        }
    }
}

fn differences(headers: &[TrialHeader], found: &[SettingDifference]) -> Table {
    let mut columns = vec![Column::words("setting")];
    columns.extend(headers.iter().map(|header| Column::words(&header.subject)));
    let row = |difference: &SettingDifference| {
        let value = |value: &Option<String>| {
            value.as_ref().map_or(TableCell::Missing, |value| TableCell::Text(value.clone()))
        };
        Row::named(&difference.name, difference.values.iter().map(value))
    };
    Table { columns, rows: found.iter().map(row).collect() }
}

fn host(details: &Details, document: &mut Document) {
    let Some(trial) = details.trials.first() else { return };
    let host = &trial.environment;
    let or = |text: &str| if text.is_empty() { "not known".to_owned() } else { text.to_owned() };
    document.heading(
        3,
        match details.hosts() {
            0 | 1 => "Host".to_owned(),
            several => format!("The first of {several} hosts"),
        },
    );
    let facts = [
        ("CPU", format!("{}, {} online", or(&host.cpu), host.cpus)),
        ("memory", size::shown(host.memory_bytes)),
        ("kernel", or(&host.kernel)),
        ("virtualization", or(&host.virtualization)),
        ("governor", or(&host.governor)),
        ("huge pages", or(&host.huge_pages)),
        ("data folders", format!("{} on {}", or(&host.filesystem), or(&host.device))),
        ("counters permitted", or(&host.perf)),
        ("idle servers frozen by", or(&host.freezer)),
        ("mitigations", or(&host.mitigations.join("; "))),
        ("host, hashed", or(&host.host)),
        ("dbdyno", or(&host.dbdyno)),
    ];
    let owned = facts.map(|(name, value)| (name.to_owned(), value));
    document.items.push(Item::Facts(owned.to_vec()));
}

fn plan_facts(plan: &Plan) -> Vec<(String, String)> {
    let experiment = &plan.experiment;
    let mut facts: Vec<(&str, String)> = Vec::new();
    match experiment.design {
        Design::Interleaved => {
            facts.push((
                "design",
                "interleaved: all servers up, slices of fixed work in balanced order".to_owned(),
            ));
            facts.push(("length of a slice on the base", words::seconds(experiment.slice_seconds)));
        }
        Design::Classic => {
            facts.push(("design", "classic: one server after the other, by duration".to_owned()));
            facts.push(("servers up at the same time", experiment.at_once.to_string()));
            facts.push(("reading step", words::seconds(experiment.read_seconds)));
            facts.push(("writing step", words::seconds(experiment.write_seconds)));
        }
    }
    facts.extend([
        ("discarded start of a slice", words::seconds(experiment.warmup_seconds)),
        ("processors of client and server", experiment.placement.name().to_owned()),
        ("blocks", experiment.blocks.to_string()),
        ("rounds in a block", experiment.rounds.to_string()),
        ("independent loads", experiment.loads.to_string()),
        ("seed", experiment.seed.to_string()),
    ]);
    facts.extend(tables(plan));
    facts.extend([("base", plan.base.join(", ")), ("plan (SHA-256)", plan.hash.clone())]);
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The tables: as the experiment says, or as they are loaded where their schema has other sizes.
fn tables(plan: &Plan) -> Vec<(&'static str, String)> {
    let experiment = &plan.experiment;
    let as_said = |schema: &Schema| match schema.tables.as_slice() {
        // A script makes them.
        [] => false,
        [only] if only.rows > 0 => (only.copies, only.rows) == (experiment.tables, experiment.rows),
        // Phases fill them.
        tables => tables.iter().all(|table| table.rows == 0),
    };
    if plan.schemas.iter().all(as_said) {
        return vec![
            ("tables", experiment.tables.to_string()),
            ("rows of each", experiment.rows.to_string()),
        ];
    }
    let loaded = plan.schemas.iter().map(|schema| {
        if schema.tables.is_empty() {
            return format!("{}: {}", schema.name, schema.help);
        }
        let copies = counted(schema.copies(), "table");
        let rows = counted(schema.all_rows() as u64, "row");
        format!("{}: {copies} with {rows} in all", schema.name)
    });
    vec![("tables", loaded.collect::<Vec<_>>().join("; "))]
}

fn time(details: &Details, document: &mut Document) {
    let mut parts: Vec<(&str, f64)> =
        details.ledger.iter().map(|(activity, seconds)| (activity.as_str(), *seconds)).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let whole: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    let (parts, whole) = match (whole > 0.0, details.accounting) {
        (true, _) => {
            parts.push(("all of it", whole));
            (parts, whole)
        }
        (false, Some(spent)) if spent.whole > 0.0 => (by_slices(&spent), spent.whole),
        _ => return,
    };
    document.heading(3, "Run time by activity");
    let row = |(name, seconds): (&str, f64)| {
        Row::named(name, [seconds, 100.0 * seconds / whole].map(TableCell::Number))
    };
    let columns =
        vec![Column::words("part"), Column::numbers("time", "s"), Column::numbers("share", "%")];
    let rows = parts.into_iter().filter(|(_, seconds)| *seconds >= 0.05).map(row).collect();
    document.items.push(Item::Table(Table { columns, rows }));
}

/// The account of runs that kept none of their own: what is not in slices may be anything.
fn by_slices(spent: &Accounting) -> Vec<(&'static str, f64)> {
    vec![
        ("measured slices", spent.measured),
        ("discarded slices, such as warm-up", spent.discarded),
        ("failed slices", spent.failed),
        ("drains: pending background work after writes", spent.drained),
        ("everything else", spent.other),
        ("first slice to last", spent.whole),
    ]
}

fn overhead(details: &Details, document: &mut Document) {
    if details.overhead.is_empty() {
        return;
    }
    let rows = details.overhead.iter().map(|found| {
        Row::named(&found.phase, [found.user_instructions, found.cpu_us].map(TableCell::number))
    });
    let columns = vec![
        Column::words("test"),
        Column::numbers("user instr", "1/op"),
        Column::numbers("CPU", "us/op"),
    ];
    document.heading(3, "Cost of the load engine");
    document.paragraph(
        "The same operations with the null client, which answers at once without a \
        server.",
    );
    document.items.push(Item::Table(Table { columns, rows: rows.collect() }));
}

fn left_out(details: &Details, document: &mut Document) {
    let remarks = details.trials.iter().flat_map(|trial| {
        let said = |remark: &String| {
            let header = &trial.header;
            let block = ordinal(header.block);
            Item::Paragraph(format!("`{}`, block {block}: {remark}", header.subject))
        };
        trial.remarks.iter().map(said)
    });
    let remarks: Vec<Item> = remarks.collect();
    if details.left_out.is_empty() && remarks.is_empty() {
        return;
    }
    document.heading(3, "Failed slices and events");
    if !details.left_out.is_empty() {
        let row = |left: &crate::LeftOut| {
            let texts = [&left.phase, &left.subject, &left.reason];
            let texts = texts.into_iter().map(|text| TableCell::Text(text.clone()));
            Row::Cells(texts.chain([TableCell::Count(left.slices)]).collect())
        };
        let mut columns: Vec<Column> =
            ["test", "variant", "reason"].into_iter().map(Column::words).collect();
        columns.push(Column::numbers("slices", ""));
        let rows = details.left_out.iter().map(row).collect();
        document.items.push(Item::Table(Table { columns, rows }));
    }
    document.fold(format!("{} of the trials", counted(remarks.len(), "event")), remarks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{experiment::Experiment, schema};

    #[test]
    fn tables_have_the_sizes_that_were_loaded() {
        let check = |sizes: &[(u64, u64)], expected: &[(&str, &str)]| {
            let table = |(copies, rows): &(u64, u64)| schema::Table {
                copies: *copies,
                rows: *rows,
                ..schema::Table::default()
            };
            let tables = sizes.iter().map(table).collect();
            let plan = Plan {
                experiment: Experiment { tables: 1, rows: 1000, ..Experiment::default() },
                schemas: vec![Schema {
                    name: "s".to_owned(),
                    help: "text".to_owned(),
                    tables,
                    ..Schema::default()
                }],
                ..Plan::default()
            };
            let found = super::tables(&plan);
            let found: Vec<_> = found.iter().map(|(name, value)| (*name, value.as_str())).collect();
            assert_eq!(found, expected);
        };
        let as_said = [("tables", "1"), ("rows of each", "1000")];
        check(&[(1, 1000)], &as_said);
        check(&[(1, 0)], &as_said);
        check(&[], &[("tables", "s: text")]);
        check(&[(1, 8), (2, 40)], &[("tables", "s: 3 tables with 88 rows in all")]);
    }
}
