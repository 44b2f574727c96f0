//! The size of ranges and lists: as many keys as the workload says, and a row for each that exists.

use super::{Case, Discrepancy, shown};
use crate::{Error, server::Instance};
use model::{
    drive::{Argument, TracedStatement},
    number::counted,
    schema::ColumnValue,
    script::Statement,
    workload::{Check, Class, PRIMARY},
};

/// The keys that one execution asked for.
enum Keys {
    List(Vec<i64>),
    Interval(i64, i64),
}

/// The first statement that asks for another number of keys, or gets other rows than there are
/// distinct ids.
pub(super) fn check(
    instance: &mut Instance,
    case: &Case<'_>,
    told: &[TracedStatement],
) -> Result<Option<Discrepancy>, Error> {
    for one in told {
        let Some(statement) = case.statement(one.origin) else { continue };
        let Some(wanted) = statement.expect.keys else { continue };
        let Some(keys) = keys(statement, &one.arguments) else {
            let text = format!("`{}` has neither a list nor two ends of a range", shown(one));
            return Ok(Some(case.discrepancy(Some(Check::Keys), text)));
        };
        let asked = match &keys {
            Keys::List(keys) => keys.len() as i64,
            Keys::Interval(low, high) => high.saturating_sub(*low).saturating_add(1),
        };
        if asked != wanted {
            let asked = counted(asked, "key");
            let text = format!("`{}` asks for {asked} instead of {wanted}", shown(one));
            return Ok(Some(case.discrepancy(Some(Check::Keys), text)));
        }
        // Of equal values DISTINCT returns one, and updates of several rows make values equal.
        let merges = statement.sql.to_ascii_uppercase().contains("DISTINCT");
        let wrong = |ids: &u64| if merges { one.rows > *ids } else { one.rows != *ids };
        let distinct = distinct_ids(instance, case, one, statement, &keys)?;
        if let Some(distinct) = distinct.filter(wrong) {
            let text = format!(
                "`{}` returned {}, but asked for {} that exist",
                shown(one),
                counted(one.rows, "row"),
                counted(distinct, "distinct id")
            );
            return Ok(Some(case.discrepancy(Some(Check::Keys), text)));
        }
    }
    Ok(None)
}

/// The values of the list, or the last two integers as the ends of an interval.
fn keys(statement: &Statement, values: &[Argument]) -> Option<Keys> {
    let integer = |value: &Argument| match value {
        Argument::Integer(value) => Some(*value),
        Argument::Text(_) => None,
    };
    let mut start = 0_usize;
    for arg in &statement.args {
        let Some(list) = arg.list else {
            start += 1;
            continue;
        };
        let count = usize::try_from(list).ok()?;
        let values = values.get(start..start.checked_add(count)?)?;
        return Some(Keys::List(values.iter().filter_map(integer).collect()));
    }
    let ends: Vec<i64> = values.iter().filter_map(integer).collect();
    match ends.as_slice() {
        [.., low, high] => Some(Keys::Interval(*low, *high)),
        _ => None,
    }
}

/// Rows of the table with these ids, where the statement returns them one by one.
fn distinct_ids(
    instance: &mut Instance,
    case: &Case<'_>,
    one: &TracedStatement,
    statement: &Statement,
    keys: &Keys,
) -> Result<Option<u64>, Error> {
    let several = statement.expect.rows.map(|rows| rows.high);
    let by_id = statement.index == [PRIMARY] && statement.class == Class::Read;
    let (Some(origin), Some(2..), true) = (one.origin, several, by_id) else { return Ok(None) };
    let Some(table) = case.schema().tables.first() else { return Ok(None) };
    let numbered = |value: &ColumnValue| *value == ColumnValue::RowNumber;
    let Some(id) = table.columns.iter().find(|column| numbered(&column.value)) else {
        return Ok(None);
    };
    let (id, name) = (&id.name, table.name.replace("{n}", &origin.copy.to_string()));
    let condition = match keys {
        Keys::List(keys) => {
            let keys: Vec<String> = keys.iter().map(i64::to_string).collect();
            format!("{id} IN ({})", keys.join(", "))
        }
        Keys::Interval(low, high) => format!("{id} BETWEEN {low} AND {high}"),
    };
    let sql = format!("SELECT COUNT(DISTINCT {id}) FROM {name} WHERE {condition}");
    let rows = instance.driver.query(&sql)?;
    let count = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    Ok(count)
}
