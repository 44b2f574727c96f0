//! The text of one statement: its SQL with the arguments in their places.

use super::compile::Compiler;
use super::values::DrawNames;
use super::{Decimal, Parameter, Slot, Source};
use model::{
    script,
    sql::{self, Token},
    workload::Mode,
};

/// Arguments of one prepared statement at most: both wire protocols count them in 16 bits.
const PARAMETERS_MAX: u64 = 65_535;

/// A statement's tokens with its compiled arguments.
pub(super) struct Text {
    tokens: Vec<Token>,
    arguments: Vec<Argument>,
    /// Value rows.
    pub(super) rows: u32,
}

struct Argument {
    slot: Slot,
    parameter: Parameter,
    /// Whether its SQL place is `{list}`.
    list: bool,
    /// The values themselves, where they are constant and travel in the text.
    literals: Option<Vec<String>>,
}

impl Text {
    /// Compiles the text and the arguments of a statement; `identity` is that of its counters.
    pub(super) fn new(
        compiler: &mut Compiler<'_>,
        from: &script::Statement,
        identity: String,
        scope: &DrawNames,
    ) -> Result<Self, String> {
        let source = sql_of(from, compiler.dialect)?;
        let tokens = sql::tokens(source, compiler.dialect)
            .map_err(|reason| format!("in `{source}`, {reason}"))?;
        let mode = compiler.mode(from);
        let mut arguments = Vec::with_capacity(from.args.len());
        for (position, arg) in from.args.iter().enumerate() {
            let identity = format!("{identity}/{position}");
            let argument = argument(compiler, mode, arg, identity, scope)
                .map_err(|reason| format!("argument {}: {reason}", position + 1))?;
            arguments.push(argument);
        }
        let rows = from.rows_per_statement.unwrap_or(1);
        let text = Self { tokens, arguments, rows };
        text.check(from)?;
        // No server prepares what the null client executes.
        if mode == Mode::Prepared && compiler.dialect != "null" {
            text.check_prepared()?;
        }
        Ok(text)
    }

    /// Whether the text differs between the copies of the table.
    pub(super) fn names_the_table(&self) -> bool {
        self.tokens.iter().any(|token| matches!(token, Token::Table | Token::Number))
    }

    /// The slots of the arguments that are sent apart from the text.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.arguments.iter().filter(|arg| arg.literals.is_none()).map(|arg| arg.slot)
    }

    /// The parameters in the order in which they are given, row by row.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let row = || {
            self.arguments
                .iter()
                .filter(|arg| arg.literals.is_none())
                .flat_map(|arg| (0..arg.slot.count).map(|_| arg.parameter.clone()))
        };
        (0..self.rows).flat_map(|_| row()).collect()
    }

    /// The text around the parameters, for copy number `copy` of `table`.
    pub(super) fn pieces(&self, table: &str, copy: u64) -> Vec<String> {
        let number = copy.to_string();
        let table = table.replace("{n}", &number);
        let mut pieces = Pieces(vec![String::new()]);
        let mut arguments = self.arguments.iter();
        for token in &self.tokens {
            match token {
                Token::Text(text) => pieces.text(text),
                Token::Table => pieces.text(&table),
                Token::Number => pieces.text(&number),
                Token::Mark | Token::List => {
                    if let Some(argument) = arguments.next() {
                        pieces.argument(argument);
                    }
                }
                Token::Rows => {
                    for row in 0..self.rows {
                        pieces.text(if row == 0 { "(" } else { ", (" });
                        for (position, argument) in self.arguments.iter().enumerate() {
                            pieces.text(if position == 0 { "" } else { ", " });
                            pieces.argument(argument);
                        }
                        pieces.text(")");
                    }
                }
            }
        }
        pieces.0
    }

    fn check(&self, from: &script::Statement) -> Result<(), String> {
        let places: Vec<&Token> = self
            .tokens
            .iter()
            .filter(|token| matches!(token, Token::Mark | Token::List | Token::Rows))
            .collect();
        let has_rows = places.contains(&&Token::Rows);
        if has_rows && places.len() > 1 {
            return Err("its SQL has `{rows}`, which must be the only placeholder".into());
        }
        if from.rows_per_statement.is_some() && !has_rows {
            return Err("it has several rows, but its SQL has no `{rows}`".into());
        }
        if has_rows && self.arguments.is_empty() {
            return Err("its SQL has `{rows}`, but it has no arguments for one row".into());
        }
        if !has_rows && places.len() != self.arguments.len() {
            let (places, arguments) = (places.len(), self.arguments.len());
            return Err(format!(
                "its SQL has {places} placeholders (`?`, `{{list}}`), but `args` has {arguments} \
                 entries"
            ));
        }
        for (position, (argument, place)) in self.arguments.iter().zip(places).enumerate() {
            if *place != Token::Rows && argument.list != (*place == Token::List) {
                let (has, wants) = if argument.list { ("?", "{list}") } else { ("{list}", "?") };
                let position = position + 1;
                return Err(format!(
                    "argument {position} stands at a `{has}` of the SQL, but needs a `{wants}`"
                ));
            }
        }
        Ok(())
    }

    fn check_prepared(&self) -> Result<(), String> {
        let one_row: u64 = self.slots().map(|slot| u64::from(slot.count)).sum();
        let total = one_row * u64::from(self.rows);
        if total > PARAMETERS_MAX {
            return Err(format!(
                "it has {total} arguments, but a prepared statement has at most {PARAMETERS_MAX}; \
                 send it as text (`mode = \"text\"`)"
            ));
        }
        Ok(())
    }
}

/// The SQL for a dialect: its own, or the common one.
fn sql_of<'a>(from: &'a script::Statement, dialect: &str) -> Result<&'a str, String> {
    let any = || from.sql_for.values().next().filter(|_| dialect == "null").map(String::as_str);
    from.sql_on(dialect)
        .or_else(any)
        .ok_or_else(|| format!("it has no SQL for `{dialect}`; add `sql` or `sql_for`"))
}

fn argument(
    compiler: &mut Compiler<'_>,
    mode: Mode,
    arg: &script::Arg,
    identity: String,
    scope: &DrawNames,
) -> Result<Argument, String> {
    let dialect = compiler.dialect;
    let mut values = compiler.values(identity);
    let count = arg.list.unwrap_or(1);
    let source = values.source(&arg.value, scope)?;
    let literals = match mode {
        Mode::Prepared => None,
        Mode::Text => values.literals(source, count, dialect),
    };
    let parameter = match source {
        Source::Text(template) | Source::TextRegister { template, .. } => {
            let text = values.program.templates[usize::from(template)].text();
            let plain = !text.contains(&b'\'') && !text.contains(&b'\\');
            if mode == Mode::Text && literals.is_none() && !plain {
                return Err("a template with a quote or backslash cannot be sent in text \
                            mode; prepare the statement"
                    .to_owned());
            }
            Parameter::Text(text.to_vec())
        }
        // No server prepares what the null client executes.
        Source::Decimal(_) if mode == Mode::Prepared && dialect != "null" => {
            return Err("a decimal has no type of its own to be prepared with; send the \
                        statement as text"
                .to_owned());
        }
        Source::Decimal(_) => Parameter::Varying(Decimal::LENGTH_MAX),
        Source::Now => Parameter::Time,
        Source::Filler(at) => {
            Parameter::Varying(values.program.fillers[usize::from(at)].length_max())
        }
        Source::Varying(at) => {
            Parameter::Varying(values.program.texts[usize::from(at)].length_max())
        }
        _ => Parameter::Integer,
    };
    Ok(Argument { slot: Slot { source, count }, parameter, list: arg.list.is_some(), literals })
}

/// Text under construction: the last piece grows, an argument starts the next.
struct Pieces(Vec<String>);

impl Pieces {
    fn text(&mut self, text: &str) {
        if let Some(last) = self.0.last_mut() {
            last.push_str(text);
        }
    }

    fn argument(&mut self, argument: &Argument) {
        for place in 0..argument.slot.count as usize {
            if place > 0 {
                self.text(", ");
            }
            // With that of a negative number, a minus would begin a comment.
            if self.0.last().is_some_and(|piece| piece.ends_with('-')) {
                self.text(" ");
            }
            match argument.literals.as_ref().and_then(|literals| literals.get(place)) {
                Some(literal) => self.text(literal),
                None => self.0.push(String::new()),
            }
        }
    }
}
