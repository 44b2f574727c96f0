//! Short names of variants, as users write them: a table of texts.

use std::collections::BTreeMap;

/// Aliases by label. Fails with a sentence if the text is no TOML table of texts.
pub fn aliases(text: &str) -> Result<BTreeMap<String, String>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    table
        .into_iter()
        .map(|(label, value)| match value {
            toml::Value::String(name) if !name.is_empty() => Ok((label, name)),
            _ => Err(format!("`{label}` needs a short name in quotes, such as \"8.0.43\"")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_a_text() {
        let check = |text: &str, expected: &str| {
            let found = aliases(text).map(|found| format!("{found:?}"));
            assert_eq!(found.unwrap_or_else(|error| error), expected);
        };
        check("", "{}");
        check("\"x.my8043.pk1\" = \"8.0.43\"\n", r#"{"x.my8043.pk1": "8.0.43"}"#);
        // A label with dots needs quotes.
        check("a.b = \"c\"", "`a` needs a short name in quotes, such as \"8.0.43\"");
        check("a = 8", "`a` needs a short name in quotes, such as \"8.0.43\"");
        check("a = \"\"", "`a` needs a short name in quotes, such as \"8.0.43\"");
        assert!(aliases("\n\na = ").unwrap_err().starts_with("line 3: "));
    }
}
