//! SQLite: a library inside the driver, bundled or by path; its settings are pragmas.

use super::Dbms;
use crate::{
    Access, Debt, Error, Explained, Maintenance, PlanRows, Question, Result, ServerUser, Size,
    condition, explain,
    installed::Program,
    known,
    package::{CRATE, Moves, Package, Release},
    version::setting_value,
};
use model::{
    drive::{Endpoint, Target},
    subject::{Build, Config},
};
use object::{Object, ObjectSection, ObjectSymbol, ReadCache};
use std::{collections::BTreeSet, path::Path};

/// The product.
pub(super) struct Sqlite;

const FILE: &str = "db.sqlite";

/// The crate whose releases each hold the source of one release of SQLite.
const SOURCES: &str = "libsqlite3-sys";

/// The library below a base folder.
const LIBRARY: &str = "lib/libsqlite3.so";

/// The symbol of a library that is its version.
const VERSION: &str = "sqlite3_version";
/// Longest version, bytes.
const VERSION_MAX: usize = 32;

/// Pragmas that say how the file is laid out: `journal_mode = WAL` writes its first page, after
/// which they change nothing.
const FIRST: [&str; 2] = ["auto_vacuum", "page_size"];

/// Pragmas that change what a statement costs and that no table function tells.
const TOLD_ALONE: [&str; 4] =
    ["cache_spill", "journal_size_limit", "mmap_size", "wal_autocheckpoint"];

impl Dbms for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn help(&self) -> &'static str {
        "SQLite, embedded: the bundled library, a release compiled here, or one by `basedir`"
    }

    fn protocol(&self) -> &'static str {
        "sqlite"
    }

    fn embedded(&self) -> bool {
        true
    }

    fn settings_sql(&self) -> &'static str {
        "SELECT 'auto_vacuum' AS name, auto_vacuum AS value FROM pragma_auto_vacuum \
         UNION ALL SELECT 'cache_size', cache_size FROM pragma_cache_size \
         UNION ALL SELECT 'journal_mode', journal_mode FROM pragma_journal_mode \
         UNION ALL SELECT 'locking_mode', locking_mode FROM pragma_locking_mode \
         UNION ALL SELECT 'page_size', page_size FROM pragma_page_size \
         UNION ALL SELECT 'synchronous', synchronous FROM pragma_synchronous \
         UNION ALL SELECT 'temp_store', temp_store FROM pragma_temp_store"
    }

    fn settings_by_name(&self, config: &Config) -> Vec<(String, String)> {
        let configured = config.settings.iter().map(|setting| setting.name.as_str());
        let names: BTreeSet<&str> = TOLD_ALONE.into_iter().chain(configured).collect();
        names.into_iter().map(|name| (name.to_owned(), format!("PRAGMA {name}"))).collect()
    }

    fn build_sql(&self) -> &'static str {
        "SELECT 'compile_options', group_concat(compile_options, ' ') FROM pragma_compile_options \
         UNION ALL SELECT 'source_id', sqlite_source_id()"
    }

    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question> {
        explain::sqlite_questions(statement)
    }

    fn plan_access(&self, answer: &PlanRows) -> Vec<Access> {
        explain::sqlite_access(answer)
    }

    fn size(&self, _: &Config, _version: &str) -> Size {
        // Pages that are still in a write-ahead log count too.
        Size::Sql("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    }

    fn conditions(&self) -> &'static [condition::Condition] {
        condition::SQLITE
    }

    fn debts(&self, _: &Config) -> Vec<Debt> {
        Vec::new()
    }

    fn owed_in_files(&self, data: &Path) -> Vec<(&'static str, f64)> {
        // A checkpoint would tell too, but it pays.
        let index = fs_err::read(data.join(format!("{FILE}-shm"))).unwrap_or_default();
        wal_pages(&index).map(|pages| ("wal_pages", f64::from(pages))).into_iter().collect()
    }

    fn settle_sql(&self, _: &Config, _version: &str) -> Vec<Maintenance> {
        vec![
            Maintenance::required("ANALYZE"),
            Maintenance::required("PRAGMA wal_checkpoint(TRUNCATE)"),
        ]
    }

    fn unsettle_sql(&self, _: &Config) -> Vec<Maintenance> {
        Vec::new()
    }

    fn releases(&self) -> Vec<Release> {
        let release = |(version, known): (&str, &known::Known)| Release {
            version: version.to_owned(),
            moves: Moves::Never,
            package: Package {
                registry: CRATE,
                names: vec![SOURCES.to_owned()],
                at: known.at.clone(),
            },
        };
        known::versions_of(self.name()).map(release).collect()
    }

    fn program(&self, basedir: &Path) -> Result<Program> {
        Program::at(self.name(), basedir, LIBRARY)
    }

    fn version_text(&self, program: &Program, _: Option<ServerUser>) -> Result<String> {
        library_version(&program.binary).ok_or_else(|| Error::OtherBuild {
            binary: program.binary.clone(),
            found: "a file without a version".to_owned(),
            wanted: "a library of SQLite".to_owned(),
        })
    }

    fn recognises(&self, version_text: &str) -> bool {
        version_text.starts_with(|c: char| c.is_ascii_digit())
    }

    fn embedded_target(&self, build: &Build, config: &Config, data: &Path) -> Result<Target> {
        let mut target = self.target(Endpoint::File(data.join(FILE)));
        target.library.clone_from(&build.basedir);
        let pragma = |(name, value): (&str, &str)| format!("PRAGMA {name}={value}");
        let version = build.basedir.as_deref().and_then(library_version).unwrap_or_default();
        let settings = config.settings.iter();
        let settings = settings.map(|s| (s.name.as_str(), setting_value(s, &version)));
        let mut settings: Vec<(&str, &str)> = settings.collect();
        settings.sort_by_key(|(name, _)| !FIRST.contains(&name.to_ascii_lowercase().as_str()));
        let settings = settings.into_iter().map(pragma);
        target.initial_sql = settings.chain(config.session.iter().cloned()).collect();
        Ok(target)
    }
}

/// The version of a library, which is read and not executed.
fn library_version(library: &Path) -> Option<String> {
    let file = fs_err::File::open(library).ok()?;
    let cache = ReadCache::new(file.into_file());
    let library = object::File::parse(&cache).ok()?;
    let address = library.dynamic_symbols().find(|s| s.name() == Ok(VERSION))?.address();
    let inside = |address: u64, start: u64, size: u64| address >= start && address - start < size;
    let section = library.sections().find(|s| inside(address, s.address(), s.size()))?;
    let at = usize::try_from(address - section.address()).ok()?;
    let text = section.data().ok()?.get(at..)?.split(|byte| *byte == 0).next()?;
    let text = std::str::from_utf8(text.get(..text.len().min(VERSION_MAX))?).ok()?;
    Some(text.to_owned())
}

/// Pages of a write-ahead log that are not in the database file yet, as the head of its index says
/// it: frames in the log less those that were copied. None where there is no log.
///
/// The layout is that of <https://sqlite.org/walformat.html>, in the byte order of the host.
fn wal_pages(index: &[u8]) -> Option<u32> {
    const IS_INITIALISED: usize = 12;
    const LAST_FRAME: usize = 16;
    const COPIED_FRAMES: usize = 96;
    let number = |at: usize| {
        let bytes = index.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let initialised = *index.get(IS_INITIALISED)? != 0;
    let (last, copied) = (number(LAST_FRAME)?, number(COPIED_FRAMES)?);
    initialised.then(|| last.saturating_sub(copied))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subject::Setting;

    #[test]
    fn a_write_ahead_log_does_not_keep_a_file_from_its_pages() {
        let settings = ["cache_size=-2", "journal_mode=WAL", "page_size=8192", "auto_vacuum=FULL"]
            .map(|text| text.split_once('=').unwrap())
            .map(|(name, value)| Setting {
                before: vec![("3.40".to_owned(), "0".to_owned())],
                ..Setting::of(name, value)
            });
        let session = vec!["PRAGMA optimize".to_owned()];
        let config = Config { settings: settings.into(), session, ..Config::default() };
        let folder = tempfile::tempdir().unwrap();
        let target = Sqlite.embedded_target(&Build::default(), &config, folder.path()).unwrap();
        let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
        database.execute_batch(&target.initial_sql.join("; ")).unwrap();
        let told = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((told("PRAGMA page_size"), told("PRAGMA auto_vacuum")), (8192, 1));
        assert_eq!(target.initial_sql.last(), config.session.first());
    }

    #[test]
    fn pages_in_a_log_are_owed_until_a_checkpoint_copies_them() {
        let folder = tempfile::tempdir().unwrap();
        let owed = || Sqlite.owed_in_files(folder.path());
        assert!(owed().is_empty());
        let database = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
        database
            .execute_batch(
                "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)",
            )
            .unwrap();
        // The file's first page and the table's.
        assert!(matches!(owed()[..], [("wal_pages", pages)] if pages >= 2.0), "{:?}", owed());
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        assert_eq!(owed(), [("wal_pages", 0.0)]);
    }
}
