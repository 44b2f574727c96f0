//! A TOML text and where it came from: parses it, and finds the line of whatever is wrong in it.

use crate::error::{Error, Place};
use crate::suggest;
use serde::de::DeserializeOwned;
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};
use toml::de::{DeTable, DeValue};

/// One TOML text.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Path as the user wrote it, or `catalog/…` for a shipped file.
    pub(crate) label: String,
    /// The text.
    pub(crate) text: Cow<'static, str>,
    /// Folder that relative paths in it start from; none for a shipped file.
    pub(crate) folder: Option<PathBuf>,
}

impl Source {
    /// Reads a file of the user's.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs_err::read_to_string(path)?;
        let folder = path.parent().map(Path::to_path_buf);
        Ok(Self { label: path.display().to_string(), text: text.into(), folder })
    }

    /// The file's name without folder and ending.
    pub(crate) fn stem(&self) -> String {
        let name = self.label.rsplit('/').next().unwrap_or(&self.label);
        name.strip_suffix(".toml").unwrap_or(name).to_owned()
    }

    /// A reference in this text to a name or a path: a relative path starts at the text's own
    /// folder.
    pub(crate) fn reference(&self, text: &str) -> String {
        match &self.folder {
            Some(folder) if is_path(text) => folder.join(text).display().to_string(),
            _ => text.to_owned(),
        }
    }

    /// The text as a wire type.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        DeTable::parse(&self.text).map_err(|error| self.syntax(&error))?;
        toml::from_str(&self.text).map_err(|error| self.refuse(&error))
    }

    /// The place of the value at `path`; of the nearest table around it, if it is not in the text.
    pub(crate) fn place(&self, path: &[String]) -> Place {
        let offset = self.find(path).0;
        Place { file: self.label.clone(), line: offset.map(|at| self.line(at)) }
    }

    /// Whether the text itself has a value at `path`.
    pub(crate) fn has(&self, path: &[String]) -> bool {
        self.find(path).1 == path.len()
    }

    /// Puts the place of a fault into its error.
    pub(crate) fn locate(&self, fault: Fault) -> Error {
        let place = self.place(&fault.path);
        fault.into_error().at(place)
    }

    /// Byte offset of the deepest part of `path` that exists, and how deep that is.
    fn find(&self, path: &[String]) -> (Option<usize>, usize) {
        let Ok(root) = DeTable::parse(&self.text) else { return (None, 0) };
        let root = root.into_inner();
        let Some(first) = path.first() else { return (None, 0) };
        let Some((key, mut value)) = root.get_key_value(first.as_str()) else { return (None, 0) };
        let mut offset = key.span().start;
        for (depth, step) in path.iter().enumerate().skip(1) {
            let next = match value.get_ref() {
                DeValue::Table(table) => {
                    table.get_key_value(step.as_str()).map(|(key, value)| (key.span(), value))
                }
                DeValue::Array(items) => {
                    let item = step.parse().ok().and_then(|index: usize| items.get(index));
                    item.map(|value| (value.span(), value))
                }
                _ => None,
            };
            match next {
                Some((span, deeper)) => (offset, value) = (span.start, deeper),
                None => return (Some(offset), depth),
            }
        }
        (Some(offset), path.len())
    }

    fn line(&self, offset: usize) -> usize {
        let end = offset.min(self.text.len());
        1 + self.text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count()
    }

    fn place_of(&self, error: &toml::de::Error) -> Place {
        let line = error.span().map(|span| self.line(span.start));
        Place { file: self.label.clone(), line }
    }

    fn syntax(&self, error: &toml::de::Error) -> Error {
        let reason = format!("this is not TOML: {}", one_line(error.message()));
        Error::Toml { place: self.place_of(error), reason }
    }

    fn refuse(&self, error: &toml::de::Error) -> Error {
        explain(error.message()).at(self.place_of(error))
    }
}

/// Whether a reference is a path and not a name of the catalog.
pub(crate) fn is_path(text: &str) -> bool {
    text.contains('/') || text.ends_with(".toml")
}

/// What a TOML error says, in this crate's words: an unknown key gets the nearest known one.
pub(crate) fn explain(message: &str) -> Error {
    let place = Place::default();
    let words = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names = words(rest);
        let key = names.first().cloned().unwrap_or_default();
        let hint = suggest::hint(&key, names.iter().skip(1).map(String::as_str));
        return Error::UnknownKey { place, key, hint };
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let names = words(rest);
        let name = names.first().cloned().unwrap_or_default();
        let hint = suggest::hint(&name, names.iter().skip(1).map(String::as_str));
        return Error::UnknownName { place, what: "word", name, hint };
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return Error::Toml {
            place,
            reason: format!("the key {} is missing; add it", one_line(rest)),
        };
    }
    Error::Toml { place, reason: one_line(message) }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is wrong, and the path to it from the root of its text.
#[derive(Debug)]
pub(crate) struct Fault {
    path: Vec<String>,
    error: Box<Error>,
}

impl Fault {
    /// A value that makes no sense.
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Error::Invalid { place: Place::default(), reason: reason.into() }.into()
    }
}

impl Fault {
    /// The error alone.
    pub(crate) fn into_error(self) -> Error {
        *self.error
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { path: Vec::new(), error: Box::new(error) }
    }
}

/// Says where a fault lies, from the inside out.
pub(crate) trait Under {
    /// The fault lies under `key`.
    fn under(self, key: impl ToString) -> Self;
}

impl<T> Under for Result<T, Fault> {
    fn under(self, key: impl ToString) -> Self {
        self.map_err(|mut fault| {
            fault.path.insert(0, key.to_string());
            fault
        })
    }
}

impl Error {
    /// The same error with a place, if it has none yet.
    pub(crate) fn at(mut self, new: Place) -> Self {
        match &mut self {
            Self::Read(_) => {}
            Self::Toml { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::UnknownName { place, .. }
            | Self::Invalid { place, .. }
            | Self::Circle { place, .. }
            | Self::Expression { place, .. } => {
                if place.file.is_empty() {
                    *place = new;
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &[&str]) -> Option<usize> {
        let text = "a = 1\n\n[b]\nc = [\n  1,\n  2]\n[[d]]\nx = 1\n[[d]]\nx = 2\n";
        let source = Source { label: "t".to_owned(), text: text.into(), folder: None };
        let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
        source.place(&path).line
    }

    #[test]
    fn lines_of_values_are_found() {
        assert_eq!(line(&["a"]), Some(1));
        assert_eq!(line(&["b", "c", "1"]), Some(6));
        assert_eq!(line(&["d", "1", "x"]), Some(10));
        assert_eq!(line(&["b", "nothing"]), Some(3));
        assert_eq!(line(&["nothing"]), None);
    }
}
