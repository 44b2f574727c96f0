//! Which variants are exported, in which order.

use crate::{Error, ExportOptions, Input, Result, Study};
use model::quoted;

/// Labels of the wanted variants in the order of the options; all in the study's order, its base
/// first, if none is named.
///
/// A variant may be named without the `x.` and the `.pk1` that labels of published archives have.
/// One that another study has and this one has not is left out. Fails if this one has none of them.
pub fn of<'a>(study: &'a Study, options: &ExportOptions) -> Result<Vec<&'a str>> {
    let grouped = options.groups.iter().flatten();
    let wanted: Vec<&String> = match options.variants.is_empty() {
        true => grouped.collect(),
        false => options.variants.iter().collect(),
    };
    let labels: Vec<&str> = study.subjects.iter().map(String::as_str).collect();
    if wanted.is_empty() {
        return Ok(labels);
    }
    let mut chosen: Vec<&str> = Vec::new();
    for found in wanted.iter().filter_map(|name| find(&labels, name)) {
        if !chosen.contains(&found) {
            chosen.push(found);
        }
    }
    match wanted.first() {
        Some(name) if chosen.is_empty() => Err(unknown(study, name, &labels)),
        _ => Ok(chosen),
    }
}

/// Whether a study has the variant that is named first, if any is: nothing else is its base.
pub(crate) fn has_base(study: &Study, options: &ExportOptions) -> bool {
    let first = options.variants.iter().chain(options.groups.iter().flatten()).next();
    let labels: Vec<&str> = study.subjects.iter().map(String::as_str).collect();
    first.is_none_or(|name| find(&labels, name).is_some())
}

/// The studies that have any of the variants that the options name; all if none is named. Fails if
/// there is none.
pub fn with_variants(mut input: Input, options: &ExportOptions) -> Result<Input> {
    let grouped = options.groups.iter().flatten();
    let wanted: Vec<&String> = options.variants.iter().chain(grouped).collect();
    let (Some(first), Some(name)) = (input.studies.first().cloned(), wanted.first()) else {
        return Ok(input);
    };
    input.studies.retain(|study| {
        let labels: Vec<&str> = study.subjects.iter().map(String::as_str).collect();
        wanted.iter().any(|name| find(&labels, name).is_some())
    });
    if input.studies.is_empty() {
        let labels: Vec<&str> = first.subjects.iter().map(String::as_str).collect();
        return Err(unknown(&first, name, &labels));
    }
    Ok(input)
}

/// The label that a name stands for.
pub(crate) fn find<'a>(labels: &[&'a str], name: &str) -> Option<&'a str> {
    let exact = labels.iter().find(|label| **label == name);
    exact.or_else(|| labels.iter().find(|label| short(label) == name)).copied()
}

/// A label without `x.` and `.pk1`.
pub fn short(label: &str) -> &str {
    let inner = label.strip_prefix("x.").unwrap_or(label);
    inner.strip_suffix(".pk1").or_else(|| inner.strip_suffix(".pk0")).unwrap_or(inner)
}

fn unknown(study: &Study, name: &str, labels: &[&str]) -> Error {
    Error::UnknownVariant {
        name: name.to_owned(),
        experiment: study.experiment.clone(),
        known: quoted(labels),
    }
}

/// Groups from the text of a file: one name per line, `-` is a break; blank lines and lines that
/// begin with `#` are left out.
pub fn groups(text: &str) -> Vec<Vec<String>> {
    let mut groups = vec![Vec::new()];
    for line in text.lines().map(str::trim) {
        match line {
            "-" => groups.push(Vec::new()),
            "" => {}
            comment if comment.starts_with('#') => {}
            name => {
                if let Some(last) = groups.last_mut() {
                    last.push(name.to_owned());
                }
            }
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_come_in_the_order_asked_for() {
        let subjects = ["x.b.z.pk1", "x.a.z.pk1", "c"].map(str::to_owned).to_vec();
        let study = Study { subjects, ..Study::default() };
        let check = |wanted: &[&str], expected: &[&str]| {
            let variants = wanted.iter().map(|name| (*name).to_owned()).collect();
            let options = ExportOptions { variants, ..ExportOptions::default() };
            assert_eq!(of(&study, &options).unwrap(), expected);
        };
        check(&[], &["x.b.z.pk1", "x.a.z.pk1", "c"]);
        check(&["x.b.z.pk1", "c", "b.z"], &["x.b.z.pk1", "c"]);
        check(&["of-another-study", "c"], &["c"]);
        let options = ExportOptions { variants: vec!["d".into()], ..ExportOptions::default() };
        let message = of(&study, &options).unwrap_err().to_string();
        assert!(message.contains("has no variant `d`") && message.contains("`x.a.z.pk1`"));
    }

    #[test]
    fn groups_are_lines_with_breaks() {
        let groups = groups("# mine\na\n b \n-\n\n-\nc\r\n");
        assert_eq!(groups, [vec!["a", "b"], vec!["c"]]);
    }
}
