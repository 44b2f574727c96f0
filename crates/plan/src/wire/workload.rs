//! Workload files: `catalog/workloads/*.toml` and those of the user.

use super::{
    deviation::WireDeviation,
    generator::WireGenerator,
    kept,
    number::{self, Whole},
    role::{self, WireRole},
    sql,
    value::{
        EVERYWHERE, Formula, Interval, OneOrMany, Ordered, WireArrival, WireCondition,
        with_everywhere,
    },
};
use crate::{
    error::{Error, Place},
    source::{Fault, Under},
    suggest,
};
use model::{
    Parameters,
    expression::{Condition, Expression},
    sql::SqlError,
    workload::{
        Advance, Bounds, Class, Counts, Draw, Expect, Generator, Mode, Op, Statement, TableChoice,
        Workload,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A whole file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireWorkload {
    help: String,
    group: Option<String>,
    schema: String,
    counts: Option<Counts>,
    lead: Option<String>,
    arrival: Option<WireArrival>,
    #[serde(default, deserialize_with = "number::parameters")]
    #[schemars(with = "BTreeMap<String, Whole<i64>>")]
    parameters: Parameters,
    op: Vec<WireOp>,
    #[serde(default)]
    role: Vec<WireRole>,
    #[serde(default)]
    deviation: Vec<WireDeviation>,
}

/// One operation; with `sql` it is its own only statement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireOp {
    name: String,
    weight: Option<Whole<u32>>,
    transaction: Option<WireCondition>,
    #[serde(default)]
    draw: Ordered<WireGenerator>,
    #[serde(default)]
    statement: Vec<WireStatement>,
    sql: Option<String>,
    #[serde(default)]
    sql_for: BTreeMap<String, String>,
    args: Option<Vec<WireGenerator>>,
    #[serde(default)]
    row_draw: Ordered<WireGenerator>,
    rows_per_statement: Option<Formula>,
    repeat: Option<Formula>,
    table: Option<TableChoice>,
    class: Option<Class>,
    mode: Option<Mode>,
    #[serde(default)]
    mode_for: BTreeMap<String, Mode>,
    expect: Option<WireExpect>,
    capture: Option<String>,
    index: Option<OneOrMany>,
    every: Option<Formula>,
    timed: Option<bool>,
    advance: Option<WireAdvance>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireStatement {
    sql: String,
    #[serde(default)]
    sql_for: BTreeMap<String, String>,
    #[serde(default)]
    args: Vec<WireGenerator>,
    rows_per_statement: Option<Formula>,
    repeat: Option<Formula>,
    #[serde(default)]
    in_turn: bool,
    #[serde(default)]
    draw: Ordered<WireGenerator>,
    #[serde(default)]
    row_draw: Ordered<WireGenerator>,
    table: Option<TableChoice>,
    class: Option<Class>,
    mode: Option<Mode>,
    #[serde(default)]
    mode_for: BTreeMap<String, Mode>,
    expect: Option<WireExpect>,
    capture: Option<String>,
    index: Option<OneOrMany>,
    every: Option<Formula>,
    timed: Option<bool>,
    advance: Option<WireAdvance>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireAdvance {
    name: String,
    by: Formula,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireExpect {
    rows: Option<Interval>,
    changed: Option<Interval>,
    keys: Option<Formula>,
}

impl WireWorkload {
    /// The checked workload. `name` is the file's stem, `source` its label.
    pub(crate) fn check(self, name: String, source: String) -> Result<Workload, Fault> {
        for reserved in EVERYWHERE {
            if self.parameters.contains_key(reserved) {
                let reason = format!("every phase has a parameter `{reserved}`; use another name");
                return Err(Fault::invalid(reason)).under(reserved).under("parameters");
            }
        }
        let known = with_everywhere(&self.parameters);
        let mut ops = Vec::new();
        for (index, op) in self.op.into_iter().enumerate() {
            let op = op.check(&known).under(index).under("op")?;
            if ops.iter().any(|other: &Op| other.name == op.name) {
                let reason = format!("two operations are named `{}`; rename one", op.name);
                return Err(Fault::invalid(reason)).under("name").under(index).under("op");
            }
            ops.push(op);
        }
        if ops.is_empty() {
            return Err(Fault::invalid("a workload needs at least one `[[op]]`"));
        }
        let roles = role::roles(self.role, &known, &ops)?;
        if self.arrival.is_some() && !roles.is_empty() {
            let reason = "each role has an `arrival` of its own; write it there";
            return Err(Fault::invalid(reason)).under("arrival");
        }
        let arrival = self.arrival.map(WireArrival::check).transpose().under("arrival")?;
        let arrival = arrival.unwrap_or_default();
        let lead = role::lead(self.lead, &roles)?;
        kept::check(&ops, &roles)?;
        let mut workload = Workload {
            name,
            help: self.help,
            group: self.group.unwrap_or_default(),
            schema: self.schema,
            counts: self.counts.unwrap_or(Counts::Operations),
            parameters: self.parameters,
            ops,
            roles,
            deviations: self.deviation.into_iter().map(WireDeviation::read).collect(),
            lead,
            arrival,
            source,
        };
        if workload.group.is_empty() {
            workload.group = if workload.writes() { "write" } else { "read" }.to_owned();
        }
        Ok(workload)
    }
}

impl WireOp {
    fn check(mut self, known: &Parameters) -> Result<Op, Fault> {
        if self.weight == Some(Whole(0)) {
            return Err(Fault::invalid("a weight must be at least 1")).under("weight");
        }
        let own = self.own_statement()?;
        let transaction = self.transaction.map(|one| one.check(known)).transpose();
        let transaction = transaction.under("transaction")?.unwrap_or(Condition::Fixed(false));
        let draws = draws(std::mem::take(&mut self.draw), known).under("draw")?;
        let of_op: BTreeSet<String> = draws.iter().map(|draw| draw.name.clone()).collect();
        let mut names = of_op.clone();
        let mut statements: Vec<Statement> = Vec::new();
        if let Some(statement) = own {
            statements.push(statement.check(known, &mut names)?);
        }
        for (index, statement) in self.statement.into_iter().enumerate() {
            // What a statement draws is for itself, and for those that it takes turns with.
            if !statement.in_turn {
                names.clone_from(&of_op);
            }
            let statement = statement.check(known, &mut names);
            let statement = statement.and_then(|one| in_turn(one, statements.last()));
            statements.push(statement.under(index).under("statement")?);
        }
        Ok(Op {
            name: self.name,
            weight: self.weight.map_or(1, |weight| weight.0),
            transaction,
            draws,
            statements,
        })
    }

    /// The statement that is written on the operation itself, if any.
    fn own_statement(&mut self) -> Result<Option<WireStatement>, Fault> {
        let own = WireStatement {
            sql: self.sql.take().unwrap_or_default(),
            sql_for: std::mem::take(&mut self.sql_for),
            args: self.args.take().unwrap_or_default(),
            rows_per_statement: self.rows_per_statement.take(),
            repeat: self.repeat.take(),
            in_turn: false,
            draw: Ordered::default(),
            row_draw: std::mem::take(&mut self.row_draw),
            table: self.table.take(),
            class: self.class.take(),
            mode: self.mode.take(),
            mode_for: std::mem::take(&mut self.mode_for),
            expect: self.expect.take(),
            capture: self.capture.take(),
            index: self.index.take(),
            every: self.every.take(),
            timed: self.timed.take(),
            advance: self.advance.take(),
        };
        match (own.is_empty(), self.statement.is_empty()) {
            (true, true) => Err(Fault::invalid("an operation needs `sql` or `[[op.statement]]`")),
            (true, false) => Ok(None),
            (false, true) => Ok(Some(own)),
            (false, false) => Err(Fault::invalid(
                "an operation has `sql` and other keys of a statement, or `[[op.statement]]`, not \
                    both; move the former into an `[[op.statement]]`",
            )),
        }
    }
}

impl WireStatement {
    fn is_empty(&self) -> bool {
        self.sql.is_empty()
            && self.sql_for.is_empty()
            && self.args.is_empty()
            && self.rows_per_statement.is_none()
            && self.repeat.is_none()
            && self.table.is_none()
            && self.class.is_none()
            && self.mode.is_none()
            && self.mode_for.is_empty()
            && self.row_draw.0.is_empty()
            && self.expect.is_none()
            && self.capture.is_none()
            && self.index.is_none()
            && self.every.is_none()
            && self.timed.is_none()
            && self.advance.is_none()
    }

    fn check(self, known: &Parameters, names: &mut BTreeSet<String>) -> Result<Statement, Fault> {
        if self.sql.trim().is_empty() {
            return Err(Fault::invalid("the statement has no `sql`"));
        }
        let own_draws = draws(self.draw, known).under("draw")?;
        names.extend(own_draws.iter().map(|draw| draw.name.clone()));
        if !self.row_draw.0.is_empty() && self.rows_per_statement.is_none() {
            let reason = "without `rows_per_statement` there is one row: write `draw`";
            return Err(Fault::invalid(reason)).under("row_draw");
        }
        if self.timed == Some(false) && self.every.is_none() {
            let reason = "only statements with `every` can be left out of the service time";
            return Err(Fault::invalid(reason)).under("timed");
        }
        for (key, given) in [("repeat", self.repeat.is_some()), ("table", self.table.is_some())] {
            if self.in_turn && given {
                let reason = format!(
                    "with `in_turn`, the previous statement sets `{key}`; leave \
                    it out"
                );
                return Err(Fault::invalid(reason)).under(key);
            }
        }
        let table = if self.in_turn { TableChoice::Same } else { TableChoice::Fresh };
        let row_draws = draws(self.row_draw, known).under("row_draw")?;
        // Other statements have other rows.
        let names = &mut names.clone();
        names.extend(row_draws.iter().map(|draw| draw.name.clone()));
        let mut args = Vec::new();
        for (index, arg) in self.args.into_iter().enumerate() {
            let arg = arg.argument(known).and_then(|arg| {
                refers(&arg.value, names)?;
                Ok(arg)
            });
            args.push(arg.under(index).under("args")?);
        }
        let class = self.class.unwrap_or_else(|| class_of(&self.sql));
        let statement = Statement {
            rows_per_statement: optional(self.rows_per_statement, known)
                .under("rows_per_statement")?,
            repeat: optional(self.repeat, known).under("repeat")?.unwrap_or_else(|| 1.into()),
            sql: self.sql,
            sql_for: self.sql_for,
            args,
            draws: own_draws,
            row_draws,
            in_turn: self.in_turn,
            table: self.table.unwrap_or(table),
            class,
            mode: self.mode.unwrap_or(Mode::Prepared),
            mode_for: self.mode_for,
            expect: expect(self.expect, known).under("expect")?,
            capture: self.capture,
            index: self.index.map(|OneOrMany(names)| names).unwrap_or_default(),
            every: optional(self.every, known).under("every")?,
            untimed: self.timed == Some(false),
            advance: advance(self.advance, known).under("advance")?,
            line: None,
        };
        marks_fit(&statement)?;
        Ok(statement)
    }
}

/// A statement that takes turns with the one before it is repeated as often.
fn in_turn(mut statement: Statement, before: Option<&Statement>) -> Result<Statement, Fault> {
    match before {
        _ if !statement.in_turn => {}
        Some(before) => statement.repeat.clone_from(&before.repeat),
        None => {
            let reason = "`in_turn` needs a statement before it";
            return Err(Fault::invalid(reason)).under("in_turn");
        }
    }
    Ok(statement)
}

/// Dialects that differ in their comments and quotes.
const DIALECTS: [&str; 3] = ["mysql", "postgres", "sqlite"];

/// Every text of a statement asks for the arguments that `args` gives.
fn marks_fit(statement: &Statement) -> Result<(), Fault> {
    for (dialect, text) in &statement.sql_for {
        check_marks((dialect, text), statement).under(dialect).under("sql_for")?;
    }
    // Dialects differ in what is a comment. Which of them read this text is known with the servers,
    // so it is wrong here only if it is wrong for all.
    let mut first = Ok(());
    for dialect in DIALECTS {
        match check_marks((dialect, &statement.sql), statement) {
            Ok(()) => return Ok(()),
            wrong if first.is_ok() => first = wrong,
            _ => {}
        }
    }
    first.under("sql")
}

fn check_marks((dialect, text): (&str, &str), statement: &Statement) -> Result<(), Fault> {
    let marks = sql::marks(text, dialect).map_err(|error| match error {
        SqlError::UnknownMark(name) => {
            let hint = suggest::hint(&name, ["table", "n", "list", "rows"]);
            Fault::from(Error::UnknownName { place: Place::default(), what: "mark", name, hint })
        }
        other => Fault::invalid(other.to_string()),
    })?;
    if statement.rows_per_statement.is_some() {
        return match (marks.rows, marks.arguments.as_slice()) {
            (1, []) => Ok(()),
            (1, _) => Err(Fault::invalid("a statement with `{rows}` takes no other arguments")),
            _ => Err(Fault::invalid("with `rows_per_statement` the SQL has `{rows}` once")),
        };
    }
    if marks.rows > 0 {
        return Err(Fault::invalid("`{rows}` needs `rows_per_statement`"));
    }
    let (wanted, given) = (marks.arguments.len(), statement.args.len());
    if wanted != given {
        let reason = format!("the SQL has {wanted} placeholders and `args` has {given} entries");
        return Err(Fault::invalid(reason));
    }
    for (number, (is_list, arg)) in marks.arguments.iter().zip(&statement.args).enumerate() {
        if *is_list != arg.list.is_some() {
            let number = number + 1;
            let reason = format!(
                "argument {number}: `{{list}}` in the SQL and `list` in `args` go together"
            );
            return Err(Fault::invalid(reason));
        }
    }
    Ok(())
}

fn draws(wire: Ordered<WireGenerator>, known: &Parameters) -> Result<Vec<Draw>, Fault> {
    let mut draws: Vec<Draw> = Vec::new();
    for (name, value) in wire.0 {
        let value = value.argument(known).under(&name)?;
        if value.list.is_some() {
            let reason = "`list` belongs to an argument of a statement only";
            return Err(Fault::invalid(reason)).under(&name);
        }
        let value = value.value;
        draws.push(Draw { name, value });
    }
    Ok(draws)
}

/// A value refers only to draws that come before it.
fn refers(value: &Generator, draws: &BTreeSet<String>) -> Result<(), Fault> {
    let named = match value {
        Generator::Draw { name, .. } => std::slice::from_ref(name),
        Generator::Decimal { sum, .. } => sum,
        _ => &[],
    };
    let Some(name) = named.iter().find(|name| !draws.contains(*name)) else { return Ok(()) };
    let hint = suggest::hint(name, draws.iter().map(String::as_str));
    let (place, what, name) = (Place::default(), "draw", name.clone());
    Err(Error::UnknownName { place, what, name, hint }.into())
}

fn advance(wire: Option<WireAdvance>, known: &Parameters) -> Result<Option<Advance>, Fault> {
    let Some(WireAdvance { name, by }) = wire else { return Ok(None) };
    Ok(Some(Advance { name, by: by.check(known).under("by")? }))
}

pub(super) fn optional(
    formula: Option<Formula>,
    known: &Parameters,
) -> Result<Option<Expression>, Fault> {
    formula.map(|formula| formula.check(known)).transpose()
}

fn expect(wire: Option<WireExpect>, known: &Parameters) -> Result<Expect, Fault> {
    let Some(wire) = wire else { return Ok(Expect::default()) };
    let bounds = |interval: Option<Interval>| match interval {
        Some(interval) => {
            let (low, high) = (interval.low.check(known)?, interval.high.check(known)?);
            Ok(Some(Bounds { low, high }))
        }
        None => Ok(None),
    };
    let rows = bounds(wire.rows).under("rows")?;
    let changed = bounds(wire.changed).under("changed")?;
    let keys = optional(wire.keys, known).under("keys")?;
    Ok(Expect { rows, changed, keys })
}

/// What the first word of a statement says about its class.
fn class_of(sql: &str) -> Class {
    let verb = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    match verb.as_str() {
        "SELECT" | "WITH" | "SHOW" | "VALUES" | "TABLE" | "EXPLAIN" => Class::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" => Class::Write,
        _ => Class::Other,
    }
}
