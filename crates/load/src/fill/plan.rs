//! A schema for one dialect: every table with its statements, and the pieces its rows are loaded
//! in.

use super::{
    coded::{self, CodedRows, CodedTable, Maker},
    rows::{TableRows, Values},
    vectors::Vectors,
};
use crate::{
    Error,
    wire::{Destination, Failure, Session, Split},
};
use model::{
    drive::{IndexJob, LoadJob},
    schema::Table,
};
use std::collections::BTreeMap;
use values::Random;
use values::civil::Civil;

/// Least rows of a lane where several sessions load one table. Where lanes meet, the server
/// reserves space that it does not use: InnoDB about 1 % of the table with two lanes of 500,000
/// rows of 200 bytes (12 % with twenty lanes of 50,000).
const LANE_ROWS_MIN: u64 = 500_000;

/// Rows of a transaction: no session holds back the clean-up of old row versions for long.
const TRANSACTION_ROWS: u64 = 250_000;

/// One table, ready to be loaded.
pub(super) struct TablePlan {
    pub(super) name: String,
    /// Rows, or units of coded ones.
    pub(super) rows: u64,
    /// Seed of its rows.
    pub(super) seed: u64,
    pub(super) columns: Vec<String>,
    pub(super) values: Values,
    /// What makes the rows instead, where they are coded.
    pub(super) coded: Option<(&'static CodedTable, Maker)>,
    pub(super) create: Vec<String>,
    pub(super) indexes: Vec<String>,
    pub(super) finish: Vec<String>,
}

/// Rows of one transaction of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loaded {
    pub(super) sent: u64,
    pub(super) stored: u64,
}

impl TablePlan {
    /// Whether all texts are ASCII.
    pub(super) fn ascii(&self) -> bool {
        self.values.ascii()
    }

    /// Loads rows or units `start..end` in one transaction. `maker` is that of the lane, nothing
    /// before its first one: where values go on from row to row, they are not walked from the first
    /// row again.
    pub(super) fn load(
        &self,
        session: &mut dyn Session,
        into: &Destination<'_>,
        (start, end): (u64, u64),
        maker: &mut Option<Maker>,
    ) -> Result<Loaded, Failure> {
        let Some((table, fresh)) = &self.coded else {
            let mut rows = TableRows::new(&self.values, self.seed, start, end);
            let stored = session.load(into, &mut rows)?;
            return Ok(Loaded { sent: end - start, stored });
        };
        fresh.vectors.open().map_err(Failure::own)?;
        let maker = maker.get_or_insert_with(|| fresh.clone());
        let mut rows = CodedRows::new(table, maker, start, end);
        let stored = session.load(into, &mut rows)?;
        Ok(Loaded { sent: rows.made(), stored })
    }
}

/// Rows `start..end` of a table, loaded in order by one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lane {
    /// Index of the table.
    pub(super) table: usize,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Lane {
    /// The ranges of rows that are loaded in one transaction each.
    pub(super) fn transactions(self) -> impl Iterator<Item = (u64, u64)> {
        let starts = (self.start..self.end).step_by(TRANSACTION_ROWS as usize);
        starts.map(move |start| (start, (start + TRANSACTION_ROWS).min(self.end)))
    }
}

/// The tables of a job in order, copies after each other.
pub(super) fn tables(dialect: &str, job: &LoadJob) -> Result<Vec<TablePlan>, Error> {
    let mut plans = Vec::new();
    for table in &job.schema.tables {
        for copy in 1..=table.copies {
            let number = u64::try_from(plans.len()).unwrap_or(u64::MAX);
            let seed = job.seed.wrapping_add(number.wrapping_mul(0xA076_1D64_78BD_642F));
            let placeholders =
                Placeholders { dialect, copy, rows: table.rows, engine: &job.engine };
            plans.push(plan(table, &placeholders, seed, job)?);
        }
    }
    Ok(plans)
}

/// Refuses tables that would not be those of the storage engine. MySQL has a default engine, which
/// configurations set; elsewhere an engine is a word of CREATE TABLE.
pub(super) fn check_engine(dialect: &str, job: &LoadJob) -> Result<(), Error> {
    let (schema, engine) = (&job.schema, &job.engine);
    if engine.is_empty() || dialect == "mysql" {
        return Ok(());
    }
    for table in &schema.tables {
        let create = table.create.get(dialect).or_else(|| table.create.get("any"));
        if create.is_some_and(|sql| !sql.contains(ENGINE)) {
            let (name, schema) = (&table.name, &schema.name);
            return Err(Error::Schema(format!(
                "table `{name}` of schema `{schema}` would not be `{engine}` as the configuration \
                 says: write `{ENGINE}` in its `create` for `{dialect}`, or use a configuration \
                 without `engine`"
            )));
        }
    }
    Ok(())
}

/// The statements after those of all tables.
pub(super) fn constraints(dialect: &str, job: &LoadJob) -> Result<Vec<String>, Error> {
    let (schema, engine) = (&job.schema, &job.engine);
    if schema.constraints.is_empty() || dialect == "null" {
        return Ok(Vec::new());
    }
    let found = of_engine(&schema.constraints, engine, dialect).cloned();
    found.ok_or_else(|| {
        let on = if engine.is_empty() { dialect } else { engine };
        let name = &schema.name;
        Error::Schema(format!(
            "schema `{name}` has no constraints for `{on}`: add some to `[constraints.add]`, or \
             let the number that `when` names be 0"
        ))
    })
}

/// What is written for the storage engine, else for the dialect, else for any.
fn of_engine<'a>(
    written: &'a BTreeMap<String, Vec<String>>,
    engine: &str,
    dialect: &str,
) -> Option<&'a Vec<String>> {
    let engine = engine.to_lowercase();
    [engine.as_str(), dialect, "any"].into_iter().find_map(|key| written.get(key))
}

/// The index statements of one copy of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexPlan {
    pub(super) table: String,
    pub(super) statements: Vec<String>,
}

/// The index statements of a job: for each table of the schema, those of its copies.
pub(super) fn indexes(dialect: &str, job: &IndexJob) -> Vec<Vec<IndexPlan>> {
    let of_table = |table: &Table| {
        let of_copy = |copy| {
            let placeholders =
                Placeholders { dialect, copy, rows: table.rows, engine: &job.engine };
            let name = placeholders.name(table);
            IndexPlan { statements: placeholders.indexes(table, &name), table: name }
        };
        (1..=table.copies).map(of_copy).collect()
    };
    job.schema.tables.iter().map(of_table).collect()
}

/// The rows of all tables in lanes, in order.
pub(super) fn lanes(tables: &[TablePlan], split: Split, threads: u32) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for (table, plan) in tables.iter().enumerate() {
        let count = match split {
            Split::Ranges => (plan.rows / LANE_ROWS_MIN).clamp(1, u64::from(threads)),
            Split::Tables | Split::Nothing => 1,
        };
        let edge = |lane: u64| {
            let rows = u128::from(plan.rows) * u128::from(lane) / u128::from(count);
            u64::try_from(rows).unwrap_or(plan.rows) + 1
        };
        lanes.extend((0..count).map(|lane| Lane { table, start: edge(lane), end: edge(lane + 1) }));
    }
    lanes
}

/// The mark that is replaced by the storage engine.
const ENGINE: &str = "{engine}";

/// What the placeholders of a statement stand for.
struct Placeholders<'a> {
    dialect: &'a str,
    copy: u64,
    rows: u64,
    engine: &'a str,
}

impl Placeholders<'_> {
    fn name(&self, table: &Table) -> String {
        table.name.replace("{n}", &self.copy.to_string())
    }

    fn resolve(&self, sql: &str, name: &str) -> String {
        sql.replace("{table}", name)
            .replace("{n}", &self.copy.to_string())
            .replace("{rows}", &self.rows.to_string())
            .replace(ENGINE, self.engine)
    }

    /// The index statements.
    fn indexes(&self, table: &Table, name: &str) -> Vec<String> {
        let found = of_engine(&table.indexes, self.engine, self.dialect);
        found.into_iter().flatten().map(|sql| self.resolve(sql, name)).collect()
    }

    /// The statements for every dialect, then those for this one.
    fn statements(&self, by_dialect: &BTreeMap<String, Vec<String>>, name: &str) -> Vec<String> {
        let groups = ["any", self.dialect].into_iter().filter_map(|key| by_dialect.get(key));
        groups.flatten().map(|sql| self.resolve(sql, name)).collect()
    }
}

fn plan(
    table: &Table,
    placeholders: &Placeholders<'_>,
    seed: u64,
    job: &LoadJob,
) -> Result<TablePlan, Error> {
    let name = placeholders.name(table);
    let create = match table.create.get(placeholders.dialect).or_else(|| table.create.get("any")) {
        Some(sql) => vec![placeholders.resolve(sql, &name)],
        None if placeholders.dialect == "null" => Vec::new(),
        None => {
            return Err(Error::Schema(format!(
                "table `{}` of schema `{}` has no `create` for `{}`; add one",
                table.name, job.schema.name, placeholders.dialect
            )));
        }
    };
    let values = Values::compile(&table.columns, job.now_seconds);
    let coded = coded(table, seed, job)?;
    let columns = match &coded {
        Some((coded, _)) => coded.columns.iter().map(|name| (*name).to_owned()).collect(),
        None => table.columns.iter().map(|column| column.name.clone()).collect(),
    };
    Ok(TablePlan {
        rows: coded.as_ref().map_or(placeholders.rows, |(coded, _)| {
            placeholders.rows.div_ceil(coded.rows_per_unit)
        }),
        seed,
        columns,
        values,
        coded,
        create,
        indexes: placeholders.indexes(table, &name),
        finish: placeholders.statements(&table.finish, &name),
        name,
    })
}

/// What makes the rows of a table that are written in Rust.
fn coded(
    table: &Table,
    seed: u64,
    job: &LoadJob,
) -> Result<Option<(&'static CodedTable, Maker)>, Error> {
    let Some(rows) = &table.coded else { return Ok(None) };
    let found = coded::find(&rows.name).ok_or_else(|| {
        Error::Schema(format!(
            "table `{}` of schema `{}` has `coded` rows `{}`, which do not exist; use one of {}",
            table.name,
            job.schema.name,
            rows.name,
            coded::names()
        ))
    })?;
    let maker = Maker {
        shared_seed: job.seed,
        seed,
        random: Random::new(seed, 0),
        now: Civil::of(job.now_seconds).to_string().into_bytes(),
        text: Vec::new(),
        permutation: (0, Vec::new()),
        first_rows: job.schema.tables.first().map_or(0, |table| table.rows),
        walks: Default::default(),
        parameters: rows.parameters.clone(),
        vectors: Vectors::of(rows),
    };
    Ok(Some((found, maker)))
}
