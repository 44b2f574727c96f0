//! "Did you mean": the nearest known name to a wrong one.

/// The end of a message about the unknown `name`: the nearest of `known`, or all of them.
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(nearest) = nearest(name, &known) {
        return format!("; did you mean `{nearest}`?");
    }
    match known.as_slice() {
        [] => "; there is none".to_owned(),
        [only] => format!("; there is only `{only}`"),
        all => format!("; known: {}", quoted(all)),
    }
}

/// Names in backticks, comma separated.
pub(crate) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The most similar known name, if it is similar enough to be what was meant.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let spelled = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let name = spelled(name);
    known
        .iter()
        .map(|candidate| (likeness(&name, &spelled(candidate)), *candidate))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// 1 for the same text, 0 for nothing in common; a name that continues the other is near.
fn likeness(a: &str, b: &str) -> f64 {
    let edits = strsim::normalized_damerau_levenshtein(a, b);
    let shorter = a.len().min(b.len());
    let continued = shorter >= 3 && (a.starts_with(b) || b.starts_with(a));
    if continued { edits.max(0.75) } else { edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        let known = ["rows", "rounds", "question", "point-query", "range-covered-pk"];
        assert_eq!(hint(name, known), expected, "{name}");
    }

    #[test]
    fn the_nearest_name_is_offered() {
        check("row", "; did you mean `rows`?");
        check("point_query", "; did you mean `point-query`?");
        check("pointquery", "; did you mean `point-query`?");
        check("roudns", "; did you mean `rounds`?");
    }

    #[test]
    fn all_names_are_listed_if_none_is_near() {
        check("zebra", "; known: `rows`, `rounds`, `question`, `point-query`, `range-covered-pk`");
        assert_eq!(hint("x", []), "; there is none");
        assert_eq!(hint("x", ["y"]), "; there is only `y`");
    }
}
