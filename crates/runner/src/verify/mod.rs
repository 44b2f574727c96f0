//! What every workload does on every subject, instead of how fast: rows, plans, keys, prepared
//! statements beside text, and what is left in the tables.
//!
//! Every phase is executed three times on one connection, a few operations each: prepared and as
//! text, each operation rolled back, so that both meet the same rows; then as it is written, with
//! its commits. What is compared is in the modules below, one check each.

mod coded;
mod effect;
mod keys;
mod modes;
mod plans;
mod rows;
mod settings;
mod subjects;

use crate::{
    Error, Observer, Options, Stop,
    block::{
        maintenance::{self, Limits},
        template,
    },
    execute::{self, Look},
    host::files,
    run::Run,
    server::{Instance, Patience, initialise, tables, unexpected},
};
use dbms::Places;
use model::{
    drive::{Assignment, Command, Origin, Reply, Trace, TracedStatement},
    plan::{Phase, PhaseKind, Plan},
    schema::Schema,
    script::{Script, Statement, Value},
    subject::Subject,
    workload::{Check, Class, Mode},
};
use std::collections::BTreeMap;
use subjects::Side;

/// What is verified.
#[derive(Debug, Clone, Copy)]
pub struct Verification<'a> {
    /// The phases and subjects.
    pub plan: &'a Plan,
    /// Operations of each phase.
    pub operations: u64,
}

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verified {
    /// One entry per phase and subject, phase by phase.
    pub phases: Vec<VerifiedPhase>,
    /// Settings that a server reports with another value than was asked for, by subject.
    pub settings: BTreeMap<String, Vec<Discrepancy>>,
}

/// The name of what comes before the phases: a subject that fails in it has no others.
pub const LOAD: &str = "load";

/// One phase on one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedPhase {
    /// Name of the phase, or [`LOAD`].
    pub phase: String,
    /// Label of the subject.
    pub subject: String,
    /// What is not as the workload says.
    pub discrepancies: Vec<Discrepancy>,
    /// What was seen.
    pub facts: Facts,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discrepancy {
    /// The check that found it; none where a statement failed.
    pub check: Option<Check>,
    /// One sentence.
    pub text: String,
    /// The reason, if the workload's file documents it.
    pub documented: Option<String>,
}

/// What the statements of a phase did, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Statements, BEGIN and COMMIT included.
    pub statements: u64,
    /// Statements that were meant to change rows and changed none.
    pub idle_writes: u64,
    /// Rows returned.
    pub rows: u64,
    /// Rows changed.
    pub changed: u64,
    /// Indexes that the checked statements use.
    pub indexes: Vec<String>,
}

impl Verified {
    /// Whether something differs that no workload's file documents.
    pub fn failed(&self) -> bool {
        let of_phases = self.phases.iter().flat_map(|phase| &phase.discrepancies);
        of_phases.chain(self.settings.values().flatten()).any(|one| one.documented.is_none())
    }
}

/// Executes a few operations of every phase of `plan` on every subject, one after the other, and
/// compares what they do with what their workloads say. Errors are those of hosts and servers; a
/// statement that fails is a [`Discrepancy`].
pub fn verify(
    what: &Verification<'_>,
    places: &Places,
    options: &Options,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Verified, Error> {
    let plan = &filled(what.plan);
    let look = Look { plan, folders: 1 };
    let mut run = execute::without_records(&look, places, options, stop, observer)?;
    let mut verified = Verified::default();
    let mut done = Ok(());
    for subject in 0..plan.subjects.len() {
        done = subject_of(&mut run, subject, what.operations, &mut verified);
        if done.is_err() {
            break;
        }
    }
    let order = |name: &str| plan.phases.iter().position(|phase| phase.name == name);
    verified.phases.sort_by_key(|phase| order(&phase.phase));
    for of_phase in verified.phases.chunk_by_mut(|one, next| one.phase == next.phase) {
        let phase = plan.phases.iter().find(|phase| phase.name == of_phase[0].phase);
        let Some(phase) = phase else { continue };
        let Some(side) = Side::of(&phase.script) else { continue };
        subjects::compare(of_phase, side, |one| {
            let subject = plan.subjects.iter().find(|subject| subject.label == one.subject)?;
            documented(&phase.script, subject, side.check())
        });
    }
    let left = run.leave();
    done.and(left).map(|()| verified)
}

/// The plan with tables that have rows and indexes from the start, where phases of their own fill
/// them or build the indexes: these are not executed in full, and plans of empty tables say
/// nothing.
pub(crate) fn filled(plan: &Plan) -> Plan {
    let is_late =
        |phase: &Phase| phase.kind == PhaseKind::Index || tables::filling(plan, phase).is_some();
    let built = plan.phases.iter().filter(|phase| is_late(phase));
    let built: Vec<String> = built.map(|phase| phase.script.schema.clone()).collect();
    let mut plan = plan.clone();
    let schemas = plan.schemas.iter_mut().filter(|schema| built.contains(&schema.name));
    for table in schemas.flat_map(|schema| &mut schema.tables) {
        if table.rows == 0 {
            table.rows = plan.experiment.rows;
        }
    }
    plan.phases.retain(|phase| phase.kind != PhaseKind::Index);
    plan
}

fn subject_of(
    run: &mut Run<'_>,
    subject: usize,
    operations: u64,
    verified: &mut Verified,
) -> Result<(), Error> {
    let plan = run.plan;
    let about = &plan.subjects[subject];
    run.step(&format!("verifying {}", about.label));
    let data = run.place.data().join(format!("verify-{subject}"));
    initialise(run, subject, &data)?;
    let mut instance = Instance::start(run, subject, &data, 0)?;
    match template::fill(run, subject, 0, &mut instance) {
        Err(Error::Sql { message, lost: false }) => {
            // The other subjects may accept it.
            let unfit = Discrepancy { check: None, text: message, documented: None };
            verified.phases.push(VerifiedPhase {
                phase: LOAD.to_owned(),
                subject: about.label.clone(),
                discrepancies: vec![unfit],
                facts: Facts::default(),
            });
            instance.end()?;
            return files::remove_folder(&data);
        }
        loaded => loaded.map(drop)?,
    }
    let limits = Limits { patience: Patience::OfStatements, ..template::SETTLE };
    maintenance::settle_now(run, subject, &mut instance, limits)?;
    verified.settings.insert(about.label.clone(), settings::check(&mut instance, about)?);
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    for phase in plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        run.stop.check()?;
        let (mut script, schema) = (phase.script.alone(), run.schema_of(phase)?.clone());
        count_on(&mut script, operations, counted.entry(&phase.script.workload).or_default());
        let assignment = Assignment { script, schema, mode: phase.mode };
        let case =
            Case { assignment: &assignment, subject: about, operations, seed: seed(plan, phase) };
        let mut found = examine(&mut instance, &case)?;
        found.phase.clone_from(&phase.name);
        verified.phases.push(found);
    }
    instance.end()?;
    files::remove_folder(&data)
}

/// Lets the counters of a script begin behind those of earlier phases of its workload, whose rows
/// are in the tables: `counted` values at most, to which those of its own operations are added.
fn count_on(script: &mut Script, operations: u64, counted: &mut u64) {
    let values = |one: &Statement| {
        let of_row: u64 = one.args.iter().map(|arg| u64::from(arg.list.unwrap_or(1))).sum();
        let rows = u64::from(one.rows_per_statement.unwrap_or(1));
        one.repeat.max(1).saturating_mul(rows).saturating_mul(of_row.max(1))
    };
    let of_operation = script.statements().map(values).fold(0, u64::saturating_add);
    for op in script.roles.iter_mut().flat_map(|role| &mut role.ops) {
        for value in op.values_mut() {
            if let Value::Sequence { first } = value {
                *first = first.saturating_add_unsigned(*counted);
            }
        }
    }
    *counted = counted.saturating_add(of_operation.saturating_mul(operations));
}

/// The same for all subjects.
fn seed(plan: &Plan, phase: &Phase) -> u64 {
    phase.name.bytes().fold(plan.experiment.seed, |seed, byte| {
        (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// One phase on one subject, to be examined.
struct Case<'a> {
    assignment: &'a Assignment,
    subject: &'a Subject,
    operations: u64,
    seed: u64,
}

impl Case<'_> {
    fn script(&self) -> &Script {
        &self.assignment.script
    }

    fn schema(&self) -> &Schema {
        &self.assignment.schema
    }

    /// The statement of the workload that was executed.
    fn statement(&self, origin: Option<Origin>) -> Option<&Statement> {
        let origin = origin?;
        // A trace executes all operations on one connection, as the only role.
        let op = self.script().roles.first()?.ops.get(origin.op as usize)?;
        op.statements.get(origin.statement as usize)
    }

    fn discrepancy(&self, check: Option<Check>, text: String) -> Discrepancy {
        let documented = check.and_then(|check| documented(self.script(), self.subject, check));
        Discrepancy { check, text, documented }
    }
}

/// Why a subject is known not to do what a workload says.
fn documented(script: &Script, subject: &Subject, check: Check) -> Option<String> {
    script.deviation(subject, check).map(|known| known.reason.clone())
}

fn examine(instance: &mut Instance, case: &Case<'_>) -> Result<VerifiedPhase, Error> {
    let mut found = VerifiedPhase {
        phase: String::new(),
        subject: case.subject.label.clone(),
        discrepancies: Vec::new(),
        facts: Facts::default(),
    };
    if case.script().lua.is_some() {
        // What its statements should find nobody says; they must succeed.
        if let Err(reason) = trace(instance, case, Form::AsWritten)? {
            found.discrepancies.push(case.discrepancy(None, reason));
        }
        return Ok(found);
    }
    if case.script().coded.is_some() {
        coded::check(instance, case, &mut found)?;
        return Ok(found);
    }
    let notes = &mut found.discrepancies;
    let prepared = trace(instance, case, Form::RolledBack(Mode::Prepared))?;
    let text = trace(instance, case, Form::RolledBack(Mode::Text))?;
    match (&prepared, &text) {
        (Ok(prepared), Ok(text)) => {
            notes.extend(rows::check(case, prepared));
            notes.extend(modes::check(case, prepared, text));
            notes.extend(keys::check(instance, case, prepared)?);
            let (indexes, wrong) = plans::check(instance, case, prepared)?;
            found.facts.indexes = indexes;
            notes.extend(wrong);
        }
        // What the author sends as text need not be possible as a prepared statement.
        (Err(_), Ok(text)) if sends_text(case.assignment, &instance.target.protocol) => {
            notes.extend(rows::check(case, text));
        }
        (Err(reason), _) | (_, Err(reason)) => {
            notes.push(case.discrepancy(None, reason.clone()));
            return Ok(found);
        }
    }
    let before = effect::counts(instance, case)?;
    match trace(instance, case, Form::AsWritten)? {
        Ok(told) => {
            let more = rows::check(case, &told);
            notes.extend(
                more.into_iter().filter(|one| !found_before(notes, one)).collect::<Vec<_>>(),
            );
            notes.extend(effect::check(instance, case, before, &told)?);
            if case.script().writes() {
                notes.extend(effect::conditions(instance, case)?);
            }
            facts(case, &told, &mut found.facts);
        }
        Err(reason) => notes.push(case.discrepancy(None, reason)),
    }
    Ok(found)
}

fn found_before(known: &[Discrepancy], one: &Discrepancy) -> bool {
    known.iter().any(|other| other.check == one.check)
}

fn sends_text(assignment: &Assignment, protocol: &str) -> bool {
    assignment.script.statements().any(|one| one.mode_in(protocol, assignment.mode) == Mode::Text)
}

fn facts(case: &Case<'_>, told: &[TracedStatement], facts: &mut Facts) {
    facts.statements = told.len() as u64;
    for one in told {
        facts.rows += one.rows;
        facts.changed += one.changed;
        let writes = case.statement(one.origin).is_some_and(|s| s.class == Class::Write);
        facts.idle_writes += u64::from(writes && one.changed == 0);
    }
}

/// How a workload is executed.
enum Form {
    AsWritten,
    /// All statements in one mode, every operation rolled back.
    RolledBack(Mode),
}

/// The statements that a phase executes, or why one of them failed.
fn trace(
    instance: &mut Instance,
    case: &Case<'_>,
    form: Form,
) -> Result<Result<Vec<TracedStatement>, String>, Error> {
    let mut assignment = case.assignment.clone();
    let mut shift = 0;
    if let Form::RolledBack(mode) = form {
        rolled_back(&mut assignment, mode);
        shift = 1;
    }
    let trace = Trace { assignment, operations: case.operations, seed: case.seed };
    let mut told = match instance.driver.ask(&Command::Trace(Box::new(trace))) {
        Ok(Reply::Traced(told)) => told,
        Ok(other) => return Err(unexpected("trace", &other)),
        Err(Error::Sql { message, lost: false }) => return Ok(Err(message)),
        Err(error) => return Err(error),
    };
    if let Some(failed) = told.iter().find(|one| one.error.is_some()) {
        let error = failed.error.clone().unwrap_or_default();
        return Ok(Err(format!("`{}` failed: {error}", shown(failed))));
    }
    // The statements in their places in the workload's file: BEGIN was put before them.
    for one in &mut told {
        one.origin = one.origin.and_then(|origin| {
            Some(Origin { statement: origin.statement.checked_sub(shift)?, ..origin })
        });
        if case.statement(one.origin).is_none() {
            one.origin = None;
        }
    }
    Ok(Ok(told))
}

fn rolled_back(assignment: &mut Assignment, mode: Mode) {
    // BEGIN and ROLLBACK below are text: not all servers prepare them.
    assignment.mode = None;
    for op in assignment.script.roles.iter_mut().flat_map(|role| &mut role.ops) {
        op.transaction = false;
        for statement in &mut op.statements {
            statement.mode = statement.mode_in("", Some(mode));
            statement.mode_for.clear();
            if statement.is_bracket() {
                // It would end the transaction that is rolled back, or be refused in it.
                statement.repeat = 0;
            }
        }
        op.statements.insert(0, Statement::plain("BEGIN"));
        op.statements.push(Statement::plain("ROLLBACK"));
    }
}

/// A statement as messages show it: its text with `?`, not longer than a line.
fn shown(one: &TracedStatement) -> String {
    const WIDTH: usize = 100;
    let text = one.pieces.join("?");
    let short: String = text.chars().take(WIDTH).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{decimal, op, script};
    use model::script::{Arg, Role};

    fn with(statements: Vec<Statement>) -> Assignment {
        let ops = vec![model::script::Op { transaction: true, ..op("o", statements) }];
        Assignment {
            script: Script { roles: vec![Role { ops, ..Role::default() }], ..script() },
            schema: Schema::default(),
            mode: None,
        }
    }

    #[test]
    fn only_statements_that_need_text_are_not_prepared() {
        let mut all = with(vec![decimal(), Statement::plain("SELECT 1")]);
        all.mode = Some(Mode::Text);
        rolled_back(&mut all, Mode::Prepared);
        assert_eq!(all.mode, None, "each statement says it");
        let statements = &all.script.roles[0].ops[0].statements;
        let modes: Vec<Mode> = statements[1..3].iter().map(|s| s.mode).collect();
        assert_eq!(modes, [Mode::Text, Mode::Prepared]);
    }

    #[test]
    fn counters_go_on_from_phase_to_phase_of_a_workload() {
        let mut insert = Statement { repeat: 2, ..Statement::plain("INSERT") };
        insert.args = vec![Arg { value: Value::Sequence { first: 7 }, list: Some(3) }];
        let whole = with(vec![insert]).script;
        let mut counted = 0;
        let firsts = [(); 3].map(|()| {
            let mut script = whole.clone();
            count_on(&mut script, 10, &mut counted);
            script.roles[0].ops[0].values_mut().next().cloned()
        });
        let expected = [7, 67, 127].map(|first| Some(Value::Sequence { first }));
        assert_eq!(firsts, expected);
    }

    #[test]
    fn a_workload_commits_nothing_by_itself_where_it_is_rolled_back() {
        let own = ["BEGIN", "UPDATE t SET a = 1", "COMMIT"].map(Statement::plain);
        let mut all = with(own.to_vec());
        rolled_back(&mut all, Mode::Text);
        let statements = &all.script.roles[0].ops[0].statements;
        let told: Vec<u64> = statements.iter().map(|statement| statement.repeat).collect();
        assert_eq!(told, [1, 0, 1, 0, 1]);
    }

    #[test]
    fn text_is_what_one_protocol_gets() {
        let mut statement = Statement::plain("SELECT 1");
        statement.mode = Mode::Prepared;
        statement.mode_for = BTreeMap::from([("mysql".to_owned(), Mode::Text)]);
        let mut all = with(vec![statement]);
        assert!(sends_text(&all, "mysql"));
        assert!(!sends_text(&all, "postgres"));
        all.mode = Some(Mode::Text);
        assert!(sends_text(&all, "postgres"), "the phase says it");
    }
}
