//! Inserts of many rows: rows are gathered behind a head and sent when they fill a statement.

/// Longest statement, bytes.
const BYTES_MAX: usize = 512 * 1024;

/// A statement under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bulk {
    head: Vec<u8>,
    /// The head and the rows so far, or nothing.
    text: Vec<u8>,
}

impl Bulk {
    pub(crate) fn new(head: &[u8]) -> Self {
        Self { head: head.to_vec(), text: Vec::new() }
    }

    /// Adds a row; returns the statement without it, if it would not fit.
    pub(crate) fn push(&mut self, row: &[u8]) -> Option<Vec<u8>> {
        let full = !self.text.is_empty() && self.text.len() + 1 + row.len() > BYTES_MAX;
        let sent = if full { self.take() } else { None };
        if self.text.is_empty() {
            self.text.extend_from_slice(&self.head);
            self.text.push(b' ');
        } else {
            self.text.push(b',');
        }
        self.text.extend_from_slice(row);
        sent
    }

    /// The statement with the rows so far, if there are any.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        (!self.text.is_empty()).then(|| std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_joined_and_no_rows_are_no_statement() {
        let mut bulk = Bulk::new(b"INSERT INTO t VALUES");
        assert_eq!(bulk.take(), None);
        assert_eq!(bulk.push(b"(1)"), None);
        assert_eq!(bulk.push(b"(2)"), None);
        assert_eq!(bulk.take().unwrap(), b"INSERT INTO t VALUES (1),(2)");
        assert_eq!(bulk.take(), None);
    }

    #[test]
    fn a_full_statement_is_sent_before_the_row_that_does_not_fit() {
        let mut bulk = Bulk::new(b"X");
        let row = vec![b'r'; 1000];
        let mut sent = Vec::new();
        for _ in 0..2000 {
            sent.extend(bulk.push(&row));
        }
        sent.extend(bulk.take());
        assert!(sent.iter().all(|text| text.len() <= BYTES_MAX && text.starts_with(b"X r")));
        assert_eq!(sent.len(), 4);
        let rows: usize = sent.iter().map(|text| text.split(|byte| *byte == b',').count()).sum();
        assert_eq!(rows, 2000);
    }
}
