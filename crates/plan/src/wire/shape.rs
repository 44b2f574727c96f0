//! How the types that read themselves look to an editor: their part of the JSON Schemas.

use super::{
    config::{WireFullSetting, WireSetting},
    generator::WireGenerator,
    number::Whole,
    role::{WireOpen as WireRoleOpen, WireRoleArrival},
    schema::WireColumn,
    value::{
        Formula, Interval, OneOrMany, Ordered, Scalar, Variable, WireArrival, WireCondition,
        WireOpen,
    },
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use values::generator::Shape;

/// Gives a type the schema that an expression over the generator makes, written where it is used.
macro_rules! shape {
    ($type:ty, $generator:ident => $schema:expr) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

/// `1000`, `1e6`, `"10k"`.
fn whole() -> Schema {
    let pattern = "^ *-?[0-9][0-9_]*(\\.[0-9_]+)?([eE]\\+?[0-9]+)?[kKMG]? *$";
    json_schema!({
        "anyOf": [
            { "type": "integer" },
            { "type": "number", "multipleOf": 1 },
            { "type": "string", "pattern": pattern }
        ]
    })
}

/// A text or a number of any kind.
fn scalar() -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}

impl<T> JsonSchema for Whole<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Whole".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        whole()
    }
}

impl<T: JsonSchema> JsonSchema for Ordered<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Ordered{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": values })
    }
}

shape!(Formula, _generator => json_schema!({ "type": ["integer", "number", "string"] }));
shape!(WireCondition, _generator => json_schema!({ "type": ["boolean", "string"] }));
shape!(Scalar, _generator => scalar());
shape!(Variable, _generator => scalar());
shape!(Interval, generator => {
    let ends = generator.subschema_for::<Formula>();
    json_schema!({
        "anyOf": [
            { "type": ["integer", "number", "string"] },
            { "type": "array", "items": ends, "minItems": 2, "maxItems": 2 }
        ]
    })
});
shape!(OneOrMany, _generator => json_schema!({
    "anyOf": [
        { "type": ["string", "number"] },
        { "type": "array", "items": scalar() }
    ]
}));
shape!(WireSetting, generator => {
    let full = generator.subschema_for::<WireFullSetting>();
    json_schema!({ "anyOf": [scalar(), full] })
});
shape!(WireArrival, generator => {
    let open = generator.subschema_for::<WireOpen>();
    json_schema!({ "anyOf": [{ "const": "closed" }, open] })
});
shape!(WireRoleArrival, generator => {
    let open = generator.subschema_for::<WireRoleOpen>();
    json_schema!({ "anyOf": [{ "const": "closed" }, open] })
});
shape!(WireGenerator, generator => {
    let integer = generator.subschema_for::<Formula>();
    let text = json_schema!({ "type": "string" });
    let two = |of: &Schema| {
        json_schema!({ "type": "array", "items": of, "minItems": 2, "maxItems": 2 })
    };
    let of = |shape: Shape| match shape {
        Shape::Integer => integer.clone(),
        Shape::Interval => two(&integer),
        Shape::Real => json_schema!({ "type": "number" }),
        Shape::Text => text.clone(),
        Shape::Pair => two(&text),
        Shape::Texts => json_schema!({ "type": "array", "items": text }),
        Shape::Flag => json_schema!({ "type": "boolean" }),
    };
    let keys: serde_json::Map<_, _> =
        WireGenerator::keys().map(|(key, shape)| (key.to_owned(), of(shape).into())).collect();
    json_schema!({ "type": "object", "properties": keys, "additionalProperties": false })
});
shape!(WireColumn, generator => {
    let drawn = generator.subschema_for::<WireGenerator>();
    json_schema!({ "anyOf": [{ "const": "row_number" }, drawn] })
});
