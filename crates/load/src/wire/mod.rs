//! What all wire protocols share: connections as the rest of this crate sees them, and the parts
//! that their codecs are made of.
//!
//! A [`Client`] is for measured statements: it neither allocates nor locks. A [`Session`] is for
//! asking and loading, where clarity counts more than speed. A [`Dialog`] is for programs of users.

pub(crate) mod channel;
mod client;
mod dialog;
pub(crate) mod encoder;
mod failure;
pub(crate) mod lines;
pub(crate) mod pieces;
pub(crate) mod rows;
mod session;
mod sql;
pub(crate) mod tunnel;
pub(crate) mod vector;

pub use client::{Answer, Client};
pub(crate) use dialog::Numbered;
pub use dialog::{Argument, Dialog, Kind, Told};
pub use failure::{Failure, FailureKind};
pub use pieces::Draft;
pub use rows::{Row, Rows, Value};
pub use session::{Destination, LoadMethod, Loading, RowSink, RowSource, Session, Split};
pub use sql::{Parameter, Sql, TIME_TEXT};
