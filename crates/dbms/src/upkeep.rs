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
    /// Infinite where the amount is told and never waited for.
    pub floor: f64,
}

impl Debt {
    /// Whether the amount is told only: servers pay it in their own time, or when they are made to.
    pub fn is_told_only(&self) -> bool {
        self.floor.is_infinite()
    }

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
    /// What comes of its failure.
    pub failure: Failure,
}

/// What the failure of a maintenance statement means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The server is not as it has to be.
    Breaks,
    /// The debts are waited for all the same, and the record says what failed.
    Recorded,
    /// Some versions do not know the statement, and need not.
    Expected,
}

impl Maintenance {
    /// A statement that must succeed.
    pub const fn required(sql: &'static str) -> Self {
        Self { sql, failure: Failure::Breaks }
    }

    /// A statement whose failure is recorded.
    pub const fn wanted(sql: &'static str) -> Self {
        Self { sql, failure: Failure::Recorded }
    }

    /// A statement that some versions do not know.
    pub const fn optional(sql: &'static str) -> Self {
        Self { sql, failure: Failure::Expected }
    }

    /// Whether it is executed for each table, all tables at the same time.
    pub fn is_per_table(&self) -> bool {
        self.sql.contains("{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subject::Config;

    fn config(engine: &str) -> Config {
        Config { name: "c".to_owned(), engine: Some(engine.to_owned()), ..Config::default() }
    }

    #[test]
    fn indexes_are_cleaned_up_by_every_version_that_could_leave_them() {
        let postgres = crate::find("postgres").unwrap();
        let check = |version, cleans: bool| {
            let settle = postgres.settle_sql(&config(""), version);
            assert!(settle[0].sql.starts_with("VACUUM (ANALYZE") && settle[0].is_per_table());
            assert_eq!(settle[0].sql.contains("INDEX_CLEANUP ON"), cleans, "{version}");
        };
        check("9.6.24", false);
        check("11.22", false);
        check("12.0", true);
        check("18.6", true);
    }

    #[test]
    fn a_flush_or_compaction_that_fails_is_recorded() {
        for (server, statements) in [("mysql", 2), ("mariadb", 1)] {
            let settle = crate::find(server).unwrap().settle_sql(&config("ROCKSDB"), "10.11.19");
            let of_engine = settle.iter().filter(|statement| statement.sql.contains("rocksdb"));
            let failures: Vec<Failure> = of_engine.map(|statement| statement.failure).collect();
            assert_eq!(failures, vec![Failure::Recorded; statements], "{server}");
        }
    }

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
