//! How long people wait for archives: from files to a page, and for a comparison of many values.
//!
//! `cargo bench --bench archives -- [PATH …]` imports each archive into a results folder of its own
//! and renders its report, by the program itself; then 100,000 values are written, indexed and
//! compared: phase by phase, and by the program.
//!
//! A bench: it prints figures and asserts nothing.

#![expect(clippy::print_stdout, reason = "figures are the output of a bench")]

mod many;

use anyhow::Context;
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

fn main() -> anyhow::Result<()> {
    let paths = std::env::args().skip(1).filter(|word| word != "--bench");
    let folder = tempfile::tempdir()?;
    for (number, path) in paths.enumerate() {
        archive(Path::new(&path), &folder.path().join(number.to_string()))?;
    }
    let many = folder.path().join("many");
    many::compare(&many)?;
    timed(&["compare", "--results", &many.display().to_string()])?;
    Ok(())
}

/// Imports one archive and renders its report.
fn archive(path: &Path, results: &Path) -> anyhow::Result<()> {
    let files = files(path).with_context(|| format!("`{}`", path.display()))?;
    println!("{}: {} files, {} bytes", path.display(), files.len(), files.iter().sum::<u64>());
    let folder = results.display().to_string();
    let import = timed(&["import", &path.display().to_string(), "--results", &folder])?;
    let report = timed(&["report", "--results", &folder])?;
    let page = fs_err::metadata(results.join("report.html"))?.len();
    println!("  import and report together: {:.2} s, page {page} bytes", import + report);
    Ok(())
}

/// Sizes of all files below a path [bytes].
fn files(path: &Path) -> std::io::Result<Vec<u64>> {
    if !path.is_dir() {
        return Ok(vec![path.metadata()?.len()]);
    }
    let mut sizes = Vec::new();
    for entry in fs_err::read_dir(path)? {
        sizes.extend(files(&entry?.path())?);
    }
    Ok(sizes)
}

/// Runs the program and prints what it took; gives the wall time [s].
fn timed(arguments: &[&str]) -> anyhow::Result<f64> {
    let start = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_dbdyno"))
        .args(arguments)
        .stdout(Stdio::null())
        .output()?;
    let wall = start.elapsed().as_secs_f64();
    let talk = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "`dbdyno {}`: {talk}", arguments.join(" "));
    println!("  {}: {wall:.2} s", arguments[0]);
    Ok(wall)
}
