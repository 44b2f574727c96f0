//! Which variants and archives a command shows, and what it calls them.

use crate::{
    args::{AliasArgs, ChoiceArgs},
    inputs,
};
use report::Names;
use std::collections::{BTreeMap, BTreeSet};

/// Names that a message about an unknown one lists.
const LISTED: usize = 8;
/// Likeness, of 1 for equal names, from which on one may be meant by the other.
const ALIKE: f64 = 0.6;

/// What the user wants to see; everything if nothing is named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// Names or patterns of variants.
    variants: Vec<String>,
    /// Names or patterns of archives and experiments.
    archives: Vec<String>,
}

impl From<ChoiceArgs> for Choice {
    fn from(arguments: ChoiceArgs) -> Self {
        Self { variants: arguments.variant, archives: arguments.archive }
    }
}

impl Choice {
    /// Which of these archives and experiments are wanted. Fails for a name that none of them has.
    pub(crate) fn archives(&self, known: &[String]) -> anyhow::Result<BTreeSet<String>> {
        if self.archives.is_empty() {
            return Ok(known.iter().cloned().collect());
        }
        Ok(matching(("archive or experiment", "--archive"), &self.archives, known)?
            .into_iter()
            .collect())
    }

    /// Labels of the wanted variants in the order in which they are named. Fails for a name that
    /// none of them has.
    pub(crate) fn variants(&self, known: &[String]) -> anyhow::Result<Vec<String>> {
        if self.variants.is_empty() {
            return Ok(known.to_vec());
        }
        matching(("variant", "--variant"), &self.variants, known)
    }

    /// Whether variants are named at all.
    pub(crate) fn has_variants(&self) -> bool {
        !self.variants.is_empty()
    }
}

/// The known names that fit any pattern, in the order of the patterns, and in their natural order
/// where one pattern fits several.
pub(crate) fn matching(
    (kind, flag): (&str, &str),
    patterns: &[String],
    known: &[String],
) -> anyhow::Result<Vec<String>> {
    // A label may be given as tables show it.
    let names = Names::of(known, &BTreeMap::new());
    let mut chosen: Vec<String> = Vec::new();
    for pattern in patterns.iter().map(|pattern| pattern.trim()) {
        let glob = glob::Pattern::new(pattern).ok();
        let fits = |name: &str| {
            name == pattern
                || archive::short_label(name) == pattern
                || glob.as_ref().is_some_and(|glob| glob.matches(name))
        };
        let mut found: Vec<&String> =
            known.iter().filter(|label| fits(label) || fits(names.short(label))).collect();
        found.sort_by(|a, b| model::natural::compare(a, b));
        anyhow::ensure!(
            !found.is_empty(),
            "no {kind} fits `{pattern}` of `{flag}`; {}",
            nearest(pattern, known, &names)
        );
        for label in found {
            if !chosen.contains(label) {
                chosen.push(label.clone());
            }
        }
    }
    Ok(chosen)
}

/// What a message about an unknown name ends with: all names if they are few, otherwise those that
/// are like it. `names` has the labels as tables show them.
fn nearest(name: &str, known: &[String], names: &Names) -> String {
    let shown = |label: &&String| format!("`{}`", model::escape::terminal(label));
    if known.len() <= LISTED {
        let all: Vec<String> = known.iter().map(|label| shown(&label)).collect();
        return match all.as_slice() {
            [] => "there is none".to_owned(),
            [only] => format!("there is only {only}"),
            all => format!("there are: {}", all.join(", ")),
        };
    }
    let plain = name.to_lowercase().replace(['*', '?'], "");
    let alike = |label: &str| strsim::normalized_damerau_levenshtein(&plain, label);
    let likeness = |label: &String| {
        let short = names.short(label).to_lowercase();
        let label = label.to_lowercase();
        if !plain.is_empty() && label.contains(&plain) {
            return 1.0;
        }
        let start: String = short.chars().take(plain.chars().count()).collect();
        alike(&label).max(alike(&short)).max(alike(&start))
    };
    let all = known.iter().map(|label| (likeness(label), label));
    let mut near: Vec<(f64, &String)> = all.filter(|(likeness, _)| *likeness >= ALIKE).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(LISTED);
    let near: Vec<String> = near.iter().map(|(_, label)| shown(label)).collect();
    match near.is_empty() {
        true => format!(
            "none of the {} that there are is like it: `dbdyno compare --format csv` names them",
            known.len()
        ),
        false => format!("the nearest are {}", near.join(", ")),
    }
}

/// The aliases of `--alias-file` and `--alias`; the latter win. Fails for a file that is no table
/// of texts, and for one name of two variants.
pub(crate) fn aliases(arguments: &AliasArgs) -> anyhow::Result<BTreeMap<String, String>> {
    let mut aliases = BTreeMap::new();
    if let Some(file) = &arguments.alias_file {
        let text = inputs::text("--alias-file", file)?;
        let found = plan::aliases(&text)
            .map_err(|error| anyhow::anyhow!("`{}`: {error}", file.display()))?;
        aliases.extend(found);
    }
    for given in &arguments.alias {
        let (label, name) = given
            .split_once('=')
            .filter(|(label, name)| !label.is_empty() && !name.is_empty())
            .ok_or_else(|| {
                anyhow::anyhow!("`--alias {given}` needs the form FULL=SHORT, such as `my8043=8.0`")
            })?;
        aliases.insert(label.to_owned(), name.to_owned());
    }
    let mut owners: BTreeMap<&String, &String> = BTreeMap::new();
    for (label, name) in &aliases {
        if let Some(other) = owners.insert(name, label) {
            anyhow::bail!("`{name}` is the alias of `{other}` and of `{label}`: choose two names");
        }
        anyhow::ensure!(
            !name.contains('`'),
            "the alias of `{label}` has a backtick, which quotes names in all texts: leave it out"
        );
        anyhow::ensure!(
            name.len() <= plan::NAME_MAX,
            "the alias `{name}` of `{label}` has {} bytes; use at most {}",
            name.len(),
            plan::NAME_MAX
        );
    }
    Ok(aliases)
}

/// The aliases by full label. Fails for an alias of a variant that is not there.
pub(crate) fn known_aliases(
    aliases: &BTreeMap<String, String>,
    labels: &[String],
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut known = BTreeMap::new();
    for (given, name) in aliases {
        let found = matching(("variant", "--alias"), std::slice::from_ref(given), labels)?;
        anyhow::ensure!(
            found.len() == 1,
            "`{given}` of `--alias` fits {} variants: name one of them in full",
            found.len()
        );
        known.extend(found.into_iter().map(|label| (label, name.clone())));
    }
    for (label, name) in &known {
        anyhow::ensure!(
            label == name || !labels.contains(name),
            "the alias `{name}` of `{label}` is the name of another variant: choose another one"
        );
    }
    Ok(known)
}

/// Fails for an alias that tables show for another one of `labels` already.
pub(crate) fn check_distinct(
    aliases: &BTreeMap<String, String>,
    labels: &[String],
) -> anyhow::Result<()> {
    let names = Names::of(labels, aliases);
    let plain = Names::of(labels, &BTreeMap::new());
    for (label, name) in aliases {
        let mut others = labels.iter().filter(|other| *other != label);
        let other =
            others.find(|other| [names.short(other), plain.short(other)].contains(&&**name));
        if let Some(other) = other {
            anyhow::bail!(
                "the alias `{name}` of `{label}` is what tables call `{other}`: choose another one"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<String> {
        let name = |n: usize| format!("x.my80{n:02}_rel_o2nofp.z12a_c8r32.pk1");
        (10..30).map(name).chain(["x.pg181_o2nofp.x10a_c8r32.pk1".to_owned()]).collect()
    }

    fn chosen(patterns: &[&str]) -> Result<Vec<String>, String> {
        let variants = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let choice = Choice { variants, archives: Vec::new() };
        choice.variants(&labels()).map_err(|error| error.to_string())
    }

    #[test]
    fn variants_are_chosen_by_label_short_name_and_pattern() {
        assert_eq!(chosen(&[]).unwrap().len(), 21);
        assert_eq!(chosen(&["*"]).unwrap().len(), 21);
        assert_eq!(chosen(&["x.my801?_*"]).unwrap().len(), 10);
        let two = ["x.pg181_o2nofp.x10a_c8r32.pk1", "x.my8010_rel_o2nofp.z12a_c8r32.pk1"];
        assert_eq!(chosen(&two).unwrap(), two);
        assert_eq!(chosen(&["pg*", "my8010*", "*pg*"]).unwrap(), two);
        assert_eq!(chosen(&["pg181_o2nofp.x10a_c8r32"]).unwrap(), two[..1]);
        let known = ["ma-10.2", "ma-9.1"].map(str::to_owned);
        let all = matching(("variant", "--variant"), &["ma*".to_owned()], &known).unwrap();
        assert_eq!(all, ["ma-9.1", "ma-10.2"]);
    }

    #[test]
    fn an_alias_is_as_short_as_other_names() {
        let of = |name: String| {
            let alias = vec![format!("my8013={name}")];
            aliases(&AliasArgs { alias, alias_file: None }).map_err(|error| error.to_string())
        };
        assert_eq!(of("x".repeat(128)).unwrap().len(), 1);
        let message = of("x".repeat(10_000)).unwrap_err();
        assert!(message.ends_with("of `my8013` has 10000 bytes; use at most 128"), "{message}");
    }

    #[test]
    fn an_unknown_name_lists_the_nearest() {
        let message = chosen(&["my8013", "my8099"]).unwrap_err();
        assert!(message.starts_with("no variant fits `my8013` of `--variant`; the nearest are"));
        let message = chosen(&["x.pg18"]).unwrap_err();
        assert!(message.contains("nearest are `x.pg181_o2nofp"), "{message}");
        assert_eq!(message.matches("`x.").count(), 2, "{message}");
        // A digit is wrong.
        let message = chosen(&["my8099"]).unwrap_err();
        assert!(message.contains("nearest are `x.my80") && !message.contains("pg181"), "{message}");
        assert_eq!(message.matches("`x.").count(), LISTED, "{message}");
        let message = chosen(&["zzz"]).unwrap_err();
        let none =
            "`zzz` of `--variant`; none of the 21 that there are is like it: `dbdyno compare";
        assert!(message.contains(none) && !message.contains("`x."), "{message}");
        let few = |known: &[&str]| {
            let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            matching(("variant", "--base"), &["zzz".to_owned()], &known).unwrap_err().to_string()
        };
        assert_eq!(few(&["a", "b"]), "no variant fits `zzz` of `--base`; there are: `a`, `b`");
        assert_eq!(few(&["a"]), "no variant fits `zzz` of `--base`; there is only `a`");
        // A broken pattern is a name that nobody has.
        assert!(chosen(&["[my"]).unwrap_err().contains("`[my`"));
        let none = matching(("archive", "--archive"), &["a".to_owned()], &[]).unwrap_err();
        assert_eq!(none.to_string(), "no archive fits `a` of `--archive`; there is none");
    }

    #[test]
    fn aliases_are_names_of_one_variant_each() {
        let check = |given: &[&str], expected: &str| {
            let alias = given.iter().map(|alias| (*alias).to_owned()).collect();
            let found = aliases(&AliasArgs { alias, alias_file: None });
            let found = found.and_then(|aliases| known_aliases(&aliases, &labels()));
            let text = match found {
                Ok(known) => format!("{known:?}"),
                Err(error) => error.to_string(),
            };
            assert!(text.contains(expected), "{given:?}: {text}");
        };
        check(&["pg181*=18.1"], r#"{"x.pg181_o2nofp.x10a_c8r32.pk1": "18.1"}"#);
        check(&["pg181"], "needs the form FULL=SHORT");
        check(&["pg181=", "=a"], "needs the form FULL=SHORT");
        check(&["my8010*=a", "my8011*=a"], "choose two names");
        check(&["my801*=a"], "fits 10 variants");
        check(&["my9*=a"], "no variant fits `my9*` of `--alias`");
        check(&["pg*=x.my8010_rel_o2nofp.z12a_c8r32.pk1"], "is the name of another variant");
        check(&["pg181*=a`b"], "has a backtick");
    }

    #[test]
    fn an_alias_is_not_what_another_variant_is_called() {
        let labels = ["sqlite-bundled.wal", "sqlite-bundled.rollback"].map(str::to_owned);
        let check = |name: &str| {
            let aliases = BTreeMap::from([("sqlite-bundled.wal".to_owned(), name.to_owned())]);
            check_distinct(&aliases, &labels).map_err(|error| error.to_string())
        };
        assert_eq!(check("w"), Ok(()));
        let said = check("rollback").unwrap_err();
        assert!(said.contains("is what tables call `sqlite-bundled.rollback`:"), "{said}");
    }
}
