//! Columns from measurements: what counts as missed, what failed, and which variant is the base.

use analysis::{
    Content, Design, Failure, Observations, Outcome, PhaseCell, PhaseColumn, Reason, compare,
    phase_columns,
    style::{STYLES, find},
};
use model::{
    mark::{Figure, Mark, Miss, Quantity, Rate, Why},
    measurement::Measurement,
};

/// A mark of both rules.
fn mark() -> Mark {
    let rate = Rate { reached: 1.0, target: 100.0, needed: 95.0 };
    let lag = Figure { quantity: Quantity::Lag, value: 9e6, bound: 1e6 };
    let misses = [("published", Why::Inserted(rate)), ("strict", Why::Figures(vec![lag]))];
    Mark::Missed(misses.map(|(rule, why)| Miss { rule: rule.into(), why }).into())
}

/// One value of a step at 100 rows/s, in a round of the only block.
fn value(subject: &str, metric: &str, round: u32, value: f64) -> Measurement {
    Measurement {
        experiment: "ib".into(),
        run: "r".into(),
        subject: subject.into(),
        phase: "qr100".into(),
        workload: "qr100".into(),
        group: "range".into(),
        position: 1,
        clients: 1,
        round,
        metric: metric.into(),
        value,
        ..Measurement::default()
    }
}

/// A piece that kept its rate.
fn piece(subject: &str, round: u32, queries: f64) -> Vec<Measurement> {
    vec![
        value(subject, "ops_per_second", round, queries),
        value(subject, "insert_rows_per_second", round, 100.0),
        value(subject, "insert_rows_per_second_target", round, 100.0),
        value(subject, "seconds_on_target_share", round, 1.0),
        value(subject, "lag_us_max", round, 1000.0),
    ]
}

fn failure(subject: &str, phase: &str) -> Failure {
    let at = Measurement {
        phase: phase.into(),
        workload: phase.into(),
        position: if phase == "qr100" { 1 } else { 2 },
        ..value(subject, "", 0, 0.0)
    };
    Failure { at, reason: "the server ended\nits log".into() }
}

fn columns(measurements: Vec<Measurement>, failures: Vec<Failure>) -> Vec<PhaseColumn> {
    let mut observations = Observations::default();
    observations.measurements = measurements;
    observations.failures = failures;
    let design = Design {
        experiment: "ib".into(),
        suite: "ib".into(),
        // The base comes last here.
        subjects: vec![("new".into(), Some("old".into())), ("old".into(), None)],
        ..Design::default()
    };
    phase_columns(&compare(&observations, &design))
}

fn cell(columns: &[PhaseColumn], subject: usize) -> &PhaseCell {
    &columns[0].cells[subject]
}

#[test]
fn ratios_are_to_the_base_of_the_design_wherever_it_stands() {
    let columns = columns([piece("new", 0, 50.0), piece("old", 0, 100.0)].concat(), Vec::new());
    for style in STYLES {
        let shown = (style.relative)(&columns[0]);
        let ratios: Vec<Content> = shown.iter().map(|shown| shown.content).collect();
        assert_eq!(ratios, [Content::Ratio(0.5), Content::Ratio(1.0)], "{}", style.name);
    }
}

#[test]
fn one_piece_that_missed_is_not_made_up_for_by_others() {
    let mut pieces =
        [piece("new", 0, 50.0), piece("new", 1, 50.0), piece("old", 0, 100.0)].concat();
    assert_eq!(cell(&columns(pieces.clone(), Vec::new()), 0).missed(), None);
    for measurement in pieces.iter_mut().filter(|m| m.subject == "new" && m.round == 1) {
        measurement.marks.push(mark());
    }
    let columns = columns(pieces, Vec::new());
    let levels = cell(&columns, 0).levels.iter().map(|level| (level.outcome, level.words()));
    let words =
        ["1 of 100 rows/s inserted, 95 sustain it", "largest lag 9.00 s where 1 s is allowed"];
    let expected = words.map(|words| (Outcome::Missed, words.to_owned()));
    assert_eq!(levels.collect::<Vec<_>>(), expected);
    assert_eq!(cell(&columns, 1).missed(), None);
    let shown = (find("marked").unwrap().relative)(&columns[0]);
    assert_eq!(shown[0].content, Content::Missed(None));
}

#[test]
fn queries_that_missed_a_rate_of_their_own_have_no_ratio() {
    let mut pieces = [piece("new", 0, 50.0), piece("old", 0, 100.0)].concat();
    let rate = Rate { reached: 50.0, target: 100.0, needed: 95.0 };
    let why = Why::Completed { rate, role: "query".into() };
    let missed = Mark::Missed([Miss { rule: "rate".into(), why }].into());
    for measurement in pieces.iter_mut().filter(|m| m.subject == "new") {
        measurement.marks.push(missed.clone());
    }
    let columns = columns(pieces, Vec::new());
    assert_eq!(cell(&columns, 0).missed().map(|level| level.rule), Some("rate"));
    let shown = (find("marked").unwrap().relative)(&columns[0]);
    assert_eq!(shown[0].content, Content::Missed(None));
}

#[test]
fn a_step_that_failed_says_so_and_why() {
    let failures = vec![failure("new", "qr100"), failure("new", "qp100"), failure("old", "qp100")];
    let columns = columns(piece("old", 0, 100.0), failures);
    let failed = Some(Reason::Failed("the server ended".into()));
    assert_eq!(cell(&columns, 0).failure, failed);
    // A step that failed for all has its column too.
    assert_eq!(columns.iter().map(|c| c.phase.as_str()).collect::<Vec<_>>(), ["qr100", "qp100"]);
    for style in STYLES {
        for shown in [(style.absolute)(&columns[0]), (style.relative)(&columns[0])] {
            assert_eq!(shown[0].content, Content::Failed, "{}", style.name);
        }
        assert_eq!((style.absolute)(&columns[1])[1].content, Content::Failed, "{}", style.name);
    }
}
