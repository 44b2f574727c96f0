//! Shares as TOML writes them: `"5%"`, `"0.5 %"`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::{borrow::Cow, fmt};

/// A share of a hundred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

struct PercentVisitor;

impl Visitor<'_> for PercentVisitor {
    type Value = Percent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text with a percent sign, such as \"5%\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Percent, E> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let finite = number.filter(|number: &f64| number.is_finite());
        finite.map(Percent).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PercentVisitor)
    }
}

impl JsonSchema for Percent {
    fn schema_name() -> Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^ *[0-9]+(\\.[0-9]+)? *% *$" })
    }
}
