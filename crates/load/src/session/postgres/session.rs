//! The control session of PostgreSQL.

use super::{PostgresConnection, connect, message};
use crate::session::{
    Destination, Loading, Manner, RowSource, Rows, Session, Split, SqlError, text::TextRows,
};
use model::drive::Target;
use postgres_protocol::message::{backend::Message, frontend};

/// Tag of a message that carries rows of a COPY.
const COPY_DATA: u8 = b'd';

pub(in crate::session) fn open(target: &Target) -> Result<Box<dyn Session>, SqlError> {
    Ok(Box::new(connect(target)?))
}

impl Session for PostgresConnection {
    fn query(&mut self, sql: &str) -> Result<Rows, SqlError> {
        self.stream.send(|out| frontend::query(sql, out))?;
        self.answer()
    }

    fn server_version(&self) -> &str {
        let version = self.parameters.iter().find(|(name, _)| name == "server_version");
        version.map_or("", |(_, value)| value)
    }

    fn server_id(&self) -> u64 {
        u64::from(self.backend_pid)
    }

    fn manner(&mut self, _: &str) -> Result<Manner, SqlError> {
        // Rows lie in the table in the order of their arrival.
        Ok(Manner { method: "COPY", split: Split::Tables })
    }

    fn begin_load(&mut self, load: &Loading<'_>) -> Result<(), SqlError> {
        let megabytes = (512 / load.threads.max(1)).max(64);
        self.query(&format!("SET maintenance_work_mem = '{megabytes}MB'"))?;
        Ok(())
    }

    fn end_rows(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn end_load(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        self.query("RESET maintenance_work_mem")?;
        Ok(())
    }

    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, SqlError> {
        let columns = into.column_list();
        let sql = format!("COPY {} ({columns}) FROM STDIN", into.table);
        self.stream.send(|out| frontend::query(&sql, out))?;
        match self.stream.read()? {
            Message::CopyInResponse(_) => {}
            Message::ErrorResponse(body) => {
                let error = message::error(&body);
                return if error.lost { Err(error) } else { self.answer().and(Err(error)) };
            }
            _ => return Err(SqlError::lost("the server did not ask for the rows")),
        }
        // Room for the message's header, so that one write sends both.
        let mut chunk = TextRows::with_header(5);
        while let Some(message) = chunk.next_chunk(rows) {
            let length = u32::try_from(message.len() - 1)
                .map_err(|_| SqlError::lost("a chunk of rows is longer than 4 GiB"))?;
            message[0] = COPY_DATA;
            message[1..5].copy_from_slice(&length.to_be_bytes());
            self.stream.send_raw(message).map_err(|lost| self.farewell().unwrap_or(lost))?;
        }
        self.stream.send(|out| {
            frontend::copy_done(out);
            Ok(())
        })?;
        Ok(self.answer()?.changed)
    }
}

impl PostgresConnection {
    /// The reason that the server gave before it closed the connection, if it did.
    fn farewell(&mut self) -> Option<SqlError> {
        match self.stream.read() {
            Ok(Message::ErrorResponse(body)) => {
                Some(SqlError { lost: true, ..message::error(&body) })
            }
            _ => None,
        }
    }

    /// Reads up to ReadyForQuery.
    fn answer(&mut self) -> Result<Rows, SqlError> {
        let mut all = Rows::default();
        let mut first_error = None;
        let mut kept = false;
        loop {
            match self.stream.read()? {
                Message::RowDescription(body) => {
                    kept = all.columns.is_empty();
                    if kept {
                        all.columns = message::column_names(&body)?;
                    }
                }
                Message::DataRow(body) if kept => all.rows.push(message::values(&body)?),
                Message::CommandComplete(body) => {
                    all.changed += message::changed(body.tag().unwrap_or_default());
                }
                Message::ErrorResponse(body) => {
                    let error = message::error(&body);
                    if error.lost {
                        return Err(error);
                    }
                    first_error.get_or_insert(error);
                }
                Message::CopyInResponse(_) => {
                    let refusal = "`COPY FROM STDIN` is not for statements; describe it as a load";
                    self.stream.send(|out| frontend::copy_fail(refusal, out))?;
                }
                Message::ReadyForQuery(_) => return first_error.map_or(Ok(all), Err),
                _ => {}
            }
        }
    }
}
