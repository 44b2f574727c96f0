//! Why a phase moved: which costs per operation moved with it.

use crate::{
    Cell, PhaseResult,
    diagnose::{RULES, SMALL},
    evidence::{Evidence, Finding},
    verdict::Verdict,
};
use model::metric::{Kind, Metric};

/// Ratio, up or down, from which on a change that no block repeats is large enough to be explained.
pub const LARGE: f64 = 1.10;

/// Share of a change in time from which on a reason is most of it.
const MOST: f64 = 0.5;

/// Why one subject differs from its base in one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// Label of the subject.
    pub subject: String,
    /// Label of the base.
    pub base: String,
    /// What changed: throughput; else the server's CPU time, or its instructions.
    pub metric: &'static Metric,
    /// That relative to the base.
    pub ratio: f64,
    /// The same as a gain: below 1 is worse.
    pub effect: f64,
    /// Of the change: decided, or large and no more.
    pub verdict: Verdict,
    /// The reasons in the order of the rules; one that is most of the change comes first, and one
    /// that is vague last.
    pub findings: Vec<Finding>,
    /// Reasons that what was measured rules out, each with its evidence.
    pub ruled_out: Vec<String>,
}

/// The diagnoses of a phase: one per subject whose throughput, CPU time or instructions are decided
/// to be better or worse, or whose throughput changed by [`LARGE`] where nothing is repeated.
pub fn diagnose(phase: &PhaseResult) -> Vec<Diagnosis> {
    let mut found: Vec<Diagnosis> = Vec::new();
    for cell in phase.cells.iter().filter(|cell| moved(cell)) {
        // Metrics are in the order in which they count.
        if !found.iter().any(|known| cell.subject == *known.subject) {
            found.extend(diagnosis(phase, cell));
        }
    }
    found
}

fn moved(cell: &Cell) -> bool {
    let large = |ratio: f64| ratio > 0.0 && ratio.ln().abs() >= LARGE.ln();
    match cell.verdict {
        // Nothing is claimed of other metrics.
        _ if cell.metric.family.is_none() => false,
        verdict if verdict.is_change() => verdict != Verdict::SmallChange,
        Verdict::Unreplicated | Verdict::Unassessed => {
            cell.metric.kind == Kind::Rate && cell.ratio.is_some_and(large)
        }
        _ => false,
    }
}

fn diagnosis(phase: &PhaseResult, cell: &Cell) -> Option<Diagnosis> {
    let evidence = Evidence::of(phase, cell)?;
    let (mut findings, mut ruled_out) = (Vec::new(), Vec::new());
    for rule in RULES.iter().filter(|rule| (rule.explains)(cell.metric.kind)) {
        match (rule.finding)(&evidence) {
            Some(finding) => findings.push(finding),
            None => ruled_out.extend((rule.ruled_out)(&evidence)),
        }
    }
    findings.sort_by_key(rank);
    Some(Diagnosis {
        subject: cell.subject.to_string(),
        base: cell.base.as_ref()?.to_string(),
        metric: cell.metric,
        ratio: cell.ratio?,
        effect: evidence.effect(),
        verdict: cell.verdict,
        findings,
        ruled_out,
    })
}

/// Place of a finding: what is most of the change first, what is little of it last.
fn rank(finding: &Finding) -> u8 {
    match finding.share {
        Some(share) if share >= MOST => 0,
        Some(share) if share < SMALL => 3,
        _ if finding.vague => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{embedded::architecture, testing};
    use model::mark::{EMBEDDED, Mark};

    fn phase(costs: &[(&str, f64, f64)]) -> PhaseResult {
        let cells = costs.iter().map(|(name, base, value)| testing::cell(name, *base, *value));
        PhaseResult { cells: cells.collect(), ..testing::phase("p") }
    }

    fn rules(costs: &[(&str, f64, f64)]) -> Vec<&'static str> {
        let found = diagnose(&phase(costs));
        found.iter().flat_map(|d| &d.findings).map(|finding| finding.rule).collect()
    }

    #[test]
    fn switches_that_the_base_has_not_have_no_ratio() {
        let slower = ("ops_per_second", 1000.0, 700.0);
        let mut phase = phase(&[slower, ("host_context_switches_per_op", 0.0, 2.0)]);
        phase.cells[1].ratio = None;
        let said = &diagnose(&phase)[0].findings[0].sentence;
        assert!(said.contains("more often, the base's never: "), "{said}");
    }

    #[test]
    fn each_rule_finds_its_cause_and_no_other() {
        let slower = ("ops_per_second", 1000.0, 700.0);
        let faster = ("ops_per_second", 1000.0, 1500.0);
        let check = |costs: &[(&str, f64, f64)], expected: &[&str]| {
            assert_eq!(rules(costs), expected, "{costs:?}");
        };
        let instructions = COUNT;
        check(&[slower, (instructions, 100.0, 160.0)], &["code"]);
        check(&[faster, (instructions, 100.0, 60.0)], &["code"]);
        // A cost that moved against the effect explains nothing.
        check(&[faster, (instructions, 100.0, 160.0)], &[]);
        check(&[slower, (instructions, 100.0, 60.0)], &[]);
        let time = "foreground_cpu_us_per_op";
        let cycles = "foreground_cycles_per_op";
        check(&[slower, (instructions, 100.0, 100.5), (cycles, 200.0, 300.0)], &["stalls"]);
        check(&[slower, (instructions, 100.0, 100.5), (time, 20.0, 30.0)], &["stalls"]);
        check(&[slower, ("context_switches_per_op", 1.0, 2.0)], &["waits"]);
        check(&[slower, ("context_switches_per_op", 0.001, 0.002)], &[]);
        let sync = "foreground_sync_wait_us_per_op";
        let other = ("foreground_other_wait_us_per_op", 0.0, 1.0);
        // An operation takes 429 us longer, or 333 us less.
        check(&[slower, (sync, 100.0, 200.0)], &["waits"]);
        check(&[slower, (sync, 0.0, 200.0), other], &["waits"]);
        check(&[slower, (sync, 100.0, 150.0)], &[]);
        check(&[faster, (sync, 400.0, 100.0)], &["waits"]);
        check(&[faster, (sync, 100.0, 400.0)], &[]);
        // What is most of the change comes first, and what can only be little of it last.
        check(&[slower, (instructions, 100.0, 103.0), (sync, 0.0, 100.0)], &["waits", "code"]);
        check(&[slower, (instructions, 100.0, 103.0), (sync, 0.0, 400.0)], &["waits", "code"]);
        // Rare events come before the instructions that they are a part of.
        let (splits, in_them) = ("page_splits_per_op", "page_split_user_instructions_per_op");
        let more = (instructions, 100.0, 160.0);
        check(&[slower, more, (splits, 0.1, 0.2), (in_them, 40.0, 80.0)], &["rare", "code"]);
        check(&[slower, more, (splits, 0.0, 0.2), (in_them, 0.0, 40.0)], &["rare", "code"]);
        check(&[slower, more, (splits, 0.1, 0.1), (in_them, 40.0, 41.0)], &["code"]);
        check(&[slower, (splits, 0.1, 0.2), (in_them, 40.0, 80.0)], &[]);
        // CPU time alone may follow from any other reason.
        check(&[slower, (time, 20.0, 60.0), (sync, 0.0, 100.0)], &["waits", "code"]);
        check(&[slower, ("reads_per_op", 1.0, 2.0), ("read_kib_per_op", 8.0, 16.0)], &["storage"]);
        let (back, fore) = ("background_cpu_us_per_op", "foreground_cpu_us_per_op");
        check(&[slower, (fore, 50.0, 50.0), (back, 20.0, 60.0)], &["background"]);
        check(&[slower, ("client_cpu_us_per_op", 10.0, 30.0)], &["client"]);
        check(&[("ops_per_second", 1000.0, 990.0), (SWITCHES, 1.0, 9.0)], &[]);
    }

    #[test]
    fn waits_that_make_up_for_each_other_are_not_ruled_out() {
        let check = |task: f64, sync: f64, expected: &[&str]| {
            let costs = [
                ("ops_per_second", 1000.0, 700.0),
                ("foreground_task_wait_us_per_op", 50.0, task),
                ("foreground_sync_wait_us_per_op", 50.0, sync),
                ("foreground_read_wait_us_per_op", 0.0, 0.0),
                ("foreground_write_wait_us_per_op", 0.0, 0.0),
                ("foreground_other_wait_us_per_op", 0.0, 0.0),
            ];
            assert_eq!(diagnose(&phase(&costs))[0].ruled_out, expected);
        };
        check(51.0, 49.0, &["waits of serving tasks (2.0 of 428.6 us)"]);
        check(80.0, 20.0, &[]);
    }

    #[test]
    fn what_work_at_a_set_rate_costs_fewer_operations_is_no_reason() {
        let target = ("insert_rows_per_second_target", 100.0, 100.0);
        let sync = "foreground_sync_wait_us_per_op";
        let check = |costs: &[(&str, f64, f64)], expected: &[&str]| {
            assert_eq!(rules(&[[target].as_slice(), costs].concat()), expected, "{costs:?}");
        };
        // Inserts cost the same in a second: 1 / 0.7 or 1 / 1.5 of it for a query.
        let slower = ("ops_per_second", 1000.0, 700.0);
        let (switches, writes) = ((SWITCHES, 2.0, 2.86), ("writes_per_op", 1.0, 1.43));
        check(&[slower, (sync, 400.0, 572.0), switches, writes], &[]);
        check(&[("ops_per_second", 1000.0, 1500.0), (sync, 400.0, 266.0)], &[]);
        // The leading role's own costs are not divided by less, and what adds up is one.
        check(&[slower, ("lead_user_instructions_per_op", 100.0, 143.0)], &["code"]);
        check(&[slower, (sync, 400.0, 800.0)], &["waits"]);
    }

    #[test]
    fn an_embedded_engine_beside_a_server_is_the_first_reason() {
        let costs = [
            ("ops_per_second", 400_000.0, 80_000.0),
            (COUNT, 5_000.0, 43_000.0),
            ("server_cpu_us_per_op", 2.5, 8.5),
            ("client_cpu_us_per_op", 0.1, 4.1),
            (SWITCHES, 0.0, 2.0),
        ];
        let mut phase = phase(&costs);
        assert_eq!(diagnose(&phase)[0].findings[0].rule, "code");
        let base = testing::cell(COUNT, 5_000.0, 5_000.0);
        let marks = vec![Mark::from(EMBEDDED)];
        phase.cells.push(Cell { subject: "old".into(), base: None, marks, ..base });
        let found = diagnose(&phase);
        let first = &found[0].findings[0];
        let expected = "The base is embedded in the client. Of 10.0 us that an operation takes \
                        longer, 6.0 us are CPU time of the engine, and 4.0 us the way to a server \
                        and back (client CPU 0.10 and 4.10, context switches 0.00 and 2.00).";
        assert_eq!((first.rule, first.sentence.as_str()), ("embedding", expected));
        // A server whose engine uses less CPU time is slower all the same.
        (phase.cells[2].base_value, phase.cells[2].value) = (Some(8.5), Some(2.5));
        let expected = "The base is embedded in the client. An operation takes 10.0 us longer and \
                        6.0 us less CPU time of the engine; the way to a server and back comes on \
                        top (client CPU 0.10 and 4.10, context switches 0.00 and 2.00).";
        assert_eq!(diagnose(&phase)[0].findings[0].sentence, expected);
        // Nothing is said of the CPU time of a server that nobody saw.
        let mut unseen = phase.clone();
        unseen.cells.remove(2);
        let found = diagnose(&unseen);
        assert!(found[0].findings.iter().all(|one| one.rule != "embedding"), "{found:?}");
        let said = architecture(&[phase]).unwrap();
        assert!(said.starts_with("`old` is embedded") && said.contains("costs on `new`"), "{said}");
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

    const COUNT: &str = "foreground_user_instructions_per_op";
    const SWITCHES: &str = "context_switches_per_op";

    /// A regression of four blocks with one cost that has a verdict and an interval.
    fn of_blocks(cost: &str, value: f64, verdict: Verdict, ends: (f64, f64)) -> Diagnosis {
        let mut phase = phase(&[("ops_per_second", 1000.0, 700.0), (cost, 100.0, value)]);
        for (cell, verdict) in phase.cells.iter_mut().zip([Verdict::Regression, verdict]) {
            cell.blocks = 4;
            cell.verdict = verdict;
            cell.interval = Some(ends);
        }
        diagnose(&phase).remove(0)
    }

    #[test]
    fn a_cost_that_may_have_moved_by_chance_explains_nothing() {
        use Verdict::{CodeCost, Inconclusive, Invalid, Unassessed};
        let check = |cost: &str, verdict: Verdict, ends: (f64, f64), expected: usize| {
            let found = of_blocks(cost, 160.0, verdict, ends);
            assert_eq!(found.findings.len(), expected, "{cost} {verdict:?} {ends:?}");
            assert!(found.ruled_out.is_empty(), "{:?}", found.ruled_out);
        };
        check(COUNT, CodeCost, (1.5, 1.7), 1);
        check(COUNT, Inconclusive, (0.9, 2.0), 0);
        check(COUNT, Invalid, (1.5, 1.7), 0);
        check(SWITCHES, Unassessed, (1.2, 2.0), 1);
        check(SWITCHES, Unassessed, (0.9, 2.0), 0);
    }

    #[test]
    fn a_cost_that_is_known_to_be_equal_rules_its_reason_out() {
        use Verdict::{Equivalent, Unassessed};
        let check = |cost: &str, verdict: Verdict, ends: (f64, f64), expected: &[&str]| {
            assert_eq!(of_blocks(cost, 101.0, verdict, ends).ruled_out, expected);
        };
        check(COUNT, Equivalent, (1.0, 1.015), &["code (1.01x the base's instructions)"]);
        let switches = "waits (1.01x the base's context switches)";
        check(SWITCHES, Unassessed, (0.95, 1.05), &[switches]);
        check(SWITCHES, Unassessed, (0.8, 1.2), &[]);
    }

    /// A regression of four blocks, and the values of a cost in each, of the base and the variant.
    fn of_values(cost: &str, base: [f64; 4], own: [f64; 4]) -> PhaseResult {
        let mean = |values: [f64; 4]| values.iter().sum::<f64>() / 4.0;
        let costs = [("ops_per_second", 1000.0, 700.0), (cost, mean(base), mean(own))];
        let mut phase = phase(&costs);
        phase.cells[0].verdict = Verdict::Regression;
        let own_cell = &mut phase.cells[1];
        own_cell.verdict = Verdict::Unassessed;
        own_cell.blocks = 4;
        own_cell.by_block = own.map(Some).to_vec();
        own_cell.ratio = own_cell.ratio.filter(|ratio| ratio.is_finite());
        let by_block = base.map(Some).to_vec();
        let of_base = Cell { subject: "old".into(), base: None, by_block, ..own_cell.clone() };
        phase.cells.push(of_base);
        phase
    }

    #[test]
    fn one_block_of_many_without_an_interval_explains_nothing() {
        let check = |base: [f64; 4], own: [f64; 4], expected: usize| {
            let phase = of_values("foreground_read_wait_us_per_op", base, own);
            assert_eq!(diagnose(&phase)[0].findings.len(), expected, "{base:?} {own:?}");
        };
        check([0.0, 5.0, 0.0, 5.0], [0.0, 0.0, 0.0, 600.0], 0);
        check([0.0, 5.0, 0.0, 5.0], [290.0, 300.0, 300.0, 310.0], 1);
    }

    #[test]
    fn what_the_base_has_none_of_is_not_ruled_out() {
        let mut phase = of_values("reads_per_op", [0.0; 4], [0.0, 0.0, 0.0, 9.0]);
        let written = testing::cell("write_kib_per_op", 8.0, 8.0);
        phase.cells.insert(1, Cell { verdict: Verdict::Unassessed, ..written });
        let ruled_out = |phase: &PhaseResult| diagnose(phase)[0].ruled_out.join("");
        assert!(!ruled_out(&phase).contains("storage"), "{}", ruled_out(&phase));
        phase.cells.remove(2);
        assert!(ruled_out(&phase).contains("storage"), "{}", ruled_out(&phase));
        // Of four blocks with zeros there is no interval.
        phase.cells[1].blocks = 4;
        assert!(!ruled_out(&phase).contains("storage"), "{}", ruled_out(&phase));
    }

    #[test]
    fn what_is_decided_first_is_diagnosed() {
        // A wait is no reason for more instructions.
        let wait = ("foreground_sync_wait_us_per_op", 0.0, 100.0);
        let mut phase = phase(&[("ops_per_second", 1000.0, 990.0), (COUNT, 100.0, 160.0), wait]);
        phase.cells[0].verdict = Verdict::Equivalent;
        phase.cells[1].verdict = Verdict::CodeCost;
        let found = diagnose(&phase);
        assert_eq!(found[0].findings.len(), 1);
        assert_eq!((found.len(), found[0].metric.name, found[0].ratio), (1, COUNT, 1.6));
        assert_eq!((found[0].effect, found[0].findings[0].rule), (1.0 / 1.6, "code"));
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
        let rare = diagnose(&phase(&[
            ("ops_per_second", 1000.0, 700.0),
            (COUNT, 100_000.0, 200_000.0),
            ("page_splits_per_op", 0.0624, 0.6081),
            ("page_split_user_instructions_per_op", 30_000.0, 120_000.0),
        ]));
        let said = "There are 0.608 page splits per operation instead of 0.062: they are 90 % of \
                    the added instructions.";
        assert_eq!(rare[0].findings[0].sentence, said);
        assert_eq!(finding.sentence, "The server executes 1.60x the base's instructions.");
        assert_eq!((finding.evidence.len(), finding.evidence[0].value), (2, 48_000.0));
    }
}
