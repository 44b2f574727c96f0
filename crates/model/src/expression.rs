//! Integer expressions over parameters, as catalog files write them: `rows / 2 + 1`,
//! `min(1200, 60 + rows / 1000000)`.

use crate::{Parameters, number};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An integer expression with `+ - * /`, parentheses, unary minus, `min(a, b)`, `max(a, b)`,
/// integers (also `10k`, `1M`, `1e6`) and parameter names.
///
/// Kept as its source text, so that records and messages show what the author wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expression(pub String);

/// Why an expression has no value. The message names the expression and the part at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// A name that is not a parameter of the workload.
    #[error("`{expression}` names `{name}`, which is not a parameter (known: {known})")]
    UnknownName {
        /// The whole expression.
        expression: String,
        /// The name that was not found.
        name: String,
        /// The parameters that exist, comma separated.
        known: String,
    },
    /// The text is not an expression.
    #[error("`{expression}` is not an expression: {reason}")]
    Malformed {
        /// The whole expression.
        expression: String,
        /// What was expected or found.
        reason: String,
    },
}

impl Expression {
    /// An expression from its text; nothing is checked before [`Expression::evaluate`].
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The parameters that it names.
    pub fn named<'a>(&self, parameters: &'a Parameters) -> Vec<(&'a str, i64)> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words: Vec<&str> = self.0.split(|c| !is_part(c)).collect();
        let named = parameters.iter().filter(|(name, _)| words.contains(&name.as_str()));
        named.map(|(name, value)| (name.as_str(), *value)).collect()
    }

    /// The value under `parameters`. Division truncates toward zero; overflow and division by zero
    /// are errors.
    pub fn evaluate(&self, parameters: &Parameters) -> Result<i64, ExpressionError> {
        // The least number is beyond 64 bits without its sign.
        if let Some(value) = number::whole(&self.0) {
            return Ok(value);
        }
        let mut parser = Parser { text: &self.0, rest: self.0.as_bytes(), parameters, depth: 0 };
        let value = parser.sum()?;
        parser.skip_blanks();
        match parser.rest.first() {
            None => Ok(value),
            Some(byte) => {
                Err(parser
                    .malformed(format!("unexpected `{}`", char::from(*byte).escape_default())))
            }
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<i64> for Expression {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

/// Nesting beyond this is refused, so that hostile input cannot exhaust the stack.
const DEPTH_MAX: u32 = 32;

struct Parser<'a> {
    text: &'a str,
    rest: &'a [u8],
    parameters: &'a Parameters,
    depth: u32,
}

impl Parser<'_> {
    fn malformed(&self, reason: impl Into<String>) -> ExpressionError {
        ExpressionError::Malformed { expression: self.text.to_owned(), reason: reason.into() }
    }

    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Takes the next byte if it is one of `operators`.
    fn take(&mut self, operators: &[u8]) -> Option<u8> {
        self.skip_blanks();
        let (first, rest) = self.rest.split_first()?;
        operators.contains(first).then(|| {
            self.rest = rest;
            *first
        })
    }

    fn sum(&mut self) -> Result<i64, ExpressionError> {
        let mut value = self.product()?;
        while let Some(operator) = self.take(b"+-") {
            let right = self.product()?;
            let next =
                if operator == b'+' { value.checked_add(right) } else { value.checked_sub(right) };
            value = next.ok_or_else(|| self.malformed("the value overflows 64 bits"))?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i64, ExpressionError> {
        let mut value = self.factor()?;
        while let Some(operator) = self.take(b"*/") {
            let right = self.factor()?;
            let next =
                if operator == b'*' { value.checked_mul(right) } else { value.checked_div(right) };
            value =
                next.ok_or_else(|| self.malformed("overflow of 64 bits or division by zero"))?;
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<i64, ExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.malformed(format!("more than {DEPTH_MAX} levels deep")));
        }
        let value = if self.take(b"-").is_some() {
            let value = self.factor()?;
            value.checked_neg().ok_or_else(|| self.malformed("the value overflows 64 bits"))
        } else if self.take(b"(").is_some() {
            let value = self.sum()?;
            match self.take(b")") {
                Some(_) => Ok(value),
                None => Err(self.malformed("a `)` is missing")),
            }
        } else {
            self.atom()
        };
        self.depth -= 1;
        value
    }

    fn atom(&mut self) -> Result<i64, ExpressionError> {
        self.skip_blanks();
        let number = self.rest.first().is_some_and(u8::is_ascii_digit);
        let is_word =
            |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || number && *byte == b'.';
        let length = self.rest.iter().take_while(|byte| is_word(byte)).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        let word = String::from_utf8_lossy(word).into_owned();
        match word.as_bytes().first() {
            None => Err(self.malformed("a number or a parameter name is missing")),
            Some(byte) if byte.is_ascii_digit() => number::whole(&word)
                .ok_or_else(|| self.malformed(format!("`{word}` is not a number"))),
            Some(_) if self.take(b"(").is_some() => self.call(&word),
            Some(_) => {
                self.parameters.get(&word).copied().ok_or_else(|| ExpressionError::UnknownName {
                    expression: self.text.to_owned(),
                    name: word,
                    known: self.parameters.keys().cloned().collect::<Vec<_>>().join(", "),
                })
            }
        }
    }

    /// The value of `name(a, b)`; the parenthesis is taken already.
    fn call(&mut self, name: &str) -> Result<i64, ExpressionError> {
        let choose: fn(i64, i64) -> i64 = match name {
            "min" => i64::min,
            "max" => i64::max,
            _ => {
                let reason = format!("`{name}` is not a function; there are `min` and `max`");
                return Err(self.malformed(reason));
            }
        };
        let first = self.sum()?;
        if self.take(b",").is_none() {
            return Err(self.malformed(format!("`{name}` takes two values, `{name}(a, b)`")));
        }
        let second = self.sum()?;
        match self.take(b")") {
            Some(_) => Ok(choose(first, second)),
            None => Err(self.malformed("a `)` is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<i64, &str>) {
        let parameters = Parameters::from([("rows".to_owned(), 1000), ("range".to_owned(), 100)]);
        let got = Expression::new(text).evaluate(&parameters);
        match (got, expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{text}"),
            (Err(got), Err(part)) => assert!(got.to_string().contains(part), "{text}: {got}"),
            (got, expected) => panic!("{text}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn values() {
        check("rows", Ok(1000));
        check("rows / 2 + 1", Ok(501));
        check("2 + 3 * (range - 1)", Ok(299));
        check("-range+1_000", Ok(900));
        check("--3", Ok(3));
        check("-9223372036854775808", Ok(i64::MIN));
        check("1M / 10k + 1.5k", Ok(1600));
        check("1e3 * 2", Ok(2000));
        check("min(range, 50)", Ok(50));
        check("max (range, rows / 2) + 1", Ok(501));
        check("min(1200, 60 + max(rows, 2 * rows) / 100)", Ok(80));
    }

    #[test]
    fn errors_name_the_part_at_fault() {
        check("", Err("missing"));
        check("row", Err("`row`, which is not a parameter (known: range, rows)"));
        check("1 +", Err("missing"));
        check("(1", Err("`)` is missing"));
        check("1 $", Err("unexpected `$`"));
        check("1 / 0", Err("division by zero"));
        check("9223372036854775807 + 1", Err("overflow"));
        check("9x", Err("not a number"));
        check("1.5", Err("not a number"));
        check("mim(1, 2)", Err("`mim` is not a function; there are `min` and `max`"));
        check("min(1)", Err("`min` takes two values, `min(a, b)`"));
        check("max(1, 2", Err("`)` is missing"));
        check("min", Err("not a parameter"));
        check(&"min(".repeat(100), Err("levels deep"));
        check(&"(".repeat(100), Err("levels deep"));
    }
}
