//! Values of one metric of one test and variant, run after run.

use super::steps::{Step, Steps, steps};
use crate::{Cell, Comparison, Reason};
use model::{
    metric::{Better, Metric},
    shared::Name,
};
use std::collections::BTreeMap;

/// A run as a history needs it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// Identifier.
    pub run: String,
    /// Wall clock at the start, microseconds since 1970.
    pub started_us: u64,
    /// The host in a few words, to report what differs.
    pub host: String,
    /// The builds in a few words, by variant.
    pub builds: BTreeMap<String, String>,
    /// What users noted of it, such as a commit.
    pub notes: Vec<String>,
}

/// What a value of a trend is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Quantity {
    /// The value of a variant.
    #[default]
    Value,
    /// Its ratio to the base of the same run, which a change of the host hardly moves.
    Ratio,
}

/// One value of a trend.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Index of its run among the sessions.
    pub session: usize,
    /// The value, in the metric's unit or as a ratio.
    pub value: f64,
}

/// Values of one metric of one test and variant over the runs of a series, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// Test.
    pub phase: String,
    /// Label of the variant; empty where each run has only one, whatever its label.
    pub variant: String,
    /// Metric.
    pub metric: &'static Metric,
    /// Whether values are ratios.
    pub quantity: Quantity,
    /// Labels of what the values are ratios to, by the place of the session.
    pub bases: BTreeMap<usize, Name>,
    /// The values.
    pub points: Vec<Point>,
    /// Changes of level.
    pub found: Steps,
}

/// Runs of one series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Name of the series or of the experiment.
    pub name: String,
    /// The runs, oldest first.
    pub sessions: Vec<Session>,
    /// One trend per test, variant and metric.
    pub trends: Vec<Trend>,
}

/// The history of runs, each with its comparison, oldest first.
pub fn history(
    name: &str,
    runs: Vec<(Session, Comparison)>,
    metrics: &[&'static Metric],
    quantity: Quantity,
) -> History {
    let alone = runs.iter().all(|(_, comparison)| comparison.subjects.len() == 1);
    let mut order: Vec<(String, Name, &'static str)> = Vec::new();
    let mut trends: BTreeMap<(String, Name, &'static str), Trend> = BTreeMap::new();
    let mut sessions = Vec::new();
    for (session, comparison) in runs {
        for phase in &comparison.phases {
            for cell in phase.cells.iter().filter(|cell| is_asked(cell, metrics)) {
                let Some(value) = value(cell, quantity) else { continue };
                let variant = if alone { Name::from("") } else { cell.subject.clone() };
                let key = (phase.phase.clone(), variant, cell.metric.name);
                let trend = trends.entry(key.clone()).or_insert_with(|| {
                    order.push(key.clone());
                    Trend {
                        phase: phase.phase.clone(),
                        variant: key.1.to_string(),
                        metric: cell.metric,
                        quantity,
                        bases: BTreeMap::new(),
                        points: Vec::new(),
                        found: Steps::default(),
                    }
                });
                let base = cell.base.clone().filter(|_| quantity == Quantity::Ratio);
                trend.bases.extend(base.map(|base| (sessions.len(), base)));
                trend.points.push(Point { session: sessions.len(), value });
            }
        }
        sessions.push(session);
    }
    let trends = order.into_iter().filter_map(|key| trends.remove(&key)).map(|trend| Trend {
        found: steps(&trend.points.iter().map(|point| point.value).collect::<Vec<_>>()),
        ..trend
    });
    History { name: name.to_owned(), trends: trends.collect(), sessions }
}

fn is_asked(cell: &Cell, metrics: &[&'static Metric]) -> bool {
    metrics.iter().any(|metric| metric.name == cell.metric.name)
}

/// What a cell adds to a trend: nothing where a rate was missed, or something disturbed the host.
fn value(cell: &Cell, quantity: Quantity) -> Option<f64> {
    let value = match (quantity, &cell.reason) {
        // The reason of a base says nothing of a rate that it missed itself.
        (Quantity::Value, None | Some(Reason::OfBase(_))) if cell.missed().is_none() => cell.value,
        (Quantity::Ratio, None) => cell.ratio,
        _ => None,
    };
    value.filter(|value| *value > 0.0 && value.is_finite())
}

impl Trend {
    /// Whether the values are worse from a step on; none of a metric without a good direction.
    pub fn is_worse(&self, step: &Step) -> Option<bool> {
        match self.metric.better {
            Better::Higher => Some(step.ratio < 1.0),
            Better::Lower => Some(step.ratio > 1.0),
            Better::Neither => None,
        }
    }

    /// The run of the first value at a step's new level.
    pub fn first<'a>(&self, step: &Step, history: &'a History) -> Option<&'a Session> {
        history.sessions.get(self.points.get(step.at)?.session)
    }

    /// The run before it.
    pub fn last_before<'a>(&self, step: &Step, history: &'a History) -> Option<&'a Session> {
        let before = self.points.get(step.at.checked_sub(1)?)?;
        history.sessions.get(before.session)
    }

    /// What else changed from one session to another, by their places: the host, the build, that of
    /// the base of a ratio, and what was noted since, also of runs between them that have no value.
    /// One phrase each.
    pub fn changes(&self, [before, after]: [usize; 2], history: &History) -> Vec<String> {
        let since = history.sessions.get(before..=after).unwrap_or_default();
        let [one, later @ ..] = since else { return Vec::new() };
        let Some(other) = later.last() else { return Vec::new() };
        let mut said: Vec<String> = host_change(one, other).into_iter().collect();
        let build = |session: &Session| match self.variant.as_str() {
            "" => session.builds.values().next().cloned(),
            variant => session.builds.get(variant).cloned(),
        };
        said.extend(build_change("build", [build(one), build(other)]));
        let base = |session: &Session, place: usize| {
            session.builds.get(self.bases.get(&place)?.as_str()).cloned()
        };
        said.extend(build_change("build of the base", [base(one, before), base(other, after)]));
        said.extend(later.iter().flat_map(|session| session.notes.iter().cloned()));
        said
    }
}

/// How the hosts of two runs differ, if they do.
pub fn host_change(before: &Session, after: &Session) -> Option<String> {
    let differs = before.host != after.host;
    differs.then(|| format!("host: {} before, {} now", before.host, after.host))
}

fn build_change(what: &str, [before, after]: [Option<String>; 2]) -> Option<String> {
    let (before, after) = (before?, after?);
    (before != after).then(|| format!("{what}: {before} before, {after} now"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metric, testing};
    use model::mark::Mark;

    fn run(index: u64, value: f64) -> (Session, Comparison) {
        let cell = testing::cell("ops_per_second", 1.0, value);
        let phase = crate::PhaseResult { cells: vec![cell], ..testing::phase("p") };
        let comparison = testing::comparison(vec![phase]);
        let comparison = Comparison { subjects: vec!["new".to_owned()], ..comparison };
        let session = Session {
            run: format!("r{index}"),
            started_us: index,
            host: if index < 10 { "old" } else { "new" }.to_owned(),
            notes: if index == 12 { vec!["commit abc".to_owned()] } else { Vec::new() },
            ..Session::default()
        };
        (session, comparison)
    }

    #[test]
    fn values_of_runs_become_a_trend_with_steps_and_what_changed_with_them() {
        let jitter = |n: u64| (n * 7 % 5) as f64;
        let runs = (0..24).map(|n| run(n, if n < 12 { 100.0 } else { 90.0 } + jitter(n) / 10.0));
        let metrics = [metric("ops_per_second").unwrap()];
        let found = history("nightly", runs.collect(), &metrics, Quantity::Value);
        let [trend] = found.trends.as_slice() else { panic!("{found:?}") };
        assert_eq!((trend.points.len(), trend.variant.as_str()), (24, ""));
        let [step] = trend.found.steps.as_slice() else { panic!("{trend:?}") };
        assert!(step.is_confirmed && (step.ratio - 0.9).abs() < 0.002, "{step:?}");
        let (before, after) = (trend.last_before(step, &found), trend.first(step, &found));
        let (before, after) = (before.unwrap(), after.unwrap());
        assert_eq!((before.run.as_str(), after.run.as_str()), ("r11", "r12"));
        assert_eq!(trend.changes([11, 12], &found), ["commit abc"]);
        // A run may have no value, and be that of the change.
        assert_eq!(trend.changes([11, 14], &found), ["commit abc"]);
        assert_eq!(trend.changes([9, 10], &found), ["host: old before, new now"]);
    }

    #[test]
    fn a_ratio_moves_with_the_build_of_its_base_too() {
        let run = |(index, base): (u64, &str)| {
            let (session, comparison) = run(index, 100.0);
            let builds = [("new", "2 binary b"), ("old", base)];
            let builds = builds.map(|(label, build)| (label.to_owned(), build.to_owned())).into();
            let subjects = vec!["old".to_owned(), "new".to_owned()];
            (Session { builds, ..session }, Comparison { subjects, ..comparison })
        };
        let changes = |quantity| {
            let runs = [(0, "1 binary a"), (1, "1 binary c")].map(run).into();
            let metrics = [metric("ops_per_second").unwrap()];
            let found = history("nightly", runs, &metrics, quantity);
            found.trends[0].changes([0, 1], &found)
        };
        let of_base = "build of the base: 1 binary a before, 1 binary c now";
        assert_eq!(changes(Quantity::Ratio), [of_base]);
        assert_eq!(changes(Quantity::Value), [""; 0]);
    }

    #[test]
    fn a_base_that_missed_its_rate_leaves_no_point() {
        let (session, mut comparison) = run(0, 100.0);
        let cell = &mut comparison.phases[0].cells[0];
        (cell.base, cell.verdict) = (None, crate::Verdict::Base);
        cell.marks = vec![Mark::Missed(Vec::new().into())];
        let metrics = [metric("ops_per_second").unwrap()];
        let found = history("nightly", vec![(session, comparison)], &metrics, Quantity::Value);
        assert_eq!(found.trends, []);
    }
}
