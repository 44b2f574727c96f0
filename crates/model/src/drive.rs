//! The talk between the runner and a driver process: one JSON object per line, each command
//! answered once.
//!
//! The driver is a process of its own, so that its cost can be told from everything else; it keeps
//! one thread per connection from [`Command::Connect`] to [`Command::Close`], so that counters
//! attached to a thread stay valid.

use crate::{drawn::Drawn, neighbors::Neighbors, schema::Schema, script::Script, workload::Mode};
use serde::{Deserialize, Serialize};

pub use crate::target::{Encryption, Endpoint, Foreign, Identity, Target, Tls};

/// A command to the driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Opens a control connection and `clients` measured ones; replaces those that are open.
    Connect {
        /// The server.
        target: Target,
        /// Measured connections.
        clients: u32,
    },
    /// Creates and fills the tables of a schema, then builds indexes.
    Load(LoadJob),
    /// Compiles a workload and prepares its statements on every measured connection; it replaces
    /// the one before it.
    Compile(Box<Assignment>),
    /// Executes the compiled workload.
    Run(Stretch),
    /// Executes trivial statements on a measured connection, so that its server task stands out.
    Burst {
        /// Index of the connection.
        connection: u32,
        /// Number of statements.
        statements: u32,
    },
    /// Has the server publish at once what it counted of each measured connection, where it can.
    Publish,
    /// Creates the secondary indexes of a schema whose load left them out, each timed; copies of a
    /// table at the same time unless they are in a file, each on a connection of its own.
    Index(IndexJob),
    /// Executes lists of statements at the same time, each list on a connection of its own and up
    /// to its first statement that the server refuses.
    Together {
        /// The statements of each connection.
        lists: Vec<Vec<String>>,
    },
    /// Executes operations of a workload on a connection of their own and tells each statement.
    Trace(Box<Trace>),
    /// Executes SQL on the control connection.
    Query {
        /// One statement.
        sql: String,
    },
    /// Executes a statement so many times, one after the other, on the control connection.
    Time {
        /// One statement.
        sql: String,
        /// How many times.
        times: u32,
    },
    /// Closes all connections and ends the driver.
    Close,
}

/// What the driver answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Command::Connect`].
    Connected {
        /// The measured connections in order.
        connections: Vec<Connection>,
        /// Version that the server reports.
        server_version: String,
        /// How the connections are encrypted; absent where they are not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encryption: Option<Encryption>,
    },
    /// To [`Command::Load`].
    Loaded(LoadReport),
    /// To [`Command::Index`], in the order of the statements.
    Indexed(Vec<IndexTime>),
    /// To [`Command::Together`], in the order of the lists: what the server refused, if anything.
    Together(Vec<Option<String>>),
    /// To [`Command::Compile`], [`Command::Burst`] and [`Command::Publish`].
    Done,
    /// To [`Command::Run`].
    Ran(Box<StretchReport>),
    /// To [`Command::Trace`].
    Traced(Vec<TracedStatement>),
    /// To [`Command::Query`].
    Rows {
        /// Column names.
        columns: Vec<String>,
        /// Values as text; `None` is NULL.
        rows: Vec<Vec<Option<String>>>,
    },
    /// To [`Command::Time`]: how long each took, microseconds, in their order.
    Timed(Vec<f64>),
    /// The command failed; the driver goes on.
    Failed {
        /// One clear sentence.
        message: String,
        /// Whether the connection to the server was lost.
        lost: bool,
    },
}

/// A measured connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Kernel task of the driver's thread.
    pub driver_task: u32,
    /// The server's own number of it: backend process of Postgres, connection id of MySQL; 0 if
    /// none.
    pub server_id: u64,
}

/// A workload with everything needed to compile it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// What to execute.
    pub script: Script,
    /// The tables it names.
    pub schema: Schema,
    /// How all its statements travel, BEGIN and COMMIT included; as each says itself, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// How to fill the tables of a schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadJob {
    /// What to create.
    pub schema: Schema,
    /// Replaces `{engine}`, or empty.
    pub engine: String,
    /// Connections that load at the same time, at most.
    pub threads: u32,
    /// Seed of the rows.
    pub seed: u64,
    /// Whether the secondary indexes are part of it.
    #[serde(default)]
    pub indexes: LoadIndexes,
    /// The moment that `now` is in loaded rows, seconds since 1970: one for all servers of a run.
    #[serde(default)]
    pub now_seconds: u64,
}

/// Whether a load creates the secondary indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadIndexes {
    /// After the rows.
    #[default]
    Created,
    /// They are a phase of their own.
    LeftOut,
}

/// Which indexes to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexJob {
    /// Whose indexes.
    pub schema: Schema,
    /// Storage engine, or empty; indexes may be written per engine.
    pub engine: String,
}

/// Time of one DDL statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexTime {
    /// The statement.
    pub sql: String,
    /// Wall time, seconds.
    pub seconds: f64,
}

/// What loading did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadReport {
    /// Rows sent.
    pub rows: u64,
    /// Connections that loaded.
    pub threads: u32,
    /// How the rows traveled: `COPY`, `LOAD DATA LOCAL`, `INSERT`.
    pub method: String,
    /// Seconds for the rows.
    pub rows_seconds: f64,
    /// Seconds for the indexes and the finishing statements.
    pub index_seconds: f64,
}

/// What to execute and to tell in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The workload.
    pub assignment: Assignment,
    /// Operations; they end at the first that fails.
    pub operations: u64,
    /// Seed of the operations, as of a stretch.
    pub seed: u64,
}

/// One statement that was executed, with its values and what the server said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedStatement {
    /// Which statement of the workload; none for BEGIN and COMMIT.
    pub origin: Option<Origin>,
    /// The text around its arguments: one piece more than there are arguments.
    pub pieces: Vec<String>,
    /// Its arguments in order; constants of a statement in text mode are part of the pieces.
    pub arguments: Vec<Argument>,
    /// Rows returned.
    pub rows: u64,
    /// Rows changed, as the server tells it.
    pub changed: u64,
    /// The server's code and message, if it refused.
    pub error: Option<String>,
}

/// A statement of a workload on one copy of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Position of the operation among those that are executed.
    pub op: u32,
    /// Position of the statement in the operation.
    pub statement: u32,
    /// Number of the table's copy, from 1; 1 where the statement names no table.
    pub copy: u64,
}

/// A value that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// An integer.
    Integer(i64),
    /// A text.
    Text(String),
}

/// How much to execute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// When to stop.
    pub end: StretchEnd,
    /// Seed of this stretch: the same seed gives the same operations on every server.
    pub seed: u64,
    /// Length of an interval of the series, milliseconds; 1000 if in doubt.
    pub interval_ms: u32,
}

/// When a stretch stops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StretchEnd {
    /// After as many operations on each connection.
    Operations(u64),
    /// After as many seconds; checked between operations.
    Seconds(f64),
    /// As the roles of the workload say; only for workloads with roles.
    Roles,
}

/// What a stretch did. Identity: `scheduled = succeeded + failed + dropped`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StretchReport {
    /// CLOCK_MONOTONIC at the barrier, nanoseconds.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC when the last operation was answered, nanoseconds.
    pub end_ns: u64,
    /// Operations that were due.
    pub scheduled: u64,
    /// Operations that did all their statements.
    pub succeeded: u64,
    /// Operations that met an error and were given up.
    pub failed: u64,
    /// Open loop: operations whose turn never came before the end.
    pub dropped: u64,
    /// Open loop: operations that started after their intended time by more than one millisecond.
    pub late: u64,
    /// Open loop: the largest such lag, microseconds.
    pub lag_us_max: u64,
    /// Restarts of an operation after a deadlock, lock wait timeout or serialization failure.
    pub retries: u64,
    /// Statements that returned a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// Every other statement, BEGIN and COMMIT included.
    pub others: u64,
    /// Rows returned.
    pub rows_read: u64,
    /// Rows changed, without those that were rolled back after an error.
    pub rows_changed: u64,
    /// Statements whose rows were outside what the workload expects.
    pub unexpected: u64,
    /// Errors by code, with the first message of each; where operations failed, why one did is the
    /// first.
    pub errors: Vec<ErrorCount>,
    /// Connections that were lost, with the code and the message of the first one; absent where
    /// none was. The code may be any: a server may say why it closes a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<ErrorCount>,
    /// Per operation name: count and latencies.
    pub ops: Vec<OpReport>,
    /// Service times of all operations together.
    #[serde(default)]
    pub service_us: Percentiles,
    /// Response times of all operations together.
    #[serde(default)]
    pub response_us: Percentiles,
    /// One entry per interval, from the barrier on.
    pub series: Vec<Interval>,
    /// What each connection did, in their order; empty in records from before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<ClientShare>,
    /// What coded transactions counted; empty for declared ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
    /// How many of the nearest rows searches found; absent where operations do not search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<Neighbors>,
}

/// One connection's share of a stretch: how even the shares are tells whether the server was fair.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientShare {
    /// Operations that did all their statements.
    pub succeeded: u64,
    /// Their service times together, seconds.
    pub service_seconds: f64,
}

/// Errors with one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The server's own code: an error number or an SQLSTATE.
    pub code: String,
    /// The first message.
    pub message: String,
    /// How many.
    pub count: u64,
}

/// Latencies of one operation. Times in microseconds; histograms hold nanoseconds with 3
/// significant digits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OpReport {
    /// Name of the operation.
    pub name: String,
    /// Executions that succeeded.
    pub count: u64,
    /// Those of them that were rolled back on purpose.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rolled_back: u64,
    /// Executions that were begun and did not succeed: given up because of an error, or not
    /// attempted again after the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// From send to reply: HDR histogram V2, deflated, base64.
    pub service: String,
    /// From the intended start to the reply; empty in a closed loop, where both are the same.
    pub response: String,
    /// Percentiles of the service time.
    pub service_us: Percentiles,
    /// Percentiles of the response time; equal to the service time in a closed loop.
    pub response_us: Percentiles,
    /// Role that executed it; empty for workloads without roles.
    #[serde(default)]
    pub role: String,
    /// Rows returned by its statements.
    #[serde(default)]
    pub rows_read: u64,
    /// Rows changed by its statements.
    #[serde(default)]
    pub rows_changed: u64,
    /// Open loop: executions per second that were intended, over all connections; 0 in a closed
    /// loop.
    #[serde(default)]
    pub intended_per_second: f64,
    /// Open loop: executions that started later than intended by more than one millisecond.
    #[serde(default)]
    pub late: u64,
    /// Open loop: the largest such lag, microseconds.
    #[serde(default)]
    pub lag_us_max: u64,
    /// One entry per interval, from the barrier on, for workloads with several roles.
    #[serde(default)]
    pub series: Vec<OpInterval>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One interval of one operation's series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OpInterval {
    /// Executions whose intended start lies in it (closed loop: that started in it).
    pub intended: u64,
    /// Executions that were answered in it.
    pub completed: u64,
    /// Rows changed (or, for reading operations, returned) by those.
    pub rows: u64,
    /// Largest service time of those, microseconds.
    pub service_us_max: u64,
    /// Largest time from the intended start to the reply of those, microseconds.
    pub response_us_max: u64,
}

/// The percentiles that tables show, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Percentiles {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
    /// Smallest.
    pub min: f64,
}

/// One interval of the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Operations answered in it.
    pub operations: u64,
    /// Statements answered in it.
    pub statements: u64,
    /// Errors in it.
    pub errors: u64,
    /// Largest service time of an operation answered in it, microseconds.
    pub service_us_max: u64,
}
