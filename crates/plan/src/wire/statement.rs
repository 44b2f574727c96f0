//! `[[op.statement]]`: one SQL statement; an operation with only one has its keys itself.

use super::{
    generator::WireGenerator,
    numbers::{Numbers, VALUES_MAX},
    sql,
    value::{Formula, Interval, OneOrMany, Ordered},
};
use crate::{
    error::{Error, Location},
    source::{Fault, Source, Under},
    suggest,
};
use model::{
    number::counted,
    script::{Advance, Bounds, Draw, Effect, Expect, Statement, Value},
    sql::SqlError,
    workload::{Class, Mode, TableChoice},
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;
use values::generator::Sampler;

/// Values in all rows of one statement, at most.
const TEXT_VALUES_MAX: i64 = 1_000_000;
/// Executions in a row, at most.
const REPEAT_MAX: i64 = 1_000_000;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireStatement {
    #[schemars(with = "String")]
    pub(super) sql: Spanned<String>,
    #[serde(default)]
    pub(super) sql_for: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) args: Vec<WireGenerator>,
    pub(super) rows_per_statement: Option<Formula>,
    pub(super) repeat: Option<Formula>,
    #[serde(default)]
    pub(super) in_turn: bool,
    #[serde(default)]
    pub(super) draw: Ordered<WireGenerator>,
    #[serde(default)]
    pub(super) row_draw: Ordered<WireGenerator>,
    pub(super) table: Option<TableChoice>,
    pub(super) class: Option<Class>,
    pub(super) mode: Option<Mode>,
    #[serde(default)]
    pub(super) mode_for: BTreeMap<String, Mode>,
    pub(super) expect: Option<WireExpect>,
    pub(super) capture: Option<String>,
    pub(super) index: Option<OneOrMany>,
    pub(super) every: Option<Formula>,
    pub(super) timed: Option<bool>,
    pub(super) advance: Option<WireAdvance>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireAdvance {
    name: String,
    by: Formula,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireExpect {
    rows: Option<Interval>,
    changed: Option<Interval>,
    keys: Option<Formula>,
    reads: Option<Formula>,
}

impl WireStatement {
    pub(super) fn is_empty(&self) -> bool {
        self.sql.get_ref().is_empty()
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

    pub(super) fn check(
        self,
        numbers: Numbers<'_>,
        source: &Source,
        names: &mut BTreeSet<String>,
    ) -> Result<Statement, Fault> {
        self.keys_fit()?;
        let own_draws = draws(self.draw, numbers, names).under("draw")?;
        names.extend(own_draws.iter().map(|draw| draw.name.clone()));
        let table = if self.in_turn { TableChoice::Same } else { TableChoice::Fresh };
        let row_draws = draws(self.row_draw, numbers, names).under("row_draw")?;
        // Other statements have other rows.
        let names = &mut names.clone();
        names.extend(row_draws.iter().map(|draw| draw.name.clone()));
        let mut args = Vec::new();
        for (index, arg) in self.args.into_iter().enumerate() {
            let arg = arg.argument(numbers).and_then(|arg| {
                refers(&arg.value, names)?;
                Ok(arg)
            });
            args.push(arg.under(index).under("args")?);
        }
        let line = u32::try_from(source.line(self.sql.span().start)).ok();
        let sql = self.sql.into_inner();
        let rows = self.rows_per_statement.as_ref();
        let rows_per_statement = numbers.optional("rows_per_statement", rows, 1..=VALUES_MAX)?;
        let repeat = numbers.optional("repeat", self.repeat.as_ref(), 0..=REPEAT_MAX)?;
        let expect = expect(self.expect.as_ref(), numbers).under("expect")?;
        let rows = rows_per_statement.map(u64::from);
        let rows = rows.or(expect.changed.map(|changed| changed.high)).unwrap_or(1);
        let texts = std::iter::once(&sql).chain(self.sql_for.values());
        let class = self.class.unwrap_or_else(|| class_of_all(texts.clone()));
        let statement = Statement {
            effect: effect_of(texts, class, rows),
            class,
            rows_per_statement,
            repeat: repeat.unwrap_or(1),
            sql,
            sql_for: self.sql_for,
            args,
            draws: own_draws,
            row_draws,
            in_turn: self.in_turn,
            table: self.table.unwrap_or(table),
            mode: self.mode.unwrap_or(Mode::Prepared),
            mode_for: self.mode_for,
            expect,
            capture: self.capture,
            index: self.index.map(|OneOrMany(names)| names).unwrap_or_default(),
            every: numbers.optional("every", self.every.as_ref(), 1..=i64::MAX)?,
            untimed: self.timed == Some(false),
            advance: advance(self.advance, numbers).under("advance")?,
            line,
        };
        marks_fit(&statement)?;
        if numbers.are_checked() {
            size_fits(&statement)?;
        }
        Ok(statement)
    }

    /// Some keys go together with others, or instead of them.
    fn keys_fit(&self) -> Result<(), Fault> {
        if self.sql.get_ref().trim().is_empty() {
            return Err(Fault::invalid("the statement has no `sql`"));
        }
        if !self.row_draw.0.is_empty() && self.rows_per_statement.is_none() {
            let reason = "without `rows_per_statement` there is one row: write `draw`";
            return Err(Fault::invalid(reason)).under("row_draw");
        }
        if self.timed == Some(false) && self.every.is_none() {
            let reason = "only statements with `every` can be left out of the service time";
            return Err(Fault::invalid(reason)).under("timed");
        }
        let is_number = |name: &String| name.parse::<f64>().is_ok();
        if self.index.iter().any(|OneOrMany(names)| names.iter().any(is_number)) {
            let reason = "an index has a name, such as `\"primary\"`, and no number";
            return Err(Fault::invalid(reason)).under("index");
        }
        for (key, given) in [("repeat", self.repeat.is_some()), ("table", self.table.is_some())] {
            if self.in_turn && given {
                let reason =
                    format!("with `in_turn`, the previous statement sets `{key}`; leave it out");
                return Err(Fault::invalid(reason)).under(key);
            }
        }
        Ok(())
    }
}

/// Refuses statements with more values than can be sent.
fn size_fits(statement: &Statement) -> Result<(), Fault> {
    let lists = statement.args.iter().map(|arg| i64::from(arg.list.unwrap_or(1)));
    let values: i64 = lists.sum();
    let all = values.saturating_mul(i64::from(statement.rows_per_statement.unwrap_or(1)));
    if values <= VALUES_MAX && all <= TEXT_VALUES_MAX {
        return Ok(());
    }
    let reason = format!(
        "the statement has {all} values; at most {VALUES_MAX} in a row and {TEXT_VALUES_MAX} in \
         all rows are possible"
    );
    Err(Fault::invalid(reason)).under("args")
}

/// A statement that takes turns with the one before it is repeated as often.
pub(super) fn in_turn(
    mut statement: Statement,
    before: Option<&Statement>,
) -> Result<Statement, Fault> {
    match before {
        _ if !statement.in_turn => {}
        Some(before) => statement.repeat = before.repeat,
        None => {
            let reason = "`in_turn` needs a statement before it";
            return Err(Fault::invalid(reason)).under("in_turn");
        }
    }
    Ok(statement)
}

/// Dialects that differ in their comments and quotes.
pub(super) const DIALECTS: [&str; 3] = ["mysql", "postgres", "sqlite"];

/// Every text of a statement asks for the arguments that `args` gives.
fn marks_fit(statement: &Statement) -> Result<(), Fault> {
    for (dialect, text) in &statement.sql_for {
        check_marks(dialect, text, statement).under(dialect).under("sql_for")?;
    }
    // Dialects differ in what is a comment. Which of them read this text is known with the servers,
    // so it is wrong here only if it is wrong for all.
    let mut first = Ok(());
    for dialect in DIALECTS {
        match check_marks(dialect, &statement.sql, statement) {
            Ok(()) => return Ok(()),
            wrong if first.is_ok() => first = wrong,
            _ => {}
        }
    }
    first.under("sql")
}

fn check_marks(dialect: &str, text: &str, statement: &Statement) -> Result<(), Fault> {
    let marks = sql::marks(text, dialect).map_err(|error| match error {
        SqlError::UnknownMark(name) => {
            let hint = suggest::hint(&name, ["table", "n", "list", "rows"]);
            Fault::from(Error::UnknownName { place: Location::default(), what: "mark", name, hint })
        }
        other => Fault::invalid(other.to_string()),
    })?;
    // PostgreSQL executes it all the same, and measures nothing.
    if behind_comments(text).trim_matches([';', ' ', '\t', '\r', '\n']).is_empty() {
        return Err(Fault::invalid("there is nothing to execute in it"));
    }
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
        let (wanted, given) = (counted(wanted, "placeholder"), counted(given, "argument"));
        let reason = format!("the SQL has {wanted} (`?` on every server), and `args` has {given}");
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

/// Named values in their order; `before` has the names of those that they may refer to as well.
pub(super) fn draws(
    wire: Ordered<WireGenerator>,
    numbers: Numbers<'_>,
    before: &BTreeSet<String>,
) -> Result<Vec<Draw>, Fault> {
    let mut known = before.clone();
    let mut draws: Vec<Draw> = Vec::new();
    for (name, value) in wire.0 {
        let value = value.argument(numbers).under(&name)?;
        if value.list.is_some() {
            let reason = "`list` belongs to an argument of a statement only";
            return Err(Fault::invalid(reason)).under(&name);
        }
        let value = value.value;
        refers(&value, &known).under(&name)?;
        if varies_in_length(&value) {
            let reason = "a time, a filler or a decimal is made where it is used; write it there";
            return Err(Fault::invalid(reason)).under(&name);
        }
        known.insert(name.clone());
        draws.push(Draw { name, value });
    }
    Ok(draws)
}

/// Whether a value is text of a length that varies, which no connection keeps.
fn varies_in_length(value: &Value) -> bool {
    match value {
        Value::Now | Value::Decimal { .. } => true,
        Value::Drawn(generator) => {
            matches!(generator.sampler(0), Sampler::Filler(_) | Sampler::Texts(_))
        }
        _ => false,
    }
}

/// A value refers only to draws that come before it.
fn refers(value: &Value, draws: &BTreeSet<String>) -> Result<(), Fault> {
    let named = match value {
        Value::Draw { name, .. } => std::slice::from_ref(name),
        Value::Decimal { sum, .. } => sum,
        _ => &[],
    };
    let Some(name) = named.iter().find(|name| !draws.contains(*name)) else { return Ok(()) };
    let hint = suggest::hint(name, draws.iter().map(String::as_str));
    let (place, what, name) = (Location::default(), "draw", name.clone());
    Err(Error::UnknownName { place, what, name, hint }.into())
}

fn advance(wire: Option<WireAdvance>, numbers: Numbers<'_>) -> Result<Option<Advance>, Fault> {
    let Some(WireAdvance { name, by }) = wire else { return Ok(None) };
    Ok(Some(Advance { name, by: numbers.value(&by).under("by")? }))
}

fn expect(wire: Option<&WireExpect>, numbers: Numbers<'_>) -> Result<Expect, Fault> {
    let Some(wire) = wire else { return Ok(Expect::default()) };
    let bounds = |interval: &Interval| {
        let (low, high) = numbers.interval("expect", [&interval.low, &interval.high])?;
        numbers.within("`expect`", &interval.high, 0..=i64::MAX)?;
        Ok(Bounds { low: low.max(0) as u64, high: high.max(0) as u64 })
    };
    let rows = wire.rows.as_ref().map(bounds).transpose().under("rows")?;
    let changed = wire.changed.as_ref().map(bounds).transpose().under("changed")?;
    let within = |what: &str, count: &Option<Formula>| {
        count.as_ref().map(|count| numbers.within(what, count, 0..=i64::MAX)).transpose()
    };
    let keys = within("`expect.keys`", &wire.keys).under("keys")?;
    let reads = within("`expect.reads`", &wire.reads).under("reads")?;
    Ok(Expect { rows, changed, keys, reads })
}

/// What a statement does, by the verb of its common text; `rows` are those that it adds, at most.
fn effect_of<'a>(
    mut texts: impl Iterator<Item = &'a String> + Clone,
    class: Class,
    rows: u64,
) -> Effect {
    let merges = |text: &String| {
        let upper = text.to_ascii_uppercase();
        let words = upper.split_whitespace().collect::<Vec<&str>>().join(" ");
        let merging = ["ON CONFLICT", "ON DUPLICATE", " IGNORE ", " OR REPLACE "];
        merging.iter().any(|one| words.contains(one))
    };
    let merges = texts.clone().any(merges);
    match verb(texts.next().map_or("", String::as_str)).as_str() {
        "INSERT" if !merges => Effect::Insert(rows),
        "INSERT" | "REPLACE" => Effect::Merge(rows),
        // What a function that it calls does nobody knows.
        "SELECT" if class != Class::Write => Effect::Read,
        "UPDATE" => Effect::Update,
        "DELETE" => Effect::Delete,
        _ => Effect::Other,
    }
}

/// The first word of a statement, behind the comments before it.
fn verb(sql: &str) -> String {
    let letters = |c: &char| c.is_ascii_alphabetic();
    let word: String = behind_comments(sql).chars().take_while(letters).collect();
    word.to_ascii_uppercase()
}

/// A statement from its first word on. No statement of any dialect begins as a comment of another
/// one does; what is in `/*!` is executed.
fn behind_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let block = rest.strip_prefix("/*").filter(|comment| !comment.starts_with('!'));
        let (comment, end) = match block {
            Some(comment) => (comment, "*/"),
            None if rest.starts_with("--") || rest.starts_with('#') => (rest, "\n"),
            None => return rest,
        };
        rest = comment.split_once(end).map_or("", |(_, behind)| behind.trim_start());
    }
}

/// Whether a part of a statement with `WITH` changes rows. `FOR UPDATE` only locks them.
fn changes_rows(sql: &str) -> bool {
    let upper = sql.to_ascii_uppercase();
    let words = upper.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    // As in `DELETE t FROM t JOIN u`, which MySQL and MariaDB have.
    let deletes = words.windows(3).any(|three| matches!(three, ["DELETE", _, "FROM"]));
    let changes = words.windows(2).any(|pair| match pair {
        ["INSERT" | "MERGE" | "REPLACE" | "IGNORE", "INTO"] => true,
        ["INSERT", "OR"] | ["DELETE", "FROM"] => true,
        [before, "UPDATE"] => !["FOR", "KEY"].contains(before),
        _ => false,
    });
    deletes || changes
}

/// The class of a statement: that of its common text, which comes first, unless a server is to
/// write by its own.
fn class_of_all<'a>(texts: impl Iterator<Item = &'a String>) -> Class {
    let mut classes = texts.map(|text| class_of(text));
    let common = classes.next().unwrap_or_default();
    if classes.any(|class| class == Class::Write) { Class::Write } else { common }
}

/// What the first word of a statement says about its class. What a procedure or a block of code
/// does nobody knows, so that it may write.
fn class_of(sql: &str) -> Class {
    match verb(sql).as_str() {
        "WITH" if changes_rows(sql) => Class::Write,
        "SELECT" | "WITH" | "SHOW" | "VALUES" | "TABLE" | "EXPLAIN" => Class::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" => Class::Write,
        "CALL" | "DO" | "TRUNCATE" => Class::Write,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_behind_comments_says_the_class() {
        let check = |sql: &str, expected: Class| assert_eq!(class_of(sql), expected, "{sql}");
        check("select 1", Class::Read);
        check("SELECT(1)", Class::Read);
        check("  UPDATE t SET a = 1", Class::Write);
        check("/* a */ -- b\n# c\n DELETE FROM t", Class::Write);
        check("/*/ no end yet */ SELECT 1", Class::Read);
        for other in ["BEGIN", "", "/* open", "-- only", "/*!50000 SELECT */ 1"] {
            check(other, Class::Other);
        }
        let text = "/* hint */ INSERT INTO t VALUES (1)".to_owned();
        let effect = effect_of(std::iter::once(&text), Class::Write, 1);
        assert_eq!(effect, Effect::Insert(1));
        for merging in ["INSERT IGNORE\nINTO t", "INSERT OR REPLACE INTO t", "REPLACE INTO t"] {
            let text = format!("{merging} VALUES (1)");
            let effect = effect_of(std::iter::once(&text), Class::Write, 1);
            assert_eq!(effect, Effect::Merge(1), "{text}");
        }
    }

    #[test]
    fn what_calls_a_procedure_or_a_function_that_writes_may_do_anything() {
        let check = |texts: [&str; 2], expected: (Class, Effect)| {
            let texts = texts.map(str::to_owned);
            let class = class_of_all(texts.iter());
            assert_eq!((class, effect_of(texts.iter(), class, 1)), expected, "{texts:?}");
        };
        check(["CALL p(?)", "SELECT p(?)"], (Class::Write, Effect::Other));
        check(["SELECT p(?)", "CALL p(?)"], (Class::Write, Effect::Other));
        check(["SELECT 1", "SELECT 2"], (Class::Read, Effect::Read));
        check(["BEGIN", "START TRANSACTION"], (Class::Other, Effect::Other));
        check(["INSERT INTO t VALUES (1)", "SELECT p(1)"], (Class::Write, Effect::Insert(1)));
    }

    #[test]
    fn a_statement_with_with_reads_unless_a_part_of_it_changes_rows() {
        let check = |sql: &str, expected: Class| assert_eq!(class_of(sql), expected, "{sql}");
        check("WITH a AS (SELECT 1) SELECT updated FROM a", Class::Read);
        check("WITH a AS (SELECT 1 FOR NO KEY UPDATE) SELECT 1 FOR UPDATE", Class::Read);
        check("with a as (select 1 for update) update t set b = 1", Class::Write);
        check("WITH a AS (DELETE FROM t RETURNING b) SELECT b FROM a", Class::Write);
        check("WITH a AS (SELECT 1) INSERT INTO t SELECT 1", Class::Write);
        check("WITH a AS (SELECT 1) INSERT OR IGNORE INTO t SELECT 1", Class::Write);
        check("WITH a AS (SELECT 1) INSERT OR ABORT INTO t SELECT 1", Class::Write);
        check("WITH a AS (SELECT 1) DELETE t FROM t JOIN a", Class::Write);
    }
}
