//! Workload files: `catalog/workloads/*.toml` and those of the user.

use super::{
    coded::{Named, NamedOp},
    deviation::WireDeviation,
    generator::WireGenerator,
    kept,
    number::{self, Whole},
    numbers::{Limits, Numbers},
    role::{self, WireRole},
    statement::{WireAdvance, WireExpect, WireStatement, draws, in_turn},
    value::{EVERYWHERE, Formula, OneOrMany, Ordered, WireArrival, WireCondition, with_everywhere},
};
use crate::{
    error::Error,
    source::{Fault, Source, Under},
};
use model::{
    Parameters,
    coded::{self, Transactions},
    lua::{EVENT, Lua},
    script::{Coded, Committed, Op, Pauses, Role, Script, Statement},
    workload::{Class, Counts, Mode, TableChoice},
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

/// A workload's file: the parameters of a phase make it a script.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Unique name: the file's stem.
    pub name: String,
    /// One line for `dbdyno list workloads`.
    pub help: String,
    /// Report group: `point`, `range`, `aggregate`, `write`, or a word of the user's.
    pub group: String,
    /// The schema whose tables the statements use: its name or its path.
    pub schema: String,
    /// Defaults of the parameters that expressions may name; a phase or an experiment overrides
    /// them.
    pub parameters: Parameters,
    /// Whether any statement may change data: such workloads run after the reading ones.
    pub writes: bool,
    /// Path of the script that it is, if it is a user's own sysbench script.
    lua: Option<String>,
    wire: WireWorkload,
    source: Source,
}

impl Workload {
    /// The workload of a file.
    ///
    /// Errors: not a workload, or one whose expressions have no value.
    pub(crate) fn read(source: &Source) -> Result<Self, Error> {
        let wire: WireWorkload = source.parse()?;
        for reserved in EVERYWHERE {
            if wire.parameters.contains_key(reserved) {
                let reason = format!("every phase has a parameter `{reserved}`; use another name");
                let fault = Err(Fault::invalid(reason)).under(reserved).under("parameters");
                return fault.map_err(|fault| source.locate(fault));
            }
        }
        wire.check_coded().map_err(|fault| source.locate(fault))?;
        let mut workload = Self {
            name: source.stem(),
            help: wire.help.clone(),
            group: wire.group.clone().unwrap_or_default(),
            schema: source.reference(&wire.schema),
            parameters: wire.parameters.clone(),
            writes: false,
            lua: None,
            wire,
            source: source.clone(),
        };
        workload.writes = workload.defaults()?.writes();
        if workload.group.is_empty() {
            workload.group = if workload.writes { "write" } else { "read" }.to_owned();
        }
        Ok(workload)
    }

    /// The workload of a user's own sysbench script: nothing but its path is known yet.
    pub(crate) fn of_script(source: &Source) -> Self {
        Self {
            name: source.stem(),
            help: format!("the sysbench script `{}`", source.label),
            group: "script".to_owned(),
            schema: source.stem(),
            parameters: Parameters::new(),
            writes: true,
            lua: Some(source.label.clone()),
            wire: WireWorkload::default(),
            source: source.clone(),
        }
    }

    /// Whether it is a user's own sysbench script.
    pub(crate) fn is_script(&self) -> bool {
        self.lua.is_some()
    }

    /// Where the text came from: a path, or `catalog/…` for a shipped file.
    pub fn source(&self) -> &str {
        &self.source.label
    }

    /// The coded transactions that it executes, if its operations are written in Rust.
    pub(crate) fn transactions(&self) -> Option<&'static Transactions> {
        coded::find(self.wire.coded.as_deref()?)
    }

    /// The script under the defaults of its parameters.
    ///
    /// Errors: an expression without a value, and what makes no sense whatever the values are.
    pub fn defaults(&self) -> Result<Script, Error> {
        self.script(&with_everywhere(&self.parameters), Limits::Unchecked)
    }

    /// The script of a phase.
    ///
    /// Errors: the same, and numbers that nobody can execute.
    pub fn resolve(&self, parameters: &Parameters) -> Result<Script, Error> {
        self.script(parameters, Limits::Checked)
    }

    pub(crate) fn script(&self, parameters: &Parameters, limits: Limits) -> Result<Script, Error> {
        let numbers = Numbers { parameters, limits };
        let roles = match &self.lua {
            None => self.wire.clone().roles(numbers, &self.source),
            Some(_) => role::roles(Vec::new(), numbers, &[event()]),
        };
        let lua =
            self.lua.clone().map(|path| Lua { path, options: BTreeMap::new(), files: Vec::new() });
        Ok(Script {
            workload: self.name.clone(),
            source: self.source.label.clone(),
            schema: self.schema.clone(),
            counts: self.wire.counts.unwrap_or(Counts::Operations),
            roles: roles.map_err(|fault| self.source.locate(fault))?,
            coded: self.wire.coded_in(parameters),
            lua,
            deviations: self.wire.deviation.iter().cloned().map(WireDeviation::read).collect(),
        })
    }
}

/// The longest pause before or after an operation, milliseconds: an hour.
const PAUSE_MS_MAX: i64 = 3_600_000;

/// The only operation of a script.
fn event() -> Op {
    Op::plain(EVENT, Vec::new())
}

/// A whole file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireWorkload {
    help: String,
    group: Option<String>,
    schema: String,
    counts: Option<Counts>,
    lead: Option<String>,
    coded: Option<String>,
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
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireOp {
    name: String,
    weight: Option<Whole<u32>>,
    transaction: Option<WireCondition>,
    keying_ms: Option<Formula>,
    think_ms: Option<Formula>,
    #[serde(default)]
    draw: Ordered<WireGenerator>,
    #[serde(default)]
    statement: Vec<WireStatement>,
    #[schemars(with = "Option<String>")]
    sql: Option<Spanned<String>>,
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
    committed: Option<String>,
}

impl WireWorkload {
    /// Refuses what does not fit the coded transactions that it names, if it does.
    fn check_coded(&self) -> Result<(), Fault> {
        let Some(coded) = &self.coded else { return Ok(()) };
        let ops = self.op.iter().map(|op| NamedOp {
            name: &op.name,
            class: op.class,
            is_committed: op.committed.is_some(),
        });
        let named = Named {
            coded,
            schema: &self.schema,
            parameters: &self.parameters,
            has_roles: !self.role.is_empty(),
            ops: ops.collect(),
        };
        named.check()
    }

    /// What its operations are, if they are written in Rust.
    fn coded_in(&self, parameters: &Parameters) -> Option<Coded> {
        let name = self.coded.clone()?;
        let committed = self.op.iter().find_map(|op| {
            let sql = op.committed.clone()?;
            Some(Committed { op: op.name.clone(), sql })
        });
        let writes = self.op.iter().any(|op| op.class == Some(Class::Write));
        Some(Coded { name, parameters: parameters.clone(), writes, committed })
    }

    /// Who executes what.
    fn roles(self, numbers: Numbers<'_>, source: &Source) -> Result<Vec<Role>, Fault> {
        let mut ops = Vec::new();
        for (index, op) in self.op.into_iter().enumerate() {
            let op = match self.coded {
                Some(_) => op.coded(numbers),
                None => op.check(numbers, source),
            };
            let op = op.under(index).under("op")?;
            if ops.iter().any(|other: &Op| other.name == op.name) {
                let reason = format!("two operations are named `{}`; rename one", op.name);
                return Err(Fault::invalid(reason)).under("name").under(index).under("op");
            }
            ops.push(op);
        }
        if ops.is_empty() {
            return Err(Fault::invalid("a workload needs at least one `[[op]]`"));
        }
        if self.arrival.is_some() && !self.role.is_empty() {
            let reason = "each role has an `arrival` of its own; write it there";
            return Err(Fault::invalid(reason)).under("arrival");
        }
        let arrival = self.arrival.map(WireArrival::check).transpose().under("arrival")?;
        let roles = role::roles(self.role, numbers, &ops)?;
        let mut roles = role::led(roles, self.lead)?;
        if let Some(arrival) = arrival {
            roles.iter_mut().for_each(|role| role.arrival = arrival);
        }
        kept::check(&ops, &roles)?;
        Ok(roles)
    }
}

impl WireOp {
    /// An operation that is written in Rust: its name, its weight, its pauses, and whether it
    /// writes.
    fn coded(mut self, numbers: Numbers<'_>) -> Result<Op, Fault> {
        let pauses = self.pauses(numbers)?;
        let (name, weight) = (std::mem::take(&mut self.name), self.own_weight()?);
        let class = self.class.take();
        let has_statements = self.own_statement().is_ok();
        if class.is_none() || has_statements || self.transaction.is_some() {
            let reason = "an operation of a workload with `coded` has `name`, `weight`, `class` \
                          (`read` or `write`), `keying_ms`, `think_ms` and `committed` only";
            return Err(Fault::invalid(reason));
        }
        Ok(Op { weight, transaction: true, pauses, ..Op::plain(&name, Vec::new()) })
    }

    fn pauses(&self, numbers: Numbers<'_>) -> Result<Pauses, Fault> {
        let milliseconds = |key, given: &Option<Formula>| {
            numbers.optional(key, given.as_ref(), 0..=PAUSE_MS_MAX).map(Option::unwrap_or_default)
        };
        Ok(Pauses {
            keying_ms: milliseconds("keying_ms", &self.keying_ms)?,
            think_ms: milliseconds("think_ms", &self.think_ms)?,
        })
    }

    fn own_weight(&self) -> Result<u32, Fault> {
        match self.weight {
            Some(Whole(0)) => Err(Fault::invalid("a weight must be at least 1")).under("weight"),
            weight => Ok(weight.map_or(1, |weight| weight.0)),
        }
    }

    fn check(mut self, numbers: Numbers<'_>, source: &Source) -> Result<Op, Fault> {
        let weight = self.own_weight()?;
        let pauses = self.pauses(numbers)?;
        if self.committed.is_some() {
            let reason = "`committed` belongs to an operation of a workload with `coded`";
            return Err(Fault::invalid(reason)).under("committed");
        }
        let own = self.own_statement()?;
        let transaction = self.transaction.as_ref();
        let transaction = transaction.map(|one| numbers.holds(one, "transaction")).transpose();
        let transaction = transaction.under("transaction")?.unwrap_or(false);
        let draws =
            draws(std::mem::take(&mut self.draw), numbers, &BTreeSet::new()).under("draw")?;
        let of_op: BTreeSet<String> = draws.iter().map(|draw| draw.name.clone()).collect();
        let mut names = of_op.clone();
        let mut statements: Vec<Statement> = Vec::new();
        if let Some(statement) = own {
            statements.push(statement.check(numbers, source, &mut names)?);
        }
        for (index, statement) in self.statement.into_iter().enumerate() {
            // What a statement draws is for itself, and for those that it takes turns with.
            if !statement.in_turn {
                names.clone_from(&of_op);
            }
            let statement = statement.check(numbers, source, &mut names);
            let statement = statement.and_then(|one| in_turn(one, statements.last()));
            statements.push(statement.under(index).under("statement")?);
        }
        if statements.first().is_some_and(|first| first.table == TableChoice::Same) {
            let reason = "no statement is before this one, whose table would be the `same`; write \
                          `fresh` or `connection`";
            return Err(Fault::invalid(reason)).under("table").under(0).under("statement");
        }
        Ok(Op { name: self.name, weight, transaction, pauses, draws, statements })
    }

    /// The statement that is written on the operation itself, if any.
    fn own_statement(&mut self) -> Result<Option<WireStatement>, Fault> {
        let own = WireStatement {
            sql: self.sql.take().unwrap_or_else(|| Spanned::new(0..0, String::new())),
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
