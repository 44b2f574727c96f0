//! From the model's workload to the program.

use super::values::{Scope, Values, index};
use super::{Every, Limits, Op, Program, Source, Span, Sql, Statement, statement};
use crate::keys::Pool;
use model::{
    Parameters,
    drive::{Assignment, Origin},
    workload::{self, Class, Mode, Role, TableChoice, Workload},
};
use std::collections::BTreeMap;

/// Compiles what a role executes, or all operations where there are no roles.
pub(super) fn compile(
    assignment: &Assignment,
    dialect: &str,
    role: Option<&Role>,
) -> Result<Program, Refusal> {
    let mut compiler = Compiler::new(assignment, dialect);
    compiler.whole(role)?;
    Ok(compiler.program)
}

/// Where in the workload and why.
pub(super) type Refusal = (String, String);

/// State of one compilation.
pub(super) struct Compiler<'a> {
    assignment: &'a Assignment,
    pub(super) dialect: &'a str,
    pub(super) parameters: Parameters,
    captures: BTreeMap<String, u16>,
    /// Characters of all fillers, once there is one.
    pool: Option<Pool>,
    pub(super) program: Program,
    /// Name of the table with `{n}` for the copy.
    pub(super) table: String,
}

impl<'a> Compiler<'a> {
    fn new(assignment: &'a Assignment, dialect: &'a str) -> Self {
        let mut parameters = assignment.workload.parameters.clone();
        parameters.extend(assignment.parameters.clone());
        Self {
            assignment,
            dialect,
            parameters,
            captures: BTreeMap::new(),
            pool: None,
            program: Program::empty(&assignment.workload.name),
            table: String::new(),
        }
    }

    fn whole(&mut self, role: Option<&Role>) -> Result<(), Refusal> {
        let workload = &self.assignment.workload;
        let nowhere = |reason: String| (String::new(), reason);
        self.table().map_err(nowhere)?;
        let ops = ops_of(workload, role).map_err(nowhere)?;
        if ops.is_empty() {
            let what = role.map_or("it".to_owned(), |role| format!("role `{}`", role.name));
            return Err(nowhere(format!("{what} has no operation; add an `[[op]]`")));
        }
        self.program.role = role.map(|role| role.name.clone()).unwrap_or_default();
        // Of all operations, so that a value has the same number in every role.
        for statement in workload.ops.iter().flat_map(|op| &op.statements) {
            if let Some(name) = &statement.capture
                && !self.captures.contains_key(name)
            {
                let number = index(self.program.kept).map_err(nowhere)?;
                self.captures.insert(name.clone(), number);
                self.program.kept += 1;
            }
        }
        ops.into_iter().try_for_each(|op| self.op(op))
    }

    fn table(&mut self) -> Result<(), String> {
        let schema = &self.assignment.schema;
        let Some(table) = schema.tables.first() else {
            return Err(format!("its schema `{}` has no table", schema.name));
        };
        let copies = table.copies.evaluate(&self.parameters).map_err(|error| error.to_string())?;
        if copies < 1 {
            return Err(format!(
                "table `{}` of schema `{}` has {copies} copies; it needs at least one",
                table.name, schema.name
            ));
        }
        self.table.clone_from(&table.name);
        self.program.tables = copies as u64;
        Ok(())
    }

    fn op(&mut self, op: &workload::Op) -> Result<(), Refusal> {
        let place = format!(", op `{}`", op.name);
        if op.weight == 0 {
            return Err((place, "its weight is 0; it must be at least 1".to_owned()));
        }
        let mut scope = Scope::default();
        let at_op = |reason: String| (place.clone(), reason);
        let draws = self.values(op.name.clone()).draws(&op.draws, &mut scope).map_err(at_op)?;
        let transaction = op.transaction.holds(&self.parameters);
        let transaction = transaction.map_err(|error| at_op(error.to_string()))?;
        let mut statements = self.statements(op, &scope)?;
        if statements.is_empty() {
            return Err((place, "it has no statement to execute".to_owned()));
        }
        // Where the statements before it are left out (`repeat` 0), there is no table to be the
        // same.
        if let Some(first) = statements.iter_mut().find(|statement| statement.copies > 1)
            && first.table == TableChoice::Same
        {
            first.table = TableChoice::Fresh;
        }
        let writing = || statements.iter().filter(|statement| statement.class == Class::Write);
        let writes = writing().next().is_some();
        let rows = writing().map(|one| one.repeat * u64::from(one.rows)).sum();
        if transaction {
            statements.insert(0, self.bracket("BEGIN"));
            statements.push(self.bracket("COMMIT"));
        }
        let start = self.program.statements.len() as u32;
        self.program.statements.extend(statements);
        let end = self.program.statements.len() as u32;
        self.program.weight_total += u64::from(op.weight);
        self.program.ops.push(Op {
            name: op.name.clone(),
            weight_end: self.program.weight_total,
            draws,
            statements: Span { start, end },
            transaction,
            writes,
            rows,
        });
        Ok(())
    }

    /// The statements of an operation in the order in which they are executed, those left out that
    /// have a `repeat` of 0.
    fn statements(&mut self, op: &workload::Op, of_op: &Scope) -> Result<Vec<Statement>, Refusal> {
        let mut statements = Vec::new();
        let mut in_turn = Vec::new();
        let mut scope = of_op.clone();
        let at_op = |reason| (format!(", op `{}`", op.name), reason);
        for (position, statement) in op.statements.iter().enumerate() {
            let place = format!(", op `{}`, statement {}", op.name, position + 1);
            let at = |reason| (place.clone(), reason);
            if position == 0 && statement.table == TableChoice::Same {
                return Err(at(
                    "it uses the table of the previous statement, but is the first of \
                    its operation"
                        .to_owned(),
                ));
            }
            let identity = format!("{}/{position}", op.name);
            let (number, position) = (self.program.ops.len() as u32, position as u32);
            let origin = Origin { op: number, statement: position, copy: 1 };
            if let Some(line) = statement.line {
                let place = format!("{}:{line}", self.assignment.workload.source);
                self.program.places.insert((number, position), place);
            }
            if !statement.in_turn {
                statements.extend(turns(std::mem::take(&mut in_turn)).map_err(at_op)?);
                scope = of_op.clone();
            }
            let compiled = self.statement(statement, (identity, origin), &mut scope);
            in_turn.extend(compiled.map_err(at)?);
        }
        statements.extend(turns(in_turn).map_err(at_op)?);
        Ok(statements)
    }

    /// Compiles one statement and adds its draws to the scope; `None` if its `repeat` is 0.
    fn statement(
        &mut self,
        from: &workload::Statement,
        (identity, origin): (String, Origin),
        scope: &mut Scope,
    ) -> Result<Option<Statement>, String> {
        let repeat = self.values(identity.clone()).number(&from.repeat)?;
        let repeat = u64::try_from(repeat)
            .map_err(|_| format!("`repeat` is {repeat}; it must not be negative"))?;
        if repeat == 0 {
            return Ok(None);
        }
        let draws = self.values(identity.clone()).draws(&from.draws, scope)?;
        let mut scope = scope.clone();
        let row_draws = self.values(identity.clone()).draws(&from.row_draws, &mut scope)?;
        let text = statement::Text::new(self, from, (identity, &scope))?;
        let expect_rows = self.limits(from.expect.rows.as_ref())?;
        let expect_changed = self.limits(from.expect.changed.as_ref())?;
        let changed = match expect_changed {
            Limits::NONE if from.class == Class::Write => 1,
            Limits { low, .. } => low,
        };
        let copies = if text.names_the_table() { self.program.tables } else { 1 };
        let every = self.every(from)?;
        let capture = from.capture.as_ref().and_then(|name| self.captures.get(name).copied());
        let advance = self.advance(from)?;
        let sql = self.program.sql.len() as u32;
        for copy in 1..=copies {
            self.program.sql.push(Sql {
                mode: self.mode(from),
                pieces: text.pieces(&self.table, copy),
                parameters: text.parameters(),
                origin: Some(Origin { copy, ..origin }),
                capture: from.capture.is_some(),
                expected: (expect_rows.low, changed),
            });
        }
        let start = self.program.slots.len() as u32;
        self.program.slots.extend(text.slots());
        let only = self.only(from, (start, text.rows));
        let timed = text.slots().any(|slot| slot.source == Source::Now);
        Ok(Some(Statement {
            sql,
            choice: copies > 1 || every.is_some(),
            copies,
            every,
            table: from.table,
            repeat,
            rows: text.rows,
            slots: Span { start, end: self.program.slots.len() as u32 },
            only,
            timed,
            draws,
            row_draws,
            class: from.class,
            expect_rows,
            expect_changed,
            keeps: capture.is_some() || advance.is_some(),
            capture,
            advance,
        }))
    }

    /// The source of a prepared statement whose only argument is one integer; `start` is the first
    /// of its slots.
    fn only(&self, from: &workload::Statement, (start, rows): (u32, u32)) -> Option<Source> {
        let prepared = self.mode(from) == Mode::Prepared;
        match &self.program.slots[start as usize..] {
            [slot] if slot.count == 1 && rows == 1 && !slot.source.is_text() => {
                Some(slot.source).filter(|_| prepared && from.row_draws.is_empty())
            }
            _ => None,
        }
    }

    fn every(&mut self, from: &workload::Statement) -> Result<Option<Every>, String> {
        let Some(every) = &from.every else { return Ok(None) };
        let period = self.values(String::new()).number(every)?;
        let period = u64::try_from(period).ok().filter(|period| *period > 0);
        let period = period.ok_or_else(|| format!("`every` is `{every}`; it must be above 0"))?;
        if period == 1 && !from.untimed {
            return Ok(None);
        }
        let visit = index(self.program.visits)?;
        self.program.visits += 1;
        Ok(Some(Every { period, untimed: from.untimed, visit }))
    }

    fn advance(&mut self, from: &workload::Statement) -> Result<Option<(u16, i64)>, String> {
        let Some(advance) = &from.advance else { return Ok(None) };
        let values = self.values(String::new());
        let number = values.kept(&advance.name)?;
        Ok(Some((number, values.number(&advance.by)?)))
    }

    /// How a statement travels.
    pub(super) fn mode(&self, from: &workload::Statement) -> Mode {
        from.mode_in(self.dialect, self.assignment.mode)
    }

    /// BEGIN or COMMIT, of which the program has one text each.
    fn bracket(&mut self, word: &str) -> Statement {
        let mode = self.assignment.mode.unwrap_or(Mode::Prepared);
        let found = self
            .program
            .sql
            .iter()
            .position(|sql| sql.pieces == [word] && sql.mode == mode && !sql.capture);
        let sql = found.unwrap_or_else(|| {
            self.program.sql.push(Sql {
                mode,
                pieces: vec![word.to_owned()],
                parameters: Vec::new(),
                origin: None,
                capture: false,
                expected: (0, 0),
            });
            self.program.sql.len() - 1
        });
        Statement {
            sql: sql as u32,
            choice: false,
            copies: 1,
            every: None,
            table: TableChoice::Same,
            repeat: 1,
            rows: 1,
            slots: Span::default(),
            only: None,
            timed: false,
            draws: Span::default(),
            row_draws: Span::default(),
            class: Class::Other,
            expect_rows: Limits::NONE,
            expect_changed: Limits::NONE,
            keeps: false,
            capture: None,
            advance: None,
        }
    }

    fn limits(&self, bounds: Option<&workload::Bounds>) -> Result<Limits, String> {
        let Some(bounds) = bounds else { return Ok(Limits::NONE) };
        let number = |expression: &model::expression::Expression| {
            expression.evaluate(&self.parameters).map_err(|error| error.to_string())
        };
        let (low, high) = (number(&bounds.low)?, number(&bounds.high)?);
        if high < low || high < 0 {
            return Err(format!("`expect` from {low} to {high} can never be met"));
        }
        Ok(Limits { low: low.max(0) as u64, high: high as u64 })
    }

    pub(super) fn values(&mut self, place: String) -> Values<'_> {
        Values {
            program: &mut self.program,
            parameters: &self.parameters,
            captures: &self.captures,
            pool: &mut self.pool,
            place,
        }
    }
}

/// Most executions of statements in turn: each is a statement of the program.
const TURNS_MAX: u64 = 1000;

/// Statements that are executed in turn: all of them once, then all of them again.
fn turns(statements: Vec<Statement>) -> Result<Vec<Statement>, String> {
    let [first, _, ..] = statements.as_slice() else { return Ok(statements) };
    let times = first.repeat;
    if times > TURNS_MAX {
        return Err(format!(
            "`repeat` is {times}; statements in turn are repeated {TURNS_MAX} times at most"
        ));
    }
    let once = |turn: u64| {
        let mut once = statements.clone();
        once.iter_mut().for_each(|statement| statement.repeat = 1);
        if let (1.., Some(first)) = (turn, once.first_mut()) {
            // The table is chosen once for all turns.
            first.table = TableChoice::Same;
        }
        once
    };
    Ok((0..times).flat_map(once).collect())
}

/// The operations of a role, or all of them where there are no roles.
fn ops_of<'a>(
    workload: &'a Workload,
    role: Option<&Role>,
) -> Result<Vec<&'a workload::Op>, String> {
    let Some(role) = role else { return Ok(workload.ops.iter().collect()) };
    let find = |name: &String| {
        workload.ops.iter().find(|op| op.name == *name).ok_or_else(|| {
            let known: Vec<String> =
                workload.ops.iter().map(|op| format!("`{}`", op.name)).collect();
            format!(
                "role `{}` names the op `{name}`, which does not exist (known: {})",
                role.name,
                known.join(", ")
            )
        })
    };
    role.ops.iter().map(find).collect()
}

impl Program {
    /// A program without operations.
    pub(crate) fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            role: String::new(),
            ops: Vec::new(),
            weight_total: 0,
            statements: Vec::new(),
            slots: Vec::new(),
            draws: Vec::new(),
            sql: Vec::new(),
            templates: Vec::new(),
            zipfs: Vec::new(),
            fillers: Vec::new(),
            decimals: Vec::new(),
            sequences: Vec::new(),
            registers: 0,
            kept: 0,
            visits: 0,
            text_registers: Vec::new(),
            tables: 1,
            places: BTreeMap::new(),
        }
    }
}
