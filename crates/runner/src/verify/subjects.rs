//! Rows that subjects return for the same values, beside each other.

use super::{Discrepancy, VerifiedPhase};
use model::{number::counted, workload::Check};

/// Adds a sentence for each subject that returned another number of rows than the first one:
/// statements that only read have the same values on all of them, and the tables the same rows.
/// `of_phase` is one phase on all subjects; `documented` gives the reason of a known difference.
pub(super) fn compare(
    of_phase: &mut [VerifiedPhase],
    documented: impl Fn(&VerifiedPhase) -> Option<String>,
) {
    let Some((first, others)) = of_phase.split_first_mut() else { return };
    let differs = |other: &&mut VerifiedPhase| {
        let sound = first.discrepancies.is_empty() && other.discrepancies.is_empty();
        sound && other.facts.rows != first.facts.rows
    };
    for other in others.iter_mut().filter(differs) {
        let text = format!(
            "returned {} where `{}` returned {} for the same values",
            counted(other.facts.rows, "row"),
            first.subject,
            first.facts.rows
        );
        let documented = documented(other);
        other.discrepancies.push(Discrepancy { check: Some(Check::Rows), text, documented });
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
            facts: Facts { rows, ..Facts::default() },
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
        compare(&mut phases, |other| (other.subject == "c").then(|| "known".to_owned()));
        let told: Vec<usize> = phases.iter().map(|phase| phase.discrepancies.len()).collect();
        assert_eq!(told, [0, 0, 1, 1]);
        let found = &phases[2].discrepancies[0];
        assert_eq!(found.text, "returned 1 row where `a` returned 5 for the same values");
        assert_eq!(found.documented.as_deref(), Some("known"));
        assert_eq!(phases[3].discrepancies, [failed], "what failed is not compared");
    }
}
