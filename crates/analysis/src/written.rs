//! Bytes of the rows that a workload writes, for write amplification.
//!
//! A row counts in full, as large as its values are, whether it is inserted or one of its columns
//! is updated: so engines that write whole rows, pages or changes are divided by the same number.

use model::{
    drive::{OpReport, StretchReport},
    plan::Plan,
    schema::{ColumnValue, Table},
    script::{Effect, Op, Script, Value},
};
use std::collections::BTreeMap;
use values::generator::Bytes;

/// What the slices of a phase do not say of the rows that they wrote.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Written {
    /// Bytes of a row.
    row_bytes: f64,
    /// Share of the changed rows that are there afterwards, by operation: those that are deleted
    /// are not written.
    shares: BTreeMap<String, f64>,
}

/// Bytes of what only the server knows, and of times.
const UNKNOWN: f64 = 8.0;

impl Written {
    /// None where nothing is written, or the rows are not described: transactions in Rust, scripts,
    /// and schemas of several tables.
    pub(crate) fn of(plan: &Plan, script: &Script) -> Option<Self> {
        if script.coded.is_some() || script.lua.is_some() {
            return None;
        }
        let schema = plan.schemas.iter().find(|schema| schema.name == script.schema)?;
        let [table] = schema.tables.as_slice() else { return None };
        let shares = script.ops().filter_map(|op| Some((op.name.clone(), share(op)?)));
        let shares: BTreeMap<String, f64> = shares.collect();
        let row_bytes = row_bytes(table, script).filter(|bytes| *bytes > 0.0)?;
        shares.values().any(|share| *share > 0.0).then_some(Self { row_bytes, shares })
    }

    /// Bytes of the rows that a stretch inserted or updated.
    pub(crate) fn bytes(&self, work: &StretchReport) -> f64 {
        let of = |op: &OpReport| {
            op.rows_changed as f64 * self.shares.get(&op.name).copied().unwrap_or_default()
        };
        work.ops.iter().map(of).sum::<f64>() * self.row_bytes
    }
}

/// Share of the rows that an operation changes that it inserts or updates, by its statements; none
/// where it changes none.
fn share(op: &Op) -> Option<f64> {
    let all = op.rows_by(|_| true);
    let kept = op.rows_by(|effect| effect != Effect::Delete);
    (all > 0).then(|| kept as f64 / all as f64)
}

/// Bytes of a row by the table's columns; where nothing is loaded, by what its insert sends.
fn row_bytes(table: &Table, script: &Script) -> Option<f64> {
    if let Some(coded) = &table.coded {
        return Some(coded.bytes as f64);
    }
    if !table.columns.is_empty() {
        let column = |value: &ColumnValue| match value {
            ColumnValue::RowNumber => integer(table.rows as i64),
            ColumnValue::Counted { first } => integer(first.saturating_add(table.rows as i64)),
            ColumnValue::Drawn(generator) => generator.bytes().mean,
        };
        return Some(table.columns.iter().map(|one| column(&one.value)).sum());
    }
    let op = script.ops().find(|op| op.inserts())?;
    let insert = op.statements.iter().find(|one| matches!(one.effect, Effect::Insert(_)))?;
    let draws: Vec<_> =
        [&op.draws, &insert.draws, &insert.row_draws].into_iter().flatten().collect();
    let draws: Vec<(&str, &Value)> =
        draws.into_iter().map(|draw| (draw.name.as_str(), &draw.value)).collect();
    insert.args.iter().map(|arg| bytes(&arg.value, &draws)).sum()
}

fn integer(value: i64) -> f64 {
    Bytes::of_integers(value, value).mean
}

/// Bytes of a value, on average.
fn bytes(value: &Value, draws: &[(&str, &Value)]) -> Option<f64> {
    Some(match value {
        Value::Drawn(generator) => generator.bytes().mean,
        Value::Consecutive { first } | Value::Sequence { first } => integer(*first),
        Value::Decimal { .. } | Value::Now | Value::Between { .. } | Value::Captured { .. } => {
            UNKNOWN
        }
        Value::Draw { name, .. } => {
            let (_, value) = draws.iter().find(|(known, _)| known == name)?;
            // A draw is made before its use, so this ends.
            bytes(value, &[])?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PhaseFacts;
    use model::{
        reading::{Reading, Scope},
        record::SliceRecord,
        schema::Column,
        script::{Arg, Bounds, Draw, Expect, Role, Statement},
        workload::Class,
    };
    use values::generator::{Filler, Generator, Template, Uniform};

    fn template(letters: usize) -> Generator {
        Template { template: "#".repeat(letters) }.into()
    }

    fn column(name: &str, value: ColumnValue) -> Column {
        Column { name: name.into(), value }
    }

    fn table(columns: Vec<Column>) -> Table {
        Table { name: "t{n}".into(), copies: 2, rows: 10, columns, ..Table::default() }
    }

    fn writing(effect: Effect, repeat: u64) -> Statement {
        Statement { class: Class::Write, effect, repeat, ..Statement::plain("x") }
    }

    fn op(name: &str, statements: Vec<Statement>) -> Op {
        Op::plain(name, statements)
    }

    fn script(ops: Vec<Op>) -> Script {
        Script {
            workload: "w".into(),
            schema: "s".into(),
            roles: vec![Role { ops, ..Role::default() }],
            ..Script::default()
        }
    }

    #[test]
    fn rows_are_as_large_as_their_loaded_values() {
        let large = Generator::from(Uniform { low: 1, high: 1 << 40 });
        let filler = Filler { low: 10, high: 20, random_percent: 9 };
        let columns = vec![
            column("id", ColumnValue::RowNumber),
            column("k", ColumnValue::Drawn(large)),
            column("c", ColumnValue::Drawn(template(119))),
            column("f", ColumnValue::Drawn(filler.into())),
        ];
        assert_eq!(row_bytes(&table(columns), &script(Vec::new())), Some(4.0 + 8.0 + 119.0 + 15.0));
    }

    #[test]
    fn rows_of_an_empty_table_are_as_large_as_what_is_inserted() {
        let mut insert = writing(Effect::Insert(5), 1);
        insert.row_draws = vec![Draw { name: "text".into(), value: template(30).into() }];
        let values = [Value::Now, Value::Draw { name: "text".into(), plus: 0 }];
        insert.args = values.map(|value| Arg { value, list: None }).into();
        assert_eq!(row_bytes(&table(Vec::new()), &script(vec![op("i", vec![insert])])), Some(38.0));
        assert_eq!(row_bytes(&table(Vec::new()), &script(Vec::new())), None);
    }

    #[test]
    fn a_statement_changes_as_many_rows_as_it_has_to() {
        let changed = Some(Bounds { low: 50, high: 50 });
        let expect = Expect { changed, ..Expect::default() };
        let delete = Statement { expect, ..writing(Effect::Delete, 1) };
        let insert = Statement { rows_per_statement: Some(50), ..writing(Effect::Insert(50), 1) };
        assert_eq!(share(&op("queue", vec![delete, insert])), Some(0.5));
    }

    #[test]
    fn rows_that_are_deleted_are_not_written() {
        let ops = [
            op("both", vec![writing(Effect::Update, 3), writing(Effect::Delete, 1)]),
            op("delete", vec![writing(Effect::Delete, 1)]),
            op("read", vec![Statement::plain("SELECT 1")]),
        ];
        let shares = ops.iter().map(share).collect::<Vec<_>>();
        assert_eq!(shares, [Some(0.75), Some(0.0), None]);
        let written = Written { row_bytes: 100.0, shares: [("both".to_owned(), 0.75)].into() };
        let report =
            |name: &str| OpReport { name: name.into(), rows_changed: 8, ..Default::default() };
        let ops = vec![report("both"), report("delete")];
        let work = StretchReport { ops, ..StretchReport::default() };
        assert_eq!(written.bytes(&work), 600.0);
    }

    #[test]
    fn bytes_to_storage_are_divided_by_those_of_rows() {
        let written = Written { row_bytes: 64.0, shares: [("insert".to_owned(), 1.0)].into() };
        let facts = PhaseFacts { written: Some(written), writes: true, ..PhaseFacts::default() };
        let work = |rows_changed| {
            let op =
                OpReport { name: "insert".into(), count: 8, rows_changed, ..OpReport::default() };
            StretchReport { succeeded: 8, ops: vec![op], ..StretchReport::default() }
        };
        let reading = |counter: &str, end| {
            let (scope, counter) = (Scope::Device, counter.to_owned());
            Reading { scope, counter, start: 0.0, end }
        };
        let slice = |rows| SliceRecord {
            work: Some(work(rows)),
            readings: vec![reading("device_write_kib", 3.0)],
            drained: vec![reading("device_write_kib", 5.0)],
            ..SliceRecord::default()
        };
        let value = |slice: &SliceRecord, facts: &PhaseFacts| {
            let found = crate::derive(slice, facts);
            found.into_iter().find(|(name, _)| *name == "write_amplification").map(|(_, v)| v)
        };
        assert_eq!(value(&slice(16), &facts), Some(5.0));
        assert_eq!(value(&slice(0), &facts), None);
        assert_eq!(value(&slice(16), &PhaseFacts::default()), None);
    }
}
