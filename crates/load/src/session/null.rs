//! The session of no server at all, beside the null client: every statement is answered at once.

use super::{Destination, Loading, Manner, RowSink, RowSource, Rows, Session, Split, SqlError};
use model::drive::Target;

struct NullSession;

pub(super) fn open(_: &Target) -> Result<Box<dyn Session>, SqlError> {
    Ok(Box::new(NullSession))
}

impl Session for NullSession {
    fn query(&mut self, _: &str) -> Result<Rows, SqlError> {
        Ok(Rows::default())
    }

    fn server_version(&self) -> &str {
        "null"
    }

    fn server_id(&self) -> u64 {
        0
    }

    fn manner(&mut self, _: &str) -> Result<Manner, SqlError> {
        Ok(Manner { method: "nothing", split: Split::Ranges })
    }

    fn begin_load(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn end_rows(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn end_load(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn load(&mut self, _: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, SqlError> {
        let mut count = Count(0);
        while rows.next_row(&mut count) {}
        Ok(count.0)
    }
}

/// Counts rows.
struct Count(u64);

impl RowSink for Count {
    fn integer(&mut self, _: i64) {}

    fn text(&mut self, _: &[u8]) {}

    fn end_row(&mut self) {
        self.0 += 1;
    }
}
