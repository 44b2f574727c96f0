//! Rows that subjects return and change for the same values, beside each other.

use super::{Discrepancy, VerifiedPhase, effect};
use model::{number::counted, script::Script, workload::Check};

/// What is compared between subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Rows returned.
    Returned,
    /// Rows changed.
    Changed,
    /// Rows changed, some of them by updates, which not all servers count alike.
    Updated,
}

impl Side {
    /// What all servers have in common in a script, if there is such a thing. What a writing
    /// statement returns may follow the clock.
    pub(super) fn of(script: &Script) -> Option<Self> {
        if !script.writes() {
            return Some(Self::Returned);
        }
        let changed = if effect::updates(script) { Self::Updated } else { Self::Changed };
        effect::countable(script).then_some(changed)
    }

    fn rows(self, phase: &VerifiedPhase) -> u64 {
        match self {
            Self::Returned => phase.facts.rows,
            Self::Changed | Self::Updated => phase.facts.changed,
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Changed | Self::Updated => "changed",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Returned | Self::Changed => "",
            Self::Updated => {
                " (MySQL and MariaDB do not count rows that an UPDATE leaves as they were)"
            }
        }
    }

    /// The check of a workload's own file that tells the same of one subject.
    pub(super) fn check(self) -> Check {
        match self {
            Self::Returned => Check::Rows,
            Self::Changed | Self::Updated => Check::Effect,
        }
    }
}

/// Adds a sentence for each subject that returned or changed another number of rows than the first
/// one that did what its workload says: statements have the same values on all of them, and the
/// tables the same rows. `of_phase` is one phase on all subjects; `documented` gives the reason of
/// a known difference.
pub(super) fn compare(
    of_phase: &mut [VerifiedPhase],
    side: Side,
    documented: impl Fn(&VerifiedPhase) -> Option<String>,
) {
    let is_sound = |phase: &VerifiedPhase| phase.discrepancies.is_empty();
    let sound = of_phase.iter().position(is_sound).unwrap_or(of_phase.len());
    let Some((first, others)) = of_phase[sound..].split_first_mut() else { return };
    let differs =
        |other: &&mut VerifiedPhase| is_sound(other) && side.rows(other) != side.rows(first);
    for other in others.iter_mut().filter(differs) {
        let text = format!(
            "{verb} {} where `{}` {verb} {} for the same values{}",
            counted(side.rows(other), "row"),
            first.subject,
            side.rows(first),
            side.hint(),
            verb = side.verb(),
        );
        let documented = documented(other);
        other.discrepancies.push(Discrepancy { check: Some(side.check()), text, documented });
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Facts, *};

    fn phase(name: &str, subject: &str, rows: u64) -> VerifiedPhase {
        VerifiedPhase {
            phase: name.to_owned(),
            subject: subject.to_owned(),
            discrepancies: Vec::new(),
            facts: Facts { rows, changed: 2 * rows, ..Facts::default() },
        }
    }

    #[test]
    fn another_number_of_rows_is_told_of_the_subject_that_is_not_the_first() {
        let failed = Discrepancy { check: None, text: "x".to_owned(), documented: None };
        let mut phases = [
            phase("one", "a", 5),
            phase("one", "b", 5),
            phase("one", "c", 1),
            phase("one", "d", 0),
        ];
        phases[3].discrepancies.push(failed.clone());
        let mut changes = phases.clone();
        compare(&mut changes, Side::Changed, |_| None);
        let found = &changes[2].discrepancies[0];
        assert_eq!(found.text, "changed 2 rows where `a` changed 10 for the same values");
        compare(&mut phases, Side::Returned, |other| {
            (other.subject == "c").then(|| "known".to_owned())
        });
        let told: Vec<usize> = phases.iter().map(|phase| phase.discrepancies.len()).collect();
        assert_eq!(told, [0, 0, 1, 1]);
        let found = &phases[2].discrepancies[0];
        assert_eq!(found.text, "returned 1 row where `a` returned 5 for the same values");
        assert_eq!(found.documented.as_deref(), Some("known"));
        assert_eq!(phases[3].discrepancies, [failed], "what failed is not compared");
    }

    #[test]
    fn subjects_are_compared_where_the_first_one_has_a_failure_of_its_own() {
        let known = Discrepancy { check: None, text: "x".to_owned(), documented: Some("y".into()) };
        let mut phases = [phase("one", "a", 1), phase("one", "b", 5), phase("one", "c", 4)];
        phases[0].discrepancies.push(known.clone());
        compare(&mut phases, Side::Returned, |_| None);
        let found: Vec<&str> =
            phases[2].discrepancies.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(found, ["returned 4 rows where `b` returned 5 for the same values"]);
        assert_eq!(phases[0].discrepancies, [known]);
        let [failed, ..] = &mut phases;
        compare(std::slice::from_mut(failed), Side::Returned, |_| None);
        assert_eq!(failed.discrepancies.len(), 1, "nobody to compare with");
    }
}
