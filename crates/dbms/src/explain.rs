//! How servers are asked for a plan, and what their answers say about indexes.

use model::{
    drive::Argument,
    workload::{Mode, NONE, PRIMARY},
};

/// A statement with its values: the text around them has one piece more than there are values.
#[derive(Debug, Clone, Copy)]
pub struct Explained<'a> {
    /// The text.
    pub pieces: &'a [String],
    /// The values.
    pub arguments: &'a [Argument],
    /// How it is sent: plans may depend on it.
    pub mode: Mode,
}

impl Explained<'_> {
    /// The text with `mark(position)` in the place of each value, positions from 0.
    pub fn marked(&self, mark: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for (position, piece) in self.pieces.iter().enumerate() {
            if position > 0 {
                text.push_str(&mark(position - 1));
            }
            text.push_str(piece);
        }
        text
    }

    /// The text with its values as literals.
    pub fn literal(&self) -> String {
        self.marked(|position| self.arguments.get(position).map(literal).unwrap_or_default())
    }
}

/// A value as SQL writes it. The texts of workloads have neither quotes nor backslashes of their
/// own unless an author put them there.
fn literal(value: &Argument) -> String {
    match value {
        Argument::Integer(value) => value.to_string(),
        Argument::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

/// One statement of the talk about a plan, executed in order on one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The statement.
    pub sql: String,
    /// Which plan its answer tells, in words; none if it tells nothing.
    pub plan: Option<&'static str>,
}

impl Question {
    pub(crate) fn plan(sql: String, plan: &'static str) -> Self {
        Self { sql, plan: Some(plan) }
    }

    pub(crate) fn step(sql: String) -> Self {
        Self { sql, plan: None }
    }
}

/// The server's answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanRows {
    /// Column names.
    pub columns: Vec<String>,
    /// Values as text; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// How a plan reaches the rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The index by its name, [`PRIMARY`] or [`NONE`].
    pub index: String,
    /// Whether it is read from one end to the other.
    pub whole: bool,
}

/// MySQL 9.7 has another form than the traditional one by default, and MySQL 5.6 the word for it,
/// which 5.5 reads as a comment.
pub(crate) fn mysql_questions(statement: &Explained<'_>) -> Vec<Question> {
    mysql_family_questions("EXPLAIN /*!50600 FORMAT=TRADITIONAL */", statement)
}

/// MariaDB has the traditional form by default.
pub(crate) fn mariadb_questions(statement: &Explained<'_>) -> Vec<Question> {
    mysql_family_questions("EXPLAIN", statement)
}

/// Prepared if the statement is: MariaDB makes a join of a list of 1,000 literals, and not of one
/// of 1,000 values of a prepared statement.
fn mysql_family_questions(explain: &str, statement: &Explained<'_>) -> Vec<Question> {
    if statement.mode == Mode::Text || statement.arguments.is_empty() {
        return vec![Question::plan(format!("{explain} {}", statement.literal()), "the plan")];
    }
    let body = statement.marked(|_| "?".to_owned()).replace('\\', "\\\\").replace('\'', "''");
    let values = statement.arguments.iter().enumerate();
    let values = values.map(|(at, value)| format!("@dbdyno_{at} = {}", literal(value)));
    let names = (0..statement.arguments.len()).map(|at| format!("@dbdyno_{at}"));
    let names = names.collect::<Vec<_>>().join(", ");
    vec![
        Question::step(format!("SET {}", values.collect::<Vec<_>>().join(", "))),
        Question::step(format!("PREPARE dbdyno_verify FROM '{explain} {body}'")),
        Question::plan(format!("EXECUTE dbdyno_verify USING {names}"), "the plan"),
        Question::step("DEALLOCATE PREPARE dbdyno_verify".to_owned()),
    ]
}

/// Reads the traditional form of EXPLAIN: columns `table`, `type` and `key`.
pub(crate) fn mysql_access(answer: &PlanRows) -> Vec<Access> {
    let column = |name: &str| answer.columns.iter().position(|c| c.eq_ignore_ascii_case(name));
    let (table, kind, key) = (column("table"), column("type"), column("key"));
    let value = |row: &[Option<String>], at: Option<usize>| {
        at.and_then(|at| row.get(at).cloned().flatten()).unwrap_or_default()
    };
    let rows = answer.rows.iter().filter(|row| !value(row, table).is_empty());
    rows.map(|row| {
        let (kind, key) = (value(row, kind), value(row, key));
        let index = match key.as_str() {
            "" => NONE.to_owned(),
            "PRIMARY" => PRIMARY.to_owned(),
            _ => key,
        };
        let whole = index == NONE || kind.eq_ignore_ascii_case("index");
        Access { index, whole }
    })
    .collect()
}

/// The statement as the measured clients prepare it. A server that has executed it five times may
/// go over to a plan for all values, so the first and the seventh plan are looked at.
pub(crate) fn postgres_questions(statement: &Explained<'_>) -> Vec<Question> {
    const FIRST: &str = "the plan for these values";
    const LATER: &str = "the plan after six executions";
    let body = statement.marked(|position| format!("${}", position + 1));
    if statement.mode == Mode::Text || statement.arguments.is_empty() {
        return vec![Question::plan(format!("EXPLAIN {}", statement.literal()), "the plan")];
    }
    let types = statement.arguments.iter().map(|value| match value {
        Argument::Integer(_) => "bigint",
        Argument::Text(_) => "varchar",
    });
    let types = types.collect::<Vec<_>>().join(", ");
    let values = statement.arguments.iter().map(literal).collect::<Vec<_>>().join(", ");
    let explain = format!("EXPLAIN EXECUTE dbdyno_verify({values})");
    let mut questions = vec![
        Question::step(format!("PREPARE dbdyno_verify({types}) AS {body}")),
        Question::plan(explain.clone(), FIRST),
    ];
    questions.extend((0..5).map(|_| Question::step(explain.clone())));
    questions.push(Question::plan(explain, LATER));
    questions.push(Question::step("DEALLOCATE dbdyno_verify".to_owned()));
    questions
}

/// Reads the lines of a plan: the nodes that scan, and whether a condition of the index follows.
pub(crate) fn postgres_access(answer: &PlanRows) -> Vec<Access> {
    let lines: Vec<&str> = answer
        .rows
        .iter()
        .filter_map(|row| row.first()?.as_deref())
        .map(|line| line.trim_start().trim_start_matches("->").trim_start())
        .collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let node = line.split("  (cost").next().unwrap_or(line);
        let name = if node.contains("Seq Scan on ") {
            None
        } else if let Some((_, name)) = node.split_once("Bitmap Index Scan on ") {
            Some(name)
        } else if let (true, Some((_, rest))) = (node.contains("Index"), node.split_once(" using "))
        {
            rest.split(" on ").next()
        } else {
            continue;
        };
        // An index that gives rows in the order of their distance need not be read to its end.
        let limits = |next: &&str| next.starts_with("Index Cond") || next.starts_with("Order By");
        let conditioned = lines.get(at + 1).is_some_and(limits);
        let index = match name {
            None => NONE.to_owned(),
            Some(name) if name.ends_with("_pkey") => PRIMARY.to_owned(),
            Some(name) => name.trim_matches('"').to_owned(),
        };
        found.push(Access { index, whole: !conditioned });
    }
    found
}

pub(crate) fn sqlite_questions(statement: &Explained<'_>) -> Vec<Question> {
    let sql = format!("EXPLAIN QUERY PLAN {}", statement.literal());
    vec![Question::plan(sql, "the plan")]
}

/// Reads the column `detail`: `SCAN t`, `SEARCH t USING INTEGER PRIMARY KEY (rowid=?)`,
/// `SEARCH t USING COVERING INDEX k (k=?)`.
pub(crate) fn sqlite_access(answer: &PlanRows) -> Vec<Access> {
    let details = answer.rows.iter().filter_map(|row| row.last()?.as_deref());
    details
        .filter(|line| line.starts_with("SCAN ") || line.starts_with("SEARCH "))
        .filter(|line| !line.starts_with("SCAN CONSTANT"))
        .map(|line| {
            let index = match line.split_once("INDEX ") {
                _ if line.contains("PRIMARY KEY") => PRIMARY.to_owned(),
                Some((_, name)) if name.starts_with("sqlite_autoindex_") => PRIMARY.to_owned(),
                Some((_, name)) => name.split(' ').next().unwrap_or_default().to_owned(),
                None => NONE.to_owned(),
            };
            Access { index, whole: line.starts_with("SCAN ") }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[&str], rows: &[&[&str]]) -> PlanRows {
        let value = |text: &&str| (*text != "NULL").then(|| (*text).to_owned());
        PlanRows {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows.iter().map(|row| row.iter().map(value).collect()).collect(),
        }
    }

    fn shown(accesses: &[Access]) -> Vec<String> {
        let word = |access: &Access| {
            format!("{}{}", access.index, if access.whole { " whole" } else { "" })
        };
        accesses.iter().map(word).collect()
    }

    #[test]
    fn the_traditional_form_is_read_by_the_names_of_its_columns() {
        let check = |kind: &str, key: &str, expected: &str| {
            let old = rows(
                &["id", "select_type", "table", "type", "possible_keys", "key"],
                &[&["1", "SIMPLE", "sbtest1", kind, "NULL", key]],
            );
            let new = rows(
                &["id", "select_type", "table", "partitions", "type", "possible_keys", "key"],
                &[&["1", "SIMPLE", "sbtest1", "NULL", kind, "NULL", key]],
            );
            assert_eq!(shown(&mysql_access(&old)), [expected]);
            assert_eq!(shown(&mysql_access(&new)), [expected]);
        };
        check("const", "PRIMARY", "primary");
        check("range", "k_1", "k_1");
        check("index", "k_1", "k_1 whole");
        check("ALL", "NULL", "none whole");
        let none = rows(&["table", "type", "key"], &[&["NULL", "NULL", "NULL"]]);
        assert!(mysql_access(&none).is_empty());
    }

    #[test]
    fn plans_of_postgres_tell_indexes_and_conditions() {
        let check = |lines: &[&str], expected: &[&str]| {
            let lines: Vec<&[&str]> = lines.iter().map(std::slice::from_ref).collect();
            assert_eq!(shown(&postgres_access(&rows(&["QUERY PLAN"], &lines))), expected);
        };
        check(
            &[
                "Index Scan using sbtest1_pkey on sbtest1  (cost=0.29..8.31 rows=1 width=121)",
                "  Index Cond: (id = '7'::bigint)",
            ],
            &["primary"],
        );
        check(
            &[
                "Bitmap Heap Scan on sbtest1  (cost=9.3..371.2 rows=96 width=125)",
                "  Recheck Cond: ((k >= $1) AND (k <= $2))",
                "  ->  Bitmap Index Scan on k_1  (cost=0.00..9.27 rows=96 width=0)",
                "        Index Cond: ((k >= $1) AND (k <= $2))",
            ],
            &["k_1"],
        );
        check(
            &["Index Only Scan using k_1 on sbtest1  (cost=0.29..2604.29 rows=100000 width=4)"],
            &["k_1 whole"],
        );
        check(
            &[
                "Update on sbtest1  (cost=0.29..8.31 rows=0 width=0)",
                "  ->  Index Scan using sbtest1_pkey on sbtest1  (cost=0.29..8.31 rows=1 width=10)",
                "        Index Cond: (id = '5'::bigint)",
            ],
            &["primary"],
        );
        check(
            &[
                "Gather  (cost=1000.00..5206.00 rows=33333 width=190)",
                "  ->  Parallel Seq Scan on sbtest1  (cost=0.00..3123.00 rows=13889 width=190)",
            ],
            &["none whole"],
        );
    }

    #[test]
    fn plans_of_sqlite_are_one_line_per_table() {
        let check = |line: &str, expected: &[&str]| {
            let columns = &["id", "parent", "notused", "detail"];
            let answer = rows(columns, &[&["2", "0", "0", line]]);
            assert_eq!(shown(&sqlite_access(&answer)), expected, "{line}");
        };
        check("SCAN sbtest1", &["none whole"]);
        check("SEARCH sbtest1 USING INTEGER PRIMARY KEY (rowid=?)", &["primary"]);
        // Of a table WITHOUT ROWID.
        check("SEARCH metrics1 USING PRIMARY KEY (device=?)", &["primary"]);
        check("SEARCH sbtest1 USING COVERING INDEX k_1 (k>? AND k<?)", &["k_1"]);
        check("SCAN sbtest1 USING COVERING INDEX k_1", &["k_1 whole"]);
        check("USE TEMP B-TREE FOR ORDER BY", &[]);
    }

    #[test]
    fn values_are_put_into_the_text() {
        let pieces = ["UPDATE t SET c = ", " WHERE id IN (", ", ", ")"].map(str::to_owned);
        let arguments =
            [Argument::Text("it's".to_owned()), Argument::Integer(4), Argument::Integer(-5)];
        let mut statement =
            Explained { pieces: &pieces, arguments: &arguments, mode: Mode::Prepared };
        assert_eq!(statement.literal(), "UPDATE t SET c = 'it''s' WHERE id IN (4, -5)");
        let questions = postgres_questions(&statement);
        assert_eq!(
            questions[0].sql,
            "PREPARE dbdyno_verify(varchar, bigint, bigint) AS \
             UPDATE t SET c = $1 WHERE id IN ($2, $3)"
        );
        let plans: Vec<_> = questions.iter().filter_map(|question| question.plan).collect();
        assert_eq!(plans, ["the plan for these values", "the plan after six executions"]);
        let texts = |questions: Vec<Question>| {
            questions.into_iter().map(|question| question.sql).collect::<Vec<String>>()
        };
        assert_eq!(
            texts(mariadb_questions(&statement)),
            [
                "SET @dbdyno_0 = 'it''s', @dbdyno_1 = 4, @dbdyno_2 = -5",
                "PREPARE dbdyno_verify FROM 'EXPLAIN UPDATE t SET c = ? WHERE id IN (?, ?)'",
                "EXECUTE dbdyno_verify USING @dbdyno_0, @dbdyno_1, @dbdyno_2",
                "DEALLOCATE PREPARE dbdyno_verify",
            ]
        );
        statement.mode = Mode::Text;
        assert_eq!(
            texts(mysql_questions(&statement)),
            ["EXPLAIN /*!50600 FORMAT=TRADITIONAL */ UPDATE t SET c = 'it''s' WHERE id IN (4, -5)"]
        );
    }
}
