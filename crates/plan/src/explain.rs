//! What the TOML library says is wrong, in words that name the key, what it may be and what it is.

use crate::{
    error::{Error, Location},
    source::Source,
    suggest,
    tree::Tree,
};

/// Longest part of a user's text that a message shows, characters.
const SHOWN_MAX: usize = 60;

/// Why `source` is not TOML.
pub(crate) fn syntax(source: &Source, error: &toml::de::Error) -> Error {
    let found = error.span().and_then(|span| source.text.get(span)).map(shown);
    let reason = match (error.message(), found) {
        ("duplicate key", Some(key)) => {
            format!("this is not TOML: duplicate key `{key}`; remove one of them")
        }
        (message, _) => format!("this is not TOML: {}", one_line(message)),
    };
    Error::Toml { place: place(source, &Tree::new(&source.text), error), reason }
}

/// Why the values of `source` are not what its keys ask for.
pub(crate) fn values(source: &Source, error: &toml::de::Error) -> Error {
    let tree = Tree::new(&source.text);
    let place = place(source, &tree, error);
    let key = error.span().map(|span| tree.key_at(span.start)).unwrap_or_default();
    let found = error.span().and_then(|span| source.text.get(span)).map(shown);
    let message = error.message();
    let words = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names = words(rest);
        let key = names.first().cloned().unwrap_or_default();
        let known = || names.iter().skip(1).map(String::as_str);
        // Both kinds of file describe what is measured, and are easily taken for each other.
        let hint = match key == "table" && known().any(|name| name == "op") {
            true => "; this file is a schema: a workload names it by `schema`".to_owned(),
            false => suggest::hint(&key, known()),
        };
        return Error::UnknownKey { place, key: shown(&key), hint };
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return unknown_word(place, &key, &words(rest));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        // A key of the file itself is missing in all of it, not in the first key.
        let whole = |span: std::ops::Range<usize>| span.len() >= source.text.trim_end().len();
        let inside = match key.is_empty() || error.span().is_some_and(whole) {
            true => String::new(),
            false => format!(" to `{key}`"),
        };
        let reason = format!("the key {} is missing; add it{inside}", one_line(rest));
        return Error::Toml { place, reason };
    }
    let reason = match (message.rsplit_once(", expected "), key.is_empty()) {
        (Some((_, expected)), false) => {
            let found = found.map(|found| format!(", not `{found}`")).unwrap_or_default();
            format!("`{key}` must be {}{found}", plainly(expected))
        }
        (_, false) => format!("`{key}`: {}", one_line(message)),
        (_, true) => one_line(message),
    };
    Error::Toml { place, reason }
}

/// A word that is none of those that a key takes: `names` are the word and the known ones.
fn unknown_word(place: Location, key: &str, names: &[String]) -> Error {
    let (found, known) = names.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let nearest = suggest::did_you_mean(found, &known);
    let reason =
        format!("`{key}` must be {}, not `{}`{nearest}", suggest::one_of(&known), shown(found));
    Error::Toml { place, reason }
}

fn place(source: &Source, tree: &Tree<'_>, error: &toml::de::Error) -> Location {
    let line = error.span().map(|span| tree.line(span.start));
    Location { file: source.label.clone(), line }
}

/// What the library calls a type, in the words of a user.
fn plainly(expected: &str) -> String {
    let length = expected.strip_prefix("an array of length ");
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative".to_owned(),
        "i64" => "a whole number".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list in brackets".to_owned(),
        "a string" | "path string" | "string or table" => "a text in quotes".to_owned(),
        "a map" => "a table".to_owned(),
        text if text.starts_with("struct ") => "a table".to_owned(),
        text => match length {
            Some(length) => format!("a list of {length} entries"),
            None => one_line(text),
        },
    }
}

/// The start of a user's text on one line.
pub(crate) fn shown(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
