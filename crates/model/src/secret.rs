//! A text that is not shown.

use serde::{Deserialize, Serialize};

/// What stands where a secret would.
pub const HIDDEN: &str = "***";

/// A password. It travels through pipes, and neither errors nor records show it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for those who need it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.is_empty() { "\"\"" } else { HIDDEN })
    }
}

/// Words of a name that say that its value is a secret.
const WORDS: &[&str] =
    &["password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "credentials"];

/// Whether a name of a setting, variable or option says that its value is a secret. A name that
/// ends with `key` does; `key_buffer_size` does not.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_lowercase();
    let mut words = name.split(['_', '-', '.']);
    let last = words.clone().next_back().unwrap_or_default();
    last.ends_with("key") || words.any(|word| WORDS.contains(&word) || word.ends_with("password"))
}

/// A value as it is shown.
pub fn shown<'a>(name: &str, value: &'a str) -> &'a str {
    if is_secret_name(name) { HIDDEN } else { value }
}

/// The secret values of words of a command: after a `=`, or the word after an option.
pub fn secrets_in(words: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match word.split_once('=') {
            Some((name, value)) if is_secret_name(name) => found.push(value),
            None if word.starts_with('-') && is_secret_name(word) => {
                found.extend(words.get(at + 1).map(String::as_str));
            }
            _ => {}
        }
    }
    found
}

/// A text without secrets that may be in it, with the quotes of a configuration or without. Shorter
/// ones than 4 bytes are left, as they would be found in any text.
pub fn hide<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let forms = secrets.into_iter().flat_map(|secret| [secret, secret.trim_matches(['\'', '"'])]);
    let long = forms.filter(|secret| secret.len() >= 4);
    long.fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_secret() {
        for name in ["AWS_SECRET_ACCESS_KEY", "api-key", "--auth-token", "MYSQL_PWD", "PGPASSWORD"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["key_buffer_size", "LD_PRELOAD", "foreign_key_checks", "max_connections"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn words_of_a_command_are_searched() {
        let words = ["wrap", "--token", "tttt", "PASSWORD=pppp", "-c", "0"].map(str::to_owned);
        assert_eq!(secrets_in(&words), ["tttt", "pppp"]);
        assert_eq!(hide("a tttt b pppp", secrets_in(&words)), "a *** b ***");
        assert_eq!(hide("x = 'it is': \"it is\"", ["'it is'"]), "x = ***: \"***\"");
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(secret.reveal(), "hunter2");
        assert_eq!(format!("{:?}", Secret::default()), "\"\"");
    }
}
