//! Suites of equal tests on servers that differ in a preloaded library's environment.

use super::Kind;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::{
    fmt::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};
use tempfile::TempDir;

/// Sends as the C library does, after `TURNS` turns of a loop.
const LIBRARY: &str = r#"#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/socket.h>
static unsigned long turns;
__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("TURNS");
    turns = text ? strtoul(text, 0, 10) : 0;
}
ssize_t send(int fd, const void *data, size_t size, int flags) {
    unsigned long left = turns;
    if (left) __asm__ volatile("1: dec %0\njnz 1b" : "+r"(left));
    return sendto(fd, data, size, flags, 0, 0);
}
"#;

/// A point query, as a test of its own.
const TEST: &str = r#"help = "Selects one row by primary key"
group = "point"
schema = "sbtest"

[[op]]
name = "point_query"
sql = "SELECT c FROM {table} WHERE id = ?"
args = [{ uniform = [1, "rows"] }]
expect = { rows = 1 }
index = "primary"
"#;

/// The level of a server that burns nothing, and does not differ from the base.
pub(crate) const TWIN: &str = "TWIN=1";

/// One build, and what is injected into it.
pub(crate) struct Rig {
    folder: TempDir,
    library: PathBuf,
    kind: Kind,
    build: String,
}

/// What one run measures.
pub(crate) struct Suite {
    pub(crate) tests: usize,
    pub(crate) turns: u64,
    pub(crate) looks: &'static [u32],
}

/// A run that has ended.
pub(crate) struct Run {
    /// What `compare --format json` gives.
    pub(crate) comparison: Value,
    /// Wall time of all, installation and loading included [s].
    pub(crate) seconds: f64,
}

impl Rig {
    pub(crate) fn new(kind: Kind, build: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        // Servers are another user's processes.
        fs_err::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))?;
        let library = folder.path().join("libburn.so");
        compile(&folder.path().join("burn.c"), &library)?;
        Ok(Self { folder, library, kind, build: build.to_owned() })
    }

    pub(crate) fn run(&self, suite: &Suite) -> anyhow::Result<Run> {
        let folder = tempfile::tempdir_in(self.folder.path())?;
        let name = |number| format!("p{number:02}.toml");
        let mut phases = "help = \"Point queries\"\n".to_owned();
        for number in 1..=suite.tests {
            fs_err::write(folder.path().join(name(number)), TEST)?;
            writeln!(phases, "[[phase]]\nworkload = {:?}", name(number))?;
        }
        fs_err::write(folder.path().join("points.toml"), phases)?;
        fs_err::write(folder.path().join("injected.toml"), self.experiment(suite))?;
        let start = Instant::now();
        let run = ["run", "injected.toml", "--progress", "none", "--counts", self.kind.counts];
        execute(folder.path(), &run)?;
        let seconds = start.elapsed().as_secs_f64();
        let comparison = execute(folder.path(), &["compare", "--format", "json"])?;
        Ok(Run { comparison: serde_json::from_str(&comparison)?, seconds })
    }

    fn experiment(&self, suite: &Suite) -> String {
        let (build, kind, preload) = (&self.build, &self.kind, self.library.display());
        let level = |rest: &str| format!("\"LD_PRELOAD={preload} {rest}\"");
        let (base, twin) = (level("TURNS=0"), level(TWIN));
        let changed = level(&format!("TURNS={}", suite.turns));
        let Suite { looks, .. } = suite;
        format!(
            "question = \"Are changes found?\"\nsuite = \"points.toml\"\nrounds = {}\n\
             rows = 20_000\nlooks = {looks:?}\nslice_seconds = {}\nwarmup_seconds = 0.05\n\
             decide = {{ {} = \"{}%\" }}\n\
             baseline = {{ build = \"{build}\", environment = {base} }}\n\
             [factors]\nbuild = [\"{build}\"]\nclients = [1]\n\
             environment = [{base}, {twin}, {changed}]\n",
            kind.rounds,
            kind.slice_seconds,
            kind.name,
            100.0 * kind.share,
        )
    }
}

fn compile(source: &Path, library: &Path) -> anyhow::Result<()> {
    fs_err::write(source, LIBRARY)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(library).arg(source);
    let status = compiler.status().context("cannot execute `cc`")?;
    ensure!(status.success(), "the library cannot be compiled");
    Ok(())
}

/// Executes the program and gives its stdout.
fn execute(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
    let output = program.args(arguments).current_dir(folder).output()?;
    let talk = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`dbdyno {}`: {talk}", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}
