//! Extensions of SQLite that are linked in, by the names of their modules.
#![allow(unsafe_code, reason = "extensions are initialized through their C interface")]

use crate::wire::Failure;
use libsqlite3_sys as ffi;
use sqlite_vec as _;
use std::{
    ffi::{c_char, c_int},
    path::Path,
};

/// Adds an extension to a connection.
type Initialize = unsafe extern "C" fn(
    *mut ffi::sqlite3,
    *mut *mut c_char,
    *const ffi::sqlite3_api_routines,
) -> c_int;

unsafe extern "C" {
    /// That of sqlite-vec. It was compiled for the engine that is linked in, calls that, and
    /// ignores the table of functions.
    fn sqlite3_vec_init(
        database: *mut ffi::sqlite3,
        message: *mut *mut c_char,
        functions: *const ffi::sqlite3_api_routines,
    ) -> c_int;
}

/// All of them.
const EXTENSIONS: [(&str, Initialize); 1] = [("vec0", sqlite3_vec_init)];

/// Adds an extension to an open connection of an engine: that of a library, or the bundled one.
pub(super) fn add(
    database: *mut ffi::sqlite3,
    name: &str,
    library: Option<&Path>,
) -> Result<(), Failure> {
    let Some((_, initialize)) = EXTENSIONS.iter().find(|(known, _)| *known == name) else {
        return Err(Failure::own(format!("there is no extension `{name}` of SQLite here")));
    };
    if let Some(library) = library {
        let library = library.display();
        return Err(Failure::own(format!(
            "the extension `{name}` is part of the SQLite that dbdyno has inside, and not of \
             `{library}`; use `sqlite`"
        )));
    }
    let mut message = std::ptr::null_mut();
    // SAFETY: the connection is open and of the engine that the extension was compiled for. The
    // message, if there is one, is left to the engine.
    match unsafe { initialize(database, &mut message, std::ptr::null()) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(Failure::own(format!("the extension `{name}` refused to start: code {code}"))),
    }
}
