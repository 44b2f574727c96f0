//! `dbdyno show workload NAME`: its SQL per server, parameters, group, operation and expected rows.

use super::Verb;
use crate::{args::CatalogArgs, exit::Code, talk};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use model::workload::{Bounds, Counts, Mode, Statement, Workload};
use std::fmt::Write;

pub(super) const VERB: Verb = Verb { name: "show", command, run };

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
}

fn command(command: Command) -> Command {
    Arguments::augment_args(command.about("Shows a workload: its SQL, parameters and expectations"))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let catalog = arguments.catalog.open()?;
    match arguments.what {
        What::Workload => {
            let workload = catalog.workload(&arguments.name)?;
            talk::data(&talk::printable(&described(&workload)))?;
        }
    }
    Ok(Code::Done)
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
    for (name, value) in &workload.parameters {
        let _ = writeln!(text, "parameter {name} = {value}");
    }
    for op in &workload.ops {
        let transaction = if op.transaction { ", in a transaction" } else { "" };
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

fn describe(text: &mut String, statement: &Statement) {
    let mode = if statement.mode == Mode::Prepared { "prepared" } else { "text" };
    let _ = writeln!(text, "  {:?}, {mode}, {} times", statement.class, statement.repeat);
    let _ = writeln!(text, "    {}", statement.sql);
    for (dialect, sql) in &statement.sql_for {
        let _ = writeln!(text, "    {dialect}: {sql}");
    }
    for arg in &statement.args {
        let list = arg.list.as_ref().map_or_else(String::new, |n| format!(" x {n}"));
        let _ = writeln!(text, "    ? = {:?}{list}", arg.value);
    }
    let bounds = |bounds: &Bounds| format!("{} to {}", bounds.low, bounds.high);
    if let Some(rows) = &statement.expect.rows {
        let _ = writeln!(text, "    expects rows: {}", bounds(rows));
    }
    if let Some(changed) = &statement.expect.changed {
        let _ = writeln!(text, "    expects changed rows: {}", bounds(changed));
    }
}
