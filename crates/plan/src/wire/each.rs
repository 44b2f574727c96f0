//! `each` of a table: one table for each value of a number; and the numbers in a table's texts.

use super::number::Whole;
use crate::source::Fault;
use model::{Parameters, schema::Table};
use std::collections::BTreeMap;

/// Tables that a file may make of one, at most.
const TABLES_MAX: usize = 64;

/// Puts the values of numbers in the places of their names.
pub(super) fn fill(table: &mut Table, parameters: &Parameters) {
    for (name, value) in parameters {
        put(table, name, *value);
    }
}

/// The table, or one for each value of the number that `each` names.
pub(super) fn tables(
    table: Table,
    each: BTreeMap<String, Vec<Whole<i64>>>,
) -> Result<Vec<Table>, Fault> {
    let mut numbers = each.into_iter();
    let Some((name, values)) = numbers.next() else { return Ok(vec![table]) };
    if numbers.next().is_some() {
        return Err(Fault::invalid("a table has `each` of one number; write more `[[table]]`"));
    }
    let mark = mark(&name);
    if !table.name.contains(&mark) {
        let reason = format!("with `each` the name of the table needs `{mark}`");
        return Err(Fault::invalid(reason));
    }
    let mut values: Vec<i64> = values.into_iter().map(|value| value.0).collect();
    values.sort_unstable();
    values.dedup();
    if values.is_empty() || values.len() > TABLES_MAX {
        let reason = format!("`{name}` has {} values; give 1 to {TABLES_MAX}", values.len());
        return Err(Fault::invalid(reason));
    }
    let one = |value: i64| {
        let mut table = table.clone();
        table.name = table.name.replace(&mark, &value.to_string());
        put(&mut table, &name, value);
        table
    };
    Ok(values.into_iter().map(one).collect())
}

fn mark(name: &str) -> String {
    format!("{{{name}}}")
}

/// Puts a number in the places of its name in the statements of a table. `{rows}` and `{n}` are
/// those of the load.
fn put(table: &mut Table, name: &str, value: i64) {
    if ["rows", "n", "table", "engine"].contains(&name) {
        return;
    }
    let (mark, value) = (mark(name), value.to_string());
    let lists = [&mut table.indexes, &mut table.finish, &mut table.warm];
    let lists = lists.into_iter().flat_map(|by_dialect| by_dialect.values_mut().flatten());
    for text in table.create.values_mut().chain(lists) {
        if text.contains(&mark) {
            *text = text.replace(&mark, &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Table {
        let texts = |text: &str| BTreeMap::from([("any".to_owned(), vec![text.to_owned()])]);
        Table {
            name: name.to_owned(),
            copies: 1,
            rows: 1,
            create: BTreeMap::from([("any".to_owned(), "CREATE {table} v({size})".to_owned())]),
            columns: Vec::new(),
            coded: None,
            indexes: texts("INDEX i{m} ON {table} M={m} {rows}"),
            finish: texts("ANALYZE {table}"),
            warm: texts("SELECT {size}"),
        }
    }

    fn each(name: &str, values: &[i64]) -> BTreeMap<String, Vec<Whole<i64>>> {
        BTreeMap::from([(name.to_owned(), values.iter().map(|value| Whole(*value)).collect())])
    }

    #[test]
    fn a_table_for_each_value_has_it_in_its_statements() {
        let parameters = Parameters::from([("size".to_owned(), 64), ("rows".to_owned(), 9)]);
        let mut one = table("items_m{m}");
        fill(&mut one, &parameters);
        assert_eq!(one.create["any"], "CREATE {table} v(64)");
        assert_eq!(one.warm["any"], ["SELECT 64"]);
        let all = tables(one, each("m", &[16, 6, 6])).unwrap();
        let names: Vec<&str> = all.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["items_m6", "items_m16"]);
        assert_eq!(all[1].indexes["any"], ["INDEX i16 ON {table} M=16 {rows}"]);
    }

    #[test]
    fn a_name_without_the_number_and_no_values_are_refused() {
        assert!(tables(table("items"), each("m", &[6])).is_err());
        assert!(tables(table("items_m{m}"), each("m", &[])).is_err());
        assert_eq!(tables(table("items"), BTreeMap::new()).unwrap().len(), 1);
    }
}
