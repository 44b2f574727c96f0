//! Texts as SQL literals.

/// `text` as an SQL literal. A backslash is doubled where the dialect takes it for an escape.
pub(super) fn literal(text: &str, dialect: &str) -> String {
    let mut quoted = text.replace('\'', "''");
    if dialect == "mysql" {
        quoted = quoted.replace('\\', "\\\\");
    }
    format!("'{quoted}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_quoted_for_the_dialect() {
        assert_eq!(literal("it's \\", "postgres"), "'it''s \\'");
        assert_eq!(literal("it's \\", "mysql"), "'it''s \\\\'");
    }
}
