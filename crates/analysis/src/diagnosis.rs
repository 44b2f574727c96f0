//! Why a phase moved: which costs per operation moved with its throughput.

use crate::{
    Cell, PhaseResult,
    diagnose::RULES,
    evidence::{Evidence, Finding},
    verdict::Verdict,
};

/// Ratio, up or down, from which on a change that no block repeats is large enough to be explained.
pub const LARGE: f64 = 1.10;

/// Why one subject differs from its base in one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// Label of the subject.
    pub subject: String,
    /// Label of the base.
    pub base: String,
    /// Throughput relative to the base.
    pub effect: f64,
    /// The reasons in the order of the rules.
    pub findings: Vec<Finding>,
}

/// The diagnoses of a phase: one per subject whose throughput is decided to be better or worse, or
/// changed by [`LARGE`] where nothing is repeated.
pub fn diagnose(phase: &PhaseResult) -> Vec<Diagnosis> {
    let moved = |cell: &&Cell| {
        let large = |ratio: f64| ratio > 0.0 && ratio.ln().abs() >= LARGE.ln();
        cell.metric.name == "ops_per_second"
            && match cell.verdict {
                verdict if verdict.is_change() => verdict != Verdict::SmallChange,
                Verdict::Unreplicated | Verdict::Unassessed => cell.ratio.is_some_and(large),
                _ => false,
            }
    };
    let diagnosis = |cell: &Cell| {
        let evidence = Evidence::of(phase, cell)?;
        let findings = RULES.iter().filter_map(|rule| rule.finding(&evidence));
        Some(Diagnosis {
            subject: cell.subject.to_string(),
            base: cell.base.as_ref()?.to_string(),
            effect: cell.ratio?,
            findings: findings.collect(),
        })
    };
    phase.cells.iter().filter(moved).filter_map(diagnosis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn phase(costs: &[(&str, f64, f64)]) -> PhaseResult {
        let cells = costs.iter().map(|(name, base, value)| testing::cell(name, *base, *value));
        PhaseResult { cells: cells.collect(), ..testing::phase("p") }
    }

    fn rules(costs: &[(&str, f64, f64)]) -> Vec<&'static str> {
        let found = diagnose(&phase(costs));
        found.iter().flat_map(|d| &d.findings).map(|finding| finding.rule).collect()
    }

    #[test]
    fn each_rule_finds_its_cause_and_no_other() {
        let slower = ("ops_per_second", 1000.0, 700.0);
        let faster = ("ops_per_second", 1000.0, 1500.0);
        let check = |costs: &[(&str, f64, f64)], expected: &[&str]| {
            assert_eq!(rules(costs), expected, "{costs:?}");
        };
        let instructions = "foreground_user_instructions_per_op";
        check(&[slower, (instructions, 100.0, 160.0)], &["code"]);
        check(&[faster, (instructions, 100.0, 60.0)], &["code"]);
        // A cost that moved against the effect explains nothing.
        check(&[faster, (instructions, 100.0, 160.0)], &[]);
        check(&[slower, (instructions, 100.0, 60.0)], &[]);
        let cycles = "foreground_cycles_per_op";
        check(&[slower, (instructions, 100.0, 100.5), (cycles, 200.0, 300.0)], &["stalls"]);
        let time = "foreground_cpu_us_per_op";
        check(&[slower, (instructions, 100.0, 100.5), (time, 20.0, 30.0)], &["stalls"]);
        check(&[slower, ("context_switches_per_op", 1.0, 2.0)], &["waits"]);
        check(&[slower, ("context_switches_per_op", 0.001, 0.002)], &[]);
        check(&[slower, ("reads_per_op", 1.0, 2.0), ("read_kib_per_op", 8.0, 16.0)], &["storage"]);
        let (back, fore) = ("background_cpu_us_per_op", "foreground_cpu_us_per_op");
        check(&[slower, (fore, 50.0, 50.0), (back, 20.0, 60.0)], &["background"]);
        check(&[slower, ("client_cpu_us_per_op", 10.0, 30.0)], &["client"]);
        check(&[("ops_per_second", 1000.0, 990.0), (instructions, 1.0, 9.0)], &[]);
    }

    #[test]
    fn only_what_is_decided_or_large_is_explained() {
        let check = |value: f64, verdict: Verdict, expected: usize| {
            let mut phase = phase(&[("ops_per_second", 1000.0, value)]);
            phase.cells[0].verdict = verdict;
            assert_eq!(diagnose(&phase).len(), expected, "{value} {verdict:?}");
        };
        check(980.0, Verdict::Regression, 1);
        check(1020.0, Verdict::Improvement, 1);
        check(700.0, Verdict::Inconclusive, 0);
        check(700.0, Verdict::Equivalent, 0);
        check(920.0, Verdict::Unreplicated, 0);
        check(900.0, Verdict::Unreplicated, 1);
        check(1095.0, Verdict::Unassessed, 0);
        check(1101.0, Verdict::Unassessed, 1);
        check(0.0, Verdict::Unreplicated, 0);
    }

    #[test]
    fn a_finding_has_a_sentence_with_its_numbers() {
        let costs = [
            ("ops_per_second", 1000.0, 700.0),
            ("server_user_instructions_per_op", 30_000.0, 48_000.0),
            ("server_cpu_us_per_op", 10.0, 15.0),
        ];
        let found = diagnose(&phase(&costs));
        assert_eq!((found[0].effect, found[0].base.as_str()), (0.7, "old"));
        let finding = &found[0].findings[0];
        assert_eq!(finding.sentence, "The server executes 1.60x the base's instructions.");
        assert_eq!((finding.evidence.len(), finding.evidence[0].value), (2, 48_000.0));
    }
}
