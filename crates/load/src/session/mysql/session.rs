//! The control session of MySQL and MariaDB.

use super::{MysqlConnection, connect, insert, reply};
use crate::session::{
    Destination, Loading, Manner, RowSource, Rows, Session, Split, SqlError, text::TextRows,
};
use model::drive::Target;

/// The two ways of loading rows.
const BY_FILE: &str = "LOAD DATA LOCAL";
const BY_INSERT: &str = "INSERT";

/// Command byte of a text statement.
const COM_QUERY: u8 = 0x03;

pub(in crate::session) fn open(target: &Target) -> Result<Box<dyn Session>, SqlError> {
    Ok(Box::new(connect(target)?))
}

impl Session for MysqlConnection {
    fn query(&mut self, sql: &str) -> Result<Rows, SqlError> {
        match self.begin(sql)? {
            reply::Answer::Done(rows) => Ok(rows),
            reply::Answer::WantsFile => {
                // An empty packet says that the file is empty: no statement reads a file of this
                // host.
                self.stream.write(&[])?;
                self.finish()?;
                Err(SqlError::own("`LOAD DATA LOCAL` is not for statements; describe it as a load"))
            }
        }
    }

    fn server_version(&self) -> &str {
        &self.server_version
    }

    fn server_id(&self) -> u64 {
        u64::from(self.connection_id)
    }

    fn manner(&mut self, engine: &str) -> Result<Manner, SqlError> {
        let split = if is_rocksdb(engine) { Split::Tables } else { Split::Ranges };
        let by_file = prefers_files(&self.server_version) && self.takes_files()?;
        let method = if by_file { BY_FILE } else { BY_INSERT };
        Ok(Manner { method, split })
    }

    fn begin_load(&mut self, load: &Loading<'_>) -> Result<(), SqlError> {
        // InnoDB gains nothing from `unique_checks`, `foreign_key_checks` or a larger
        // `innodb_ddl_buffer_size` with one secondary index; nothing is set that does not help.
        if is_rocksdb(load.engine) {
            self.query("SET SESSION rocksdb_bulk_load = 1")?;
        }
        Ok(())
    }

    fn end_rows(&mut self, load: &Loading<'_>) -> Result<(), SqlError> {
        if is_rocksdb(load.engine) {
            self.query("SET SESSION rocksdb_bulk_load = 0")?;
        }
        Ok(())
    }

    fn end_load(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, SqlError> {
        if self.manner("")?.method == BY_FILE {
            self.load_data(into, rows)
        } else {
            insert::load(&mut self.stream, into, rows)
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

impl MysqlConnection {
    fn begin(&mut self, sql: &str) -> Result<reply::Answer, SqlError> {
        self.stream.command(&[&[COM_QUERY], sql.as_bytes()].concat())?;
        reply::read(&mut self.stream)
    }

    /// Whether the server's settings let a client send a file.
    fn takes_files(&mut self) -> Result<bool, SqlError> {
        let answer = self.query("SELECT @@local_infile")?;
        Ok(answer.rows.first().and_then(|row| row.first()?.as_deref()) == Some("1"))
    }

    fn load_data(
        &mut self,
        into: &Destination<'_>,
        rows: &mut dyn RowSource,
    ) -> Result<u64, SqlError> {
        // The file's name is never opened: it only has to be there.
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET {} ({})",
            into.table,
            if into.ascii { "binary" } else { "utf8mb4" },
            into.column_list()
        );
        match self.begin(&sql)? {
            reply::Answer::WantsFile => {}
            reply::Answer::Done(_) => {
                return Err(SqlError::lost("the server did not ask for the rows"));
            }
        }
        // Room for the packet's header, so that one write sends both.
        let mut chunk = TextRows::with_header(4);
        while let Some(packet) = chunk.next_chunk(rows) {
            // A server that gives a reason before it closes the connection is worth quoting.
            if let Err(lost) = self.stream.write_in_place(packet) {
                let reason = self.finish().err().unwrap_or_else(|| lost.clone());
                return Err(if reason.code == "client" { lost } else { reason });
            }
        }
        self.stream.write(&[])?;
        self.finish()
    }

    /// Reads the answer after a file; the number of rows changed.
    fn finish(&mut self) -> Result<u64, SqlError> {
        match reply::read(&mut self.stream)? {
            reply::Answer::Done(rows) => Ok(rows.changed),
            reply::Answer::WantsFile => Err(SqlError::lost("the server asked for rows twice")),
        }
    }
}
