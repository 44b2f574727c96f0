//! Functions of a program whose calls are counted one by one, by their places in its file.

use crate::{
    Result,
    binary::Binary,
    counters::{CHOSEN, open_plain},
};
use fs_err as fs;
use std::{io, os::unix::fs::MetadataExt, path::Path};

/// Name of the file with the names of the chosen functions.
const FILE: &str = "chosen";

/// Functions whose calls the plugin counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The number of the file that has them.
    inode: u64,
    functions: Vec<Function>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    name: String,
    /// Where it begins in the file.
    offset: u64,
}

impl Chosen {
    /// Looks for functions in the file of a program or of a library. Each has a name of its own and
    /// several symbols, of which the first that is there counts: a function that was inlined has
    /// none, and one that it calls may stand for it. Those without any symbol are left out, and all
    /// beyond seven.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn find<'a>(
        program: &Path,
        wanted: impl IntoIterator<Item = (&'a str, &'a [String])>,
    ) -> Result<Self> {
        let mut wanted = wanted.into_iter().peekable();
        if wanted.peek().is_none() {
            return Ok(Self::default());
        }
        let symbols = Binary::read(program)?.symbols.unwrap_or_default();
        let function = |(name, symbol): (&str, &[String])| {
            let start = symbol.iter().find_map(|symbol| symbols.function(symbol))?;
            Some(Function { name: name.to_owned(), offset: symbols.offset(start)? })
        };
        let inode = fs::metadata(program)?.ino();
        Ok(Self { inode, functions: wanted.filter_map(function).take(CHOSEN).collect() })
    }

    /// The plugin's argument.
    pub(crate) fn argument(&self) -> String {
        let offsets = self.functions.iter().map(|function| format!("{:x}", function.offset));
        format!("{}:{}", self.inode, offsets.collect::<Vec<_>>().join("/"))
    }

    /// Keeps the names beside the counters.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let names = self.functions.iter().map(|function| format!("{}\n", function.name));
        Ok(fs::write(folder.join(FILE), names.collect::<String>())?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
}

/// The names of the functions that were chosen for a program, in their order.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>> {
    match open_plain(&folder.join(FILE), fs::OpenOptions::new().read(true)) {
        Ok(file) => Ok(io::read_to_string(file)?.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_the_first_symbol_that_there_is() {
        let program = std::env::current_exe().unwrap();
        let symbols = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let wanted: [Vec<String>; 3] =
            [symbols(&["no_such_function"]), symbols(&["no_such_function", "main"]), Vec::new()];
        let named = ["none", "main", "nothing"].into_iter().zip(wanted.iter().map(Vec::as_slice));
        let found = Chosen::find(&program, named.clone()).unwrap();
        assert!(found.argument().starts_with(&format!("{}:", found.inode)), "{found:?}");
        let folder = tempfile::tempdir().unwrap();
        assert!(names(folder.path()).unwrap().is_empty());
        found.write(folder.path()).unwrap();
        assert_eq!(names(folder.path()).unwrap(), ["main"]);
        assert!(Chosen::find(Path::new("/none"), []).unwrap().is_empty());
        assert!(Chosen::find(Path::new("Cargo.toml"), named).unwrap().is_empty());
    }
}
