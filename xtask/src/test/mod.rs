//! `cargo xtask test`: everything that the tests need, then the tests.
//!
//! The servers under test are real. Their builds come through `dbdyno install`, into the cache that
//! users have, so that a second time costs nothing.

mod packages;
mod servers;
mod together;
mod tracing;

pub(crate) use packages::provide as provide_packages;

use crate::{repository::root, say};
use anyhow::{Context, ensure};
use std::{
    ffi::OsStr,
    process::{Command, Stdio},
};

/// Brings what the tests need and executes `cargo test --workspace` with further arguments.
pub(crate) fn execute(arguments: &[&str]) -> anyhow::Result<()> {
    packages::provide()?;
    tracing::provide();
    // As the tests do, and not by `cargo build`: the features of some dependencies would differ,
    // and half of them be compiled twice.
    say("building `dbdyno` and its tests");
    cargo(&["test", "--workspace", "--no-run"])?;
    let built = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    servers::provide(&root().join(built).join("debug/dbdyno"))?;
    say("executing the tests");
    if !arguments.is_empty() {
        return cargo(&[&["test", "--workspace", "--no-fail-fast"], arguments].concat());
    }
    // Every crate is tested, also after one that failed: one run tells all.
    let examples = cargo(&["test", "--workspace", "--doc"]);
    together::execute().and(examples)
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    execute_program(cargo, arguments)
}

/// Executes a program in the root of the repository; it must succeed.
fn execute_program(program: impl AsRef<OsStr>, arguments: &[&str]) -> anyhow::Result<()> {
    let program = program.as_ref();
    let line = format!("{} {}", program.to_string_lossy(), arguments.join(" "));
    let status = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .status()
        .with_context(|| format!("`{line}` cannot be executed"))?;
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// Whether a program ends well; what it prints is not shown.
fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_named() {
        assert!(execute_program("true", &[]).is_ok());
        let failed = execute_program("false", &["a"]).unwrap_err().to_string();
        assert_eq!(failed, "`false a` failed (exit status: 1)");
        let absent = execute_program("no-such-program", &["a"]).unwrap_err().to_string();
        assert_eq!(absent, "`no-such-program a` cannot be executed");
        assert!(succeeds("true", &[]) && !succeeds("false", &[]));
    }
}
