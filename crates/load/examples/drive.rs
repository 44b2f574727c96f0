//! The driver's command loop on standard input and output, as the hidden subcommand `dbdyno drive`
//! runs it: for talking to the load engine by hand.
//!
//! ```text
//! echo '{"connect":{"target":{"protocol":"null","endpoint":"nowhere","user":"","database":"",
//!   "library":null,"initial_sql":[]},"clients":1}}' | tr -d '\n' |
//!   cargo run -p dbdyno-load --example drive
//! ```

use std::io::{BufReader, stdin, stdout};

fn main() -> Result<(), load::Error> {
    load::serve(BufReader::new(stdin()), stdout().lock(), Box::new(load::scripts::NoScripts))
}
