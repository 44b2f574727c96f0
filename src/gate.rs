//! `--fail-on`: what a comparison means for a build that must not become slower.

use crate::{exit::Code, talk};
use analysis::{
    Cell, PhaseResult, Reason, Verdict,
    history::{History, Step, Trend},
};
use clap::ValueEnum;
use model::{margins::Margins, number::counted};

/// The metrics that are looked at if neither the comparison nor the run was asked for others: what
/// users notice, and what a server's work costs where the host is shared.
const JUDGED: [&str; 2] = ["ops_per_second", "server_cpu_us_per_op"];

/// Comparisons that stderr names, at most.
const NAMED: usize = 20;

/// A comparison that is looked at.
struct Judged<'a> {
    phase: &'a PhaseResult,
    cell: &'a Cell,
}

/// What a comparison says of a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// It is one.
    Worse,
    /// It failed: nobody knows.
    Failed,
    /// It may be one.
    Undecided,
    /// It is none.
    Fine,
}

impl Answer {
    /// Instructions are looked at if they are asked for, and then more of them are a regression
    /// too.
    fn of(cell: &Cell) -> Self {
        match cell.verdict {
            verdict if verdict.is_worse() => Self::Worse,
            _ if broken(cell).is_some() => Self::Failed,
            Verdict::Better | Verdict::Base => Self::Fine,
            verdict if verdict.is_decided() => Self::Fine,
            _ => Self::Undecided,
        }
    }
}

/// What broke in a cell, or in its base: either way nothing is known.
fn broken(cell: &Cell) -> Option<&Reason> {
    cell.reason.as_ref().filter(|reason| matches!(reason.itself(), Reason::Failed(_)))
}

/// Looks for regressions in all comparisons that a report shows, and names them, or what is
/// undecided, on stderr. `asked` are the metrics as the user wrote them. One regression is enough;
/// what failed is no all-clear, nor are more than `allowed` undecided ones. What was to be compared
/// and is not counts as one of these.
pub(crate) fn regressions(report: &report::Report, asked: &[String], allowed: usize) -> Code {
    let is_judged = |margins: &Margins, cell: &Cell| match report.metrics.as_slice() {
        [] if margins.is_empty() => JUDGED.contains(&cell.metric.name),
        [] => margins.awaits(cell.metric),
        asked => asked.iter().any(|metric| metric.name == cell.metric.name),
    };
    let mut judged = Vec::new();
    for comparison in &report.comparisons {
        for phase in &comparison.phases {
            let margins = &comparison.margins;
            let is_judged = |cell: &&Cell| cell.base.is_some() && is_judged(margins, cell);
            let cells = phase.cells.iter().filter(is_judged);
            judged.extend(cells.map(|cell| Judged { phase, cell }));
        }
    }
    let gaps = report.comparisons.iter().flat_map(|comparison| comparison.gaps.iter().cloned());
    let gaps: Vec<String> = gaps.chain(unmeasured(&judged, asked)).collect();
    outcome(&judged, &gaps, allowed)
}

/// A sentence for each metric that was asked for by its own name and that nothing has. Patterns fit
/// what is there.
fn unmeasured(judged: &[Judged<'_>], asked: &[String]) -> Vec<String> {
    let is_there = |name: &str| judged.iter().any(|one| one.cell.metric.name == name);
    let named = asked.iter().filter(|name| !name.contains(['*', '?']));
    let missing = named.filter(|name| !is_there(name));
    missing.map(|name| format!("nothing was measured of `{name}`")).collect()
}

/// The exit code for these comparisons and for what is not compared, whose reasons stderr names.
fn outcome(judged: &[Judged<'_>], gaps: &[String], allowed: usize) -> Code {
    let cells = |answer| judged.iter().filter(move |one| Answer::of(one.cell) == answer);
    let count = |answer| cells(answer).count();
    if judged.is_empty() {
        talk::say("nothing is compared in the metrics that `--fail-on` looks at");
        return Code::Undecided;
    }
    if count(Answer::Worse) > 0 {
        name(cells(Answer::Worse).map(Judged::regression));
        return Code::Missed;
    }
    if count(Answer::Failed) > 0 {
        name(cells(Answer::Failed).map(Judged::failed));
        return Code::Failed;
    }
    let undecided = count(Answer::Undecided) + gaps.len();
    if undecided == 0 {
        return Code::Done;
    }
    let gap = |what: &String| format!("undecided: {what}");
    name(gaps.iter().map(gap).chain(cells(Answer::Undecided).map(Judged::undecided)));
    let total = counted(judged.len() + gaps.len(), "comparison");
    talk::say(&format!("{undecided} of {total} undecided, {allowed} allowed"));
    if undecided > allowed { Code::Undecided } else { Code::Done }
}

/// Which steps to the worse are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Steps {
    /// Confirmed ones
    Confirmed,
    /// Suspected ones too
    Suspected,
}

/// The exit code of histories in which no step to the worse may begin with one of the `latest` runs
/// of a series, and their names on stderr.
pub(crate) fn steps(histories: &[&History], latest: usize, wanted: Steps) -> Code {
    let mut found = Vec::new();
    for history in histories {
        let first = history.sessions.len().saturating_sub(latest);
        for trend in &history.trends {
            let is_recent =
                |step: &&Step| trend.points.get(step.at).is_some_and(|at| at.session >= first);
            let counts = |step: &&Step| step.is_confirmed || wanted == Steps::Suspected;
            let is_worse = |step: &&Step| trend.is_worse(step) == Some(true);
            let steps = trend.found.steps.iter().filter(is_recent).filter(counts).filter(is_worse);
            found.extend(steps.map(|step| stepped(history, trend, step)));
        }
    }
    let code = if found.is_empty() { Code::Done } else { Code::Missed };
    name(found.into_iter());
    code
}

/// Series, test, variant and metric of a step, its size, and the run that it begins with.
fn stepped(history: &History, trend: &Trend, step: &Step) -> String {
    let sure = if step.is_confirmed { "confirmed" } else { "suspected" };
    let variant = match trend.variant.as_str() {
        "" => String::new(),
        variant => format!("{variant} "),
    };
    let (low, high) = step.interval;
    let run = trend.first(step, history).map_or("", |session| &session.run);
    format!(
        "{sure} step: {}: {variant}{}: {} {:.3}x [{low:.3}, {high:.3}] since run {run}",
        history.name, trend.phase, trend.metric.name, step.ratio
    )
}

/// Says the first of some sentences, and how many more there are.
fn name(mut sentences: impl Iterator<Item = String>) {
    sentences.by_ref().take(NAMED).for_each(|sentence| talk::say(&sentence));
    match sentences.count() {
        0 => {}
        more => talk::say(&format!("and {more} more")),
    }
}

impl Judged<'_> {
    /// Variant, phase and metric.
    fn place(&self) -> String {
        format!("{} {}: {}", self.cell.subject, self.phase.phase, self.cell.metric.name)
    }

    /// The ratio, its interval and the base.
    fn regression(&self) -> String {
        let cell = self.cell;
        let ratio = cell.ratio.map(|ratio| format!(" {ratio:.3}x")).unwrap_or_default();
        let interval = cell.interval.map(|(low, high)| format!(" [{low:.3}, {high:.3}]"));
        let base = cell.base.as_deref().unwrap_or_default();
        format!("regression: {}{ratio}{} of {base}", self.place(), interval.unwrap_or_default())
    }

    fn failed(&self) -> String {
        format!(
            "failed: {}: {}",
            self.place(),
            broken(self.cell).map(report::reason).unwrap_or_default()
        )
    }

    /// Why nothing is decided, and what would.
    fn undecided(&self) -> String {
        let cell = self.cell;
        let why = match (cell.verdict, &cell.reason) {
            (_, Some(reason)) => report::reason(reason),
            (Verdict::Unreplicated, _) if cell.blocks == 0 => {
                "no block is shared with the base".to_owned()
            }
            (Verdict::Unreplicated, _) => "one block, nothing repeated".to_owned(),
            (Verdict::Unassessed, _) if cell.margin.is_some() => {
                "a value of zero leaves no ratios of blocks to judge".to_owned()
            }
            (Verdict::Unassessed, _) => "a metric without verdicts".to_owned(),
            (Verdict::Invalid, _) => report::reason(&Reason::NotMeasured),
            _ if self.phase.is_by_host(cell) => {
                let hosts = counted(cell.blocks, "host");
                format!("hosts disagree: each of {hosts} counts as one block")
            }
            _ if cell.blocks < analysis::FEWEST_BLOCKS => {
                format!(
                    "{}, verdicts need {}",
                    counted(cell.blocks, "block"),
                    analysis::FEWEST_BLOCKS
                )
            }
            _ => self.open(),
        };
        format!("undecided: {}: {why}", self.place())
    }

    /// What an open cell shows, and how many blocks would decide it.
    fn open(&self) -> String {
        let shown = match (self.cell.verdict, self.cell.ratio) {
            (Verdict::Worse, Some(ratio)) => format!("{ratio:.3}x, margin or more is open"),
            _ => match analysis::detectable(self.cell) {
                Some(least) if least < 2.0 => {
                    format!("a change below {:.1} % would be missed", (least - 1.0) * 100.0)
                }
                Some(least) => format!("a change below {least:.1}x would be missed"),
                None => "inconclusive".to_owned(),
            },
        };
        match analysis::blocks_to_decide(self.cell) {
            Some(blocks) => {
                format!("{shown}; about {} should decide", counted(blocks, "block"))
            }
            None => {
                let most = analysis::most_blocks(self.cell);
                format!("{shown}; even {most} blocks may not decide")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::history::{Quantity, Session, history};
    use model::margins;

    fn cell(verdict: Verdict) -> Cell {
        let metric = analysis::select_metrics(&["ops_per_second".to_owned()]).unwrap()[0];
        Cell {
            base: Some("mysql-5.6.24".into()),
            margin: Some(1.05),
            base_value: Some(1000.0),
            value: Some(640.0),
            ratio: Some(0.64),
            interval: Some((0.62, 0.66)),
            blocks: 5,
            verdict,
            test: Some(analysis::Test {
                p_change: 1.0,
                p_equivalence: 1.0,
                deviation: 0.05,
                freedom: 3.0,
                blocks: 4,
                share: analysis::Share { error: 0.05, tests: 1, looks: [].into() },
            }),
            ..Cell::empty("mysql-9.7.4", metric)
        }
    }

    fn phase() -> PhaseResult {
        PhaseResult {
            phase: "point-query".into(),
            workload: "point-query".into(),
            group: "point".into(),
            clients: 1,
            ..PhaseResult::default()
        }
    }

    #[test]
    fn what_is_named_has_its_ratio_and_interval_or_what_would_decide_it() {
        let mut cell = cell(Verdict::Regression);
        let phase = phase();
        fn judged<'a>(phase: &'a PhaseResult, cell: &'a Cell) -> Judged<'a> {
            Judged { phase, cell }
        }
        let start = "regression: mysql-9.7.4 point-query: ops_per_second";
        let full = format!("{start} 0.640x [0.620, 0.660] of mysql-5.6.24");
        assert_eq!(judged(&phase, &cell).regression(), full);
        cell.interval = None;
        let short = format!("{start} 0.640x of mysql-5.6.24");
        assert_eq!(judged(&phase, &cell).regression(), short);
        let start = "undecided: mysql-9.7.4 point-query: ops_per_second";
        cell.verdict = Verdict::Inconclusive;
        cell.block_ratios = vec![0.9, 1.1, 0.95, 1.05, 1.0];
        let said = judged(&phase, &cell).undecided();
        let open = "a change below 17.7 % would be missed; about 27 blocks should decide";
        assert_eq!(said, format!("{start}: {open}"));
        (cell.blocks, cell.block_ratios) = (3, vec![0.9, 1.1, 1.0]);
        assert_eq!(
            judged(&phase, &cell).undecided(),
            format!("{start}: 3 blocks, verdicts need 4")
        );
        cell.verdict = Verdict::Unassessed;
        let zero = "a value of zero leaves no ratios of blocks to judge";
        assert_eq!(judged(&phase, &cell).undecided(), format!("{start}: {zero}"));
        let check = |blocks: u32, why: &str| {
            let cell = Cell { verdict: Verdict::Unreplicated, blocks, ..cell.clone() };
            assert_eq!(judged(&phase, &cell).undecided(), format!("{start}: {why}"));
        };
        check(1, "one block, nothing repeated");
        check(0, "no block is shared with the base");
    }

    #[test]
    fn where_hosts_disagree_no_more_blocks_are_asked_for() {
        let by_block = vec![Some(1.0); 6];
        let base = Cell {
            subject: "mysql-5.6.24".into(),
            base: None,
            by_block: by_block.clone(),
            ..cell(Verdict::Base)
        };
        let phase = PhaseResult { cells: vec![base], ..phase() };
        let block_ratios = vec![0.9, 1.1, 1.0];
        let cell = Cell { by_block, block_ratios, blocks: 3, ..cell(Verdict::Inconclusive) };
        let said = Judged { phase: &phase, cell: &cell }.undecided();
        assert!(said.ends_with(": hosts disagree: each of 3 hosts counts as one block"), "{said}");
    }

    #[test]
    fn what_may_be_worse_is_no_all_clear() {
        use Verdict::{
            Better, CodeCost, Equivalent, Improvement, Inconclusive, Invalid, Regression,
            SmallChange, Unassessed, Unreplicated, Worse,
        };
        let phase = phase();
        let check = |verdicts: &[Verdict], allowed, expected: Code| {
            let cells: Vec<Cell> = verdicts.iter().copied().map(cell).collect();
            let judged = |cell| Judged { phase: &phase, cell };
            let judged: Vec<Judged<'_>> = cells.iter().map(judged).collect();
            assert_eq!(outcome(&judged, &[], allowed), expected, "{verdicts:?}");
        };
        check(&[Equivalent, Regression, Inconclusive], 9, Code::Missed);
        check(&[Equivalent, CodeCost], 0, Code::Missed);
        check(&[Equivalent, Inconclusive], 0, Code::Undecided);
        check(&[Equivalent, Inconclusive], 1, Code::Done);
        check(&[Inconclusive, Worse], 1, Code::Undecided);
        check(&[Improvement, Better, SmallChange, Equivalent], 0, Code::Done);
        check(&[Unreplicated, Unassessed, Inconclusive], 2, Code::Undecided);
        check(&[Equivalent, Invalid], 0, Code::Undecided);
        check(&[], 0, Code::Undecided);
    }

    #[test]
    fn what_a_run_had_to_decide_is_looked_at() {
        let of = |metric: &str, verdict| Cell {
            metric: analysis::select_metrics(&[metric.to_owned()]).unwrap()[0],
            ..cell(verdict)
        };
        let cells = vec![
            of("ops_per_second", Verdict::Inconclusive),
            of("foreground_user_instructions_per_op", Verdict::Equivalent),
        ];
        let phases = vec![PhaseResult { cells, ..phase() }];
        let check = |decide: &[margins::Quantity], expected: Code| {
            let asked = decide.iter().map(|quantity| (*quantity, 1.005)).collect();
            let (phases, margins) = (phases.clone(), Margins { asked });
            let comparisons =
                vec![analysis::Comparison { phases, margins, ..analysis::Comparison::default() }];
            let report = report::Report { comparisons, ..report::Report::default() };
            assert_eq!(regressions(&report, &[], 0), expected, "{decide:?}");
        };
        check(&[margins::Quantity::Instructions], Code::Done);
        check(&[margins::Quantity::Instructions, margins::Quantity::Time], Code::Undecided);
        check(&[], Code::Undecided);
    }

    #[test]
    fn what_is_not_compared_is_no_all_clear() {
        let fine = PhaseResult { cells: vec![cell(Verdict::Equivalent)], ..phase() };
        let mut comparison =
            analysis::Comparison { phases: vec![fine], ..analysis::Comparison::default() };
        let check = |comparison: &analysis::Comparison, asked: &[&str], allowed, expected: Code| {
            let comparisons = vec![comparison.clone()];
            let report = report::Report { comparisons, ..report::Report::default() };
            let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
            assert_eq!(regressions(&report, &asked, allowed), expected, "{asked:?}");
        };
        check(&comparison, &["ops_per_second", "*_instructions_*"], 0, Code::Done);
        let both = ["ops_per_second", "foreground_user_instructions_per_op"];
        check(&comparison, &both, 0, Code::Undecided);
        check(&comparison, &both, 1, Code::Done);
        comparison.lacks("run `r` is left out".to_owned());
        check(&comparison, &[], 0, Code::Undecided);
        check(&comparison, &[], 1, Code::Done);
        comparison.phases[0].cells.push(cell(Verdict::Regression));
        check(&comparison, &[], 1, Code::Missed);
    }

    #[test]
    fn a_recent_step_to_the_worse_fails() {
        let metric = analysis::select_metrics(&["server_cpu_us_per_op".to_owned()]).unwrap()[0];
        let run = |index: usize| Session { run: index.to_string(), ..Session::default() };
        let of = |at: usize, after: f64| {
            let value = |index: usize| if index < at { 100.0 } else { after };
            let noise = |index: usize| 1.0 + (index * 7 % 5) as f64 / 1000.0;
            let comparison = |index: usize| {
                let value = Some(value(index) * noise(index));
                let cells = vec![Cell { metric, value, ..cell(Verdict::Base) }];
                let phases = vec![PhaseResult { cells, ..phase() }];
                analysis::Comparison { phases, ..analysis::Comparison::default() }
            };
            let runs = (0..30).map(|index| (run(index), comparison(index))).collect();
            history("nightly", runs, &[metric], Quantity::Value)
        };
        let check = |at, after, latest, wanted, expected: Code| {
            let found = of(at, after);
            assert_eq!(steps(&[&found], latest, wanted), expected, "{:?}", found.trends);
        };
        check(20, 110.0, 10, Steps::Confirmed, Code::Missed);
        check(20, 110.0, 9, Steps::Confirmed, Code::Done);
        check(20, 90.0, 10, Steps::Confirmed, Code::Done);
        check(27, 110.0, 10, Steps::Confirmed, Code::Done);
        check(27, 110.0, 10, Steps::Suspected, Code::Missed);
        check(20, 100.0, 10, Steps::Suspected, Code::Done);
    }

    #[test]
    fn a_base_that_failed_is_no_undecided_cell() {
        let failed = Reason::Failed("the server ended".to_owned());
        let check = |reason: Reason| {
            let cell = Cell { reason: Some(reason), ..cell(Verdict::Invalid) };
            let judged = [Judged { phase: &phase(), cell: &cell }];
            assert_eq!(outcome(&judged, &[], 1), Code::Failed);
        };
        check(Reason::OfBase(Box::new(failed.clone())));
        check(failed);
    }
}
