//! Loads the tables of the classic schema (`id`, `k`, `c`, `pad`) once and prints what it took:
//! `fill_once PROTOCOL ENDPOINT USER DATABASE TABLES ROWS THREADS [ENGINE]`, where the endpoint is
//! a socket's path, a port or a file.

use load::fill::fill;
use model::{
    drive::{Endpoint, LoadIndexes, LoadJob, Target},
    schema::{Column, ColumnValue, Schema, Table},
};
use std::{collections::BTreeMap, error::Error, io::Write};
use values::generator::{Generator, Template, Uniform};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, endpoint, user, database, tables, rows, threads, engine @ ..] = words.as_slice()
    else {
        return Err("seven words are needed; see the top of this file".into());
    };
    let endpoint = match endpoint.parse() {
        Ok(port) => Endpoint::Port(port),
        Err(_) if protocol == "sqlite" => Endpoint::File(endpoint.into()),
        Err(_) => Endpoint::Socket(endpoint.into()),
    };
    let target = Target {
        protocol: protocol.clone(),
        endpoint,
        user: user.clone(),
        password: model::secret::Secret::default(),
        database: database.clone(),
        library: None,
        initial_sql: Vec::new(),
        extension: None,
        tls: None,
    };
    let schema = schema(tables.parse()?, rows.parse()?);
    let engine = engine.first().cloned().unwrap_or_else(|| "InnoDB".to_owned());
    let threads = threads.parse()?;
    let indexes = LoadIndexes::Created;
    let job = LoadJob { schema, engine, threads, seed: 1, indexes, now_seconds: 0 };
    writeln!(std::io::stdout(), "{:?}", fill(&target, &job)?)?;
    Ok(())
}

fn schema(copies: u64, rows: u32) -> Schema {
    let columns = "k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
                   pad CHAR(60) DEFAULT '' NOT NULL";
    let create = [
        (
            "mysql",
            format!(
                "CREATE TABLE {{table}} (id INTEGER NOT NULL AUTO_INCREMENT, {columns}, \
                 PRIMARY KEY (id)) ENGINE = {{engine}}"
            ),
        ),
        ("postgres", format!("CREATE TABLE {{table}} (id SERIAL, {columns}, PRIMARY KEY (id))")),
        ("sqlite", format!("CREATE TABLE {{table}} (id INTEGER PRIMARY KEY, {columns})")),
    ];
    let group = "###########";
    let drawn = |name: &str, generator| Column {
        name: name.to_owned(),
        value: ColumnValue::Drawn(generator),
    };
    let template = |groups| Generator::from(Template { template: vec![group; groups].join("-") });
    let table = Table {
        name: "sbtest{n}".to_owned(),
        copies,
        rows: rows.into(),
        create: create.map(|(dialect, sql)| (dialect.to_owned(), sql)).into(),
        columns: vec![
            Column { name: "id".to_owned(), value: ColumnValue::RowNumber },
            drawn("k", Generator::from(Uniform { low: 1, high: rows.into() })),
            drawn("c", template(10)),
            drawn("pad", template(5)),
        ],
        indexes: BTreeMap::from([(
            "any".to_owned(),
            vec!["CREATE INDEX k_{n} ON {table} (k)".to_owned()],
        )]),
        finish: BTreeMap::new(),
        warm: BTreeMap::new(),
        coded: None,
    };
    Schema { name: "sbtest".to_owned(), tables: vec![table], ..Schema::default() }
}
