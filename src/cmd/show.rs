//! `dbdyno show KIND NAME`: a file of the catalog as it is; for workloads also their SQL by server.

use super::Verb;
use crate::{args::CatalogArgs, exit::Code, shell, talk};
use ::plan::{Catalog, Kind};
use clap::{
    ArgMatches, Args, FromArgMatches, ValueEnum,
    error::{ContextKind, ContextValue},
};
use model::{
    script::{Script, Statement},
    workload::Mode,
};
use std::{collections::BTreeSet, fmt::Write};

pub(super) const VERB: Verb = Verb {
    name: "show",
    about: "Shows an experiment, workload, suite, schema, config or recipe",
    details: "Prints the TOML file. For a workload it adds the SQL that each server executes, as \
              comments.",
    examples: &[
        ("dbdyno show workload point-query", "A workload and its SQL for each server"),
        ("dbdyno show experiment mysql-5.6-vs-9 > mine.toml", "Start your own from a shipped one"),
        ("dbdyno show config mysql/base", "Server settings with their reasons"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Kind of file
    #[arg(value_enum, value_name = "KIND")]
    kind: What,
    /// Its name (see `dbdyno list`), or the path of your own file
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    catalog: CatalogArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Experiment,
    Workload,
    Suite,
    Schema,
    Config,
    Recipe,
}

impl What {
    fn kind(self) -> Kind {
        match self {
            Self::Experiment => Kind::Experiment,
            Self::Workload => Kind::Workload,
            Self::Suite => Kind::Suite,
            Self::Schema => Kind::Schema,
            Self::Config => Kind::Config,
            Self::Recipe => Kind::Recipe,
        }
    }
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let (catalog, name) = (arguments.catalog.open()?, &arguments.name);
    let kind = arguments.kind.kind();
    let mut text = catalog.text(kind, name)?;
    if kind == Kind::Workload {
        let workload = catalog.workload(name)?;
        add_sql(&mut text, &workload.defaults()?, &catalog);
    }
    talk::data(&talk::printable(&text))?;
    Ok(Code::Done)
}

/// For `show NAME` without a kind: the command that shows what has this name, and for an experiment
/// those that plan and run it. Nothing where nothing has it.
pub(super) fn hint(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let name = text(ContextKind::InvalidValue)
        .filter(|_| text(ContextKind::InvalidArg).is_some_and(|argument| argument == "<KIND>"))?;
    let catalog = Catalog::embedded().ok()?;
    let found =
        What::value_variants().iter().find(|what| catalog.text(what.kind(), name).is_ok())?;
    let kind = found.to_possible_value()?.get_name().to_owned();
    let name = shell::quoted(name);
    let more = match found {
        What::Experiment => {
            format!("; `dbdyno plan {name}` plans it and `dbdyno run {name}` runs it")
        }
        _ => String::new(),
    };
    Some(format!("the kind is missing: use `dbdyno show {kind} {name}`{more}"))
}

/// Appends the SQL by server as comments, so that the text stays a workload file.
fn add_sql(text: &mut String, script: &Script, catalog: &Catalog) {
    if let Some(coded) = &script.coded {
        let page = model::coded::find(&coded.name).map_or("ARCHITECTURE.md", |known| known.page);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n# The operations are coded in Rust: see {page}");
        return;
    }
    // A script says itself what it executes.
    if script.lua.is_some() {
        return;
    }
    let tables = catalog.schema(&script.schema).map(|schema| schema.tables).unwrap_or_default();
    let tables: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    // Writing to a string cannot fail.
    let _ = write!(text, "\n# SQL by server");
    if !tables.is_empty() {
        let _ = write!(text, "; {{table}} is a table of the schema: {}", tables.join(", "));
    }
    text.push('\n');
    for op in script.ops() {
        let _ = writeln!(text, "#\n# operation {}", op.name);
        for statement in &op.statements {
            for (servers, mode, sql) in variants(statement) {
                let mode = if mode == Mode::Prepared { "prepared" } else { "text" };
                let _ = writeln!(text, "#   {servers}, {mode}:");
                for line in sql.trim().lines() {
                    let _ = writeln!(text, "#     {line}");
                }
            }
        }
    }
}

/// The distinct ways in which servers execute a statement: who, how, and the SQL.
fn variants(statement: &Statement) -> Vec<(String, Mode, &str)> {
    let dialects: BTreeSet<&str> =
        dbms::product::DBMSES.iter().map(|product| product.protocol()).collect();
    let mut found: Vec<(Vec<&str>, Mode, &str)> = Vec::new();
    for dialect in &dialects {
        let Some(sql) = statement.sql_on(dialect) else { continue };
        let mode = statement.mode_on(dialect);
        match found.iter_mut().find(|(_, known, text)| (*known, *text) == (mode, sql)) {
            Some((names, ..)) => names.push(dialect),
            None => found.push((vec![dialect], mode, sql)),
        }
    }
    let named = |names: Vec<&str>| {
        if names.len() == dialects.len() { "all servers".to_owned() } else { names.join(", ") }
    };
    found.into_iter().map(|(names, mode, sql)| (named(names), mode, sql)).collect()
}
