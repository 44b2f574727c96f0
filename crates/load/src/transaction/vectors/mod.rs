//! Searches for the rows whose vectors are nearest to one.
//!
//! A search counts how many of the rows that it returns are among the nearest, which [`truth`]
//! knows from the same vectors that were loaded.

mod kind;
mod truth;

pub(crate) use kind::{Graph, Halfvec, Ivfflat};

use super::{Argument, Coded, Operation, Outcome, Setup, Statement, Transaction, Work};
use crate::clock::Clock;
use crate::wire::{Client, Failure, Parameter, vector};
use kind::Kind;
use model::{
    Parameters,
    coded::{NEAREST, Server, VECTORS_OPERATIONS},
    neighbors::Neighbors,
    workload::{Class, Mode},
};
use std::{marker::PhantomData, sync::Arc};
use truth::{Set, Truth};
use values::Random;

/// The searches of one connection, by one kind of index.
pub(crate) struct Vectors<I> {
    kind: PhantomData<I>,
    set: Set,
    /// What is known before the first search, or why it is not.
    truth: Option<Result<Arc<Truth>, String>>,
    search: Statement,
    form: Form,
    /// Whether the server looks at every row.
    exact: bool,
    /// Number of the query in hand, and its vector as it travels.
    query: usize,
    argument: Vec<u8>,
    /// Rows that the search in hand returned.
    found: Vec<i64>,
    /// Searches by how many of the nearest rows they found.
    counts: [u64; NEAREST + 1],
}

/// How a vector travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    LittleEndian,
    Pgvector,
    Text,
}

/// Least number of the nearest rows that a server finds which looks at every row: it may take
/// another one of two that are equally far but for rounding.
const EXACT_LEAST: usize = NEAREST - 1;

impl<I: Kind> Coded for Vectors<I> {
    const NAME: &'static str = I::NAME;
    const OPERATIONS: &'static [Operation] =
        &[Operation { name: VECTORS_OPERATIONS[0].name, weight: VECTORS_OPERATIONS[0].weight }];

    fn check(dialect: &str, parameters: &Parameters) -> Result<(), String> {
        // Of MySQL and MariaDB, which have one dialect, the server will tell.
        let product = if dialect == "mysql" { "mariadb" } else { dialect };
        let server = Server { product, version: "" };
        let known = I::transactions();
        let checked = known.check(parameters).and_then(|()| known.check_server(parameters, server));
        checked.map_err(|misfit| misfit.reason)
    }

    fn new(setup: &mut Setup<'_>) -> Self {
        let number = |name, default| u64::try_from(setup.number(name, default)).unwrap_or(1);
        let set = Set {
            seed: number("data_seed", 7),
            vectors: number("vectors", 10_000),
            queries: number("queries", 1000),
            dimensions: number("dimensions", 64) as usize,
            file: setup.dataset.cloned(),
        };
        let form = match (setup.mode, setup.dialect) {
            (Mode::Text, _) => Form::Text,
            (_, "postgres") => Form::Pgvector,
            _ => Form::LittleEndian,
        };
        let is_text = setup.mode == Mode::Text && setup.dialect == "mysql";
        let value = if is_text { "VEC_FromText(?)" } else { "?" };
        let (sql, setting) = I::search(setup, value);
        if let Some(setting) = setting {
            setup.session(setting);
        }
        let parameter = match form {
            Form::LittleEndian => Parameter::Bytes(vec![0; 4 * set.dimensions]),
            Form::Pgvector => Parameter::Bytes(vec![0; 4 + 4 * set.dimensions]),
            Form::Text => Parameter::Varying(2 + vector::TEXT_BYTES_MAX * set.dimensions),
        };
        let room = parameter.length_max();
        Self {
            kind: PhantomData,
            search: setup.statement(Class::Read, &sql, &[parameter]),
            exact: setup.dialect == "sqlite",
            set,
            truth: None,
            form,
            query: 0,
            argument: Vec::with_capacity(room),
            found: Vec::with_capacity(NEAREST),
            counts: [0; NEAREST + 1],
        }
    }

    fn get_ready(&mut self) {
        self.truth = Some(truth::of(&self.set));
    }
}

impl<I: Kind> Transaction for Vectors<I> {
    fn draw(&mut self, _: usize, random: &mut Random) {
        self.query = random.below(self.set.queries) as usize;
        self.argument.clear();
        let Some(Ok(truth)) = &self.truth else { return };
        let query = truth.query(self.query);
        match self.form {
            Form::LittleEndian => vector::little_endian(query, &mut self.argument),
            Form::Pgvector => vector::pgvector(query, &mut self.argument),
            Form::Text => vector::text(query, &mut self.argument),
        }
    }

    fn attempt<C: Client, K: Clock>(
        &mut self,
        _: usize,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        if let Some(Err(reason)) = &self.truth {
            return Err(Failure::own(reason.clone()));
        }
        let argument = match self.form {
            Form::Text => Argument::Text(&self.argument),
            Form::LittleEndian | Form::Pgvector => Argument::Bytes(&self.argument),
        };
        let found = &mut self.found;
        found.clear();
        let mut repeated = 0;
        let answer = work.fetch(self.search, &[argument], |row| {
            let id = row.next().and_then(|value| value.integer()).unwrap_or_default();
            if found.contains(&id) {
                repeated += 1;
            } else if found.len() < NEAREST {
                found.push(id);
            }
        })?;
        let wanted = NEAREST as u64;
        work.expect(answer.rows - repeated, wanted..=wanted);
        let Some(Ok(truth)) = &self.truth else { return Ok(Outcome::Done) };
        let nearest = truth.nearest(self.query);
        let right = found.iter().filter(|id| nearest.contains(id)).count();
        if self.exact && right < EXACT_LEAST {
            return Err(wrong(right));
        }
        self.counts[right.min(NEAREST)] += 1;
        Ok(Outcome::Done)
    }

    fn neighbors(&self) -> Option<Neighbors> {
        Some(Neighbors { searches: self.counts.to_vec() })
    }
}

#[cold]
fn wrong(right: usize) -> Failure {
    Failure::own(format!(
        "a search of all rows found {right} of the {NEAREST} nearest; compare the distance of the \
         table with Euclid's, and its rows with those of the schema"
    ))
}
