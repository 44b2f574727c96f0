//! Values as option files have them.

use std::{borrow::Cow, path::Path};

/// A value as option files have it: in quotes where a part of it would be a comment or lost, unless
/// the user wrote them.
pub(super) fn written(value: &str) -> Cow<'_, str> {
    let is_quoted =
        |quote: char| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote);
    let is_plain = !value.contains('#') && value.trim() == value && !value.contains('\\');
    match is_plain || is_quoted('"') || is_quoted('\'') {
        true => value.into(),
        // The first quote that is not escaped would end the value.
        false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")).into(),
    }
}

/// The same of a path, where folders of users may be called anything.
pub(super) fn written_path(path: &Path) -> String {
    written(&path.display().to_string()).into_owned()
}
