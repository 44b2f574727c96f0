//! Texts that many values share: each is kept once, however many values have it.
//!
//! A hundred thousand values of an archive have some thousand different names, most of them of
//! files. Kept apart, they were more than a third of the time and of the memory of a comparison.

use crate::Levels;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{
    borrow::Borrow,
    cell::RefCell,
    collections::HashSet,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// Names that a thread remembers. Past that it begins anew, so that a stream of names that never
/// come again keeps no memory.
const REMEMBERED: usize = 4096;

thread_local! {
    static NAMES: RefCell<HashSet<Name>> = RefCell::default();
    static LEVELS: RefCell<Option<LastLevels>> = const { RefCell::new(None) };
}

/// A name that costs next to nothing to copy. Names made of equal texts are equal, wherever they
/// come from.
#[derive(Clone, Eq, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        let remembered = NAMES.try_with(|names| {
            let mut names = names.borrow_mut();
            if let Some(known) = names.get(text) {
                return known.clone();
            }
            if names.len() >= REMEMBERED {
                names.clear();
            }
            let name = Self(text.into());
            names.insert(name.clone());
            name
        });
        // A thread that ends remembers nothing any more.
        remembered.unwrap_or_else(|_| Self(text.into()))
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Default for Name {
    fn default() -> Self {
        "".into()
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        // Most names that meet were remembered by one thread.
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        &*self.0 == other.as_str()
    }
}

impl Hash for Name {
    /// That of the text, because a text finds its name.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
                Ok(text.into())
            }
        }

        deserializer.deserialize_str(Visitor)
    }
}

/// The levels that were read last, which the next line of a record mostly has again.
struct LastLevels {
    pairs: Vec<(Name, Name)>,
    levels: Arc<Levels>,
}

/// Serialization of levels that many values share.
pub(crate) mod levels {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        levels: &Arc<Levels>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        levels.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Levels>, D::Error> {
        deserializer.deserialize_map(Visitor)
    }

    struct Visitor;

    impl<'de> de::Visitor<'de> for Visitor {
        type Value = Arc<Levels>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("levels by factor name")
        }

        fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Arc<Levels>, A::Error> {
            let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(4));
            while let Some(pair) = map.next_entry::<Name, Name>()? {
                pairs.push(pair);
            }
            Ok(shared(pairs))
        }
    }

    fn shared(pairs: Vec<(Name, Name)>) -> Arc<Levels> {
        let made = |pairs: &[(Name, Name)]| {
            let levels = pairs.iter().map(|(name, level)| (name.to_string(), level.to_string()));
            Arc::new(levels.collect::<Levels>())
        };
        let remembered = LEVELS.try_with(|last| {
            let mut last = last.borrow_mut();
            match last.as_ref().filter(|last| last.pairs == pairs) {
                Some(last) => Arc::clone(&last.levels),
                None => {
                    let levels = made(&pairs);
                    let again = LastLevels { pairs: pairs.clone(), levels: Arc::clone(&levels) };
                    *last = Some(again);
                    levels
                }
            }
        });
        // A thread that ends remembers nothing any more.
        remembered.unwrap_or_else(|_| made(&pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_remembered_names_are_bounded() {
        let first = Name::from("phase-0");
        assert!(Arc::ptr_eq(&first.0, &Name::from("phase-0".to_owned()).0));
        assert_eq!(first, "phase-0");
        for number in 0..2 * REMEMBERED {
            assert_eq!(Name::from(number.to_string()), number.to_string());
        }
        NAMES.with_borrow(|names| assert!(names.len() <= REMEMBERED, "{}", names.len()));
        // Forgotten meanwhile, and equal all the same.
        assert_eq!(first, Name::from("phase-0"));
    }

    #[test]
    fn levels_of_lines_that_differ_are_kept_apart() {
        #[derive(Serialize, Deserialize)]
        struct Line(#[serde(with = "super::levels")] Arc<Levels>);

        let read = |text: &str| {
            let line: Line = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&line).unwrap(), text);
            line.0
        };
        let (first, again) = (read(r#"{"build":"a"}"#), read(r#"{"build":"a"}"#));
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(read(r#"{"build":"b"}"#)["build"], "b");
        assert_eq!(read("{}").len(), 0);
        assert_eq!(*read(r#"{"build":"a"}"#), *first);
    }
}
