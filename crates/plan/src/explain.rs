//! What the TOML library says is wrong, in words that name the key, what it may be and what it is.

use crate::{
    error::{Error, Location},
    source::Source,
    suggest,
    too_large::{TOO_LARGE, most},
    tree::Tree,
};

/// Longest part of a user's text that a message shows, characters.
const SHOWN_MAX: usize = 60;

/// Lists of tables without which a workload, a schema or a suite does nothing.
const LISTS: [&str; 3] = ["op", "table", "phase"];

/// Why `source` is not TOML.
pub(crate) fn syntax(source: &Source, error: &toml::de::Error) -> Error {
    let found = error.span().and_then(|span| source.text.get(span)).map(shown);
    let reason = match (error.message(), found) {
        ("duplicate key", Some(key)) => {
            format!("this is not TOML: duplicate key `{key}`; remove one of them")
        }
        (message, _) => format!("this is not TOML: {}{}", one_line(message), unclosed(message)),
    };
    Error::Toml { place: place(source, &Tree::new(&source.text), error), reason }
}

/// What is probably wrong where one value goes on into the next line: the library names that line.
fn unclosed(message: &str) -> &'static str {
    match message.contains("expected newline") || message.starts_with("missing comma") {
        true => "; a bracket or quote may be missing on this line or above it",
        false => "",
    }
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
        // A key of the file itself is missing in all of it, not in the first key: its place is
        // empty.
        let of_file = key.is_empty() || error.span().is_none_or(|span| span.is_empty());
        let name = words(rest).into_iter().next().unwrap_or_default();
        let remedy = match of_file {
            // What files must have is a text or a list of tables.
            true if LISTS.contains(&name.as_str()) => format!("a table `[[{name}]]` to the file"),
            true => format!("`{name} = \"…\"` to the file"),
            false => format!("it to `{key}`"),
        };
        let reason = format!("the key `{name}` is missing; add {remedy}");
        return Error::Toml { place, reason };
    }
    let reason = match (message.rsplit_once(", expected "), key.is_empty()) {
        (Some((_, expected)), false) => {
            let found = found.map(|found| format!(", not `{found}`")).unwrap_or_default();
            let most = expected.starts_with(TOO_LARGE).then(|| most(&key)).flatten();
            let limited = most.map(|most| format!("a whole number from 1 to {most}"));
            format!("`{key}` must be {}{found}", limited.unwrap_or_else(|| plainly(expected)))
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
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" | "u64" | "usize" => "a whole number that is not negative".to_owned(),
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
