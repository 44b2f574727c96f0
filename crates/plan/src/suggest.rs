//! "Did you mean": the nearest known name to a wrong one.

use model::quoted;

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

/// `; did you mean …?`, or nothing if no known name is near.
pub(crate) fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// All that may be written: "`a`, `b` or `c`".
pub(crate) fn one_of(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => quoted([last]),
        Some((last, others)) => format!("{} or `{last}`", quoted(others)),
        None => String::new(),
    }
}

/// Versions that a message lists.
const VERSIONS_SHOWN: usize = 5;

/// What a message about an unknown version ends with: the nearest that there is and a few of the
/// others. Nothing where one of them fits, because something else is wrong then.
pub(crate) fn versions(wanted: &str, available: &[String]) -> String {
    let numbers = |version: &str| -> Vec<i64> {
        let parts = version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().unwrap_or(i64::MAX)).collect()
    };
    let wanted_numbers = numbers(wanted);
    // How far the numbers are from those that are wanted, the most significant first. Where that is
    // equal, the newest of older ones and the oldest of newer ones is nearer.
    let distance = |version: &&str| {
        let found = numbers(version);
        let at = |place: usize| found.get(place).copied().unwrap_or(0);
        let wanted = wanted_numbers.iter().enumerate();
        let apart: Vec<u64> = wanted.map(|(place, number)| at(place).abs_diff(*number)).collect();
        let sign = if found > wanted_numbers { 1 } else { -1 };
        (apart, found.iter().map(|number| sign * number).collect::<Vec<_>>())
    };
    let mut near: Vec<&str> = available.iter().map(String::as_str).collect();
    near.sort_by_key(distance);
    let fits = |version: &&str| {
        version.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if near.is_empty() || wanted.is_empty() || near.iter().any(fits) {
        return String::new();
    }
    let (nearest, others) = (near[0], &near[1..near.len().min(VERSIONS_SHOWN)]);
    let others = match others {
        [] => String::new(),
        others => format!(", others are {}", quoted(others)),
    };
    format!("; the nearest version is `{nearest}`{others}")
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
    fn the_nearest_version_is_by_number() {
        let all = ["5.6.24", "9.7.4", "10.1.23", "10.11.19"].map(str::to_owned);
        let check = |wanted: &str, expected: &str| {
            let text = versions(wanted, &all);
            let start = format!("; the nearest version is `{expected}`, others are `");
            assert!(text.starts_with(&start), "{text}");
            assert_eq!(text.matches('`').count(), 2 * all.len(), "{text}");
        };
        check("5.7", "5.6.24");
        check("8.0.44", "9.7.4");
        check("10.2.1", "10.1.23");
        check("10.12", "10.11.19");
        let many: Vec<String> = (1..=40).map(|minor| format!("18.{minor}")).collect();
        assert_eq!(
            versions("19", &many),
            "; the nearest version is `18.40`, others are `18.39`, `18.38`, `18.37`, `18.36`"
        );
        assert!(versions("1", &many).starts_with("; the nearest version is `18.1`"));
        assert_eq!(versions("9", &all), "", "there is one");
        assert_eq!(versions("9", &[]), "");
    }

    #[test]
    fn all_names_are_listed_if_none_is_near() {
        check("zebra", "; known: `rows`, `rounds`, `question`, `point-query`, `range-covered-pk`");
        assert_eq!(hint("x", []), "; there is none");
        assert_eq!(hint("x", ["y"]), "; there is only `y`");
    }
}
