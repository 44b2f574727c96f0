//! `dbdyno show workload NAME`: its SQL per server, parameters, group, operation and expected rows.
//! `dbdyno show suite NAME`: its phases, parameters and presets.

use super::Verb;
use crate::{args::CatalogArgs, exit::Code, talk};
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use model::{
    expression::Condition,
    plan::PhaseKind,
    workload::{Bounds, Counts, Mode, Role, RoleArrival, RoleEnd, Statement, Workload},
};
use plan::Suite;
use std::fmt::Write;

pub(super) const VERB: Verb = Verb {
    name: "show",
    about: "Shows a workload with its SQL, or a suite with its phases",
    details: "",
    examples: &[("dbdyno show workload point-query", "A workload and its SQL for each server")],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Kind of thing.
    #[arg(value_enum)]
    what: What,
    /// Its name, or the path of a file.
    name: String,
    #[command(flatten)]
    catalog: CatalogArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Workload,
    Suite,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let catalog = arguments.catalog.open()?;
    match arguments.what {
        What::Workload => {
            let workload = catalog.workload(&arguments.name)?;
            talk::data(&talk::printable(&described(&workload)))?;
        }
        What::Suite => {
            let suite = catalog.suite(&arguments.name)?;
            talk::data(&talk::printable(&suite_described(&suite)))?;
        }
    }
    Ok(Code::Done)
}

fn suite_described(suite: &Suite) -> String {
    let mut text = format!("{}: {}\n", suite.name, suite.help);
    // Writing to a string cannot fail.
    if let Some(tables) = &suite.tables {
        let _ = writeln!(text, "tables = {tables}");
    }
    for (name, value) in &suite.parameters {
        let _ = writeln!(text, "parameter {name} = {value}");
    }
    for (name, preset) in &suite.presets {
        let _ = writeln!(text, "\npreset {name}: {}", preset.help);
        for (name, value) in &preset.values {
            let _ = writeln!(text, "  {name} = {value}");
        }
    }
    let _ = writeln!(text, "\nphases");
    let wide = suite.phases.iter().map(|phase| phase.name.len()).max().unwrap_or(0);
    for phase in &suite.phases {
        let what = match phase.kind {
            PhaseKind::Settle => "until calm",
            PhaseKind::Index => "builds the secondary indexes",
            PhaseKind::Measure | PhaseKind::Warmup => &phase.workload,
        };
        let _ = write!(text, "  {:wide$}  {what}", phase.name);
        let values = phase.parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        let range = phase.range.map(|range| format!("range {range}"));
        let warmup = (phase.kind == PhaseKind::Warmup).then(|| "warm-up".to_owned());
        let mode = phase.mode.map(|mode| format!("all {}", word(mode)));
        let more = warmup.into_iter().chain(range).chain(mode);
        let more: Vec<String> = more.chain(values).collect();
        let _ = writeln!(text, "{}{}", if more.is_empty() { "" } else { "; " }, more.join(", "));
    }
    text
}

fn described(workload: &Workload) -> String {
    let counts = match workload.counts {
        Counts::Operations => "an execution of an operation",
        Counts::Statements => "a statement, BEGIN and COMMIT included",
        Counts::Rows => "a row",
    };
    let mut text = format!(
        "{}: {}\nfrom {}\ngroup {}, schema {}\nper-operation values divide by: {counts}\n",
        workload.name, workload.help, workload.source, workload.group, workload.schema
    );
    if !workload.lead.is_empty() {
        let _ = writeln!(text, "of the role {}", workload.lead);
    }
    for (name, value) in &workload.parameters {
        let _ = writeln!(text, "parameter {name} = {value}");
    }
    for role in &workload.roles {
        describe_role(&mut text, role);
    }
    for op in &workload.ops {
        let transaction = match &op.transaction {
            Condition::Fixed(false) => String::new(),
            Condition::Fixed(true) => ", in a transaction".to_owned(),
            Condition::When(when) => format!(", in a transaction where {when} is 1"),
        };
        let _ = writeln!(text, "\noperation {} (weight {}{transaction})", op.name, op.weight);
        for draw in &op.draws {
            let _ = writeln!(text, "  draw {} = {:?}", draw.name, draw.value);
        }
        for statement in &op.statements {
            describe(&mut text, statement);
        }
    }
    text
}

/// Who executes what, how fast, and until when.
fn describe_role(text: &mut String, role: &Role) {
    let (name, ops) = (&role.name, role.ops.join(", "));
    let _ = writeln!(text, "\nrole {name} executes {ops}; connections: {}", role.clients);
    if let RoleArrival::Open { per_second, rows, spacing } = &role.arrival {
        let each = rows.as_ref().map(|rows| format!("rows per second, {rows} in an operation"));
        let what = each.unwrap_or_else(|| "operations per second".to_owned());
        let _ = writeln!(text, "  {per_second} {what}, {spacing:?}");
    }
    let end = match &role.end {
        RoleEnd::Operations(end) => format!("after {end} operations"),
        RoleEnd::Rows(end) => format!("after {end} rows"),
        RoleEnd::Seconds(end) => format!("after {end} seconds"),
        RoleEnd::With(other) if other.is_empty() => "with the others, or the phase".to_owned(),
        RoleEnd::With(other) => format!("with the role {other}"),
    };
    let _ = writeln!(text, "  ends {end}");
    if let Some(pair) = &role.pair {
        let _ = writeln!(text, "  never more than {} ahead of the role {}", pair.lead, pair.role);
    }
}

fn word(mode: Mode) -> &'static str {
    if mode == Mode::Prepared { "prepared" } else { "text" }
}

fn describe(text: &mut String, statement: &Statement) {
    let others = statement.mode_for.iter();
    let others = others.map(|(dialect, mode)| format!(" ({dialect}: {})", word(*mode)));
    let mode = format!("{}{}", word(statement.mode), others.collect::<String>());
    let every = statement.every.as_ref().map(|every| format!(", in every {every}. execution"));
    let turn = if statement.in_turn { ", in turn with the one before" } else { "" };
    let every = format!("{turn}{}", every.unwrap_or_default());
    let _ = writeln!(text, "  {:?}, {mode}, {} times{every}", statement.class, statement.repeat);
    if let Some(rows) = &statement.rows_per_statement {
        let _ = writeln!(text, "    rows in the statement: {rows}");
    }
    let _ = writeln!(text, "    {}", statement.sql);
    for (dialect, sql) in &statement.sql_for {
        let _ = writeln!(text, "    {dialect}: {sql}");
    }
    for draw in &statement.row_draws {
        let _ = writeln!(text, "    draw per row {} = {:?}", draw.name, draw.value);
    }
    for arg in &statement.args {
        let list = arg.list.as_ref().map_or_else(String::new, |n| format!(" x {n}"));
        let _ = writeln!(text, "    ? = {:?}{list}", arg.value);
    }
    if let Some(name) = &statement.capture {
        let _ = writeln!(text, "    keeps the first value as {name}");
    }
    if let Some(advance) = &statement.advance {
        let _ = writeln!(text, "    then adds {} to {}", advance.by, advance.name);
    }
    let bounds = |bounds: &Bounds| format!("{} to {}", bounds.low, bounds.high);
    if let Some(rows) = &statement.expect.rows {
        let _ = writeln!(text, "    expects rows: {}", bounds(rows));
    }
    if let Some(changed) = &statement.expect.changed {
        let _ = writeln!(text, "    expects changed rows: {}", bounds(changed));
    }
}
