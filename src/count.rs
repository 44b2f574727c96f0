//! Whole numbers of options, written as those of files: `1000`, `1_000`, `10k`, `1e6`.

use model::number;
use std::ops::RangeInclusive;

/// The most that files can say too.
pub(crate) const MOST: u64 = i64::MAX as u64;

/// A whole number within limits.
pub(crate) fn whole<T: TryFrom<u64>>(text: &str, limits: RangeInclusive<u64>) -> Result<T, String> {
    let (least, most) = (limits.start(), limits.end());
    let expected = || format!("a whole number of at least {least} is expected, such as `{SUCH}`");
    match number::whole(text).map(u64::try_from) {
        Some(Ok(number)) if number < *least => Err(format!("it must be at least {least}")),
        Some(Ok(number)) if number <= *most => {
            T::try_from(number).map_err(|_| format!("it must be at most {most}"))
        }
        Some(Ok(_)) => Err(format!("it must be at most {most}")),
        Some(Err(_)) => Err(format!("it must be at least {least}")),
        None if number::is_beyond(text) => Err(format!("it must be at most {most}")),
        None => Err(expected()),
    }
}

/// What an explanation of the form shows.
const SUCH: &str = "10k";

/// A number of things, or all of them.
pub(crate) fn some_or_all(text: &str) -> Result<usize, String> {
    match text.trim() {
        "all" => Ok(usize::MAX),
        _ => whole(text, 1..=MOST).map_err(|why| format!("{why}, or `all`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_count_as_files_do() {
        let check = |text: &str, expected: Result<u16, &str>| {
            assert_eq!(whole(text, 1..=60_000), expected.map_err(str::to_owned), "{text}");
        };
        check("7", Ok(7));
        check("10k", Ok(10_000));
        check("1_000", Ok(1000));
        check("1e3", Ok(1000));
        check("0", Err("it must be at least 1"));
        check("-1", Err("it must be at least 1"));
        check("60001", Err("it must be at most 60000"));
        check("1M", Err("it must be at most 60000"));
        check(&"9".repeat(30), Err("it must be at most 60000"));
        for wrong in ["", "abc", "1.5", "10 k"] {
            check(wrong, Err("a whole number of at least 1 is expected, such as `10k`"));
        }
    }

    #[test]
    fn all_is_more_than_any_number() {
        let check = |text: &str, expected: Result<usize, &str>| {
            assert_eq!(some_or_all(text), expected.map_err(str::to_owned), "{text}");
        };
        check("all", Ok(usize::MAX));
        check("3", Ok(3));
        check("0", Err("it must be at least 1, or `all`"));
    }
}
