//! Kinds of index by which the nearest vectors are searched.

use crate::transaction::Setup;
use model::coded::{HALFVEC, IVFFLAT, NEAREST, Transactions, VECTORS};

/// A kind of index: what a search is, and how long it looks.
pub(crate) trait Kind: Send + 'static {
    /// What the transactions are called.
    const NAME: &'static str;

    /// What they ask for.
    fn transactions() -> &'static Transactions;

    /// The statement of a search, where `value` stands for the vector, and the one that sets how
    /// long the searches of a connection look.
    fn search(setup: &Setup<'_>, value: &str) -> (String, Option<String>);
}

/// The graph that each product has; SQLite looks at every row.
pub(crate) struct Graph;

impl Kind for Graph {
    const NAME: &'static str = "vectors";

    fn transactions() -> &'static Transactions {
        &VECTORS
    }

    fn search(setup: &Setup<'_>, value: &str) -> (String, Option<String>) {
        let (m, ef) = (setup.number("m", 16), setup.number("ef", 40));
        match setup.dialect {
            "postgres" => (
                format!("SELECT id FROM items_m{m} ORDER BY v <-> {value} LIMIT {NEAREST}"),
                Some(format!("SET hnsw.ef_search = {ef}")),
            ),
            "sqlite" => {
                (format!("SELECT id FROM items_m{m} WHERE v MATCH {value} AND k = {NEAREST}"), None)
            }
            _ => (
                format!(
                    "SELECT id FROM items_m{m} ORDER BY VEC_DISTANCE_EUCLIDEAN(v, {value}) \
                     LIMIT {NEAREST}"
                ),
                Some(format!("SET mhnsw_ef_search = {ef}")),
            ),
        }
    }
}

/// The graph of pgvector with numbers of 16 bits.
pub(crate) struct Halfvec;

impl Kind for Halfvec {
    const NAME: &'static str = "vectors-halfvec";

    fn transactions() -> &'static Transactions {
        &HALFVEC
    }

    fn search(setup: &Setup<'_>, value: &str) -> (String, Option<String>) {
        let (m, ef) = (setup.number("m", 16), setup.number("ef", 40));
        let dimensions = setup.number("dimensions", 64);
        let half = format!("halfvec({dimensions})");
        (
            format!(
                "SELECT id FROM halves_m{m} ORDER BY v::{half} <-> {value}::vector::{half} \
                 LIMIT {NEAREST}"
            ),
            Some(format!("SET hnsw.ef_search = {ef}")),
        )
    }
}

/// The lists of pgvector.
pub(crate) struct Ivfflat;

impl Kind for Ivfflat {
    const NAME: &'static str = "vectors-ivfflat";

    fn transactions() -> &'static Transactions {
        &IVFFLAT
    }

    fn search(setup: &Setup<'_>, value: &str) -> (String, Option<String>) {
        let (lists, probes) = (setup.number("lists", 100), setup.number("probes", 10));
        (
            format!("SELECT id FROM items_lists{lists} ORDER BY v <-> {value} LIMIT {NEAREST}"),
            Some(format!("SET ivfflat.probes = {probes}")),
        )
    }
}
