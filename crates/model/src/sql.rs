//! The SQL of a workload cut at its marks. What lies in quotes, comments and dollar quotes is SQL's
//! own, as the dialect has them.

/// One part of a statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
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

/// Why a text cannot be cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// A word in braces that means nothing.
    #[error("`{{{0}}}` is none of `{{table}}`, `{{n}}`, `{{list}}`, `{{rows}}`")]
    UnknownMark(String),
    /// A brace that is opened only.
    #[error("a `{{` has no `}}`")]
    OpenBrace,
    /// A quote that is opened only.
    #[error("a quote is not closed")]
    OpenQuote,
    /// A comment in `/*` that is opened only.
    #[error("a comment is not closed")]
    OpenComment,
}

/// Where a character stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Inside {
    Code,
    /// Text in this character.
    Quote(char),
    /// A comment up to the end of the line.
    Line,
    /// A comment in `/*`, so many levels deep.
    Block(u32),
    /// Text between this word, `$$` or `$tag$`.
    Dollars(String),
}

/// Cuts `sql` into tokens. `?`, `{list}` and `{rows}` in quotes and comments are text; `{table}`
/// and `{n}` are replaced everywhere, so that hints in comments may name them.
///
/// # Errors
/// An unknown word in braces, or a quote or comment without an end.
pub fn tokens(sql: &str, dialect: &str) -> Result<Vec<Token>, SqlError> {
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut inside = Inside::Code;
    let mut rest = sql;
    while let Some(next) = rest.chars().next() {
        let (token, length) = match next {
            '?' if inside == Inside::Code => (Some(Token::Mark), 1),
            '{' => braced(rest, &inside)?,
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
        let length = step(&mut inside, (&text, rest), dialect).max(next.len_utf8());
        text.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    match inside {
        Inside::Quote(_) | Inside::Dollars(_) => return Err(SqlError::OpenQuote),
        Inside::Block(_) => return Err(SqlError::OpenComment),
        Inside::Code | Inside::Line => {}
    }
    if !text.is_empty() {
        tokens.push(Token::Text(text));
    }
    Ok(tokens)
}

/// The text around the `?` of a statement that has no other marks. What is not closed is left to
/// the server.
pub fn pieces<'a>(sql: &'a str, dialect: &str) -> Vec<&'a str> {
    let (mut pieces, mut inside) = (Vec::new(), Inside::Code);
    let (mut start, mut at) = (0, 0);
    while let Some(next) = sql[at..].chars().next() {
        if next == '?' && inside == Inside::Code {
            pieces.push(&sql[start..at]);
            start = at + 1;
            at = start;
        } else {
            at += step(&mut inside, sql.split_at(at), dialect).max(next.len_utf8());
        }
    }
    pieces.push(&sql[start..]);
    pieces
}

/// Follows what begins or ends at the start of `rest`; gives the bytes that belong to it, or 0.
fn step(inside: &mut Inside, (before, rest): (&str, &str), dialect: &str) -> usize {
    let mysql = dialect == "mysql";
    match inside {
        Inside::Code => {
            let (next, length) = begins(before, rest, dialect);
            *inside = next;
            length
        }
        Inside::Quote(quote) => {
            if mysql && *quote != '`' && rest.starts_with('\\') {
                // The character after it is taken as it is.
                return 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            if rest.starts_with(*quote) {
                *inside = Inside::Code;
            }
            0
        }
        Inside::Line => {
            if rest.starts_with('\n') {
                *inside = Inside::Code;
            }
            0
        }
        Inside::Block(depth) => {
            if rest.starts_with("*/") {
                *inside = if *depth > 1 { Inside::Block(*depth - 1) } else { Inside::Code };
                return 2;
            }
            // Comments in comments are known to one dialect only.
            if rest.starts_with("/*") && dialect == "postgres" {
                *depth += 1;
                return 2;
            }
            0
        }
        Inside::Dollars(word) => {
            let length = if rest.starts_with(word.as_str()) { word.len() } else { 0 };
            if length > 0 {
                *inside = Inside::Code;
            }
            length
        }
    }
}

/// What begins at the start of `rest`, and the bytes of its beginning.
fn begins(before: &str, rest: &str, dialect: &str) -> (Inside, usize) {
    let mysql = dialect == "mysql";
    if let Some(after) = rest.strip_prefix("--") {
        // In MySQL two signs without a blank are two signs.
        let blank = after.chars().next().is_none_or(|c| c.is_whitespace() || c.is_control());
        return if mysql && !blank { (Inside::Code, 2) } else { (Inside::Line, 2) };
    }
    if let Some(after) = rest.strip_prefix("/*") {
        // MySQL executes what is in `/*! */`.
        return if mysql && after.starts_with('!') {
            (Inside::Code, 2)
        } else {
            (Inside::Block(1), 2)
        };
    }
    match rest.chars().next() {
        Some(quote @ ('\'' | '"' | '`')) => (Inside::Quote(quote), 1),
        Some('#') if mysql => (Inside::Line, 1),
        Some('$') if dialect == "postgres" => match dollars(before, rest) {
            Some(word) => (Inside::Dollars(word.to_owned()), word.len()),
            None => (Inside::Code, 1),
        },
        _ => (Inside::Code, 0),
    }
}

/// `$$` or `$tag$` at the start of `rest`, unless it is a part of a name or of `$1`.
fn dollars<'a>(before: &str, rest: &'a str) -> Option<&'a str> {
    let named = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if before.chars().next_back().is_some_and(named) {
        return None;
    }
    let end = 1 + rest[1..].find('$')?;
    let tag = &rest[1..end];
    let good = tag.chars().all(|c| c.is_alphanumeric() || c == '_');
    let good = good && !tag.starts_with(|c: char| c.is_numeric());
    good.then(|| &rest[..=end])
}

/// The token in braces at the start of `rest` and its length; text in quotes may have braces of its
/// own.
fn braced(rest: &str, inside: &Inside) -> Result<(Option<Token>, usize), SqlError> {
    let code = *inside == Inside::Code;
    let Some(end) = rest.find('}') else {
        return if code { Err(SqlError::OpenBrace) } else { Ok((None, 0)) };
    };
    let token = match (&rest[1..end], code) {
        ("table", _) => Token::Table,
        ("n", _) => Token::Number,
        (_, false) => return Ok((None, 0)),
        ("list", true) => Token::List,
        ("rows", true) => Token::Rows,
        (word, true) => return Err(SqlError::UnknownMark(word.to_owned())),
    };
    Ok((Some(token), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_in(dialect: &str, sql: &str, expected: Result<&str, &str>) {
        let shown = tokens(sql, dialect).map(|tokens| {
            let shown = |token: &Token| match token {
                Token::Text(text) => text.clone(),
                other => format!("<{other:?}>"),
            };
            tokens.iter().map(shown).collect::<String>()
        });
        match (shown, expected) {
            (Ok(shown), Ok(expected)) => assert_eq!(shown, expected, "{dialect}: {sql}"),
            (Err(error), Err(part)) => {
                assert!(error.to_string().contains(part), "{dialect}: {sql}: {error}");
            }
            (got, expected) => panic!("{dialect}: {sql}: got {got:?}, expected {expected:?}"),
        }
    }

    fn check(sql: &str, expected: Result<&str, &str>) {
        for dialect in ["mysql", "postgres", "sqlite"] {
            check_in(dialect, sql, expected);
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
        check(
            "SELECT '{1,2}', '{1}', c FROM sbtest{n}",
            Ok("SELECT '{1,2}', '{1}', c FROM sbtest<Number>"),
        );
    }

    #[test]
    fn marks_in_comments_are_text() {
        check(
            "SELECT ? -- why? it's {list}\n, ?",
            Ok("SELECT <Mark> -- why? it's {list}\n, <Mark>"),
        );
        check("SELECT ? -- at the end?", Ok("SELECT <Mark> -- at the end?"));
        check("/* ? ' */ SELECT ?", Ok("/* ? ' */ SELECT <Mark>"));
        check("/*+ INDEX({table} k_{n}) */ ?", Ok("/*+ INDEX(<Table> k_<Number>) */ <Mark>"));
        check("SELECT 1 - ?, 4 / ?, 2 * ?", Ok("SELECT 1 - <Mark>, 4 / <Mark>, 2 * <Mark>"));
        check("SELECT '-- ', ?, '/*', ?", Ok("SELECT '-- ', <Mark>, '/*', <Mark>"));
        check("SELECT 1 /* ?", Err("a comment is not closed"));
    }

    #[test]
    fn comments_and_quotes_are_those_of_the_dialect() {
        check_in("mysql", "SELECT ? # why? it's\n, ?", Ok("SELECT <Mark> # why? it's\n, <Mark>"));
        check_in("postgres", "SELECT 5 # ?", Ok("SELECT 5 # <Mark>"));
        check_in("mysql", "SELECT 5--?", Ok("SELECT 5--<Mark>"));
        check_in("postgres", "SELECT 5--?\n+ ?", Ok("SELECT 5--?\n+ <Mark>"));
        check_in("postgres", "/* a /* ? */ ? */ ?", Ok("/* a /* ? */ ? */ <Mark>"));
        check_in("sqlite", "/* a /* ? */ ?", Ok("/* a /* ? */ <Mark>"));
        check_in("mysql", "SELECT /*!80000 ? */ 1", Ok("SELECT /*!80000 <Mark> */ 1"));
        check_in("mysql", "SELECT 'it\\'s ?', ?", Ok("SELECT 'it\\'s ?', <Mark>"));
        check_in("postgres", "SELECT '\\', ?", Ok("SELECT '\\', <Mark>"));
        check_in("postgres", "SELECT $$it's ?$$, ?", Ok("SELECT $$it's ?$$, <Mark>"));
        check_in("postgres", "SELECT $a$ $$ ? $a$, ?", Ok("SELECT $a$ $$ ? $a$, <Mark>"));
        check_in("postgres", "SELECT a$b$ + ? + c$b$", Ok("SELECT a$b$ + <Mark> + c$b$"));
        check_in("postgres", "SELECT $1, ?", Ok("SELECT $1, <Mark>"));
        check_in("postgres", "SELECT $$ ?", Err("a quote is not closed"));
        check_in("mysql", "SELECT $$, ?", Ok("SELECT $$, <Mark>"));
    }

    #[test]
    fn errors_name_the_part_at_fault() {
        check("SELECT c FROM {tabel}", Err("`{tabel}` is none of"));
        check("SELECT {n }, ?", Err("`{n }` is none of"));
        check("SELECT c FROM {table", Err("a `{` has no `}`"));
        check("{", Err("a `{` has no `}`"));
        check("SELECT 'c", Err("a quote is not closed"));
    }

    #[test]
    fn a_statement_is_cut_at_its_placeholders() {
        let check = |dialect: &str, sql: &str, expected: &[&str]| {
            assert_eq!(pieces(sql, dialect), expected, "{dialect}: {sql}");
        };
        for dialect in ["mysql", "postgres"] {
            check(dialect, "", &[""]);
            check(dialect, "BEGIN", &["BEGIN"]);
            check(dialect, "SELECT {c} WHERE id=?", &["SELECT {c} WHERE id=", ""]);
            check(dialect, "a '?' \"?\" b ? ü ?", &["a '?' \"?\" b ", " ü ", ""]);
            check(dialect, "a /* why? */ ?", &["a /* why? */ ", ""]);
            check(dialect, "a -- why?\n ?", &["a -- why?\n ", ""]);
            check(dialect, "a ? 'open ?", &["a ", " 'open ?"]);
        }
        check("mysql", r"a '\'?' ?", &[r"a '\'?' ", ""]);
        check("postgres", r"a '\'? ?", &[r"a '\'", " ", ""]);
        check("mysql", "a # why?\n ?", &["a # why?\n ", ""]);
        check("postgres", "a $$?$$ ?", &["a $$?$$ ", ""]);
    }
}
