//! A measured connection: the seam of the wire protocols.
//!
//! A client is driven by one worker thread, which is monomorphized over it: there is no dynamic
//! dispatch, no allocation and no lock on the path of a statement. A new protocol is one file of
//! this folder and one line of [`PROTOCOLS`].

pub mod mysql;
pub mod null;
pub mod postgres;
pub mod sqlite;

pub use crate::pieces::Draft;
use crate::program::{Cast, Program};
use crate::worker::{self, Station};
use model::drive::{Stretch, Target, TracedStatement};

/// One connection to a server, or to nothing.
///
/// The worker calls, for each statement: [`Client::begin`], then [`Client::compose`] or, for each
/// entry of [`crate::program::Sql::parameters`] in their order, [`Client::integer`],
/// [`Client::text`] or [`Client::varying`], then [`Client::execute`]. A client may therefore patch
/// an encoded packet in place, left to right.
pub trait Client: Sized {
    /// Opens a connection and executes the target's initial statements.
    fn connect(target: &Target) -> Result<Self, Failure>;

    /// The server's own number of this connection (Postgres: backend process); 0 if it has none.
    fn server_id(&self) -> u64;

    /// Prepares every entry of [`Program::sql`], in place of those of the program before. May
    /// allocate.
    fn prepare(&mut self, program: &Program) -> Result<(), Failure>;

    /// Starts the arguments of entry `index` of [`Program::sql`].
    fn begin(&mut self, index: usize);

    /// Lets `write` give all arguments, if the statement begun is sent as text; returns whether it
    /// is. Otherwise they are given one by one.
    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool;

    /// Gives the next argument, an integer.
    fn integer(&mut self, value: i64);

    /// Gives the next argument, a text of exactly the length of `template`, which is the template
    /// that [`crate::program::Parameter::Text`] names, or [`crate::program::TIME_TEXT`]. The bytes
    /// returned hold the template with earlier fillings; the caller overwrites those that are
    /// random.
    fn text(&mut self, template: &[u8]) -> &mut [u8];

    /// Gives the next argument, a text in two parts that is not longer than
    /// [`crate::program::Parameter::Varying`] says.
    fn varying(&mut self, head: &[u8], tail: &[u8]);

    /// Sends the statement and reads its whole answer.
    fn execute(&mut self) -> Result<Answer, Failure>;

    /// Ends an open transaction after a failure; called where there may be one.
    fn rollback(&mut self) -> Result<(), Failure>;

    /// Executes a statement that costs the server as little as possible.
    fn trivial(&mut self) -> Result<(), Failure>;
}

/// What a statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Rows returned.
    pub rows: u64,
    /// Rows changed, as the server tells it.
    pub changed: u64,
    /// First column of the first row, where [`crate::program::Sql::capture`] asks for it and it is
    /// an integer; 0 if it is NULL.
    pub captured: Option<i64>,
}

/// Why a statement or a connection failed. Boxed, so that a success stays small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(Box<Details>);

/// The parts of a [`Failure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// What the worker does about it.
    pub kind: FailureKind,
    /// The server's own code: an error number or an SQLSTATE; a word for what is not the server's.
    pub code: String,
    /// The server's message, or one clear sentence.
    pub message: String,
}

/// What the worker does about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Deadlock, lock wait timeout or serialization failure: the operation is restarted.
    Retry,
    /// The operation has failed; the connection goes on.
    Statement,
    /// The connection is lost or out of step.
    Lost,
}

impl Failure {
    /// A failure with the server's code and message.
    #[cold]
    pub fn new(kind: FailureKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(Details { kind, code: code.into(), message: message.into() }))
    }

    /// A lost connection, or one whose answers make no sense: code `lost`.
    #[cold]
    pub fn lost(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Lost, "lost", message)
    }

    /// What the worker does about it.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// The server's code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// A wire protocol.
pub struct Protocol {
    /// Name in [`Target::protocol`], and the dialect of its SQL.
    pub name: &'static str,
    /// Body of a worker thread with this protocol's client.
    pub work: fn(Station),
    /// Executes a program on a connection of its own and tells each statement.
    pub trace: fn(&Target, &Cast, &Stretch) -> Result<Vec<TracedStatement>, Failure>,
}

/// In the order in which messages list them.
pub const PROTOCOLS: &[Protocol] = &[
    protocol::<mysql::Mysql>("mysql"),
    protocol::<postgres::Postgres>("postgres"),
    protocol::<sqlite::Sqlite>("sqlite"),
    protocol::<null::Null>("null"),
];

const fn protocol<C: Client>(name: &'static str) -> Protocol {
    Protocol { name, work: worker::work::<C>, trace: worker::trace::<C> }
}

/// The protocol with this name.
pub fn find(name: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().find(|protocol| protocol.name == name)
}
