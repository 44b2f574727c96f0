//! Chores of this repository: `cargo xtask tidy`, `test`, `packages` and `sqlite-releases`.
//!
//! `tidy` checks what STYLE.md and ARCHITECTURE.md ask for; read `tidy/mod.rs` first. `test` brings
//! everything that the tests need and executes them. Nothing of this is part of the product.

#![forbid(unsafe_code)]

mod releases;
mod repository;
mod test;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::execute(),
        ["sqlite-releases"] => releases::execute(),
        ["test", rest @ ..] => test::execute(rest),
        ["packages"] => test::provide_packages(),
        _ => {
            say(USAGE);
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "\
usage: cargo xtask tidy              checks the rules of STYLE.md and ARCHITECTURE.md
       cargo xtask test [ARGUMENTS]  brings what the tests need, then executes all of them;
                                     ARGUMENTS go to `cargo test --workspace`
       cargo xtask packages          installs what the tests need of Debian, as root
       cargo xtask sqlite-releases   prints what known.toml lacks of SQLite's releases";

/// One line of talk on stderr.
#[allow(clippy::print_stderr, reason = "this is a program, and stderr is its talk")]
fn say(text: &str) {
    eprintln!("{text}");
}
