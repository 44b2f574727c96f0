//! The marks in a statement that stand for its arguments.

use model::sql::{SqlError, Token, tokens};

/// What a statement's SQL asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// For each argument in order, whether it is a `{list}`.
    pub(crate) arguments: Vec<bool>,
    /// Number of `{rows}`.
    pub(crate) rows: usize,
}

/// Finds the marks of `sql`, as the dialect reads it.
pub(crate) fn marks(sql: &str, dialect: &str) -> Result<Marks, SqlError> {
    let mut marks = Marks::default();
    for token in tokens(sql, dialect)? {
        match token {
            Token::Mark => marks.arguments.push(false),
            Token::List => marks.arguments.push(true),
            Token::Rows => marks.rows += 1,
            Token::Text(_) | Token::Table | Token::Number => {}
        }
    }
    Ok(marks)
}
