//! Running a bisection: each probe is a run of both ends and a candidate, side by side.
//!
//! Nothing is remembered beside the records: the search is repeated from its start, and each probe
//! has a plan that only depends on what is searched, its position and how often that was probed
//! before. A probe whose run is in the results folder is not executed again, and one whose run is
//! unfinished is continued, unless it is of builds that others have replaced.

mod positions;
mod recorded;
mod verdict;

pub(crate) use positions::{Positions, Reachable};
pub(crate) use verdict::{Ending, Sides, Step};

use crate::{resumption, talk, versions::HostVersions};
use analysis::{
    Comparison, Verdict,
    bisect::{Answer, Evidence, Found, Next, Outcome, Probe, Search, evidence},
};
use anyhow::{Context, bail, ensure};
use model::{metric::Metric, number::counted, plan::Plan};
use plan::{Catalog, Overrides};
use runner::{Options, Stop};
use std::collections::BTreeMap;
use store::Results;

/// Results folder, inside another one, of the runs of bisections.
pub(crate) const FOLDER: &str = "bisect";

/// Runs of one position that may leave it open before the ends are taken for equal.
const TRIES: usize = 3;

/// What the line of a probe ends with where a comparison would not judge it: its blocks count,
/// because the search recovers from wrong answers.
const DISTURBED: &str = "; other processes disturbed this run";

/// The metric that a bisection follows where none is named: the first that was measured.
const METRICS: [&str; 2] = ["foreground_user_instructions_per_op", "server_cpu_us_per_op"];

/// What is searched, and how it is measured.
pub(crate) struct Bisection<'a> {
    pub(crate) experiment: String,
    /// What the command line puts over the experiment.
    pub(crate) set: Vec<String>,
    pub(crate) positions: Positions,
    pub(crate) test: String,
    pub(crate) metric: Option<&'static Metric>,
    pub(crate) catalog: &'a Catalog,
    pub(crate) places: &'a dbms::Places,
    pub(crate) options: Options,
    pub(crate) stop: &'a Stop,
    pub(crate) progress: Option<crate::args::ProgressStyle>,
}

/// A finished run of a probe.
struct Finished {
    run: String,
    comparison: Comparison,
    /// What failed in it, in order.
    failures: Vec<Failed>,
}

/// A subject of a probe that failed.
struct Failed {
    /// Its label; empty where an error does not say whose it is.
    subject: String,
    reason: String,
    /// Whether a disk was full, which says nothing of the subject.
    is_of_host: bool,
}

/// Whose values a run lacks.
#[derive(Debug, PartialEq, Eq)]
enum Lacking {
    End,
    Candidate,
}

/// What a search knows while it goes on.
#[derive(Default)]
struct State {
    answers: Vec<Answer>,
    equal: Vec<(usize, usize)>,
    /// How often each position was run.
    runs: BTreeMap<usize, usize>,
    /// Blocks of a position since it was last decided.
    open: BTreeMap<usize, Vec<Probe>>,
    steps: Vec<Step>,
    /// SHA-256 of the code of positions that are builds of the user's.
    code: BTreeMap<usize, String>,
    ends: Option<Evidence>,
}

impl State {
    /// Whether any probe has told the ends apart: without a difference none is decided.
    fn has_decided(&self) -> bool {
        let decided = [Outcome::LikeGood, Outcome::LikeBad, Outcome::Neither];
        self.answers.iter().any(|answer| decided.contains(&answer.outcome))
    }
}

impl Bisection<'_> {
    /// Searches until the end.
    pub(crate) fn run(&mut self) -> anyhow::Result<Ending> {
        let mut state = State::default();
        self.check_ends(&mut state)?;
        // An experiment that cannot be planned leaves no folder behind.
        let plan = self.plan(&[0, self.positions.count() - 1], 0)?;
        ensure!(
            plan.blocks.len() > 1,
            "a probe compares blocks, and the experiment has one: `--set blocks=4` gives it more"
        );
        self.create_folders()?;
        loop {
            let count = self.positions.count();
            let search = Search { count, equal: state.equal.clone() };
            match search.next(&state.answers) {
                Next::Probe(position) => self.probe(position, &mut state)?,
                next => return self.ending(next, state),
            }
        }
    }

    /// The results folder, and the folder inside it for the runs of probes.
    fn create_folders(&self) -> anyhow::Result<()> {
        if let Some(outer) = self.options.results.parent() {
            Results::open_or_create(outer)?;
        }
        Results::open_or_create(&self.options.results)?;
        Ok(())
    }

    /// Both ends have to be there, and must not be the same code.
    fn check_ends(&mut self, state: &mut State) -> anyhow::Result<()> {
        for end in [0, self.positions.count() - 1] {
            if let Reachable::No(reason) = self.reach(end)? {
                bail!("the end `{}` cannot be measured: {reason}", self.positions.name(end));
            }
            state.code.extend(self.positions.code(end).map(|code| (end, code)));
        }
        let [first, last] = [0, self.positions.count() - 1];
        let same = state.code.get(&first).is_some_and(|code| state.code.get(&last) == Some(code));
        ensure!(!same, "both ends are the same code: there is nothing to find");
        Ok(())
    }

    fn reach(&mut self, position: usize) -> anyhow::Result<Reachable> {
        let stop = self.stop;
        let found = self.positions.reach(position, self.places, &|| stop.is_raised());
        self.stop.check()?;
        found
    }

    fn probe(&mut self, position: usize, state: &mut State) -> anyhow::Result<()> {
        if let Reachable::No(reason) = self.reach(position)? {
            self.skip(position, reason, state);
            return Ok(());
        }
        if self.is_known_code(position, state) {
            return Ok(());
        }
        match self.measured(position, state)? {
            Err(reason) => self.skip(position, reason, state),
            Ok((step, height)) => {
                talk::say_lines(&step.line(&self.positions));
                state.answers.push(Answer { position, outcome: step.outcome, height });
                state.steps.push(step);
            }
        }
        Ok(())
    }

    /// What one more run of a position says, with its height, or why the position is skipped.
    fn measured(
        &mut self,
        position: usize,
        state: &mut State,
    ) -> anyhow::Result<Result<(Step, f64), String>> {
        // That of the ends was made before, so this is about the position.
        let plan = match self.next_plan(position, state) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(format!("{error:#}"))),
        };
        let finished = match self.sound(&plan)? {
            Ok(finished) => finished,
            Err(reason) => return Ok(Err(reason)),
        };
        let (metric, run) = (self.followed(&finished.comparison)?, &finished.run);
        let blocks = match self.blocks(&finished.comparison, &plan, metric) {
            Ok(blocks) => blocks,
            Err(Lacking::End) => bail!(self.unmeasured(&finished, metric)),
            Err(Lacking::Candidate) => {
                return Ok(Err(format!("run {run} has no values of `{}`", metric.name)));
            }
        };
        let own = state.open.entry(position).or_default();
        own.extend(blocks);
        let (found, blocks) = (evidence(metric, own), own.len());
        let Some(found) = found else { return Ok(Err(without_ratios(run, blocks))) };
        let runs = state.runs.get(&position).copied().unwrap_or(0);
        if !found.ends_differ && runs >= TRIES && !state.has_decided() {
            bail!(self.alike(metric, (&found, blocks)));
        }
        if found.outcome != Outcome::Undecided {
            state.open.remove(&position);
        }
        state.ends = Some(found);
        let (outcome, height) = (found.outcome, found.height);
        let disturbed = plan.subjects.iter().any(|subject| {
            let cell = finished.comparison.cell(&self.test, &subject.label, metric.name);
            cell.is_some_and(|cell| cell.verdict == Verdict::Invalid)
        });
        let reason = if disturbed { DISTURBED.to_owned() } else { String::new() };
        let run = finished.run;
        Ok(Ok((Step { position, outcome, height: Some(height), blocks, run, reason }, height)))
    }

    /// That the ends do not differ, as far as so many blocks show.
    fn alike(&self, metric: &Metric, (found, blocks): (&Evidence, usize)) -> String {
        let (low, high) = found.interval;
        format!(
            "the ends do not differ in `{}` of `{}`: ratio {:.4} (at 99 %: {low:.4}–{high:.4}) \
             over {}; there is nothing to bisect, or `--set blocks=N` with more blocks shows it",
            metric.name,
            self.test,
            found.ratio,
            counted(blocks as u64, "block")
        )
    }

    /// The finished run of a probe, or why its candidate is skipped. Fails where an end has failed,
    /// because a candidate is only judged beside both, and where a disk was full.
    fn sound(&self, plan: &Plan) -> anyhow::Result<Result<Finished, String>> {
        let (finished, failures, cause) = match self.executed(plan) {
            Ok(mut finished) => {
                let failures = std::mem::take(&mut finished.failures);
                (Some(finished), failures, None)
            }
            Err(error) if self.stop.is_raised() || !is_of_server(&error) => return Err(error),
            Err(error) => {
                let subject = error.downcast_ref().and_then(runner::Error::subject);
                let subject = subject.unwrap_or_default().to_owned();
                let reason = talk::sentence(&error);
                let is_of_host = dbms::is_full_disk(&reason);
                let failed = Failed { subject, reason, is_of_host };
                (None, vec![failed], Some(error))
            }
        };
        // Beside its cause the log of a server keeps its lines.
        let caused = |cause: Option<anyhow::Error>, said: String| match cause {
            Some(cause) => cause.context(said),
            None => anyhow::Error::msg(said),
        };
        if let Some(failed) = failures.iter().find(|failed| failed.is_of_host) {
            let said = format!("a disk takes nothing more: {}", failed.reason);
            let mended = "when there is room, the same command continues the search";
            return Err(caused(cause, resumption::followed(&said, mended)));
        }
        let labels: Vec<&str> = plan.subjects.iter().map(|one| one.label.as_str()).collect();
        if let Some((place, reason)) = failed_end(&labels, &failures) {
            let ends = [0, self.positions.count() - 1];
            let end = self.positions.name(ends[place]);
            let said = resumption::followed(
                &format!("the end `{end}` cannot be measured: {reason}"),
                "when that is mended, begin anew with another `--results`",
            );
            return Err(caused(cause, said));
        }
        let reason = failures.into_iter().next().map(|failed| failed.reason);
        Ok(match (reason, finished) {
            (None, Some(finished)) => Ok(finished),
            (reason, _) => Err(reason.unwrap_or_default()),
        })
    }

    /// That the metric was not measured, and what was.
    fn unmeasured(&self, finished: &Finished, metric: &Metric) -> String {
        let known = METRICS.iter().filter(|name| has(&finished.comparison, name));
        let known: Vec<String> = known.map(|name| format!("`--metric {name}`")).collect();
        let instead = match known.is_empty() {
            true => "`--metric` takes what `dbdyno list metrics` lists".to_owned(),
            false => format!("{} was measured", known.join(" or ")),
        };
        format!(
            "run {} has no values of `{}` in `{}` for its ends: {instead}",
            finished.run, metric.name, self.test
        )
    }

    fn skip(&self, position: usize, reason: String, state: &mut State) {
        let outcome = Outcome::Skipped;
        let step = Step { position, outcome, height: None, blocks: 0, run: String::new(), reason };
        talk::say_lines(&step.line(&self.positions));
        state.answers.push(Answer { position, outcome, height: 0.5 });
        state.steps.push(step);
    }

    /// Whether a position has the code of one that is known: nothing changed between them, and
    /// nothing need be measured.
    fn is_known_code(&self, position: usize, state: &mut State) -> bool {
        let Some(code) = self.positions.code(position) else { return false };
        let mut others = state.code.iter().filter(|(other, _)| **other != position);
        let same = others.find(|(_, other)| **other == code).map(|(other, _)| *other);
        state.code.insert(position, code);
        let Some(same) = same else { return false };
        let pair = (position.min(same), position.max(same));
        if state.equal.contains(&pair) {
            return false;
        }
        let [own, other] = [position, same].map(|position| self.positions.name(position));
        talk::say(&format!("`{own}` has the code of `{other}`: not measured again"));
        state.equal.push(pair);
        true
    }

    /// The plan of the next probe of a position.
    fn next_plan(&self, position: usize, state: &mut State) -> anyhow::Result<Plan> {
        let attempt = state.runs.entry(position).or_default();
        let last = self.positions.count() - 1;
        let plan = self.plan(&[0, last, position], *attempt)?;
        *attempt += 1;
        Ok(plan)
    }

    fn plan(&self, positions: &[usize], attempt: usize) -> anyhow::Result<Plan> {
        let seed = 1 + attempt as u64 * 1_000_003 + positions.last().map_or(0, |p| *p as u64);
        let mut set = self.set.clone();
        set.extend(self.positions.overrides(positions));
        set.push(format!("seed={seed}"));
        let only = vec![self.test.clone()];
        let overrides = Overrides { set, only, seed: Some(seed), ..Overrides::default() };
        let alone = || format!("`{}` is measured without the other tests", self.test);
        let draft = plan::load_experiment(&self.experiment, self.catalog, &overrides)
            .with_context(alone)?;
        let plan = plan::plan(&draft, self.catalog, &HostVersions { places: self.places })?;
        ensure!(
            positions::fits(&plan, positions.len(), &self.test),
            "the experiment has other factors with several levels, or a range for `{}`: give each \
             factor one level by `--set factors.NAME=[LEVEL]`, and leave the range out",
            self.test
        );
        Ok(plan)
    }

    /// The metric that is followed.
    fn followed(&mut self, comparison: &Comparison) -> anyhow::Result<&'static Metric> {
        if let Some(metric) = self.metric {
            return Ok(metric);
        }
        let name = METRICS.iter().copied().find(|name| has(comparison, name));
        let metric = name.and_then(analysis::metric);
        let metric =
            metric.context("neither instructions nor CPU time were measured: name a metric")?;
        self.metric = Some(metric);
        Ok(metric)
    }

    /// The values of each block of a probe, whose plan has the ends first.
    fn blocks(
        &self,
        comparison: &Comparison,
        plan: &Plan,
        metric: &Metric,
    ) -> Result<Vec<Probe>, Lacking> {
        let of = |place: usize| {
            let subject = plan.subjects.get(place)?;
            let cell = comparison.cell(&self.test, &subject.label, metric.name)?;
            cell.by_block.iter().any(Option::is_some).then_some(&cell.by_block)
        };
        let (good, bad) = of(0).zip(of(1)).ok_or(Lacking::End)?;
        let candidate = if plan.subjects.len() > 2 { of(2) } else { Some(bad) };
        let candidate = candidate.ok_or(Lacking::Candidate)?;
        let sides = good.iter().zip(bad).zip(candidate);
        let blocks: Vec<Probe> = sides
            .filter_map(|((good, bad), candidate)| {
                Some(Probe { good: (*good)?, bad: (*bad)?, candidate: (*candidate)? })
            })
            .collect();
        if blocks.is_empty() { Err(Lacking::Candidate) } else { Ok(blocks) }
    }

    /// The result, for one change with a last run of its two sides alone.
    fn ending(&mut self, next: Next, state: State) -> anyhow::Result<Ending> {
        let sides = match &next {
            Next::Found(found) => verdict::kept(self.sides(found, &state), &state, self.stop)?,
            _ => None,
        };
        Ok(Ending {
            next,
            steps: state.steps,
            ends: state.ends,
            sides,
            equal: state.equal,
            metric: self.metric,
            test: self.test.clone(),
        })
    }

    /// Both sides of a change in a run of their own. Where no probe has told the ends apart, as
    /// where they are neighbors, this has to: it is repeated as a probe is, and fails.
    fn sides(&mut self, found: &Found, state: &State) -> anyhow::Result<Sides> {
        let after = found.culprits.last().copied().unwrap_or(self.positions.count() - 1);
        for side in [found.before, after] {
            self.reach(side)?;
        }
        let mut all = Vec::new();
        let mut attempt = 0;
        loop {
            let plan = self.plan(&[found.before, after], attempt)?;
            let finished = self.executed(&plan)?;
            if let Some(failed) = finished.failures.first() {
                bail!("both sides of the change cannot be measured: {}", failed.reason);
            }
            let metric = self.followed(&finished.comparison)?;
            all.extend(self.blocks(&finished.comparison, &plan, metric).unwrap_or_default());
            let shown = evidence(metric, &all);
            attempt += 1;
            let look = match state.has_decided() {
                true => Look::Enough,
                false => Look::at(shown.as_ref(), attempt),
            };
            match (look, shown) {
                (Look::Enough, _) => {
                    let labels = plan.subjects.iter().map(|subject| subject.label.clone());
                    return Ok((shown, finished.run, labels.collect()));
                }
                (Look::Again, _) => {}
                (Look::Alike, Some(shown)) => bail!(self.alike(metric, (&shown, all.len()))),
                _ if all.is_empty() => bail!(self.unmeasured(&finished, metric)),
                _ => bail!(without_ratios(&finished.run, all.len())),
            }
        }
    }
}

/// What is done after a run of both sides of a change.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Enough,
    Again,
    /// They do not differ.
    Alike,
    /// They have no ratios.
    Nothing,
}

impl Look {
    /// After so many runs of them, where no probe has told the ends apart.
    fn at(shown: Option<&Evidence>, runs: usize) -> Self {
        match shown {
            Some(shown) if shown.ends_differ => Self::Enough,
            Some(_) if runs < TRIES => Self::Again,
            Some(_) => Self::Alike,
            None => Self::Nothing,
        }
    }
}

/// Why so many blocks of a run say nothing of ratios.
fn without_ratios(run: &str, blocks: usize) -> String {
    match blocks {
        1 => format!("run {run} has values of one block, and two are needed"),
        _ => format!("run {run} has values of zero"),
    }
}

/// Whether an error is one of a server or of its statements, which the next position may not have.
/// What is wrong with the experiment, the host or the results folder is wrong for all positions.
fn is_of_server(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(runner::Error::is_of_server)
}

/// Which of the ends, the first two of these subjects, has failed first, and how.
fn failed_end<'a>(labels: &[&str], failures: &'a [Failed]) -> Option<(usize, &'a str)> {
    let ends = labels.get(..2)?;
    failures.iter().find_map(|failed| {
        let place = ends.iter().position(|label| *label == failed.subject)?;
        Some((place, failed.reason.as_str()))
    })
}

/// Whether a comparison has any value of a metric.
fn has(comparison: &Comparison, metric: &str) -> bool {
    let mut cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    cells.any(|cell| cell.metric.name == metric)
}

#[cfg(test)]
mod tests;
