//! Values of settings, as configurations and servers write them.

use model::size;

/// Whether two ways of writing mean one value: `1G` and `1073741824`, `off` and `0`, `60min` and
/// `1h`.
pub(crate) fn same_value(asked: &str, reported: &str) -> bool {
    let (plain, reported) = (unquoted(asked), reported.trim());
    let both = |read: fn(&str) -> Option<f64>| read(plain).zip(read(reported));
    let is_one = |(asked, reported): (f64, f64)| is_close(asked, reported);
    if both(number).is_some_and(is_one) || both(time_ms).is_some_and(is_one) {
        return true;
    }
    let is_text = |text: &str| renamed(text) == renamed(reported);
    is_text(plain) || is_text(asked.trim()) || is_in_own_unit(plain, reported)
}

/// A text in small letters. What was the character set `utf8`, and its collations, is `utf8mb3` to
/// MySQL 8.0 and MariaDB 10.6, whatever a configuration calls it.
fn renamed(text: &str) -> String {
    let plain = text.to_ascii_lowercase();
    match plain.strip_prefix("utf8") {
        Some(rest) if rest.is_empty() || rest.starts_with('_') => format!("utf8mb3{rest}"),
        _ => plain,
    }
}

/// A value without the quotes that configurations may have around it.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(value)
}

/// Words of SQLite's pragmas, which it reports by their places.
const WORDS: &[(&str, &[&str])] = &[
    ("auto_vacuum", &["none", "full", "incremental"]),
    ("secure_delete", &["off", "on", "fast"]),
    ("synchronous", &["off", "normal", "full", "extra"]),
    ("temp_store", &["default", "file", "memory"]),
];

/// The number that a setting has for a word, if it is reported as a number.
pub(crate) fn number_of_word(setting: &str, word: &str) -> Option<String> {
    let (_, words) = WORDS.iter().find(|(name, _)| *name == setting)?;
    let place = words.iter().position(|known| known.eq_ignore_ascii_case(unquoted(word)));
    place.map(|place| place.to_string())
}

/// Caches whose size servers round: InnoDB to its chunks and instances, RocksDB to KiB.
const ROUNDED: &[&str] = &["innodb_buffer_pool_size", "rocksdb_block_cache_size"];

const MIB: f64 = 1_048_576.0;

/// Whether two servers have one cache, as each of them rounds it: to a MiB, or to a few thousandths
/// where its chunks follow its size.
pub(crate) fn is_same_cache(setting: &str, one: &str, other: &str) -> bool {
    let is_near = |(one, other): (f64, f64)| (one - other).abs() <= MIB.max(0.01 * one.max(other));
    ROUNDED.contains(&setting) && number(one).zip(number(other)).is_some_and(is_near)
}

/// Whether a cache has what its server makes of a size that follows the data. Whole MiB are what
/// somebody has written: a message says that the server has others.
pub(crate) fn is_rounded(setting: &str, asked: &str, reported: &str) -> bool {
    let numbers = number(unquoted(asked)).zip(number(reported.trim()));
    let is_near = |(asked, reported): (f64, f64)| {
        asked % MIB > 0.0 && (asked - MIB..2.0 * asked).contains(&reported)
    };
    ROUNDED.contains(&setting) && numbers.is_some_and(is_near)
}

/// Settings that are on with any value but 0: names of files that servers report as a switch, and
/// pages that SQLite reports with those of its cache.
const SWITCHES: &[&str] = &["cache_spill", "log_bin"];
/// Settings that are lists: servers report them whole, in an order of their own.
const LISTS: &[&str] = &["log_output", "optimizer_switch", "sql_mode"];

/// Settings of Postgres with a word, and with the one that it stands for and that is reported.
const ALIASES: &[[&str; 3]] = &[
    ["password_encryption", "on", "md5"],
    ["wal_compression", "on", "pglz"],
    ["wal_level", "archive", "replica"],
    ["wal_level", "hot_standby", "replica"],
];

/// Whether a server reports what was asked for in another form: as a switch that is on, as a list
/// that has all of it, or by another word.
pub(crate) fn is_other_form(setting: &str, asked: &str, reported: &str) -> bool {
    let asked = unquoted(asked);
    let is_alias = |[name, word, meant]: &[&str; 3]| {
        *name == setting && same_value(asked, word) && same_value(meant, reported)
    };
    if ALIASES.iter().any(is_alias) {
        return true;
    }
    if SWITCHES.contains(&setting) {
        return [asked, reported.trim()].iter().all(|text| number(text) != Some(0.0));
    }
    let has = |part: &str| {
        reported.split(',').any(|known| known.trim().eq_ignore_ascii_case(part.trim()))
    };
    LISTS.contains(&setting) && asked.split(',').all(has)
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs()
}

/// What Postgres takes a number without a unit for, by setting: KiB, pages or MiB,
const SIZES: [f64; 3] = [1024.0, 8192.0, 1_048_576.0];
/// and milliseconds, seconds or minutes, in milliseconds.
const TIMES: [f64; 3] = [1.0, 1000.0, 60_000.0];

/// Whether a number without a unit is what is reported with one: `131072` pages are `1GB`.
fn is_in_own_unit(asked: &str, reported: &str) -> bool {
    let Ok(asked) = asked.parse::<f64>() else { return false };
    let is = |units: [f64; 3], found: f64| units.iter().any(|unit| is_close(asked * unit, found));
    let has_unit = reported.ends_with(|last: char| last.is_ascii_alphabetic());
    let size = number(reported).filter(|_| has_unit);
    size.is_some_and(|bytes| is(SIZES, bytes)) || time_ms(reported).is_some_and(|ms| is(TIMES, ms))
}

/// A time such as `5min`, milliseconds. One without a unit is none.
fn time_ms(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1000.0,
        "min" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => return None,
    };
    digits.trim().parse::<f64>().ok().map(|value| value * unit)
}

/// A size such as `512M`, bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let is_size = text.starts_with(|first: char| first.is_ascii_digit());
    let bytes = size::bytes(text, 1.0).filter(|bytes| is_size && *bytes < 2_f64.powi(53))?;
    Some(bytes as u64)
}

/// A value as a number: truth values, sizes.
fn number(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "on" | "true" | "yes" => Some(1.0),
        "off" | "false" | "no" => Some(0.0),
        other => size::bytes(other, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_other_form, is_rounded, number_of_word, same_value};

    #[test]
    fn ways_of_writing_one_value_are_the_same() {
        let check = |asked: &str, reported: &str, expected: bool| {
            assert_eq!(same_value(asked, reported), expected, "{asked} {reported}");
        };
        check("1G", "1073741824", true);
        check("1GB", "1024MB", true);
        check("off", "OFF", true);
        check("OFF", "0", true);
        check("30min", "30min", true);
        check("O_DIRECT", "o_direct", true);
        check("'read committed'", "read committed", true);
        check("\"1G\"", "1073741824", true);
        check("'a', 'b'", "'a', 'b'", true);
        check("-1048576", "-1048576", true);
        check("131072", "1GB", true);
        check("4096", "4MB", true);
        check("300", "5min", true);
        check("131072", "2GB", false);
        check("300", "6min", false);
        check("60min", "1h", true);
        check("'1500 ms'", "1500ms", true);
        check("0.5", "500us", true);
        check("60s", "1h", false);
        check("utf8", "utf8mb3", true);
        check("UTF8_general_ci", "utf8mb3_general_ci", true);
        check("utf8", "utf8mb4", false);
        check("131072", "1073741824", false);
        check("1G", "134217728", false);
        check("on", "OFF", false);
        check("minimal", "replica", false);
        check("'minimal'", "replica", false);
    }

    #[test]
    fn what_is_reported_in_another_form_is_what_was_asked_for() {
        let check = |setting: &str, asked: &str, reported: &str, expected: bool| {
            assert_eq!(is_other_form(setting, asked, reported), expected, "{asked} {reported}");
        };
        check("log_bin", "mysql-bin", "ON", true);
        check("log_bin", "mysql-bin", "OFF", false);
        check("log_bin", "0", "ON", false);
        check("general_log", "mysql-bin", "ON", false);
        check("cache_spill", "ON", "2000", true);
        check("cache_spill", "100", "0", false);
        check("optimizer_switch", "'mrr=on, icp=off'", "a=on,icp=off,mrr=on", true);
        check("optimizer_switch", "mrr=on", "a=on,mrr=off", false);
        check("sql_mode", "", "STRICT_ALL_TABLES", false);
        check("wal_compression", "on", "pglz", true);
        check("wal_compression", "'true'", "pglz", true);
        check("wal_compression", "on", "lz4", false);
        check("wal_compression", "off", "pglz", false);
        check("wal_level", "hot_standby", "replica", true);
        check("tmpdir", "a,b", "b,a", false);
    }

    #[test]
    fn words_of_pragmas_have_the_numbers_of_the_library() {
        let check = |setting: &str, word: &str, expected: Option<&str>| {
            assert_eq!(number_of_word(setting, word).as_deref(), expected, "{setting} {word}");
        };
        check("synchronous", "FULL", Some("2"));
        check("synchronous", "extra", Some("3"));
        check("auto_vacuum", "full", Some("1"));
        check("temp_store", "'MEMORY'", Some("2"));
        check("secure_delete", "fast", Some("2"));
        check("temp_store", "2", None);
        check("journal_mode", "MEMORY", None);
    }

    #[test]
    fn caches_that_follow_the_data_are_rounded_by_their_servers() {
        let check = |setting: &str, asked: &str, reported: &str, expected: bool| {
            assert_eq!(is_rounded(setting, asked, reported), expected, "{asked} {reported}");
        };
        let pool = "innodb_buffer_pool_size";
        check(pool, "187001234", "187695104", true);
        check(pool, "187001234", "186646528", true);
        check(pool, "187001234", "268435456", true);
        check(pool, "187001234", "402653184", false);
        check(pool, "187001234", "134217728", false);
        check("rocksdb_block_cache_size", "187001234", "187000832", true);
        check("innodb_log_file_size", "187001234", "187695104", false);
        check(pool, "200M", "268435456", false);
        check(pool, "much", "268435456", false);
    }
}
