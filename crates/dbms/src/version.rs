//! Versions as texts of numbers and dots: reading, ordering and prefixes.

use model::subject::Setting;

/// The first version in what a program says about itself (`mysqld  Ver 9.7.4-2 for Linux`).
pub(crate) fn version_in(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(plain)
}

/// The leading numbers and dots of a word: `9.7.4-2` is `9.7.4`, `11.8.9+ds-4` is `11.8.9`.
pub(crate) fn plain(word: &str) -> &str {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    word[..end].trim_end_matches('.')
}

/// Version of a Debian package without its epoch and revision: `1:10.11.19-0+deb12u1` is
/// `10.11.19`.
pub(crate) fn upstream(debian: &str) -> &str {
    plain(debian.split_once(':').map_or(debian, |(_, rest)| rest))
}

/// Whether `version` begins with the numbers of `prefix`; an empty prefix fits every version.
pub(crate) fn fits(version: &str, prefix: &str) -> bool {
    prefix.is_empty()
        || version.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The numbers of a version, for ordering; what is not a number counts as 0.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    plain(version).split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

/// The value of a setting on a server of this version; an engine without one is bundled, and new.
pub(crate) fn setting_value<'a>(setting: &'a Setting, version: &str) -> &'a str {
    let is_bundled = version.is_empty();
    let older = |(first, _): &&(String, String)| !is_bundled && numbers(version) < numbers(first);
    setting.before.iter().find(older).map_or(&setting.value, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_servers_take_the_value_of_the_first_version_above_them() {
        let pair = |version: &str, value: &str| (version.to_owned(), value.to_owned());
        let setting = Setting {
            before: vec![pair("10.2", "oldest"), pair("10.11", "old")],
            ..Setting::of("x", "new")
        };
        let check = |version, expected| assert_eq!(setting_value(&setting, version), expected);
        check("10.1.8", "oldest");
        check("10.2", "old");
        check("10.2.11", "old");
        check("10.5.23", "old");
        check("10.11", "new");
        check("11.8.6", "new");
        check("", "new");
    }

    #[test]
    fn a_version_is_found_in_what_servers_say() {
        let check = |text, expected| assert_eq!(version_in(text), Some(expected), "{text}");
        check("/opt/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "9.7.4");
        check("mysqld  Ver 5.5.9 for Linux on x86_64 (MySQL Community Server)", "5.5.9");
        check("mariadbd from 11.8.9-MariaDB-4 for debian-linux-gnu", "11.8.9");
        check("mysqld  Ver 10.1.8-MariaDB for Linux on x86_64", "10.1.8");
        check("postgres (PostgreSQL) 18.6", "18.6");
        check("postgres (PostgreSQL) 19beta1", "19");
        assert_eq!(version_in("no version at all"), None);
    }

    #[test]
    fn epochs_and_revisions_of_debian_are_cut() {
        let check = |text, expected| assert_eq!(upstream(text), expected, "{text}");
        check("1:10.11.19-0+deb12u1", "10.11.19");
        check("9.7.4-2", "9.7.4");
        check("1:11.8.9+ds-4", "11.8.9");
    }

    #[test]
    fn a_prefix_fits_whole_numbers_only() {
        let check = |version, prefix, expected| assert_eq!(fits(version, prefix), expected);
        check("9.7.4", "9", true);
        check("9.7.4", "9.7.4", true);
        check("9.7.4", "", true);
        check("10.11.19", "10.1", false);
        check("10.1.23", "10.1", true);
        check("9.7", "9.7.4", false);
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(numbers("10.11.19") > numbers("10.2.11"));
        assert!(numbers("18.6") > numbers("9.6.24"));
    }
}
