//! A TOML text and where it came from: reads it, parses it, and finds the line of what is wrong.

use crate::{
    error::{Error, Location},
    explain,
    tree::Tree,
};
use serde::de::DeserializeOwned;
use std::{
    borrow::Cow,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};
use toml::de::DeTable;

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
    /// Reads a file of the user's: a regular one of at most [`FILE_MAX`] bytes.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = read_text(path).map_err(|reason| Error::Unreadable {
            place: Location::default(),
            path: path.display().to_string(),
            reason,
        })?;
        let folder = path.parent().map(Path::to_path_buf);
        Ok(Self { label: path.display().to_string(), text: text.into(), folder })
    }

    /// Whether it is the same file as another one, under whatever path.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let path = |source: &Self| {
            source.folder.as_ref().and_then(|_| Path::new(&source.label).canonicalize().ok())
        };
        self.label == other.label || path(self).is_some_and(|own| path(other) == Some(own))
    }

    /// The file's name without folder and ending.
    pub(crate) fn stem(&self) -> String {
        let name = self.label.rsplit('/').next().unwrap_or(&self.label);
        without_ending(name).to_owned()
    }

    /// A reference in this text to a name or a path: a relative path starts at the text's own
    /// folder.
    pub(crate) fn reference(&self, text: &str) -> String {
        match &self.folder {
            // Without `.` in between.
            Some(folder) if is_path(text) => {
                folder.join(text).components().collect::<PathBuf>().display().to_string()
            }
            _ => text.to_owned(),
        }
    }

    /// The text as a wire type.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        DeTable::parse(&self.text).map_err(|error| explain::syntax(self, &error))?;
        toml::from_str(&self.text).map_err(|error| explain::values(self, &error))
    }

    /// The place of the value at `path`; of the nearest table around it, if it is not in the text.
    pub(crate) fn place(&self, path: &[String]) -> Location {
        Location { file: self.label.clone(), line: Tree::new(&self.text).line_of(path) }
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }

    /// Whether the text itself has a value at `path`.
    pub(crate) fn has(&self, path: &[String]) -> bool {
        Tree::new(&self.text).has(path)
    }

    /// Puts the place of a fault into its error.
    pub(crate) fn locate(&self, fault: Fault) -> Error {
        let place = self.place(&fault.path);
        fault.into_error().at(place)
    }
}

/// Largest file that is read, bytes: far beyond any experiment.
const FILE_MAX: u64 = 1 << 20;

/// The text of a regular file. The error is a reason.
fn read_text(path: &Path) -> Result<String, String> {
    let plain = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    // Opening a pipe would wait for whoever writes to it.
    let kind = fs_err::metadata(path).map_err(plain)?;
    if kind.is_dir() {
        return Err("it is a folder; name a file in it".to_owned());
    }
    if !kind.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = fs_err::File::open(path).map_err(plain)?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(plain)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(format!("it is larger than {FILE_MAX} bytes, the most that is read"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// Whether a reference is a path and not a name of the catalog.
pub fn is_path(text: &str) -> bool {
    text.contains('/') || text.ends_with(".toml") || is_lua(text)
}

/// Whether a word names a user's own sysbench script.
pub(crate) fn is_lua(text: &str) -> bool {
    text.ends_with(".lua")
}

/// The name of a file without its ending.
pub(crate) fn without_ending(name: &str) -> &str {
    let endings = [".toml", ".lua"].into_iter();
    endings.filter_map(|ending| name.strip_suffix(ending)).next().unwrap_or(name)
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
        Error::Invalid { place: Location::default(), reason: reason.into() }.into()
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

impl Under for Fault {
    fn under(mut self, key: impl ToString) -> Self {
        self.path.insert(0, key.to_string());
        self
    }
}

impl<T> Under for Result<T, Fault> {
    fn under(self, key: impl ToString) -> Self {
        self.map_err(|fault| fault.under(key))
    }
}

impl Error {
    /// The same error without its place: the text it is about is nobody's file.
    pub(crate) fn without_place(mut self) -> Self {
        if let Some(place) = self.place_mut() {
            *place = Location::default();
        }
        self
    }

    /// The same error with a place, if it has none yet.
    pub(crate) fn at(mut self, new: Location) -> Self {
        if let Some(place) = self.place_mut()
            && place.file.is_empty()
        {
            *place = new;
        }
        self
    }

    /// The same where a name of the catalog is asked for: a file of this name beside the text was
    /// probably meant.
    pub(crate) fn at_reference(self, new: Location) -> Self {
        let mut error = self.at(new);
        if let Self::UnknownName { place, name, hint, .. } = &mut error {
            let folder = Path::new(&place.file).parent();
            let file = format!("{name}.toml");
            if folder.is_some_and(|folder| folder.join(&file).is_file()) {
                *hint = format!("; did you mean the file `{file}`? Paths have their ending");
            }
        }
        error
    }

    fn place_mut(&mut self) -> Option<&mut Location> {
        match self {
            Self::Read(_) => None,
            Self::Unreadable { place, .. }
            | Self::Toml { place, .. }
            | Self::UnknownKey { place, .. }
            | Self::UnknownName { place, .. }
            | Self::Invalid { place, .. }
            | Self::Circle { place, .. }
            | Self::Expression { place, .. } => Some(place),
        }
    }
}
