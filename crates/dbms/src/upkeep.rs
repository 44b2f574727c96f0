//! Work that a server owes after writes, the statements that make it pay at once, and what its
//! tables take.

use std::path::Path;

/// An amount of work that the server still owes. A drain waits until it is at its floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Debt {
    /// Name, with its unit: `dirty_pages`, `history_list_length`.
    pub name: &'static str,
    /// One statement; the last column of its first row is the amount. Servers that cannot tell fail
    /// or return no row, and then owe nothing.
    pub sql: &'static str,
    /// The amount at which the debt counts as paid; below 1, the amount counts works that go on.
    pub floor: f64,
}

impl Debt {
    /// Whether the amount counts works that go on, such as a checkpoint or a compaction, and not
    /// what is left to do: it then stays the same until they are done.
    pub fn counts_works(&self) -> bool {
        self.floor < 1.0
    }
}

/// How the size of tables and indexes is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A query whose first row ends with the bytes.
    Sql(&'static str),
    /// Files and folders of the data folder that hold them; those that are not there count nothing.
    Files(&'static [&'static str]),
}

impl Size {
    /// Bytes of the files in the data folder `data`; nothing where the server is to be asked, or
    /// where there are none.
    pub fn of_files(&self, data: &Path) -> Option<u64> {
        let Self::Files(names) = self else { return None };
        let there = names.iter().map(|name| data.join(name)).filter(|path| path.exists());
        there.map(|path| bytes_below(&path)).reduce(|sum, bytes| sum + bytes)
    }
}

/// Bytes of a file, or of all files below a folder; what cannot be read counts nothing.
pub fn bytes_below(path: &Path) -> u64 {
    match fs_err::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| bytes_below(&entry.path())).sum()
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

/// A statement that maintains a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maintenance {
    /// SQL; with `{table}`, it is executed for each table.
    pub sql: &'static str,
    /// Whether its failure is expected from some versions, and ignored.
    pub optional: bool,
}

impl Maintenance {
    /// A statement that must succeed.
    pub const fn required(sql: &'static str) -> Self {
        Self { sql, optional: false }
    }

    /// A statement that some versions do not know.
    pub const fn optional(sql: &'static str) -> Self {
        Self { sql, optional: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_of_tables_are_summed_and_missing_ones_are_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        fs_err::create_dir_all(data.join("db/below")).unwrap();
        fs_err::write(data.join("db/a.ibd"), [0; 100]).unwrap();
        fs_err::write(data.join("db/below/b.ibd"), [0; 20]).unwrap();
        fs_err::write(data.join("shared"), [0; 3]).unwrap();
        fs_err::write(data.join("log"), [0; 999]).unwrap();
        let check = |names, expected| assert_eq!(Size::Files(names).of_files(data), expected);
        check(&["db"], Some(120));
        check(&["db", "shared", "gone"], Some(123));
        check(&["gone"], None);
        assert_eq!(Size::Sql("SELECT 1").of_files(data), None);
    }
}
