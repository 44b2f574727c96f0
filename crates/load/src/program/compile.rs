//! From the model's workload to the program.

use super::values::{DrawNames, Values, index};
use super::{Every, Limits, Op, Program, Source, Span, Sql, Statement, statement};
use model::{
    drive::{Assignment, Origin},
    script::{self, Role},
    workload::{Class, Mode, TableChoice},
};
use std::collections::BTreeMap;

/// Compiles what a role executes.
pub(super) fn compile(
    assignment: &Assignment,
    dialect: &str,
    role: &Role,
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
    captures: BTreeMap<String, u16>,
    pub(super) program: Program,
    /// Name of the table with `{n}` for the copy.
    pub(super) table: String,
}

impl<'a> Compiler<'a> {
    fn new(assignment: &'a Assignment, dialect: &'a str) -> Self {
        Self {
            assignment,
            dialect,
            captures: BTreeMap::new(),
            program: Program::empty(&assignment.script.workload),
            table: String::new(),
        }
    }

    fn whole(&mut self, role: &Role) -> Result<(), Refusal> {
        let nowhere = |reason: String| (String::new(), reason);
        self.table().map_err(nowhere)?;
        if role.ops.is_empty() {
            return Err(nowhere("it has no operation; add an `[[op]]`".to_owned()));
        }
        self.program.role.clone_from(&role.name);
        // Of all operations, so that a value has the same number in every role.
        for statement in self.assignment.script.statements() {
            if let Some(name) = &statement.capture
                && !self.captures.contains_key(name)
            {
                let number = index(self.program.kept).map_err(nowhere)?;
                self.captures.insert(name.clone(), number);
                self.program.kept += 1;
            }
        }
        role.ops.iter().try_for_each(|op| self.op(op))
    }

    fn table(&mut self) -> Result<(), String> {
        let schema = &self.assignment.schema;
        let Some(table) = schema.tables.first() else {
            return Err(format!("its schema `{}` has no table", schema.name));
        };
        if table.copies < 1 {
            return Err(format!(
                "table `{}` of schema `{}` has 0 copies; it needs at least one",
                table.name, schema.name
            ));
        }
        self.table.clone_from(&table.name);
        self.program.tables = table.copies;
        Ok(())
    }

    fn op(&mut self, op: &script::Op) -> Result<(), Refusal> {
        let place = format!(", op `{}`", op.name);
        if op.weight == 0 {
            return Err((place, "its weight is 0; it must be at least 1".to_owned()));
        }
        let mut scope = DrawNames::default();
        let counters = self.program.sequences.len();
        let at_op = |reason: String| (place.clone(), reason);
        let draws = self.values(op.name.clone()).draws(&op.draws, &mut scope).map_err(at_op)?;
        let mut statements = self.statements(op, &scope)?;
        if statements.is_empty() {
            return Err((place, "it has no statement to execute".to_owned()));
        }
        self.share(op, counters);
        // Where the statements before it are left out (`repeat` 0), there is no table to be the
        // same.
        if let Some(first) = statements.iter_mut().find(|statement| statement.copies > 1)
            && first.table == TableChoice::Same
        {
            first.table = TableChoice::Fresh;
        }
        let writes = statements.iter().any(|statement| statement.class == Class::Write);
        if op.transaction {
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
            pauses: op.pauses,
            draws,
            statements: Span { start, end },
            transaction: op.transaction || op.statements.iter().any(script::Statement::is_bracket),
            writes,
        });
        Ok(())
    }

    /// Roles that execute one operation share its counters, from number `first` on: these have the
    /// same names there, and give each connection values of its own.
    fn share(&mut self, op: &script::Op, first: usize) {
        let executes = |role: &&Role| role.ops.iter().any(|one| one.name == op.name);
        let clients = |roles: &[Role]| {
            let sharing = roles.iter().filter(executes);
            sharing.fold(0_u32, |sum, role| sum.saturating_add(role.clients))
        };
        let roles = &self.assignment.script.roles;
        let own = roles.iter().position(|role| role.name == self.program.role).unwrap_or_default();
        let (before, rest) = roles.split_at(own);
        let before = clients(before);
        let others = before.saturating_add(clients(rest.get(1..).unwrap_or_default()));
        for (number, sequence) in self.program.sequences.iter_mut().skip(first).enumerate() {
            sequence.key.push_str(&format!("/{number}"));
            (sequence.before, sequence.others) = (before, others);
        }
    }

    /// The statements of an operation in the order in which they are executed, those left out that
    /// have a `repeat` of 0.
    fn statements(
        &mut self,
        op: &script::Op,
        of_op: &DrawNames,
    ) -> Result<Vec<Statement>, Refusal> {
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
                let place = format!("{}:{line}", self.assignment.script.source);
                self.program.places.insert((number, position), place);
            }
            if !statement.in_turn {
                statements.extend(turns(std::mem::take(&mut in_turn)).map_err(at_op)?);
                scope = of_op.clone();
            }
            let compiled = self.statement(statement, identity, origin, &mut scope);
            in_turn.extend(compiled.map_err(at)?);
        }
        statements.extend(turns(in_turn).map_err(at_op)?);
        Ok(statements)
    }

    /// Compiles one statement and adds its draws to the scope; `None` if its `repeat` is 0.
    fn statement(
        &mut self,
        from: &script::Statement,
        identity: String,
        origin: Origin,
        scope: &mut DrawNames,
    ) -> Result<Option<Statement>, String> {
        if from.repeat == 0 {
            return Ok(None);
        }
        let draws = self.values(identity.clone()).draws(&from.draws, scope)?;
        let mut scope = scope.clone();
        let row_draws = self.values(identity.clone()).draws(&from.row_draws, &mut scope)?;
        let text = statement::Text::new(self, from, identity, &scope)?;
        let expect_rows = limits(from.expect.rows);
        let expect_changed = limits(from.expect.changed);
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
            repeat: from.repeat,
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
    fn only(&self, from: &script::Statement, (start, rows): (u32, u32)) -> Option<Source> {
        let prepared = self.mode(from) == Mode::Prepared;
        match &self.program.slots[start as usize..] {
            [slot] if slot.count == 1 && rows == 1 && !slot.source.is_text() => {
                Some(slot.source).filter(|_| prepared && from.row_draws.is_empty())
            }
            _ => None,
        }
    }

    fn every(&mut self, from: &script::Statement) -> Result<Option<Every>, String> {
        let Some(period) = from.every else { return Ok(None) };
        if period == 1 && !from.untimed {
            return Ok(None);
        }
        let visit = index(self.program.visits)?;
        self.program.visits += 1;
        Ok(Some(Every { period, untimed: from.untimed, visit }))
    }

    fn advance(&mut self, from: &script::Statement) -> Result<Option<(u16, i64)>, String> {
        let Some(advance) = &from.advance else { return Ok(None) };
        Ok(Some((self.values(String::new()).kept(&advance.name)?, advance.by)))
    }

    /// How a statement travels.
    pub(super) fn mode(&self, from: &script::Statement) -> Mode {
        from.mode_in(self.dialect, self.assignment.mode)
    }

    /// BEGIN or COMMIT, of which the program has one text each.
    fn bracket(&mut self, word: &str) -> Statement {
        let mode = self.assignment.mode.unwrap_or(Mode::Prepared);
        let found =
            self.program.sql.iter().position(|sql| sql.pieces == [word] && sql.mode == mode);
        let sql = found.unwrap_or_else(|| {
            self.program.sql.push(Sql {
                mode,
                pieces: vec![word.to_owned()],
                parameters: Vec::new(),
                origin: None,
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

    pub(super) fn values(&mut self, place: String) -> Values<'_> {
        Values { program: &mut self.program, captures: &self.captures, place }
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

fn limits(bounds: Option<script::Bounds>) -> Limits {
    bounds.map_or(Limits::NONE, |bounds| Limits { low: bounds.low, high: bounds.high })
}

impl Program {
    /// A program without operations.
    pub(crate) fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), tables: 1, ..Self::default() }
    }
}
