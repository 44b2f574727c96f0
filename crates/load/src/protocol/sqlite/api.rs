//! The functions of SQLite's C interface that are used here, as one table: filled from the engine
//! that is linked in, or from a library that the user names. Both are then called the same way.
#![allow(unsafe_code, reason = "foreign functions are taken from a library by name")]

use crate::wire::Failure;
use libloading::Library;
use libsqlite3_sys as ffi;
use std::{
    ffi::{c_char, c_int, c_uchar, c_void},
    path::Path,
};

/// Declares the table, its bundled filling and its filling by name from one list.
macro_rules! functions {
    ($($name:ident, $symbol:ident: fn $arguments:tt $(-> $result:ty)?;)*) => {
        /// One field per function; the names are SQLite's without `sqlite3_`.
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn $arguments $(-> $result)?,)*
            /// Keeps the functions in memory; absent for the bundled engine.
            _library: Option<Library>,
        }

        impl Api {
            fn bundled() -> Self {
                Self { $($name: ffi::$symbol,)* _library: None }
            }

            fn from_library(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of SQLite's stable C interface, which has not changed
                // for these functions since 3.20; the library outlives the pointers, as both are in
                // the same value.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!(stringify!($symbol), "\0").as_bytes())?,)*
                        _library: Some(library),
                    })
                }
            }
        }
    };
}

functions! {
    bind_blob, sqlite3_bind_blob: fn(
        *mut ffi::sqlite3_stmt,
        c_int,
        *const c_void,
        c_int,
        ffi::sqlite3_destructor_type
    ) -> c_int;
    bind_int64, sqlite3_bind_int64: fn(*mut ffi::sqlite3_stmt, c_int, i64) -> c_int;
    bind_text, sqlite3_bind_text: fn(
        *mut ffi::sqlite3_stmt,
        c_int,
        *const c_char,
        c_int,
        ffi::sqlite3_destructor_type
    ) -> c_int;
    busy_timeout, sqlite3_busy_timeout: fn(*mut ffi::sqlite3, c_int) -> c_int;
    changes, sqlite3_changes: fn(*mut ffi::sqlite3) -> c_int;
    close, sqlite3_close: fn(*mut ffi::sqlite3) -> c_int;
    column_bytes, sqlite3_column_bytes: fn(*mut ffi::sqlite3_stmt, c_int) -> c_int;
    column_count, sqlite3_column_count: fn(*mut ffi::sqlite3_stmt) -> c_int;
    column_double, sqlite3_column_double: fn(*mut ffi::sqlite3_stmt, c_int) -> f64;
    column_int64, sqlite3_column_int64: fn(*mut ffi::sqlite3_stmt, c_int) -> i64;
    column_name, sqlite3_column_name: fn(*mut ffi::sqlite3_stmt, c_int) -> *const c_char;
    column_text, sqlite3_column_text: fn(*mut ffi::sqlite3_stmt, c_int) -> *const c_uchar;
    column_type, sqlite3_column_type: fn(*mut ffi::sqlite3_stmt, c_int) -> c_int;
    db_config, sqlite3_db_config: fn(*mut ffi::sqlite3, c_int, ...) -> c_int;
    errmsg, sqlite3_errmsg: fn(*mut ffi::sqlite3) -> *const c_char;
    extended_errcode, sqlite3_extended_errcode: fn(*mut ffi::sqlite3) -> c_int;
    finalize, sqlite3_finalize: fn(*mut ffi::sqlite3_stmt) -> c_int;
    get_autocommit, sqlite3_get_autocommit: fn(*mut ffi::sqlite3) -> c_int;
    libversion, sqlite3_libversion: fn() -> *const c_char;
    open_v2, sqlite3_open_v2:
        fn(*const c_char, *mut *mut ffi::sqlite3, c_int, *const c_char) -> c_int;
    prepare_v3, sqlite3_prepare_v3: fn(
        *mut ffi::sqlite3,
        *const c_char,
        c_int,
        std::ffi::c_uint,
        *mut *mut ffi::sqlite3_stmt,
        *mut *const c_char
    ) -> c_int;
    reset, sqlite3_reset: fn(*mut ffi::sqlite3_stmt) -> c_int;
    step, sqlite3_step: fn(*mut ffi::sqlite3_stmt) -> c_int;
    stmt_readonly, sqlite3_stmt_readonly: fn(*mut ffi::sqlite3_stmt) -> c_int;
    threadsafe, sqlite3_threadsafe: fn() -> c_int;
    total_changes, sqlite3_total_changes: fn(*mut ffi::sqlite3) -> c_int;
}

/// Tells SQLite to copy a bound text before the call returns: the destructor value -1.
pub(super) fn transient() -> ffi::sqlite3_destructor_type {
    ffi::SQLITE_TRANSIENT()
}

impl Api {
    /// The bundled engine, or that of the library at a path. Fails if the file is no library, lacks
    /// a function (SQLite before 3.20) or was built for one thread only.
    pub(super) fn open(library: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = library else { return Ok(Self::bundled()) };
        let refused = |error: libloading::Error| {
            let path = path.display();
            Failure::own(format!("`{path}` is no SQLite library of 3.20 or later: {error}"))
        };
        // SAFETY: the initializers of the library run; the user named it to be executed.
        let library = unsafe { Library::new(path) }.map_err(refused)?;
        let api = Self::from_library(library).map_err(refused)?;
        // SAFETY: takes no arguments and only reads a constant.
        if unsafe { (api.threadsafe)() } == 0 {
            let path = path.display();
            return Err(Failure::own(format!(
                "`{path}` was built with `SQLITE_THREADSAFE=0`; build it with 1 or 2"
            )));
        }
        Ok(api)
    }
}

/// A pointer argument that SQLite does not need.
pub(super) const fn nothing<T>() -> *mut T {
    std::ptr::null_mut::<c_void>().cast()
}
