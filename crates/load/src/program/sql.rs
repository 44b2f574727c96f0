//! The SQL of a workload cut at its arguments.

/// One part of a statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Text that is sent as it is.
    Text(String),
    /// `?`
    Mark,
    /// `{list}`
    List,
    /// `{rows}`
    Rows,
    /// `{table}`
    Table,
    /// `{n}`
    Number,
}

/// Cuts `sql` into tokens. Marks inside quotes are text; `{table}` and `{n}` are replaced
/// everywhere.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut quote = None;
    let mut rest = sql;
    while let Some(next) = rest.chars().next() {
        let (token, length) = match (next, quote) {
            ('?', None) => (Some(Token::Mark), 1),
            ('{', _) => braced(rest, quote)?,
            _ => (None, 0),
        };
        if let Some(token) = token {
            if !text.is_empty() {
                tokens.push(Token::Text(std::mem::take(&mut text)));
            }
            tokens.push(token);
            rest = &rest[length..];
            continue;
        }
        match (next, quote) {
            ('\'' | '"' | '`', None) => quote = Some(next),
            (next, Some(open)) if next == open => quote = None,
            _ => {}
        }
        text.push(next);
        rest = &rest[next.len_utf8()..];
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    if !text.is_empty() {
        tokens.push(Token::Text(text));
    }
    Ok(tokens)
}

/// The token in braces at the start of `rest` and its length; text in quotes may have braces of its
/// own.
fn braced(rest: &str, quote: Option<char>) -> Result<(Option<Token>, usize), String> {
    let quoted = quote.is_some();
    let Some(end) = rest.find('}') else {
        return if quoted { Ok((None, 0)) } else { Err("a `{` has no `}`".to_owned()) };
    };
    let token = match (&rest[1..end], quoted) {
        ("table", _) => Token::Table,
        ("n", _) => Token::Number,
        (_, true) => return Ok((None, 0)),
        ("list", false) => Token::List,
        ("rows", false) => Token::Rows,
        (word, false) => {
            return Err(format!(
                "`{{{word}}}` is none of `{{table}}`, `{{n}}`, `{{list}}`, `{{rows}}`"
            ));
        }
    };
    Ok((Some(token), end + 1))
}

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

    fn check(sql: &str, expected: Result<&str, &str>) {
        let shown = tokens(sql).map(|tokens| {
            tokens
                .iter()
                .map(|token| match token {
                    Token::Text(text) => text.clone(),
                    other => format!("<{other:?}>"),
                })
                .collect::<String>()
        });
        match (shown, expected) {
            (Ok(shown), Ok(expected)) => assert_eq!(shown, expected, "{sql}"),
            (Err(message), Err(part)) => assert!(message.contains(part), "{sql}: {message}"),
            (got, expected) => panic!("{sql}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn statements_are_cut_at_their_arguments() {
        check("SELECT 1", Ok("SELECT 1"));
        check("SELECT c FROM {table} WHERE id=?", Ok("SELECT c FROM <Table> WHERE id=<Mark>"));
        check("?{list}{rows}{n}", Ok("<Mark><List><Rows><Number>"));
        check("SELECT '?' , \"?\", `?`, ?", Ok("SELECT '?' , \"?\", `?`, <Mark>"));
        check(
            "SELECT '{\"a\": 1}', `{table}`, 'it''s ?'",
            Ok("SELECT '{\"a\": 1}', `<Table>`, 'it''s ?'"),
        );
        check("SELECT 'é' || ?", Ok("SELECT 'é' || <Mark>"));
    }

    #[test]
    fn errors_name_the_part_at_fault() {
        check("SELECT c FROM {tabel}", Err("`{tabel}` is none of"));
        check("SELECT c FROM {table", Err("a `{` has no `}`"));
        check("SELECT 'c", Err("a quote is not closed"));
    }

    #[test]
    fn literals_are_quoted_for_the_dialect() {
        assert_eq!(literal("it's \\", "postgres"), "'it''s \\'");
        assert_eq!(literal("it's \\", "mysql"), "'it''s \\\\'");
    }
}
