//! The marks in a statement: `?`, `{list}`, `{rows}`, `{table}`, `{n}`. Marks in quotes are text.

/// What a statement's SQL asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// For each argument in order, whether it is a `{list}`.
    pub(crate) arguments: Vec<bool>,
    /// Number of `{rows}`.
    pub(crate) rows: usize,
    /// A `{word}` that means nothing: the load engine refuses it.
    pub(crate) unknown: Option<String>,
}

/// Marks that are replaced by text.
const REPLACED: [&str; 2] = ["table", "n"];

/// Finds the marks of `sql`.
pub(crate) fn marks(sql: &str) -> Marks {
    let mut marks = Marks::default();
    let mut rest = sql;
    while let Some(at) = rest.find(['?', '{', '\'', '"', '`']) {
        let mark = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match mark {
            b'?' => marks.arguments.push(false),
            b'{' => rest = braced(rest, &mut marks),
            quote => {
                let end = rest.bytes().position(|byte| byte == quote);
                rest = end.map_or("", |end| &rest[end + 1..]);
            }
        }
    }
    marks
}

/// Reads the word after a `{`; one without an end is a mark without a meaning, too.
fn braced<'a>(rest: &'a str, marks: &mut Marks) -> &'a str {
    let Some((word, rest)) = rest.split_once('}') else {
        marks.unknown = Some(rest.to_owned());
        return "";
    };
    match word {
        "list" => marks.arguments.push(true),
        "rows" => marks.rows += 1,
        word if REPLACED.contains(&word) => {}
        word => marks.unknown = Some(word.to_owned()),
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, arguments: &[bool], rows: usize, unknown: Option<&str>) {
        let unknown = unknown.map(str::to_owned);
        assert_eq!(marks(sql), Marks { arguments: arguments.to_vec(), rows, unknown }, "{sql}");
    }

    #[test]
    fn marks_are_found_outside_quotes() {
        check("SELECT c FROM {table} WHERE id = ?", &[false], 0, None);
        check("UPDATE t SET c = ? WHERE id IN ({list})", &[false, true], 0, None);
        check("INSERT INTO t (a) VALUES {rows}", &[], 1, None);
        check("SELECT '?', \"{list}\", ? FROM `?`", &[false], 0, None);
        check("SELECT c FROM {tabel}", &[], 0, Some("tabel"));
        check("SELECT '{1,2}', '{1}', c FROM sbtest{n}", &[], 0, None);
        check("SELECT {1}", &[], 0, Some("1"));
        check("SELECT {n }, ?", &[false], 0, Some("n "));
        check("SELECT 'open", &[], 0, None);
        check("SELECT {list", &[], 0, Some("list"));
        check("{", &[], 0, Some(""));
    }
}
