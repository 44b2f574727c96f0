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
    /// Name of the schema with their tables.
    pub schema: &'static str,
    /// The page that describes them.
    pub page: &'static str,
    /// Their operations, by their numbers.
    pub operations: &'static [Operation],
    /// The operation that the tables count too.
    pub committed: &'static str,
    /// The numbers that they ask for.
    pub numbers: &'static [Number],
    /// The number that is the rows of a table.
    pub scale: Scale,
    /// What is wrong with numbers together, in a phase of so many clients.
    together: fn(&Parameters, u32) -> Result<(), Misfit>,
    /// What a server cannot do under the numbers of a phase.
    on_server: fn(&Parameters, Server<'_>) -> Result<(), Misfit>,
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
    /// Name of the table.
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
const ALL: [&Transactions; 1] = [&TPCC];

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

    /// Whether a server can execute them with these numbers.
    pub fn check_server(&self, parameters: &Parameters, server: Server<'_>) -> Result<(), Misfit> {
        (self.on_server)(parameters, server)
    }
}

/// Transactions like those of TPC-C.
pub static TPCC: Transactions = Transactions {
    name: "tpcc",
    schema: "tpcc",
    page: "docs/tpcc.md",
    operations: &TPCC_OPERATIONS,
    committed: "new-order",
    numbers: &[
        // The lines of an order go to its procedure with six digits for the warehouse.
        Number { name: "warehouses", allowed: 1..=999_999 },
        Number { name: "home", allowed: 1..=3 },
        Number { name: "procedures", allowed: 0..=1 },
    ],
    scale: Scale { parameter: "warehouses", table: "warehouse" },
    together: own_warehouses,
    on_server: stored_procedures,
};

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
    }
}
