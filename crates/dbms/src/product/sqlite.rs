//! SQLite: a library inside the driver, bundled or by path; its settings are pragmas.

use super::Dbms;
use crate::{Access, Debt, Explained, Maintenance, PlanRows, Question, Result, Size, explain};
use model::{
    drive::{Endpoint, Target},
    subject::{Build, Config},
};
use std::path::Path;

/// The product.
pub(super) struct Sqlite;

const FILE: &str = "db.sqlite";

impl Dbms for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn help(&self) -> &'static str {
        "SQLite, embedded: the bundled library, or one by `basedir`"
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
         \
         UNION ALL SELECT 'page_size', page_size FROM pragma_page_size \
         UNION ALL SELECT 'synchronous', synchronous FROM pragma_synchronous \
         UNION ALL SELECT 'temp_store', temp_store FROM pragma_temp_store"
    }

    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question> {
        explain::sqlite_questions(statement)
    }

    fn plan_access(&self, answer: &PlanRows) -> Vec<Access> {
        explain::sqlite_access(answer)
    }

    fn size(&self, _: &Config) -> Size {
        // Pages that are still in a write-ahead log count too.
        Size::Sql("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    }

    fn debts(&self, _: &Config) -> Vec<Debt> {
        Vec::new()
    }

    fn settle_sql(&self, _: &Config) -> Vec<Maintenance> {
        vec![
            Maintenance::required("ANALYZE"),
            Maintenance::required("PRAGMA wal_checkpoint(TRUNCATE)"),
        ]
    }

    fn unsettle_sql(&self, _: &Config) -> Vec<Maintenance> {
        Vec::new()
    }

    fn embedded_target(&self, build: &Build, config: &Config, data: &Path) -> Result<Target> {
        let mut target = self.target(Endpoint::File(data.join(FILE)));
        target.library.clone_from(&build.basedir);
        let pragma = |(name, value): (&str, &str)| format!("PRAGMA {name}={value}");
        let settings = config.settings.iter().map(|s| (s.name.as_str(), s.value.as_str()));
        target.initial_sql = settings.map(pragma).collect();
        Ok(target)
    }
}
