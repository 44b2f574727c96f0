//! The numbers that the expressions of a workload or schema stand for in one phase.

use super::value::{Formula, WireCondition};
use crate::{
    error::{Error, Location},
    source::{Fault, Under},
};
use model::{Parameters, expression::Expression};
use std::ops::RangeInclusive;

/// Values in one statement, at most: no protocol takes more placeholders, and no text is longer
/// for a reason.
pub(crate) const VALUES_MAX: i64 = 65_535;

/// Whether the numbers have to make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// They are those of a phase.
    Checked,
    /// They are defaults, which suites and experiments replace: an expression must have a value,
    /// whichever it is.
    Unchecked,
}

/// Evaluates expressions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub(crate) parameters: &'a Parameters,
    pub(crate) limits: Limits,
}

impl Numbers<'_> {
    /// Whether numbers beyond their limits are refused.
    pub(crate) fn are_checked(self) -> bool {
        self.limits == Limits::Checked
    }

    /// The value of an expression, any.
    pub(crate) fn value(self, formula: &Formula) -> Result<i64, Fault> {
        let value = formula.0.evaluate(self.parameters);
        value.map_err(|source| Error::Expression { place: Location::default(), source }.into())
    }

    /// The value of `what`, if it is allowed.
    pub(crate) fn within(
        self,
        what: &str,
        formula: &Formula,
        allowed: RangeInclusive<i64>,
    ) -> Result<i64, Fault> {
        let (value, least, most) = (self.value(formula)?, *allowed.start(), *allowed.end());
        if allowed.contains(&value) || !self.are_checked() {
            return Ok(value.clamp(least, most));
        }
        let must = match most {
            i64::MAX => format!("at least {least}"),
            most => format!("from {least} to {most}"),
        };
        let found = found(&formula.0, value);
        Err(Fault::invalid(format!("{what} must be {must}{found}")))
    }

    /// The same as a number without a sign.
    pub(crate) fn count<N: TryFrom<i64> + Default>(
        self,
        what: &str,
        formula: &Formula,
        allowed: RangeInclusive<i64>,
    ) -> Result<N, Fault> {
        // The callers allow what their type can hold.
        self.within(what, formula, allowed).map(|value| N::try_from(value).unwrap_or_default())
    }

    /// The same for a key that may be left out.
    pub(crate) fn optional<N: TryFrom<i64> + Default>(
        self,
        key: &str,
        formula: Option<&Formula>,
        allowed: RangeInclusive<i64>,
    ) -> Result<Option<N>, Fault> {
        let count = |formula| self.count(&format!("`{key}`"), formula, allowed).under(key);
        formula.map(count).transpose()
    }

    /// Both ends of an interval that holds something.
    pub(crate) fn interval(
        self,
        key: &str,
        [low, high]: [&Formula; 2],
    ) -> Result<(i64, i64), Fault> {
        let (least, most) = (self.value(low).under(0)?, self.value(high).under(1)?);
        if least <= most || !self.are_checked() {
            return Ok((least, most.max(least)));
        }
        let written = format!("`{key}`: from `{}` to `{}`", low.0, high.0);
        let plain =
            [&low.0, &high.0].map(ToString::to_string) == [least, most].map(|n| n.to_string());
        let numbers =
            if plain { String::new() } else { format!(" is from {least} to {most}, which") };
        // A shipped file is right, and the parameter of an experiment is wrong.
        let mut named: Vec<(&str, i64)> =
            [low, high].iter().flat_map(|end| end.0.named(self.parameters)).collect();
        named.dedup();
        let named =
            named.iter().map(|(name, value)| format!("; the parameter `{name}` is {value}"));
        let named: String = named.collect();
        Err(Fault::invalid(format!("{written}{numbers} holds nothing{named}")))
    }

    /// Whether a condition holds.
    pub(crate) fn holds(self, condition: &WireCondition, key: &str) -> Result<bool, Fault> {
        match condition {
            WireCondition::Fixed(fixed) => Ok(*fixed),
            WireCondition::When(formula) => {
                Ok(self.within(&format!("`{key}`"), formula, 0..=1)? == 1)
            }
        }
    }
}

/// The end of a message about a wrong value: the number, and the expression that has it.
fn found(expression: &Expression, value: i64) -> String {
    match expression.0 == value.to_string() {
        true => format!(", not `{value}`"),
        false => format!("; `{expression}` is {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_truth_values_or_expressions() {
        let parameters = Parameters::from([("skip".to_owned(), 1)]);
        let numbers = Numbers { parameters: &parameters, limits: Limits::Checked };
        let check = |text: &str, expected: bool| {
            #[derive(serde::Deserialize)]
            struct Key {
                key: WireCondition,
            }
            let Key { key } = toml::from_str(&format!("key = {text}")).unwrap();
            assert_eq!(numbers.holds(&key, "key").unwrap(), expected, "{text}");
        };
        check("true", true);
        check("false", false);
        check("\"skip\"", true);
        check("\"1 - skip\"", false);
    }
}
