//! The tag of a summary: what its name says beside the format, such as `io.pg18.dop1`.

use crate::number::{dop, positive};

/// A tag, as words and the number of clients among them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag {
    /// The words in order, without the number of clients.
    pub(crate) words: Vec<String>,
    /// What `dop40` or `40u` says, if exactly one word says it.
    pub(crate) clients: Option<u32>,
}

/// Beginnings of the names of summaries.
const STARTS: [&str; 5] = ["o.met", "met", "qps.abs", "qps.rel", "o.sum.t"];

/// Endings of their names.
const ENDINGS: [&str; 3] = [".tsv", ".csv", ".txt"];

impl Tag {
    /// The tag of a summary by its file name; `None` for other files.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let name = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        let rest = STARTS.iter().find_map(|start| {
            let rest = name.strip_prefix(start)?;
            (rest.is_empty() || rest.starts_with('.')).then_some(rest)
        })?;
        let words: Vec<&str> = rest.split('.').filter(|word| !word.is_empty()).collect();
        let counts: Vec<u32> = words.iter().filter_map(|word| clients(word)).collect();
        let one = match counts.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        let kept = words.into_iter().filter(|word| one.is_none() || clients(word).is_none());
        Some(Self { words: kept.map(str::to_owned).collect(), clients: one })
    }
}

/// The number of clients that `dop40` and `40u` name.
pub(crate) fn clients(word: &str) -> Option<u32> {
    dop(word).or_else(|| positive(word.strip_suffix('u')?))
}

/// A label such as `pg180_48u`: the variant, and the clients that it ran with.
pub(crate) fn label(text: &str) -> Option<(&str, u32)> {
    let (variant, count) = text.rsplit_once('_')?;
    let count = clients(count)?;
    (!variant.is_empty()).then_some((variant, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_words_and_a_number_of_clients() {
        let check = |name: &str, expected: Option<(&str, Option<u32>)>| {
            let tag = Tag::of(name).map(|tag| (tag.words.join(" "), tag.clients));
            assert_eq!(tag, expected.map(|(words, n)| (words.to_owned(), n)), "{name}");
        };
        check("o.met.io.pg18.dop1", Some(("io pg18", Some(1))));
        check("qps.abs.pgo.dop40.prep0.tsv", Some(("pgo prep0", Some(40))));
        check("qps.rel.ma106.48u.tsv", Some(("ma106", Some(48))));
        // Two numbers are no number: the labels of the rows tell them apart.
        check("o.met.pg180.1u.48u", Some(("pg180 1u 48u", None)));
        check("met.my56.txt", Some(("my56", None)));
        check("o.met", Some(("", None)));
        check("o.sum.t.20m.pg131.cx5", Some(("20m pg131 cx5", None)));
        check("metal.txt", None);
        check("sb.met.scan.range100.pk1.dop8", None);
    }

    #[test]
    fn a_label_ends_in_its_clients() {
        assert_eq!(label("pg180_48u"), Some(("pg180", 48)));
        for other in ["pg180", "x.my5651_rel.z12a.pk1", "_48u", "pg_u", "pg_0u"] {
            assert_eq!(label(other), None, "{other}");
        }
    }
}
