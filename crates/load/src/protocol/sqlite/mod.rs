//! SQLite as a library: databases and statements, for the control session and the measured client
//! alike.
//!
//! This is the only place that calls SQLite's C interface. It goes through a table of functions
//! ([`api`]), so that the bundled engine and a library of the user's take the same path. The
//! measured client calls the thin methods of [`Statement`]; nothing here allocates between two
//! statements.
#![allow(unsafe_code, reason = "SQLite is called through its C interface")]

mod api;
mod client;
mod extension;
mod session;

pub(super) use client::Sqlite;

use crate::wire::{Answer, Failure, FailureKind, Parameter, Row, Value, rows::TakeRows};
use api::Api;
use libsqlite3_sys as ffi;
use model::drive::{Endpoint, Target};
use std::{
    ffi::{CStr, CString, c_char, c_int},
    hint::black_box,
    os::unix::ffi::OsStrExt,
    rc::Rc,
    slice,
};

/// How long a statement waits for a lock before it is refused as busy, milliseconds; a pragma among
/// the target's initial statements may change it.
const BUSY_TIMEOUT_MS: c_int = 5000;

/// An open database, used by one thread at a time.
pub(super) struct Database {
    connection: Rc<Connection>,
}

/// A prepared statement. It may outlive its [`Database`], which then stays open until it is
/// dropped.
pub(super) struct Statement {
    handle: *mut ffi::sqlite3_stmt,
    columns: c_int,
    readonly: bool,
    /// Texts that SQLite reads where they are.
    buffers: Vec<Box<[u8]>>,
    connection: Rc<Connection>,
}

/// How often a statement is executed: the library parses one that it may forget soon in memory that
/// it has at hand, and would be slower without.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use {
    Once,
    Often,
}

/// The handle of an open database; closed when the last statement is gone.
struct Connection {
    api: Api,
    handle: *mut ffi::sqlite3,
}

// SAFETY: the library is built for several threads (checked on loading), so a connection may move
// to another thread. A database and its statements share a count that is not atomic; both users of
// this module keep them in one value, so that they move together and are used by one thread at a
// time.
unsafe impl Send for Database {}

// SAFETY: as for `Database`.
unsafe impl Send for Statement {}

impl Database {
    /// Opens or creates the database file of `target` with the library it names, and executes its
    /// initial statements.
    pub(super) fn open(target: &Target) -> Result<Self, Failure> {
        let Endpoint::File(path) = &target.endpoint else {
            return Err(Failure::own(format!(
                "protocol `sqlite` needs a file, not `{:?}`",
                target.endpoint
            )));
        };
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Failure::own(format!("`{}` is not a path", path.display())))?;
        let api = Api::open(target.library.as_deref())?;
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        let mut handle = api::nothing();
        // SAFETY: the name ends with a zero; the handle is written even on failure, and closed by
        // `drop`.
        let code = unsafe { (api.open_v2)(name.as_ptr(), &mut handle, flags, api::nothing()) };
        let mut database = Self { connection: Rc::new(Connection { api, handle }) };
        if code != ffi::SQLITE_OK {
            let path = path.display();
            return Err(database.error().worded(|why| format!("cannot open `{path}`: {why}")));
        }
        // SAFETY: the handle is open.
        unsafe {
            (database.connection.api.busy_timeout)(database.connection.handle, BUSY_TIMEOUT_MS)
        };
        database.plan_once()?;
        if let Some(name) = &target.extension {
            extension::add(database.connection.handle, name, target.library.as_deref())?;
        }
        for sql in &target.initial_sql {
            database.execute(sql).map_err(|failure| failure.in_statement(sql))?;
        }
        Ok(database)
    }

    /// Makes plans independent of the arguments that are bound. A library with `ENABLE_STAT4`
    /// otherwise prepares a statement anew at each execution that binds a value which the plan may
    /// depend on, and the cost of a prepared statement is then that of preparing it:
    /// <https://sqlite.org/queryplanner-ng.html#qpstab>.
    fn plan_once(&self) -> Result<(), Failure> {
        let (on, mut is_on): (c_int, c_int) = (1, 0);
        let api = &self.connection.api;
        // SAFETY: the handle is open; this option takes an `int` and a place for an `int`.
        unsafe {
            (api.db_config)(
                self.connection.handle,
                ffi::SQLITE_DBCONFIG_ENABLE_QPSG,
                on,
                &raw mut is_on,
            )
        };
        match is_on {
            0 => Err(Failure::own(
                "this SQLite library cannot keep the plans of prepared statements \
                 (SQLITE_DBCONFIG_ENABLE_QPSG)",
            )),
            _ => Ok(()),
        }
    }

    /// Version of the library.
    pub(super) fn version(&self) -> String {
        // SAFETY: returns a constant text that ends with a zero.
        let version = unsafe { CStr::from_ptr((self.connection.api.libversion)()) };
        version.to_string_lossy().into_owned()
    }

    /// Prepares the first statement of `sql`; `None` if there is only white space. The rest
    /// follows.
    pub(super) fn prepare<'a>(
        &mut self,
        sql: &'a str,
        usage: Use,
    ) -> Result<Option<(Statement, &'a str)>, Failure> {
        let length = c_int::try_from(sql.len())
            .map_err(|_| Failure::own("a statement is longer than 2 GiB"))?;
        let flags = match usage {
            Use::Once => 0,
            Use::Often => ffi::SQLITE_PREPARE_PERSISTENT,
        };
        let start: *const c_char = sql.as_ptr().cast();
        let (mut handle, mut tail) = (api::nothing(), start);
        // SAFETY: pointer and length are those of `sql`; both results are written.
        let code = unsafe {
            (self.connection.api.prepare_v3)(
                self.connection.handle,
                start,
                length,
                flags,
                &mut handle,
                &mut tail,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(self.error());
        }
        if handle.is_null() {
            return Ok(None);
        }
        let used = (tail as usize).saturating_sub(start as usize);
        let connection = Rc::clone(&self.connection);
        // SAFETY: the statement was just prepared.
        let (columns, readonly) = unsafe {
            ((connection.api.column_count)(handle), (connection.api.stmt_readonly)(handle) != 0)
        };
        let statement = Statement { handle, columns, readonly, buffers: Vec::new(), connection };
        Ok(Some((statement, sql.get(used..).unwrap_or_default())))
    }

    /// Refuses a second statement in `rest`, which [`Self::prepare`] left: nobody would execute it.
    fn refuse_more(&mut self, rest: &str) -> Result<(), Failure> {
        if rest.trim_ascii().is_empty() || self.prepare(rest, Use::Once)?.is_none() {
            return Ok(());
        }
        Err(Failure::own(
            "SQLite executes one statement at a time; declare each as a statement of its own",
        ))
    }

    /// Executes all statements of `sql` and forgets their rows.
    pub(super) fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        let mut rest = sql;
        while let Some((mut statement, tail)) = self.prepare(rest, Use::Once)? {
            while statement.step().map_err(|Refused| self.error())? {}
            rest = tail;
        }
        Ok(())
    }

    /// Executes a statement whose arguments are bound, and makes it ready for the next time. A row
    /// that nobody takes is looked at column by column, as an application does, because the engine
    /// fetches a column only when it is asked for.
    #[inline]
    fn run(
        &mut self,
        statement: &mut Statement,
        mut take: Option<&mut dyn TakeRows>,
    ) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        let before = if statement.readonly() { 0 } else { self.total_changes() };
        loop {
            match statement.step() {
                Ok(true) => {
                    answer.rows += 1;
                    let mut row = Columns { statement, at: 0 };
                    match &mut take {
                        // Its values always make sense.
                        Some(take) => drop(take.row(&mut row)),
                        None => while black_box(row.next()).is_some() {},
                    }
                }
                Ok(false) => break,
                Err(Refused) => {
                    let error = self.error();
                    statement.reset();
                    return Err(error);
                }
            }
        }
        if !statement.readonly() && self.total_changes() != before {
            answer.changed = self.changes();
        }
        statement.reset();
        Ok(answer)
    }

    /// Rows changed by the last statement that changed any.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        // SAFETY: the handle is open.
        u64::try_from(unsafe { (self.connection.api.changes)(self.connection.handle) }).unwrap_or(0)
    }

    /// Rows changed since the database was opened; tells whether a statement changed any.
    #[inline]
    pub(super) fn total_changes(&self) -> i32 {
        // SAFETY: the handle is open.
        unsafe { (self.connection.api.total_changes)(self.connection.handle) }
    }

    /// How often the bundled library has taken memory that it had at hand.
    #[cfg(test)]
    fn taken_at_hand(&self) -> c_int {
        let (mut now, mut so_far) = (0, 0);
        let status = ffi::SQLITE_DBSTATUS_LOOKASIDE_HIT;
        // SAFETY: the handle is open; both results are written.
        unsafe {
            let handle = self.connection.handle;
            ffi::sqlite3_db_status(handle, status, &raw mut now, &raw mut so_far, 0)
        };
        so_far
    }

    /// Whether a transaction is open.
    pub(super) fn in_transaction(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { (self.connection.api.get_autocommit)(self.connection.handle) == 0 }
    }

    /// The error of the call that failed last.
    #[cold]
    pub(super) fn error(&self) -> Failure {
        // SAFETY: both functions accept a null handle; the message is copied before the next call.
        let (code, message) = unsafe {
            let message = CStr::from_ptr((self.connection.api.errmsg)(self.connection.handle));
            (
                (self.connection.api.extended_errcode)(self.connection.handle),
                message.to_string_lossy().into_owned(),
            )
        };
        // The low byte is the primary code. A lock that another connection holds is waited for
        // inside the library first; what is still busy then, or cannot be waited for, as a reader
        // that wants to write to a newer state, is begun again.
        let kind = match code & 0xff {
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => FailureKind::Retry,
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => FailureKind::Lost,
            _ => FailureKind::Statement,
        };
        Failure::new(kind, code.to_string(), message)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: no statement is left, and the handle is not used again; null is allowed.
        unsafe { (self.api.close)(self.handle) };
    }
}

/// The columns of the current row.
struct Columns<'a> {
    statement: &'a mut Statement,
    at: c_int,
}

impl Row for Columns<'_> {
    #[inline]
    fn next(&mut self) -> Option<Value<'_>> {
        let column = self.at;
        self.at += 1;
        (column < self.statement.columns()).then(|| self.statement.value(column))
    }
}

/// A call that SQLite refused; [`Database::error`] tells why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

impl Statement {
    /// Binds an integer to place `place` (from 1).
    #[inline]
    pub(super) fn bind_integer(&mut self, place: c_int, value: i64) -> Result<(), Refused> {
        // SAFETY: the statement is prepared; a place that it does not have is refused.
        accepted(unsafe { (self.connection.api.bind_int64)(self.handle, place, value) })
    }

    /// Binds a copy of a text, which is UTF-8, to place `place` (from 1).
    pub(super) fn bind_text(&mut self, place: c_int, value: &[u8]) -> Result<(), Refused> {
        let length = c_int::try_from(value.len()).map_err(|_| Refused)?;
        // SAFETY: SQLite copies the bytes before it returns.
        accepted(unsafe {
            (self.connection.api.bind_text)(
                self.handle,
                place,
                value.as_ptr().cast(),
                length,
                api::transient(),
            )
        })
    }

    /// Binds a copy of some bytes to place `place` (from 1).
    pub(super) fn bind_bytes(&mut self, place: c_int, value: &[u8]) -> Result<(), Refused> {
        let length = c_int::try_from(value.len()).map_err(|_| Refused)?;
        // SAFETY: SQLite copies the bytes before it returns.
        accepted(unsafe {
            (self.connection.api.bind_blob)(
                self.handle,
                place,
                value.as_ptr().cast(),
                length,
                api::transient(),
            )
        })
    }

    /// Binds NULL to place `place` (from 1).
    pub(super) fn bind_null(&mut self, place: c_int) -> Result<(), Refused> {
        // SAFETY: a text without address is NULL, whatever its length.
        accepted(unsafe {
            (self.connection.api.bind_text)(
                self.handle,
                place,
                std::ptr::null(),
                0,
                api::transient(),
            )
        })
    }

    /// Gives place `place` (from 1) a buffer that begins as `parameter` does, a text or plain
    /// bytes, and returns the buffer's number for [`Statement::buffer`]. Each execution reads what
    /// the buffer holds then, without a copy.
    pub(super) fn bind_buffer(
        &mut self,
        place: c_int,
        parameter: &Parameter,
    ) -> Result<usize, Refused> {
        let buffer: Box<[u8]> = parameter.template().into();
        let length = c_int::try_from(buffer.len()).map_err(|_| Refused)?;
        let (api, handle, keep) = (&self.connection.api, self.handle, ffi::SQLITE_STATIC());
        // SAFETY: a boxed slice does not move when its owner does, and `drop` finalizes the
        // statement before the buffers go. No destructor means that SQLite keeps the pointer.
        accepted(unsafe {
            match parameter {
                Parameter::Bytes(_) => {
                    (api.bind_blob)(handle, place, buffer.as_ptr().cast(), length, keep)
                }
                _ => (api.bind_text)(handle, place, buffer.as_ptr().cast(), length, keep),
            }
        })?;
        self.buffers.push(buffer);
        Ok(self.buffers.len() - 1)
    }

    /// How often the bundled library prepared it again by itself.
    #[cfg(test)]
    fn prepared_again(&self) -> c_int {
        // SAFETY: the statement is prepared.
        unsafe { ffi::sqlite3_stmt_status(self.handle, ffi::SQLITE_STMTSTATUS_REPREPARE, 0) }
    }

    /// A buffer made by [`Statement::bind_buffer`]; the text put there must be UTF-8.
    #[inline]
    pub(super) fn buffer(&mut self, number: usize) -> &mut [u8] {
        &mut self.buffers[number]
    }

    /// Executes up to the next row; `false` at the end.
    #[inline]
    pub(super) fn step(&mut self) -> Result<bool, Refused> {
        // SAFETY: the statement is prepared.
        match unsafe { (self.connection.api.step)(self.handle) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            _ => Err(Refused),
        }
    }

    /// Makes the statement ready to be executed again, whatever state it is in.
    #[inline]
    pub(super) fn reset(&mut self) {
        // SAFETY: the statement is prepared. The result repeats the error of `step`.
        unsafe { (self.connection.api.reset)(self.handle) };
    }

    /// Number of columns of its rows.
    #[inline]
    pub(super) fn columns(&self) -> c_int {
        self.columns
    }

    /// Whether it cannot change the database.
    #[inline]
    pub(super) fn readonly(&self) -> bool {
        self.readonly
    }

    /// Name of a column (from 0).
    pub(super) fn column_name(&self, column: c_int) -> String {
        // SAFETY: the name ends with a zero and is copied at once; null stands for a lack of
        // memory.
        unsafe {
            let name = (self.connection.api.column_name)(self.handle, column);
            if name.is_null() {
                return String::new();
            }
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }

    /// The value of a column (from 0) of the current row. The borrow ends before the next step.
    #[inline]
    pub(super) fn value(&mut self, column: c_int) -> Value<'_> {
        // SAFETY: the statement is prepared; outside a row and for a column that it does not have
        // SQLite answers NULL. The text stays valid until the next call for the statement, which
        // the exclusive borrow prevents.
        unsafe {
            match (self.connection.api.column_type)(self.handle, column) {
                ffi::SQLITE_NULL => Value::Null,
                ffi::SQLITE_INTEGER => {
                    Value::Integer((self.connection.api.column_int64)(self.handle, column))
                }
                ffi::SQLITE_FLOAT => {
                    Value::Real((self.connection.api.column_double)(self.handle, column))
                }
                _ => {
                    let text = (self.connection.api.column_text)(self.handle, column);
                    let length = (self.connection.api.column_bytes)(self.handle, column);
                    match usize::try_from(length) {
                        Ok(length) if !text.is_null() => {
                            Value::Bytes(slice::from_raw_parts(text, length))
                        }
                        _ => Value::Bytes(&[]),
                    }
                }
            }
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the handle is not used again.
        unsafe { (self.connection.api.finalize)(self.handle) };
    }
}

#[inline]
fn accepted(code: c_int) -> Result<(), Refused> {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(Refused) }
}
