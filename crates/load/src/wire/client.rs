//! A measured connection.

use super::{Dialog, Draft, Failure, Row, Session, Sql};
use model::drive::Target;

/// One connection to a server, or to nothing.
///
/// A client is driven by one worker thread, which is monomorphized over it: there is no dynamic
/// dispatch, no allocation and no lock on the path of a statement. The worker calls, for each
/// statement: [`Client::begin`], then [`Client::compose`] or, for each entry of
/// [`Sql::parameters`] in their order, [`Client::integer`], [`Client::text`] or
/// [`Client::varying`], then [`Client::execute`] or [`Client::fetch`]. A client may therefore patch
/// an encoded message in place, left to right.
pub trait Client: Sized {
    /// Opens a connection and executes the target's initial statements.
    fn connect(target: &Target) -> Result<Self, Failure>;

    /// Opens a control session of the same protocol and executes the target's initial statements.
    fn session(target: &Target) -> Result<Box<dyn Session>, Failure>;

    /// Opens a connection of a program that decides while it goes, and executes the target's
    /// initial statements.
    fn dialog(target: &Target) -> Result<Box<dyn Dialog>, Failure> {
        Err(Failure::own(format!("protocol `{}` has no connections for scripts", target.protocol)))
    }

    /// This connection as that of a program that decides while it goes, which uses it in turn with
    /// this client and closes its statements itself.
    fn lend(&self) -> Result<Box<dyn Dialog>, Failure> {
        Err(Failure::own("this protocol has no connections for scripts"))
    }

    /// The server's own number of this connection (Postgres: backend process); 0 if it has none.
    fn server_id(&self) -> u64;

    /// Closes all statements that were prepared. May allocate.
    fn forget(&mut self) -> Result<(), Failure>;

    /// Makes a statement ready for execution, behind those that are. May allocate.
    fn prepare(&mut self, sql: &Sql) -> Result<(), Failure>;

    /// Starts the arguments of the statement that was prepared as number `index`, from 0.
    fn begin(&mut self, index: usize);

    /// Lets `write` give all arguments, if the statement begun is sent as text; returns whether it
    /// is. Otherwise they are given one by one.
    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool;

    /// Gives the next argument, an integer.
    fn integer(&mut self, value: i64);

    /// Gives the next argument, a text of exactly the length of `template`, which is the template
    /// that [`super::Parameter::Text`] names, or [`super::TIME_TEXT`]. The bytes returned hold the
    /// template with earlier fillings; the caller overwrites those that are random.
    fn text(&mut self, template: &[u8]) -> &mut [u8];

    /// Gives the next argument, a text in two parts that is not longer than
    /// [`super::Parameter::Varying`] says.
    fn varying(&mut self, head: &[u8], tail: &[u8]);

    /// Sends the statement and reads its whole answer.
    fn execute(&mut self) -> Result<Answer, Failure>;

    /// The same, and hands each row to `take`.
    fn fetch(&mut self, take: &mut dyn FnMut(&mut dyn Row)) -> Result<Answer, Failure>;

    /// Ends an open transaction after a failure, or where that is intended; called where there may
    /// be one.
    fn rollback(&mut self) -> Result<(), Failure>;

    /// Executes a statement that costs the server as little as possible.
    fn trivial(&mut self) -> Result<(), Failure>;

    /// Has the server publish what it counted of this connection, if it would do so later only.
    fn publish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Rows returned.
    pub rows: u64,
    /// Rows changed, as the server tells it.
    pub changed: u64,
}
