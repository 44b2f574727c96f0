//! What coded transactions ask of the workload files that name them, and of the numbers of a phase.
//!
//! The load engine executes them; whoever reads a workload's file checks it against this table.

use crate::{Parameters, workload::Class};
use std::ops::RangeInclusive;

/// The coded transactions of one name.
#[derive(Debug)]
pub struct Transactions {
    /// Name in `coded` of a workload's file.
    pub name: &'static str,
    /// Names of the schemas that have their tables.
    pub schemas: &'static [&'static str],
    /// The page that describes them.
    pub page: &'static str,
    /// Their operations, by their numbers.
    pub operations: &'static [Operation],
    /// The operation that the tables count too, if there is one.
    pub committed: Option<&'static str>,
    /// The numbers that they ask for.
    pub numbers: &'static [Number],
    /// The number that is the rows of a table.
    pub scale: Scale,
    /// What is wrong with numbers together, in a phase of so many clients.
    together: fn(&Parameters, u32) -> Result<(), Misfit>,
    /// What a server cannot do under the numbers of a phase.
    on_server: fn(&Parameters, Server<'_>) -> Result<(), Misfit>,
    /// The index that all their statements use on servers of a dialect; none if it has none, or if
    /// they use several. `{name}` stands for a number.
    index: fn(&str) -> Option<&'static str>,
}

/// One operation.
#[derive(Debug)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// How often it comes, compared with the others, where no workload's file says it; at least 1.
    pub weight: u32,
    /// Whether it changes data.
    pub class: Class,
}

/// One number of a phase.
#[derive(Debug)]
pub struct Number {
    /// Name of the parameter.
    pub name: &'static str,
    /// What it may be.
    pub allowed: RangeInclusive<i64>,
}

/// A number that must be the rows of a table.
#[derive(Debug)]
pub struct Scale {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Name of the table; `{name}` stands for a number.
    pub table: &'static str,
}

/// A server that transactions are to be executed on.
#[derive(Debug, Clone, Copy)]
pub struct Server<'a> {
    /// The product.
    pub product: &'a str,
    /// The version or its beginning; empty where it is not known or the newest is meant.
    pub version: &'a str,
}

/// A parameter with a value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// What is wrong with it: one sentence for the user.
    pub reason: String,
}

/// All of them.
const ALL: [&Transactions; 4] = [&TPCC, &VECTORS, &HALFVEC, &IVFFLAT];

/// Those of a name.
pub fn find(name: &str) -> Option<&'static Transactions> {
    ALL.into_iter().find(|known| known.name == name)
}

/// All names, in the order in which messages list them.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(|known| known.name)
}

impl Transactions {
    /// Whether each number is in its range. Those that are not given are not checked.
    pub fn check(&self, parameters: &Parameters) -> Result<(), Misfit> {
        for number in self.numbers {
            let Some(value) = parameters.get(number.name) else { continue };
            if !number.allowed.contains(value) {
                let (name, allowed) = (number.name, &number.allowed);
                let (least, most) = (allowed.start(), allowed.end());
                let reason = format!("`{name}` must be from {least} to {most}, not `{value}`");
                return Err(Misfit { parameter: name, reason });
            }
        }
        Ok(())
    }

    /// Whether the numbers fit each other and so many clients.
    pub fn check_clients(&self, parameters: &Parameters, clients: u32) -> Result<(), Misfit> {
        (self.together)(parameters, clients)
    }

    /// Name of the table whose rows are the scale.
    pub fn scaled_table(&self, parameters: &Parameters) -> String {
        filled(self.scale.table, parameters)
    }

    /// Name of the index that all their statements use on servers of a dialect, if there is one.
    pub fn index(&self, parameters: &Parameters, dialect: &str) -> Option<String> {
        (self.index)(dialect).map(|name| filled(name, parameters))
    }

    /// Whether a server can execute them with these numbers.
    pub fn check_server(&self, parameters: &Parameters, server: Server<'_>) -> Result<(), Misfit> {
        (self.on_server)(parameters, server)
    }
}

/// Transactions like those of TPC-C.
pub static TPCC: Transactions = Transactions {
    name: "tpcc",
    schemas: &["tpcc"],
    page: "docs/tpcc.md",
    operations: &TPCC_OPERATIONS,
    committed: Some("new-order"),
    numbers: &[
        // The lines of an order go to its procedure with six digits for the warehouse.
        Number { name: "warehouses", allowed: 1..=999_999 },
        Number { name: "home", allowed: 1..=3 },
        Number { name: "procedures", allowed: 0..=1 },
        Number { name: DELIVERY_DISTRICTS, allowed: 1..=DISTRICTS },
    ],
    scale: Scale { parameter: "warehouses", table: "warehouse" },
    together: own_warehouses,
    on_server: stored_procedures,
    index: |_| None,
};

/// How many districts a transaction of a delivery serves; a warehouse has ten.
pub const DELIVERY_DISTRICTS: &str = "delivery_districts";
const DISTRICTS: i64 = 10;

/// The five transactions of TPC-C.
pub const TPCC_OPERATIONS: [Operation; 5] = [
    Operation { name: "new-order", weight: 45, class: Class::Write },
    Operation { name: "payment", weight: 43, class: Class::Write },
    Operation { name: "order-status", weight: 4, class: Class::Read },
    Operation { name: "delivery", weight: 4, class: Class::Write },
    Operation { name: "stock-level", weight: 4, class: Class::Read },
];

/// First version of Postgres that has `CREATE PROCEDURE`.
const POSTGRES_PROCEDURES: u32 = 11;

/// Searches for the nearest vectors, by the graph of each product.
pub static VECTORS: Transactions = Transactions {
    name: "vectors",
    schemas: &["vectors", PGVECTOR],
    page: VECTORS_PAGE,
    operations: &VECTORS_OPERATIONS,
    committed: None,
    numbers: &GRAPH_NUMBERS,
    scale: Scale { parameter: "vectors", table: "items_m{m}" },
    together: |_, _| Ok(()),
    on_server: vector_index,
    index: |dialect| (dialect != "sqlite").then_some("nearest_m{m}"),
};

/// The same by pgvector's graph of numbers of 16 bits.
pub static HALFVEC: Transactions = Transactions {
    name: "vectors-halfvec",
    schemas: &[PGVECTOR],
    page: VECTORS_PAGE,
    operations: &VECTORS_OPERATIONS,
    committed: None,
    numbers: &GRAPH_NUMBERS,
    scale: Scale { parameter: "vectors", table: "halves_m{m}" },
    together: |_, _| Ok(()),
    on_server: pgvector,
    index: |_| Some("nearest_halves_m{m}"),
};

/// The same by pgvector's lists of vectors that are near each other.
pub static IVFFLAT: Transactions = Transactions {
    name: "vectors-ivfflat",
    schemas: &[PGVECTOR],
    page: VECTORS_PAGE,
    operations: &VECTORS_OPERATIONS,
    committed: None,
    numbers: &LISTS_NUMBERS,
    scale: Scale { parameter: "vectors", table: "items_lists{lists}" },
    together: |_, _| Ok(()),
    on_server: pgvector,
    index: |_| Some("nearest_lists{lists}"),
};

/// What the tables of vectors are called as coded rows.
pub const VECTOR_ROWS: &str = "vectors.items";

/// The schema with a table for each kind of index that pgvector has.
const PGVECTOR: &str = "pgvector";
const VECTORS_PAGE: &str = "docs/vectors.md";

const GRAPH_NUMBERS: [Number; 6] = of_index([
    Number { name: "m", allowed: 3..=100 },
    Number { name: "ef", allowed: NEAREST as i64..=1000 },
]);
const LISTS_NUMBERS: [Number; 6] = of_index([
    Number { name: "lists", allowed: 1..=LISTS_MAX },
    Number { name: "probes", allowed: 1..=LISTS_MAX },
]);
/// Lists of an index, and of those that a search looks at, by pgvector's documentation.
const LISTS_MAX: i64 = 32_768;

/// What all searches ask for, and what one kind of index does.
const fn of_index([built, searched]: [Number; 2]) -> [Number; 6] {
    [
        Number { name: "vectors", allowed: NEAREST as i64..=100_000_000 },
        Number { name: "dimensions", allowed: 1..=2000 },
        Number { name: "data_seed", allowed: 0..=i64::MAX },
        Number { name: "queries", allowed: 1..=100_000 },
        built,
        searched,
    ]
}

/// The only operation.
pub const VECTORS_OPERATIONS: [Operation; 1] =
    [Operation { name: "search", weight: 1, class: Class::Read }];

/// How many rows a search asks for.
pub const NEAREST: usize = 10;

/// First version of MariaDB with vector indexes.
const MARIADB_VECTORS: (u32, u32) = (11, 7);
/// Version of the SQLite inside dbdyno.
const BUNDLED: &str = "bundled";
/// First version of Postgres that takes extensions from another folder.
const POSTGRES_EXTENSIONS: u32 = 18;

fn vector_index(_: &Parameters, server: Server<'_>) -> Result<(), Misfit> {
    let mut words = server.version.split('.').map(|word| word.parse::<u32>().ok());
    let major = words.next().flatten();
    let minor = words.next().flatten().unwrap_or(u32::MAX);
    let (product, version) = (server.product, server.version);
    let reason = match (product, major) {
        ("mysql", _) => {
            "MySQL has no vector index; use `mariadb@11.8`, `postgres@18` or `sqlite`".to_owned()
        }
        ("mariadb", Some(major)) if (major, minor) < MARIADB_VECTORS => format!(
            "MariaDB has vector indexes from 11.7 on, and `mariadb@{version}` has none; use \
             `mariadb@11.8`"
        ),
        ("postgres", Some(major)) if major < POSTGRES_EXTENSIONS => format!(
            "pgvector is taken from a folder beside the server, which Postgres can from \
             {POSTGRES_EXTENSIONS} on and `postgres@{version}` cannot; use `postgres@18`"
        ),
        ("sqlite", _) if !version.is_empty() && version != BUNDLED => format!(
            "sqlite-vec is compiled with the SQLite that dbdyno has inside, and \
             `sqlite@{version}` is another one; use `sqlite`"
        ),
        _ => return Ok(()),
    };
    Err(Misfit { parameter: "m", reason })
}

/// Kinds of index that only pgvector has; the null client has anything.
fn pgvector(parameters: &Parameters, server: Server<'_>) -> Result<(), Misfit> {
    let product = server.product;
    if !["mysql", "mariadb", "sqlite"].contains(&product) {
        return vector_index(parameters, server);
    }
    let reason =
        format!("`halfvec` and `ivfflat` are of pgvector, not `{product}`; use `postgres@18`");
    Err(Misfit { parameter: "vectors", reason })
}

/// A text with numbers in the places of their names.
fn filled(text: &str, parameters: &Parameters) -> String {
    parameters.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), &value.to_string())
    })
}

fn own_warehouses(parameters: &Parameters, clients: u32) -> Result<(), Misfit> {
    let number = |name: &str| parameters.get(name).copied().unwrap_or(1);
    let warehouses = number("warehouses");
    if number("home") != 3 || i64::from(clients) <= warehouses {
        return Ok(());
    }
    let reason = format!(
        "`home = 3` gives each client warehouses of its own, and {clients} clients have \
         {warehouses} of them; use at least {clients} `warehouses`, or fewer `clients`"
    );
    Err(Misfit { parameter: "home", reason })
}

fn stored_procedures(parameters: &Parameters, server: Server<'_>) -> Result<(), Misfit> {
    if parameters.get("procedures") != Some(&1) {
        return Ok(());
    }
    let major = server.version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    let reason = match (server.product, major) {
        _ if parameters.get(DELIVERY_DISTRICTS).is_some_and(|served| *served < DISTRICTS) => {
            format!(
                "a procedure delivers all {DISTRICTS} districts in one transaction; use \
                 `procedures = 0` with `{DELIVERY_DISTRICTS}`"
            )
        }
        ("sqlite", _) => "SQLite has no stored procedures; use `procedures = 0` for it".to_owned(),
        ("postgres", Some(old)) if old < POSTGRES_PROCEDURES => format!(
            "Postgres has stored procedures from {POSTGRES_PROCEDURES} on, and `postgres@{}` has \
             none; use `procedures = 0` for it",
            server.version
        ),
        _ => return Ok(()),
    };
    Err(Misfit { parameter: "procedures", reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(given: &[(&str, i64)]) -> Parameters {
        given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn numbers_have_a_range() {
        let check = |name: &str, value: i64, expected: Option<&str>| {
            let got = TPCC.check(&parameters(&[(name, value)])).err();
            assert_eq!(got.map(|misfit| misfit.reason).as_deref(), expected, "{name} {value}");
        };
        check("warehouses", 1, None);
        check("warehouses", 0, Some("`warehouses` must be from 1 to 999999, not `0`"));
        check("home", 3, None);
        check("home", 4, Some("`home` must be from 1 to 3, not `4`"));
        check(
            "delivery_districts",
            11,
            Some("`delivery_districts` must be from 1 to 10, not `11`"),
        );
        check("procedures", 2, Some("`procedures` must be from 0 to 1, not `2`"));
        check("other", -1, None);
    }

    #[test]
    fn clients_with_warehouses_of_their_own_are_not_more_than_these() {
        let check = |home: i64, clients: u32, good: bool| {
            let parameters = parameters(&[("warehouses", 8), ("home", home)]);
            assert_eq!(TPCC.check_clients(&parameters, clients).is_ok(), good, "{home} {clients}");
        };
        check(3, 8, true);
        check(3, 9, false);
        check(1, 9, true);
    }

    #[test]
    fn stored_procedures_need_a_server_that_has_them() {
        let check = |procedures: i64, product: &str, version: &str, good: bool| {
            let parameters = parameters(&[("procedures", procedures)]);
            let got = TPCC.check_server(&parameters, Server { product, version });
            assert_eq!(got.is_ok(), good, "{procedures} {product} {version}");
        };
        check(1, "postgres", "9.6", false);
        check(1, "postgres", "10", false);
        check(1, "postgres", "11.22", true);
        check(1, "postgres", "", true);
        check(0, "postgres", "9.6", true);
        check(1, "mysql", "5.6.24", true);
        check(1, "sqlite", "", false);
        check(0, "sqlite", "", true);
        let check = |districts: i64, procedures: i64, good: bool| {
            let given = [("procedures", procedures), ("delivery_districts", districts)];
            let server = Server { product: "postgres", version: "18" };
            let got = TPCC.check_server(&parameters(&given), server);
            assert_eq!(got.is_ok(), good, "{districts} {procedures}");
        };
        check(10, 1, true);
        check(1, 0, true);
        check(1, 1, false);
    }

    #[test]
    fn vector_indexes_need_a_server_that_has_them() {
        let check = |product: &str, version: &str, part: &str| {
            let got = VECTORS.check_server(&Parameters::new(), Server { product, version });
            let said = got.err().map(|misfit| misfit.reason).unwrap_or_default();
            assert_eq!(said.is_empty(), part.is_empty(), "{product} {version}: {said}");
            assert!(said.contains(part), "{product} {version}: {said}");
        };
        check("mysql", "9.7.4", "MySQL has no vector index");
        check("mariadb", "10.11", "`mariadb@10.11` has none");
        check("mariadb", "11.4.5", "`mariadb@11.4.5` has none");
        check("mariadb", "11.7.1", "");
        check("mariadb", "11", "");
        check("mariadb", "12.1", "");
        check("postgres", "17.2", "`postgres@17.2` cannot");
        check("postgres", "18.6", "");
        check("sqlite", "", "");
        check("sqlite", "bundled", "");
        check("sqlite", "3.46.0", "`sqlite@3.46.0` is another one");
    }

    #[test]
    fn the_table_and_the_index_are_named_by_the_number_of_links() {
        let parameters = parameters(&[("m", 6)]);
        assert_eq!(VECTORS.scaled_table(&parameters), "items_m6");
        assert_eq!(VECTORS.index(&parameters, "mysql").as_deref(), Some("nearest_m6"));
        assert_eq!(VECTORS.index(&parameters, "sqlite"), None, "it looks at all rows");
        assert_eq!(TPCC.index(&parameters, "mysql"), None);
    }

    #[test]
    fn kinds_of_index_of_pgvector_need_it() {
        let check = |known: &Transactions, product: &str, part: &str| {
            let got = known.check_server(&Parameters::new(), Server { product, version: "" });
            let said = got.err().map(|misfit| misfit.reason).unwrap_or_default();
            assert!(said.is_empty() == part.is_empty() && said.contains(part), "{said}");
        };
        for known in [&HALFVEC, &IVFFLAT] {
            check(known, "postgres", "");
            check(known, "mariadb", "are of pgvector, not `mariadb`");
            check(known, "mysql", "are of pgvector, not `mysql`");
        }
        let parameters = parameters(&[("lists", 100)]);
        assert_eq!(IVFFLAT.scaled_table(&parameters), "items_lists100");
        assert_eq!(IVFFLAT.index(&parameters, "postgres").as_deref(), Some("nearest_lists100"));
    }
}
