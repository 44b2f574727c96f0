//! How the compared builds differ beside their versions.

use crate::{Design, warning::listed};
use model::{natural, record::TrialHeader};
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of builds that the sentence lists.
const KINDS_MAX: usize = 4;

/// Subjects whose builds have one packager and one compiler.
struct Kind<'a> {
    packager: &'a str,
    compiler: &'a str,
    subjects: Vec<&'a str>,
}

/// A sentence for each base whose build and those of what is compared with it differ in compiler
/// or packager: then a ratio is not that of the versions alone. What is unknown of a build differs
/// from nothing.
pub fn build_differences<'a>(
    headers: impl Iterator<Item = &'a TrialHeader> + Clone,
    design: &Design,
) -> Vec<String> {
    let of_base = |base: &str| {
        let is_compared = |header: &&TrialHeader| {
            let mut own = design.subjects.iter().filter(|(label, _)| *label == header.subject);
            own.any(|(label, known)| known.as_deref().unwrap_or(label) == base)
        };
        differences(headers.clone().filter(is_compared))
    };
    design.bases().into_iter().filter_map(of_base).collect()
}

fn differences<'a>(headers: impl Iterator<Item = &'a TrialHeader>) -> Option<String> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for header in headers {
        let (packager, compiler) = (&header.provenance.packager, &header.provenance.compiler);
        let subject = header.subject.as_str();
        if kinds.iter().any(|kind| kind.subjects.contains(&subject)) {
            continue;
        }
        match kinds.iter_mut().find(|k| k.packager == packager && k.compiler == compiler) {
            Some(kind) => kind.subjects.push(subject),
            None => kinds.push(Kind { packager, compiler, subjects: vec![subject] }),
        }
    }
    let several = |values: Vec<&str>| {
        let known: BTreeSet<&str> = values.into_iter().filter(|text| !text.is_empty()).collect();
        known.len() > 1
    };
    let compilers = several(kinds.iter().map(|kind| kind.compiler).collect());
    let packagers = several(kinds.iter().map(|kind| kind.packager).collect());
    let what = match (compilers, packagers) {
        (false, false) => return None,
        (true, false) => "compiler",
        (false, true) => "packager",
        (true, true) => "compiler and packager",
    };
    let mut listed: Vec<String> = kinds.iter().take(KINDS_MAX).map(described).collect();
    if kinds.len() > KINDS_MAX {
        listed.push(format!("{} more under builds", kinds.len() - KINDS_MAX));
    }
    Some(format!(
        "The builds differ in {what}, which may explain part of the ratios: {}.",
        listed.join("; ")
    ))
}

/// A sentence for each binary that several builds of different names are: between those there is no
/// change to find. `build` gives the build of a subject.
pub fn same_binaries<'a>(
    headers: impl IntoIterator<Item = &'a TrialHeader>,
    build: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut binaries: BTreeMap<&str, (&TrialHeader, BTreeMap<String, &str>)> = BTreeMap::new();
    for header in headers.into_iter().filter(|header| !header.binary_sha256.is_empty()) {
        let (_, builds) =
            binaries.entry(&header.binary_sha256).or_insert((header, BTreeMap::new()));
        builds.extend(build(&header.subject).map(|build| (build, header.subject.as_str())));
    }
    let several = binaries.into_values().filter(|(_, builds)| builds.len() > 1);
    let sentence = |(header, builds): (&TrialHeader, BTreeMap<String, &str>)| {
        let subjects: Vec<String> = builds.values().map(|one| format!("`{one}`")).collect();
        format!(
            "{} are the same binary (SHA-256 {}): the build explains no difference between them",
            subjects.join(" and "),
            header.short_sha256()
        )
    };
    several.map(sentence).collect()
}

fn described(kind: &Kind<'_>) -> String {
    let or = |text: &str, unknown: &str| {
        if text.is_empty() { unknown.to_owned() } else { text.to_owned() }
    };
    let mut subjects = kind.subjects.clone();
    subjects.sort_by(|one, other| natural::compare(one, other));
    let compiler = or(kind.compiler, "compiler unknown");
    format!(
        "{} {compiler}, {}",
        listed(subjects.into_iter(), "variant"),
        or(kind.packager, "packager unknown")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::header;

    fn built(subject: &str, packager: &str, compiler: &str) -> TrialHeader {
        let mut header = header(subject, &[]);
        packager.clone_into(&mut header.provenance.packager);
        compiler.clone_into(&mut header.provenance.compiler);
        header
    }

    #[test]
    fn builds_of_other_makers_are_named_in_one_sentence() {
        let headers = [
            built("a", "npm x", "GCC 4.1.2"),
            built("b", "Debian", ""),
            built("a", "npm x", "GCC 4.1.2"),
        ];
        assert_eq!(
            differences(headers.iter()).unwrap(),
            "The builds differ in packager, which may explain part of the ratios: \
             `a` GCC 4.1.2, npm x; `b` compiler unknown, Debian."
        );
        let many: Vec<TrialHeader> =
            (1..=11).rev().map(|n| built(&format!("v{n}"), &format!("m{}", n / 11), "")).collect();
        assert!(
            differences(many.iter())
                .unwrap()
                .contains("`v1`, `v2`, `v3` and 7 more variants compiler unknown")
        );
        let headers = [built("a", "m", "GCC 4.8.5"), built("b", "m", "GCC 7.5.0")];
        assert!(differences(headers.iter()).unwrap().starts_with("The builds differ in compiler,"));
    }

    #[test]
    fn only_builds_that_are_compared_are_told() {
        let headers = [built("a", "m", ""), built("a2", "m", ""), built("b", "n", "")];
        let told = |bases: [Option<&str>; 3]| {
            let names = headers.iter().map(|header| header.subject.clone());
            let subjects = names.zip(bases.map(|base| base.map(str::to_owned))).collect();
            build_differences(headers.iter(), &Design { subjects, ..Design::default() }).len()
        };
        assert_eq!(told([None, Some("a"), Some("a")]), 1);
        assert_eq!(told([None, Some("a"), None]), 0);
    }

    #[test]
    fn two_names_of_one_binary_are_told() {
        let with = |subject: &str, sha256: &str| {
            let mut header = header(subject, &[]);
            sha256.clone_into(&mut header.binary_sha256);
            header
        };
        let check = |headers: &[TrialHeader], expected: &[&str]| {
            let build = |subject: &str| match subject {
                "old small" | "old large" => Some("old".to_owned()),
                "new" => Some("new".to_owned()),
                _ => None,
            };
            assert_eq!(same_binaries(headers, &build), expected);
        };
        let one = "0123456789abcdef";
        let said = "`new` and `old small` are the same binary (SHA-256 0123456789ab): the build \
                    explains no difference between them";
        check(&[with("old small", one), with("new", one)], &[said]);
        check(&[with("old small", one), with("old large", one)], &[]);
        check(&[with("old small", one), with("new", "1")], &[]);
        check(&[with("old small", ""), with("new", "")], &[]);
    }

    #[test]
    fn equal_and_unknown_builds_are_not_told() {
        let check = |headers: &[TrialHeader]| assert_eq!(differences(headers.iter()), None);
        check(&[built("a", "m", "GCC 7.5.0"), built("b", "m", "GCC 7.5.0")]);
        check(&[built("a", "m", "GCC 7.5.0"), built("b", "m", "")]);
        check(&[built("a", "", ""), built("b", "", "")]);
        check(&[built("a", "m", "GCC 7.5.0")]);
        check(&[]);
    }
}
