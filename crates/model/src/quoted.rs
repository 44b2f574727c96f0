//! Names in sentences.

use std::fmt::Display;

/// Names in backticks, separated by commas; nothing where there are none.
pub fn quoted<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed() {
        assert_eq!(quoted(["a", "b-c"]), "`a`, `b-c`");
        assert_eq!(quoted([7]), "`7`");
        assert_eq!(quoted::<&str>([]), "");
    }
}
