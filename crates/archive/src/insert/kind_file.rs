//! Files of one kind of event: `o.WHAT.c.KIND` in the folder of a phase, and `mrg.PHASE.WHAT.KIND`.

use super::histogram::KINDS;
use crate::{Fault, File, file::NO_PHASE, phase};

/// How the files of one measurement are named.
pub(crate) struct KindFiles {
    /// What is measured, as names have it: `rt`, `rate`.
    pub(crate) what: &'static str,
    /// The kinds as files in the folder of a phase have them, in the order of [`KINDS`], which
    /// merged files and metrics have.
    pub(crate) own: [&'static str; KINDS.len()],
}

/// What a name shows.
struct Named<'a> {
    phase: Option<&'a str>,
    kind: &'static str,
}

/// What a file is of.
pub(crate) struct KindOfPhase {
    pub(crate) phase: String,
    pub(crate) kind: &'static str,
}

impl KindFiles {
    pub(crate) fn recognises(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// The kind, and the phase of the name, else that of the folder.
    pub(crate) fn of(&self, file: &File<'_>) -> Result<KindOfPhase, Fault> {
        let Some(named) = self.named(file.name) else {
            return Err(Fault::new(1, "the file name does not show what was measured"));
        };
        let folder = || file.path.rsplit('/').nth(1).and_then(phase::of_folder);
        let phase = named.phase.map(str::to_owned).or_else(folder);
        let phase = phase.ok_or_else(|| Fault::new(1, NO_PHASE))?;
        Ok(KindOfPhase { phase, kind: named.kind })
    }

    fn named<'a>(&self, name: &'a str) -> Option<Named<'a>> {
        let kind = |names: &[&str; KINDS.len()], name: &str| {
            KINDS.into_iter().zip(names).find_map(|(kind, known)| (*known == name).then_some(kind))
        };
        if let Some(own) = name.strip_prefix("o.").and_then(|name| name.strip_prefix(self.what)) {
            let own = [".c.", ".t."].into_iter().find_map(|form| own.strip_prefix(form))?;
            return Some(Named { phase: None, kind: kind(&self.own, own)? });
        }
        let merged = name.strip_prefix("mrg.")?;
        let (phase, merged) = merged.split_once(&format!(".{}.", self.what))?;
        phase::of(phase)?;
        Some(Named { phase: Some(phase), kind: kind(&KINDS, merged)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_phase_and_kind() {
        let files = KindFiles { what: "rate", own: ["3", "5", "7"] };
        let check = |name: &str, expected: Option<(Option<&str>, &str)>| {
            let found = files.named(name).map(|named| (named.phase, named.kind));
            assert_eq!(found, expected, "{name}");
        };
        check("o.rate.c.7", Some((None, "query")));
        check("o.rate.t.7", Some((None, "query")));
        check("mrg.qr100.L1.rate.query", Some((Some("qr100.L1"), "query")));
        check("o.rate.c.query", None);
        check("mrg.qr100.L1.rate.7", None);
        check("mrg.all.rate.query", None);
        check("o.rt.c.7", None);
    }
}
