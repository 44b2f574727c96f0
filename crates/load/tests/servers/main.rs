//! Roles on real servers: rows that come and go in step, at a rate, and a killed connection.
//!
//! A program with a `main` of its own, because it is also the keeper of its servers. `cargo test
//! --test servers -- WORD` executes those whose name holds the word.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program of tests that is not recognised as one"
)]

mod bench;
mod modes;
#[path = "../coded/orders.rs"]
mod orders;
mod roles;
mod workload;

type Test = fn(&bench::TestServer);

/// Name and body of each.
const TESTS: &[(&str, Test)] = &[
    ("an_empty_table_loads_and_its_least_key_is_zero", roles::empty_table),
    ("rows_are_loaded_and_indexed_in_two_phases", roles::load_and_index),
    ("a_table_that_is_a_queue_keeps_its_rows", roles::queue),
    ("a_rate_is_met_in_every_second", roles::rate),
    ("a_phase_says_how_its_statements_travel", modes::sent),
    ("a_coded_transaction_does_what_its_inputs_say", modes::coded),
    ("a_killed_connection_ends_its_role_alone", roles::killed),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "keep") {
        return dbms::keep().unwrap();
    }
    let word = arguments.into_iter().find(|word| !word.starts_with('-')).unwrap_or_default();
    for server in ["postgres@18", "mysql@9"] {
        let names = TESTS.iter().filter(|(name, _)| format!("{server} {name}").contains(&word));
        let wanted: Vec<_> = names.collect();
        if wanted.is_empty() {
            continue;
        }
        // A panic of one ends the program: the rest would wait for what it left.
        let bench = bench::Bench::new(server);
        for (name, test) in wanted {
            println!("test {server} {name} ...");
            test(&bench.tested);
            println!("test {server} {name} ... ok");
        }
        bench.end();
    }
}
