//! `[table.partitions]`: the parts of a table, written into its CREATE TABLE.

use super::value::Formula;
use crate::{
    error::{Error, Location},
    source::{Fault, Under},
    suggest,
};
use model::Parameters;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What `{partitions}` in a CREATE TABLE stands for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WirePartitions {
    count: Formula,
    rows: Formula,
    #[serde(flatten)]
    dialects: BTreeMap<String, WireDialect>,
}

/// How a dialect writes partitions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireDialect {
    clause: String,
    part: String,
    last: String,
}

/// The mark in a CREATE TABLE.
const MARK: &str = "{partitions}";
/// Where a clause has its parts; else they are statements of their own.
const PARTS: &str = "{parts}";
/// What MySQL can have, and far beyond use.
const COUNT_MAX: i64 = 8192;

/// The texts of `create` with the partitions that `values` ask for; with none, without the mark. A
/// dialect that cannot have them is left out where there are any, so that nothing is measured that
/// was not asked for.
pub(super) fn expand(
    wire: Option<WirePartitions>,
    create: BTreeMap<String, String>,
    values: &Parameters,
) -> Result<BTreeMap<String, String>, Fault> {
    let Some(wire) = wire else { return Ok(create) };
    for dialect in wire.dialects.keys() {
        let Some(text) = create.get(dialect) else {
            let names = create.keys().map(String::as_str);
            let (what, hint) = ("dialect", suggest::hint(dialect, names));
            let (place, name) = (Location::default(), dialect.clone());
            return Err(Error::UnknownName { place, what, name, hint }.into()).under(dialect);
        };
        if !text.contains(MARK) {
            let reason =
                format!("`create.{dialect}` has no `{MARK}`; add it where the clause goes");
            return Err(Fault::invalid(reason)).under(dialect);
        }
    }
    let count = value(wire.count, values).under("count")?;
    let rows = value(wire.rows, values).under("rows")?;
    if !(0..=COUNT_MAX).contains(&count) {
        let reason = format!("{count} partitions; 0 to {COUNT_MAX} are possible");
        return Err(Fault::invalid(reason)).under("count");
    }
    if count > 0 && (rows < 1 || count.checked_mul(rows).is_none()) {
        let reason = format!("{count} partitions of {rows} rows; give at least 1 row");
        return Err(Fault::invalid(reason)).under("rows");
    }
    let text = |(dialect, text): (String, String)| {
        let text = match (wire.dialects.get(&dialect), count) {
            (_, 0) => text.replace(MARK, "").trim_end().to_owned(),
            (Some(wire), _) => wire.text(&text, count, rows),
            (None, _) => return None,
        };
        Some((dialect, text))
    };
    Ok(create.into_iter().filter_map(text).collect())
}

fn value(formula: Formula, values: &Parameters) -> Result<i64, Fault> {
    let expression = formula.check(values)?;
    expression
        .evaluate(values)
        .map_err(|source| Error::Expression { place: Location::default(), source }.into())
}

impl WireDialect {
    fn text(&self, create: &str, count: i64, rows: i64) -> String {
        let part = |part: i64| {
            let text = if part + 1 == count { &self.last } else { &self.part };
            text.replace("{part}", &part.to_string())
                .replace("{from}", &(part * rows).to_string())
                .replace("{to}", &((part + 1) * rows).to_string())
        };
        let parts: Vec<String> = (0..count).map(part).collect();
        if self.clause.contains(PARTS) {
            return create.replace(MARK, &self.clause.replace(PARTS, &parts.join(", ")));
        }
        let create = create.replace(MARK, &self.clause);
        [create].into_iter().chain(parts).collect::<Vec<_>>().join(";\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
count = "partitions"
rows = "rows / partitions"
[mysql]
clause = "PARTITION BY RANGE (id) ({parts})"
part = "PARTITION p{part} VALUES LESS THAN ({to})"
last = "PARTITION p{part} VALUES LESS THAN MAXVALUE"
[postgres]
clause = "PARTITION BY RANGE (id)"
part = "CREATE TABLE {table}_p{part} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({to})"
last = "CREATE TABLE {table}_p{part} PARTITION OF {table} FOR VALUES FROM ({from}) TO (MAXVALUE)"
"#;

    fn expanded(partitions: i64) -> Result<BTreeMap<String, String>, Fault> {
        let wire: WirePartitions = toml::from_str(TEXT).unwrap();
        let create = ["mysql", "postgres", "sqlite"]
            .map(|name| (name.to_owned(), "CREATE TABLE {table} (id INT) {partitions}".to_owned()));
        let values = [("partitions", partitions), ("rows", 100)];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        expand(Some(wire), BTreeMap::from(create), &Parameters::from(values))
    }

    #[test]
    fn parts_are_written_as_the_dialect_writes_them() {
        let texts = expanded(2).unwrap();
        let mysql = "CREATE TABLE {table} (id INT) PARTITION BY RANGE (id) \
                     (PARTITION p0 VALUES LESS THAN (50), PARTITION p1 VALUES LESS THAN MAXVALUE)";
        assert_eq!(texts["mysql"], mysql);
        let postgres = "CREATE TABLE {table} (id INT) PARTITION BY RANGE (id);\n\
                        CREATE TABLE {table}_p0 PARTITION OF {table} FOR VALUES FROM (0) TO (50);\n\
                        CREATE TABLE {table}_p1 PARTITION OF {table} \
                        FOR VALUES FROM (50) TO (MAXVALUE)";
        assert_eq!(texts["postgres"], postgres);
        assert!(!texts.contains_key("sqlite"), "it has no partitions");
    }

    #[test]
    fn without_partitions_the_mark_goes() {
        let wire: WirePartitions =
            toml::from_str(&TEXT.replace("rows / partitions", "rows")).unwrap();
        let text = "CREATE TABLE {table} (id INT) {partitions}".to_owned();
        let create =
            BTreeMap::from([("mysql".to_owned(), text.clone()), ("postgres".to_owned(), text)]);
        let values = Parameters::from([("partitions".to_owned(), 0), ("rows".to_owned(), 1)]);
        let texts = expand(Some(wire), create, &values).unwrap();
        assert_eq!(texts["mysql"], "CREATE TABLE {table} (id INT)");
    }

    #[test]
    fn impossible_partitions_are_refused() {
        let message = |partitions| expanded(partitions).unwrap_err().into_error().to_string();
        assert_eq!(message(-1), "-1 partitions; 0 to 8192 are possible");
        assert_eq!(message(101), "101 partitions of 0 rows; give at least 1 row");
    }
}
