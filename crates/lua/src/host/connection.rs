//! A connection of a script, and what it tells the prelude of each statement.

use super::Host;
use crate::{bulk::Bulk, counters::Counters, literal, settings::Driver, shared::Shared};
use load::wire::{Argument, Dialog, Failure, FailureKind, Kind, Told, Value as Sql};
use mlua::{Lua, LuaString, Table, Value};
use model::sql::pieces;
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
    time::Duration,
};

/// Of a success: columns of the result set, if there is one, and its rows; `true` where a call that
/// need not send anything did. Of a failure: `false`, whether the event may be tried again, the
/// number, the state and the message.
pub(super) type Five = (Value, Value, Value, Value, Value);

/// MySQL's number of a lost connection, whichever way it was lost.
const LOST: &str = "2013";
/// Why a thread of a workload opens no second connection.
pub(super) const ONE_CONNECTION: &str = "each thread of a workload has one connection, which is \
                                         measured; a script that opens more, or opens it anew, \
                                         runs with `dbdyno sysbench`";
/// Pause between two attempts to come back.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Connection {
    shared: Arc<Shared>,
    driver: Driver,
    index: usize,
    dialog: Option<Box<dyn Dialog>>,
    /// By their numbers, none of which is given twice; without those that were closed or went with
    /// their connection.
    statements: BTreeMap<usize, Statement>,
    /// The last number.
    prepared: usize,
    bulk: Option<Bulk>,
    lent: Lent,
}

/// Whether a connection is the script's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lent {
    No,
    /// It goes on without the script, which may not open another one.
    Yes,
}

struct Statement {
    kinds: Vec<Kind>,
    form: Form,
}

/// How a statement is sent.
enum Form {
    /// By its number at the server.
    Prepared(usize),
    /// As text, cut at its placeholders.
    Text(Vec<String>),
}

impl Statement {
    /// Its number at the server, if it has one.
    fn number(&self) -> Option<usize> {
        match self.form {
            Form::Prepared(number) => Some(number),
            Form::Text(_) => None,
        }
    }
}

impl Connection {
    pub(super) fn open(shared: &Arc<Shared>, driver: Driver) -> Result<Self, String> {
        let index = shared.connections.fetch_add(1, Relaxed);
        let dialog = Some(dial(shared, driver, index)?);
        let shared = Arc::clone(shared);
        let (statements, prepared, bulk, lent) = (BTreeMap::new(), 0, None, Lent::No);
        Ok(Self { shared, driver, index, dialog, statements, prepared, bulk, lent })
    }

    /// One that was opened before.
    pub(super) fn lent(shared: &Arc<Shared>, driver: Driver, dialog: Box<dyn Dialog>) -> Self {
        let (shared, dialog) = (Arc::clone(shared), Some(dialog));
        let (statements, prepared, bulk, lent) = (BTreeMap::new(), 0, None, Lent::Yes);
        Self { shared, driver, index: 0, dialog, statements, prepared, bulk, lent }
    }

    pub(super) fn disconnect(&mut self) {
        if let (Lent::Yes, Some(dialog)) = (self.lent, &mut self.dialog) {
            let mut known = self.statements.values().filter_map(Statement::number);
            // One that is lost has no statements.
            let _ = known.try_for_each(|number| dialog.close(number));
        }
        self.dialog = None;
        self.statements.clear();
    }

    /// Opens it anew; its statements are gone.
    pub(super) fn reconnect(&mut self) -> Result<(), String> {
        if self.lent == Lent::Yes {
            return Err(ONE_CONNECTION.to_owned());
        }
        self.disconnect();
        self.dialog = Some(dial(&self.shared, self.driver, self.index)?);
        Ok(())
    }

    pub(super) fn query(&mut self, lua: &Lua, host: &Host, sql: &[u8]) -> mlua::Result<Five> {
        let told = self.dialog().and_then(|dialog| dialog.query(sql));
        self.counted(lua, host, told)
    }

    pub(super) fn prepare(&mut self, lua: &Lua, host: &Host, sql: String) -> mlua::Result<Five> {
        let form = if self.shared.settings.prepares {
            match self.dialog().and_then(|dialog| dialog.prepare(&sql)) {
                Ok(number) => Form::Prepared(number),
                Err(failure) => return self.failed(lua, host, &failure),
            }
        } else {
            let pieces = pieces(&sql, self.driver.dialect());
            Form::Text(pieces.into_iter().map(str::to_owned).collect())
        };
        self.prepared += 1;
        self.statements.insert(self.prepared, Statement { kinds: Vec::new(), form });
        Ok((Value::Integer(self.prepared as _), Value::Nil, Value::Nil, Value::Nil, Value::Nil))
    }

    pub(super) fn bind(
        &mut self,
        lua: &Lua,
        host: &Host,
        statement: usize,
        kinds: &[u8],
    ) -> mlua::Result<Five> {
        let kinds = kinds.iter().map(|kind| match kind {
            1 => Kind::Integer,
            2 => Kind::Real,
            _ => Kind::Text,
        });
        let kinds: Vec<Kind> = kinds.collect();
        let known = self.statements.get_mut(&statement).ok_or_else(gone)?;
        known.kinds.clone_from(&kinds);
        let number = known.number();
        let bound = match number {
            Some(number) => self.dialog().and_then(|dialog| dialog.bind(number, &kinds)),
            None => Ok(()),
        };
        match bound {
            // Postgres parses the statement now.
            Ok(()) if number.is_some() && self.driver == Driver::Pgsql => Ok(sent()),
            Ok(()) => Ok(nothing()),
            Err(failure) => self.failed(lua, host, &failure),
        }
    }

    pub(super) fn execute(
        &mut self,
        lua: &Lua,
        host: &Host,
        statement: usize,
        values: &[Value],
    ) -> mlua::Result<Five> {
        let known = self.statements.get(&statement).ok_or_else(gone)?;
        let texts = values.iter().map(|value| value.as_string().map(LuaString::as_bytes));
        let texts: Vec<_> = texts.collect();
        let arguments: Result<Vec<Argument<'_>>, mlua::Error> = values
            .iter()
            .zip(&known.kinds)
            .zip(&texts)
            .map(|((value, kind), text)| argument(value, *kind, text.as_deref()))
            .collect();
        let arguments = arguments?;
        let told = match (&mut self.dialog, &known.form) {
            (None, _) => Err(disconnected()),
            (Some(dialog), Form::Prepared(number)) => dialog.execute(*number, &arguments),
            (Some(dialog), Form::Text(pieces)) => {
                let text = literal::text(self.driver, pieces, &arguments);
                text.map_err(Failure::own).and_then(|text| dialog.query(&text))
            }
        };
        self.counted(lua, host, told)
    }

    /// The values of the next row, or nothing.
    pub(super) fn fetch(&mut self, lua: &Lua) -> mlua::Result<Option<Table>> {
        let Some(dialog) = &mut self.dialog else { return Ok(None) };
        let row = lua.create_table()?;
        let (mut place, mut wrong) = (0, Ok(()));
        let found = dialog.next_row(&mut |value| {
            place += 1;
            let text = match value {
                Sql::Bytes(bytes) => lua.create_string(bytes),
                other => match other.text() {
                    Some(text) => lua.create_string(text),
                    None => return,
                },
            };
            if let Err(error) = text.and_then(|text: LuaString| row.raw_set(place, text)) {
                wrong = Err(error);
            }
        });
        wrong?;
        let found = found.map_err(|failure| mlua::Error::runtime(failure.message()))?;
        Ok(found.then_some(row))
    }

    /// Forgets a statement; whether the server was told.
    pub(super) fn close(&mut self, statement: usize) -> bool {
        let number = self.statements.remove(&statement).and_then(|known| known.number());
        let (Some(number), Some(dialog)) = (number, &mut self.dialog) else { return false };
        // A connection that is lost tells so at its next statement.
        let _ = dialog.close(number);
        true
    }

    pub(super) fn bulk_begin(&mut self, head: &[u8]) {
        self.bulk = Some(Bulk::new(head));
    }

    pub(super) fn bulk_next(&mut self, lua: &Lua, host: &Host, row: &[u8]) -> mlua::Result<Five> {
        let Some(bulk) = &mut self.bulk else {
            let reason = "`bulk_insert_next` comes before `bulk_insert_init`";
            return Err(mlua::Error::runtime(reason));
        };
        let full = bulk.push(row);
        self.send_rows(lua, host, full)
    }

    pub(super) fn bulk_end(&mut self, lua: &Lua, host: &Host) -> mlua::Result<Five> {
        let rest = self.bulk.take().and_then(|mut bulk| bulk.take());
        self.send_rows(lua, host, rest)
    }

    fn send_rows(&mut self, lua: &Lua, host: &Host, sql: Option<Vec<u8>>) -> mlua::Result<Five> {
        let Some(sql) = sql else { return Ok(nothing()) };
        let told = self.query(lua, host, &sql)?;
        Ok(if told.0.is_nil() { sent() } else { told })
    }

    fn dialog(&mut self) -> Result<&mut Box<dyn Dialog>, Failure> {
        self.dialog.as_mut().ok_or_else(disconnected)
    }

    fn counted(
        &mut self,
        lua: &Lua,
        host: &Host,
        told: Result<Told, Failure>,
    ) -> mlua::Result<Five> {
        let told = match told {
            Ok(told) => told,
            Err(failure) => return self.failed(lua, host, &failure),
        };
        let counters = host.counters();
        Counters::add(match told {
            Told { columns: Some(_), .. } => &counters.reads,
            Told { changed: 1.., .. } => &counters.writes,
            _ => &counters.others,
        });
        Counters::add_many(&counters.rows_read, told.rows);
        Counters::add_many(&counters.rows_changed, told.changed);
        let Some(columns) = told.columns else { return Ok(nothing()) };
        let (columns, rows) = (Value::Integer(columns as _), Value::Integer(told.rows as _));
        Ok((columns, rows, Value::Nil, Value::Nil, Value::Nil))
    }

    #[cold]
    fn failed(&mut self, lua: &Lua, host: &Host, failure: &Failure) -> mlua::Result<Five> {
        host.note(failure);
        let code = if failure.is_lost() { LOST } else { failure.code() };
        let ignored = &self.shared.settings.ignored;
        let ignorable = match self.driver {
            Driver::Mysql => {
                let server_s = failure.is_lost() || code.parse::<u32>().is_ok();
                server_s && ignored.iter().any(|one| one == code || one == "all")
            }
            Driver::Pgsql => failure.kind() == FailureKind::Retry,
        };
        let ignorable = ignorable && !(failure.is_lost() && self.lent == Lent::Yes);
        // As in sysbench, what is connected anew is no error.
        if ignorable && failure.is_lost() {
            self.come_back(host)?;
        } else if code != "client" {
            Counters::add(&host.counters().errors);
        }
        if ignorable && self.driver == Driver::Pgsql {
            // A connection that is lost tells so at its next statement.
            let _ = self.dialog().and_then(|dialog| dialog.query(b"ROLLBACK"));
        }
        let state = match (self.driver, code) {
            (Driver::Pgsql, code) if !failure.is_lost() && code != "client" => code,
            (Driver::Mysql, "1213") => "40001",
            _ => "",
        };
        let errno = code.parse::<i32>().unwrap_or(0);
        Ok((
            Value::Boolean(false),
            Value::Boolean(ignorable),
            Value::Integer(errno.into()),
            Value::String(lua.create_string(state)?),
            Value::String(lua.create_string(failure.message())?),
        ))
    }

    /// Tries to connect until it succeeds or the user stops it.
    fn come_back(&mut self, host: &Host) -> mlua::Result<()> {
        while self.reconnect().is_err() {
            if self.shared.is_over() {
                return Err(mlua::Error::runtime("the script was stopped while it connected anew"));
            }
            thread::sleep(PAUSE);
        }
        Counters::add(&host.counters().reconnects);
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.disconnect();
    }
}

fn dial(shared: &Shared, driver: Driver, index: usize) -> Result<Box<dyn Dialog>, String> {
    let target = shared.settings.target(driver, index).map_err(|error| error.to_string())?;
    load::protocol::dialog(&target).map_err(|failure| failure.message().to_owned())
}

fn disconnected() -> Failure {
    Failure::own("the connection is closed")
}

fn gone() -> mlua::Error {
    mlua::Error::runtime("the prepared statement was closed, or had a connection that was closed")
}

fn nothing() -> Five {
    (Value::Nil, Value::Nil, Value::Nil, Value::Nil, Value::Nil)
}

fn sent() -> Five {
    (Value::Boolean(true), Value::Nil, Value::Nil, Value::Nil, Value::Nil)
}

fn argument<'a>(
    value: &Value,
    kind: Kind,
    text: Option<&'a [u8]>,
) -> Result<Argument<'a>, mlua::Error> {
    let number = match value {
        Value::Nil => return Ok(Argument::Null),
        Value::Integer(number) => *number as f64,
        Value::Number(number) => *number,
        _ => match text {
            Some(text) => return Ok(Argument::Text(text)),
            None => return Err(mlua::Error::runtime("a parameter is no number and no text")),
        },
    };
    Ok(match kind {
        Kind::Real => Argument::Real(number),
        Kind::Integer | Kind::Text => match value {
            Value::Integer(number) => Argument::Integer(*number),
            _ => Argument::Integer(number as i64),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandLine, host::Supply, settings::Settings, testing::Server};

    #[test]
    fn what_is_connected_anew_is_no_error() {
        let options = ["--mysql-socket=/no/such/socket", "--mysql-ignore-errors=2013"];
        let words = [&["x.lua", "run"][..], &options].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let line = CommandLine::parse(&words).unwrap();
        let settings = Settings::of(&line, &|_| None).unwrap();
        let (script, out) = ("x.lua".to_owned(), Box::new(|_: &str| ()));
        let shared = Arc::new(Shared::new(line, settings, script, Arc::default(), out));
        // Nobody comes back, so that the attempts end with the run.
        shared.fail("it is over".to_owned());
        let (lua, host) = (Lua::new(), Host::new(&shared, 0, Supply::Dialed));
        let mut one = Connection::lent(&shared, Driver::Mysql, Box::<Server>::default());
        one.lent = Lent::No;
        let errors = || host.counters().errors.load(Relaxed);
        assert!(one.failed(&lua, &host, &Failure::lost("gone")).is_err());
        assert_eq!(errors(), 0);
        let refused = Failure::new(FailureKind::Statement, "1064", "no");
        one.failed(&lua, &host, &refused).unwrap();
        assert_eq!(errors(), 1);
    }
}
