//! Short names of variants for people: aliases, else labels without what all of them share.

use crate::{Details, LeftOut, Trial};
use analysis::{Cell, Comparison, PhaseResult};
use model::{natural, shared::Name};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// Labels up to this many characters are shown whole.
const SHORT: usize = 20;

/// What the variants of one comparison are called where people read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The short name of each label that has one.
    short: BTreeMap<String, String>,
    /// The label of each short name.
    full: BTreeMap<String, String>,
    /// What was cut off all labels without an alias: before and after.
    cut: (String, String),
}

impl Names {
    /// Names for these labels. No two labels get the same name, and no label gets the name of
    /// another one.
    pub fn of(labels: &[String], aliases: &BTreeMap<String, String>) -> Self {
        let others: Vec<&str> = labels
            .iter()
            .filter(|label| !aliases.contains_key(*label))
            .map(String::as_str)
            .collect();
        let (before, after) = shared(&others);
        let whole: BTreeSet<&str> = labels.iter().map(String::as_str).collect();
        let mut names = Self { cut: (before.to_owned(), after.to_owned()), ..Self::default() };
        for label in labels {
            let cut = || trimmed(&label[before.len()..label.len() - after.len()]).to_owned();
            let name = aliases.get(label).cloned().unwrap_or_else(cut);
            if name.is_empty() || whole.contains(name.as_str()) || names.full.contains_key(&name) {
                continue;
            }
            names.full.insert(name.clone(), label.clone());
            names.short.insert(label.clone(), name);
        }
        names
    }

    /// The name of a label.
    pub fn short<'a>(&'a self, label: &'a str) -> &'a str {
        self.short.get(label).map_or(label, String::as_str)
    }

    /// The label of a name.
    pub fn full<'a>(&'a self, name: &'a str) -> &'a str {
        self.full.get(name).map_or(name, String::as_str)
    }

    /// Names with their labels, where they differ, in the order of the names.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let pairs = self.full.iter().map(|(name, label)| (name.as_str(), label.as_str()));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_by(|a, b| natural::compare(a.0, b.0));
        pairs
    }

    /// What readers must know to find the labels: one sentence for what was cut, one for aliases.
    pub fn legend(&self) -> Vec<String> {
        let (before, after) = &self.cut;
        let cut = match (before.as_str(), after.as_str()) {
            ("", "") => None,
            (before, "") => Some(format!("Names are shown without the leading `{before}`.")),
            ("", after) => Some(format!("Names are shown without the trailing `{after}`.")),
            (before, after) => Some(format!(
                "Names are shown without the leading `{before}` and the trailing `{after}`."
            )),
        };
        let is_alias = |(name, label): &(&str, &str)| {
            let cut = label.strip_prefix(before.as_str());
            let cut = cut.and_then(|rest| rest.strip_suffix(after.as_str()));
            cut.map(trimmed) != Some(*name)
        };
        let aliases: Vec<String> = self
            .pairs()
            .into_iter()
            .filter(is_alias)
            .map(|(name, label)| format!("`{name}` is `{label}`"))
            .collect();
        let aliases = (!aliases.is_empty()).then(|| format!("Aliases: {}.", aliases.join(", ")));
        cut.into_iter().chain(aliases).collect()
    }

    /// A text whose labels in backticks become names.
    fn text(&self, text: &str) -> String {
        let parts: Vec<&str> = text.split('`').collect();
        parts.into_iter().map(|part| self.short(part)).collect::<Vec<_>>().join("`")
    }

    /// A comparison under these names.
    pub fn comparison<'a>(&self, comparison: &'a Comparison) -> Cow<'a, Comparison> {
        if self.short.is_empty() {
            return Cow::Borrowed(comparison);
        }
        let labels = |labels: &[String]| labels.iter().map(|l| self.short(l).to_owned()).collect();
        let cell = |cell: &Cell| Cell {
            subject: Name::from(self.short(&cell.subject)),
            base: cell.base.as_ref().map(|base| Name::from(self.short(base))),
            ..cell.clone()
        };
        let phase = |phase: &PhaseResult| PhaseResult {
            cells: phase.cells.iter().map(cell).collect(),
            ..phase.clone()
        };
        Cow::Owned(Comparison {
            bases: labels(&comparison.bases),
            subjects: labels(&comparison.subjects),
            phases: comparison.phases.iter().map(phase).collect(),
            conditions: comparison.conditions.iter().map(|said| self.text(said)).collect(),
            warnings: comparison.warnings.iter().map(|warning| self.text(warning)).collect(),
            ..comparison.clone()
        })
    }

    /// Details under these names.
    pub fn details<'a>(&self, details: &'a Details) -> Cow<'a, Details> {
        if self.short.is_empty() {
            return Cow::Borrowed(details);
        }
        let mut own = details.clone();
        let rename = |subject: &mut String| *subject = self.short(subject).to_owned();
        own.trials.iter_mut().for_each(|Trial { header, .. }| rename(&mut header.subject));
        own.left_out.iter_mut().for_each(|LeftOut { subject, .. }| rename(subject));
        let Details { throughput, stalls, latency, resident, addressed, .. } = &mut own;
        for curves in [throughput, stalls, latency, resident, addressed] {
            curves.iter_mut().for_each(|curve| rename(&mut curve.subject));
        }
        for role in &mut own.roles {
            rename(&mut role.rate.subject);
            rename(&mut role.response.subject);
        }
        own.role_costs.iter_mut().for_each(|cost| rename(&mut cost.subject));
        own.role_times.iter_mut().for_each(|times| rename(&mut times.subject));
        own.counted.iter_mut().for_each(|counted| rename(&mut counted.subject));
        let sides = own.explanations.iter_mut().flat_map(|one| &mut one.sides);
        sides.for_each(|side| rename(&mut side.subject));
        for more in [&mut own.steps, &mut own.second].into_iter().flatten() {
            *more = self.comparison(more).into_owned();
        }
        let notes = std::mem::take(&mut own.notes.variants).into_iter();
        own.notes.variants =
            notes.map(|(name, note)| (self.short(&name).to_owned(), note)).collect();
        Cow::Owned(own)
    }
}

/// The longest beginning and end that all labels share, as long as whole parts of every label are
/// left between them; nothing where labels are short or alone.
fn shared<'a>(labels: &[&'a str]) -> (&'a str, &'a str) {
    let long = labels.iter().any(|label| label.chars().count() > SHORT);
    let (Some(first), true) = (labels.first(), long && labels.len() > 1) else { return ("", "") };
    let split: Vec<Vec<&str>> = labels.iter().map(|label| parts(label)).collect();
    let least = split.iter().map(Vec::len).min().unwrap_or(0);
    let same = |count: &usize| split.iter().all(|own| own[..*count] == split[0][..*count]);
    let before = (0..least).rev().find(same).unwrap_or(0);
    let ends = |count: &usize| {
        let end = |own: &[&'a str]| own[own.len() - count..].concat();
        split.iter().all(|own| end(own) == end(&split[0]))
    };
    let after = (0..least - before).rev().find(ends).unwrap_or(0);
    // Where mere numbers would be left, the word that says of what stays.
    let is_number = |own: &Vec<&str>| {
        let left = own[before..own.len() - after].concat();
        trimmed(&left).chars().all(|c| c.is_ascii_digit())
    };
    let ends_level = |count: &usize| split[0][..*count].last().is_none_or(|p| p.ends_with('.'));
    let before = match split.iter().any(is_number) {
        true => (0..before).rev().find(ends_level).unwrap_or(0),
        false => before,
    };
    let length = |parts: &[&str]| parts.iter().map(|part| part.len()).sum::<usize>();
    let (head, tail) = (length(&split[0][..before]), length(&split[0][split[0].len() - after..]));
    (&first[..head], &first[first.len() - tail..])
}

fn is_separator(c: char) -> bool {
    matches!(c, '.' | '-' | '_' | '/' | ':' | ' ')
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(is_separator)
}

/// A label cut after each separator, but not inside a version: `8.0.43` is one part.
fn parts(label: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    for (at, c) in label.char_indices().filter(|(_, c)| is_separator(*c)) {
        let after = at + c.len_utf8();
        let in_number = c == '.'
            && label[..at].ends_with(|c: char| c.is_ascii_digit())
            && digit(&label[after..]);
        if !in_number {
            parts.push(&label[start..after]);
            start = after;
        }
    }
    parts.push(&label[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(labels: &[&str], aliases: &[(&str, &str)], expected: &[&str]) {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let aliases = aliases.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let names = Names::of(&labels, &aliases);
        let found: Vec<&str> = labels.iter().map(|label| names.short(label)).collect();
        assert_eq!(found, expected);
        let back: Vec<&str> = found.iter().map(|name| names.full(name)).collect();
        assert_eq!(back, labels);
    }

    #[test]
    fn what_all_labels_share_is_cut_at_whole_parts() {
        check(
            &["x.my5651_rel_o2nofp.z12a_c8r32.pk1", "x.my8043_rel_o2nofp.z12a_c8r32.pk1"],
            &[],
            &["my5651", "my8043"],
        );
        check(
            &["x.ma100230_rel.z12a_c32r128.pk1", "x.pg1222_o2nofp.x10a_c32r128.pk1"],
            &[],
            &["ma100230_rel.z12a", "pg1222_o2nofp.x10a"],
        );
        // No part of a version is cut, and no label is cut to nothing.
        check(
            &["mysql-8.0.43-with-huge-pages", "mysql-8.0.9-with-huge-pages"],
            &[],
            &["8.0.43", "8.0.9"],
        );
        check(
            &["postgres-18.1.default.long", "postgres-18.1.default.long.tuned"],
            &[],
            &["long", "long.tuned"],
        );
        // A number alone would not say of what.
        check(
            &["mariadb-10.11.19.MALLOC_ARENA_MAX-1", "mariadb-10.11.19.MALLOC_ARENA_MAX-8"],
            &[],
            &["MALLOC_ARENA_MAX-1", "MALLOC_ARENA_MAX-8"],
        );
        check(&["ä.very.long.label.of.one", "ä.very.long.label.of.zwö"], &[], &["one", "zwö"]);
    }

    #[test]
    fn short_labels_and_single_ones_stay_whole() {
        check(&["mysql-5.6.24", "mysql-9.7.4"], &[], &["mysql-5.6.24", "mysql-9.7.4"]);
        check(
            &["x.my5651_rel_o2nofp.z12a_c8r32.pk1"],
            &[],
            &["x.my5651_rel_o2nofp.z12a_c8r32.pk1"],
        );
        check(&["", "a"], &[], &["", "a"]);
        check(
            &["........................", "......................-"],
            &[],
            &["........................", "......................-"],
        );
    }

    #[test]
    fn no_name_means_two_variants() {
        check(&["a", "b"], &[("a", "5.6")], &["5.6", "b"]);
        check(&["a", "b"], &[("a", "b")], &["a", "b"]);
        check(&["a", "b"], &[("a", "c"), ("b", "c")], &["c", "b"]);
        let long = ["x.one.with.a.long.end.pk1", "x.two.with.a.long.end.pk1", "x.z.pk1"];
        check(&long, &[("x.z.pk1", "one")], &["one", "two", "x.z.pk1"]);
    }

    #[test]
    fn counters_of_servers_have_the_names_of_the_comparison() {
        let labels = ["x.my5651_rel.pk1.long.end", "x.my8043_rel.pk1.long.end"].map(str::to_owned);
        let names = Names::of(&labels, &BTreeMap::new());
        let of = |label: &String| crate::Counted { subject: label.clone(), ..Default::default() };
        let details = Details { counted: labels.iter().map(of).collect(), ..Details::default() };
        let renamed = names.details(&details);
        let found: Vec<&str> = renamed.counted.iter().map(|one| one.subject.as_str()).collect();
        assert_eq!(found, ["my5651", "my8043"]);
    }

    #[test]
    fn the_legend_says_what_was_cut() {
        let labels = ["x.my5651_rel.pk1.long.end", "x.my8043_rel.pk1.long.end", "z"];
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let aliases = BTreeMap::from([("z".to_owned(), "last".to_owned())]);
        assert_eq!(
            Names::of(&labels, &aliases).legend(),
            [
                "Names are shown without the leading `x.` and the trailing `rel.pk1.long.end`.",
                "Aliases: `last` is `z`.",
            ]
        );
    }
}
