//! An extension that a server has not.

/// Tables need an extension that is not known for a server.
#[derive(Debug, thiserror::Error)]
#[error("there is no extension `{extension}` for `{server}@{version}`; {remedy}")]
pub struct NoExtension {
    /// Its name for the server.
    pub extension: String,
    /// Product.
    pub server: String,
    /// Version.
    pub version: String,
    /// What to do.
    pub remedy: String,
}
