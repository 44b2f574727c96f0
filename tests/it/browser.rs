//! Pages as a browser shows them: headless Chromium, without network.

use crate::lab::text;
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// What Chromium made of a page.
pub(crate) struct Shown {
    /// The page after its script.
    pub(crate) html: String,
    /// Messages of the console, errors and refused requests among them.
    pub(crate) console: Vec<String>,
}

/// The program, if this machine has it; else it says so.
pub(crate) fn program() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    });
    if found.is_none() {
        println!("skipped: a browser is needed, such as Debian's package `chromium`");
    }
    found
}

/// Opens a file and returns it as it is after its script, in a profile of its own.
pub(crate) fn open(program: &str, page: &Path, profile: &Path) -> Shown {
    let output = Command::new(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
        .args(["--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=5000"])
        // Whatever it asks for by name is not there.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let talk = text(&output.stderr);
    let console = talk.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned);
    Shown { html: text(&output.stdout), console: console.collect() }
}
