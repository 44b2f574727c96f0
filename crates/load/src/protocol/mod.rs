//! The wire protocols: each has one codec (login, framing, answers), which its client and its
//! session share. A new one is one file or folder here and one line of
//! [`Protocols::PROTOCOLS`].

mod mysql;
mod null;
mod postgres;
mod sqlite;

pub use null::Null;

use crate::wire::{Client, Dialog, Failure, Session};
use model::{drive::Target, quoted};
use std::marker::PhantomData;

/// Something that exists once per type of client, such as the body of a worker thread.
pub trait PerClient {
    /// What there is for each.
    type Value;

    /// That of one type of client.
    fn of<C: Client + 'static>() -> Self::Value;
}

struct Protocol<P: PerClient> {
    name: &'static str,
    of: fn() -> P::Value,
}

struct Protocols<P>(PhantomData<P>);

impl<P: PerClient> Protocols<P> {
    /// Every protocol, by the name that [`Target::protocol`] gives it, which is also the dialect of
    /// its SQL; in the order in which messages list them.
    const PROTOCOLS: [Protocol<P>; 4] = [
        Protocol { name: "mysql", of: P::of::<mysql::Mysql> },
        Protocol { name: "postgres", of: P::of::<postgres::Postgres> },
        Protocol { name: "sqlite", of: P::of::<sqlite::Sqlite> },
        Protocol { name: "null", of: P::of::<null::Null> },
    ];
}

/// What there is for the client of a protocol. Fails if there is no such protocol.
pub fn find<P: PerClient>(protocol: &str) -> Result<P::Value, Failure> {
    let all = Protocols::<P>::PROTOCOLS;
    match all.iter().find(|known| known.name == protocol) {
        Some(found) => Ok((found.of)()),
        None => {
            let known = quoted(all.map(|known| known.name));
            Err(Failure::own(format!("there is no protocol `{protocol}` (known: {known})")))
        }
    }
}

type Open = fn(&Target) -> Result<Box<dyn Session>, Failure>;

struct Sessions;

impl PerClient for Sessions {
    type Value = Open;

    fn of<C: Client + 'static>() -> Open {
        C::session
    }
}

/// Opens a control session on `target` and executes its initial statements. Fails if the protocol
/// is unknown, the server cannot be reached, the login is refused or a statement fails.
pub fn open(target: &Target) -> Result<Box<dyn Session>, Failure> {
    find::<Sessions>(&target.protocol)?(target)
}

type OpenDialog = fn(&Target) -> Result<Box<dyn Dialog>, Failure>;

struct Dialogs;

impl PerClient for Dialogs {
    type Value = OpenDialog;

    fn of<C: Client + 'static>() -> OpenDialog {
        C::dialog
    }
}

/// Opens a connection of a program that decides while it goes. Fails as [`open`] does, and for
/// protocols that have no such connections.
pub fn dialog(target: &Target) -> Result<Box<dyn Dialog>, Failure> {
    find::<Dialogs>(&target.protocol)?(target)
}
