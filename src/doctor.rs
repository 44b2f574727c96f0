//! What on a host spoils or limits measurements, and what helps.

mod checks;
mod host;
mod load;

pub(crate) use checks::CHECKS;
pub(crate) use host::Host;

/// One check: a line of the table.
pub(crate) struct Check {
    /// What it looks at, one word.
    pub(crate) name: &'static str,
    /// What it finds; none where it does not apply to this host.
    pub(crate) look: fn(&Host) -> Option<Finding>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// How bad it is.
    pub(crate) weight: Weight,
    /// What is there.
    pub(crate) what: String,
    /// What to do about it, one sentence; none where all is well or nothing can be done.
    pub(crate) remedy: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// All is well.
    Good,
    /// Something cannot be measured here.
    Limits,
    /// What is measured varies more, or is wrong.
    Spoils,
    /// The experiment cannot run.
    Blocks,
}

impl Weight {
    /// The word at the start of a line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Limits => "limits",
            Self::Spoils => "spoils",
            Self::Blocks => "blocks",
        }
    }
}

impl Finding {
    /// All is well.
    pub(crate) fn good(what: impl Into<String>) -> Self {
        Self { weight: Weight::Good, what: what.into(), remedy: None }
    }

    /// Something cannot be measured.
    pub(crate) fn limits(what: impl Into<String>, remedy: &str) -> Self {
        Self { weight: Weight::Limits, what: what.into(), remedy: Some(remedy.to_owned()) }
    }

    /// Measurements vary more, or are wrong.
    pub(crate) fn spoils(what: impl Into<String>, remedy: &str) -> Self {
        Self { weight: Weight::Spoils, what: what.into(), remedy: Some(remedy.to_owned()) }
    }

    /// The experiment cannot run.
    pub(crate) fn blocks(what: impl Into<String>, remedy: &str) -> Self {
        Self { weight: Weight::Blocks, what: what.into(), remedy: Some(remedy.to_owned()) }
    }
}
