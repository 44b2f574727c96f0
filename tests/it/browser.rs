//! The browser that shows pages: headless Chromium.

/// The program, if this machine has it; else a line says that it is missing.
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
