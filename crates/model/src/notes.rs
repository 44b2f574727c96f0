//! What people write about an archive or a run: `notes.toml`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Texts for readers of a report; none of them changes a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notes {
    /// The whole in a few sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The host: processors, memory, storage, operating system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hardware: String,
    /// How the servers were built.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub builds: String,
    /// How the servers were configured.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub configuration: String,
    /// Notes by variant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, String>,
    /// Notes by test.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tests: BTreeMap<String, String>,
    /// Notes by run, by its identifier or the start of it: a commit, a new kernel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runs: BTreeMap<String, String>,
}

impl Notes {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These notes with those of another file over them.
    #[must_use]
    pub fn with(mut self, over: Self) -> Self {
        let texts = [
            (&mut self.about, over.about),
            (&mut self.hardware, over.hardware),
            (&mut self.builds, over.builds),
            (&mut self.configuration, over.configuration),
        ];
        for (own, over) in texts {
            if !over.is_empty() {
                *own = over;
            }
        }
        self.variants.extend(over.variants);
        self.tests.extend(over.tests);
        self.runs.extend(over.runs);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_notes_win_and_the_others_stay() {
        let notes = |about: &str, hardware: &str, test: &str| Notes {
            about: about.into(),
            hardware: hardware.into(),
            tests: [(test.to_owned(), about.to_owned())].into(),
            ..Notes::default()
        };
        let merged = notes("a", "h", "x").with(notes("b", "", "y"));
        assert_eq!((merged.about.as_str(), merged.hardware.as_str()), ("b", "h"));
        assert_eq!(merged.tests.len(), 2);
        assert!(!merged.is_empty() && Notes::default().is_empty());
    }
}
