//! A server for tests of scripts.

use load::wire::{Argument, Dialog, Failure, FailureKind, Kind, Told, Value};

/// Answers `SELECT` by two rows and refuses `wrong`. As of a real one, what is sent next frees the
/// rows that nobody fetched.
#[derive(Default)]
pub(crate) struct Server {
    left: u64,
}

impl Dialog for Server {
    fn query(&mut self, sql: &[u8]) -> Result<Told, Failure> {
        self.left = 0;
        match sql {
            b"SELECT" => {
                self.left = 2;
                Ok(Told { columns: Some(1), rows: 2, changed: 0 })
            }
            b"wrong" => Err(Failure::new(FailureKind::Statement, "1064", "no")),
            _ => Ok(Told { columns: None, rows: 0, changed: 1 }),
        }
    }

    fn prepare(&mut self, _: &str) -> Result<usize, Failure> {
        self.left = 0;
        Ok(0)
    }

    fn bind(&mut self, _: usize, _: &[Kind]) -> Result<(), Failure> {
        Ok(())
    }

    fn execute(&mut self, _: usize, _: &[Argument<'_>]) -> Result<Told, Failure> {
        self.query(b"SELECT")
    }

    fn close(&mut self, _: usize) -> Result<(), Failure> {
        self.left = 0;
        Ok(())
    }

    fn next_row(&mut self, take: &mut dyn FnMut(Value<'_>)) -> Result<bool, Failure> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        take(Value::Integer(7));
        Ok(true)
    }
}
