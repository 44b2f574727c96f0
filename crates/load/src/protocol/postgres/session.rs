//! The control session of PostgreSQL.

use super::{
    Connection, message,
    reply::{Reply, Taker},
};
use crate::wire::{
    Destination, Failure, LoadMethod, Loading, RowSource, Rows, Session, Split, lines::Lines,
    rows::Collected,
};
use model::drive::{Encryption, Target};

/// Tag of a message that carries rows of a COPY.
const COPY_DATA: u8 = b'd';

/// Kinds of the messages that end a COPY, well or badly.
const COPY_DONE: u8 = b'c';
const COPY_FAIL: u8 = b'f';

pub(super) fn open(target: &Target) -> Result<Box<dyn Session>, Failure> {
    Ok(Box::new(Connection::open(target)?))
}

impl Session for Connection {
    fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        self.channel.send(&message::query(sql))?;
        let (mut collected, mut types) = (Collected::default(), Vec::new());
        let taker = Taker { rows: &mut collected, types: &mut types, binary: false };
        let mut reply = Reply::new(Some(taker));
        self.read(&mut reply)?;
        while reply.wants_rows() {
            let refusal = b"`COPY FROM STDIN` is not for statements; describe it as a load\0";
            self.send(COPY_FAIL, refusal)?;
            self.read(&mut reply)?;
        }
        let changed = reply.into_answer()?.changed;
        Ok(Rows { changed, ..collected.rows })
    }

    fn server_version(&self) -> &str {
        &self.server_version
    }

    fn encryption(&self) -> Option<Encryption> {
        self.channel.encryption()
    }

    fn load_method(&mut self, _: &str) -> Result<LoadMethod, Failure> {
        // Rows lie in the table in the order of their arrival.
        Ok(LoadMethod { name: "COPY", split: Split::Tables })
    }

    fn begin_load(&mut self, load: &Loading<'_>) -> Result<(), Failure> {
        let megabytes = (512 / load.threads.max(1)).max(64);
        self.execute(&format!("SET maintenance_work_mem = '{megabytes}MB'"))?;
        Ok(())
    }

    fn end_load(&mut self, _: &Loading<'_>) -> Result<(), Failure> {
        self.execute("RESET maintenance_work_mem")?;
        Ok(())
    }

    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, Failure> {
        self.channel.wait_for_room()?;
        let columns = into.column_list();
        let sql = format!("COPY {} ({columns}) FROM STDIN", into.table);
        self.channel.send(&message::query(&sql))?;
        let mut reply = Reply::new(None);
        self.read(&mut reply)?;
        if !reply.wants_rows() {
            reply.into_answer()?;
            return Err(Failure::lost("the server did not ask for the rows"));
        }
        // Room for the message's head, so that one write sends both.
        let mut chunk = Lines::with_head(message::HEAD);
        while let Some(message) = chunk.next_chunk(rows) {
            let length = u32::try_from(message.len() - 1)
                .map_err(|_| Failure::lost("a chunk of rows is longer than 4 GiB"))?;
            message[0] = COPY_DATA;
            message[1..5].copy_from_slice(&length.to_be_bytes());
            self.channel.send(message).map_err(|lost| self.farewell(lost))?;
        }
        self.send(COPY_DONE, &[])?;
        self.read(&mut reply)?;
        Ok(reply.into_answer()?.changed)
    }
}
