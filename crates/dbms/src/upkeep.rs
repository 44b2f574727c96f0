//! Work that a server owes after writes, and the statements that make it pay at once.

/// An amount of work that the server still owes. A drain waits until it is at its floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Debt {
    /// Name, with its unit: `dirty_pages`, `history_list_length`.
    pub name: &'static str,
    /// One statement; the last column of its first row is the amount. Servers that cannot tell fail
    /// or return no row, and then owe nothing.
    pub sql: &'static str,
    /// The amount at which the debt counts as paid; below 1, the amount counts works that go on.
    pub floor: f64,
}

impl Debt {
    /// Whether the amount counts works that go on, such as a checkpoint or a compaction, and not
    /// what is left to do: it then stays the same until they are done.
    pub fn counts_works(&self) -> bool {
        self.floor < 1.0
    }
}

/// A statement that maintains a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maintenance {
    /// SQL; with `{table}`, it is executed for each table.
    pub sql: &'static str,
    /// Whether its failure is expected from some versions, and ignored.
    pub optional: bool,
}

impl Maintenance {
    /// A statement that must succeed.
    pub const fn required(sql: &'static str) -> Self {
        Self { sql, optional: false }
    }

    /// A statement that some versions do not know.
    pub const fn optional(sql: &'static str) -> Self {
        Self { sql, optional: true }
    }
}
