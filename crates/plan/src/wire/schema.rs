//! Schema files: `catalog/schemas/*.toml`.

use super::{
    each,
    generator::WireGenerator,
    number::{self, Whole},
    numbers::{Limits, Numbers},
    partition::{self, WirePartitions},
    statement::DIALECTS,
    value::{EVERYWHERE, Formula, Ordered, WordOr, with_everywhere},
};
use crate::{
    error::{Error, Location},
    limits::{COUNT_MAX, ROWS_MAX},
    source::{Fault, Under},
    suggest,
};
use model::{
    Parameters,
    schema::{Check, CodedRows, Column, ColumnValue, Schema, Table},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use std::{collections::BTreeMap, marker::PhantomData};

/// A whole file.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireSchema {
    help: String,
    #[serde(default, deserialize_with = "number::parameters")]
    #[schemars(with = "BTreeMap<String, Whole<i64>>")]
    parameters: Parameters,
    table: Vec<WireTable>,
    #[serde(default)]
    extension: BTreeMap<String, String>,
    constraints: Option<WireConstraints>,
    #[serde(default)]
    check: Vec<WireCheck>,
}

/// Statements after those of all tables, where a formula is 1 and not 0.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireConstraints {
    when: Formula,
    add: BTreeMap<String, Vec<String>>,
}

/// A query whose answer must be 0 after every phase that writes.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireCheck {
    name: String,
    sql: String,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireTable {
    name: String,
    copies: Option<Formula>,
    #[serde(default)]
    each: BTreeMap<String, Vec<Whole<i64>>>,
    rows: Formula,
    create: BTreeMap<String, String>,
    partitions: Option<WirePartitions>,
    #[serde(default)]
    column: Ordered<WireColumn>,
    coded: Option<String>,
    row_bytes: Option<Formula>,
    #[serde(default)]
    index: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    finish: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    warm: BTreeMap<String, Vec<String>>,
}

/// `"row_number"`, or a generator.
#[derive(Debug)]
pub(super) enum WireColumn {
    RowNumber,
    Drawn(Box<WireGenerator>),
}

impl WireSchema {
    /// Names of its parameters.
    pub(crate) fn parameter_names(&self) -> Vec<String> {
        self.parameters.keys().cloned().collect()
    }

    /// The schema in numbers: `values` are those that every phase has, over the schema's own
    /// parameters; defaults where none are known yet. `name` is the file's stem.
    pub(crate) fn check(self, name: String, values: Option<&Parameters>) -> Result<Schema, Fault> {
        if let Some(name) = EVERYWHERE.into_iter().find(|name| self.parameters.contains_key(*name))
        {
            let reason = format!("every phase has a parameter `{name}`; use another name");
            return Err(Fault::invalid(reason)).under(name).under("parameters");
        }
        let mut parameters = with_everywhere(&self.parameters);
        for (name, value) in values.into_iter().flatten() {
            if let Some(old) = parameters.get_mut(name) {
                *old = *value;
            }
        }
        let limits = if values.is_some() { Limits::Checked } else { Limits::Unchecked };
        let numbers = Numbers { parameters: &parameters, limits };
        let mut tables = Vec::new();
        for (index, table) in self.table.into_iter().enumerate() {
            tables.extend(table.check(numbers, &parameters).under(index).under("table")?);
        }
        let own = |name: &String, _: &mut i64| self.parameters.contains_key(name);
        tables.iter_mut().filter_map(|t| t.coded.as_mut()).for_each(|c| c.parameters.retain(own));
        if tables.is_empty() {
            return Err(Fault::invalid("a schema needs at least one `[[table]]`"));
        }
        let rows: f64 = tables.iter().map(Table::all_rows).sum();
        if rows > ROWS_MAX as f64 {
            let reason = format!("all tables have {rows} rows; at most {ROWS_MAX} are possible");
            return Err(Fault::invalid(reason));
        }
        let constraints = match self.constraints {
            Some(constraints) => constraints.check(numbers).under("constraints")?,
            None => BTreeMap::new(),
        };
        let check = |check: WireCheck| Check { name: check.name, sql: check.sql.trim().to_owned() };
        let checks = self.check.into_iter().map(check).collect();
        let (help, extension) = (self.help, self.extension);
        Ok(Schema { name, help, tables, extension, constraints, checks, lua: None })
    }
}

impl WireConstraints {
    /// The statements, if there are to be any.
    fn check(self, numbers: Numbers<'_>) -> Result<BTreeMap<String, Vec<String>>, Fault> {
        let wanted: u8 = numbers.count("`when`", &self.when, 0..=1).under("when")?;
        Ok(if wanted == 1 { self.add } else { BTreeMap::new() })
    }
}

impl WireTable {
    /// The table, or one for each value of a number.
    fn check(mut self, numbers: Numbers<'_>, parameters: &Parameters) -> Result<Vec<Table>, Fault> {
        let each = std::mem::take(&mut self.each);
        let mut table = self.alone(numbers, parameters)?;
        each::fill(&mut table, parameters);
        each::tables(table, each).under("each")
    }

    /// Refuses statements that no server would ever execute, because nothing is called so.
    fn check_dialects(&self) -> Result<(), Fault> {
        for (key, statements) in [("finish", &self.finish), ("warm", &self.warm)] {
            let known = || DIALECTS.into_iter().chain(["any"]);
            if let Some(name) = statements.keys().find(|name| known().all(|one| one != *name)) {
                let (what, hint) = ("dialect", suggest::hint(name, known()));
                let (place, name) = (Location::default(), name.clone());
                let error = Error::UnknownName { place, what, name: name.clone(), hint };
                return Err(error.into()).under(name).under(key);
            }
        }
        // Storage engines are looked up in lower case; any may be named.
        let is_none = |name: &&String| **name != name.to_lowercase() || *name == "mariadb";
        match self.index.keys().find(is_none) {
            None => Ok(()),
            Some(name) => {
                let reason = format!(
                    "no server would use `{name}`: write `any`, a dialect (`mysql` includes \
                     MariaDB) or a storage engine in lower case, such as `rocksdb`"
                );
                Err(Fault::invalid(reason)).under(name).under("index")
            }
        }
    }

    fn alone(self, numbers: Numbers<'_>, parameters: &Parameters) -> Result<Table, Fault> {
        if self.copies.is_some() && !self.name.contains("{n}") {
            let reason = "with `copies` the name needs `{n}`, the number of the copy";
            return Err(Fault::invalid(reason)).under("name");
        }
        self.check_dialects()?;
        let count = |key: &str, formula: Option<&Formula>, most: u64| {
            let what = format!("`{key}` of the table `{}`", self.name);
            let count = |formula| numbers.count(&what, formula, 0..=most as i64).under(key);
            formula.map(count).transpose()
        };
        let copies = count("copies", self.copies.as_ref(), COUNT_MAX)?.unwrap_or(1);
        let rows = count("rows", Some(&self.rows), ROWS_MAX)?.unwrap_or(0);
        let row_bytes = count("row_bytes", self.row_bytes.as_ref(), ROWS_MAX)?;
        // Bounds such as `1..rows` have no value where there are no rows, and nobody needs it.
        let limits = if rows > 0 { numbers.limits } else { Limits::Unchecked };
        let numbers = Numbers { limits, ..numbers };
        let mut columns = Vec::new();
        for (name, column) in self.column.0 {
            let value = match column {
                WireColumn::RowNumber => ColumnValue::RowNumber,
                WireColumn::Drawn(drawn) => drawn.column(numbers).under(&name).under("column")?,
            };
            columns.push(Column { name, value });
        }
        let mut coded = coded_rows(self.coded, row_bytes, &columns)?;
        if let Some(coded) = &mut coded {
            coded.parameters.clone_from(parameters);
        }
        Ok(Table {
            rows,
            name: self.name,
            copies,
            create: partition::expand(self.partitions, self.create, parameters)
                .under("partitions")?,
            columns,
            coded,
            indexes: self.index,
            finish: self.finish,
            warm: self.warm,
        })
    }
}

/// Bytes of a row that is made in Rust, if the file does not say.
const ROW_BYTES: u64 = 100;

/// The rows that are made in Rust, for a table without columns in its file.
fn coded_rows(
    name: Option<String>,
    bytes: Option<u64>,
    columns: &[Column],
) -> Result<Option<CodedRows>, Fault> {
    match (name, columns.is_empty()) {
        (Some(_), false) => {
            let reason = "a table has `[table.column]` or `coded`, not both; remove one";
            Err(Fault::invalid(reason)).under("coded")
        }
        (None, true) => {
            let reason = "a table needs `[table.column]`, or `coded` rows";
            Err(Fault::invalid(reason)).under("column")
        }
        (None, false) => Ok(None),
        (Some(name), true) => Ok(Some(CodedRows {
            name,
            bytes: bytes.unwrap_or(ROW_BYTES),
            parameters: Parameters::new(),
            dataset: None,
        })),
    }
}

impl<'de> Deserialize<'de> for WireColumn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = "{ uniform = [1, \"rows\"] }";
        let visitor = WordOr { word: "row_number", table, of: PhantomData::<WireGenerator> };
        let drawn = deserializer.deserialize_any(visitor)?.map(Box::new);
        Ok(drawn.map_or(Self::RowNumber, Self::Drawn))
    }
}
