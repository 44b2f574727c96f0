//! The browser that shows pages: headless Chromium.

/// The program, if this machine has it.
pub(crate) fn program() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    })
}
