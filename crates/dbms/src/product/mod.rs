//! Server products: what differs between them, as data and text.

use crate::{
    Access, Condition, Debt, Error, Explained, Maintenance, PlanRows, Question, Rendered, Result,
    ServerUser, Size, StateQuery,
    client::ask_version,
    installed::Program,
    package::Release,
    setup::{Setup, Step},
};
use model::{
    drive::{Endpoint, Target},
    subject::{Build, Config, Setting},
};
use rustix::process::Signal;
use std::{path::Path, time::Duration};

mod mariadb;
mod mysql;
mod mysql_family;
mod postgres;
mod sqlite;

/// A server product. A product that is embedded implements the first group of methods only.
pub trait Dbms: Sync {
    /// Name in builds, experiments and labels.
    fn name(&self) -> &'static str;

    /// One line of help.
    fn help(&self) -> &'static str;

    /// Wire protocol: a name in the load engine's table.
    fn protocol(&self) -> &'static str;

    /// Whether it is a library and not a process.
    fn embedded(&self) -> bool {
        false
    }

    /// A query whose rows are name and value of every setting.
    fn settings_sql(&self) -> &'static str;

    /// Settings that are asked for one by one, each with its query of one value: those that
    /// [`settings_sql`](Self::settings_sql) cannot tell, and all that the configuration has where
    /// an unknown one would be ignored in silence.
    fn settings_by_name(&self, _: &Config) -> Vec<(String, String)> {
        Vec::new()
    }

    /// A query of the same form whose values are as a configuration writes them, as far as the
    /// server can say so.
    fn readback_sql(&self) -> &'static str {
        self.settings_sql()
    }

    /// A query whose rows are name and value of what the server reports of its own build.
    fn build_sql(&self) -> &'static str;

    /// How to ask for the plan of a statement.
    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question>;

    /// What an answer to such a question says, one entry per table that the plan reads.
    fn plan_access(&self, answer: &PlanRows) -> Vec<Access>;

    /// How the size of tables and indexes of a server of this version is found, in bytes.
    fn size(&self, config: &Config, version: &str) -> Size;

    /// What servers that are compared should have alike.
    fn conditions(&self) -> &'static [Condition];

    /// How a server is asked for what it counts of itself.
    fn state(&self, _: &Config) -> &'static [StateQuery] {
        &[]
    }

    /// Work that a drain waits for.
    fn debts(&self, config: &Config) -> Vec<Debt>;

    /// Amounts that are owed and that files in a data folder tell, with their names; they are told
    /// and not waited for.
    fn owed_in_files(&self, _data: &Path) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Statements that make a server of this version pay its debts, those without a table on one
    /// connection.
    fn settle_sql(&self, config: &Config, version: &str) -> Vec<Maintenance>;

    /// Statements that undo what [`Dbms::settle_sql`] changed, on the same connection.
    fn unsettle_sql(&self, config: &Config) -> Vec<Maintenance>;

    /// A statement after which a connection ends every statement that takes longer, or with no
    /// limit, does so no more. None where a server of this version cannot be told so.
    fn limit_sql(&self, _version: &str, _limit: Option<Duration>) -> Option<String> {
        None
    }

    /// Settings that a server needs under an emulator, beside those of its configuration.
    fn settings_under_emulation(&self, _: &Config) -> Vec<Setting> {
        Vec::new()
    }

    /// Where an embedded database lies in a data folder. Fails for a server process.
    fn embedded_target(&self, _build: &Build, _config: &Config, _data: &Path) -> Result<Target> {
        Err(Error::NotEmbedded { server: self.name().to_owned() })
    }

    /// Versions that registries hold.
    fn releases(&self) -> Vec<Release> {
        Vec::new()
    }

    /// Turns what a registry or a maker's tarball holds into a base folder.
    fn arrange(&self, _folder: &Path) -> Result<()> {
        Ok(())
    }

    /// Finds the server's program in a base folder.
    fn program(&self, _basedir: &Path) -> Result<Program> {
        Err(Error::Embedded { server: self.name().to_owned() })
    }

    /// What a program, or a library, says about its version.
    fn version_text(&self, program: &Program, user: Option<ServerUser>) -> Result<String> {
        ask_version(program, user)
    }

    /// Whether what a program says about its version is said by this product.
    fn recognises(&self, _version_text: &str) -> bool {
        false
    }

    /// Commands that fill an empty data folder; files that they need are written.
    fn initialise(&self, _ground: &Setup<'_>) -> Result<Vec<Step>> {
        Err(Error::Embedded { server: self.name().to_owned() })
    }

    /// The configuration file.
    fn render(&self, _ground: &Setup<'_>) -> Result<Rendered> {
        Err(Error::Embedded { server: self.name().to_owned() })
    }

    /// Settings, in lower case, that a configuration may not have: see
    /// [`crate::check_settings`].
    fn own_settings(&self) -> &'static [&'static str] {
        &[]
    }

    /// Settings by which a server of this version encrypts connections, with a certificate and its
    /// key, in the place of those that a configuration has.
    fn tls_settings(&self, _version: &str, _files: [&Path; 2]) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Arguments after the program.
    fn arguments(&self, _ground: &Setup<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Address of a start.
    fn endpoint(&self, _ground: &Setup<'_>) -> Endpoint {
        Endpoint::Nowhere
    }

    /// How to enter at an address.
    fn target(&self, endpoint: Endpoint) -> Target {
        Target::of(self.protocol(), endpoint)
    }

    /// Settings that the server ignored, as far as only its log tells.
    fn ignored(&self, _ground: &Setup<'_>, _log: &str) -> Vec<String> {
        Vec::new()
    }

    /// The setting that a server refused to start with because it does not know it, as far as its
    /// log tells.
    fn unknown_setting(&self, _log: &str) -> Option<String> {
        None
    }

    /// Whether a log says that the server could not have the asynchronous I/O of the kernel.
    fn lacks_async_io(&self, _log: &str) -> bool {
        false
    }

    /// The signal of a clean and fast stop.
    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }
}

/// All products, in the order of help.
pub const DBMSES: &[&dyn Dbms] =
    &[&mysql::MYSQL, &mariadb::MARIADB, &postgres::Postgres, &sqlite::Sqlite];
