//! The control session of MySQL and MariaDB.

use super::{
    COM_QUERY, Connection, insert,
    packet::HEAD,
    reply::{self, Reply, RowFormat},
};
use crate::wire::{
    Destination, Failure, FailureKind, LoadMethod, Loading, RowSource, Rows, Session, Split,
    lines::Lines, rows::Collected,
};
use model::drive::{Encryption, Target};

/// The two ways of loading rows.
const BY_FILE: &str = "LOAD DATA LOCAL";
const BY_INSERT: &str = "INSERT";

/// What the server says of a row whose values it has changed: too few or too many of them, NULL,
/// out of range, cut, no number, no time, no text of the character set, too long.
const CHANGED: [&str; 9] = ["1261", "1262", "1263", "1264", "1265", "1292", "1299", "1366", "1406"];

/// A server without a strict mode, as MySQL had none by default before 5.7 and MariaDB before 10.2,
/// stores something else instead of a value that a column does not hold.
const STRICT: [&str; 2] = [
    "SET @dbdyno_sql_mode = @@SESSION.sql_mode",
    "SET SESSION sql_mode = \
     CONCAT_WS(',', NULLIF(@@SESSION.sql_mode, ''), 'STRICT_ALL_TABLES')",
];
const AS_BEFORE: &str = "SET SESSION sql_mode = @dbdyno_sql_mode";

pub(super) fn open(target: &Target) -> Result<Box<dyn Session>, Failure> {
    Ok(Box::new(Connection::open(target)?))
}

impl Session for Connection {
    fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        self.packets.command(COM_QUERY, sql.as_bytes())?;
        let mut collected = Collected::default();
        let mut reply = Reply::new(self.definitions, RowFormat::Text, Some(&mut collected));
        let answer = self.read(&mut reply);
        if reply.wants_file() {
            // An empty packet says that the file is empty: no statement reads a file of this host.
            self.packets.expect_after(1);
            self.packets.write(&[])?;
            self.answer()?;
            return Err(Failure::own(
                "`LOAD DATA LOCAL` is not for statements; describe it as a load",
            ));
        }
        let changed = answer?.changed;
        Ok(Rows { changed, ..collected.rows })
    }

    fn server_version(&self) -> &str {
        &self.server_version
    }

    fn encryption(&self) -> Option<Encryption> {
        self.packets.channel.encryption()
    }

    fn load_method(&mut self, engine: &str) -> Result<LoadMethod, Failure> {
        let split = if is_rocksdb(engine) { Split::Tables } else { Split::Ranges };
        let by_file = prefers_files(&self.server_version) && self.takes_files()?;
        Ok(LoadMethod { name: if by_file { BY_FILE } else { BY_INSERT }, split })
    }

    fn begin_load(&mut self, load: &Loading<'_>) -> Result<(), Failure> {
        for sql in STRICT {
            self.execute(sql)?;
        }
        // InnoDB gains nothing from `unique_checks`, `foreign_key_checks` or a larger
        // `innodb_ddl_buffer_size` with one secondary index; nothing is set that does not help.
        if is_rocksdb(load.engine) {
            self.execute("SET SESSION rocksdb_bulk_load = 1")?;
        }
        Ok(())
    }

    fn end_rows(&mut self, load: &Loading<'_>) -> Result<(), Failure> {
        if is_rocksdb(load.engine) {
            self.execute("SET SESSION rocksdb_bulk_load = 0")?;
        }
        self.execute(AS_BEFORE)?;
        Ok(())
    }

    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, Failure> {
        if self.load_method("")?.name == BY_FILE {
            self.load_data(into, rows)
        } else {
            insert::load(self, into, rows)
        }
    }
}

/// Whether `LOAD DATA` is cheaper than a prepared INSERT of many rows. MySQL from 8 on rewrites the
/// text of the statement with all values at each execution: 1 million rows took 7.8 s by INSERT and
/// 5.0 s by `LOAD DATA` (9.7.4), but 2.8 s and 3.8 s on 5.6.24, which instead lets only one `LOAD
/// DATA` at a time work on a table with AUTO_INCREMENT.
fn prefers_files(server_version: &str) -> bool {
    let major = server_version.split('.').next().and_then(|word| word.parse().ok());
    !server_version.contains("MariaDB") && major.is_some_and(|major: u32| major >= 8)
}

fn is_rocksdb(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("rocksdb")
}

impl Connection {
    /// Whether the server's settings let a client send a file.
    fn takes_files(&mut self) -> Result<bool, Failure> {
        let answer = self.query("SELECT @@local_infile")?;
        Ok(answer.rows.first().and_then(|row| row.first()?.as_deref()) == Some("1"))
    }

    fn load_data(
        &mut self,
        into: &Destination<'_>,
        rows: &mut dyn RowSource,
    ) -> Result<u64, Failure> {
        self.packets.channel.wait_for_room()?;
        // The file's name is never opened: it only has to be there.
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET {} ({})",
            into.table,
            if into.ascii { "binary" } else { "utf8mb4" },
            into.column_list()
        );
        self.packets.command(COM_QUERY, sql.as_bytes())?;
        if self.packets.read()?.first() != Some(&reply::LOCAL_FILE) {
            return Err(Failure::lost("the server did not ask for the rows"));
        }
        // Room for the packet's head, so that one write sends both.
        let mut chunk = Lines::with_head(HEAD);
        while let Some(packet) = chunk.next_chunk(rows) {
            if let Err(lost) = self.packets.write_in_place(packet) {
                // A server that gives a reason before it closes the connection is worth quoting.
                let told = self.answer().err().filter(|told| told.code() != lost.code());
                return Err(told.unwrap_or(lost));
            }
        }
        self.packets.write(&[])?;
        let stored = self.answer()?.changed;
        self.refuse_changed()?;
        // With `autocommit = 0` they are stored only now.
        self.execute("COMMIT")?;
        Ok(stored)
    }

    /// Refuses rows that are not stored as they were sent. Elsewhere that is an error; of what
    /// comes from a client, `LOAD DATA` makes a warning, whatever the mode of the server is.
    fn refuse_changed(&mut self) -> Result<(), Failure> {
        for told in self.query("SHOW WARNINGS")?.rows {
            if let [Some(level), Some(code), Some(message)] = told.as_slice()
                && level == "Warning"
                && CHANGED.contains(&code.as_str())
            {
                let message = format!("{message}; give the column a type that holds its values");
                return Err(Failure::new(FailureKind::Statement, code.as_str(), message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
